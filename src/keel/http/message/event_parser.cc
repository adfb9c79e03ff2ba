#include "keel/http/message/event_parser.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "keel/base/ascii.h"

namespace keel::http {

Result<std::optional<ServerEvent>> EventParser::next(std::string_view& bytes) {
  if (was_given_) {
    data_.clear();
    type_.clear();
    was_given_ = false;
  }
  while (!bytes.empty()) {
    if (after_return_) {
      after_return_ = false;
      if (bytes.front() == '\n') bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (line_.size() + end + data_.size() > event_bytes_max_) {
      return Error::text(Code::OutOfRange,
                         "a server-sent event is longer than " + std::to_string(event_bytes_max_) + " bytes");
    }
    line_.append(bytes.substr(0, end));
    bytes.remove_prefix(end);
    if (bytes.empty()) break;
    after_return_ = bytes.front() == '\r';
    bytes.remove_prefix(1);
    const bool is_event = end_line();
    line_.clear();
    if (is_event) {
      was_given_ = true;
      ServerEvent event{.data = data_.view().substr(0, data_.size() - 1), .id = id_.view()};
      if (!type_.empty()) event.type = type_.view();
      return std::optional<ServerEvent>(event);
    }
  }
  return std::optional<ServerEvent>();
}

bool EventParser::end_line() {
  std::string_view line = line_.view();
  // Skips a byte order mark at the beginning of the stream.
  if (is_first_line_ && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  is_first_line_ = false;
  if (line.empty()) {
    id_.clear();
    id_.append(next_id_.view());
    if (!data_.empty()) return true;
    type_.clear();
    return false;
  }
  const std::size_t colon = line.find(':');
  if (colon == line.npos) {
    set_field(line, {});
  } else {
    const std::string_view value = line.substr(colon + 1);
    set_field(line.substr(0, colon), value.starts_with(' ') ? value.substr(1) : value);
  }
  return false;
}

void EventParser::set_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    data_.append(value);
    data_.push_back('\n');
  } else if (name == "event") {
    type_.clear();
    type_.append(value);
  } else if (name == "id") {
    if (value.contains('\0')) return;
    next_id_.clear();
    next_id_.append(value);
  } else if (name == "retry") {
    if (value.empty() || !std::ranges::all_of(value, ascii::is_digit)) return;
    constexpr std::int64_t day_ms = 24 * 3600 * 1000;
    std::int64_t ms = 0;
    for (const char digit : value) ms = std::min(ms * 10 + (digit - '0'), day_ms);
    retry_ = Duration::milliseconds(ms);
  }
}

}  // namespace keel::http
