#include "keel/http/client/retry.h"

#include <algorithm>

#include "keel/http/message/date.h"

namespace keel::http {

bool is_idempotent(Method method) noexcept {
  switch (method) {
    case Method::Get:
    case Method::Head:
    case Method::Put:
    case Method::Delete:
    case Method::Options:
    case Method::Trace:
      return true;
    case Method::Post:
    case Method::Patch:
    case Method::Connect:
    case Method::Other:
      return false;
  }
  return false;
}

bool is_worth_a_retry(Status status) noexcept {
  return status == Status::TooManyRequests || status == Status::BadGateway || status == Status::ServiceUnavailable ||
         status == Status::GatewayTimeout;
}

Duration backoff(const RetryOptions& options, int attempt, std::uint64_t random) noexcept {
  Duration bound = options.backoff_first;
  for (int i = 2; i < attempt && bound < options.backoff_max; ++i) bound = bound * 2;
  bound = std::clamp(bound, Duration(), options.backoff_max);
  return Duration::nanoseconds(static_cast<std::int64_t>(random % (static_cast<std::uint64_t>(bound.count_ns()) + 1)));
}

std::optional<Duration> parse_retry_after(std::string_view value, std::int64_t now_unix_seconds) noexcept {
  if (value.empty()) return std::nullopt;
  if (std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; })) {
    std::int64_t seconds = 0;
    for (const char c : value) seconds = std::min<std::int64_t>(seconds * 10 + (c - '0'), 1'000'000'000);
    return Duration::seconds(seconds);
  }
  const Result<std::int64_t> at = parse_date(value, now_unix_seconds);
  if (!at) return std::nullopt;
  return Duration::seconds(std::max<std::int64_t>(*at - now_unix_seconds, 0));
}

RetryBudget::RetryBudget(const RetryOptions& options) noexcept
    : earned_by_request_(static_cast<std::uint64_t>(std::clamp(options.budget_ratio, 0.0, 1000.0) * one)),
      max_(std::uint64_t{options.budget_max} * one),
      saved_(max_) {}

void RetryBudget::earn() noexcept { saved_ = std::min(saved_ + earned_by_request_, max_); }

bool RetryBudget::spend() noexcept {
  if (saved_ < one) return false;
  saved_ -= one;
  return true;
}

}  // namespace keel::http
