#include "keel/http/message/trailers.h"

#include <algorithm>
#include <cstring>

#include "keel/base/bug.h"
#include "keel/http/message/chunk.h"
#include "keel/http/message/fields.h"
#include "keel/http/message/response_reader.h"

namespace keel::http {
namespace {

constexpr std::string_view forbidden_names[] = {
    "age",
    "authorization",
    "cache-control",
    "connection",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expect",
    "expires",
    "forwarded",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "retry-after",
    "set-cookie",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "via",
    "www-authenticate",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-http-method-override",
    "x-request-deadline-ms",
    "x-request-id",
};

}  // namespace

bool may_be_trailer(std::string_view name) noexcept {
  return std::ranges::none_of(forbidden_names,
                              [&](std::string_view forbidden) { return equals_ignore_case(name, forbidden); });
}

void Trailers::drop_forbidden() noexcept {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < lines_.size();) {
    const std::string_view line = lines_.view().substr(at, lines_.view().find('\n', at) + 1 - at);
    at += line.size();
    if (!may_be_trailer(line.substr(0, line.find(':')))) continue;
    std::memmove(lines_.data() + kept, line.data(), line.size());
    kept += line.size();
  }
  lines_.resize(kept);
}

Result<> Trailers::add(std::string_view name, std::string_view value, std::source_location place) {
  if (!is_token(name) || !is_field_value(value) || !may_be_trailer(name)) {
    return Error::from_bug(
        Bug("a trailer must have a name that is allowed after a body, and a value without control characters", place));
  }
  const std::size_t size = name.size() + 2 + value.size() + 2;
  if (added_ == ChunkDecoder::trailers_max || size > ChunkDecoder::trailer_bytes_max - lines_.size()) {
    return Error::from_bug(Bug("a message must have at most 32 trailers, with at most 8 KiB together", place));
  }
  ++added_;
  for (const std::string_view part : {name, std::string_view(": "), value, std::string_view("\r\n")}) {
    lines_.append(part);
  }
  return {};
}

std::optional<std::string_view> Trailers::find(std::string_view lines, std::string_view name) noexcept {
  Field field;
  while (next_field(lines, field)) {
    if (equals_ignore_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

}  // namespace keel::http
