// keel/base/function.h — owned and borrowed callables without <functional>.
//
// Function<R(A...)> owns a callable; a callable of up to 32 bytes is inside the Function, and a larger callable is on
// the heap. A Function is move-only; a call of an empty Function throws a Bug. FunctionRef<R(A...)> borrows a callable
// for the duration of a call.
//
// Threads: as thread-safe as the callable.
// Cost:    one indirect call.

#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "keel/base/check.h"

namespace keel {

template <class Signature>
class Function;

template <class R, class... A>
class Function<R(A...)> {
 public:
  Function() = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Function> && std::is_invocable_r_v<R, F&, A...>)
  Function(F&& f) {
    using D = std::decay_t<F>;
    if constexpr (sizeof(D) <= inline_bytes && alignof(D) <= alignof(std::max_align_t) &&
                  std::is_nothrow_move_constructible_v<D>) {
      new (storage_) D(std::forward<F>(f));
      operations_ = &inline_operations<D>;
    } else {
      *reinterpret_cast<D**>(storage_) = new D(std::forward<F>(f));
      operations_ = &heap_operations<D>;
    }
  }
  Function(Function&& other) noexcept { take(other); }
  Function& operator=(Function&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Function() { reset(); }

  explicit operator bool() const noexcept { return operations_ != nullptr; }
  R operator()(A... arguments) const {
    if (operations_ == nullptr) [[unlikely]]
      throw_bug("an empty Function is called", std::source_location::current());
    return operations_->call(storage_, std::forward<A>(arguments)...);
  }
  void reset() noexcept {
    if (operations_ != nullptr) std::exchange(operations_, nullptr)->destroy(storage_);
  }

 private:
  static constexpr std::size_t inline_bytes = 32;
  struct Operations {
    R (*call)(void*, A&&...);
    void (*move)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };
  template <class D>
  static constexpr Operations inline_operations = {
      [](void* at, A&&... a) -> R { return static_cast<R>((*static_cast<D*>(at))(std::forward<A>(a)...)); },
      [](void* from, void* to) noexcept {
        new (to) D(std::move(*static_cast<D*>(from)));
        static_cast<D*>(from)->~D();
      },
      [](void* at) noexcept { static_cast<D*>(at)->~D(); }};
  template <class D>
  static constexpr Operations heap_operations = {
      [](void* at, A&&... a) -> R { return static_cast<R>((**static_cast<D**>(at))(std::forward<A>(a)...)); },
      [](void* from, void* to) noexcept { *static_cast<D**>(to) = *static_cast<D**>(from); },
      [](void* at) noexcept { delete *static_cast<D**>(at); }};

  void take(Function& other) noexcept {
    if (other.operations_ == nullptr) return;
    operations_ = std::exchange(other.operations_, nullptr);
    operations_->move(other.storage_, storage_);
  }

  const Operations* operations_ = nullptr;
  alignas(std::max_align_t) mutable std::byte storage_[inline_bytes];
};

template <class Signature>
class FunctionRef;

template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, A...>)
  FunctionRef(F&& f) noexcept
      : object_(address_of(f)), call_([](void* object, A... a) -> R {
          return static_cast<R>((*reinterpret_cast<std::remove_reference_t<F>*>(object))(std::forward<A>(a)...));
        }) {}
  R operator()(A... arguments) const { return call_(object_, std::forward<A>(arguments)...); }

 private:
  template <class F>
  static void* address_of(F& f) noexcept {
    if constexpr (std::is_function_v<F>) {
      return reinterpret_cast<void*>(&f);  // POSIX allows this conversion of a function pointer.
    } else {
      return const_cast<void*>(static_cast<const void*>(&f));
    }
  }
  void* object_;
  R (*call_)(void*, A...);
};

}  // namespace keel
