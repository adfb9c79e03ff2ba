#include "keel/http/server/internal/exchange.h"

#include <utility>

#include "keel/data/json_indent.h"
#include "keel/http/server/internal/carrier.h"
#include "keel/http/server/internal/upgraded.h"
#include "keel/http/server/problem.h"
#include "keel/task/frame.h"

namespace keel::http {

Exchange::Exchange(const Exchange& begun, RequestHead& head, Arena& arena) : worker_(begun.worker_) {
  const Request& request = begun.request_;
  request_.head_ = &head;
  request_.arena_ = &arena;
  request_.started_ = request.started_;
  request_.fd_ = request.fd_;
  request_.layer_ = request.layer_;
  request_.arrival_ = request.arrival_;
  request_.span_ = request.span_;
  request_.match_ = request.match_;
  request_.match_.params.rebase(head.path().data());
  // If middleware has kept values, its after() is not called any more, because the values are lost with the memory of
  // `begun`.
  if (request.notes_ != nullptr) request_.match_.passed = 0;
}

flight::Activity Exchange::tell(const void* subject) {
  const auto& request = *static_cast<const Request*>(subject);
  return {request.head().method_text(), request.path(), request.trace()};
}

Task<Response> Exchange::call_later() {
  const Trampoline::Deferring deferring;  // Tasks that middleware or a plain function wakes are deferred.
  if (match().link_count != 0) {
    if (auto first = Middleware::before(request_)) return Next::respond_with(*std::move(first));
  }
  // If middleware of the second form surrounds the handler, the handler already has a Next.
  return match().is_around ? match().handler->later(request_) : Next(nullptr, nullptr, *match().handler)(request_);
}

void Exchange::indent_json(Response& response) {
  if (response.content_type() != "application/json" || response.is_streamed()) return;
  Buffer indented;
  json::indent(indented, response.content());
  response.replace_content(std::move(indented));
}

void Exchange::log_invalid_response(int status) {
  worker_.counts.bugs.add();
  const Error error(
      Code::Internal,
      "a status must be from 200 to 599, and a field must not contain control characters: correct the handler");
  worker_.failures().log("a response had a field or a status that cannot be sent", error, request_.route(),
                         log::field("path", request_.path()), log::field("status", status));
}

Response Exchange::reject_late() {
  constexpr std::string_view too_late = "the server is overloaded";
  worker_.counts.requests.add();
  worker_.counts.refused.add();
  worker_.counts.overloaded.add();
  worker_.records().rejected_late(request_, too_late);
  Response response = refuse(Status::ServiceUnavailable, too_late);
  if (worker_.options().request_ids) response.header("X-Request-Id", request_.id());
  if (!worker_.strict_transport().empty()) response.header("Strict-Transport-Security", worker_.strict_transport());
  return response;
}

}  // namespace keel::http
