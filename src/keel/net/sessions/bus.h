// keel/net/sessions/bus.h — sends events to sessions, and publishes messages of sessions as events (events/bus.h).
//
//   events::Subscription alarms = broadcast_events<Alarm>(bus, registry, {.when_full = WhenFull::DropOldest});
//   publish_messages<Reading>(handlers, bus);
//
// Each type passed to these functions is both a message (messages/message.h) and an event; as a message, it is sent
// field by field.
//
// Threads:  any. A message is published on the worker of its session, before the next message of that session is
//           handled.
// Lifetime: the bus must outlive the handlers, and the registry must outlive the subscription.

#pragma once

#include "keel/events/bus.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"

namespace keel::sessions {

// Sends each event of type E to all sessions until the subscription ends.
template <class E>
events::Subscription broadcast_events(events::Bus& bus, Registry& registry, const SendOptions& options = {}) {
  return bus.subscribe<E>([&registry, options](const E& event) { registry.broadcast(event, options); });
}

// Publishes each message of type M as an event. Handlers of the bus that return a Task are not called (events/topic.h).
template <class M>
Handlers& publish_messages(Handlers& handlers, events::Bus& bus) {
  return handlers.on<M>([topic = bus.topic<M>()](Session&, const M& message) { topic.publish(message); });
}

}  // namespace keel::sessions
