// keel/http/server/internal/exchange.h — one request and its response: the part of the work that is the same for all
// carriers, and for synchronous and later responses.
//
// Internal to http. A connection makes an Exchange on the stack for each head that has arrived. If the exchange is not
// complete when the call that received the request returns, it becomes a PendingExchange (pending_exchange.h).
//
// Threads: the worker.

#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "keel/base/result.h"
#include "keel/http/message/parser.h"
#include "keel/http/server/internal/introduction.h"
#include "keel/http/server/internal/server_worker.h"
#include "keel/http/server/internal/upgraded.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/http/server/router.h"
#include "keel/http/server/stage.h"
#include "keel/net/transport.h"
#include "keel/observe/flight_recorder.h"
#include "keel/observe/span.h"
#include "keel/task/frame.h"
#include "keel/task/start.h"
#include "keel/task/task.h"

namespace keel::http {

// For a measured request, measures the time of the handler, without the parts that are stages themselves.
class HandlerTimer {
 public:
  explicit HandlerTimer(StageClock* clock) noexcept : clock_(clock) {
    if (clock_ != nullptr) [[unlikely]]
      began_ = keel::internal::precise_now();
  }
  ~HandlerTimer() {
    if (clock_ != nullptr) [[unlikely]]
      clock_->add(stage::handler, keel::internal::precise_now() - began_ - inside_handler(*clock_));
  }

