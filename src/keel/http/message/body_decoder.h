// keel/http/message/body_decoder.h — extracts the body of a message from its framing (Content-Length or chunks), with a
// limit on the size of the body.
//
//   BodyDecoder decoder(head.body(), head.content_length(), bytes_max);
//   ChunkStep step = decoder.feed(received);           // as ChunkDecoder, for both framings
//
// Rejects what ChunkDecoder rejects. A body whose announced chunks together exceed the limit is also rejected, with
// 413, before the data of the chunk that exceeds the limit arrives. (A Content-Length above the limit has to be
// rejected by the code that reads the head.) RFC 9112 §6, §7.
//
// Threads: a value.
// Cost:    that of ChunkDecoder; no byte is copied, and nothing is allocated.

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
  // Makes a decoder for a message without a body: is_over() is true from the beginning.
  BodyDecoder() = default;
  BodyDecoder(BodyKind kind, std::uint64_t content_length, std::uint64_t bytes_max) noexcept
      : left_(kind == BodyKind::Length ? content_length : 0),
        bytes_max_(bytes_max),
        chunked_(kind == BodyKind::Chunked),
        over_(kind == BodyKind::None || (kind == BodyKind::Length && content_length == 0)) {}

  // Uses bytes of `received` up to the end of the first piece of data, or up to the end of the body. `received` may
  // begin and end anywhere in the body. For a body with a length, the last piece of data ends the body: the step after
  // that piece is Done and uses no bytes.
  ChunkStep feed(std::string_view received) noexcept;

  // Whether the body has ended: its last byte, including its framing, has been used.
  bool is_over() const noexcept { return over_; }
  // Bytes of data that feed() has returned.
  std::uint64_t delivered() const noexcept { return chunked_ ? chunks_.delivered() : delivered_; }
  // Bytes of data that have not been returned yet; nullopt while the decoder reads chunks, because the number is
  // unknown.
  std::optional<std::uint64_t> left() const noexcept {
    if (chunked_ && !over_) return std::nullopt;
    return left_;
  }
  // How many bytes of `received` belong to the body: all of them, unless the body ends within `received`.
  std::size_t extent(std::string_view received) const noexcept { return look_ahead(received).first; }
  // Whether the body ends within `received`.
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
