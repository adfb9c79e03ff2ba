// The untyped part of a topic: the list of its subscribers, which publishers read without a lock, and its counts.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "keel/base/error.h"
#include "keel/base/function.h"
#include "keel/events/delivery.h"
#include "keel/events/internal/event_type.h"
#include "keel/events/internal/turn.h"
#include "keel/events/subscription.h"
#include "keel/task/task.h"

namespace keel::events::internal {

struct Frame;
class Awaited;
class Kept;
class Reader;
class TopicCore;

// A list of subscribers, which does not change while it is in use; in memory it is followed by the subscribers, highest
// priority first, and a null pointer.
struct Snapshot {
  std::size_t size = 0;
  TopicCore* topic = nullptr;
  // The members below are used once this list has been replaced.
  Snapshot* next = nullptr;  // The list that has replaced this one.
  // The subscriber that is in this list but in no later one; it is released together with this list.
  Subscriber* retired = nullptr;

  Subscriber** begin() const noexcept { return reinterpret_cast<Subscriber**>(const_cast<Snapshot*>(this) + 1); }
  Subscriber** end() const noexcept { return begin() + size; }
};

class TopicCore {
 public:
  // `report` is called for each failing handler, on the thread where it fails.
  TopicCore(const EventType& type, Function<void(const Error&)> report);
  TopicCore(const TopicCore&) = delete;
  ~TopicCore();

  // Not inlined: coroutines may change threads.
  [[gnu::noinline]] void publish(const void* event) noexcept;
  [[gnu::noinline]] void publish_all(const void* events, std::size_t count) noexcept;
  // `event` must outlive the task.
  Task<Delivery> publish_and_wait(const void* event);

  Subscription add(Subscriber& subscriber);
  // Keeps the last events from now on, for later subscribers. A Bug when somebody has already subscribed, or when it is
  // called twice.
  void keep(std::size_t last);
  // The topic whose list handlers join: this one, or the inner one of a topic that keeps events.
  TopicCore& listened() noexcept;
  // Like add(), but first passes on the last `replay` kept events. `subscriber` belongs to listened().
  Subscription subscribe(Subscriber& subscriber, std::size_t replay);
  // Used by Kept: takes the list of subscribers while `lock` is held, releases it, and then calls them. Returns the
  // number of handlers that succeeded; does not change the counts.
  unsigned publish_kept(const void* event, Awaited* awaited, std::unique_lock<std::recursive_mutex>& lock) noexcept;
  void replay(Subscriber& subscriber, const void* event) noexcept;
  // Removes the subscriber from the list: a publish() that begins after this does not call it. Idempotent.
  void unlist(Subscriber& subscriber) noexcept;
  // Waits for calls that are running on other threads; returns false immediately when this is called from inside such a
  // call.
  bool wait_uncalled(const Subscriber& subscriber) const noexcept;
  // Ends the subscription, waits for the handler unless the call comes from inside it, and destroys the handler.
  void end(Subscriber& subscriber) noexcept;

  // While the lock is held, no subscription begins or ends; publishers do not notice.
  std::unique_lock<std::mutex> hold_list() const { return std::unique_lock(mutex_); }

  void report(const Error& error) const noexcept { report_(error); }
  TopicStats stats() const noexcept;
  std::uint32_t id() const noexcept { return id_; }
  const EventType& type() const noexcept { return type_; }

 private:
  // Each returns how many handlers have handled an event in this call.
  template <bool has_barrier>
  [[gnu::always_inline]] static unsigned call_each(Frame& frame, const Snapshot& list, const void* event,
                                                   Awaited* awaited) noexcept;
  template <bool has_barrier>
  [[gnu::always_inline]] unsigned publish_in(Reader& reader, Frame& frame, const void* events, std::size_t count,
                                             Awaited* awaited) noexcept;
  [[gnu::always_inline]] unsigned publish_here(const void* events, std::size_t count, Awaited* awaited) noexcept;
  [[gnu::noinline]] unsigned publish_awaited(const void* event, Awaited& awaited) noexcept;
  [[gnu::noinline]] static void publish_to_each(Reader& reader, const Snapshot& list, const void* event) noexcept;
  template <bool has_barrier>
  [[gnu::always_inline]] static void end_publishing(Reader& reader, Frame& frame, std::size_t count,
                                                    unsigned delivered) noexcept;
  void replace_by(Snapshot& next, Subscriber* ended) noexcept;
  void fence() noexcept;
  [[gnu::noinline]] void collect() noexcept;

  void end_keeping() noexcept;

  std::atomic<const Snapshot*> snapshot_;
  const std::uint32_t id_;
  const EventType& type_;
  const Function<void(const Error&)> report_;

  // Replaced lists are freed in their order, by the thread that has the turn: earlier lists may contain the same
  // subscribers.
  Turn turn_;
  Snapshot* oldest_;                     // Used by the thread that has the turn.
  std::atomic<const Snapshot*> fenced_;  // Older lists were replaced before the last barrier.
  // Guards changes of the list, and the members below. No handler's code runs while it is held.
  mutable std::mutex mutex_;
  int unfenced_ = 0;  // How many lists were replaced since the last barrier.
  std::atomic<Kept*> kept_ = nullptr;
  Subscription keeping_;  // Of it.
};

}  // namespace keel::events::internal
