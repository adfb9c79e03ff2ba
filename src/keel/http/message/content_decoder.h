// keel/http/message/content_decoder.h — gzip, br and zstd undone, piece by piece (RFC 9110 §8.4.1).
//
// gzip is always there; br and zstd where the libraries were found when Keel was built.
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
// gzip may have several members, zstd several frames; they are one content. A content without a byte is empty in every
// coding: servers send it so.
//
// A small content may stand for a huge one, and who decodes bounds what it takes: decode() never writes more than its
// room, however much the coded bytes stand for.
//
// Errors:  InvalidArgument: the bytes are not of that coding, or end within it, or others follow; zstd that asks for a
//          window above 8 MiB (RFC 9659). ResourceExhausted: no memory. Then the content ends there.
// Threads: one at a time.
// Cost:    a copy of what is decoded into the room. Memory of a content: 40 KB for gzip, up to 9 MB for zstd and 25 MB
//          for br, by the window that its encoder has chosen. It is used again from content to content, up to
//          about 1 MB; where that is enough nothing is taken from the heap.

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

  // The codings that this build has, of "zstd", "br" and "gzip".
  static std::span<const std::string_view> codings() noexcept;
  // The same for the field Accept-Encoding: "br, zstd, gzip".
  static std::string_view accepted() noexcept;
  // The one of codings() that `name` of a Content-Encoding is, in any case; x-gzip is gzip. Empty: none of them.
  static std::string_view coding_of(std::string_view name) noexcept;

  // Begins a new content, in one of codings(); an unfinished one is dropped.
  Result<> begin(std::string_view coding);
  // Writes what is decoded to `room`, which has at least a byte, and says how many. Takes what it has read off the
  // front of `coded`. 0: all of `coded` is taken, and more has to come.
  Result<std::size_t> decode(std::string_view& coded, std::span<char> room);
  // Nothing more comes.
  Result<> end();
  // Call it between contents: frees the memory that is not kept for the next one.
  void release() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Decoders for contents that are decoded side by side.
//
// Threads:  one; a worker has its own.
// Lifetime: outlives what it lends (checked).
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
  std::vector<std::unique_ptr<ContentDecoder>> idle_;  // Few: each keeps its memory.
};

}  // namespace keel::http
