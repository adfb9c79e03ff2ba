#include "keel/http/response.h"

#include <strings.h>

#include "keel/http/fields.h"

namespace keel::http {
namespace {

constinit json::WriterOptions options_of_process;

bool is_framing(std::string_view name) noexcept {
  for (const std::string_view ours : {"content-length", "transfer-encoding", "connection", "date"}) {
    if (name.size() == ours.size() && strncasecmp(name.data(), ours.data(), ours.size()) == 0) return true;
  }
  return false;
}

}  // namespace

Response Response::text(Status status, std::string_view text, std::string_view content_type) {
  Response response(status);
  response.content_type_ = content_type;
  response.body_.append(text);
  return response;
}

Response Response::body(Status status, Buffer&& bytes, std::string_view content_type) {
  Response response(status);
  response.content_type_ = content_type;
  response.body_ = std::move(bytes);
  return response;
}

Response Response::stream(Status status, std::string_view content_type, Function<Task<>(BodyWriter&)> write,
                          std::optional<std::uint64_t> length) {
  Response response(status);
  response.content_type_ = content_type;
  response.streamed_ = StreamedBody(std::move(write), length);
  return response;
}

Response& Response::header(std::string_view name, std::string_view value) & {
  // Response splitting is stopped in this one place, after the last transformation of the value.
  if (!is_token(name) || !is_field_value(value) || is_framing(name)) {
    valid_ = false;
    return *this;
  }
  fields_.append(name);
  fields_.append(": ");
  fields_.append(value);
  fields_.append("\r\n");
  return *this;
}

void Response::set_json_options(json::WriterOptions options) noexcept { options_of_process = options; }
json::WriterOptions Response::json_options() noexcept { return options_of_process; }

}  // namespace keel::http
