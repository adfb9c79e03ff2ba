#include "keel/http/server/event_writer.h"

#include <string>
#include <utility>

#include "keel/base/bug.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::http {
namespace {

constexpr Duration comment_period = 15_s;

bool has_line_break(std::string_view text) noexcept { return text.find_first_of("\r\n") != text.npos; }

void append_field(Buffer& out, std::string_view name, std::string_view value) {
  out.append(name);
  out.append(": ");
  out.append(value);
  out.push_back('\n');
}

Task<> run(EventWriter& events, EventWriter::Callable& follow, Scope& tasks, Result<>& result) {
  result = co_await attempt(follow(events));
  tasks.stop();
}

Task<> stop_with_drain(BodyWriter& out, Scope& tasks, bool& is_draining) {
  co_await out.until_drain();
  is_draining = true;
  tasks.stop();
}

}  // namespace

Task<> EventWriter::send(std::string_view data, std::string_view type, std::string_view id,
                         std::source_location place) {
  KEEL_EXPECT_AT(!has_line_break(type), "the type of an event must not contain a line break", place);
  KEEL_EXPECT_AT(!has_line_break(id) && !id.contains('\0'), "the id of an event must not contain a line break or a NUL",
                 place);
  const Mutex::Lock lock = co_await sending_.lock();
  text_.clear();
  if (!type.empty()) append_field(text_, "event", type);
  if (!id.empty()) append_field(text_, "id", id);
  std::string_view rest = data;
  while (true) {
    const std::size_t end = rest.find_first_of("\r\n");
    append_field(text_, "data", rest.substr(0, end));
    if (end == rest.npos) break;
    rest.remove_prefix(end + (rest.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  text_.push_back('\n');
  co_await out_.write(text_.view());
}

Task<> EventWriter::retry(Duration wait, std::source_location place) {
  KEEL_EXPECT_AT(wait >= Duration(), "retry() of an event stream must be given a time of at least zero", place);
  const Mutex::Lock lock = co_await sending_.lock();
  text_.clear();
  append_field(text_, "retry", std::to_string(wait.count_ms()));
  text_.push_back('\n');
  co_await out_.write(text_.view());
}

Task<> EventWriter::keep_alive() {
  while (true) {
    co_await sleep_for(comment_period);
    const Mutex::Lock lock = co_await sending_.lock();
    co_await out_.write(":\n\n");
  }
}

Task<> EventWriter::write_body(BodyWriter& out, Callable& follow) {
  EventWriter events(out);
  Result<> result;
  bool is_draining = false;
  Scope tasks;
  tasks.spawn(run(events, follow, tasks, result), OnError::Ignore);
  // If the task has already ended, it never waited, so nothing was sent, and the error of the task can still become the
  // response.
  if (tasks.running() != 0) {
    tasks.spawn(events.keep_alive(), OnError::Ignore);
    tasks.spawn(stop_with_drain(out, tasks, is_draining), OnError::Ignore);
  }
  static_cast<void>(co_await attempt(tasks.join()));
  if (!result && !is_draining) co_await std::move(result).error();
}

}  // namespace keel::http
