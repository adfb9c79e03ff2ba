// keel/http/server/internal/kept_call.h — keeps a function and its arguments for a task that outlives its handler.
//
// Internal to http: Response::stream() and Response::upgrade() make kept calls. When the task begins, the handler has
// returned, so objects that a lambda has captured by reference may no longer exist; and the compiler cannot tell how a
// lambda captures. Therefore only a function, or a lambda without captures, is accepted. The function's arguments are
// passed after the function and kept by value, as for std::thread; std::ref keeps a reference to an object that lives
// elsewhere. Arguments whose types show that they may refer to the request are rejected: the Request itself, views and
// spans. A parameter that is a reference is bound to the kept argument, never to a temporary made from this argument.
//
// Threads: a value.
// Cost:    one move of each argument.

#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/function.h"
#include "keel/task/task.h"

namespace keel::http {

class Request;
class RequestHead;

namespace internal {

// Satisfied by std::reference_wrapper, which std::ref returns.
template <class T>
concept Reference = requires(const T& t) {
  typename T::type;
  { t.get() } -> std::same_as<typename T::type&>;
};

// True for the request, and for views, which do not own the bytes that they refer to.
template <class T>
inline constexpr bool is_borrowed =
    std::ranges::enable_borrowed_range<T> || std::is_same_v<T, Request> || std::is_same_v<T, RequestHead> ||
    std::is_convertible_v<T, const Request*> || std::is_convertible_v<T, const RequestHead*>;
template <class T>
inline constexpr bool is_borrowed<std::optional<T>> = is_borrowed<T>;
template <Reference T>
inline constexpr bool is_borrowed<T> = is_borrowed<std::remove_cv_t<typename T::type>>;

template <class T, class Kept>
inline constexpr bool is_same_or_base =
    std::is_same_v<std::remove_cvref_t<T>, Kept> || std::is_base_of_v<std::remove_cvref_t<T>, Kept>;
// Whether a kept argument can be passed to a parameter such that the parameter is valid during the whole call.
template <class Kept, class Parameter>
inline constexpr bool binds =
    std::is_convertible_v<Kept, Parameter> && (!std::is_reference_v<Parameter> || is_same_or_base<Parameter, Kept>);
template <Reference Kept, class Parameter>
  requires std::is_reference_v<Parameter>
inline constexpr bool binds<Kept, Parameter> = std::is_convertible_v<typename Kept::type&, Parameter> &&
                                               is_same_or_base<Parameter, std::remove_cv_t<typename Kept::type>>;

template <class...>
struct Types {};
template <class... Kept, class... Parameters>
consteval bool all_bind(Types<Kept...>, Types<Parameters...>) {
  if constexpr (sizeof...(Kept) == sizeof...(Parameters)) {
    return (binds<Kept, Parameters> && ...);
  } else {
    return false;
  }
}

// Whether a function of type `Call` can be called with a First and the kept arguments.
template <class First, class Call, class Kept>
inline constexpr bool takes = false;
template <class First, class... Parameters, class... Kept>
inline constexpr bool takes<First, Task<> (*)(First, Parameters...), Types<Kept...>> =
    all_bind(Types<Kept...>(), Types<Parameters...>());
template <class First, class C, class... Parameters, class... Kept>
inline constexpr bool takes<First, Task<> (C::*)(First, Parameters...), Types<Kept...>> =
    all_bind(Types<Kept...>(), Types<Parameters...>());
template <class First, class C, class... Parameters, class... Kept>
inline constexpr bool takes<First, Task<> (C::*)(First, Parameters...) const, Types<Kept...>> =
    all_bind(Types<Kept...>(), Types<Parameters...>());

// A function, or a lambda without captures: unary + turns both into a pointer to a function.
template <class F>
concept CapturesNothing = requires(const F& f) {
  { +f };
  requires std::is_function_v<std::remove_pointer_t<decltype(+f)>>;
};

template <class First, class Call, class... Args>
consteval bool check_call() {
  static_assert(
      !(is_borrowed<std::decay_t<Args>> || ...),
      "an argument that is kept must not refer to the request, which no longer exists when the function runs: copy it, "
      "as in std::string(request.path()), and read the request's body with BodyWriter::read_body()");
  constexpr bool fits = (is_borrowed<std::decay_t<Args>> || ...) || takes<First, Call, Types<std::decay_t<Args>...>>;
  static_assert(
      fits,
      "a function that continues after its handler must take http::BodyWriter& to write a body, http::EventWriter& to "
      "send events, or a Stream by value to continue with a connection; it must take the kept arguments by value, by "
      "const reference, or as the object that std::ref refers to, and return Task<>");
  return fits && !(is_borrowed<std::decay_t<Args>> || ...);
}

// Makes a function that calls `call` with a First and with the kept `args`.
template <class First, class F, class... Args>
Function<Task<>(First)> keep_call(F call, Args&&... args) {
  static_assert(
      CapturesNothing<F>,
      "a function that continues after its handler must be a plain function, or a lambda without captures, because "
      "captures may no longer exist by then: pass its data as further arguments, which are kept, as in "
      "Response::stream(status, type, &write_rows, std::ref(table))");
  if constexpr (CapturesNothing<F>) {
    if constexpr (check_call<First, decltype(+call), Args...>()) {
      return [call = +call, ... kept = std::decay_t<Args>(std::forward<Args>(args))](First first) mutable {
        return call(std::forward<First>(first), std::move(kept)...);
      };
    }
  }
  return {};
}
// Makes a function that calls a member function of `object` with a First and with the kept `args`; `object` must
// outlive the task.
template <class First, class O, class Call, class... Args>
Function<Task<>(First)> keep_member_call(O& object, Call call, Args&&... args) {
  if constexpr (check_call<First, Call, Args...>()) {
    return [&object, call, ... kept = std::decay_t<Args>(std::forward<Args>(args))](First first) mutable {
      return (object.*call)(std::forward<First>(first), std::move(kept)...);
    };
  }
  return {};
}

}  // namespace internal
}  // namespace keel::http
