// keel/data/box.h — holds a value, or none, on the heap: for a type that contains itself.
//
//   struct Category {
//     std::string name;
//     Box<Category> parent;
//   };
//   if (category.parent) use(category.parent->name);
//
// Works like a std::optional: a copy copies the value, and two boxes are equal when both are empty or their values are
// equal. A Box of an incomplete type may be declared as a member. After a move, the source Box is empty.
//
// Errors: using * or -> on an empty Box is a Bug (base/bug.h).
// Cost:   a Box has the size of a pointer; its value takes one allocation. Destroying a chain of n boxes takes stack
//         memory for n nested calls.

#pragma once

#include <utility>

#include "keel/base/bug.h"

namespace keel {

template <class T>
class Box {
 public:
  using Value = T;

  constexpr Box() noexcept = default;
  Box(T value) : value_(new T(std::move(value))) {}
  Box(const Box& other) : value_(other.value_ != nullptr ? new T(*other.value_) : nullptr) {}
  Box(Box&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Box& operator=(Box other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Box() { delete value_; }

  bool has_value() const noexcept { return value_ != nullptr; }
  explicit operator bool() const noexcept { return has_value(); }
  T& operator*() {
    KEEL_EXPECT(has_value(), "the value of an empty Box is accessed");
    return *value_;
  }
  const T& operator*() const {
    KEEL_EXPECT(has_value(), "the value of an empty Box is accessed");
    return *value_;
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  T& emplace() {
    reset();
    return *(value_ = new T());
  }
  void reset() noexcept { delete std::exchange(value_, nullptr); }

  friend bool operator==(const Box& a, const Box& b) {
    if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
    return *a == *b;
  }

 private:
  T* value_ = nullptr;
};

}  // namespace keel
