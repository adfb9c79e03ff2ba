#include "keel/http/server/middleware.h"

#include <utility>

#include "keel/http/server/problem.h"
#include "keel/task/frame.h"

namespace keel::http {
namespace {

Task<Response> answer_at_once(Request& request, const Handler* handler) { co_return handler->at_once(request); }

}  // namespace

Task<Response> Next::answer_with(Response response) { co_return std::move(response); }

Task<Response> Next::operator()(Request& request) const {
  if (at_ == end_) {
    if (handler_->later) return handler_->later(request);
    return answer_at_once(request, handler_);
  }
  const Middleware& link = **at_;
  const Next rest(at_ + 1, end_, *handler_);
  if (link.function_ != nullptr) return link.function_(request, rest);
  if (link.around_ != nullptr) return link.around_(link.object_, request, rest);
  if (link.after_ != nullptr) return Middleware::stand_around(&link, request, rest);
  if (auto answer = link.before_(link.object_, request)) return answer_with(*std::move(answer));
  return rest(request);
}

// The first form behind one of the second.
Task<Response> Middleware::stand_around(const Middleware* self, Request& request, Next next) {
  if (self->before_ != nullptr) {
    if (auto answer = self->before_(self->object_, request)) co_return *std::move(answer);
  }
  Result<Response> result = co_await attempt(next(request));
  Response response = result ? *std::move(result) : problem(request, result.error());
  self->after_(self->object_, request, response);
  co_return std::move(response);
}

std::optional<Response> Middleware::before(Request& request, const Middleware* const* links, std::size_t count) {
  request.links_ = links;
  for (request.passed_ = 0; request.passed_ < count; ++request.passed_) {
    const Middleware& link = *links[request.passed_];
    if (link.before_ == nullptr) continue;
    if (auto answer = link.before_(link.object_, request)) return answer;
  }
  return std::nullopt;
}

void Middleware::after(Request& request, Response& response) {
  if (request.passed_ == 0) return;
  // A task that one wakes may go on with its connection's next request, where this one is.
  const Trampoline::Deferring deferring;
  // Counted down first: one that fails does not run again.
  while (request.passed_ > 0) {
    const Middleware& link = *request.links_[--request.passed_];
    if (link.after_ == nullptr) continue;
    try {
      link.after_(link.object_, request, response);
    } catch (...) {
      response = problem(request, Error::from_exception());
    }
  }
}

}  // namespace keel::http
