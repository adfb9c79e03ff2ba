// keel/http/server/rejection.h — the list of all errors in a client's input.
//
// The error of Request::json(), query() and form() carries a Rejection. If a handler ends with an error that carries a
// Rejection, through co_await or KEEL_TRY, with or without because(), the response lists every violation (problem.h). A
// handler can also inspect the rejection:
//
//   const Result<Order> order = request.json<Order>();
//   if (const http::Rejection* why = order ? nullptr : http::Rejection::of(order.error())) {
//     for (const Violation& one : why->violations()) …                  // "/lines/0/quantity", "must be from 1 to 100"
//   }
//
// For violations that a handler itself finds after it has read the body, Invalid (problem.h) makes a response of the
// same form as that for a Rejection.
//
// Ownership: a Rejection is owned by its Error; each clone of the Error has its own copy.
// Threads:   any.
// Cost:      valid input costs nothing; for invalid input, the list of violations is allocated.

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
    Body,   // 400 for text that is not JSON, otherwise 422; each error has a "pointer".
    Query,  // 400; each error has a "parameter".
    Form,   // 422; each error has a "field".
    // A rejection by a contract (contract/input.h): 400 for parameters that cannot be read, and 422 for parameters that
    // violate a schema; each error has a "parameter".
    Parameters,
    ParameterValues,
    ContentType,  // 415; there are no violations, and the message says what is expected.
    Size,         // 413; the message says what is too large.
  };

  // An InvalidArgument whose message contains each violation, for the log. There must be at least one violation.
  static Error error(What what, Violations violations);
  // For 415: the message is `expected`; the response has the field `accept_field` (Accept or another) with the value
  // `accepted`. Literals.
  static Error unsupported(const char* expected, const char* accept_field, const char* accepted);

  // For 413: the message is `what`, a string literal.
  static Error too_large(const char* what);

  // The rejection that `error` carries, or null. The result is also null if the code of the error was later changed
  // from InvalidArgument to another code.
  static const Rejection* of(const Error& error) noexcept;

  What what() const noexcept { return what_; }
  Status status() const noexcept;
  const Violations& violations() const noexcept { return violations_; }
  // The name of the response's field that lists the accepted types, and its value; both are empty if there is no such
  // field.
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
