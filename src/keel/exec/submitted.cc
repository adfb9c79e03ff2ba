#include "keel/exec/submitted.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/exec/internal/submission_inl.h"

namespace keel {
namespace {

// The wait of a thread for one or several submissions.
class Parked : public Submission::Listener {
 public:
  Parked() noexcept : Listener{&on_done} {}

  // Waits for `times` notifications; returns false if they did not all arrive before `until`.
  bool wait(std::size_t times, Instant until) noexcept {
    std::unique_lock lock(mutex_);
    const auto enough = [&] { return told_ >= times; };
    if (until.is_never()) {
      changed_.wait(lock, enough);
      return true;
    }
    return changed_.wait_until(lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(until.ns())),
                               enough);
  }

 private:
  static void on_done(Listener& listener) noexcept {
    auto& parked = static_cast<Parked&>(listener);
    // Notifies under the lock, because the waiting thread may destroy `parked` as soon as the lock is free.
    std::lock_guard lock(parked.mutex_);
    ++parked.told_;
    parked.changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t told_ = 0;
};

void check_may_wait(std::source_location place) {
  KEEL_EXPECT_AT(&Host::current() == &Host::system(),
                 "only plain threads can wait for a submitted job; in a task, await completion(handle)", place);
}

}  // namespace

namespace internal {

template class BasicSubmission<>;

DueLater due_after(Duration delay) noexcept { return {Host::current().precise_now() + delay}; }
Instant after(Duration delay) noexcept { return Host::system().now() + delay; }
Error none_is_done() noexcept { return Error(Code::DeadlineExceeded, "none of the submitted jobs was done in time"); }

bool wait(Submission& submission, Instant until, std::source_location place) {
  if (submission.is_done()) return true;
  return wait_any(1, [&submission](std::size_t) -> Submission& { return submission; }, until, place) == 0;
}

// The thread usually waits only once. If the thread can run a delayed job itself, the wait also ends when that job
// becomes due.
std::size_t wait_any(std::size_t count, FunctionRef<Submission&(std::size_t)> at, Instant until,
                     std::source_location place) {
  KEEL_EXPECT_AT(count > 0, "waiting for one of several jobs needs at least one job", place);
  while (true) {
    std::size_t index = 0;
    while (index < count && !at(index).is_done()) ++index;
    Instant helps_at = Instant::never();
    for (std::size_t i = 0; index == count && i < count; ++i) {
      if (at(i).help()) return i;
      helps_at = std::min(helps_at, at(i).helps_at());
    }
    if (index < count) return index;
    check_may_wait(place);
    Parked parked;
    std::size_t listening = 0;
    while (listening < count && at(listening).listen(parked)) ++listening;
    const bool is_told = listening < count || parked.wait(1, std::min(until, helps_at));
    std::size_t told = 0;
    for (std::size_t i = 0; i < listening; ++i) told += at(i).forget(parked) ? 0 : 1;
    parked.wait(told, Instant::never());
    if (!is_told && told == 0 && until <= helps_at) return count;
  }
}

}  // namespace internal

}  // namespace keel
