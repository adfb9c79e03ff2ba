// keel/http/server/rejection.h — everything that is wrong with what a client has sent.
//
// The error of Request::json(), query() and form() carries one. A handler that ends with that error, however it comes
// there and with whatever context (co_await, KEEL_TRY, because()), gets all of it as its response (problem.h); a
// handler can look at it:
//
//   const Result<Order> order = request.json<Order>();
//   if (const http::Rejection* why = order ? nullptr : http::Rejection::of(order.error())) {
//     for (const Violation& one : why->violations()) …                  // "/lines/0/quantity", "must be from 1 to 100"
//   }
//
// For violations that a handler finds itself, once the body is read, Invalid (problem.h) makes the same response.
//
// Ownership: of the Error, and of its clones.  Threads: any.
// Cost:      allocations of the violations; nothing where all is well.

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
    Body,   // 422, and 400 for what is no JSON; "errors" have a "pointer".
    Query,  // 400; a "parameter".
    Form,   // 422; a "field".
    // For a contract (contract/input.h): 400 for parameters that cannot be read, 422 for those that violate a schema;
    // both name a "parameter".
    Parameters,
    ParameterValues,
    ContentType,  // 415: none is listed, the message says what is expected.
  };

  // InvalidArgument, with each violation in the message, for the log. There is at least one.
  static Error error(What what, Violations violations);
  // 415: the message is `expected`; the field `accept_field`, Accept or another, has `accepted`. Literals.
  static Error unsupported(const char* expected, const char* accept_field, const char* accepted);

  // The rejection that `error` carries, or null. Also null once the error was given another code than InvalidArgument.
  static const Rejection* of(const Error& error) noexcept;

  What what() const noexcept { return what_; }
  Status status() const noexcept;
  const Violations& violations() const noexcept { return violations_; }
  // The field of the response that names what is accepted, and its value; empty if there is none.
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
