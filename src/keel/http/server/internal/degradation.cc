#include "keel/http/server/internal/degradation.h"

namespace keel::http {

void Degradation::stop() noexcept {
  is_stopped_ = true;
  loop_.stop_timer(timer_);
}

void Degradation::look() {
  const auto tell = [this](Level level, log::Message message) {
    log_.log(level, message, log::field("worker", loop_.index()), log::field("times", state_.times()),
             log::field("duration", state_.lasted(loop_.now())));
  };
  switch (state_.look(loop_.now())) {
    case log::RepeatedState::Report::Over:
      return tell(Level::Info, lines_.is_over);
    case log::RepeatedState::Report::Continues:
      tell(Level::Warn, lines_.goes_on);
      break;
    case log::RepeatedState::Report::Nothing:
      break;
  }
  loop_.start_timer(timer_, loop_.now() + log::RepeatedState::calm);
}

}  // namespace keel::http
