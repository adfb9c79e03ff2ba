// keel/base/owned.h — owns an object of a type that the header declares and only the source defines.
//
//   class Bus {
//     ~Bus();                    // In the source, where State is known.
//     struct State;
//     Owned<State> state_;       // state_(Owned<State>::make(options))
//   };
//
// Use an Owned in a class that hides its state. An Owned does what a std::unique_ptr would do, but does not need
// <memory>, which would have to be compiled for every file that includes the header. An Owned is never empty and cannot
// be moved; use a std::unique_ptr for a pointer that may be empty or moves.
//
// Lifetime: the object is destroyed with its owner, whose destructor is therefore defined where T is complete.
// Threads:  as thread-safe as T.
// Cost:     one allocation; an Owned is as large as a pointer.

#pragma once

#include <utility>

namespace keel {

template <class T>
class Owned {
 public:
  template <class... Args>
  static Owned make(Args&&... args) {
    return Owned(new T(std::forward<Args>(args)...));
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    static_assert(sizeof(T) > 0, "the type of an Owned object must be complete where its owner is destroyed");
    delete object_;
  }

  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }

 private:
  explicit Owned(T* object) noexcept : object_(object) {}

  T* const object_;
};

}  // namespace keel
