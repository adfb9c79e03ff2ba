// keel/http/server/problem.h — makes responses from errors, as problem details (RFC 9457).
//
//   {"type":"about:blank","title":"Not Found","status":404,"detail":"no such user"}
//
// Only the functions of this file turn an Error into a response. For an error of the application, such as
// `fail(Code::NotFound, "no such user")`, the response has the status of the error's code, and contains its message.
// For the error of Request::json(), query() and form(), the response has the status of the Rejection (rejection.h), and
// lists everything that is wrong:
//
//   {"type":"about:blank","title":"Unprocessable Content","status":422,
//    "detail":"the body has invalid values",
//    "errors":[{"pointer":"/sku","keyword":"required","detail":"is required"},
//              {"pointer":"/lines/0/quantity","keyword":"minimum","detail":"must be from 1 to 100"}]}
//
// "keyword" is the keyword of JSON Schema that the value violates (data/violations.h); an entry has no keyword if JSON
// Schema has none for the violation. For a query, the entries of the list have "parameter" instead of "pointer"; for a
// form, the entries have "field".
//
// An error from the environment (base/error.h: files, databases, other servers, the system) is treated as the server's
// fault, whatever its code is: the status is 502, 503 or 504 if that is the status of the code, and 500 otherwise. If
// the client caused an error from the environment, use on_error() (task/on_error.h) to turn this error into an error of
// the application. A bug becomes a 500. Two kinds of messages may name hosts, files and queries: those of errors from
// the environment, and those of the application's errors with the codes Internal, DataLoss, Upstream, Unavailable,
// ResourceExhausted and DeadlineExceeded. A message that may name hosts, files or queries is only logged, and the body
// of the response contains a fixed sentence for the code. To send a 503 or 504 with a message for the client, use
// refuse().

#pragma once

#include <string_view>

#include "keel/base/error.h"
#include "keel/data/violations.h"
#include "keel/http/server/response.h"
#include "keel/task/on_error.h"

namespace keel::json {
class Reader;
}

namespace keel::http {

class Request;

// Makes the problem document for `error`, with the default status of the error's code, and with the error's message if
// clients may read it.
Response problem(const Error& error);
// Makes the problem document for an error with which `request` ended, and logs the error with the method, path and
// route. The level is that of the error's code; for an error that is the server's fault, the level is error, and the
// line contains the place of the call, the SQL statement if there is one, and the stack of a bug.
Response problem(const Request& request, const Error& error);

// Makes a rejection with a status that HTTP or a handler has chosen: 405, 413, 415, 422, … A 503 says when to try
// again: Retry-After: 1 (RFC 9110 §10.2.3). A 401 must name an authentication scheme (§15.5.2), which only the caller
// knows: write `refuse(Status::Unauthorized, text).header("WWW-Authenticate", "Bearer")`, because an Error has no
// header fields.
Response refuse(Status status, std::string_view detail);

// Reports violations that the handler itself finds in a body, in the form that the top of this file shows:
//
//   http::Invalid invalid;
//   if (!is_known(line.sku)) invalid.field("/lines/0/sku", "is no product of ours");
//   if (!invalid.empty()) co_return std::move(invalid).response();
class Invalid {
 public:
  // `pointer` is a JSON Pointer (RFC 6901) into the body, such as "/email"; `keyword` is a string literal, the keyword
  // of JSON Schema if there is one. At most Violations::count_max violations are listed.
  Invalid& field(std::string_view pointer, std::string_view detail, std::string_view keyword = {});
  bool empty() const noexcept { return violations_.empty(); }
  Response response() &&;

 private:
  Violations violations_;
};

// Makes a problem document for JSON that a handler parses with a Reader: 400 with line and column when the text is not
// JSON; 422 with the place of the member when the text is JSON but does not have the expected form.
Response problem(const json::Reader& reader);

}  // namespace keel::http
