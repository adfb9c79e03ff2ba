// The last events of a topic, for later subscribers: a Kept is the only subscriber of the topic's outer list, and
// passes each event on to an inner list. Therefore keeping costs nothing for a topic that keeps no events.
//
// Under the lock, one step keeps an event and reads the inner list, and another step joins the inner list and gets the
// kept events. Therefore each event reaches a subscriber exactly once.
//
// Threads: any. A publisher waits while another publisher of the same topic copies an event, and while the handler of a
//          new subscriber receives the kept events.

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
  // Keeps the last `last` events of `outer`. Errors of the inner list's handlers are reported by `outer`.
  Kept(TopicCore& outer, std::size_t last);
  ~Kept() override;

  TopicCore& inner() noexcept { return inner_; }
  // Adds `subscriber` to the inner list, and passes the last `replay` events to it before any later event.
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
