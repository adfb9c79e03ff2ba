// keel/http/server/problem.h — errors as RFC 9457 problem details.
//
//   {"type":"about:blank","title":"Not Found","status":404,"detail":"no such user"}
//
// This is the only place where an Error becomes a response. An error of the application, `fail(Code::NotFound, "no such
// user")`, gets the status of its code, and the client reads its message. The error of Request::json(), query() and
// form() gets the status of its Rejection (rejection.h), and lists everything that is wrong:
//
//   {"type":"about:blank","title":"Unprocessable Content","status":422,
//    "detail":"the body has invalid values",
//    "errors":[{"pointer":"/sku","keyword":"required","detail":"is required"},
//              {"pointer":"/lines/0/quantity","keyword":"minimum","detail":"must be from 1 to 100"}]}
//
// "keyword" is the keyword of JSON Schema that the value violates (data/violations.h); an entry without a keyword is
// about something for which JSON Schema has none. For a query, "parameter" takes the place of "pointer"; for a form,
// "field" does.
//
// An error from the environment (base/error.h: files, databases, other servers, the system) counts as the server's own,
// whatever its code: 502, 503 or 504 if that is the status of its code, else 500. on_error() (task/on_error.h) turns an
// error that the client caused into one of the application. A bug is a 500. The message of an error from the
// environment, and of Internal, DataLoss, Upstream, Unavailable, ResourceExhausted and DeadlineExceeded of the
// application, may name hosts, files and queries: the message is logged, and the body has a fixed sentence for the
// code. Use refuse() for a 503 or 504 with a message for the client.

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

// A problem with the default status of the error's code, and with its message.
Response problem(const Error& error);
// The same for the error with which a request ended. The error is logged with method, path and route: at the level of
// its code, or, if it is the server's own, at level error with the place of the call, the SQL statement if there is
// one, and the stack of a bug.
Response problem(const Request& request, const Error& error);

// HTTP's own rejections, and any status a handler chooses: 405, 413, 415, 422, … A 503 says when to try again:
// Retry-After: 1 (RFC 9110 §10.2.3). A 401 has to name an authentication scheme (§15.5.2), which only the caller knows:
// `refuse(Status::Unauthorized, text).header("WWW-Authenticate", "Bearer")`; an Error has no header fields.
Response refuse(Status status, std::string_view detail);

// Reports violations that a handler finds itself in a body, in the same form as above:
//
//   http::Invalid invalid;
//   if (!is_known(line.sku)) invalid.field("/lines/0/sku", "is no product of ours");
//   if (!invalid.empty()) co_return std::move(invalid).response();
class Invalid {
 public:
  // `pointer` is a JSON Pointer (RFC 6901) into the body, "/email"; `keyword` is a literal, the keyword of JSON Schema
  // if there is one. At most Violations::count_max are listed.
  Invalid& field(std::string_view pointer, std::string_view detail, std::string_view keyword = {});
  bool empty() const noexcept { return violations_.empty(); }
  Response response() &&;

 private:
  Violations violations_;
};

// The errors of JSON that is parsed by hand, as the same documents: 400 with line and column when the text is not JSON,
// 422 naming the member when it is JSON but does not have the expected form.
Response problem(const json::Reader& reader);

}  // namespace keel::http
