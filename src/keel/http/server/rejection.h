// keel/http/server/rejection.h — all errors in the input of a client.
//
// The error of Request::json(), query() and form() carries a Rejection. If a handler ends with that error, whether it
// arrived by co_await or KEEL_TRY, with or without because(), the response lists every violation (problem.h). A handler
// can also inspect the rejection:
//
//   const Result<Order> order = request.json<Order>();
//   if (const http::Rejection* why = order ? nullptr : http::Rejection::of(order.error())) {
//     for (const Violation& one : why->violations()) …                  // "/lines/0/quantity", "must be from 1 to 100"
//   }
//
// For violations that a handler itself finds after the body has been read, Invalid (problem.h) makes the same response.
//
// Ownership: owned by the Error and its clones.
// Threads:   any.
// Cost:      the violations are allocated; valid input costs nothing.

#pragma once

#include <cstdint>
#include <string_view>

#include "keel/base/error.h"
#include "keel/data/violations.h"
#include "keel/http/message/status.h"

namespace keel::http {

class Rejection final : public Error::Details {
 public:
  enum class What : std::uint8_t {
    Body,   // 422, and 400 for text that is not JSON; each error has a "pointer".
    Query,  // 400; each error has a "parameter".
    Form,   // 422; each error has a "field".
    // A rejection by a contract (contract/input.h): 400 for parameters that cannot be read, 422 for those that violate
    // a schema; both name a "parameter".
    Parameters,
    ParameterValues,
    ContentType,  // A 415 lists no violations; the message says what is expected.
    Size,         // For 413; the message says what is too large.
  };

  // InvalidArgument, with each violation in the message, for the log. There is at least one violation.
  static Error error(What what, Violations violations);
  // 415: the message is `expected`; the field `accept_field`, Accept or another, has `accepted`. Literals.
  static Error unsupported(const char* expected, const char* accept_field, const char* accepted);

  // 413: the message is `what`, a literal.
  static Error too_large(const char* what);

  // The rejection that `error` carries, or null. The result is also null after the code of the error has been changed
  // from InvalidArgument to another.
  static const Rejection* of(const Error& error) noexcept;

  What what() const noexcept { return what_; }
  Status status() const noexcept;
  const Violations& violations() const noexcept { return violations_; }
  // The field of the response that lists accepted types, and its value; empty if there is none.
  std::string_view accept_field() const noexcept { return accept_field_; }
  std::string_view accepted() const noexcept { return accepted_; }

  const Details* clone() const override;

 private:
  explicit Rejection(What what) noexcept : what_(what) {}

  What what_;
  Violations violations_;
  std::string_view accept_field_;
  std::string_view accepted_;
};

}  // namespace keel::http
