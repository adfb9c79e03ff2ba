#include "keel/task/frame.h"

#include <new>

#include "keel/base/check.h"
#include "keel/observe/span.h"
#include "keel/task/context.h"
#include "keel/task/leaf.h"
#include "keel/task/scope.h"
#include "keel/task/start.h"

namespace keel {

constinit const char internal::ShortPlace::origin = 0;

struct Trampoline::State {
  Frame* current = nullptr;  // The frame whose body runs.
  Frame* ended = nullptr;    // The slot: holds a frame that had suspended and has now ended.
  bool ended_here = false;   // The frame that was being started ended without suspending.
  bool draining = false;
  int deferring = 0;
  Job* woken = nullptr;  // The woken leaves, oldest first. The trampoline further down the stack resumes the leaves.
  Job* woken_last = nullptr;
};

// Inlined only into functions of this file, none of which is part of a coroutine.
inline Trampoline::State& Trampoline::state() noexcept {
  static constinit thread_local State state;
  return state;
}

[[gnu::noinline]] Trampoline::Deferring::Deferring() noexcept { ++state().deferring; }
[[gnu::noinline]] Trampoline::Deferring::~Deferring() { --state().deferring; }

Frame* Trampoline::current() noexcept { return state().current; }

bool Trampoline::queue(Leaf& leaf) noexcept {
  State& s = state();
  if (s.current != nullptr || s.deferring != 0) return false;
  if (s.draining) {
    Job& job = leaf.job();
    if (s.woken == nullptr) {
      s.woken = &job;
    } else {
      s.woken_last->next = &job;
    }
    s.woken_last = &job;
    return true;
  }
  leaf.kind_->arrive(leaf);
  if (s.ended != nullptr || s.woken != nullptr) drain(s);
  return true;
}

void Trampoline::arrive(Leaf& leaf) noexcept {
  leaf.kind_->arrive(leaf);
  drain(state());
}

void Trampoline::drain(State& s) noexcept {
  const bool before = std::exchange(s.draining, true);
  while (true) {
    if (Frame* ended = std::exchange(s.ended, nullptr)) {
      ended->settle();
    } else if (Job* job = s.woken) {
      s.woken = job->next;
      auto& leaf = reinterpret_cast<Leaf&>(*job);
      leaf.kind_->arrive(leaf);
    } else {
      break;
    }
  }
  s.draining = before;
}

// This call stays on its thread, even if the coroutine suspends during the call and continues on another thread.
bool Frame::start(Trampoline::State& s) noexcept {
  Frame* before = std::exchange(s.current, this);
  handle().resume();
  s.current = before;
  return std::exchange(s.ended_here, false);
}

bool Frame::start_for(Frame& parent, bool keeps_errors) noexcept {
  // The members are set before the child runs, because the child may end on another thread while this call continues.
  parent.home_ = Executor::current();
  parent.meeting_ = Meeting::Open;
  up_ = &parent;
  up_is_frame_ = true;
  up_keeps_errors_ = keeps_errors;
  context_ = parent.context_;
  return start(Trampoline::state());
}

bool Frame::start_for(StartCore& owner, Context& context) noexcept {
  up_ = &owner;
  context_ = &context;
  const ScopedSpan span(context.span());
  return start(Trampoline::state());
}

// The child's end and the parent's suspension each call meet(), which records the arrival and returns the earlier
// arrivals. Whichever side calls meet() second continues the parent.
Frame::Meeting Frame::meet(Meeting arrival) noexcept {
  static_assert(sizeof(Meeting) == 1);
  auto* word = reinterpret_cast<std::uint8_t*>(&meeting_);
  return static_cast<Meeting>(__atomic_exchange_n(word, static_cast<std::uint8_t>(arrival), __ATOMIC_ACQ_REL));
}

bool Frame::suspends() noexcept {
  if (home_ == nullptr || home_->is_serial()) {
    suspended_ = true;
    return true;
  }
  const bool before = std::exchange(suspended_, true);
  if (meet(Meeting::ParentSuspended) == Meeting::Open) return true;
  suspended_ = before;
  return false;
}

void Frame::resume() noexcept {
  const ScopedSpan span(context_->span());
  Trampoline::State& s = Trampoline::state();
  Frame* before = std::exchange(s.current, this);
  handle().resume();
  s.current = before;
}

void Frame::end() noexcept {
  Trampoline::State& s = Trampoline::state();
  if (suspended_) {
    s.ended = this;
  } else {
    s.ended_here = true;
  }
}

void Frame::set_error(Error&& error) noexcept {
  new (&error_) Error(std::move(error));
  outcome_ = Outcome::Failed;
}

void Frame::set_exception() noexcept { set_error(Error::from_exception()); }

void Frame::fail(Error&& error) noexcept {
  if (error.is_from_environment() || error.is_bug()) error = std::move(error).awaited_at(place());
  set_error(std::move(error));
  if (scopes_ == nullptr) return end();
  if (Executor::current() == context_->home()) return end_with_scopes();
  // The children run on the home executor, so the frame waits for them on that executor.
  outcome_ = Outcome::Ending;
  suspended_ = true;
  run = &run_end_with_scopes;
  context_->home()->post(*this);
}

void Frame::run_end_with_scopes(Job& job) noexcept {
  auto& frame = static_cast<Frame&>(job);
  frame.run = &run_settled;
  frame.end_with_scopes();
  Trampoline::drain(Trampoline::state());
}

void Frame::end_with_scopes() noexcept {
  bool any_running = false;
  for (Scope* scope = scopes_; scope != nullptr; scope = scope->outer_) {
    if (scope->running() == 0) continue;
    any_running = true;
    scope->stop();
  }
  if (!any_running) return end_after_scopes();
  outcome_ = Outcome::Ending;
  suspended_ = true;
}

// The frame may be destroyed on another executor, so everything that belongs to the current executor is released here.
void Frame::end_after_scopes() noexcept {
  for (Scope* scope = scopes_; scope != nullptr; scope = scope->outer_) scope->close();
  outcome_ = Outcome::Failed;
  end();
}

void Frame::scopes_joined() noexcept {
  if (outcome_ != Outcome::Ending) return;
  for (Scope* scope = scopes_; scope != nullptr; scope = scope->outer_) {
    if (scope->running() != 0) return;
  }
  end_after_scopes();
}

// Called when this frame has ended after it had suspended: notifies the waiting frame, on that frame's executor.
void Frame::settle() noexcept {
  Executor* here = Executor::current();
  Executor* there = nullptr;
  if (up_is_frame_) {
    auto& parent = *static_cast<Frame*>(up_);
    there = parent.home_;
    if (there != nullptr && !there->is_serial() && parent.meet(Meeting::ChildEnded) != Meeting::ParentSuspended) {
      return;  // The parent is about to suspend and will see the child's end.
    }
  } else {
    there = static_cast<StartCore*>(up_)->home();
  }
  if (here == there) return settle_at_home();
  KEEL_CHECK(there != nullptr, "a task that changes executors must have been started on an executor");
  there->post(*this);
}

void Frame::settle_at_home() noexcept {
  if (!up_is_frame_) return static_cast<StartCore*>(up_)->ended();
  auto& parent = *static_cast<Frame*>(up_);
  if (has_value() || up_keeps_errors_) {
    parent.resume();
  } else {
    parent.fail(std::move(error_));
  }
}

void Frame::run_settled(Job& job) noexcept {
  static_cast<Frame&>(job).settle_at_home();
  Trampoline::drain(Trampoline::state());
}

}  // namespace keel
