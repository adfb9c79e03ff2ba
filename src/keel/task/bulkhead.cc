#include "keel/task/bulkhead.h"

#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/observe/metric.h"
#include "keel/task/timing.h"

namespace keel {

struct Bulkhead::Exposed {
  metrics::Counter rejected;
  metrics::GaugeFunction running;
  metrics::GaugeFunction waiting;
};

Bulkhead::Bulkhead(const BulkheadOptions& options) : options_(options), places_(options.running_max) {
  KEEL_EXPECT(options.running_max > 0, "a bulkhead must allow at least one call");
}
Bulkhead::~Bulkhead() = default;

void Bulkhead::expose(metrics::Registry& registry, std::string_view name) {
  exposed_ = std::make_unique<Exposed>(
      Exposed{registry.counter("bulkhead_rejected_total", "Calls that were rejected because all places were taken",
                               {{"name", name}}),
              registry.gauge(
                  "bulkhead_running", "Calls that are running", {{"name", name}},
                  [this] { return static_cast<double>(running()); }, metrics::Calls::OnThisThread),
              registry.gauge(
                  "bulkhead_waiting", "Calls that are waiting for a place", {{"name", name}},
                  [this] { return static_cast<double>(waiting()); }, metrics::Calls::OnThisThread)});
}

Task<Bulkhead::Place> Bulkhead::enter() {
  std::optional<Place> free = try_enter();
  if (free) co_return *std::move(free);
  if (places_.waiting() >= options_.waiting_max) {
    count_rejected();
    co_return fail(
        Code::ResourceExhausted,
        "the bulkhead is full: all places are taken, and the number of waiting calls has reached waiting_max");
  }
  const Instant limit = Host::current().now() + options_.wait_max;
  Result<Place> place = co_await attempt(with_timeout(options_.wait_max, places_.acquire()));
  if (!place && place.error().code() == Code::DeadlineExceeded && Host::current().now() >= limit) {
    count_rejected();
    co_return fail(Code::ResourceExhausted, "no place of a bulkhead became free within wait_max");
  }
  co_return std::move(place);
}

void Bulkhead::count_rejected() noexcept {
  ++stats_.rejected;
  if (exposed_ != nullptr) exposed_->rejected.add();
}

}  // namespace keel
