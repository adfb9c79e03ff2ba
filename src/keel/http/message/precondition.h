// keel/http/message/precondition.h — conditional requests: an unchanged representation is not sent again, and a changed
// one is not overwritten (RFC 9110 §13).
//
//   const Validators page{.etag = "\"v7\"", .modified_seconds = saved_at};
//   switch (evaluate(request.head(), page, now)) { case Precondition::NotModified: … 304 … }
//
// For any resource with an entity tag or a date, not only files: call evaluate() before the response to a GET, and,
// with the validators of the current state, before you carry out a PUT, PATCH or DELETE.
//
// Pure; no allocation.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/http/message/parser.h"

namespace keel::http {

// The validators of a representation: entity tag and date.
struct Validators {
  // The entity tag as it is sent, "\"abc\"" or "W/\"abc\"". "\"v7\"" or "W/\"v7\"". Empty: none.
  std::string_view etag = {};
  std::optional<std::int64_t> modified_seconds = std::nullopt;  // Seconds since 1970.
  bool exists = true;                                           // False for a resource that is about to be created.
};

enum class Precondition : std::uint8_t {
  Holds,
  NotModified,  // 304, with the fields of a 200 but without its content (RFC 9110 §15.4.5).
  Failed,       // 412.
};

// The fields are evaluated in the order of RFC 9110 §13.2.2: If-Match, else If-Unmodified-Since; If-None-Match, else
// If-Modified-Since (which is for GET and HEAD). If-Match compares strongly: a weak tag never matches. Invalid dates
// are ignored, and invalid tags match nothing. `now_seconds` is used as in parse_date().
Precondition evaluate(const RequestHead& head, const Validators& validators, std::int64_t now_seconds) noexcept;

// Whether the Range of a request applies: true without If-Range, or if it names the current state exactly: by a strong
// tag, or by a date that equals Last-Modified and is strong (RFC 9110 §13.1.5, §8.8.2.2), as a date is once its second
// has passed.
bool range_applies(const RequestHead& head, const Validators& validators, std::int64_t now_seconds) noexcept;

}  // namespace keel::http
