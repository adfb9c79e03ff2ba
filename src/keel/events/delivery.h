// keel/events/delivery.h — what became of events, in numbers.
//
// Handlers are counted, not events: one event with three subscribers can be delivered three times.

#pragma once

#include <cstddef>
#include <cstdint>

namespace keel::events {

// Of one event, from publish_and_wait().
struct Delivery {
  std::uint32_t delivered = 0;  // Handlers that returned, or whose Task ended, without an error.
  std::uint32_t failed = 0;     // By an exception or an error, also of a filter.
  std::uint32_t dropped = 0;    // Without being handled: there was no room, or the subscription ended.
};

// Of all events of one type, until now.
struct TopicStats {
  std::uint64_t published = 0;
  std::uint64_t delivered = 0, failed = 0, dropped = 0;  // As above; dropped also counts what publish() cannot call.
  std::size_t queued = 0;                                // Waiting for executors now.
  std::size_t subscribers = 0;                           // Now.
};

}  // namespace keel::events
