// keel/contract/answer.h — what an operation of a contract may answer: for generated code.
//
// Each operation has a class of its own, which has one way to be made for each response that the contract declares, and
// no other. What it is made of is written as JSON at once.
//
// Errors:   a status outside of a range that the contract declares, and a header that cannot stand in a field, are a
//           Bug (base/bug.h), which is a 500.
// Lifetime: a value; it keeps nothing of what it is made of.
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

class Answer {
 public:
  http::Status status() const noexcept { return response_.status(); }
  http::Response response() && noexcept { return std::move(response_); }

 protected:
  using Write = void (*)(json::Writer& out, const void* value);

  explicit Answer(http::Response&& response) noexcept : response_(std::move(response)) {}
  // One without content.
  explicit Answer(http::Status status);
  // A value as JSON, by the function that writes it: write_as<T, …> for a T. Not a template, as each response of each
  // operation is made here.
  Answer(http::Status status, const void* value, Write write, std::string_view content_type = "application/json");
  // A problem of RFC 9457 that says no more than that.
  Answer(http::Status status, std::string_view detail);

  template <class T, void (*write)(json::Writer& out, const T& value)>
  static void write_as(json::Writer& out, const void* value) {
    write(out, *static_cast<const T*>(value));
  }
  // Of a response for several statuses, `least` to `most`: another one is a bug of the handler.
  static http::Status within(http::Status status, int least, int most) {
    KEEL_EXPECT(static_cast<int>(status) >= least && static_cast<int>(status) <= most,
                "the contract has no response of this status for this operation");
    return status;
  }

  // A field of the response. What is empty, and may be, is left out.
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
  // As OpenAPI's style `simple`: a list's elements with commas between them, a string as it is. An element that could
  // be taken for something else, as it has a comma, is a quoted-string (RFC 9110 §5.6.4).
  void set_header_json(std::string_view name, std::string_view json);
};

}  // namespace keel::contract
