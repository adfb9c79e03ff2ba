#include "keel/task/context.h"

#include <algorithm>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/task/frame.h"
#include "keel/task/leaf.h"

namespace keel {

Context::~Context() { close(); }

void Context::open(Context* parent, Instant deadline) noexcept {
  home_ = Executor::current();
  deadline_ = deadline;
  leaf_ = nullptr;
  span_ = nullptr;
  held_ = 0;
  parent_ = parent;
  std::uint8_t reason = running;
  if (parent != nullptr) {
    // A StopSource made before the loop ran belongs to the loop of its first task.
    if (parent->home_ == nullptr) parent->home_ = home_;
    KEEL_CHECK(parent->home_ == home_,
               "a nested scope, timeout or group must be opened on the loop where its task began");
    if (parent->is_source_) {
      is_below_source_ = true;
      parent->note_waiting();
    }
    deadline_ = std::min(deadline, parent->deadline_);
    span_ = parent->span_;
    reason = parent->reason_;
    parent->below_.push_back(*this);
  }
  __atomic_store_n(&reason_, reason, __ATOMIC_RELEASE);
}

void Context::is_away(std::source_location place) {
  throw_bug(
      "a Scope, a time limit or a group of tasks must begin on the loop where its task began: first co_await "
      "resume_on() with that loop",
      place);
}

void Context::open_source() noexcept {
  open(nullptr, Instant::never());
  is_source_ = true;
  held_ = held_apart;
}

void Context::close() noexcept {
  while (below_.pop_front() != nullptr) {
  }
  if (linked()) {
    if (held_ != 0 && held_ != held_apart && parent_ != nullptr && parent_->held_ != held_apart) {
      parent_->held_ = held_;
    }
    unlink();
  }
  // A context without tasks may be destroyed on any thread; no list of that thread contains it.
  if (!std::exchange(is_below_source_, false)) return;
  if (parent_->below_.empty() && parent_->linked()) parent_->unlink();
}

void Context::stop(Code reason) noexcept {
  KEEL_DCHECK(below_.empty() || home_ == Executor::current(), "a context must be stopped on its home executor");
  Trampoline::Deferring deferring;
  stop_below(reason);
}

void Context::stop_below(Code reason) noexcept {
  if (is_stopped()) return;
  __atomic_store_n(&reason_, static_cast<std::uint8_t>(reason), __ATOMIC_RELEASE);
  if (leaf_ != nullptr) leaf_->cancel_now();
  below_.for_each([reason](Context& below) { below.stop_below(reason); });
}

bool Context::holds(std::uint32_t number) const noexcept {
  for (const Context* at = this; at != nullptr && at->held_ != held_apart; at = at->parent_) {
    if (at->held_ == number) return true;
  }
  return false;
}

bool Context::is_late() const noexcept { return Host::current().now() >= deadline_; }

Error Context::reason() const noexcept {
  const std::uint8_t reason = __atomic_load_n(&reason_, __ATOMIC_ACQUIRE);
  if (reason != running && static_cast<Code>(reason) != Code::DeadlineExceeded) {
    return Error(static_cast<Code>(reason), "the task was asked to stop");
  }
  return Error(Code::DeadlineExceeded, "the deadline has passed");
}

}  // namespace keel
