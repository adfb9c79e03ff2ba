// keel/http/router.h — which handler answers which request.
//
//   router.get("/users/{id}", users, &Users::find).post("/users", users, &Users::create);
//   router.use(require_token);                     // middleware, in the order written, for routes added after it
//
// A handler is a function or a member function that takes Request& and returns
//   Response or Result<Response>   answered at once, on the worker, parsed in place; or
//   Task<Response>                 may suspend. A lambda that captures and returns a Task does not compile: what it
//                                  captured would be gone after the first suspension.
// GET also answers HEAD. OPTIONS is answered with Allow. A path that is known under other methods gives 405 with Allow;
// an unknown path 404; a method nobody knows 501. Static segments win over parameters.
//
// A route may differ from the server's limits: router.post("/uploads", take, {.body_bytes_max = 1u << 30}).
//
// Lifetime: handler objects outlive the router; the router outlives the servers that use it, and does not change then.
// Threads:  routes are added before serving; matching is const and may run on every worker.
// Errors:   a pattern that is malformed or already taken for that method is a bug and aborts with a sentence.
// Cost:     O(path), whatever the number of routes.

#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "keel/base/function.h"
#include "keel/http/request.h"
#include "keel/http/response.h"
#include "keel/http/route_options.h"
#include "keel/task/task.h"

namespace keel::http {

namespace internal {
template <class F>
concept AnswersAtOnce =
    std::is_invocable_v<F&, Request&> && (std::same_as<std::invoke_result_t<F&, Request&>, Response> ||
                                          std::same_as<std::invoke_result_t<F&, Request&>, Result<Response>>);
template <class F>
concept AnswersLater =
    std::is_invocable_v<F&, Request&> && std::same_as<std::invoke_result_t<F&, Request&>, Task<Response>>;
}  // namespace internal

class Next;
using Middleware = Function<Task<Response>(Request&, Next)>;

// How one method of one route is answered. One of the two is set.
struct Handler {
  Function<Result<Response>(Request&)> at_once;
  Function<Task<Response>(Request&)> later;
};

// The rest of the chain behind a middleware: `co_return co_await next(request);`
class Next {
 public:
  Task<Response> operator()(Request& request) const;

 private:
  friend class Router;
  Next(const Middleware* const* at, const Middleware* const* end, const Handler& handler) noexcept
      : at_(at), end_(end), handler_(&handler) {}
  static Task<Response> answer_at_once(Request& request, const Handler& handler);
  const Middleware* const* at_;
  const Middleware* const* end_;
  const Handler* handler_;
};

class Router {
 public:
  Router();
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  template <class F>
  Router& get(std::string_view pattern, F handler, const RouteOptions& options = {}) {
    return add(Method::Get, pattern, wrap(std::move(handler)), options);
  }
  template <class C, class R>
  Router& get(std::string_view pattern, C& object, R (C::*handler)(Request&), const RouteOptions& options = {}) {
    return add(Method::Get, pattern, wrap(object, handler), options);
  }
  template <class F>
  Router& post(std::string_view pattern, F handler, const RouteOptions& options = {}) {
    return add(Method::Post, pattern, wrap(std::move(handler)), options);
  }
  template <class C, class R>
  Router& post(std::string_view pattern, C& object, R (C::*handler)(Request&), const RouteOptions& options = {}) {
    return add(Method::Post, pattern, wrap(object, handler), options);
  }
  template <class F>
  Router& put(std::string_view pattern, F handler, const RouteOptions& options = {}) {
    return add(Method::Put, pattern, wrap(std::move(handler)), options);
  }
  template <class C, class R>
  Router& put(std::string_view pattern, C& object, R (C::*handler)(Request&), const RouteOptions& options = {}) {
    return add(Method::Put, pattern, wrap(object, handler), options);
  }
  template <class F>
  Router& patch(std::string_view pattern, F handler, const RouteOptions& options = {}) {
    return add(Method::Patch, pattern, wrap(std::move(handler)), options);
  }
  template <class C, class R>
  Router& patch(std::string_view pattern, C& object, R (C::*handler)(Request&), const RouteOptions& options = {}) {
    return add(Method::Patch, pattern, wrap(object, handler), options);
  }
  template <class F>
  Router& del(std::string_view pattern, F handler, const RouteOptions& options = {}) {
    return add(Method::Delete, pattern, wrap(std::move(handler)), options);
  }
  template <class C, class R>
  Router& del(std::string_view pattern, C& object, R (C::*handler)(Request&), const RouteOptions& options = {}) {
    return add(Method::Delete, pattern, wrap(object, handler), options);
  }
  // The form behind the ones above.
  Router& add(Method method, std::string_view pattern, Handler handler, const RouteOptions& options = {});

  // Puts a middleware around the routes that are added from now on.
  Router& use(Task<Response> (*middleware)(Request&, Next));
  template <class C>
  Router& use(C& object) {  // Calls object(request, next); `object` outlives the router.
    return use_any([&object](Request& request, Next next) { return object(request, next); });
  }

  // What answers `request`; sets its route and parameters. Never null: what nobody answers has handlers of its own.
  // `index` is the route's number, for metrics; routes().size() is that of the unmatched.
  struct Match {
    const Handler* handler;
    const RouteOptions* options;  // The route's; never null: unmatched, all as the server has it.
    std::uint32_t index;
    bool is_route;  // False: one of the router's own answers (404, 405, 501, OPTIONS), which are given at once.
  };
  Match match(Request& request) const noexcept;

  struct RouteName {
    Method method;
    std::string_view pattern;
  };
  // Every route in the order of its index. Views live as long as the router.
  std::vector<RouteName> routes() const;

 private:
  struct Route;
  struct Path;
  template <class F>
  static Handler wrap(F handler) {
    static_assert(internal::AnswersAtOnce<F> || internal::AnswersLater<F>,
                  "a handler takes http::Request& and returns Response, Result<Response> or Task<Response>");
    Handler made;
    if constexpr (internal::AnswersLater<F>) {
      static_assert(std::is_convertible_v<F, Task<Response> (*)(Request&)>,
                    "a handler that returns a Task is a function or a member function: what a lambda captures is gone "
                    "after the first suspension");
      made.later = static_cast<Task<Response> (*)(Request&)>(handler);
    } else {
      made.at_once = [handler = std::move(handler)](Request& request) mutable -> Result<Response> {
        return handler(request);
      };
    }
    return made;
  }
  template <class C, class R>
  static Handler wrap(C& object, R (C::*handler)(Request&)) {
    static_assert(std::same_as<R, Response> || std::same_as<R, Result<Response>> || std::same_as<R, Task<Response>>,
                  "a handler takes http::Request& and returns Response, Result<Response> or Task<Response>");
    Handler made;
    if constexpr (std::same_as<R, Task<Response>>) {
      made.later = [&object, handler](Request& request) { return (object.*handler)(request); };
    } else {
      made.at_once = [&object, handler](Request& request) -> Result<Response> { return (object.*handler)(request); };
    }
    return made;
  }
  Router& use_any(Middleware middleware);
  Result<Response> options(Request& request) const;
  Result<Response> not_allowed(Request& request) const;

  PathTree tree_;
  std::vector<Path*> paths_;    // By the tree's id.
  std::vector<Route*> routes_;  // By index.
  std::vector<Middleware*> middleware_;
  Handler not_found_;
  Handler options_;
  Handler not_allowed_;
  Handler not_implemented_;
};

}  // namespace keel::http
