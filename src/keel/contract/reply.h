// keel/contract/reply.h — for generated code of clients (client.h): reads a server's response as the contract describes
// it.
//
// The declared response is chosen by status: "200" takes precedence over "2XX", which takes precedence over "default".
// Among the media types of the chosen response, the one that matches best is chosen: "text/csv" takes precedence over
// "text/*", which takes precedence over "*/*"; parameters of the media type are ignored. If a response is declared
// without content, its body is ignored. JSON and headers are read with the readers of the contract's types, and checked
// in the same way as a service checks its input, except that a response may lack the properties that are `writeOnly`,
// and must have those that are `readOnly` and required. An element of a list in a header may be quoted, as in a request
// (input.h); commas within the angle brackets or the parameters of a Link do not separate elements. Of Set-Cookie, each
// field is one element.
//
// Errors:   Upstream, from the environment, for an undeclared status, an undeclared media type, and a body or header
//           that does not match its schema. The message describes the response and the mistake, and gives each
//           violation of a schema with its pointer.
// Lifetime: a Reply holds views; the values read from the Reply own their text.

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

// A response that the contract declares, with one of its media types.
struct Expected {
  std::uint16_t least;  // The range of statuses for which the response is declared.
  std::uint16_t most;
  std::string_view media_type = {};  // If empty, the response has no content.
  bool is_typed = false;             // Whether the content is JSON with a schema.
};

// An operation of a contract, as the client of a service sees it. A constant.
struct Operation {
  std::string_view id;  // The operationId, such as "getProduct"; the method and the path if there is no operationId.
  http::Method method;
  std::string_view path;  // "/products/{id}"
  std::string_view accept = {};
  std::span<const Expected> responses = {};  // Responses for the same status are adjacent.
  std::span<const Alternative> security = {};
};

// How well a media type matches a declared one: 3 if they are equal, 2 if "text/*" matches, 1 if "*/*" matches, 0 if it
// does not match. Parameters are ignored.
int fit(std::string_view declared, std::string_view media_type) noexcept;

class Reply {
 public:
  Reply(const Operation& operation, http::Status status, std::string_view head, std::string_view body) noexcept
      : operation_(operation), status_(status), head_(head), body_(body) {}

  // Finds the declared response that matches this response; if that succeeds, index() is valid.
  Result<> match();
  std::size_t index() const noexcept { return index_; }
  http::Status status() const noexcept { return status_; }
  const Expected& expected() const noexcept { return operation_.responses[index_]; }
  // The values of all fields with this name, joined by commas.
  std::optional<std::string> header(std::string_view name) const;
  std::string_view body() const noexcept { return body_; }

  // For generated code: reads the content of the response; call it after match().
  template <auto read, class To>
  Result<> json(To& to) const {
    return read_json(&internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }
  void text(std::string& to) const { to = body_; }
  // `form` is Text, Bare, Either, a list of one of them, or Json.
  template <auto read, class To>
  Result<> header(std::string_view name, Form form, bool is_required, To& to) const {
    const auto given = header(name);
    if (!given) return is_required ? missing(name) : Result<>();
    return read_header(name, form, *given, &internal::ReadBy<read>::field, internal::ReadBy<read>::room(to));
  }

  // Returns "returned 404 Not Found"; if the body is a problem (RFC 9457), a colon and at most 200 bytes of its detail
  // follow.
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
