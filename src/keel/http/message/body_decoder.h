// keel/http/message/body_decoder.h — extracts the body of a message from its framing: Content-Length or chunked, with a
// limit.
//
//   BodyDecoder decoder(head.body(), head.content_length(), bytes_max);
//   ChunkStep step = decoder.feed(received);           // as ChunkDecoder, for both framings
//
// Rejects what ChunkDecoder rejects, and with 413 a body whose announced chunks together exceed the limit, before their
// data arrives. (A Content-Length above it has to be rejected by the code that reads the head.) RFC 9112
// §6, §7.
//
// Threads: a value.
// Cost:    that of ChunkDecoder; nothing is copied or allocated.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "keel/http/message/chunk.h"
#include "keel/http/message/parser.h"

namespace keel::http {

class BodyDecoder {
 public:
  // Makes a decoder for a message without a body: nothing follows.
  BodyDecoder() = default;
  BodyDecoder(BodyKind kind, std::uint64_t content_length, std::uint64_t bytes_max) noexcept
      : left_(kind == BodyKind::Length ? content_length : 0),
        bytes_max_(bytes_max),
        chunked_(kind == BodyKind::Chunked),
        over_(kind == BodyKind::None || (kind == BodyKind::Length && content_length == 0)) {}

  // Uses bytes up to the end of the first piece of data in them, or of the body. The bytes may be divided anywhere. A
  // body with a length ends with its last piece: the step after that is Done and uses nothing.
  ChunkStep feed(std::string_view received) noexcept;

  // The last byte of the body, its framing included, has been used.
  bool is_over() const noexcept { return over_; }
  // Bytes of data handed out.
  std::uint64_t delivered() const noexcept { return chunked_ ? chunks_.delivered() : delivered_; }
  // Number of bytes still to come, if known; unknown with chunks.
  std::optional<std::uint64_t> left() const noexcept {
    if (chunked_ && !over_) return std::nullopt;
    return left_;
  }
  // How many bytes of `received` belong to the body: all of them, unless its end is among them.
  std::size_t extent(std::string_view received) const noexcept { return look_ahead(received).first; }
  // Whether the end of the body is among the bytes of `received`.
  bool is_whole_in(std::string_view received) const noexcept { return look_ahead(received).second; }

 private:
  std::pair<std::size_t, bool> look_ahead(std::string_view received) const noexcept;
  ChunkDecoder chunks_;
  std::uint64_t left_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t bytes_max_ = 0;
  bool chunked_ = false;
  bool over_ = true;
};

}  // namespace keel::http
