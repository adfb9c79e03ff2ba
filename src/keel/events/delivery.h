// keel/events/delivery.h — counts what happened to events.
//
// The counts are of handlers, not events: one event with three subscribers can be delivered three times.

#pragma once

#include <cstddef>
#include <cstdint>

namespace keel::events {

// The result of publish_and_wait() for one event.
struct Delivery {
  std::uint32_t delivered = 0;  // Handlers that returned, or whose Task ended, without an error.
  std::uint32_t failed = 0;     // Handlers or filters that ended with an exception or an error.
  std::uint32_t dropped = 0;    // Handlers that were not called, because there was no room or the subscription ended.
};

// The counts of all events of one type, until now.
struct TopicStats {
  std::uint64_t published = 0;
  // The counts of a whole topic or bus; `dropped` includes events that publish() cannot deliver.
  std::uint64_t delivered = 0, failed = 0, dropped = 0;
  std::size_t queued = 0;       // Events that currently wait for executors.
  std::size_t subscribers = 0;  // The current number of subscribers.
};

}  // namespace keel::events
