#include "keel/task/scope.h"

#include <exception>
#include <string>

#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/observe/unhandled.h"
#include "keel/task/live_task.h"

namespace keel {
namespace {

constexpr int children_named_max = 3;

Frame& declaring_frame(std::source_location place) {
  Frame* frame = Trampoline::current();
  KEEL_EXPECT_AT(frame != nullptr, "a Scope can be declared only in a coroutine that returns a Task", place);
  frame->context().expect_home(place);
  return *frame;
}

}  // namespace

Scope::Scope(std::source_location place) : frame_(declaring_frame(place)), outer_(frame_.scopes_), place_(place) {
  open(&frame_.context(), Instant::never());
  held_ = held_apart;
  frame_.scopes_ = this;
}

Scope::~Scope() {
  if (running_ != 0) [[unlikely]]
    destroyed_with_children();
  KEEL_CHECK(frame_.scopes_ == this, "scopes of a task must end in the reverse order of their declaration");
  KEEL_CHECK(!linked() || Executor::current() == home(),
             "a Scope must end on the loop where it was declared: co_await resume_on() with that loop before the "
             "coroutine returns");
  frame_.scopes_ = outer_;
  if (first_error_) [[unlikely]]
    ignore(*first_error_);
}

void Scope::destroyed_with_children() noexcept {
  std::string sentence =
      std::uncaught_exceptions() != 0
          ? "an exception leaves a coroutine while children of its Scope run: move the code that may throw into "
            "another Task, whose exception arrives as an error, or join the Scope first"
          : "a Scope must be joined before its coroutine returns: co_await scope.join() before every co_return, after "
            "scope.stop() if the children should end";
  sentence += "; " + std::to_string(running_) + (running_ == 1 ? " child runs" : " children run");
  int named = 0;
  each_live_task(*this, [&](const LiveTask& child) {
    if (child.depth != 0 || named == children_named_max) return;
    sentence += named++ == 0 ? ": " : ", ";
    sentence += child.chain();
    if (child.state == LiveTask::State::Waits) sentence += " waits for " + child.waits_for();
  });
  check_failed(place_.file_name(), static_cast<int>(place_.line()), "scope.running() == 0", sentence.c_str());
}

void Scope::note(Error&& error) noexcept {
  if (error.code() == Code::Cancelled && is_stopped()) return;
  if (first_error_) return ignore(error);
  first_error_.emplace(std::move(error));
}

void Scope::ignore(const Error& error) noexcept {
  if (error.is_bug()) report_unhandled("a task of a Scope ended with a bug, and nothing awaits its error", error);
}

void Scope::child_ended() noexcept {
  if (--running_ != 0) return;
  if (joining_ != nullptr) {
    std::exchange(joining_, nullptr)->wake();
  } else {
    frame_.scopes_joined();
  }
}

bool Scope::Join::start() {
  KEEL_EXPECT_AT(scope_.joining_ == nullptr, "join() is awaited while another task waits in it", place());
  if (scope_.running_ == 0) return true;
  scope_.joining_ = this;
  return false;
}

Result<> Scope::Join::take() noexcept {
  if (scope_.first_error_) {
    Error error = *std::move(scope_.first_error_);
    scope_.first_error_.reset();
    return error;
  }
  if (context().is_stopped()) return context().reason();
  return {};
}

}  // namespace keel
