// keel/http/message/chunk.h — the chunked transfer coding (RFC 9112 §7.1), both ways.
//
//   ChunkDecoder decoder;                                        // one per body
//   for (std::string_view rest = received; …;) {
//     ChunkStep step = decoder.feed(rest);
//     rest.remove_prefix(step.consumed);
//     trailers.append(step.trailers);                             // views as well (trailers.h); usually there are none
//     if (step.state == ChunkState::Data) use(step.data);         // a view into `received`: nothing is copied
//     else break;                                                 // Need: receive more; Done: `rest` comes next
//   }
//
// Rejected with 400: a size that is not 1 to 16 hexadecimal digits, or sizes whose sum overflows; blanks next to the
// size; an extension or a trailer that is malformed; CR or LF alone, other control bytes. 413: extensions above 1 KiB
// in one chunk; framing out of proportion to the data. 431: trailers too large or too many. Extensions are checked and
// dropped; trailers are checked and passed on, but never become part of the header.
//
// The caller enforces the limit on the body: compare announced() with it after each feed, before the data arrives.
//
// Cost: a few instructions per byte of framing, none per byte of data; 48 bytes; no allocation.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/http/message/status.h"

namespace keel::http {

// What feed() found.
enum class ChunkState : std::uint8_t {
  Need,     // all bytes are used, the body is not over
  Data,     // `data` is the next piece of the body, not empty; feed the rest
  Done,     // the body and its trailers have ended; bytes that are not consumed belong to the next request
  Refused,  // respond and close; feed nothing more
};

// The result of feed(): what it found, how many bytes it used, and the data in them.
struct ChunkStep {
  ChunkState state = ChunkState::Need;
  Status status = Status::Ok;  // why it was rejected
  std::size_t consumed = 0;    // bytes used, `data` included
  std::string_view data;
  const char* reason = "";  // Rejected: a literal for the log
  // Need and Done: the next part of the trailers, divided anywhere; all parts together are lines, each with its line
  // end
  std::string_view trailers = {};
};

// Decodes a chunked body, piece by piece.
class ChunkDecoder {
 public:
  static constexpr unsigned extension_bytes_max = 1024;    // per chunk
  static constexpr unsigned trailer_bytes_max = 8 * 1024;  // all of them
  static constexpr unsigned trailers_max = 32;
  // The framing of a chunk may have 16 bytes plus twice the chunk's data; bytes beyond that count against this limit.
  static constexpr std::uint64_t excess_bytes_max = 16 * 1024;

  // Uses bytes up to the end of the first piece of data in them, or of the body. The bytes may be divided anywhere.
  ChunkStep feed(std::string_view received) noexcept;

  // Bytes of data in all chunks whose size has been read, arrived or not.
  std::uint64_t announced() const noexcept { return announced_; }
  // Bytes of data handed out.
  std::uint64_t delivered() const noexcept { return announced_ - left_; }

 private:
  enum class At : std::uint8_t {
    Size,
    SizeLf,
    ExtensionStart,
    ExtensionName,
    ExtensionNameEnd,
    ExtensionValueStart,
    ExtensionValue,
    Quoted,
    QuotedPair,
    ExtensionEnd,
    ExtensionGap,
    Data,
    DataCr,
    DataLf,
    LineStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    LastLf,
    Done,
    Refused,
  };
  ChunkStep refuse(Status status, const char* reason, std::size_t consumed) noexcept;
  bool is_behind_data() const noexcept { return at_ >= At::LineStart; }
  // Consumes one byte of framing. Returns null, or why the byte is rejected.
  const char* step(char c) noexcept;

  std::uint64_t announced_ = 0;
  std::uint64_t left_ = 0;  // data of this chunk still to come
  std::uint64_t size_ = 0;  // of this chunk, while it is read
  std::uint64_t excess_ = 0;
  std::uint32_t line_bytes_ = 0;  // of this chunk's extension, or of all trailers
  std::uint16_t trailers_ = 0;
  std::uint8_t digits_ = 0;
  At at_ = At::Size;
  Status status_ = Status::BadRequest;
};

// The most bytes in front of a chunk's data: 16 digits and CRLF.
inline constexpr std::size_t chunk_head_bytes_max = 18;
// The line end after the data of a chunk.
inline constexpr std::string_view chunk_end = "\r\n";
// It is followed by trailers and chunk_end.
inline constexpr std::string_view last_chunk_size = "0\r\n";
// Ends a body that has no trailers.
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

// Writes size and CRLF to `out` (room for chunk_head_bytes_max) and returns the end. The caller writes `size` bytes of
// data and chunk_end after it. A size of 0 would end the body: it is a bug and aborts.
char* format_chunk_head(std::uint64_t size, char* out) noexcept;

}  // namespace keel::http
