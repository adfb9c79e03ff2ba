// keel/http/server/handler.h — handlers: the functions that respond to requests.
//
// A handler is a function, a lambda or a member function that takes Request& or const Request& and returns
//   Response or Result<Response>   responds synchronously, on the worker, parsed in place; or
//   Task<Response>                 may suspend. A lambda that captures and returns a Task does not compile: what it
//                                  captured would be gone after the first suspension.
// A handler cannot copy a Request or take it by value, because everything in it is valid only until the response has
// been made. To use a text of the Request later, a handler copies the text.
//
// Lifetime: an object whose member function is a handler must outlive the router.
// Threads:  every worker calls the same handler; the handler has to protect data that it shares between requests.

#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "keel/base/function.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/task/task.h"

namespace keel::http {

// Exactly one of the two functions is set.
struct Handler {
  Function<Result<Response>(Request&)> at_once;
  Function<Task<Response>(Request&)> later;
};

namespace internal {

template <class R>
concept HandlerResult = std::same_as<R, Response> || std::same_as<R, Result<Response>>;
template <class F>
concept RespondsSynchronously = std::is_invocable_v<F&, Request&> && HandlerResult<std::invoke_result_t<F&, Request&>>;
template <class F>
concept RespondsLater =
    std::is_invocable_v<F&, Request&> && std::same_as<std::invoke_result_t<F&, Request&>, Task<Response>>;

// Converts to the result of `call`; the result is constructed in place, so that it need not be moved.
template <class F>
struct Made {
  F& call;
  operator std::invoke_result_t<F&>() const { return call(); }
};
template <class F>
Result<Response> response_of(F call) {
  if constexpr (std::same_as<std::invoke_result_t<F&>, Response>) {
    return Result<Response>(std::in_place, Made<F>{call});
  } else {
    return call();
  }
}

template <class M>
concept MemberFunction = std::is_member_function_pointer_v<M>;
template <class R>
inline constexpr bool is_result_type = HandlerResult<R> || std::same_as<R, Task<Response>>;

template <class F>
Handler make_handler(F handler) {
  static_assert(RespondsSynchronously<F> || RespondsLater<F>,
                "a handler must take http::Request& and return Response, Result<Response> or Task<Response>");
  Handler made;
  if constexpr (RespondsLater<F>) {
    constexpr bool is_function = std::is_convertible_v<F, Task<Response> (*)(Request&)>;
    constexpr bool is_function_of_const = std::is_convertible_v<F, Task<Response> (*)(const Request&)>;
    static_assert(is_function || is_function_of_const,
                  "a handler that returns a Task must be a function or a member function, because the captures of a "
                  "lambda are gone after the first suspension");
    if constexpr (is_function) {
      made.later = static_cast<Task<Response> (*)(Request&)>(handler);
    } else if constexpr (is_function_of_const) {
      made.later = static_cast<Task<Response> (*)(const Request&)>(handler);
    }
  } else if constexpr (RespondsSynchronously<F>) {
    made.at_once = [handler = std::move(handler)](Request& request) mutable -> Result<Response> {
      return response_of([&] { return handler(request); });
    };
  }
  return made;
}
template <class C, class M>
Handler make_handler(C&& object, M handler) {
  static_assert(std::is_lvalue_reference_v<C>,
                "the object of a handler must be a named variable that outlives the router");
  Handler made;
  if constexpr (std::is_invocable_v<M, C, Request&>) {
    using R = std::invoke_result_t<M, C, Request&>;
    static_assert(is_result_type<R>,
                  "a handler must take http::Request& and return Response, Result<Response> or Task<Response>");
    if constexpr (std::same_as<R, Task<Response>>) {
      made.later = [&object, handler](Request& request) { return (object.*handler)(request); };
    } else if constexpr (HandlerResult<R>) {
      made.at_once = [&object, handler](Request& request) -> Result<Response> {
        return response_of([&] { return (object.*handler)(request); });
      };
    }
  } else {
    static_assert(std::is_invocable_v<M, C, Request&>,
                  "a handler must be a member function of its object, take http::Request& and return Response, "
                  "Result<Response> or Task<Response>");
  }
  return made;
}

}  // namespace internal
}  // namespace keel::http

// This specialization exists only for its error message.
template <class... A>
struct std::coroutine_traits<keel::http::Response, A...> {
  static_assert(sizeof...(A) > 1000, "a handler that awaits must return Task<http::Response>");
};
