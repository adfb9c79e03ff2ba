// keel/events/topic.h — the events of one type on one Bus: subscribing to them and publishing them.
//
//   events::Topic<OrderPlaced> orders = bus.topic<OrderPlaced>();          // once; then without a look-up
//   events::Subscription mail = orders.subscribe([&](const OrderPlaced& order) { outbox.add(order); });
//   orders.publish(OrderPlaced{7, 1990});
//
// An event is any value. An event that an executor delivers must be copyable; a copy is fast if the event has at most
// 64 bytes or is a shared pointer. A handler is a function, a lambda, or an object with a member function; it takes
// const E& and returns
//   nothing, or Result<>   called by publish(), in the publisher's thread; or on its executor, see SubscribeOptions
//   Task<>                 awaited by publish_and_wait(), in the publisher's task. publish() cannot wait, so it skips
//                          such a handler, and counts the event as dropped. A lambda that captures and gives a Task
//                          does not compile, as everywhere in Keel.
// A filter takes const E& and returns whether the handler is to be called; the filter runs in the publisher's thread,
// so that events which it rejects are not copied.
//
// Order:     handlers in the publisher's thread are called one after the other, by priority; after them the Tasks run,
//            in the same order. The events of one thread reach each subscription in the order of publishing, and an
//            executor runs the handler of a subscription for one event at a time.
// Inside:    a handler may publish, subscribe, and end subscriptions, including its own. A subscription that is added
//            during a publish() does not get that event; a subscription that ends during the publish() is not called
//            any more.
// Kept:      a topic may keep its last events for later subscribers (keep()). A handler that returns a Task receives no
//            kept events, because no publisher waits for that Task; the kept events count as dropped for its
//            subscription.
// Errors:    an exception or an error of a handler, or of a filter, ends only that call. The failure is counted and
//            passed to BusOptions::on_failure. If copying an event for an executor fails, that failure is also counted
//            and passed to BusOptions::on_failure.
// Ownership: a Topic is a small value, copied freely. An event belongs to its publisher: a handler that keeps the event
//            has to copy it.
// Lifetime:  the Bus must outlive every use of its topics.
// Threads:   any, concurrently. A publisher takes no lock, even while other threads subscribe and end subscriptions,
//            except the lock of a queue into which it puts an event, and one more lock for the first event of a thread.
// Cost:      publish() to one handler takes about fifty instructions, including the call, and fewer than twenty for
//            each further handler. A publish() that is called inside a handler takes a few instructions more. publish()
//            does no look-up, takes no lock, allocates nothing, and does not write to memory that another thread
//            writes. The first event that a thread publishes costs 32 KB of memory, and each level of nested publishing
//            costs another 64 bytes. Delivery to an executor costs a copy of the event, two locks and a post; only the
//            copy may allocate. A topic that keeps events copies each event under a lock, so that its publishers take
//            turns. publish_and_wait() takes its frames and a few words from the pool. subscribe() copies the list of
//            subscribers. A concurrent publisher may be the thread that frees the old list.

#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "keel/events/delivery.h"
#include "keel/events/internal/handling.h"
#include "keel/events/internal/topic_core.h"
#include "keel/events/subscription.h"
#include "keel/task/task.h"

namespace keel::events {

class Bus;

template <class E>
class Topic {
 public:
  template <class F>
  Subscription subscribe(F handler, const SubscribeOptions& options = {}) const {
    return add(internal::Everything(), std::move(handler), options);
  }
  template <class P, class F>
    requires(!std::same_as<F, SubscribeOptions> && !std::is_member_function_pointer_v<F>)
  Subscription subscribe(P filter, F handler, const SubscribeOptions& options = {}) const {
    static_assert(std::is_invocable_r_v<bool, P&, const E&>, "a filter must take const E& and return bool");
    return add(std::move(filter), std::move(handler), options);
  }
  // `object` must outlive the subscription.
  template <class C, class M>
    requires std::is_member_function_pointer_v<M>
  Subscription subscribe(C& object, M method, const SubscribeOptions& options = {}) const {
    return add(internal::Everything(), internal::Method<C, M>{object, method}, options);
  }
  template <class P, class C, class M>
    requires std::is_member_function_pointer_v<M>
  Subscription subscribe(P filter, C& object, M method, const SubscribeOptions& options = {}) const {
    static_assert(std::is_invocable_r_v<bool, P&, const E&>, "a filter must take const E& and return bool");
    return add(std::move(filter), internal::Method<C, M>{object, method}, options);
  }

  void publish(const E& event) const noexcept { core_->publish(std::addressof(event)); }
  // Publishes the events one after the other to the current subscribers.
  void publish_all(std::span<const E> events) const noexcept { core_->publish_all(events.data(), events.size()); }
  // Calls handlers as publish() does, then runs the Tasks of handlers one after the other, and then waits until every
  // executor has handled the event or dropped it. When handlers have executors, publish_and_wait() must be awaited on a
  // loop. Errors: none; a handler's error is not passed on. Cancel: Cancelled or DeadlineExceeded; the running Task is
  // stopped, Tasks that have not begun are not run, and events that already wait for an executor are still handled on
  // that executor.
  Task<Delivery> publish_and_wait(E event) const { return wait(*core_, std::move(event)); }

  // Keeps the last events (a sticky topic keeps one event): a new subscriber first gets the kept events, oldest first,
  // inside subscribe() or on its executor, and then later events. The subscriber gets each event exactly once. Call it
  // once, before the first subscription; any other call throws a Bug (base/bug.h).
  void keep(std::size_t last = 1) const {
    static_assert(std::is_copy_constructible_v<E>, "an event that is kept must be copyable");
    core_->keep(last);
  }

  TopicStats stats() const noexcept { return core_->stats(); }

 private:
  friend class Bus;
  explicit Topic(internal::TopicCore& core) noexcept : core_(&core) {}

  template <class P, class F>
  Subscription add(P filter, F handler, const SubscribeOptions& options) const {
    static_assert(internal::Handler<F, E>, "a handler must take const E& and return nothing, Result<> or Task<>");
    if constexpr (internal::GivesTask<F, E> && !internal::is_method<F>) {
      static_assert(std::is_convertible_v<F, Task<> (*)(const E&)>,
                    "a handler that returns a Task must be a function or a member function: the captures of a lambda "
                    "are gone after the first suspension");
    }
    if constexpr (internal::Handler<F, E>) {
      return core_->subscribe(
          *new internal::Handling<E, P, F>(core_->listened(), std::move(filter), std::move(handler), options),
          options.replay_max);
    }
  }
  static Task<Delivery> wait(internal::TopicCore& core, E event) {
    co_return co_await core.publish_and_wait(std::addressof(event));
  }

  internal::TopicCore* core_;
};

}  // namespace keel::events
