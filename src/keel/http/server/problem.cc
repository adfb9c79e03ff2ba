#include "keel/http/server/problem.h"

#include <charconv>

#include "keel/data/json.h"
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

void append_number(Buffer& out, std::size_t number) {
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  out.append({digits, static_cast<std::size_t>(end - digits)});
}

// What comes from the environment is the server's fault, whatever its code says to the one who called.
Status status_of(const Error& error) noexcept {
  const auto status = static_cast<Status>(http_status(error.code()));
  if (!error.is_from_environment() || error.code() == Code::Cancelled) return status;
  return status == Status::BadGateway || status == Status::ServiceUnavailable || status == Status::GatewayTimeout
             ? status
             : Status::InternalServerError;
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
  const Status status = status_of(error);
  if (status == Status::InternalServerError) return refuse(status, "something went wrong here; it has been logged");
  switch (error.code()) {
    case Code::Upstream:
      return refuse(status, "something went wrong at another server; it has been logged");
    case Code::Unavailable:
    case Code::ResourceExhausted:
      return refuse(status, "not available now, try again later; it has been logged");
    case Code::DeadlineExceeded:
      return refuse(status, "it took too long; it has been logged");
    default:
      return refuse(status, error.is_from_environment() ? std::string_view() : error.message());
  }
}

Response problem(const Request& request, const Error& error) {
  static const log::Logger log("http.server");
  if (error.is_bug()) request.count_bug();
  log::Failure(error).log(log, "request failed", log::field("method", request.head().method_text()),
                          log::field("path", request.path()), log::field("route", request.route()));
  return problem(error);
}

Invalid& Invalid::field(std::string_view pointer, std::string_view detail) {
  json::Writer out(errors_);
  errors_.push_back(count_++ == 0 ? '[' : ',');
  out.begin_object();
  out.key("pointer").string(pointer);
  out.key("detail").string(detail);
  out.end_object();
  return *this;
}

Response Invalid::response() && {
  Buffer body;
  json::Writer out(body);
  begin_problem(out, Status::UnprocessableContent, "the body is well-formed and not acceptable");
  errors_.push_back(']');
  out.key("errors").raw(errors_.view());
  out.end_object();
  return Response::body(Status::UnprocessableContent, std::move(body), problem_type);
}

Response problem(const json::Reader& reader) {
  const json::Problem what = reader.problem();
  if (what.cause == json::Problem::Cause::Value) {
    Buffer path;
    reader.append_path(path);
    Invalid invalid;
    invalid.field(path.view(), what.message);
    return std::move(invalid).response();
  }
  Buffer detail;
  detail.append(what.message);
  detail.append(" at line ");
  append_number(detail, what.line);
  detail.append(" column ");
  append_number(detail, what.column);
  return refuse(Status::BadRequest, detail.view());
}

}  // namespace keel::http
