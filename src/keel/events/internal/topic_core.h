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

// A list of subscribers, which does not change while it is in use. In memory, this struct is followed by the
// subscribers, highest priority first, and then by a null pointer.
struct Snapshot {
  std::size_t size = 0;
  TopicCore* topic = nullptr;
  // The members below are used only after this list has been replaced.
  Snapshot* next = nullptr;  // The list that has replaced this one.
  // The subscriber that is in this list but in no later list; it is released together with this list.
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

  // These functions use thread-local state, so they must not be inlined into coroutines, which may change threads.
  [[gnu::noinline]] void publish(const void* event) noexcept;
  [[gnu::noinline]] void publish_all(const void* events, std::size_t count) noexcept;
  // `event` must outlive the task.
  Task<Delivery> publish_and_wait(const void* event);

  Subscription add(Subscriber& subscriber);
  // Keeps the last events from now on, for later subscribers. Throws a Bug if there was a subscription before, or if
  // keep() is called a second time.
  void keep(std::size_t last);
  // The topic whose list handlers join: this topic, or its inner topic if it keeps events.
  TopicCore& listened() noexcept;
  // Does what add() does, and passes the last `replay` kept events to `subscriber` before any later event. `subscriber`
  // must have been made for the topic that listened() returns.
  Subscription subscribe(Subscriber& subscriber, std::size_t replay);
  // Used by Kept: takes the list of subscribers while `lock` is held, releases `lock`, and then calls the subscribers.
  // Returns the number of handlers that succeeded; does not change the counts.
  unsigned publish_kept(const void* event, Awaited* awaited, std::unique_lock<std::recursive_mutex>& lock) noexcept;
  void replay(Subscriber& subscriber, const void* event) noexcept;
  // Removes the subscriber from the list: a publish() that begins after unlist() does not call the subscriber.
  // Idempotent.
  void unlist(Subscriber& subscriber) noexcept;
  // Waits for calls that are running on other threads; returns false immediately when the caller is inside such a call
  // itself.
  bool wait_uncalled(const Subscriber& subscriber) const noexcept;
  // Ends the subscription, waits for the handler unless the call comes from inside it, and destroys the handler.
  void end(Subscriber& subscriber) noexcept;

  // While the returned lock is held, no subscription begins or ends, but publishers continue.
  std::unique_lock<std::mutex> hold_list() const { return std::unique_lock(mutex_); }

  void report(const Error& error) const noexcept { report_(error); }
  TopicStats stats() const noexcept;
  std::uint32_t id() const noexcept { return id_; }
  const EventType& type() const noexcept { return type_; }

 private:
  // Each of these functions returns the number of handlers that have handled an event by the time the function returns.
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

  // The thread that has the turn frees replaced lists, the oldest first, because an older list may contain the same
  // subscribers.
  Turn turn_;
  Snapshot* oldest_;  // Used by the thread that has the turn.
  // All lists that are older than this one were replaced before the last barrier.
  std::atomic<const Snapshot*> fenced_;
  // Guards changes of the list, and the members below. No handler's code runs while mutex_ is held.
  mutable std::mutex mutex_;
  int unfenced_ = 0;  // How many lists were replaced since the last barrier.
  std::atomic<Kept*> kept_ = nullptr;
  Subscription keeping_;  // The subscription of *kept_.
};

}  // namespace keel::events::internal
