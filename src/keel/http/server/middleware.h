// keel/http/server/middleware.h — code that runs around the handlers of many routes.
//
// Two forms. Middleware of the first form is called synchronously, with the request before the handler and with the
// response after the handler:
//
//   struct RequireKey {
//     std::optional<http::Response> before(http::Request& request);          // a response here is the response
//     void after(http::Request& request, http::Response& response);          // may add fields, replace the body
//   };
//   RequireKey require_key;  router.use(require_key);                        // it outlives the router
//   router.use(http::SecurityHeaders());                                     // or the router keeps it
//
// A middleware of the first form may have only one of before() and after(). The first form needs no coroutine: a
// synchronous handler stays synchronous. after() runs for each middleware whose before() let the request pass, in
// reverse order, whatever the response is: a handler's error, its exception and an exceeded deadline have already
// become problem documents (problem.h). If the task of a streamed body fails before the head was sent, after() runs
// again, on the problem document that replaces the response, unless the handler is synchronous and a value was kept
// with Request::set(): that value no longer exists.
//
// Middleware of the second form wraps the rest of the chain, and may await:
//
//   Task<http::Response> timed(http::Request& request, http::Next next) {
//     co_return co_await next(request);                                      // ends with the error of what it awaits
//   }
//   router.use(timed);                                                       // or an object with such an operator()
//
// Middleware of the second form needs a task for each request of its routes. A middleware that returns a Task must be a
// function, a named object that outlives the router, or an object that the router keeps and whose class has a member
// type KeptAround; a lambda with captures does not compile. `next` must be taken by value; a reference to it would
// dangle after the first suspension, and does not compile.
//
// Middleware of both forms runs in the order in which it was added; the first one added is outermost.
// docs/middleware.md has examples.
//
// Middleware runs when the head of a request has arrived, before the body is received. If middleware rejects the
// request, the body is not received, and a client that sent Expect: 100-continue gets no 100. Only the handler may call
// Request::body(); a call in middleware is a Bug. A middleware of the second form can wait for the whole body:
//
//   Task<http::Response> signed_only(http::Request& request, http::Next next) {
//     const std::string_view body = co_await request.whole_body();
//     if (!is_signed(body, request.header("X-Signature"))) co_return http::Response(http::Status::Unauthorized);
//     co_return co_await next(request);
//   }
//
// After a rejection, the connection continues if the rest of the body is at most 256 KiB and arrives within
// Limits::body_timeout: this rest is dropped. If the rest of the body is larger than 256 KiB, or if the client has not
// begun to send the body, the connection ends. The handler's time limit (request_timeout) begins when the body is
// complete; middleware of the second form has request_timeout plus body_timeout.
//
// Two kinds of responses do not pass through middleware: the response to a message that is rejected before a route is
// chosen (400, 408, 413, 414, 417, 431, 501, 505), and the 503 of a worker that is overloaded or has no memory for
// bodies. The router's own responses (404, 405, 406, 415, 501, OPTIONS) pass only through middleware of the first form;
// router.h says through which.
//
// Threads:  all workers call the same object concurrently.
// Cost:     an indirect call for each before() and after(); a task for each middleware of the second form; and a task
//           for each request whose body has not arrived together with its head.

#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "keel/http/server/handler.h"

namespace keel::http {

class Middleware;

// The rest of the chain after a middleware, ending with the handler: `co_return co_await next(request);`
class Next {
 public:
  Task<Response> operator()(Request& request) const;

