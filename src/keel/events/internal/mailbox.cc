#include "keel/events/internal/mailbox.h"

#include <algorithm>
#include <new>
#include <utility>

#include "keel/base/bug.h"
#include "keel/base/per_thread.h"
#include "keel/events/internal/readers.h"
#include "keel/events/internal/subscriber.h"

namespace keel::events::internal {
namespace {

std::size_t rounded_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}
const void* this_thread() noexcept { return &keel::internal::this_thread; }

}  // namespace

Mailbox::Mailbox(Subscriber& owner, const EventType& type, const SubscribeOptions& options)
    : Job(&deliver),
      owner_(owner),
      type_(type),
      executor_(*options.executor),
      queue_max_(options.queue_max),
      when_full_(options.when_full),
      alignment_(std::max(type.alignment, alignof(Place))),
      event_at_(rounded_up(sizeof(Place), type.alignment)) {
  KEEL_EXPECT(type.copy != nullptr, "an event that an executor delivers must be copyable");
  KEEL_EXPECT(queue_max_ > 0, "the queue of a subscription with an executor needs room for at least one event");
  // There is one more place than the maximum number of waiting events: the additional place is for the event whose
  // handler runs.
  const std::size_t bytes = rounded_up(event_at_ + type.bytes, alignment_);
  memory_ = static_cast<std::byte*>(::operator new((queue_max_ + 1) * bytes, std::align_val_t(alignment_)));
  for (std::size_t i = queue_max_ + 1; i > 0; --i) free_ = ::new (memory_ + (i - 1) * bytes) Place{free_, nullptr};
}

Mailbox::~Mailbox() { ::operator delete(memory_, std::align_val_t(alignment_)); }

// Call it under the lock. Returns the place for a new event, or null if the event is refused (`is_refused` is then
// true). If `lost` is set, it is the returned place, whose old event must be dropped first.
Mailbox::Place* Mailbox::take_place(Place*& lost, bool& is_refused) noexcept {
  is_refused = is_ended_ || (waiting_ == queue_max_ && (when_full_ == WhenFull::DropNewest || first_ == nullptr));
  if (is_refused) {
    ++dropped_;
    return nullptr;
  }
  if (waiting_ == queue_max_) {
    ++dropped_;
    lost = first_;
    first_ = lost->next;
    if (first_ == nullptr) last_ = &first_;
    return lost;
  }
  ++waiting_;
  return std::exchange(free_, free_->next);
}

void Mailbox::give_back(Place& place) noexcept {
  place.next = free_;
  free_ = &place;
}

void Mailbox::drop(Receipt* receipt) noexcept {
  owner_.count(Outcome::Dropped);
  if (receipt != nullptr) receipt->decide(Outcome::Dropped);
}

void Mailbox::push(const void* event, Receipt* receipt) noexcept {
  if (receipt != nullptr) receipt->expect();
  Place* lost = nullptr;
  bool is_refused = false;
  Place* place = nullptr;
  {
    const std::lock_guard lock(mutex_);
    place = take_place(lost, is_refused);
  }
  if (is_refused) return drop(receipt);
  if (lost != nullptr) {
    type_.destroy(event_in(*lost));
    drop(lost->receipt);
  }
  try {
    type_.copy(event_in(*place), event);
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      --waiting_;
      give_back(*place);
    }
    owner_.failed(Error::from_exception());
    if (receipt != nullptr) receipt->decide(Outcome::Failed);
    return;
  }
  place->receipt = receipt;
  place->next = nullptr;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_refused = is_ended_;
    if (is_refused) {
      ++dropped_;
    } else {
      *last_ = place;
      last_ = &place->next;
      is_first = !std::exchange(is_posted_, true);
    }
  }
  if (is_refused) {
    type_.destroy(event_in(*place));
    return drop(receipt);
  }
  if (is_first) {
    owner_.retain();  // Keeps the owner alive until the job has run.
    executor_.post(*this);
  }
}

Mailbox::Place* Mailbox::take_next(Place* handled, int count, bool& again) noexcept {
  const std::lock_guard lock(mutex_);
  running_on_ = nullptr;
  if (handled != nullptr) give_back(*handled);
  if (first_ == nullptr) {  // The queue is also empty after the subscription has ended.
    is_posted_ = false;
    return nullptr;
  }
  again = count == turn_max;
  if (again) return nullptr;
  Place* const place = first_;
  first_ = place->next;
  if (first_ == nullptr) last_ = &first_;
  --waiting_;
  running_on_ = this_thread();
  return place;
}

void Mailbox::deliver(Job& job) noexcept {
  auto& mailbox = static_cast<Mailbox&>(job);
  bool again = false;
  Place* handled = nullptr;
  for (int count = 0; Place* const place = mailbox.take_next(handled, count, again); ++count) {
    void* const event = mailbox.event_in(*place);
    const Outcome outcome = mailbox.owner_.handle(event);
    mailbox.type_.destroy(event);
    if (place->receipt != nullptr) place->receipt->decide(outcome);
    handled = place;
  }
  if (again) {
    mailbox.executor_.post(mailbox);
  } else {
    mailbox.owner_.release();
  }
}

void Mailbox::end() noexcept {
  Place* waiting = nullptr;
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
    waiting = std::exchange(first_, nullptr);
    last_ = &first_;
    for (Place* place = waiting; place != nullptr; place = place->next) ++dropped_;
  }
  while (waiting != nullptr) {
    Place& place = *std::exchange(waiting, waiting->next);
    type_.destroy(event_in(place));
    drop(place.receipt);
  }
  for (Patience patience; is_running_elsewhere();) patience.wait();
}

bool Mailbox::is_running_here() const noexcept {
  const std::lock_guard lock(mutex_);
  return running_on_ == this_thread();
}

bool Mailbox::is_running_elsewhere() const noexcept {
  const std::lock_guard lock(mutex_);
  return running_on_ != nullptr && running_on_ != this_thread();
}

std::size_t Mailbox::queued() const noexcept {
  const std::lock_guard lock(mutex_);
  return is_ended_ ? 0 : waiting_;
}

std::uint64_t Mailbox::dropped() const noexcept {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace keel::events::internal
