// The typed functions around a Binding, by which the container makes objects.

#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "keel/app/internal/binding.h"
#include "keel/app/internal/needs.h"
#include "keel/base/result.h"

namespace keel::app::internal {

// The compiler shows the name of this type in its error message.
template <class... Chain>
struct services_need_each_other_in_a_circle {
  static_assert(sizeof...(Chain) == 0,
                "services depend on each other in a cycle: none of them can be constructed first");
};

template <class I, class T>
void* as_provided(T* made) noexcept {
  static_assert(std::is_convertible_v<T*, I*>, "the implementation must derive publicly from its interface");
  return const_cast<std::remove_const_t<I>*>(static_cast<I*>(made));
}

template <class T>
Phases phases_of_service() {
  Phases phases;
  if constexpr (requires(T& service) { service.start(); }) {
    static_assert(std::is_same_v<decltype(std::declval<T&>().start()), Result<>> ||
                      std::is_void_v<decltype(std::declval<T&>().start())>,
                  "start() of a service must return Result<> or void");
    phases.start = [](void* at) -> Result<> {
      if constexpr (std::is_void_v<decltype(std::declval<T&>().start())>) {
        static_cast<T*>(at)->start();
        return {};
      } else {
        return static_cast<T*>(at)->start();
      }
    };
  }
  if constexpr (requires(T& service) { service.stop(); }) {
    static_assert(std::is_void_v<decltype(std::declval<T&>().stop())>, "stop() of a service must return void");
    phases.stop = [](void* at) { static_cast<T*>(at)->stop(); };
  }
  return phases;
}

template <class T>
void describe_memory(Binding& binding) {
  binding.bytes = sizeof(T);
  binding.alignment = alignof(T);
  binding.destroy = [](void* at) noexcept { static_cast<T*>(at)->~T(); };
}

template <class... N>
void describe_needs(Binding& binding, Types<N...>) {
  binding.needs = {&type_id<N>()...};
}

template <class I, class T, class... N, std::size_t... At>
auto constructor(Types<N...>, std::index_sequence<At...>) {
  static_assert(std::is_constructible_v<T, N&...>,
                "the service must be constructible from references to its "
                "dependencies");
  return [](void* at, [[maybe_unused]] void* const* needs) -> Result<void*> {
    return as_provided<I>(::new (at) T(*static_cast<N*>(needs[At])...));
  };
}

template <class I, class T, class... N>
consteval void refuse_to_need_oneself(Types<N...>) {
  if constexpr ((... || std::is_same_v<std::remove_const_t<N>, std::remove_const_t<I>>)) {
    [[maybe_unused]] services_need_each_other_in_a_circle<T, T> circle;
  }
}

// Provides I by constructing a T.
template <class I, class T>
Binding describe() {
  static_assert(std::is_class_v<I> && std::is_class_v<T>, "a service must be a class");
  static_assert(!std::is_abstract_v<T>,
                "an abstract class must be provided by an implementation: singleton<Clock, SystemClock>()");
  using Needs = ClassNeeds<T>;
  refuse_to_need_oneself<I, T>(Needs{});
  Binding binding;
  binding.provides = &type_id<I>();
  binding.implementation = &type_id<T>();
  describe_needs(binding, Needs{});
  describe_memory<T>(binding);
  binding.make = constructor<I, T>(Needs{}, std::make_index_sequence<Needs::count>{});
  binding.phases = phases_of_service<std::remove_const_t<T>>();
  return binding;
}

template <class T>
struct Factory {
  using type = T;
  static constexpr bool may_fail = false;
};
template <class T>
struct Factory<Result<T>> {
  using type = T;
  static constexpr bool may_fail = true;
};
template <class T>
inline constexpr bool is_unique_ptr = false;
template <class T>
inline constexpr bool is_unique_ptr<std::unique_ptr<T>> = true;

template <class I, class Held>
Result<void*> provided_by(Held* held) noexcept {
  if constexpr (is_unique_ptr<Held>) {
    if (*held == nullptr) return fail(Code::Internal, "the factory returned a null pointer");
    return as_provided<I>(held->get());
  } else {
    return as_provided<I>(held);
  }
}

template <class I, class Held, bool may_fail, class F, class... N, std::size_t... At>
auto caller(F factory, Types<N...>, std::index_sequence<At...>) {
  return [factory = std::move(factory)](void* at, [[maybe_unused]] void* const* needs) mutable -> Result<void*> {
    Held* held = nullptr;
    if constexpr (may_fail) {
      auto made = factory(*static_cast<N*>(needs[At])...);
      if (!made) return std::move(made).error();
      held = ::new (at) Held(*std::move(made));
    } else {
      held = ::new (at) Held(factory(*static_cast<N*>(needs[At])...));
    }
    Result<void*> object = provided_by<I>(held);
    if (!object) held->~Held();
    return object;
  };
}

// Provides I by calling `factory`, which returns a T, a std::unique_ptr<T>, or a Result of either.
template <class I, class F>
Binding describe(F factory) {
  static_assert(std::is_class_v<I>, "a service must be a class");
  using Needs = CallableNeeds<F>;
  using Given = decltype([]<class... N>(Types<N...>) -> decltype(std::declval<F&>()(std::declval<N&>()...)) {
    return std::declval<F&>()(std::declval<N&>()...);
  }(Needs{}));
  using Held = Factory<std::remove_cv_t<Given>>::type;
  static_assert(std::is_class_v<Held>,
                "a factory must return the service, a std::unique_ptr of it, or a Result of one of these");
  Binding binding;
  binding.provides = &type_id<I>();
  describe_needs(binding, Needs{});
  describe_memory<Held>(binding);
  if constexpr (is_unique_ptr<Held>) {
    using T = Held::element_type;
    binding.implementation = &type_id<T>();
    const Phases inner = phases_of_service<T>();
    if (inner.start != nullptr) {
      binding.phases.start = [](void* at) { return phases_of_service<T>().start(static_cast<Held*>(at)->get()); };
    }
    if (inner.stop != nullptr) {
      binding.phases.stop = [](void* at) { phases_of_service<T>().stop(static_cast<Held*>(at)->get()); };
    }
  } else {
    binding.implementation = &type_id<Held>();
    binding.phases = phases_of_service<Held>();
  }
  binding.make = caller<I, Held, Factory<std::remove_cv_t<Given>>::may_fail>(std::move(factory), Needs{},
                                                                             std::make_index_sequence<Needs::count>{});
  return binding;
}

}  // namespace keel::app::internal
