#include "keel/events/internal/receipt.h"

#include <new>
#include <utility>

#include "keel/base/bug.h"
#include "keel/base/pool.h"

namespace keel::events::internal {

Receipt::Receipt() noexcept : Job(&arrived), home_(Executor::current()) {}

Receipt& Receipt::make() { return *::new (pool_allocate(sizeof(Receipt))) Receipt; }

void Receipt::release() noexcept {
  if (owners_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  this->~Receipt();
  pool_free(this, sizeof(Receipt));
}

void Receipt::expect() noexcept {
  waits_for_others_ = true;
  owners_.fetch_add(1, std::memory_order_relaxed);
  undecided_.begin();
}

void Receipt::decide(Outcome outcome) noexcept {
  note(outcome);
  if (undecided_.end()) {
    home_->post(*this);  // The posted job becomes an owner in place of this delivery.
  } else {
    release();
  }
}

void Receipt::arrived(Job& job) noexcept {
  auto& receipt = static_cast<Receipt&>(job);
  std::exchange(receipt.waiting_, nullptr)->wake();
  receipt.release();
}

bool Receipt::Arrival::start() {
  const Executor* const home = receipt_.home_;
  KEEL_EXPECT_AT(!receipt_.waits_for_others_ || (home != nullptr && home->is_serial()),
                 "publish_and_wait() can wait for handlers on executors only if it is called on a serial executor, "
                 "such as a loop: co_await resume_on() first, or call publish()",
                 place());
  receipt_.waiting_ = this;
  return !receipt_.undecided_.wait();
}

Result<> Receipt::Arrival::take() noexcept {
  if (is_cancelled_) return fail(Code::Cancelled, "the wait for the handlers of an event was cancelled");
  return {};
}

// After this call, nothing more is posted to the loop, which may end before the handlers do. If every delivery is
// already decided, the job that reports this has already been posted.
void Receipt::Arrival::cancel(Leaf& leaf) noexcept {
  auto& arrival = static_cast<Arrival&>(leaf);
  Receipt& receipt = arrival.receipt_;
  if (!receipt.undecided_.stop_waiting()) return;
  receipt.waiting_ = nullptr;
  arrival.is_cancelled_ = true;
  arrival.wake();
}

}  // namespace keel::events::internal
