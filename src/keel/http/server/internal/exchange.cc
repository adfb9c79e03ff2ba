#include "keel/http/server/internal/exchange.h"

#include <utility>

#include "keel/http/server/internal/upgraded.h"
#include "keel/http/server/problem.h"
#include "keel/observe/flight_recorder.h"
#include "keel/task/frame.h"

namespace keel::http {
namespace {

// Of a request that is measured: a handler's time, less what of it has a stage of its own.
class HandlerTimer {
 public:
  explicit HandlerTimer(StageClock* clock) noexcept : clock_(clock) {
    if (clock_ != nullptr) [[unlikely]]
      began_ = Host::current().precise_now();
  }
  ~HandlerTimer() {
    if (clock_ != nullptr) [[unlikely]]
      clock_->add(Stage::Handler, Host::current().precise_now() - began_ - clock_->inside_handler());
  }

 private:
  StageClock* clock_;
  Instant began_;
};

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

void Exchange::tell(const void* subject, std::string_view& method, std::string_view& path, log::TraceId& trace) {
  const auto& request = *static_cast<const Request*>(subject);
  method = request.head().method_text();
  path = request.path();
  trace = request.trace();
}

Result<Response> Exchange::call(std::string_view body) {
  request_.body_ = body;
  const HandlerTimer timer(clock());
  return call_at_once();
}

Result<Response> Exchange::call_at_once() {
  const flight::Doing doing(&tell, &request_);
  // A task that it wakes may answer and go on with its connection's next request, where this one is.
  const Trampoline::Deferring deferring;
  try {
    if (match().link_count != 0) {
      if (auto first = Middleware::before(request_)) return *std::move(first);
    }
    return match().handler->at_once(request_);
  } catch (...) {
    return Error::from_exception();
  }
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
  Middleware::after(request_, *result);
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

void Exchange::record(Status status, std::size_t body_bytes) {
  const std::uint32_t route = match().index;
  const Instant now = worker_.loop().precise_now();
  worker_.queue_delay().worked(route, now);
  worker_.records().answered(request_, route, status, body_bytes, now);
}

}  // namespace keel::http
