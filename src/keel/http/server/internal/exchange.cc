#include "keel/http/server/internal/exchange.h"

#include <utility>

#include "keel/data/json_indent.h"
#include "keel/http/server/internal/carrier.h"
#include "keel/http/server/internal/upgraded.h"
#include "keel/http/server/problem.h"
#include "keel/task/frame.h"

namespace keel::http {
namespace {

void indent_json(Response& response) {
  if (response.content_type() != "application/json" || response.is_streamed()) return;
  Buffer indented;
  json::indent(indented, response.content());
  response.replace_content(std::move(indented));
}

}  // namespace

Exchange::Exchange(const Exchange& begun, RequestHead& head, Arena& arena) : worker_(begun.worker_) {
  const Request& request = begun.request_;
  request_.head_ = &head;
  request_.arena_ = &arena;
  request_.started_ = request.started_;
  request_.fd_ = request.fd_;
  request_.arrival_ = request.arrival_;
  request_.span_ = request.span_;
  request_.match_ = request.match_;
  request_.match_.params.rebase(head.path().data());
}

flight::Activity Exchange::tell(const void* subject) {
  const auto& request = *static_cast<const Request*>(subject);
  return {request.head().method_text(), request.path(), request.trace()};
}

Task<Response> Exchange::call_later() {
  const Trampoline::Deferring deferring;  // For middleware, and what is no coroutine itself.
  if (match().link_count != 0) {
    if (auto first = Middleware::before(request_)) return Next::answer_with(*std::move(first));
  }
  return match().handler->later(request_);
}

void Exchange::conclude(Result<Response>& result, bool can_upgrade) {
  const ServerOptions& options = worker_.options();
  if (request_.arena_->bytes_held() > worker_.limits().request_bytes_max) [[unlikely]] {
    worker_.counts.requests_too_big.add();
    result = fail(Code::ResourceExhausted, "the request needs more memory than this server gives to one");
  }
  if (!result) result = problem(request_, result.error());
  if (result->is_upgrade()) [[unlikely]]
    result = Upgraded::answer(worker_, head(), *std::move(result), can_upgrade);
  if (!match().accepted_type.empty()) result->vary("Accept");
  if (result->status() == Status::Unauthorized && !result->field("WWW-Authenticate")) [[unlikely]]
    result->header("WWW-Authenticate", options.challenge);
  if (options.indent_json) [[unlikely]]
    indent_json(*result);
  if (match().passed != 0) Middleware::after(request_, *result);
  const int status_number = number(result->status());
  if (!result->is_valid() || (status_number < 200 && !result->is_upgrade()) || status_number > 599) {
    // After an interim status the client would take the next answer for this one; above 599 there is no status line.
    worker_.log().error("a response had a field or a status that cannot be sent", log::field("path", request_.path()));
    result = refuse(Status::InternalServerError, {});
  }
  if (options.request_ids) result->header("X-Request-Id", request_.id());
  if (result->status() == Status::ResetContent) [[unlikely]]
    result->drop_content();
  if (options.server_timing && is_measured()) {
    Buffer timing;
    write_server_timing(timing, *clock());
    if (!timing.empty()) result->header("Server-Timing", timing.view());
  }
}

Response Exchange::reject_late() {
  constexpr std::string_view too_late = "this server is late with all that it has to do";
  worker_.counts.requests.add();
  worker_.counts.refused.add();
  worker_.counts.overloaded.add();
  worker_.records().rejected_late(request_, too_late);
  Response response = refuse(Status::ServiceUnavailable, too_late);
  if (worker_.options().request_ids) response.header("X-Request-Id", request_.id());
  return response;
}

}  // namespace keel::http
