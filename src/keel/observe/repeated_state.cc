#include "keel/observe/repeated_state.h"

namespace keel::log {

bool RepeatedState::enter(Instant now) noexcept {
  const bool is_new = !is_on_;
  if (is_new) {
    is_on_ = true;
    times_ = 0;
    began_ = said_ = now;
  }
  is_there_ = true;
  ++times_;
  return is_new;
}

void RepeatedState::leave(Instant now) noexcept {
  if (!is_there_) return;
  is_there_ = false;
  left_ = now;
}

RepeatedState::Report RepeatedState::look(Instant now) noexcept {
  if (!is_on_) return Report::Nothing;
  if (!is_there_ && now - left_ >= calm) {
    is_on_ = false;
    return Report::Over;
  }
  if (now - said_ < interval) return Report::Nothing;
  said_ = now;
  return Report::Continues;
}

}  // namespace keel::log
