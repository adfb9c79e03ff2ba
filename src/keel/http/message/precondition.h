// keel/http/message/precondition.h — conditional requests: a representation is not sent again if it is unchanged, and
// not overwritten if it has changed (RFC 9110 §13).
//
//   const Validators page{.etag = "\"v7\"", .modified_seconds = saved_at};
//   switch (evaluate(request.head(), page, now)) { case Precondition::NotModified: … 304 … }
//
// evaluate() works for any resource with an entity tag or a date, not only for files. Call evaluate() before you
// respond to a GET, and before you carry out a PUT, PATCH or DELETE; pass the validators of the current state.
//
// Pure; no allocation.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/http/message/parser.h"

namespace keel::http {

// The validators of a representation: its entity tag and the date of its last change.
struct Validators {
  // The entity tag as it is sent: "\"abc\"" or "W/\"abc\"". Empty: none.
  std::string_view etag = {};
  std::optional<std::int64_t> modified_seconds = std::nullopt;  // Seconds since 1970.
  bool exists = true;                                           // False for a resource that is about to be created.
};

enum class Precondition : std::uint8_t {
  Holds,
  NotModified,  // Respond 304, with the fields of a 200 but without its content (RFC 9110 §15.4.5).
  Failed,       // 412.
};

// Evaluates the conditional fields of the request in the order of RFC 9110 §13.2.2: first If-Match or, without it,
// If-Unmodified-Since; then If-None-Match or, without it, If-Modified-Since (which applies only to GET and HEAD).
// If-Match is compared strongly: a weak tag never matches. A field with an invalid date is ignored, and an invalid tag
// matches nothing. `now_seconds` is the current time, which parse_date() needs.
Precondition evaluate(const RequestHead& head, const Validators& validators, std::int64_t now_seconds) noexcept;

// Whether the Range of a request applies. True if there is no If-Range, or if If-Range names the current state exactly
// (RFC 9110 §13.1.5): with a strong tag, or with a date that equals Last-Modified and is strong. A date is strong when
// its second has passed (§8.8.2.2).
bool range_applies(const RequestHead& head, const Validators& validators, std::int64_t now_seconds) noexcept;

}  // namespace keel::http
