// A bounded queue of events that wait until an executor delivers them to one subscriber, one at a time and in the order
// of arrival. A handler gets the event in the place where the event waited, without a further copy; the places are
// allocated only once.
//
// Threads: push() may be called on any thread. The executor's job handles up to `turn_max` events, then lets other jobs
//          run.

#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "keel/events/internal/event_type.h"
#include "keel/events/internal/receipt.h"
#include "keel/events/subscription.h"
#include "keel/exec/executor.h"

namespace keel::events::internal {

class Mailbox final : private Job {
 public:
  static constexpr int turn_max = 64;

  Mailbox(Subscriber& owner, const EventType& type, const SubscribeOptions& options);
  Mailbox(const Mailbox&) = delete;
  ~Mailbox();

  // Copies the event into a place, if the policy provides a place. The outcome is counted, and is also passed to
  // `receipt` if that is not null.
  void push(const void* event, Receipt* receipt) noexcept;
  // Drops the waiting events, accepts no more events, and waits for the handler unless end() is called from inside the
  // handler.
  void end() noexcept;
  bool is_running_here() const noexcept;

  std::size_t queued() const noexcept;
  std::uint64_t dropped() const noexcept;

 private:
  struct Place {
    Place* next;
    Receipt* receipt;
  };
  void* event_in(Place& place) const noexcept { return reinterpret_cast<std::byte*>(&place) + event_at_; }
  Place* take_place(Place*& lost, bool& is_refused) noexcept;
  void give_back(Place& place) noexcept;
  void drop(Receipt* receipt) noexcept;
  bool is_running_elsewhere() const noexcept;
  static void deliver(Job& job) noexcept;
  // Returns the next event, or null if the job has to end. If `again` is set, the job also has to be posted once more.
  Place* take_next(Place* handled, int count, bool& again) noexcept;

  Subscriber& owner_;
  const EventType& type_;
  Executor& executor_;
  const std::size_t queue_max_;
  const WhenFull when_full_;
  std::size_t alignment_, event_at_;
  std::byte* memory_;

  mutable std::mutex mutex_;
  Place* free_ = nullptr;
  Place* first_ = nullptr;
  Place** last_ = &first_;
  std::size_t waiting_ = 0;  // The number of events in the list or being copied into it.
  std::uint64_t dropped_ = 0;
  const void* running_on_ = nullptr;  // The thread on which the handler runs.
  bool is_posted_ = false;
  bool is_ended_ = false;
};

}  // namespace keel::events::internal
