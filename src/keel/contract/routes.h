// keel/contract/routes.h — where the routes of a contract go: for generated code.
//
//   void Products::add_routes(keel::contract::Routes routes);
//   products.add_routes(router);                     // or a group, "/v1"
//
// Errors:   those of http::Router::add(): a pattern that is malformed, or there already, is a bug and aborts.
// Lifetime: a value that views the router.
// Threads:  as the router: one, before the server starts.
// Cost:     of a request the task of its operation, and one around it; what it is asked with is in the request's arena.

#pragma once

#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "keel/base/result.h"
#include "keel/http/server/handler.h"
#include "keel/http/server/router.h"
#include "keel/task/task.h"

namespace keel::contract {
namespace internal {

// What the coroutine that serves an operation does by its types. The coroutine is the same for all: one for each would
// be most of what a contract takes to compile.
struct Operation {
  std::size_t size;  // Of what it is asked with.
  std::size_t alignment;
  void (*make)(void* request);
  void (*end)(void* request) noexcept;
  Result<> (*read)(http::Request& http, void* request);  // Or null.
  keel::internal::AnyTask (*call)(void* handler, http::Request& http, const void* request);
  http::Response (*take)(PromiseCore& promise);
};

template <auto operation, auto read>
struct OperationOf;
template <class R, class H, class Q, Task<R> (H::*operation)(http::Request&, const Q&), auto read>
struct OperationOf<operation, read> {
  using Handler = H;

  static void make(void* request) { ::new (request) Q(); }
  static void end(void* request) noexcept { static_cast<Q*>(request)->~Q(); }
  static Result<> fill(http::Request& http, void* request) { return read(http, *static_cast<Q*>(request)); }
  static keel::internal::AnyTask call(void* handler, http::Request& http, const void* request) {
    return keel::internal::AnyTask((static_cast<H*>(handler)->*operation)(http, *static_cast<const Q*>(request)));
  }
  static http::Response take(PromiseCore& promise) { return static_cast<Promise<R>&>(promise).take_value().response(); }
  static constexpr auto reader() {
    Result<> (*function)(http::Request&, void*) = nullptr;
    if constexpr (read != nullptr) function = &fill;
    return function;
  }
  static constexpr Operation table = {sizeof(Q), alignof(Q), &make, &end, reader(), &call, &take};
};

}  // namespace internal

class Routes {
 public:
  Routes(http::Router& router) : group_(router.group("")) {}
  Routes(const http::Group& group) : group_(group) {}
  // Those below it.
  Routes below(std::string_view prefix) const {
    Routes routes(*this);
    routes.group_ = routes.group_.group(prefix);
    return routes;
  }
  // The same routes, with this limit for the bodies that handlers read themselves; without one it is the server's.
  Routes streaming(std::optional<std::size_t> bytes_max) const {
    Routes routes(*this);
    routes.streamed_bytes_max_ = bytes_max;
    return routes;
  }

  // An operation of the handler, which outlives the router: `read` fills what it is asked with.
  template <auto operation, auto read = nullptr>
  void serve(http::Method method, std::string_view pattern,
             typename internal::OperationOf<operation, read>::Handler& handler,
             const http::RouteOptions& options = {}) const {
    add_operation(method, pattern, &handler, internal::OperationOf<operation, read>::table, options);
  }
  // The same routes, with this around those that are added.
  template <class M>
  Routes with(M middleware) const {
    Routes routes(*this);
    routes.group_ = routes.group_.group("");
    routes.group_.use(std::move(middleware));
    return routes;
  }
  const http::Group& group() const noexcept { return group_; }

 private:
  void add_operation(http::Method method, std::string_view pattern, void* handler, const internal::Operation& operation,
                     const http::RouteOptions& options) const;

  http::Group group_;
  std::optional<std::size_t> streamed_bytes_max_;
};

}  // namespace keel::contract
