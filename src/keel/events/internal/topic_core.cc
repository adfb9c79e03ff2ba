#include "keel/events/internal/topic_core.h"

#include <algorithm>
#include <new>
#include <utility>

#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/events/internal/kept.h"
#include "keel/events/internal/mailbox.h"
#include "keel/events/internal/readers.h"
#include "keel/events/internal/subscriber.h"

namespace keel::events::internal {
namespace {

// The maximum number of old lists that wait for the next barrier; the end of a subscription executes a barrier anyway.
constexpr int unfenced_max = 16;

constexpr std::size_t bytes_of(std::size_t size) noexcept {
  return sizeof(Snapshot) + (size + 1) * sizeof(Subscriber*);
}

Snapshot& make_snapshot(TopicCore& topic, std::size_t size) {
  auto& made = *::new (pool_allocate(bytes_of(size))) Snapshot{size, &topic, nullptr, nullptr};
  *made.end() = nullptr;
  return made;
}

void free_all(Snapshot* first, const Snapshot* end) noexcept {
  while (first != end) {
    Snapshot* const snapshot = std::exchange(first, first->next);
    if (snapshot->retired != nullptr) snapshot->retired->release();
    pool_free(snapshot, bytes_of(snapshot->size));
  }
}

}  // namespace

TopicCore::TopicCore(const EventType& type, Function<void(const Error&)> report)
    : snapshot_(&make_snapshot(*this, 0)),
      id_(take_topic()),
      type_(type),
      report_(std::move(report)),
      oldest_(const_cast<Snapshot*>(snapshot_.load(std::memory_order_relaxed))),
      fenced_(oldest_) {}

TopicCore::~TopicCore() {
  keeping_.end();
  const Snapshot* const last = snapshot_.load(std::memory_order_relaxed);
  KEEL_CHECK(last->size == 0, "a Bus must outlive its subscriptions");
  fence();
  collect();
  KEEL_CHECK(oldest_ == last && !is_read(*last), "a Bus must not be destroyed before the last publish() has returned");
  free_all(oldest_, nullptr);
  give_back_topic(id_);
}

template <bool has_barrier>
inline unsigned TopicCore::call_each(Frame& frame, const Snapshot& list, const void* event, Awaited* awaited) noexcept {
  unsigned delivered = 0;
  // The loop is unrolled into four call sites: when handlers of several types take turns, each call site then mostly
  // calls the handler that it called the previous time.
#pragma GCC unroll 4
  for (Subscriber* const* at = list.begin(); *at != nullptr; ++at) {
    Subscriber& subscriber = **at;
    Publishing<has_barrier>::calls(frame, subscriber);
    delivered += subscriber.call.load(std::memory_order_seq_cst)(subscriber, event, awaited);
  }
  return delivered;
}

// Only the reader and its frame are kept in registers while handlers run; other values are read again afterwards, which
// costs less than saving them.
template <bool has_barrier>
inline void TopicCore::end_publishing(Reader& reader, Frame& frame, std::size_t count, unsigned delivered) noexcept {
  const Snapshot* const read = frame.snapshot.load(std::memory_order_relaxed);
  TopicCore& topic = *read->topic;
  Publishing<has_barrier>::end(frame);
  Counts& counts = reader.counts(topic.id_);
  counts.published.add(count);
  counts.delivered.add(delivered);
  // This thread may have been the last reader of an old list.
  if (read != topic.snapshot_.load(std::memory_order_relaxed)) [[unlikely]]
    topic.collect();
}

template <bool has_barrier>
inline unsigned TopicCore::publish_in(Reader& reader, Frame& frame, const void* events, std::size_t count,
                                      Awaited* awaited) noexcept {
  Publishing<has_barrier>::begin(frame, snapshot_);
  unsigned delivered = 0;
  const auto* event = static_cast<const std::byte*>(events);
  const std::byte* const end = event + count * type_.bytes;
  while (event != end) {
    const Snapshot& list = *frame.snapshot.load(std::memory_order_relaxed);
    delivered += call_each<has_barrier>(frame, list, event, awaited);
    event += type_.bytes;
  }
  end_publishing<has_barrier>(reader, frame, count, delivered);
  return delivered;
}

inline unsigned TopicCore::publish_here(const void* events, std::size_t count, Awaited* awaited) noexcept {
  Reader& reader = this_reader();
  Frame& frame = reader.first_free();
  if (reader.has_barrier()) [[likely]]
    return publish_in<true>(reader, frame, events, count, awaited);
  return publish_in<false>(reader, frame, events, count, awaited);
}

// The fast path is for a call that does not come from a handler, on a topic with one subscriber; the machine code of
// the fast path has to save only one register.
void TopicCore::publish(const void* event) noexcept {
  Reader* const reader = current_reader;
  if (reader == nullptr || !reader->outermost().is_free()) [[unlikely]] {
    publish_all(event, 1);
    return;
  }
  Frame& frame = reader->outermost();
  const Snapshot& list = Publishing<true>::begin(frame, snapshot_);
  if (list.size != 1) return publish_to_each(*reader, list, event);
  Subscriber& subscriber = **list.begin();
  Publishing<true>::calls(frame, subscriber);
  const unsigned delivered = subscriber.call.load(std::memory_order_seq_cst)(subscriber, event, nullptr);
  end_publishing<true>(*reader, frame, 1, delivered);
}

void TopicCore::publish_to_each(Reader& reader, const Snapshot& list, const void* event) noexcept {
  Frame& frame = reader.outermost();
  end_publishing<true>(reader, frame, 1, call_each<true>(frame, list, event, nullptr));
}

void TopicCore::publish_all(const void* events, std::size_t count) noexcept { publish_here(events, count, nullptr); }

unsigned TopicCore::publish_awaited(const void* event, Awaited& awaited) noexcept {
  return publish_here(event, 1, &awaited);
}

Task<Delivery> TopicCore::publish_and_wait(const void* event) {
  Awaited awaited;
  Delivery became;
  became.delivered = publish_awaited(event, awaited);
  for (Subscriber* subscriber = awaited.task(); subscriber != nullptr; subscriber = awaited.task()) {
    Result<> ended = co_await attempt(subscriber->run(*subscriber, event));
    if (ended) {
      subscriber->count(Outcome::Delivered);
      ++became.delivered;
    } else {
      subscriber->failed(std::move(ended).error());
      ++became.failed;
    }
    awaited.task_ended();
    const TaskInfo self = co_await this_task();
    if (self.stop.stop_requested()) break;
  }
  co_await Receipt::Arrival(awaited.receipt());
  const Receipt& receipt = awaited.receipt();
  became.delivered += receipt.count(Outcome::Delivered);
  became.failed += receipt.count(Outcome::Failed);
  became.dropped += receipt.count(Outcome::Dropped);
  co_return became;
}

Subscription TopicCore::add(Subscriber& subscriber) {
  bool is_fenced = false;
  try {
    const std::unique_lock lock = hold_list();
    const Snapshot& now = *snapshot_.load(std::memory_order_relaxed);
    Snapshot& next = make_snapshot(*this, now.size + 1);
    const auto at = std::upper_bound(now.begin(), now.end(), &subscriber, [](const Subscriber* a, const Subscriber* b) {
      return a->priority() > b->priority();
    });
    Subscriber** const place = std::copy(now.begin(), at, next.begin());
    *place = &subscriber;
    std::copy(at, now.end(), place + 1);
    replace_by(next, nullptr);
    is_fenced = unfenced_ >= unfenced_max;
    if (is_fenced) fence();
  } catch (...) {
    subscriber.release();
    subscriber.release();
    throw;
  }
  if (is_fenced) collect();
  return Subscription(subscriber);
}

void TopicCore::keep(std::size_t last) {
  KEEL_EXPECT(last > 0, "a topic that keeps events must keep at least one");
  KEEL_EXPECT(snapshot_.load(std::memory_order_relaxed)->size == 0,
              "keep() of a topic can be called only once, before the first subscription");
  auto* const kept = new Kept(*this, last);
  keeping_ = add(*kept);
  kept_.store(kept, std::memory_order_release);
}

TopicCore& TopicCore::listened() noexcept {
  Kept* const kept = kept_.load(std::memory_order_acquire);
  return kept != nullptr ? kept->inner() : *this;
}

Subscription TopicCore::subscribe(Subscriber& subscriber, std::size_t replay) {
  Kept* const kept = kept_.load(std::memory_order_acquire);
  return kept != nullptr ? kept->add(subscriber, replay) : add(subscriber);
}

unsigned TopicCore::publish_kept(const void* event, Awaited* awaited,
                                 std::unique_lock<std::recursive_mutex>& lock) noexcept {
  Reader& reader = this_reader();
  Frame& frame = reader.first_free();
  unsigned delivered = 0;
  if (reader.has_barrier()) [[likely]] {
    const Snapshot& list = Publishing<true>::begin(frame, snapshot_);
    lock.unlock();
    delivered = call_each<true>(frame, list, event, awaited);
    end_publishing<true>(reader, frame, 0, 0);
  } else {
    const Snapshot& list = Publishing<false>::begin(frame, snapshot_);
    lock.unlock();
    delivered = call_each<false>(frame, list, event, awaited);
    end_publishing<false>(reader, frame, 0, 0);
  }
  return delivered;
}

void TopicCore::replay(Subscriber& subscriber, const void* event) noexcept {
  const unsigned delivered = subscriber.call.load(std::memory_order_seq_cst)(subscriber, event, nullptr);
  this_reader().counts(id_).delivered.add(delivered);
}

// Call it under the lock.
void TopicCore::replace_by(Snapshot& next, Subscriber* ended) noexcept {
  auto* const before = const_cast<Snapshot*>(snapshot_.exchange(&next, std::memory_order_seq_cst));
  before->next = &next;
  before->retired = ended;
  ++unfenced_;
}

// Call it under the lock. After the call, collect() sees every thread that still reads a previously replaced list.
void TopicCore::fence() noexcept {
  if (std::exchange(unfenced_, 0) == 0) return;
  pass_barrier();
  fenced_.store(snapshot_.load(std::memory_order_relaxed), std::memory_order_release);
}

void TopicCore::unlist(Subscriber& subscriber) noexcept {
  const std::unique_lock lock = hold_list();
  if (!std::exchange(subscriber.is_listed, false)) return;
  subscriber.call.store(&Subscriber::pass_over, std::memory_order_seq_cst);
  const Snapshot& now = *snapshot_.load(std::memory_order_relaxed);
  Snapshot& next = make_snapshot(*this, now.size - 1);
  std::remove_copy(now.begin(), now.end(), next.begin(), &subscriber);
  replace_by(next, &subscriber);
  fence();
}

bool TopicCore::wait_uncalled(const Subscriber& subscriber) const noexcept {
  if (is_called_here(subscriber)) return false;
  for (Patience patience; is_called(subscriber);) patience.wait();
  return true;
}

void TopicCore::end(Subscriber& subscriber) noexcept {
  unlist(subscriber);
  const bool is_outside = wait_uncalled(subscriber);
  Mailbox* const mailbox = subscriber.mailbox();
  if (mailbox != nullptr) mailbox->end();
  KEEL_CHECK(!subscriber.has_tasks(),
             "while a Task of its handler runs, a subscription must be ended by co_await finish()");
  if (is_outside && (mailbox == nullptr || !mailbox->is_running_here())) subscriber.forget();
  collect();
  subscriber.release();
}

// Frees the oldest lists, up to the first list that is still read. Takes no lock and never waits, because publishers
// call it.
void TopicCore::collect() noexcept {
  if (!turn_.ask()) return;
  Snapshot* const first = oldest_;
  Snapshot* end = first;
  do {
    const Snapshot* const fenced = fenced_.load(std::memory_order_acquire);
    while (end != fenced && !is_read(*end)) end = end->next;
    oldest_ = end;
  } while (!turn_.give_back());
  free_all(first, end);
}

TopicStats TopicCore::stats() const noexcept {
  const Totals sum = totals(id_);
  TopicStats stats{sum.published, sum.delivered, sum.failed, sum.dropped, 0, 0};
  const std::unique_lock lock = hold_list();
  const Snapshot& now = *snapshot_.load(std::memory_order_relaxed);
  for (Subscriber* const subscriber : now) {
    if (const Mailbox* const mailbox = subscriber->mailbox()) stats.queued += mailbox->queued();
  }
  stats.subscribers = now.size;
  if (Kept* const kept = kept_.load(std::memory_order_acquire); kept != nullptr) {
    const TopicStats inner = kept->inner().stats();
    stats.delivered += inner.delivered;
    stats.failed += inner.failed;
    stats.dropped += inner.dropped;
    stats.queued = inner.queued;
    stats.subscribers = inner.subscribers;
  }
  return stats;
}

}  // namespace keel::events::internal
