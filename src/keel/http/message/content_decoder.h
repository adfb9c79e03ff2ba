// keel/http/message/content_decoder.h — decodes gzip, br and zstd, piece by piece (RFC 9110 §8.4.1).
//
// gzip is always available; br and zstd if their libraries were found when Keel was built.
//
//   ContentDecoder decoder;
//   KEEL_TRY_VOID(decoder.begin("gzip"));
//   for (std::string_view coded = received; …;) {
//     KEEL_TRY(std::size_t bytes, decoder.decode(coded, room));     // takes from the front of `coded`
//     if (bytes == 0) break;                                       // all of it is taken: receive more
//     use(room.first(bytes));
//   }
//   KEEL_TRY_VOID(decoder.end());                                   // nothing more comes: the content was whole
//
// gzip may have several members, zstd several frames; they are one content. Zero bytes are an empty content in every
// coding, because servers send empty contents in this way.
//
// A small content may decode to a huge one, so the caller limits it: decode() never writes more than its room, however
// much the coded bytes decode to.
//
// Errors:  InvalidArgument: the bytes are not in that coding, end before the content does, or are followed by others;
//          or zstd asks for a window above 8 MiB (RFC 9659). ResourceExhausted: no memory. Each of these errors ends
//          the content.
// Threads: one at a time.
// Cost:    the decoded bytes are written once, into the given room. Memory for a content: 40 KB for gzip, up to 9 MB
//          for zstd and 25 MB for br, depending on the window that its encoder has chosen. Up to about 1 MB of it is
//          kept for the next content, so that contents that need no more use no heap memory.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "keel/base/result.h"

namespace keel::http {

class ContentDecoder {
 public:
  ContentDecoder();
  ContentDecoder(const ContentDecoder&) = delete;
  ContentDecoder& operator=(const ContentDecoder&) = delete;
  ~ContentDecoder();

  // The codings among "zstd", "br" and "gzip" that this build has.
  static std::span<const std::string_view> codings() noexcept;
  // The supported codings as a value of Accept-Encoding: "br, zstd, gzip".
  static std::string_view accepted() noexcept;
  // The element of codings() for `name`, a coding in Content-Encoding; case does not matter, and x-gzip is gzip.
  // Empty: the field names no coding that this build can decode.
  static std::string_view coding_of(std::string_view name) noexcept;

  // Begins a new content, in one of codings(); an unfinished one is dropped.
  Result<> begin(std::string_view coding);
  // Writes decoded bytes to `room`, which has at least one byte, and returns their number. Removes the bytes that it
  // has read from the front of `coded`. 0: all of `coded` was read, and more input is needed.
  Result<std::size_t> decode(std::string_view& coded, std::span<char> room);
  // The input has ended.
  Result<> end();
  // Call it between contents: frees the memory that is not kept for the next one.
  void release() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Decoders for contents that are decoded concurrently.
//
// Threads:  one; a worker has its own.
// Lifetime: outlives the decoders that it lends (checked).
class ContentDecoders {
 public:
  struct GiveBack {
    ContentDecoders* to = nullptr;
    void operator()(ContentDecoder* decoder) const noexcept { to->take_back(decoder); }
  };
  using Lease = std::unique_ptr<ContentDecoder, GiveBack>;

  ContentDecoders();
  ~ContentDecoders();
  ContentDecoders(const ContentDecoders&) = delete;
  ContentDecoders& operator=(const ContentDecoders&) = delete;

  Lease lend();

 private:
  void take_back(ContentDecoder* decoder) noexcept;
  std::size_t lent_ = 0;
  std::vector<std::unique_ptr<ContentDecoder>> idle_;  // Only a few are kept, because each keeps its memory.
};

}  // namespace keel::http
