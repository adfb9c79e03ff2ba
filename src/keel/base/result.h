// keel/base/result.h — a value or the Error that prevented it.
//
// Every function that can fail because of input or the environment returns Result. Result derives from std::expected
// (an alias would let GCC 12 drop a result silently) and is [[nodiscard]].
//
//   Result<Endpoint> parse_endpoint(std::string_view host, std::string_view port) {
//     KEEL_TRY(std::uint16_t number, parse_port(port));   // returns the error from here
//     return Endpoint{host, number};
//   }
//   const int port = parse_port(text).map_error(log_and_pass).value_or(8080);
//   KEEL_TRY(const int fd, or_errno("open", ::open(path, O_RDONLY | O_CLOEXEC)));
//   KEEL_TRY(auto document, try_catch([&] { return ThrowingParser(text).parse(); }));
//
// collect.h combines several Results.
//
// Errors:  value() of a failed Result and error() of a successful one throw a Bug (base/bug.h); *result and result->
//          are unchecked, as in std::expected.
// Verbs:   on a temporary or moved Result, map and and_then move its value and its error; on a named Result they pass a
//          reference to the value, and clone the error.
// Threads: a value.
// Cost:    no allocation; Result<int> is 16 bytes and moves without throwing: a move takes 6 instructions for a value
//          (a branch on the flag and a copy of one word) and 7 for an Error (which is left empty). A chain of inlined
//          verbs compiles to the same code as branches written by hand (result_code_test.cc).

#pragma once

#include <cerrno>
#include <expected>
#include <source_location>
#include <type_traits>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/error.h"

