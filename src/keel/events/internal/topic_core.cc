#include "keel/events/internal/topic_core.h"

#include <algorithm>
#include <new>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/events/internal/mailbox.h"
#include "keel/events/internal/readers.h"
#include "keel/events/internal/subscriber.h"

namespace keel::events::internal {
namespace {

// How many old lists may wait for the barrier that the next one needs anyway.
constexpr int unfenced_max = 16;

constexpr std::size_t bytes_of(std::size_t size) noexcept { return sizeof(Snapshot) + size * sizeof(Subscriber*); }

Snapshot& make_snapshot(std::size_t size) {
  return *::new (pool_allocate(bytes_of(size))) Snapshot{size, nullptr, nullptr};
}

void free_all(Snapshot* snapshots) noexcept {
  while (snapshots != nullptr) {
    Snapshot* const snapshot = std::exchange(snapshots, snapshots->retired_next);
    if (snapshot->retired != nullptr) snapshot->retired->release();
    pool_free(snapshot, bytes_of(snapshot->size));
  }
}

}  // namespace

TopicCore::TopicCore(const EventType& type, Function<void(const Error&)> report)
    : snapshot_(&make_snapshot(0)), id_(take_topic()), type_(type), report_(std::move(report)) {}

TopicCore::~TopicCore() {
  auto* const last = const_cast<Snapshot*>(snapshot_.load(std::memory_order_relaxed));
  KEEL_CHECK(last->size == 0, "a Bus outlives its subscriptions");
  free_all(take_unread());
  KEEL_CHECK(retired_first_ == nullptr && !is_read(*last), "a Bus is destroyed when nobody publishes any more");
  free_all(last);
  give_back_topic(id_);
}

inline unsigned TopicCore::call_all(const Publishing& publishing, const void* event, Awaited* awaited) noexcept {
  unsigned delivered = 0;
  for (Subscriber* const subscriber : publishing.snapshot()) {
    publishing.calls(*subscriber);
    delivered += subscriber->call.load(std::memory_order_seq_cst)(*subscriber, event, awaited);
  }
  return delivered;
}

inline unsigned TopicCore::publish_to(const void* event, Awaited* awaited) noexcept {
  Reader& reader = this_reader();
  const Snapshot* read = nullptr;
  unsigned delivered = 0;
  {
    const Publishing publishing(reader, snapshot_);
    read = &publishing.snapshot();
    delivered = call_all(publishing, event, awaited);
  }
  Counts& counts = reader.counts(id_);
  internal::add(counts.published, 1);
  internal::add(counts.delivered, delivered);
  // This may have been the last to read an old list.
  if (read != snapshot_.load(std::memory_order_relaxed)) [[unlikely]]
    collect();
  return delivered;
}

void TopicCore::publish(const void* event) noexcept { publish_to(event, nullptr); }

unsigned TopicCore::publish_to_all(const void* event, Awaited& awaited) noexcept { return publish_to(event, &awaited); }

void TopicCore::publish_all(const void* events, std::size_t count) noexcept {
  Reader& reader = this_reader();
  const Snapshot* read = nullptr;
  std::uint64_t delivered = 0;
  {
    const Publishing publishing(reader, snapshot_);
    read = &publishing.snapshot();
    const auto* event = static_cast<const std::byte*>(events);
    for (std::size_t i = 0; i < count; ++i, event += type_.bytes) delivered += call_all(publishing, event, nullptr);
  }
  Counts& counts = reader.counts(id_);
  internal::add(counts.published, count);
  internal::add(counts.delivered, delivered);
  if (read != snapshot_.load(std::memory_order_relaxed)) [[unlikely]]
    collect();
}

Task<Delivery> TopicCore::publish_and_wait(const void* event) {
  Awaited awaited;
  Delivery became;
  became.delivered = publish_to_all(event, awaited);
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
  Snapshot* unread = nullptr;
  try {
    const std::lock_guard lock(mutex_);
    const Snapshot& now = *snapshot_.load(std::memory_order_relaxed);
    Snapshot& next = make_snapshot(now.size + 1);
    const auto at = std::upper_bound(now.begin(), now.end(), &subscriber, [](const Subscriber* a, const Subscriber* b) {
      return a->priority() > b->priority();
    });
    Subscriber** const place = std::copy(now.begin(), at, next.begin());
    *place = &subscriber;
    std::copy(at, now.end(), place + 1);
    replace_by(next, nullptr);
    if (unfenced_ >= unfenced_max) unread = take_unread();
  } catch (...) {
    subscriber.release();
    subscriber.release();
    throw;
  }
  free_all(unread);
  return Subscription(subscriber);
}

// Under the lock.
void TopicCore::replace_by(Snapshot& next, Subscriber* ended) noexcept {
  auto* const before = const_cast<Snapshot*>(snapshot_.exchange(&next, std::memory_order_seq_cst));
  before->retired = ended;
  *retired_last_ = before;
  retired_last_ = &before->retired_next;
  ++unfenced_;
}

void TopicCore::unlist(Subscriber& subscriber) noexcept {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(subscriber.is_listed, false)) return;
  subscriber.call.store(&Subscriber::pass_over, std::memory_order_seq_cst);
  const Snapshot& now = *snapshot_.load(std::memory_order_relaxed);
  Snapshot& next = make_snapshot(now.size - 1);
  std::remove_copy(now.begin(), now.end(), next.begin(), &subscriber);
  replace_by(next, &subscriber);
  pass_barrier();
  unfenced_ = 0;
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
  KEEL_CHECK(!subscriber.has_tasks(), "a subscription whose handler's Task is under way is ended by co_await finish()");
  if (is_outside && (mailbox == nullptr || !mailbox->is_running_here())) subscriber.forget();
  collect();
  subscriber.release();
}

// Under the lock: those that nobody reads, up to the first that somebody does.
Snapshot* TopicCore::take_unread() noexcept {
  if (std::exchange(unfenced_, 0) > 0) pass_barrier();
  Snapshot* const first = retired_first_;
  Snapshot** end = &retired_first_;
  while (*end != nullptr && !is_read(**end)) end = &(*end)->retired_next;
  if (end == &retired_first_) return nullptr;
  retired_first_ = std::exchange(*end, nullptr);
  if (retired_first_ == nullptr) retired_last_ = &retired_first_;
  return first;
}

void TopicCore::collect() noexcept {
  Snapshot* unread = nullptr;
  {
    const std::lock_guard lock(mutex_);
    unread = take_unread();
  }
  free_all(unread);
}

TopicStats TopicCore::stats() const noexcept {
  const Totals sum = totals(id_);
  TopicStats stats{sum.published, sum.delivered, sum.failed, sum.dropped, 0, 0};
  const std::lock_guard lock(mutex_);
  const Snapshot& now = *snapshot_.load(std::memory_order_relaxed);
  for (Subscriber* const subscriber : now) {
    if (const Mailbox* const mailbox = subscriber->mailbox()) stats.queued += mailbox->queued();
  }
  stats.subscribers = now.size;
  return stats;
}

}  // namespace keel::events::internal