 private:
  friend class Exchange;
  friend class Router;
  static Task<Response> respond_with_body(Request& request, const Handler* handler);
  Next(const Middleware* const* at, const Middleware* const* end, const Handler& handler) noexcept
      : at_(at), end_(end), handler_(&handler) {}
  static Task<Response> respond_with(Response response);
  const Middleware* const* at_;
  const Middleware* const* end_;
  const Handler* handler_;
};

namespace internal {
template <class C>
concept ActsBefore = requires(C& object, Request& request) {
  { object.before(request) } -> std::same_as<std::optional<Response>>;
};
template <class C>
concept ActsAfter = requires(C& object, Request& request, Response& response) {
  { object.after(request, response) } -> std::same_as<void>;
};
// Requires exactly these signatures, because an operator() that takes Next by reference could be called as well, but
// the reference would dangle.
template <class C>
concept ActsAround = requires { static_cast<Task<Response> (C::*)(Request&, Next)>(&C::operator()); } ||
                     requires { static_cast<Task<Response> (C::*)(Request&, Next) const>(&C::operator()); };
// An unnamed object of a class with the member type KeptAround can be kept safely, because its members are its own
// state and not the captures of a coroutine.
template <class C>
concept IsKeptAround = ActsAround<C> && requires { typename C::KeptAround; };
template <class F>
concept IsAround = std::is_convertible_v<F, Task<Response> (*)(Request&, Next)>;
}  // namespace internal

// One link of a chain; its type is erased. Created by routers.
class Middleware {
 public:
  using Function = Task<Response> (*)(Request&, Next);

  // Makes a Middleware from a function, from a named object, which must outlive the Middleware, or from an unnamed
  // object, which is kept.
  template <class M>
  static Middleware* make(M&& middleware) {
    using C = std::remove_cvref_t<M>;
    constexpr bool is_kept = !std::is_lvalue_reference_v<M>;
    if constexpr (internal::IsAround<C>) {
      auto* made = new Middleware;
      made->function_ = middleware;
      return made;
    } else {
      constexpr bool is_hook = internal::ActsBefore<C> || internal::ActsAfter<C>;
      constexpr bool is_around = internal::ActsAround<C>;
      static_assert(is_hook || is_around,
                    "a middleware must have one of these: before(http::Request&), returning "
                    "std::optional<http::Response>; after(http::Request&, http::Response&); or a call operator "
                    "(http::Request&, http::Next), taking Next by value and returning Task<http::Response>");
      static_assert(is_hook || !is_kept || internal::IsKeptAround<C>,
                    "a middleware that returns a Task must be a function, or a named object that outlives the router, "
                    "because the captures of a lambda are gone after the first suspension");
      auto* made = new Middleware;
      if constexpr (is_kept) {
        made->object_ = new C(std::move(middleware));
        made->destroy_ = [](void* object) { delete static_cast<C*>(object); };
      } else {
        made->object_ = const_cast<void*>(static_cast<const void*>(&middleware));
      }
      using Object = std::remove_reference_t<M>;
      if constexpr (internal::ActsBefore<C>) {
        made->before_ = [](void* object, Request& request) { return static_cast<Object*>(object)->before(request); };
      }
      if constexpr (internal::ActsAfter<C>) {
        made->after_ = [](void* object, Request& request, Response& response) {
          static_cast<Object*>(object)->after(request, response);
        };
      }
      if constexpr (!is_hook && is_around && (!is_kept || internal::IsKeptAround<C>)) {
        made->around_ = [](void* object, Request& request, Next next) {
          return (*static_cast<Object*>(object))(request, next);
        };
      }
      return made;
    }
  }
  ~Middleware() {
    if (destroy_ != nullptr) destroy_(object_);
  }
  Middleware(const Middleware&) = delete;
  Middleware& operator=(const Middleware&) = delete;

  // Whether the middleware has the first form.
  bool acts_at_once() const noexcept { return function_ == nullptr && around_ == nullptr; }

  // Runs before() of the middleware in front of the request's handler (RouteMatch::links), and returns the first
  // response that one of these calls returns. Servers call this function once for each request, before the handler.
  static std::optional<Response> before(Request& request);
  // Runs after() of each middleware whose before() let the request pass. If after() throws, the response becomes a
  // problem document; if there is no memory for the document, std::bad_alloc is thrown. Servers call this function for
  // each response that they make.
  static void after(Request& request, Response& response);

 private:
  friend class Next;
  Middleware() = default;
  static Task<Response> stand_around(const Middleware* self, Request& request, Next next);

  Function function_ = nullptr;
  void* object_ = nullptr;
  void (*destroy_)(void*) = nullptr;
  Task<Response> (*around_)(void*, Request&, Next) = nullptr;
  std::optional<Response> (*before_)(void*, Request&) = nullptr;
  void (*after_)(void*, Request&, Response&) = nullptr;
};

}  // namespace keel::http
