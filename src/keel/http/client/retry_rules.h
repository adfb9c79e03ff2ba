// keel/http/client/retry_rules.h — which calls may be repeated, and the pause that a server asks for. task/retry.h
// decides how often and after which pause.
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

// GET, HEAD, PUT, DELETE, OPTIONS, TRACE: repeating it has the same effect as doing it once.
bool is_idempotent(Method method) noexcept;
// 429, 502, 503, 504: a later attempt, or another machine behind the name, may succeed.
bool is_worth_a_retry(Status status) noexcept;
// The value of Retry-After, seconds or a date; nothing when it is neither. A date that has passed is zero.
std::optional<Duration> parse_retry_after(std::string_view value, std::int64_t now_unix_seconds) noexcept;

}  // namespace keel::http
