// keel/http/message/response_reader.h — reads a response as it arrives: its head, its body, and the place where the
// next response begins (RFC 9112).
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
// Strict, because an ambiguous response must not count as correct. It rejects a Content-Length that is given twice,
// together with Transfer-Encoding or not in digits, a coding other than chunked, any coding in HTTP/1.0, folded and
// malformed lines, CR or LF alone, control bytes, versions other than 1.0 and 1.1, status codes outside 100 to 599,
// 101, heads above 64 KiB, more than 16 interim responses. Interim responses (1xx) are skipped. 204, 304 and the
// response to HEAD have no body; without a length the body ends with the connection.
//
// The result never depends on how the bytes are divided.
//
// Lifetime: `head`, `data` and `trailers` are views that are valid until the next feed(), begin() or release(), and no
//           longer than `received`.
// Cost:     with a HeadCache, a head that equals the one before is compared and not parsed; a body of known length is
//           not examined. No allocation, unless a head arrives in pieces: then its beginning is kept in the pool's
//           memory.

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
  Need,     // All bytes are used, and the response is not complete.
  Data,     // `data` is the next piece of the body; feed the rest.
  Done,     // `data` is the last piece of the body, or empty; bytes that are not consumed belong to the next response.
  Refused,  // The bytes are not a valid response: close the connection.
};

// The result of feed(): what it found, how many bytes it used, and the data in them.
struct ResponseStep {
  ResponseState state = ResponseState::Need;
  std::size_t consumed = 0;
  std::string_view data = {};
  const char* reason = "";         // Rejected: a literal.
  std::string_view head = {};      // All lines of the head, with the step that ends it; next_field() splits them.
  std::string_view trailers = {};  // Need and Done: the next part of the trailers, as from a ChunkDecoder.
};

// The content of a head.
struct ResponseHead {
  enum class Body : std::uint8_t { None, Length, Chunked, UntilClose };
  int status = 0;
  Body body = Body::None;
  bool keep_alive = true;  // Another request may be sent on this connection.
  std::uint64_t length = 0;
};

// Removes the next field from the lines of a head that a ResponseReader returned, or of trailers; the status line is
// skipped. Takes the next field off `rest`; false when there is none left.
//   for (std::string_view rest = head; next_field(rest, field);) …
bool next_field(std::string_view& rest, Field& field) noexcept;

// A copy of the last head. A server's responses to equal requests have the same head until the date in it changes,
// after at most a second. All connections of a thread share one.
class HeadCache {
 public:
  // The number of bytes of the known head at the front of `received`, or 0.
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

  // `is_head`: the request was HEAD.
  void begin(bool is_head) noexcept;
  ResponseStep feed(std::string_view received) { return feed(received, nullptr); }
  ResponseStep feed(std::string_view received, HeadCache& cache) { return feed(received, &cache); }
  // The peer has finished writing: Done if this ends the body, else Refused.
  ResponseStep finish() noexcept;
  // Frees the memory of a head that arrived in pieces; call it before a connection becomes idle. begin() does this as
  // well.
  void release() noexcept { partial_.release(); }

  // Bytes of memory in addition to the object.
  std::size_t held() const noexcept { return partial_.capacity(); }
  // A byte of this response has arrived.
  bool has_begun() const noexcept { return has_begun_; }
  // The head; valid once feed() has returned Data or Done.
  const ResponseHead& head() const noexcept { return head_; }

 private:
  enum class At : std::uint8_t { Head, Body, Done, Refused };

  ResponseStep feed(std::string_view received, HeadCache* cache);
  ResponseStep feed_head(std::string_view received, HeadCache* cache);
  // `consumed`: the bytes of `received` that end with the head.
  ResponseStep begin_body(std::string_view received, std::size_t consumed, std::string_view head) noexcept;
  ResponseStep feed_body(std::string_view received, std::size_t before) noexcept;
  ResponseStep refuse(const char* reason) noexcept;
  ResponseStep done(std::size_t consumed, std::string_view data, std::string_view trailers = {}) noexcept;
  void begin_head() noexcept;
  // Reads the complete lines of `bytes`, starting at line_at_. Returns the end of the head, 0 if it has not arrived, or
  // a reason for rejection.
  std::size_t read_lines(std::string_view bytes, const char*& reason) noexcept;
  const char* read_status_line(std::string_view line) noexcept;
  const char* read_field(std::string_view line) noexcept;
  const char* end_head() noexcept;

  At at_ = At::Done;
  bool is_head_ = false;
  bool has_begun_ = false;
  // It is used while the head is read.
  bool is_minor_zero_ = false;
  bool has_length_ = false;
  bool has_coding_ = false;
  bool says_close_ = false;
  bool says_keep_alive_ = false;
  unsigned fields_ = 0;
  unsigned interims_ = 0;
  std::size_t line_at_ = 0;  // Where the first unread line begins.
  std::size_t seen_ = 0;     // How far a line feed has been searched for.
  Buffer partial_;           // The head so far, when it arrives in pieces; kept complete until the next feed().
  ResponseHead head_;
  std::uint64_t left_ = 0;
  ChunkDecoder chunks_;
};

}  // namespace keel::http
