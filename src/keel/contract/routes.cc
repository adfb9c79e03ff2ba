#include "keel/contract/routes.h"

#include "keel/base/arena.h"
#include "keel/base/check.h"
#include "keel/contract/files.h"
#include "keel/contract/input.h"
#include "keel/contract/response.h"
#include "keel/contract/security.h"
#include "keel/http/server/handler.h"

namespace keel::contract {
namespace {

// Creates the request struct of an operation in the request's arena.
class Room {
 public:
  Room(const internal::Call& call, Arena& arena) : call_(call), at_(arena.allocate(call.size, call.alignment)) {
    call_.make(at_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() {
    if (call_.end != nullptr) call_.end(at_);
  }
  void* get() const noexcept { return at_; }

 private:
  const internal::Call& call_;
  void* at_;
};

Task<http::Response> serve_any(void* handler, const Route& operation, http::Request& http) {
  const internal::Call& call = *operation.call;
  const Room room(call, http.arena());
  if (operation.asked != nullptr) co_await receive(http, *operation.asked, room.get());
  keel::internal::AnyTask task = call.call(handler, http, room.get(), nullptr);
  co_await task;
  co_return std::move(call.response(task.promise())).response();
}

// Serves an operation that reads the files of a form as they arrive.
Task<http::Response> serve_form(void* handler, const Route& operation, http::Request& http) {
  const internal::Call& call = *operation.call;
  const Room room(call, http.arena());
  co_await receive(http, *operation.asked, room.get());
  FormReader files(http, *operation.asked->form);
  co_await files.begin(room.get());
  keel::internal::AnyTask task = call.call(handler, http, room.get(), &files);
  co_await task;
  co_return std::move(call.response(task.promise())).response();
}

}  // namespace

void Routes::add_operation(const Route& operation, void* handler) const {
  http::Handler made;
  if (operation.asked != nullptr && operation.asked->form != nullptr) {
    made.later = [handler, &operation](http::Request& request) { return serve_form(handler, operation, request); };
  } else {
    made.later = [handler, &operation](http::Request& request) { return serve_any(handler, operation, request); };
  }
  http::RouteOptions options = {.streams_body = operation.streams_body,
                                .consumes = {operation.consumes.begin(), operation.consumes.end()},
                                .produces = {operation.produces.begin(), operation.produces.end()}};
  if (options.streams_body && streamed_bytes_max_) options.body_bytes_max = streamed_bytes_max_;
  http::Group(group_).add(operation.method, operation.pattern, std::move(made), options);
}

void Routes::serve(std::span<const Route* const> operations, void* handler) const {
  for (const Route* const operation : operations) {
    KEEL_CHECK(operation->security.empty(), "an operation that requires authentication is served without verifiers");
    add_operation(*operation, handler);
  }
}
void Routes::serve(std::span<const Route* const> operations, void* handler, std::span<const Scheme> schemes,
                   Verifiers& verifiers) const {
  for (const Route* const operation : operations) {
    if (operation->security.empty()) {
      add_operation(*operation, handler);
    } else {
      with(Authorization(schemes, operation->security, verifiers)).add_operation(*operation, handler);
    }
  }
}

}  // namespace keel::contract
