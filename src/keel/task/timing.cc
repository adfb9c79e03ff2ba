#include "keel/task/timing.h"

#include "keel/base/bug.h"
#include "keel/base/host.h"

namespace keel {

namespace {

// Pools and plain threads have no timers.
bool has_timers(const Host& host) noexcept { return &host != &Host::system(); }

}  // namespace

bool SleepFor::start() noexcept {
  if (duration_ <= Duration()) return true;
  Host& host = Host::current();
  if (!has_timers(host)) [[unlikely]]
    return true;  // The task does not wait, and take() reports the missing timers as a bug.
  host.start_timer(*this, host.precise_now() + duration_);
  return false;
}
Result<> SleepFor::take() noexcept {
  if (cancelled_) return fail(Code::Cancelled, "a sleep was cancelled");
  if (duration_ > Duration() && !has_timers(Host::current())) [[unlikely]] {
    return Error::from_bug(Bug(
        "sleep_for() is awaited on a pool, which has no timers: first co_await resume_on() with the loop of a worker",
        place()));
  }
  return {};
}
void SleepFor::cancel(Leaf& leaf) noexcept {
  auto& sleep = static_cast<SleepFor&>(leaf);
  Host::current().stop_timer(sleep);
  sleep.cancelled_ = true;
  sleep.wake();
}

bool TimeLimit::limits(Instant& deadline) const noexcept {
  if (limit_ <= Duration()) return false;
  deadline = Host::current().precise_now() + limit_;
  return true;
}
void TimeLimit::start_timer(Instant deadline, StartCore& child) noexcept {
  limited_ = &child;
  if (deadline < context().deadline()) Host::current().start_timer(*this, deadline);
}
void TimeLimit::finish() noexcept {
  if (Timer::is_running()) Host::current().stop_timer(*this);
  wake();
}
void TimeLimit::fired(Timer& timer) noexcept {
  auto& limit = static_cast<TimeLimit&>(timer);
  limit.expired_ = true;
  limit.limited_->stop(Code::DeadlineExceeded);
}

}  // namespace keel
