// keel/events/bus.h — typed publish and subscribe within a process: publishers do not know their subscribers.
//
//   struct OrderPlaced { std::int64_t order; std::int64_t cents; };
//
//   events::Bus bus;
//   std::int64_t cents = 0;
//   events::Subscription all = bus.subscribe<OrderPlaced>([&](const OrderPlaced& order) { cents += order.cents; });
//   events::Subscription large = bus.subscribe<OrderPlaced>(
//       [](const OrderPlaced& order) { return order.cents >= 100'000; },          // a filter
//       accounts, &Accounts::review, {.executor = &pool, .queue_max = 64});       // runs on the pool
//   bus.publish(OrderPlaced{1, 990});                                             // `all` has been called
//   events::Delivery became = co_await bus.publish_and_wait(OrderPlaced{2, 250'000});  // `large`, too, has ended
//
// The exact type of an event is its topic; neither base classes nor names matter. events/topic.h describes handlers and
// filters: what they may do, the order in which they are called, how they fail and what they cost. Subscription and its
// options are in events/subscription.h. There is no global Bus: a Bus is an object, made in main or by the container
// (app/container.h):
//
//   container.value(app.metrics()).singleton<events::Bus>();   // whoever takes an events::Bus& gets it
//
// With a metrics::Registry, each topic has the counters events_published_total, events_delivered_total,
// events_failed_total and events_dropped_total, and the gauges events_queued and events_subscribers. The label of each
// is the name of the event's type, such as event="OrderPlaced".
//
// Errors:    publish() has no errors; errors of handlers are counted and passed to on_failure. A program with more than
//            1023 types of events, or with more than 1024 topics at a time in all its buses together, aborts.
// Lifetime:  the Bus outlives its subscriptions and every publish() (both are checked); `metrics` outlives the Bus.
// Threads:   every function may be called on any thread.
// Cost:      finding the topic of a type takes two loads; keep the result of Bus::topic() to avoid them. A Bus takes 8
//            KB of memory.

#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/error.h"
#include "keel/base/function.h"
#include "keel/base/owned.h"
#include "keel/events/delivery.h"
#include "keel/events/subscription.h"
#include "keel/events/topic.h"
#include "keel/task/task.h"

namespace keel::metrics {
class Registry;
}

namespace keel::events {

// The failure of a handler, as it is passed to on_failure.
struct Failure {
  std::string_view event;  // The type: "shop::OrderPlaced".
  const Error& error;      // Valid only during the call.
};

// Metrics of a bus, and what happens when a handler fails.
struct BusOptions {
  // Called on the thread where the handler failed, possibly on several threads concurrently; must not throw. Without
  // on_failure, the failure is logged as component "events", at the level of its code.
  Function<void(const Failure&)> on_failure = {};
  metrics::Registry* metrics = nullptr;  // The registry to which every topic adds its metrics.
};

class Bus {
 public:
  using Needs = void(metrics::Registry&);  // The dependencies that a container passes to the constructor.

  explicit Bus(BusOptions options = {});
  explicit Bus(metrics::Registry& registry);
  ~Bus();
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  // Returns the topic of E, and makes that topic if it does not exist yet.
  template <class E>
  Topic<E> topic() {
    internal::EventType& type = internal::event_type<E>();
    internal::TopicCore* const core =
        topics_[type.index.load(std::memory_order_relaxed)].load(std::memory_order_acquire);
    return Topic<E>(core != nullptr ? *core : make_topic(type));
  }

  // Calls Topic<E>::subscribe() of the topic of E.
  template <class E, class F>
  Subscription subscribe(F handler, const SubscribeOptions& options = {}) {
    return topic<E>().subscribe(std::move(handler), options);
  }
  template <class E, class P, class F>
    requires(!std::same_as<F, SubscribeOptions> && !std::is_member_function_pointer_v<F>)
  Subscription subscribe(P filter, F handler, const SubscribeOptions& options = {}) {
    return topic<E>().subscribe(std::move(filter), std::move(handler), options);
  }
  template <class E, class C, class M>
    requires std::is_member_function_pointer_v<M>
  Subscription subscribe(C& object, M method, const SubscribeOptions& options = {}) {
    return topic<E>().subscribe(object, method, options);
  }
  template <class E, class P, class C, class M>
    requires std::is_member_function_pointer_v<M>
  Subscription subscribe(P filter, C& object, M method, const SubscribeOptions& options = {}) {
    return topic<E>().subscribe(std::move(filter), object, method, options);
  }

  template <class E>
  void publish(const E& event) noexcept {
    topic<E>().publish(event);
  }
  // bus.publish_all<OrderPlaced>(orders)
  template <class E>
  void publish_all(std::span<const std::type_identity_t<E>> events) noexcept {
    topic<E>().publish_all(events);
  }
  template <class E>
  Task<Delivery> publish_and_wait(E event) {
    return topic<E>().publish_and_wait(std::move(event));
  }
  // bus.keep<Temperature>() makes a sticky topic; bus.keep<Temperature>(16) keeps the last 16 events.
  template <class E>
  void keep(std::size_t last = 1) {
    topic<E>().keep(last);
  }
  template <class E>
  TopicStats stats() {
    return topic<E>().stats();
  }

 private:
  struct State;
  internal::TopicCore& make_topic(internal::EventType& type);

  // Indexed by EventType::index; index 0 is unused.
  std::atomic<internal::TopicCore*> topics_[internal::event_types_max] = {};
  Owned<State> state_;
};

}  // namespace keel::events
