// keel/http/message/chunk.h — decodes and encodes the chunked transfer coding (RFC 9112 §7.1).
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
// size; a malformed extension or trailer; a CR or LF alone, and other control bytes. 413: extensions above 1 KiB in one
// chunk; framing out of proportion to the data. 431: trailers too large or too many. Extensions are checked and
// dropped; trailers are checked and returned, but are never mixed with the fields of the head.
//
// The decoder has no limit on the size of the body. To enforce a limit, compare announced() with the limit after each
// feed(): a large chunk can then be rejected before its data arrives.
//
// Cost: a few instructions per byte of framing, none per byte of data; 48 bytes of memory; no allocation.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/http/message/status.h"

namespace keel::http {

// What feed() found.
enum class ChunkState : std::uint8_t {
  Need,  // all bytes are used, and the body has not ended
  Data,  // `data` is the next piece of the body and not empty; call feed() again with the bytes after it
  Done,  // the body and its trailers have ended; bytes that were not consumed belong to the next message
  // the body or its framing is malformed or too large: respond, close the connection, and do not call feed() again
  Refused,
};

// The result of feed(): what it found, how many bytes it used, and the data in them.
struct ChunkStep {
  ChunkState state = ChunkState::Need;
  Status status = Status::Ok;  // for Refused: the status of the response that rejects the body
  std::size_t consumed = 0;    // number of bytes used, including those of `data`
  std::string_view data;
  const char* reason = "";  // for Refused: why the body was rejected, as a string literal for the log
  // For Need and Done: the next part of the trailers. The parts may end anywhere; joined, they are whole lines, each
  // with its line end
  std::string_view trailers = {};
};

// Decodes a chunked body, piece by piece.
class ChunkDecoder {
 public:
  static constexpr unsigned extension_bytes_max = 1024;    // per chunk
  static constexpr unsigned trailer_bytes_max = 8 * 1024;  // all of them
  static constexpr unsigned trailers_max = 32;
  // Each chunk may have 16 bytes of framing plus twice the size of its data; the bytes of framing beyond that, summed
  // over the chunks, must not exceed this limit.
  static constexpr std::uint64_t excess_bytes_max = 16 * 1024;

  // Uses bytes of `received` up to the end of the first piece of data, or up to the end of the body. `received` may
  // begin and end anywhere in the body.
  ChunkStep feed(std::string_view received) noexcept;

  // The number of bytes of data in all chunks whose size has been read, including data that has not arrived yet.
  std::uint64_t announced() const noexcept { return announced_; }
  // Bytes of data that feed() has returned.
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
  // Consumes one byte of framing. Returns null, or the reason why the byte is rejected.
  const char* step(char c) noexcept;

  std::uint64_t announced_ = 0;
  std::uint64_t left_ = 0;  // bytes of this chunk's data that have not been returned yet
  std::uint64_t size_ = 0;  // the size of this chunk, as far as its digits have been read
  std::uint64_t excess_ = 0;
  std::uint32_t line_bytes_ = 0;  // bytes of this chunk's extension, or of all trailers
  std::uint16_t trailers_ = 0;
  std::uint8_t digits_ = 0;
  At at_ = At::Size;
  Status status_ = Status::BadRequest;
};

// The largest number of bytes before the data of a chunk: 16 digits and CRLF.
inline constexpr std::size_t chunk_head_bytes_max = 18;
// The line end after the data of a chunk.
inline constexpr std::string_view chunk_end = "\r\n";
// The chunk of size 0, which ends the data; the caller sends the trailers and chunk_end after it.
inline constexpr std::string_view last_chunk_size = "0\r\n";
// The end of a body that has no trailers.
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

// Writes the size and CRLF to `out`, which has room for chunk_head_bytes_max bytes, and returns the end of the written
// bytes. After these bytes, the caller sends `size` bytes of data and chunk_end. A size of 0 would end the body, so it
// is a bug and aborts.
char* format_chunk_head(std::uint64_t size, char* out) noexcept;

}  // namespace keel::http
