// keel/events/subscription.h — a handler that is called until its Subscription ends.
//
//   class Receipts {
//    public:
//     explicit Receipts(events::Bus& bus) : subscription_(bus.subscribe<OrderPlaced>(*this, &Receipts::on_order)) {}
//    private:
//     void on_order(const OrderPlaced& event);
//     events::Subscription subscription_;            // last: it ends before what the handler uses
//   };
//
// When end() or the destructor has returned, the handler is not running on any thread and will not be called again, and
// the handler, its filter and the objects that they own have been destroyed. From inside the handler, end() returns
// immediately: the running call of the handler completes, no new call begins, and the handler is destroyed afterwards.
// An end() that is called inside the handler does not wait for a call of the handler that is running on another thread.
//
// Ownership: movable; a Subscription that was moved from or has ended owns nothing.
// Lifetime:  a Subscription must end before its Bus is destroyed. Everything that the handler refers to must outlive
//            it; a handler does not own its subscription.
// Threads:   any; calls on one Subscription must come one at a time, and may come from its own handler. Two handlers
//            that end each other's subscription at the same time wait for each other forever.
// Tasks:     if a handler returns a Task, that Task may be running, or about to begin. finish() waits for such a Task;
//            to call end() at that time is a bug and aborts.
// Cost:      end() makes all running threads of the process pass a memory barrier (membarrier(2)), and waits.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "keel/task/task.h"

namespace keel {
class Executor;
}

namespace keel::events {

namespace internal {
class Subscriber;
class TopicCore;
}  // namespace internal

// Which event is dropped when the queue is full; every dropped event is counted.
enum class WhenFull : std::uint8_t {
  DropNewest,  // Drops the new event: the handler gets the events published first.
  DropOldest,  // Drops the event that has waited longest: the handler gets the events published last.
};

// Executor, queue and filter of a subscription.
struct SubscribeOptions {
  // Handlers of higher priority are called first, and handlers of equal priority are called in the order of their
  // subscriptions.
  int priority = 0;
  // The executor that runs the handler; null: the handler runs inside the publisher's call. The executor outlives the
  // subscription and the jobs that were posted to the executor.
  Executor* executor = nullptr;
  // The maximum number of events that wait for the executor. The memory for `queue_max` events is allocated when the
  // subscription is made.
  std::size_t queue_max = 256;
  WhenFull when_full = WhenFull::DropNewest;
  // On a topic that keeps events (Topic::keep): how many of the newest kept events the new subscriber receives; all by
  // default.
  std::size_t replay_max = static_cast<std::size_t>(-1);
};

class [[nodiscard]] Subscription {
 public:
  Subscription() noexcept = default;
  Subscription(Subscription&& other) noexcept : subscriber_(std::exchange(other.subscriber_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      end();
      subscriber_ = std::exchange(other.subscriber_, nullptr);
    }
    return *this;
  }
  ~Subscription() { end(); }

  // Idempotent. Events that wait for an executor are dropped, and counted.
  void end() noexcept;
  // Does what end() does, but first waits for Tasks of the handler that have begun. The Subscription must not be moved
  // before finish() has ended.
  // Errors: none. Cancel: finish() continues to wait, because the Tasks belong to publishers. finish() must not be
  // called from the handler itself, which would then wait for itself.
  Task<> finish();

  explicit operator bool() const noexcept { return subscriber_ != nullptr; }
  // The number of events that wait for the executor now, and the number of events dropped since the beginning. Without
  // an executor, queued() and dropped() return 0.
  std::size_t queued() const noexcept;
  std::uint64_t dropped() const noexcept;

 private:
  friend class internal::TopicCore;
  explicit Subscription(internal::Subscriber& subscriber) noexcept : subscriber_(&subscriber) {}
  internal::Subscriber* subscriber_ = nullptr;
};

}  // namespace keel::events
