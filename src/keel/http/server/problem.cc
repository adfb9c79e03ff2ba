#include "keel/http/server/problem.h"

#include <string>

#include "keel/data/json.h"
#include "keel/http/server/internal/repeated_failures.h"
#include "keel/http/server/rejection.h"
#include "keel/http/server/request.h"
#include "keel/observe/failure.h"
#include "keel/observe/log.h"

namespace keel::http {
namespace {

constexpr std::string_view problem_type = "application/problem+json";

void begin_problem(json::Writer& out, Status status, std::string_view detail) {
  out.begin_object();
  out.key("type").string("about:blank");
  out.key("title").string(reason(status));
  out.key("status").integer(static_cast<int>(status));
  if (!detail.empty()) out.key("detail").string(detail);
}

// An error from the environment is the server's fault, whatever its code means to the caller.
Status status_of(const Error& error) noexcept {
  const auto status = static_cast<Status>(http_status(error.code()));
  if (!error.is_from_environment() || error.code() == Code::Cancelled) return status;
  return status == Status::BadGateway || status == Status::ServiceUnavailable || status == Status::GatewayTimeout
             ? status
             : Status::InternalServerError;
}

// For one kind of input: the name of the member in which each list entry gives the place of its violation, and the
// detail of the whole document.
struct Words {
  const char* place;
  const char* detail;
};
Words words_of(Rejection::What what) noexcept {
  switch (what) {
    case Rejection::What::Query:
      return {"parameter", "the query has invalid values"};
    case Rejection::What::Form:
      return {"field", "the form has invalid values"};
    case Rejection::What::Parameters:
      return {"parameter", "the parameters cannot be read"};
    case Rejection::What::ParameterValues:
      return {"parameter", "the parameters have invalid values"};
    default:
      return {"pointer", "the body has invalid values"};
  }
}

Response list(Status status, Rejection::What what, const Violations& violations) {
  const auto [place, detail] = words_of(what);
  Buffer body;
  json::Writer out(body);
  std::string all = detail;
  if (violations.has_more()) all += "; only the first errors are listed";
  begin_problem(out, status, all);
  out.key("errors").begin_array();
  for (const Violation& one : violations) {
    out.begin_object();
    out.key(place).string(one.pointer);
    if (!one.keyword.empty()) out.key("keyword").string(one.keyword);
    out.key("detail").string(one.message);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return Response::body(status, std::move(body), problem_type);
}

// `message` is the message of the error that carried the rejection.
Response response_of(const Rejection& rejection, std::string_view message) {
  if (rejection.violations().empty() || rejection.violations().is_malformed()) {
    Response response = refuse(rejection.status(), message);
    if (!rejection.accept_field().empty()) response.header(rejection.accept_field(), rejection.accepted());
    return response;
  }
  return list(rejection.status(), rejection.what(), rejection.violations());
}

}  // namespace

Response refuse(Status status, std::string_view detail) {
  Buffer body;
  json::Writer out(body);
  begin_problem(out, status, detail);
  out.end_object();
  Response response = Response::body(status, std::move(body), problem_type);
  if (status == Status::ServiceUnavailable) response.header("Retry-After", "1");
  return response;
}

Response problem(const Error& error) {
  if (const Rejection* const rejection = Rejection::of(error)) return response_of(*rejection, error.message());
  const Status status = status_of(error);
  if (status == Status::InternalServerError) return refuse(status, "an internal error occurred and has been logged");
  switch (error.code()) {
    case Code::Upstream:
      return refuse(status, "another server failed; the error has been logged");
    case Code::Unavailable:
    case Code::ResourceExhausted:
      return refuse(status, "temporarily unavailable, try again later; the error has been logged");
    case Code::DeadlineExceeded:
      return refuse(status, "the request took too long; the error has been logged");
    default:
      return refuse(status, error.is_from_environment() ? std::string_view() : error.message());
  }
}

Response problem(const Request& request, const Error& error) {
  static const log::Logger log("http.server");
  if (error.is_bug()) request.count_bug();
  constexpr log::Message message = "request failed";
  const auto method = log::field("method", request.head().method_text());
  const auto path = log::field("path", request.path());
  if (request.arrival_ != nullptr && request.arrival_->failures != nullptr) {
    request.arrival_->failures->log(message, error, request.route(), method, path);
  } else {
    log::Failure(error).log(log, message, method, path, log::field("route", request.route()));
  }
  return problem(error);
}

Invalid& Invalid::field(std::string_view pointer, std::string_view detail, std::string_view keyword) {
  violations_.add(pointer, detail, keyword);
  return *this;
}

Response Invalid::response() && { return list(Status::UnprocessableContent, Rejection::What::Body, violations_); }

Response problem(const json::Reader& reader) {
  const json::Problem what = reader.problem();
  Buffer path;
  reader.append_path(path);
  Violation one{std::string(path.view()), what.message, what.line, what.column, what.keyword};
  Violations violations;
  if (what.cause == json::Problem::Cause::Syntax) {
    violations.set_malformed(std::move(one));
    return refuse(Status::BadRequest, violations.error().message());
  }
  violations.add(std::move(one));
  return list(Status::UnprocessableContent, Rejection::What::Body, violations);
}

}  // namespace keel::http
