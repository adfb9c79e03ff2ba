// Events that wait until an executor has delivered them to one subscriber: bounded, in the order they came, one at a
// time. What is handled lies in the place where it waited; the places are made once.
//
// Threads: push() on any. The executor's job handles up to `turn_max` events, then lets others have a turn.

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

  // Copies the event into a place, if there is one by the policy. What becomes of it is counted, and decided in
  // `receipt` if that is not null.
  void push(const void* event, Receipt* receipt) noexcept;
  // Drops what waits, takes no more, and waits for the handler unless this is called from inside it.
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
  // The next event, or none: then the job ends here or, when `again`, is posted once more.
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
  std::size_t waiting_ = 0;  // In the list, and those that are being copied into it.
  std::uint64_t dropped_ = 0;
  const void* running_on_ = nullptr;  // The thread on which the handler runs.
  bool is_posted_ = false;
  bool is_ended_ = false;
};

}  // namespace keel::events::internal
