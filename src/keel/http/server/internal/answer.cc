#include "keel/http/server/internal/answer.h"

#include <charconv>

#include "keel/base/copy.h"
#include "keel/http/message/status.h"

namespace keel::http {
namespace {

[[gnu::always_inline]] inline char* put(char* at, std::string_view text) noexcept {
  copy_short(at, text.data(), text.size());
  return at + text.size();
}

}  // namespace

void write_answer(Buffer& out, const Response& response, const Framing& framing) {
  const std::string_view body = response.content();
  const std::string_view fields = response.fields();
  const std::string_view content_type = response.content_type_;
  const bool has_length = !forbids_content(response.status());
  const bool copies = has_length && !framing.head_only && !response.is_streamed() && body.size() <= copied_body_max;
  constexpr std::size_t fixed =
      status_line_bytes_max + 14 + 2 + 16 + 20 + 2 + 33 + 2;  // The names and line ends below.
  char* const begin = out.reserve(framing.ok_and_date.size() + content_type.size() + fields.size() + fixed +
                                  (copies ? body.size() : 0));
  char* at = begin;
  if (response.status() == Status::Ok) [[likely]] {
    at = put(at, framing.ok_and_date);
  } else {
    at = put(at, status_line(response.status()));
    at = put(at, framing.ok_and_date.substr(ok_line_bytes));
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
  if (!fields.empty()) at = put(at, fields);
  // Who sends Upgrade names it in Connection (RFC 9110 §7.8).
  const bool says_upgrade =
      response.status() == Status::SwitchingProtocols || response.status() == Status::UpgradeRequired;
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

}  // namespace keel::http
