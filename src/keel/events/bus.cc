#include "keel/events/bus.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/type_name.h"
#include "keel/observe/log.h"
#include "keel/observe/metric.h"

namespace keel::events {
namespace {

std::uint32_t index_of(internal::EventType& type) noexcept {
  constinit static std::atomic<std::uint32_t> next = 1;
  std::uint32_t index = type.index.load(std::memory_order_relaxed);
  if (index != 0) return index;
  const std::uint32_t mine = next.fetch_add(1, std::memory_order_relaxed);
  KEEL_CHECK(mine < internal::event_types_max, "a program can have at most 1023 types of events");
  return type.index.compare_exchange_strong(index, mine, std::memory_order_relaxed) ? mine : index;
}

std::vector<metrics::GaugeFunction> expose(const internal::TopicCore& topic, std::string_view event,
                                           metrics::Registry& registry) {
  std::vector<metrics::GaugeFunction> exposed;
  const auto total = [&](std::string_view name, std::string_view help, auto field) {
    exposed.push_back(registry.counter(name, help, {{"event", event}},
                                       [&topic, field] { return static_cast<double>(topic.stats().*field); }));
  };
  const auto gauge = [&](std::string_view name, std::string_view help, auto field) {
    exposed.push_back(registry.gauge(name, help, {{"event", event}},
                                     [&topic, field] { return static_cast<double>(topic.stats().*field); }));
  };
  total("events_published_total", "Events published", &TopicStats::published);
  total("events_delivered_total", "Handler calls that succeeded", &TopicStats::delivered);
  total("events_failed_total", "Handler calls that ended with an exception or an error", &TopicStats::failed);
  total("events_dropped_total",
        "Deliveries dropped because the queue was full, because the subscription had ended, or because the handler "
        "returns a Task that no publisher waited for",
        &TopicStats::dropped);
  gauge("events_queued", "Events that currently wait for their executors", &TopicStats::queued);
  gauge("events_subscribers", "Subscriptions now", &TopicStats::subscribers);
  return exposed;
}

}  // namespace

struct Bus::State {
  struct Entry {
    Entry(const internal::EventType& type, std::string event_name, const State& state)
        : name(std::move(event_name)), core(type, [this, &state](const Error& error) { state.report(name, error); }) {}

    const std::string name;
    internal::TopicCore core;
    std::vector<metrics::GaugeFunction> metrics;
  };

  explicit State(BusOptions&& options) : on_failure(std::move(options.on_failure)), registry(options.metrics) {}

  void report(std::string_view event, const Error& error) const {
    if (on_failure) return on_failure({event, error});
    logger.log(log_level(error.code()), "a handler of an event failed", log::field("event", event), error);
  }

  const Function<void(const Failure&)> on_failure;
  metrics::Registry* const registry;
  const log::Logger logger{"events"};
  std::mutex mutex;  // Guards the members below.
  std::vector<std::unique_ptr<Entry>> entries;
};

Bus::Bus(BusOptions options) : state_(Owned<State>::make(std::move(options))) {}

Bus::Bus(metrics::Registry& registry) : Bus(BusOptions{.metrics = &registry}) {}

Bus::~Bus() = default;

internal::TopicCore& Bus::make_topic(internal::EventType& type) {
  std::atomic<internal::TopicCore*>& place = topics_[index_of(type)];
  const std::lock_guard lock(state_->mutex);
  if (internal::TopicCore* const core = place.load(std::memory_order_relaxed); core != nullptr) return *core;
  auto made = std::make_unique<State::Entry>(type, plain_name(type.name), *state_);
  State::Entry& entry = *made;
  if (state_->registry != nullptr) entry.metrics = expose(entry.core, entry.name, *state_->registry);
  state_->entries.push_back(std::move(made));
  place.store(&entry.core, std::memory_order_release);
  return entry.core;
}

}  // namespace keel::events
