#include "keel/task/circuit_breaker.h"

#include <algorithm>

#include "keel/observe/metric.h"

namespace keel {

bool is_outage(const Error& error) noexcept {
  switch (error.code()) {
    case Code::Unavailable:
    case Code::DeadlineExceeded:
    case Code::Upstream:
    case Code::Internal:
      return true;
    default:
      return false;
  }
}

struct CircuitBreaker::Exposed {
  metrics::Counter rejected;
  metrics::GaugeFunction open;
  metrics::GaugeFunction half_open;
};

CircuitBreaker::CircuitBreaker(const CircuitBreakerOptions& options) noexcept : options_(options) {}
CircuitBreaker::~CircuitBreaker() { KEEL_CHECK(calls_ == 0, "a circuit breaker must outlive its calls"); }

void CircuitBreaker::expose(metrics::Registry& registry, std::string_view name) {
  const auto count = [&](std::string_view label, State counted) {
    return registry.gauge(
        "circuits", "Circuit breakers by state, one for each worker", {{"name", name}, {"state", label}},
        [this, counted] { return state(Host::current().now()) == counted ? 1.0 : 0.0; }, metrics::Calls::OnThisThread);
  };
  exposed_ = std::make_unique<Exposed>(Exposed{
      registry.counter("circuit_rejected_total", "Calls that an open circuit breaker rejected", {{"name", name}}),
      count("open", State::Open), count("half_open", State::HalfOpen)});
}

CircuitBreaker::State CircuitBreaker::state(Instant now) const noexcept {
  if (!is_tripped_) return State::Closed;
  return now < open_until_ ? State::Open : State::HalfOpen;
}

std::optional<CircuitBreaker::Call> CircuitBreaker::admit(Instant now) noexcept {
  if (!admits(now)) {
    ++stats_.rejected;
    if (exposed_ != nullptr) exposed_->rejected.add();
    return std::nullopt;
  }
  is_probing_ = is_tripped_;
  ++calls_;
  return Call(*this, era_);
}

void CircuitBreaker::judge(Call& call, const Error* error) const noexcept {
  const Instant now = Host::current().now();
  if (error == nullptr) return call.succeeded(now);
  if (options_.fails(*error)) return call.failed(now);
  if (error->code() != Code::Cancelled && error->code() != Code::ResourceExhausted) call.succeeded(now);
}

void CircuitBreaker::ended(std::uint64_t era, Instant now, bool failed) noexcept {
  --calls_;
  if (era != era_) return;
  if (!is_tripped_) {
    count(now, failed);
    if (failed && has_too_many_failures(now)) open(now);
    return;
  }
  is_probing_ = false;
  if (failed) {
    open(now);
  } else if (++good_probes_ >= options_.probes_min) {
    ++era_;
    is_tripped_ = false;
    window_ = {};
  }
}

void CircuitBreaker::abandoned(std::uint64_t era) noexcept {
  --calls_;
  if (era == era_) is_probing_ = false;
}

void CircuitBreaker::open(Instant now) noexcept {
  ++era_;
  ++stats_.opened;
  is_tripped_ = true;
  is_probing_ = false;
  good_probes_ = 0;
  open_until_ = now + options_.open_time;
}

std::int64_t CircuitBreaker::slice_number(Instant now) const noexcept {
  return now.ns() / std::max<std::int64_t>(options_.window.count_ns() / slices, 1);
}

void CircuitBreaker::count(Instant now, bool failed) noexcept {
  const std::int64_t number = slice_number(now);
  Slice& slice = window_[static_cast<std::size_t>(number % slices)];
  if (slice.number != number) slice = {.number = number};
  ++slice.calls;
  if (failed) ++slice.failures;
}

bool CircuitBreaker::has_too_many_failures(Instant now) const noexcept {
  const std::int64_t oldest = slice_number(now) - slices;
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  for (const Slice& slice : window_) {
    if (slice.number <= oldest) continue;
    calls += slice.calls;
    failures += slice.failures;
  }
  return calls >= options_.calls_min &&
         static_cast<double>(failures) >= options_.failure_ratio * static_cast<double>(calls);
}

}  // namespace keel
