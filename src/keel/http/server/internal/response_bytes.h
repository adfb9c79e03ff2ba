// keel/http/server/internal/response_bytes.h — the bytes of a response: status line, fields and framing of a Response,
// written into the send buffer.
//
// Internal to http: handlers make a Response, and a Connection decides how it is framed.
//
// Threads: a function.
// Cost:    one pass, no allocation beyond the buffer's.

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

// Bodies up to this size are copied after their head, so that pipelined responses are sent together.
inline constexpr std::size_t copied_body_max = 32 * 1024;

// The length of "HTTP/1.1 200 OK\r\n".
inline constexpr std::size_t ok_line_bytes = 17;
// "HTTP/1.1 200 OK\r\nDate: …\r\n".
using OkAndDate = std::array<char, ok_line_bytes + 6 + date_bytes + 2>;

// The interim response for which a client waits before it sends a body.
inline constexpr std::string_view continue_head = "HTTP/1.1 100 Continue\r\n\r\n";

// How the recipient knows where a streamed body ends; Unsaid: there is no body, and its length would be unknown.
enum class BodyEnd : std::uint8_t { Length, Chunks, Close, Unsaid };

struct Framing {
  const OkAndDate& ok_and_date;  // For a status other than 200, its status line replaces the first line.
  int version_minor = 1;         // The minor version of the request.
  bool head_only = false;
  bool close = false;
  BodyEnd end = BodyEnd::Length;          // If not `Length`, no part of the body is appended.
  std::optional<std::uint64_t> length{};  // The length of a body that is not part of the response object.
};

// Appends the head of `response`, and also its body unless the body is too large to copy or must not be sent.
void write_response(Buffer& out, const Response& response, const Framing& framing);
// write_piece() appends a part of a streamed body; write_body_end() appends the end of the body, with the lines of its
// trailers, which only chunked bodies have.
void write_piece(Buffer& out, std::string_view piece, BodyEnd end);
void write_body_end(Buffer& out, std::string_view trailers, BodyEnd end);

}  // namespace keel::http
