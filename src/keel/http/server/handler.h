// keel/http/server/handler.h — what answers a request of one route.
//
// A handler is a function, a lambda or a member function that takes Request& and returns
//   Response or Result<Response>   answered at once, on the worker, parsed in place; or
//   Task<Response>                 may suspend. A lambda that captures and returns a Task does not compile: what it
//                                  captured would be gone after the first suspension.
// A Request cannot be copied or taken by value: everything in it ends with the answer. A handler keeps what it needs
// longer by copying the text.
//
// Lifetime: objects whose members are handlers outlive the router.
// Threads:  every worker calls the same handler; what it shares between requests is its own business.

#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "keel/base/function.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/task/task.h"

namespace keel::http {

// One of the two is set.
struct Handler {
  Function<Result<Response>(Request&)> at_once;
  Function<Task<Response>(Request&)> later;
};

namespace internal {

template <class R>
concept Answer = std::same_as<R, Response> || std::same_as<R, Result<Response>>;
template <class F>
concept AnswersAtOnce = std::is_invocable_v<F&, Request&> && Answer<std::invoke_result_t<F&, Request&>>;
template <class F>
concept AnswersLater =
    std::is_invocable_v<F&, Request&> && std::same_as<std::invoke_result_t<F&, Request&>, Task<Response>>;

// Converts to what the call gives, made where it is to be: no move.
template <class F>
struct Made {
  F& call;
  operator std::invoke_result_t<F&>() const { return call(); }
};
template <class F>
Result<Response> answer_of(F call) {
  if constexpr (std::same_as<std::invoke_result_t<F&>, Response>) {
    return Result<Response>(std::in_place, Made<F>{call});
  } else {
    return call();
  }
}

template <class F>
Handler make_handler(F handler) {
  static_assert(AnswersAtOnce<F> || AnswersLater<F>,
                "a handler takes http::Request& and returns Response, Result<Response> or Task<Response>");
  Handler made;
  if constexpr (AnswersLater<F>) {
    static_assert(std::is_convertible_v<F, Task<Response> (*)(Request&)>,
                  "a handler that returns a Task is a function or a member function: what a lambda captures is gone "
                  "after the first suspension");
    if constexpr (std::is_convertible_v<F, Task<Response> (*)(Request&)>) {
      made.later = static_cast<Task<Response> (*)(Request&)>(handler);
    }
  } else if constexpr (AnswersAtOnce<F>) {
    made.at_once = [handler = std::move(handler)](Request& request) mutable -> Result<Response> {
      return answer_of([&] { return handler(request); });
    };
  }
  return made;
}
template <class C, class R>
Handler make_handler(C& object, R (C::*handler)(Request&)) {
  static_assert(Answer<R> || std::same_as<R, Task<Response>>,
                "a handler takes http::Request& and returns Response, Result<Response> or Task<Response>");
  Handler made;
  if constexpr (std::same_as<R, Task<Response>>) {
    made.later = [&object, handler](Request& request) { return (object.*handler)(request); };
  } else {
    made.at_once = [&object, handler](Request& request) -> Result<Response> {
      return answer_of([&] { return (object.*handler)(request); });
    };
  }
  return made;
}

}  // namespace internal
}  // namespace keel::http