namespace keel {

template <class T = void>
class Result;

namespace internal {
template <class T>
struct ResultOf {
  using Type = Result<T>;
};
template <class T>
struct ResultOf<Result<T>> {
  using Type = Result<T>;
};
// The base of a Result<T>. This struct checks T before std::expected does, so that the compiler prints Keel's message
// and not that of std::expected.
template <class T>
struct Expected {
  static_assert(!std::is_reference_v<T>,
                "a Result holds a value, not a reference: use a pointer for an object that lives elsewhere");
  static_assert(!std::is_same_v<std::remove_cv_t<T>, Error>,
                "a Result<> already holds an Error when it fails: an Error cannot be its value");
  using Type = std::expected<std::remove_reference_t<T>, Error>;
};
}  // namespace internal

// Result<T>, or T itself when T is a Result.
template <class T>
using ResultOf = typename internal::ResultOf<std::remove_cvref_t<T>>::Type;
template <class T>
inline constexpr bool is_result = std::is_same_v<ResultOf<T>, std::remove_cvref_t<T>>;

template <class T>
class [[nodiscard(
    "an error must not be lost silently: handle the Result, or pass it on by KEEL_TRY_VOID or co_await")]] Result
    : public internal::Expected<T>::Type {
  using Base = typename internal::Expected<T>::Type;

 public:
  using Base::Base;
  using Base::operator=;
  Result(std::unexpected<Error>&& error) noexcept : Base(std::move(error)) {}
  Result(Error&& error) noexcept : Base(std::unexpect, std::move(error)) {}

  static Result ok()
    requires std::is_void_v<T>
  {
    return Result();
  }
  template <class U = T>
    requires(!std::is_void_v<T>)
  static Result ok(U&& value) {
    return Result(std::forward<U>(value));
  }

  bool is_ok() const noexcept { return this->has_value(); }
  bool is_err() const noexcept { return !this->has_value(); }

  // The caller's location, which a Bug reports.
  using Place = std::source_location;

  decltype(auto) value(Place place = Place::current()) & {
    check_value(place);
    return **this;
  }
  decltype(auto) value(Place place = Place::current()) const& {
    check_value(place);
    return **this;
  }
  decltype(auto) value(Place place = Place::current()) && {
    check_value(place);
    return *std::move(*this);
  }

  Error& error(Place place = Place::current()) & {
    check_error(place);
    return Base::error();
  }
  const Error& error(Place place = Place::current()) const& {
    check_error(place);
    return Base::error();
  }
  Error&& error(Place place = Place::current()) && {
    check_error(place);
    return std::move(Base::error());
  }

  // A copy of the Result, with its value or error.
  Result clone() const
    requires(std::is_void_v<T> || std::is_copy_constructible_v<T>)
  {
    if (is_err()) [[unlikely]]
      return Result(error().clone());
    if constexpr (std::is_void_v<T>) {
      return Result();
    } else {
      return Result(**this);
    }
  }

  // Returns a Result<U> with the result of f(value), or a Result<> if f returns nothing; an error is passed on.
  template <class F>
  auto map(F&& f) && {
    return map_of(std::move(*this), std::forward<F>(f));
  }
  template <class F>
  auto map(F&& f) const& {
    return map_of(*this, std::forward<F>(f));
  }
  // Calls f(value), which itself returns a Result; an error is passed on.
  template <class F>
  auto and_then(F&& f) && {
    return and_then_of(std::move(*this), std::forward<F>(f));
  }
  template <class F>
  auto and_then(F&& f) const& {
    return and_then_of(*this, std::forward<F>(f));
  }
  // Calls f(error), which returns a Result<T>; a value is passed on.
  template <class F>
  Result or_else(F&& f) && {
    if (is_err()) [[unlikely]]
      return std::forward<F>(f)(std::move(*this).error());
    return std::move(*this);
  }
  // Calls f(error), which returns the Error to continue with; a value is passed on.
  template <class F>
  Result map_error(F&& f) && {
    if (is_err()) [[unlikely]]
      return Result(Error(std::forward<F>(f)(std::move(*this).error())));
    return std::move(*this);
  }
  // If the Result has an error, adds a line of context to this error.
  Result because(std::string_view context) && {
    if (is_err()) [[unlikely]]
      return Result(std::move(*this).error().because(context));
    return std::move(*this);
  }

 private:
  void check_value(Place place) const {
    if (!this->has_value()) [[unlikely]]
      throw_bug("value() is called on a Result that has an error: check that it has a value first", place);
  }
  void check_error(Place place) const {
    if (this->has_value()) [[unlikely]]
      throw_bug("error() is called on a Result that has a value", place);
  }

  // The error of a Result that is known to have an error.
  static Error error_of(Result&& result) noexcept { return std::move(static_cast<Base&>(result).error()); }
  static Error error_of(const Result& result) noexcept { return static_cast<const Base&>(result).error().clone(); }

  // Calls f with the value, or without arguments for a Result<>.
  template <class Self, class F>
  static decltype(auto) apply(Self&& self, F&& f) {
    if constexpr (std::is_void_v<T>) {
      return std::forward<F>(f)();
    } else {
      return std::forward<F>(f)(*std::forward<Self>(self));
    }
  }
  template <class Self, class F>
  static auto map_of(Self&& self, F&& f) {
    using U = std::remove_cvref_t<decltype(apply(std::forward<Self>(self), std::forward<F>(f)))>;
    if (self.is_err()) [[unlikely]]
      return Result<U>(error_of(std::forward<Self>(self)));
    if constexpr (std::is_void_v<U>) {
      apply(std::forward<Self>(self), std::forward<F>(f));
      return Result<U>();
    } else {
      return Result<U>(apply(std::forward<Self>(self), std::forward<F>(f)));
    }
  }
  template <class Self, class F>
  static auto and_then_of(Self&& self, F&& f) {
    using R = std::remove_cvref_t<decltype(apply(std::forward<Self>(self), std::forward<F>(f)))>;
    static_assert(is_result<R>,
                  "the function for and_then must return a Result; use map for a function that returns a plain value");
    if (self.is_err()) [[unlikely]]
      return R(error_of(std::forward<Self>(self)));
    return apply(std::forward<Self>(self), std::forward<F>(f));
  }
};

// Returns what f() returns; an exception becomes an Error (Error::from_exception). A Result that f returns is returned
// unchanged. Use try_catch for each call of code that throws.
template <class F>
auto try_catch(F&& f) noexcept -> ResultOf<decltype(std::forward<F>(f)())> {
  try {
    if constexpr (std::is_void_v<decltype(std::forward<F>(f)())>) {
      std::forward<F>(f)();
      return {};
    } else {
      return std::forward<F>(f)();
    }
  } catch (...) {
    return Error::from_exception();
  }
}

// The result of a system call, or for -1 an Error from errno; `what` is a literal, usually the call's name.
template <class Int>
  requires std::is_signed_v<Int>
Result<Int> or_errno(const char* what, Int returned) noexcept {
  if (returned == -1) [[unlikely]]
    return Error::from_errno(what, errno);
  return returned;
}

}  // namespace keel

#define KEEL_CONCAT_(a, b) a##b
// Joins two names after the preprocessor has expanded macros in both.
#define KEEL_CONCAT(a, b) KEEL_CONCAT_(a, b)
#define KEEL_TRY_(name, target, ...)                                \
  auto name = (__VA_ARGS__);                                        \
  if (!name) [[unlikely]]                                           \
    return std::unexpected<::keel::Error>(std::move(name).error()); \
  target = *std::move(name)

// KEEL_TRY(auto value, expression): gets the value, or returns the error. Use KEEL_TRY only in plain functions;
// coroutines use co_await.
#define KEEL_TRY(target, ...) KEEL_TRY_(KEEL_CONCAT(keel_try_, __COUNTER__), target, __VA_ARGS__)
// KEEL_TRY_VOID(expression): does what KEEL_TRY does, for a Result<> or for a Result whose value is not needed.
#define KEEL_TRY_VOID(...)                                                       \
  do {                                                                           \
    if (auto keel_try_result = (__VA_ARGS__); !keel_try_result) [[unlikely]]     \
      return std::unexpected<::keel::Error>(std::move(keel_try_result).error()); \
  } while (false)
