// keel/http/message/content_decoder.h — decodes gzip, br and zstd, piece by piece (RFC 9110 §8.4.1).
//
// gzip is always available; br and zstd are available if their libraries were found when Keel was built.
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
// A gzip content may have several members, and a zstd content several frames; their decoded bytes are joined. In every
// coding, an input without any bytes decodes to an empty content, because servers send empty contents in this way.
//
// A small coded content may decode to a huge one, so the caller must limit the decoded bytes. To make a limit possible,
// decode() never writes more bytes than its room has, however many bytes the coded content decodes to.
//
// Errors:  InvalidArgument if the bytes are not in that coding, end before the content is complete, or are followed by
//          further bytes, or if zstd asks for a window above 8 MiB (RFC 9659). ResourceExhausted: no memory. After each
//          of these errors, the content cannot be continued.
// Threads: a decoder may be used by one thread at a time.
// Cost:    the decoded bytes are written once, directly into the given room. A content needs 40 KB of memory for gzip,
//          up to 9 MB for zstd and up to 25 MB for br, depending on the window that its encoder has chosen. Up to about
//          1 MB of this memory is kept for the next content; if that content needs no more memory, it allocates nothing
//          from the heap.

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
  // The element of codings() that `name`, a coding of Content-Encoding, means; letter case is ignored, and x-gzip means
  // gzip. Returns "" if this build cannot decode that coding.
  static std::string_view coding_of(std::string_view name) noexcept;

  // Begins a new content, in one of codings(); a content that has not ended is dropped.
  Result<> begin(std::string_view coding);
  // Writes decoded bytes to `room`, which must not be empty, and returns their number. Removes the decoded bytes from
  // the front of `coded`. Returns 0 when all of `coded` was read and more input is needed.
  Result<std::size_t> decode(std::string_view& coded, std::span<char> room);
  // Ends the content at the end of the input; fails if the content is not complete.
  Result<> end();
  // Frees the memory that is not to be kept for the next content; call it between two contents.
  void release() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A pool of decoders, for contents that are decoded concurrently.
//
// Threads:  one thread; each worker has its own pool.
// Lifetime: the pool outlives the decoders that it lends (checked).
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
  // Only a few decoders are kept, because each of them keeps its memory.
  std::vector<std::unique_ptr<ContentDecoder>> idle_;
};

}  // namespace keel::http
