#include "keel/http/server/middleware.h"

#include <utility>

#include "keel/http/server/internal/body_collector.h"
#include "keel/http/server/problem.h"
#include "keel/task/frame.h"
#include "keel/task/timing.h"

namespace keel::http {
namespace {

Task<Response> respond_synchronously(Request& request, const Handler* handler) { co_return handler->at_once(request); }

}  // namespace

Task<Response> Next::respond_with(Response response) { co_return std::move(response); }

// The time limit of the handler begins here, when the body is complete.
Task<Response> Next::respond_with_body(Request& request, const Handler* handler) {
  const Duration timeout = request.collector_->handler_timeout();
  co_await request.whole_body();
  request.is_before_body_ = false;
  if (!handler->later) co_return handler->at_once(request);
  co_return co_await with_timeout(timeout, handler->later(request));
}

Task<Response> Next::operator()(Request& request) const {
  request.is_before_body_ = at_ != end_;
  if (at_ == end_) {
    if (request.collector_ != nullptr) return respond_with_body(request, handler_);
    if (handler_->later) return handler_->later(request);
    return respond_synchronously(request, handler_);
  }
  const Middleware& link = **at_;
  const Next rest(at_ + 1, end_, *handler_);
  if (link.function_ != nullptr) return link.function_(request, rest);
  if (link.around_ != nullptr) return link.around_(link.object_, request, rest);
  if (link.after_ != nullptr) return Middleware::stand_around(&link, request, rest);
  if (auto early = link.before_(link.object_, request)) return respond_with(*std::move(early));
  return rest(request);
}

// Runs a middleware of the first form that is inside a middleware of the second form.
Task<Response> Middleware::stand_around(const Middleware* self, Request& request, Next next) {
  if (self->before_ != nullptr) {
    if (auto early = self->before_(self->object_, request)) co_return *std::move(early);
  }
  Result<Response> result = co_await attempt(next(request));
  Response response = result ? *std::move(result) : problem(request, result.error());
  request.is_before_body_ = false;
  self->after_(self->object_, request, response);
  co_return std::move(response);
}

std::optional<Response> Middleware::before(Request& request) {
  RouteMatch& match = request.match_;
  std::optional<Response> early;
  request.is_before_body_ = true;
  for (; match.passed < match.link_count; ++match.passed) {
    const Middleware& link = *match.links[match.passed];
    if (link.before_ == nullptr) continue;
    if ((early = link.before_(link.object_, request))) break;
  }
  request.is_before_body_ = false;
  return early;
}

void Middleware::after(Request& request, Response& response) {
  const RouteMatch& match = request.match_;
  if (match.passed == 0) return;
  request.is_before_body_ = false;
  // A task that the handler wakes must not run now: the task could continue with the next request of its connection
  // while this request is running.
  const Trampoline::Deferring deferring;
  for (std::uint32_t left = match.passed; left > 0;) {
    const Middleware& link = *match.links[--left];
    if (link.after_ == nullptr) continue;
    try {
      link.after_(link.object_, request, response);
    } catch (...) {
      response = problem(request, Error::from_exception());
    }
  }
}

}  // namespace keel::http
