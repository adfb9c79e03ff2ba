#include "keel/http/client/retry_rules.h"

#include <algorithm>

#include "keel/base/ascii.h"
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
    case Method::Query:
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

std::optional<Duration> parse_retry_after(std::string_view value, std::int64_t now_unix_seconds) noexcept {
  if (value.empty()) return std::nullopt;
  if (std::ranges::all_of(value, ascii::is_digit)) {
    std::int64_t seconds = 0;
    for (const char c : value) seconds = std::min<std::int64_t>(seconds * 10 + (c - '0'), 1'000'000'000);
    return Duration::seconds(seconds);
  }
  const Result<std::int64_t> at = parse_date(value, now_unix_seconds);
  if (!at) return std::nullopt;
  return Duration::seconds(std::max<std::int64_t>(*at - now_unix_seconds, 0));
}

}  // namespace keel::http
