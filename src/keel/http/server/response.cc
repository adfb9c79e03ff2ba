#include "keel/http/server/response.h"

#include <strings.h>

#include <cstring>
#include <functional>
#include <string>

#include "keel/base/bug.h"
#include "keel/http/message/fields.h"
#include "keel/http/server/body_transform.h"

namespace keel::http {
namespace {

constexpr std::string_view content_type_name = "Content-Type";

bool is_framing(std::string_view name) noexcept {
  for (const std::string_view ours : {"content-length", "transfer-encoding", "connection", "date"}) {
    if (name.size() == ours.size() && strncasecmp(name.data(), ours.data(), ours.size()) == 0) return true;
  }
  return false;
}

// Whether `text` lies in `buffer`. If a text that lies in the buffer were appended to the buffer, the text would be
// read after the buffer has moved.
bool lies_in(const Buffer& buffer, std::string_view text) noexcept {
  const std::less<const char*> before;
  return !before(text.data(), buffer.data()) && before(text.data(), buffer.data() + buffer.size());
}

}  // namespace

Response Response::text(Status status, std::string_view text, std::string_view content_type) {
  Response response(status);
  response.content_type_ = content_type;
  response.valid_ = is_field_value(content_type);
  response.body_.append(text);
  return response;
}

Response Response::body(Status status, Buffer&& bytes, std::string_view content_type) {
  Response response(status);
  response.content_type_ = content_type;
  response.valid_ = is_field_value(content_type);
  response.body_ = std::move(bytes);
  return response;
}

Response Response::make_stream(Status status, std::string_view content_type, StreamedBody::Callable write) {
  Response response(status);
  response.content_type_ = content_type;
  response.valid_ = is_field_value(content_type);
  response.streamed_ = StreamedBody(std::move(write));
  return response;
}

Response Response::make_events(EventWriter::Callable follow) {
  Response response = make_stream(
      Status::Ok, "text/event-stream",
      [follow = std::move(follow)](BodyWriter& out) mutable { return EventWriter::write_body(out, follow); });
  response.header("Cache-Control", "no-store").header("X-Accel-Buffering", "no");
  return response;
}

Response& Response::length(std::uint64_t bytes, std::source_location place) & {
  KEEL_EXPECT_AT(is_streamed(), "Response::length() is only for a stream(): the length of any other body is known",
                 place);
  streamed_.set_length(bytes);
  return *this;
}

Response& Response::any_origin(std::source_location place) & {
  KEEL_EXPECT_AT(is_upgrade(), "Response::any_origin() is only for an upgrade(): use Cors for other responses", place);
  upgrade_.allow_any_origin();
  return *this;
}

Response Response::make_upgrade(std::string_view protocol, Upgrade::Callable talk) {
  Response response(Status::SwitchingProtocols);
  response.header("Upgrade", protocol);
  response.upgrade_ = Upgrade(protocol, std::move(talk));
  return response;
}

Response& Response::header(std::string_view name, std::string_view value) & {
  // Response splitting is prevented here, after the last transformation of the value.
  if (!is_token(name) || !is_field_value(value) || is_framing(name)) {
    valid_ = false;
    return *this;
  }
  if (lies_in(fields_, value)) [[unlikely]]
    return header(name, std::string(value));
  if (equals_ignore_case(name, content_type_name)) [[unlikely]] {
    // Removes an existing Content-Type: a response never has two of them.
    content_type_ = {};
    remove(content_type_name);
  }
  fields_.append(name);
  fields_.append(": ");
  fields_.append(value);
  fields_.append("\r\n");
  return *this;
}

namespace {

// Finds the first line of `name` in "Name: value\r\n…", beginning at `begin`; sets `begin` to the beginning and `end`
// to the end of that line, and returns false if there is no such line.
bool find_line(std::string_view fields, std::string_view name, std::size_t& begin, std::size_t& end) noexcept {
  while (begin < fields.size()) {
    end = fields.find("\r\n", begin) + 2;
    const std::string_view line = fields.substr(begin, end - begin);
    if (line.size() > name.size() && line[name.size()] == ':' &&
        equals_ignore_case(line.substr(0, name.size()), name)) {
      return true;
    }
    begin = end;
  }
  return false;
}

}  // namespace

std::optional<std::string_view> Response::field(std::string_view name) const noexcept {
  std::size_t begin = 0;
  std::size_t end = 0;
  if (!find_line(fields_.view(), name, begin, end)) return std::nullopt;
  return trim_blanks(fields_.view().substr(begin + name.size() + 1, end - 2 - begin - name.size() - 1));
}

std::string_view Response::content_type() const noexcept {
  if (!content_type_.empty()) [[likely]]
    return content_type_;
  return field(content_type_name).value_or(std::string_view());
}

Response& Response::remove(std::string_view name) & noexcept {
  std::size_t begin = 0;
  std::size_t end = 0;
  while (find_line(fields_.view(), name, begin, end)) {
    std::memmove(fields_.data() + begin, fields_.data() + end, fields_.size() - end);
    fields_.resize(fields_.size() - (end - begin));
  }
  return *this;
}

Response& Response::transform(BodyTransform& transform, std::source_location place) & {
  if (!is_streamed()) [[unlikely]] {
    transform.release();
    throw_bug("Response::transform() is only for a stream(): use replace_content() for a complete body", place);
  }
  streamed_.add(transform);
  return *this;
}

Response& Response::replace(std::string_view name, std::string_view value) & {
  if (lies_in(fields_, value)) return replace(name, std::string(value));
  remove(name);
  return header(name, value);
}

Response& Response::vary(std::string_view field) & {
  const std::string_view all = fields_.view();
  for (std::size_t begin = 0, end = 0; find_line(all, "Vary", begin, end); begin = end) {
    for (std::string_view rest = all.substr(begin + 5, end - 2 - begin - 5), element; next_element(rest, element);) {
      if (element == "*" || equals_ignore_case(element, field)) return *this;
    }
  }
  return header("Vary", field);
}

}  // namespace keel::http