 private:
  StageClock* clock_;
  Instant began_;
};

class Exchange {
 public:
  // Makes the exchange of a request whose head has arrived on `transport`; `head` and `transport` must outlive the
  // exchange. The exchange uses the worker's scratch memory. `introduction` is the Introduction of the connection;
  // null: no proxy introduces the connection.
  Exchange(ServerWorker& worker, RequestHead& head, const Transport& transport, const Introduction* introduction,
           StageClock* clock)
      : worker_(worker) {
    request_.head_ = &head;
    request_.arena_ = &worker.scratch();
    request_.started_ = worker.loop().now();
    request_.fd_ = transport.descriptor();
    request_.layer_ = transport.layer();
    request_.arrival_ = &worker.arrival();
    set_introduction(introduction);
    request_.span_ = {worker.next_trace(), clock};
    if (worker.may_continue_traces()) [[unlikely]]
      request_.continue_trace();
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  Request& request() noexcept { return request_; }
  const Request& request() const noexcept { return request_; }
  const RequestHead& head() const noexcept { return *request_.head_; }
  bool head_only() const noexcept { return head().method() == Method::Head; }
  const Span& span() const noexcept { return request_.span_; }
  bool is_measured() const noexcept { return request_.span_.stages != nullptr; }

  // The request's peer becomes the address that the proxy has named, instead of the address of the connection's
  // descriptor.
  void set_introduction(const Introduction* introduction) noexcept {
    if (introduction != nullptr) [[unlikely]]
      request_.peer_ = &introduction->peer;
  }
  // Finds the handler.
  void find_route() {
    const StageTimer timer(stage::route, request_.span_.stages);
    worker_.router().match(request_);
  }
  const RouteMatch& match() const noexcept { return request_.match_; }
  bool is_at_once() const noexcept { return static_cast<bool>(match().handler->at_once); }
  // Whether middleware runs before the handler.
  bool is_guarded() const noexcept { return match().link_count != 0 || match().is_around; }

  // Calls a synchronous handler, after its middleware; `body` is the body of the request.
  [[gnu::always_inline]] Result<Response> call(std::string_view body);
  // Turns the result of a handler into the response to send: an error becomes a problem document, middleware runs, and
  // the server adds its own fields. `can_upgrade`: the connection can be upgraded with this response.
  [[gnu::always_inline]] void conclude(Result<Response>& result, bool can_upgrade);
  // Whether a task writes the body of the response.
  bool streams_out(const Response& response) const noexcept {
    return response.is_streamed() && !head_only() && !forbids_content(response.status());
  }
  // Makes the response to a request that is rejected because it waited too long; counts and logs the rejection.
  Response reject_late();
  // Counts and logs the exchange; call it after the response, or its streamed body, has been written. `has_waited`:
  // whether a task of the exchange had to wait.
  [[gnu::always_inline]] void record(Status status, std::size_t body_bytes, bool has_waited = false);

 protected:
  // Makes a copy of the exchange; the copy uses another head and other memory.
  Exchange(const Exchange& begun, RequestHead& head, Arena& arena);
  [[gnu::always_inline]] Result<Response> call_at_once();
  Task<Response> call_later();
  void set_body(std::string_view body) noexcept { request_.body_ = body; }
  void set_reader(BodyReader& reader) noexcept { request_.reader_ = &reader; }
  // `collector` will collect the body from the reader; null: the body was already collected.
  void set_collector(BodyCollector* collector) noexcept { request_.collector_ = collector; }
  void clear_reader() noexcept { request_.reader_ = nullptr; }
  void set_trailers(std::string_view lines) { request_.set(Request::AfterBody{lines}); }
  void set_clock(StageClock& clock) noexcept { request_.span_.stages = &clock; }
  StageClock* clock() const noexcept { return request_.span_.stages; }
  std::optional<Instant> deadline_told() const noexcept { return request_.deadline_told(); }
  // A signal handler calls this function to find out what the worker is doing: `subject` is a Request.
  static flight::Activity tell(const void* subject);
  static void indent_json(Response& response);
  void log_invalid_response(int status);

  ServerWorker& worker_;

 private:
  Request request_;
};

// The following functions are inlined where a synchronous request is handled: a call would cost about fifty
// instructions for each request.

inline Result<Response> Exchange::call(std::string_view body) {
  request_.body_ = body;
  const HandlerTimer timer(clock());
  return call_at_once();
}

inline Result<Response> Exchange::call_at_once() {
  const flight::Doing doing(&tell, &request_);
  // A task that the handler wakes must not run now: it could respond and continue with the next request of its
  // connection, which would use the memory of this request.
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

[[gnu::always_inline]] inline void Exchange::conclude(Result<Response>& result, bool can_upgrade) {
  const ServerOptions& options = worker_.options();
  if (request_.arena_->bytes_held() > worker_.limits().request_bytes_max) [[unlikely]] {
    worker_.counts.requests_too_big.add();
    result = fail(Code::ResourceExhausted, "the request exceeds the server's memory limit for one request");
  }
  if (!result) result = problem(request_, result.error());
  if (!worker_.held().takes_response(result->content().size())) [[unlikely]]
    result = refuse(Status::ServiceUnavailable, "the server's memory limit for responses is reached");
  if (result->is_upgrade()) [[unlikely]]
    result = Upgraded::respond(worker_, request_, *std::move(result), can_upgrade);
  if (!match().accepted_type.empty()) result->vary("Accept");
  if (result->status() == Status::Unauthorized && !result->field("WWW-Authenticate")) [[unlikely]]
    result->header("WWW-Authenticate", options.challenge);
  if (options.indent_json) [[unlikely]]
    indent_json(*result);
  if (match().passed != 0) Middleware::after(request_, *result);
  if (Recorder::active != nullptr) [[unlikely]]
    Recorder::active->responds(request_, *result);
  const int status_number = number(result->status());
  if (!result->is_valid() || (status_number < 200 && !result->is_upgrade()) || status_number > 599) {
    // Interim statuses are rejected because the client would take the next response for the response to this request;
    // there is no status line above 599.
    log_invalid_response(status_number);
    result = refuse(Status::InternalServerError, {});
  }
  if (options.request_ids) result->header("X-Request-Id", request_.id());
  if (!worker_.strict_transport().empty() && !result->field("Strict-Transport-Security")) [[unlikely]]
    result->header("Strict-Transport-Security", worker_.strict_transport());
  if (result->status() == Status::ResetContent) [[unlikely]]
    result->drop_content();
  if (options.server_timing && is_measured()) {
    Buffer timing;
    write_server_timing(timing, *clock());
    if (!timing.empty()) result->header("Server-Timing", timing.view());
  }
}

inline void Exchange::record(Status status, std::size_t body_bytes, bool has_waited) {
  const std::uint32_t route = match().index;
  const Instant now = worker_.loop().precise_now();
  if (has_waited) [[unlikely]] {
    worker_.queue_delay().went_on(route, now);
  } else {
    worker_.queue_delay().worked(route, now);
  }
  worker_.records().responded(request_, route, status, body_bytes, now);
}

}  // namespace keel::http
