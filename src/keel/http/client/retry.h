// keel/http/client/retry.h — which failed calls are tried again, when, and how many of them.
//
// Three rules keep retries from making an outage worse: only what may safely be done twice; only while the budget of
// the server lasts, which grows with the requests sent to it; and after a random wait, so that clients do not come back
// together ("full jitter": uniform between nothing and a bound that doubles).
//
// Pure: time and randomness are the caller's.  Source: RFC 9110 §9.2.2 (idempotent), §10.2.3 (Retry-After).

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/time.h"
#include "keel/http/message/method.h"
#include "keel/http/message/status.h"

namespace keel::http {

struct RetryOptions {
  int attempts_max = 3;             // Of one call, the first included; 1: nothing is tried again.
  Duration backoff_first = 50_ms;   // Bound of the wait before the second attempt; it doubles with each further one,
  Duration backoff_max = 2_s;       // up to this.
  Duration retry_after_max = 10_s;  // A server that asks for a longer pause is not asked again: its answer stands.
  double budget_ratio = 0.1;        // Retries per request to one server, in the long run; and
  std::uint32_t budget_max = 10;    // so many saved up: how many a fresh client, or a quiet one, may spend at once.
};

// GET, HEAD, PUT, DELETE, OPTIONS, TRACE: doing it twice is the same as once.
bool is_idempotent(Method method) noexcept;
// 429, 502, 503, 504: another time, or another machine behind the name, may answer better.
bool is_worth_a_retry(Status status) noexcept;
// The wait before attempt `attempt` (2, 3, …); `random` has 64 random bits.
Duration backoff(const RetryOptions& options, int attempt, std::uint64_t random) noexcept;
// The value of Retry-After, seconds or a date; nothing when it is neither. A date that has passed is zero.
std::optional<Duration> parse_retry_after(std::string_view value, std::int64_t now_unix_seconds) noexcept;

class RetryBudget {
 public:
  explicit RetryBudget(const RetryOptions& options) noexcept;

  // A request was sent that is no retry.
  void earn() noexcept;
  // Whether one retry may be spent, and spends it.
  bool spend() noexcept;

 private:
  static constexpr std::uint64_t one = 1000;  // A retry, in thousandths: sums stay exact.
  std::uint64_t earned_by_request_;
  std::uint64_t max_;
  std::uint64_t saved_;
};

}  // namespace keel::http
