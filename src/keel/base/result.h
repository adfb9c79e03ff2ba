// keel/base/result.h — a value or the Error that prevented it.
//
// Every function that input or environment can make fail returns Result. Result derives from std::expected (an alias
// would let GCC 12 drop a result silently) and is [[nodiscard]].
//
//   Result<Endpoint> parse_endpoint(std::string_view host, std::string_view port) {
//     KEEL_TRY(std::uint16_t number, parse_port(port));   // returns the error from here
//     return Endpoint{host, number};
//   }
//
// Errors:  value() and error() of the wrong kind are bugs and abort; *result and result-> are unchecked as in std.
// Threads: a value.  Cost: no allocation; Result<int> is 16 bytes and moves without throwing.

#pragma once

#include <expected>
#include <type_traits>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/error.h"

namespace keel {

template <class T = void>
class [[nodiscard]] Result : public std::expected<T, Error> {
  using Base = std::expected<T, Error>;

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
  static Result err(Error error) noexcept { return Result(std::move(error)); }

  bool is_ok() const noexcept { return this->has_value(); }
  bool is_err() const noexcept { return !this->has_value(); }

  decltype(auto) value() & {
    KEEL_CHECK(this->has_value(), "a Result is asked for its value only when it has one");
    return **this;
  }
  decltype(auto) value() const& {
    KEEL_CHECK(this->has_value(), "a Result is asked for its value only when it has one");
    return **this;
  }
  decltype(auto) value() && {
    KEEL_CHECK(this->has_value(), "a Result is asked for its value only when it has one");
    return *std::move(*this);
  }

  // Result<U> with f applied to the value; the error passes through.
  template <class F>
  auto map(F&& f) && {
    if constexpr (std::is_void_v<T>) {
      return map_with(std::forward<F>(f));
    } else {
      using U = std::invoke_result_t<F, T&&>;
      if (is_err()) return Result<U>(std::move(this->error()));
      if constexpr (std::is_void_v<U>) {
        std::forward<F>(f)(*std::move(*this));
        return Result<U>();
      } else {
        return Result<U>(std::forward<F>(f)(*std::move(*this)));
      }
    }
  }
  // f(value) gives a Result itself; the error passes through.
  template <class F>
  auto and_then(F&& f) && {
    if constexpr (std::is_void_v<T>) {
      using R = std::invoke_result_t<F>;
      if (is_err()) return R(std::move(this->error()));
      return std::forward<F>(f)();
    } else {
      using R = std::invoke_result_t<F, T&&>;
      if (is_err()) return R(std::move(this->error()));
      return std::forward<F>(f)(*std::move(*this));
    }
  }
  // f(error) gives a Result<T>; a value passes through.
  template <class F>
  Result or_else(F&& f) && {
    if (is_ok()) return std::move(*this);
    return std::forward<F>(f)(std::move(this->error()));
  }
  // Adds a line of context to the error, if there is one.
  Result because(std::string_view context) && {
    if (is_err()) return Result(std::move(this->error()).because(context));
    return std::move(*this);
  }

 private:
  template <class F>
  auto map_with(F&& f) {
    using U = std::invoke_result_t<F>;
    if (is_err()) return Result<U>(std::move(this->error()));
    if constexpr (std::is_void_v<U>) {
      std::forward<F>(f)();
      return Result<U>();
    } else {
      return Result<U>(std::forward<F>(f)());
    }
  }
};

}  // namespace keel

#define KEEL_CONCAT_(a, b) a##b
#define KEEL_CONCAT(a, b) KEEL_CONCAT_(a, b)
#define KEEL_TRY_(name, target, ...)                                \
  auto name = (__VA_ARGS__);                                        \
  if (!name) [[unlikely]]                                           \
    return std::unexpected<::keel::Error>(std::move(name).error()); \
  target = *std::move(name)

// KEEL_TRY(auto value, expression): the value, or return the error. Plain functions; coroutines use co_await.
#define KEEL_TRY(target, ...) KEEL_TRY_(KEEL_CONCAT(keel_try_, __COUNTER__), target, __VA_ARGS__)
// KEEL_TRY_VOID(expression): for Result<> and values nobody needs.
#define KEEL_TRY_VOID(...)                                                       \
  do {                                                                           \
    if (auto keel_try_result = (__VA_ARGS__); !keel_try_result) [[unlikely]]     \
      return std::unexpected<::keel::Error>(std::move(keel_try_result).error()); \
  } while (false)
