// keel/http/server/internal/response_bytes.h — writes a response into the send buffer: the status line, fields and
// framing of a Response.
//
// Internal to http: handlers make a Response, and a Connection decides how it is framed.
//
// Threads: a function.
// Cost:    one pass; only the buffer may allocate.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/http/message/date.h"
#include "keel/http/server/response.h"

namespace keel::http {

// Bodies up to this size are copied after their heads, so that pipelined responses can be sent together.
inline constexpr std::size_t copied_body_max = 32 * 1024;

// The length of "HTTP/1.1 200 OK\r\n".
inline constexpr std::size_t ok_line_bytes = 17;
// "HTTP/1.1 200 OK\r\nDate: …\r\n".
using OkAndDate = std::array<char, ok_line_bytes + 6 + date_bytes + 2>;

// The interim response for which a client waits before it sends a body.
inline constexpr std::string_view continue_head = "HTTP/1.1 100 Continue\r\n\r\n";

// How the client knows where the body of a response ends. Unsaid: there is no body, and the head contains no length,
// because the length that a body would have is unknown.
enum class BodyEnd : std::uint8_t { Length, Chunks, Close, Unsaid };

struct Framing {
  const OkAndDate& ok_and_date;  // For any status other than 200, the status line is replaced.
  int version_minor = 1;
  bool head_only = false;
  bool close = false;
  BodyEnd end = BodyEnd::Length;          // For any value but Length, the body is not appended.
  std::optional<std::uint64_t> length{};  // The length of a streamed body, if it is known.
};

// Appends the head of `response`, and also its body unless the body is too large to copy or must not be sent.
void write_response(Buffer& out, const Response& response, const Framing& framing);
// write_piece() appends a part of a streamed body. write_body_end() appends the end of the body, and the lines of the
// trailers if the body is chunked.
void write_piece(Buffer& out, std::string_view piece, BodyEnd end);
void write_body_end(Buffer& out, std::string_view trailers, BodyEnd end);

}  // namespace keel::http
