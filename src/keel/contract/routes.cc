#include "keel/contract/routes.h"

#include "keel/base/arena.h"

namespace keel::contract {
namespace {

// What an operation is asked with, in the request's arena.
class Asked {
 public:
  Asked(const internal::Operation& operation, Arena& arena)
      : operation_(operation), at_(arena.allocate(operation.size, operation.alignment)) {
    operation_.make(at_);
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() { operation_.end(at_); }
  void* get() const noexcept { return at_; }

 private:
  const internal::Operation& operation_;
  void* at_;
};

Task<http::Response> serve_any(void* handler, const internal::Operation& operation, http::Request& http) {
  const Asked asked(operation, http.arena());
  if (operation.read != nullptr) co_await operation.read(http, asked.get());
  keel::internal::AnyTask task = operation.call(handler, http, asked.get());
  co_await task;
  co_return operation.take(task.promise());
}

}  // namespace

void Routes::add_operation(http::Method method, std::string_view pattern, void* handler,
                           const internal::Operation& operation, const http::RouteOptions& options) const {
  http::Handler made;
  made.later = [handler, &operation](http::Request& request) { return serve_any(handler, operation, request); };
  http::RouteOptions limited = options;
  if (options.streams_body && streamed_bytes_max_) limited.body_bytes_max = streamed_bytes_max_;
  http::Group(group_).add(method, pattern, std::move(made), limited);
}

}  // namespace keel::contract
