#include "keel/http/server/internal/response_bytes.h"

#include <charconv>
#include <cstring>

#include "keel/base/copy.h"
#include "keel/http/message/chunk.h"
#include "keel/http/message/fields.h"
#include "keel/http/message/status.h"

namespace keel::http {
namespace {

[[gnu::always_inline]] inline char* put(char* at, std::string_view text) noexcept {
  copy_short(at, text.data(), text.size());
  return at + text.size();
}

// Copies all fields except Trailer. This function is used for responses that cannot have trailers: responses in
// HTTP/1.0, which has no trailers (RFC 9110 §6.5.1), and responses with a Content-Length.
[[gnu::noinline]] char* put_without_trailer(char* at, std::string_view fields) noexcept {
  constexpr std::string_view trailer = "Trailer:";
  while (!fields.empty()) {
    const std::size_t end = fields.find("\r\n") + 2;
    if (!equals_ignore_case(fields.substr(0, trailer.size()), trailer)) at = put(at, fields.substr(0, end));
    fields.remove_prefix(end);
  }
  return at;
}

}  // namespace

void write_response(Buffer& out, const Response& response, const Framing& framing) {
  const std::string_view body = response.content();
  const std::string_view fields = response.fields();
  const std::string_view content_type = response.content_type_;
  const bool is_ok = response.status() == Status::Ok;
  const bool has_length = is_ok || !forbids_content(response.status());
  const bool copies = has_length && !framing.head_only && !response.is_streamed() && body.size() <= copied_body_max;
  constexpr std::size_t fixed =
      // The sizes of the names and line ends that are written below.
      status_line_bytes_max + 14 + 2 + 16 + 20 + 2 + 33 + 2;
  char* const begin = out.reserve(framing.ok_and_date.size() + content_type.size() + fields.size() + fixed +
                                  (copies ? body.size() : 0));
  char* at = begin;
  if (is_ok) [[likely]] {
    at = put(at, {framing.ok_and_date.data(), framing.ok_and_date.size()});
  } else {
    at = put(at, status_line(response.status()));
    at = put(at, {framing.ok_and_date.data() + ok_line_bytes, framing.ok_and_date.size() - ok_line_bytes});
  }
  if (!content_type.empty() && has_length) {
    at = put(at, "Content-Type: ");
    at = put(at, content_type);
    at = put(at, "\r\n");
  }
  if (has_length && framing.end == BodyEnd::Length) {
    at = put(at, "Content-Length: ");
    at = std::to_chars(at, at + 20, framing.length.value_or(body.size())).ptr;
    at = put(at, "\r\n");
  } else if (has_length && framing.end == BodyEnd::Chunks) {
    at = put(at, "Transfer-Encoding: chunked\r\n");
  }
  if (!fields.empty()) {
    const bool takes_trailers =
        framing.version_minor != 0 && (framing.end == BodyEnd::Chunks || !response.is_streamed());
    at = takes_trailers ? put(at, fields) : put_without_trailer(at, fields);
  }
  // A sender of the field Upgrade must also list "Upgrade" in Connection (RFC 9110 §7.8).
  const bool says_upgrade =
      !is_ok && (response.status() == Status::SwitchingProtocols || response.status() == Status::UpgradeRequired);
  if (says_upgrade) {
    at = put(at, framing.close                ? "Connection: close, Upgrade\r\n"
                 : framing.version_minor == 0 ? "Connection: keep-alive, Upgrade\r\n"
                                              : "Connection: Upgrade\r\n");
  } else if (framing.close) {
    at = put(at, "Connection: close\r\n");
  } else if (framing.version_minor == 0) {
    at = put(at, "Connection: keep-alive\r\n");
  }
  at = put(at, "\r\n");
  if (copies && !body.empty()) at = put(at, body);
  out.commit(static_cast<std::size_t>(at - begin));
}

void write_piece(Buffer& out, std::string_view piece, BodyEnd end) {
  const bool in_chunks = end == BodyEnd::Chunks;
  char* const begin = out.reserve(piece.size() + chunk_head_bytes_max + chunk_end.size());
  char* at = in_chunks ? format_chunk_head(piece.size(), begin) : begin;
  std::memcpy(at, piece.data(), piece.size());
  at += piece.size();
  if (in_chunks) {
    std::memcpy(at, chunk_end.data(), chunk_end.size());
    at += chunk_end.size();
  }
  out.commit(static_cast<std::size_t>(at - begin));
}

void write_body_end(Buffer& out, std::string_view trailers, BodyEnd end) {
  if (end != BodyEnd::Chunks) return;
  out.append(last_chunk_size);
  out.append(trailers);
  out.append(chunk_end);
}

}  // namespace keel::http
