// keel/contract/response.h — for generated code: the responses that an operation of a contract may give.
//
// Each operation has its own class, with one function for each response that the contract declares; there is no other
// way to make a response. The content is written as JSON when the response is made.
//
// Properties that are `writeOnly` are left out of the content even if they are set, because a response does not have
// them.
//
// Errors:   a status outside the range that the contract declares, and a value that cannot stand in a header field, are
//           a Bug (base/bug.h), which becomes a 500.
// Lifetime: a value; it copies its arguments.
// Threads:  a value.
// Cost:     of http::Response::json().

#pragma once

#include <concepts>
#include <string_view>
#include <utility>

#include "keel/base/bug.h"
#include "keel/data/json_write.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/response.h"

namespace keel::contract {

class Response {
 public:
  http::Status status() const noexcept { return response_.status(); }
  http::Response response() && noexcept { return std::move(response_); }
  // For app/idempotency.h: makes a T from a stored response. The stored response is the response of an earlier T, or a
  // response that rejected the request.
  template <class T>
  static T stored(http::Response&& response) {
    return T(std::move(response));
  }

 protected:
  using Write = void (*)(json::Writer& out, const void* value);

  explicit Response(http::Response&& response) noexcept : response_(std::move(response)) {}
  // A response without content.
  explicit Response(http::Status status);
  // A response whose content is a value as JSON; for a value of type T, `write` is write_as<T, …>. This constructor is
  // not a template, because a template would be instantiated for each response of each operation.
  Response(http::Status status, const void* value, Write write, std::string_view content_type = "application/json");
  // A problem response (RFC 9457) that contains only the status and this detail.
  Response(http::Status status, std::string_view detail);

  template <class T, void (*write)(json::Writer& out, const T& value)>
  static void write_as(json::Writer& out, const void* value) {
    write(out, *static_cast<const T*>(value));
  }
  // Returns `status`, which must be from `least` to `most`: any other status is a bug of the handler.
  static http::Status within(http::Status status, int least, int most) {
    KEEL_EXPECT(static_cast<int>(status) >= least && static_cast<int>(status) <= most,
                "the contract does not declare a response with this status for this operation");
    return status;
  }

  // Adds a header field whose value is JSON. An empty optional is left out.
  template <class T>
  void set_json_header(std::string_view name, const T& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value.has_value()) set_json_header(name, *value);
    } else {
      set_header_text(name, json::write(value));
    }
  }
  // Adds a header field to the response. An empty optional is left out.
  template <class T>
  void set_header(std::string_view name, const T& value) {
    if constexpr (requires { value.has_value(); }) {
      if (value.has_value()) set_header(name, *value);
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      set_header_text(name, value);
    } else {
      set_header_json(name, json::write(value));
    }
  }

  http::Response response_;

 private:
  void set_header_text(std::string_view name, std::string_view text);
  // Writes the value in OpenAPI's style `simple`: the elements of a list with commas between them, and a string
  // unchanged. An element is written as a quoted-string (RFC 9110 §5.6.4) if it contains a comma that would divide it,
  // or if it could otherwise be misread. Each element of Set-Cookie becomes a separate field, because a cookie may
  // contain commas.
  void set_header_json(std::string_view name, std::string_view json);
};

}  // namespace keel::contract
