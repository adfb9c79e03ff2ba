// keel/contract/routes.h — for generated code: registers the routes of a contract.
//
//   constexpr keel::contract::Route get_product = {
//       .method = keel::http::Method::Get,
//       .pattern = "/products/{id}",
//       .call = keel::contract::call_of<&ProductsHandler::get_product>,
//       .asked = &get_product_asked,                 // input.h
//       .produces = keel::contract::json_only,
//   };
//   routes.serve(operations, &handler);              // a list of pointers to such constants
//
// Errors:   a pattern that is malformed or already exists is a bug and aborts, as in http::Router::add().
// Lifetime: a value that contains a view of the router.
// Threads:  a single thread, before the server starts, as for the router.
// Cost:     a request runs two tasks: the task of its operation, and a task that awaits the task of the operation. The
//           arguments are allocated in the request's arena.

#pragma once

#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/contract/scheme.h"
#include "keel/http/server/router.h"
#include "keel/task/task.h"

namespace keel::contract {

class Response;
struct Asked;
class FormReader;
class Verifiers;

namespace internal {

// The functions for serving an operation that depend on its types; a coroutine in routes.cc does the rest of the work.
// The coroutine is the same for all operations, because one coroutine for each operation would take most of the compile
// time of a contract; the functions in this struct are small.
struct Call {
  std::size_t size;  // The size of the operation's request struct.
  std::size_t alignment;
  void (*make)(void* request);
  void (*end)(void* request) noexcept;  // Destroys the request struct; null if its destructor does nothing.
  keel::internal::AnyTask (*call)(void* handler, http::Request& http, const void* request, FormReader* files);
  Response& (*response)(PromiseCore& promise) noexcept;
};

template <auto operation>
struct CallOf;
template <class R, class H, class Q, Task<R> (H::*operation)(http::Request&, const Q&)>
struct CallOf<operation> {
  static void make(void* request) { ::new (request) Q(); }
  static void end(void* request) noexcept { static_cast<Q*>(request)->~Q(); }
  static keel::internal::AnyTask call(void* handler, http::Request& http, const void* request, FormReader*) {
    return keel::internal::AnyTask((static_cast<H*>(handler)->*operation)(http, *static_cast<const Q*>(request)));
  }
  static Response& response(PromiseCore& promise) noexcept { return static_cast<Promise<R>&>(promise).value(); }
  static constexpr Call table = {sizeof(Q), alignof(Q), &make, std::is_trivially_destructible_v<Q> ? nullptr : &end,
                                 &call,     &response};
};
// For a member function that takes the files of a form (files.h).
template <class R, class H, class Q, class F, Task<R> (H::*operation)(http::Request&, const Q&, F)>
struct CallOf<operation> {
  static keel::internal::AnyTask call(void* handler, http::Request& http, const void* request, FormReader* files) {
    return keel::internal::AnyTask(
        (static_cast<H*>(handler)->*operation)(http, *static_cast<const Q*>(request), F(*files)));
  }
  static Response& response(PromiseCore& promise) noexcept { return static_cast<Promise<R>&>(promise).value(); }
  static void make(void* request) { ::new (request) Q(); }
  static void end(void* request) noexcept { static_cast<Q*>(request)->~Q(); }
  static constexpr Call table = {sizeof(Q), alignof(Q), &make, std::is_trivially_destructible_v<Q> ? nullptr : &end,
                                 &call,     &response};
};

}  // namespace internal

// The table for a member function of a handler; the function has the type Task<GetProductResponse> (http::Request&,
// const GetProductRequest&), with AddPictureFiles as a third parameter if the operation reads the files of a form as
// they arrive.
template <auto operation>
inline constexpr const internal::Call* call_of = &internal::CallOf<operation>::table;

// The media types of most bodies.
inline constexpr std::string_view json_only[] = {"application/json"};

// An operation; the generated code contains it as a constant.
struct Route {
  http::Method method;
  std::string_view pattern;
  const internal::Call* call;  // The handler must have the type for which this table was made.
  // How the input of the operation is read (input.h); null if the operation takes nothing from the client.
  const Asked* asked = nullptr;
  bool streams_body = false;  // This and the next two members are as in http::RouteOptions.
  std::span<const std::string_view> consumes = {};
  std::span<const std::string_view> produces = {};
  std::span<const Alternative> security = {};  // Empty: no authentication is required.
};

class Routes {
 public:
  Routes(http::Router& router) : group_(router.group("")) {}
  Routes(const http::Group& group) : group_(group) {}
  // Returns routes that have this prefix.
  Routes below(std::string_view prefix) const {
    Routes routes(*this);
    routes.group_ = routes.group_.group(prefix);
    return routes;
  }
  // Returns the same routes, but with this limit for bodies that handlers read themselves; with nullopt, the server's
  // limit applies.
  Routes streaming(std::optional<std::size_t> bytes_max) const {
    Routes routes(*this);
    routes.streamed_bytes_max_ = bytes_max;
    return routes;
  }

  // Adds operations that `handler` serves; the handler must outlive the router.
  void serve(std::span<const Route* const> operations, void* handler) const;
  // Adds operations, some of which require credentials; `verifiers` checks the credentials (security.h).
  void serve(std::span<const Route* const> operations, void* handler, std::span<const Scheme> schemes,
             Verifiers& verifiers) const;
  // Returns the same routes, but with this middleware around the operations that are added through the result.
  template <class M>
  Routes with(M middleware) const {
    Routes routes(*this);
    routes.group_ = routes.group_.group("");
    routes.group_.use(std::move(middleware));
    return routes;
  }
  const http::Group& group() const noexcept { return group_; }

 private:
  void add_operation(const Route& operation, void* handler) const;

  http::Group group_;
  std::optional<std::size_t> streamed_bytes_max_;
};

}  // namespace keel::contract
