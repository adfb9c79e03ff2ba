#include "keel/http/client/event_reader.h"

#include <string>
#include <utility>

#include "keel/http/client/url.h"
#include "keel/http/message/fields.h"

namespace keel::http {

Task<std::optional<ServerEvent>> EventReader::next() {
  if (!is_checked_) co_await check_head();
  is_checked_ = true;
  while (true) {
    Result<std::optional<ServerEvent>> event = parser_.next(rest_);
    if (!event) {
      co_return std::move(event).error().as(Code::Upstream).because(loggable_url(response_.url())).from_environment();
    }
    if (*event) co_return *std::move(event);
    rest_ = co_await response_.read();
    if (rest_.empty()) co_return std::nullopt;
  }
}

Result<> EventReader::check_head() const {
  std::string_view type = response_.header("Content-Type").value_or("");
  type = type.substr(0, type.find_first_of("; "));
  if (response_.status() == Status::Ok && equals_ignore_case(type, "text/event-stream")) return {};
  const std::string text = "returned " + std::to_string(number(response_.status())) + " with '" + std::string(type) +
                           "' instead of 200 with 'text/event-stream'";
  return Error::text(Code::Upstream, text).because(loggable_url(response_.url())).from_environment();
}

}  // namespace keel::http
