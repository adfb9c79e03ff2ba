#include "keel/task/start.h"

namespace keel {

void StartCore::hold(Frame& frame) noexcept {
  KEEL_CHECK(!is_running(), "a Start can run only one task at a time");
  reset();
  frame_ = &frame;
}

bool StartCore::begin_held(Context* parent, const StartOptions& options, Done done) noexcept {
  done_ = done;
  context_.open(parent, options.deadline);
  if (options.span != nullptr) context_.set_span(options.span);
  KEEL_CHECK(home() == nullptr || home()->is_serial(),
             "a task must be started on a loop; to run on a pool, it awaits resume_on()");
  context_.is_running_ = true;
  context_.set_code(frame_->code());
  if (!frame_->start_for(*this, context_)) {
    context_.note_waiting();
    return false;
  }
  context_.is_running_ = false;
  context_.close();
  return true;
}

void StartCore::ended() noexcept {
  context_.is_running_ = false;
  context_.close();
  done_(*this);
}

void StartCore::reset() noexcept {
  KEEL_CHECK(!is_running(), "a Start must not be destroyed before its task has ended: stop it and wait for done");
  if (frame_ != nullptr) std::exchange(frame_, nullptr)->destroy();
}

}  // namespace keel
