// keel/http/message/response_reader.h — reads a response while it arrives: its head, its body, and where the next
// response begins (RFC 9112).
//
//   ResponseReader reader;
//   reader.begin(is_head);                                     // one per request, in their order
//   for (std::string_view rest = received; …;) {
//     ResponseStep step = reader.feed(rest);
//     rest.remove_prefix(step.consumed);
//     if (!step.head.empty()) keep(step.head);                 // once, with the first step after the head
//     trailers.append(step.trailers);                          // trailers.h
//     use(step.data);                                          // a view into `received`: a piece of the body, or none
//     if (step.state != ResponseState::Data) break;            // Need: receive more; Done: `rest` is the next one's
//   }
//
// The reader is strict, because an ambiguous response must not be accepted. The reader rejects a Content-Length that is
// given twice, is not a number, or comes together with Transfer-Encoding; a transfer coding other than chunked, and any
// transfer coding in HTTP/1.0; folded and malformed lines; CR or LF alone; control bytes; versions other than 1.x;
// status codes outside 100 to 599, and 101; heads above 64 KiB; and more than 16 interim responses. Interim responses
// (1xx) are skipped. A 204, a 304 and the response to HEAD have no body; a body without a length or chunks ends with
// the connection.
//
// The result never depends on how the received bytes are divided.
//
// Lifetime: `head`, `data` and `trailers` are views that are valid until the next feed(), begin() or release(), and no
//           longer than `received`.
// Cost:     with a HeadCache, a head that is equal to the previous one is not parsed again, only compared; a body of
//           known length is not examined. Nothing is allocated, unless a head arrives in pieces: its beginning is then
//           kept in the pool's memory.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/http/message/chunk.h"
#include "keel/http/message/fields.h"

namespace keel::http {

// What feed() found.
enum class ResponseState : std::uint8_t {
  Need,  // All bytes are used, and the response is not complete.
  Data,  // `data` is the next piece of the body; call feed() again with the bytes after it.
  // The response is complete. `data` is the last piece of the response's body, or empty; bytes that were not consumed
  // belong to the next response.
  Done,
  Refused,  // The bytes are not a valid response: close the connection.
};

// The result of feed(): what it found, how many bytes it used, and the data in them.
struct ResponseStep {
  ResponseState state = ResponseState::Need;
  std::size_t consumed = 0;
  std::string_view data = {};
  const char* reason = "";  // Rejected: a literal.
  // All lines of the head, returned in the step in which the head ends; next_field() splits them.
  std::string_view head = {};
  std::string_view trailers = {};  // For Need and Done: the next part of the trailers, as in ChunkStep.
};

// The facts that a head states about the response.
struct ResponseHead {
  enum class Body : std::uint8_t { None, Length, Chunked, UntilClose };
  int status = 0;
  Body body = Body::None;
  bool keep_alive = true;  // Whether another request may be sent on the same connection.
  std::uint64_t length = 0;
};

// Splits the lines of a head or of trailers that a ResponseReader returned; the status line is skipped. Removes the
// next field from the front of `rest`; false when no field is left.
//   for (std::string_view rest = head; next_field(rest, field);) …
bool next_field(std::string_view& rest, Field& field) noexcept;

// Keeps a copy of the last head, so that an equal head need not be parsed. A server's responses to equal requests have
// equal heads until the date in the head changes, which happens at most once a second. All connections of a thread
// share one cache.
class HeadCache {
 public:
  // If `received` begins with the cached head, returns its size; otherwise 0.
  std::size_t find(std::string_view received, bool is_head, ResponseHead& head) const noexcept;
  void keep(std::string_view bytes, bool is_head, const ResponseHead& head) noexcept;

 private:
  std::array<char, 1024> bytes_;
  std::size_t size_ = 0;
  bool is_head_ = false;
  ResponseHead head_;
};

class ResponseReader {
 public:
  static constexpr std::size_t head_bytes_max = 64 * 1024;
  static constexpr std::size_t line_bytes_max = 16 * 1024;
  static constexpr unsigned fields_max = 256;
  static constexpr unsigned interims_max = 16;

  // `is_head`: whether the request was a HEAD, whose response has no body.
  void begin(bool is_head) noexcept;
  ResponseStep feed(std::string_view received) { return feed(received, nullptr); }
  ResponseStep feed(std::string_view received, HeadCache& cache) { return feed(received, &cache); }
  // Ends the response when the peer has finished writing. The result is Done if the end of the connection also ends the
  // body, and Refused otherwise.
  ResponseStep finish() noexcept;
  // Frees the memory of a head that arrived in pieces; call it before a connection becomes idle. begin() frees this
  // memory as well.
  void release() noexcept { partial_.release(); }

  // Bytes of memory that the reader has allocated, which sizeof(ResponseReader) does not include.
  std::size_t held() const noexcept { return partial_.capacity(); }
  // Whether any byte of this response has arrived.
  bool has_begun() const noexcept { return has_begun_; }
  // The facts about the response; valid once feed() has returned Data or Done.
  const ResponseHead& head() const noexcept { return head_; }

 private:
  enum class At : std::uint8_t { Head, Body, Done, Refused };

  ResponseStep feed(std::string_view received, HeadCache* cache);
  ResponseStep feed_head(std::string_view received, HeadCache* cache);
  // `consumed` is the number of bytes of `received` up to the end of the head.
  ResponseStep begin_body(std::string_view received, std::size_t consumed, std::string_view head) noexcept;
  ResponseStep feed_body(std::string_view received, std::size_t before) noexcept;
  ResponseStep refuse(const char* reason) noexcept;
  ResponseStep done(std::size_t consumed, std::string_view data, std::string_view trailers = {}) noexcept;
  void begin_head() noexcept;
  // Reads the complete lines of `bytes`, starting at line_at_. Returns the size of the head, or 0 if the head is not
  // complete; on a rejection, sets `reason`.
  std::size_t read_lines(std::string_view bytes, const char*& reason) noexcept;
  const char* read_status_line(std::string_view line) noexcept;
  const char* read_field(std::string_view line) noexcept;
  const char* end_head() noexcept;

  At at_ = At::Done;
  bool is_head_ = false;
  bool has_begun_ = false;
  // Used only while the head is read.
  bool is_minor_zero_ = false;
  bool has_length_ = false;
  bool has_coding_ = false;
  bool says_close_ = false;
  bool says_keep_alive_ = false;
  unsigned fields_ = 0;
  unsigned interims_ = 0;
  std::size_t line_at_ = 0;  // The position of the first line that has not been read yet.
  std::size_t seen_ = 0;     // The bytes before this position have already been searched for a line feed.
  // The bytes so far of a head that arrives in pieces; when the head is complete, it stays here until the next feed().
  Buffer partial_;
  ResponseHead head_;
  std::uint64_t left_ = 0;
  ChunkDecoder chunks_;
};

}  // namespace keel::http
