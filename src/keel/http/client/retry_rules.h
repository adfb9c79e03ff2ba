// keel/http/client/retry_rules.h — which calls may be repeated, and how long a pause a server asks for.
//
// Pure functions: the caller passes the time. Source: RFC 9110 §9.2.2 (idempotent), §10.2.3 (Retry-After).

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/time.h"
#include "keel/http/message/method.h"
#include "keel/http/message/status.h"

namespace keel::http {

// GET, HEAD, PUT, DELETE, OPTIONS, TRACE: sending the request several times has the same effect as sending it once.
bool is_idempotent(Method method) noexcept;
// True for 429, 502, 503 and 504: an attempt may succeed if it is made later, or if it reaches another machine with the
// same host name.
bool is_worth_a_retry(Status status) noexcept;
// The value of Retry-After, which is a number of seconds or a date; nullopt when it is neither. A date in the past
// gives a pause of zero.
std::optional<Duration> parse_retry_after(std::string_view value, std::int64_t now_unix_seconds) noexcept;

}  // namespace keel::http
