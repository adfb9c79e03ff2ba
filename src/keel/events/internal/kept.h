// The last events of a topic, for later subscribers: it is the only subscriber of the topic's outer list, and passes
// each event on to an inner list. A topic that keeps no events therefore has no cost for this.
//
// Keeping an event and reading the inner list is one step under the lock; joining that list and getting the kept events
// is one step too: so each event reaches a subscriber exactly once.
//
// Threads: any. Publishers of one topic wait for each other while one copies the event, and for a new subscriber while
//          its handler receives the kept events.

#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "keel/events/internal/subscriber.h"
#include "keel/events/internal/topic_core.h"

namespace keel::events::internal {

class Kept final : public Subscriber {
 public:
  // Subscribes to `outer`, whose events are passed to `report` as well.
  Kept(TopicCore& outer, std::size_t last);
  ~Kept() override;

  TopicCore& inner() noexcept { return inner_; }
  // Joins the inner list, after getting the last `replay` events.
  Subscription add(Subscriber& subscriber, std::size_t replay);

 private:
  static unsigned keep_and_call(Subscriber& subscriber, const void* event, Awaited* awaited) noexcept;
  Outcome handle(const void*) noexcept override { return Outcome::Dropped; }
  void forget() noexcept override {}
  void keep(const void* event);
  void* place(std::size_t number) noexcept { return memory_ + (number % last_) * stride_; }
  void destroy(std::size_t number) noexcept;

  const EventType& type_;
  const std::size_t last_;
  const std::size_t stride_;
  std::byte* memory_;
  std::recursive_mutex mutex_;  // Recursive, because a handler may publish while it receives the kept events.
  std::size_t first_ = 0;
  std::size_t end_ = 0;
  TopicCore inner_;
};

}  // namespace keel::events::internal
