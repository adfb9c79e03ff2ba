// Finds the dependencies of a class or a callable, as types, from the parameters of its constructor or of its call
// operator.

#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace keel::app::internal {

template <class... T>
struct Types {
  static constexpr std::size_t count = sizeof...(T);
};

inline constexpr std::size_t needs_max = 16;

// Stands for an argument of any class type except the class under construction, so that the copy constructor is not a
// candidate.
template <class Owner, class T>
concept Injectable = std::is_class_v<T> && !std::is_same_v<std::remove_cv_t<T>, Owner>;

template <class Owner>
struct Any {
  template <class T>
    requires Injectable<Owner, T>
  operator T&() const noexcept;
};

// A friend function is declared by Parameter, and defined by Found with the type as its result: the compiler
// instantiates a Found when it converts a Learn to the type of the constructor's parameter. Each friend function is
// defined once, and always with the same type, so the result does not depend on the order of compilation.
template <class Owner, std::size_t I>
struct Parameter {
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
  friend auto parameter_type(Parameter<Owner, I>);
#ifndef __clang__
#pragma GCC diagnostic pop
#endif
};
template <class Owner, std::size_t I, class T>
struct Found {
  friend auto parameter_type(Parameter<Owner, I>) { return static_cast<T*>(nullptr); }
};
template <class Owner, std::size_t I>
struct Learn {
  template <class T, class = std::enable_if_t<Injectable<Owner, T>>, std::size_t = sizeof(Found<Owner, I, T>)>
  operator T&() const noexcept;
};

template <class T, std::size_t... I>
consteval bool takes(std::index_sequence<I...>) {
  return std::is_constructible_v<T, decltype(static_cast<void>(I), Any<T>{})...>;
}

// The number of references to classes that the constructor takes; -1 when there is no such constructor, -2 when there
// are several.
template <class T, std::size_t... N>
consteval int parameters_of_constructor(std::index_sequence<N...>) {
  int found = -1;
  ((takes<T>(std::make_index_sequence<N>{}) ? found = (found == -1 ? static_cast<int>(N) : -2) : 0), ...);
  return found;
}

template <class T, std::size_t... I>
auto learn(std::index_sequence<I...>) {
  static_assert(sizeof(T(Learn<T, I>{}...)) > 0);
  return Types<std::remove_pointer_t<decltype(parameter_type(Parameter<T, I>{}))>...>{};
}

template <class T>
auto constructor_needs() {
  constexpr int count = parameters_of_constructor<T>(std::make_index_sequence<needs_max + 1>{});
  static_assert(count != -1,
                "no constructor of the service takes only references to classes: write `using Needs = "
                "void(Clock&, const Settings&);` in the class, or give a factory");
  static_assert(count != -2,
                "several constructors of the service match: choose one with `using Needs = void(Clock&, const "
                "Settings&);` in the class, or give a factory");
  if constexpr (count >= 0) {
    return learn<T>(std::make_index_sequence<static_cast<std::size_t>(count)>{});
  } else {
    return Types<>{};
  }
}

template <class Signature>
struct Parameters;
template <class R, class... A>
struct Parameters<R(A...)> {
  static_assert((... && (std::is_lvalue_reference_v<A> && std::is_class_v<std::remove_reference_t<A>>)),
                "each dependency of a service must be a reference to a class: Clock& or const Settings&");
  static_assert(sizeof...(A) <= needs_max, "a service can depend on at most 16 others");
  using type = Types<std::remove_reference_t<A>...>;
};
template <class R, class... A>
struct Parameters<R(A...) noexcept> : Parameters<R(A...)> {};
template <class R, class... A>
struct Parameters<R (*)(A...)> : Parameters<R(A...)> {};
template <class R, class... A>
struct Parameters<R (*)(A...) noexcept> : Parameters<R(A...)> {};
template <class F, class R, class... A>
struct Parameters<R (F::*)(A...)> : Parameters<R(A...)> {};
template <class F, class R, class... A>
struct Parameters<R (F::*)(A...) const> : Parameters<R(A...)> {};
template <class F, class R, class... A>
struct Parameters<R (F::*)(A...) noexcept> : Parameters<R(A...)> {};
template <class F, class R, class... A>
struct Parameters<R (F::*)(A...) const noexcept> : Parameters<R(A...)> {};

template <class T>
concept NamesItsNeeds = requires { typename T::Needs; };

template <class T>
auto class_needs() {
  if constexpr (NamesItsNeeds<T>) {
    return typename Parameters<typename T::Needs>::type{};
  } else {
    return constructor_needs<T>();
  }
}
// Types<Clock, const Settings> for a class that is constructed from Clock& and const Settings&.
template <class T>
using ClassNeeds = decltype(class_needs<T>());

template <class F>
auto callable_needs() {
  if constexpr (std::is_class_v<F>) {
    static_assert(
        requires { &F::operator(); },
        "the parameters of a factory must be known: give it a single call operator, without templates and auto");
    return typename Parameters<decltype(&F::operator())>::type{};
  } else {
    return typename Parameters<F>::type{};
  }
}
template <class F>
using CallableNeeds = decltype(callable_needs<F>());

}  // namespace keel::app::internal
