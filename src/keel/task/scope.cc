#include "keel/task/scope.h"

#include "keel/base/check.h"

namespace keel {
namespace {

Frame& declaring_frame() noexcept {
  Frame* frame = Trampoline::current();
  KEEL_CHECK(frame != nullptr, "a Scope is declared in the body of a task");
  return *frame;
}

}  // namespace

Scope::Scope() noexcept : frame_(declaring_frame()), outer_(frame_.scopes_) {
  open(&frame_.context(), Instant::never());
  frame_.scopes_ = this;
}

Scope::~Scope() {
  KEEL_CHECK(running_ == 0, "a Scope is joined before its coroutine returns: co_await scope.join()");
  KEEL_CHECK(frame_.scopes_ == this, "scopes of a task end in the reverse order of their declaration");
  KEEL_CHECK(!linked() || Executor::current() == home(),
             "a Scope ends on the loop where it was declared: come home before its coroutine returns");
  frame_.scopes_ = outer_;
}

void Scope::note(Error&& error) noexcept {
  if (error.code() == Code::Cancelled && is_stopped()) return;
  if (!first_error_) first_error_.emplace(std::move(error));
}

void Scope::child_ended() noexcept {
  if (--running_ != 0) return;
  if (joining_ != nullptr) {
    std::exchange(joining_, nullptr)->wake();
  } else {
    frame_.scopes_joined();
  }
}

bool Scope::Join::start() noexcept {
  KEEL_CHECK(scope_.joining_ == nullptr, "a scope is joined by one awaiter at a time");
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
