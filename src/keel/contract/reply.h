// keel/contract/reply.h — reads a server's response as the contract describes it: for generated code of clients
// (client.h).
//
// The declared response is chosen by status: "200" before "2XX" before "default". The body is chosen by media type:
// "text/csv" before "text/*" before "*/*"; parameters of the media type are ignored. A response that is declared
// without content may have any body, which is ignored. JSON and headers are read with the readers of the contract's
// types, and checked just as a service checks its input, except for `readOnly` and `writeOnly`: a response need not
// have the properties that are `writeOnly`, and must have those that are `readOnly` and required. An element of a list
// in a header may be quoted, as in a request (input.h); commas within the angle brackets or the parameters of a Link do
// not separate.
//
// Errors:   Upstream, from the environment, with a description of the response and of its mistake: an undeclared
//           status, an undeclared media type, a body or a header that does not match its schema (each violation with
//           its pointer).
// Lifetime: a Reply holds views; the values read from it own their text.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "keel/base/result.h"
#include "keel/contract/parameter.h"
#include "keel/contract/scheme.h"
#include "keel/http/message/method.h"
#include "keel/http/message/status.h"

namespace keel::contract {

// A declared response, in one of its media types.
struct Expected {
  std::uint16_t least;  // The statuses that it is declared for.
  std::uint16_t most;
  std::string_view media_type = {};  // Empty: it has no content.
  bool is_typed = false;             // Whether the content is JSON with a schema.
};

// An operation of a contract, as its client sees it. A constant.
struct Operation {
  std::string_view id;  // "getProduct", or the method and path of an operation that has none.
  http::Method method;
  std::string_view path;  // "/products/{id}"
  std::string_view accept = {};
  std::span<const Expected> responses = {};  // Responses for the same status are adjacent.
  std::span<const Alternative> security = {};
};

// How well a media type matches a declared one: 3 exactly, 2 as "text/*", 1 as "*/*", 0 not at all. Parameters are
// ignored.
int fit(std::string_view declared, std::string_view media_type) noexcept;

class Reply {
 public:
  Reply(const Operation& operation, http::Status status, std::string_view head, std::string_view body) noexcept
      : operation_(operation), status_(status), head_(head), body_(body) {}

  // Finds the declared response that matches this response; index() is valid after a success.
  Result<> match();
  std::size_t index() const noexcept { return index_; }
  http::Status status() const noexcept { return status_; }
  const Expected& expected() const noexcept { return operation_.responses[index_]; }
  // The values of all fields with that name, joined by commas.
  std::optional<std::string> header(std::string_view name) const;
  std::string_view body() const noexcept { return body_; }

  // Reads the content of the response: for generated code, after match().
  template <auto read, class To>
  Result<> json(To& to) const {
    return read_json(&internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }
  void text(std::string& to) const { to = body_; }
  // `form` is Text, Bare, Either, a list of one of these, or Json.
  template <auto read, class To>
  Result<> header(std::string_view name, Form form, bool is_required, To& to) const {
    const auto given = header(name);
    if (!given) return is_required ? missing(name) : Result<>();
    return read_header(name, form, *given, &internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }

  // "returned 404 Not Found", followed by a colon and at most 200 bytes of the problem's detail (RFC 9457).
  std::string described() const;
  static constexpr std::size_t detail_bytes_max = 200;

 private:
  using Read = internal::ReadField;
  Result<> read_json(Read read, void* value) const;
  Result<> read_header(std::string_view name, Form form, std::string_view text, Read read, void* value) const;
  Result<> missing(std::string_view name) const;

  const Operation& operation_;
  http::Status status_;
  std::string_view head_;
  std::string_view body_;
  std::size_t index_ = 0;
};

}  // namespace keel::contract
