#include "keel/task/retry.h"

#include <algorithm>

#include "keel/base/host.h"
#include "keel/observe/metric.h"

namespace keel {

bool is_transient(const Error& error) noexcept {
  return error.code() == Code::Unavailable || error.code() == Code::DeadlineExceeded;
}

Duration backoff(const RetryOptions& options, int attempt, std::uint64_t random) noexcept {
  Duration bound = options.backoff_first;
  for (int i = 2; i < attempt && bound < options.backoff_max; ++i) bound = bound * 2;
  bound = std::clamp(bound, Duration(), options.backoff_max);
  return Duration::nanoseconds(static_cast<std::int64_t>(random % (static_cast<std::uint64_t>(bound.count_ns()) + 1)));
}

RetryBudget::RetryBudget(const RetryOptions& options) noexcept
    : earned_by_call_(static_cast<std::uint64_t>(std::clamp(options.budget_ratio, 0.0, 1000.0) * one)),
      max_(std::uint64_t{options.budget_max} * one),
      saved_(max_) {}

void RetryBudget::earn() noexcept { saved_ = std::min(saved_ + earned_by_call_, max_); }

bool RetryBudget::spend() noexcept {
  if (saved_ < one) return false;
  saved_ -= one;
  return true;
}

struct Retry::Exposed {
  metrics::Counter retries;
  metrics::Counter refused;
};

Retry::Retry(const RetryOptions& options) noexcept : options_(options), budget_(options) {}
Retry::~Retry() = default;

void Retry::expose(metrics::Registry& registry, std::string_view name) {
  exposed_ = std::make_unique<Exposed>(
      Exposed{registry.counter("retries_total", "Retries: attempts of a call after the first one", {{"name", name}}),
              registry.counter("retries_refused_total",
                               "Calls that were not retried because the retry budget was spent", {{"name", name}})});
}

std::optional<Duration> Retry::Attempts::next_wait(Duration least) noexcept {
  if (number_ >= retry_.options_.attempts_max) return std::nullopt;
  Host& host = Host::current();
  const Duration wait = std::max(backoff(retry_.options_, number_ + 1, host.random()), least);
  if (deadline_ - host.now() <= wait) return std::nullopt;
  return wait;
}

bool Retry::Attempts::spend() noexcept {
  if (!retry_.budget_.spend()) {
    ++retry_.stats_.refused;
    if (retry_.exposed_ != nullptr) retry_.exposed_->refused.add();
    return false;
  }
  ++number_;
  ++retry_.stats_.retries;
  if (retry_.exposed_ != nullptr) retry_.exposed_->retries.add();
  return true;
}

}  // namespace keel
