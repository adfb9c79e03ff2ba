// keel/data/patch.h — a field of a PATCH request: absent, null, or a value (RFC 7396).
//
//   struct UserPatch {
//     Patch<std::string> name;
//     Patch<std::string> nickname;
//   };
//   change.name.apply_to(user.name);           // absent: it stays; a value: it is that
//   change.nickname.apply_to(user.nickname);   // a std::optional; null: it is empty from here on
//
// When a struct is written, an absent field is left out. If a field cannot be null, call check(name).not_null() in the
// rules() of its struct (rules.h).
//
// Errors: using * or -> on a Patch without a value is a Bug (base/bug.h).
// Cost:   a Patch takes the size of a T and a flag.

#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "keel/base/bug.h"

namespace keel {

template <class T>
class Patch {
 public:
  using Value = T;

  constexpr Patch() = default;
  static constexpr Patch null() {
    Patch patch;
    patch.is_null_ = true;
    return patch;
  }
  static constexpr Patch of(T value) {
    Patch patch;
    patch.value_.emplace(std::move(value));
    return patch;
  }

  constexpr bool is_absent() const noexcept { return !value_ && !is_null_; }
  constexpr bool is_null() const noexcept { return is_null_; }
  constexpr bool has_value() const noexcept { return value_.has_value(); }

  const T& operator*() const {
    KEEL_EXPECT(has_value(), "the value of a Patch that is absent or null is accessed");
    return *value_;
  }
  const T* operator->() const { return &**this; }

  constexpr void set_null() noexcept {
    value_.reset();
    is_null_ = true;
  }
  // Makes a new value, for the caller to fill.
  constexpr T& emplace() {
    is_null_ = false;
    return value_.emplace();
  }

  void apply_to(std::optional<T>& target) const {
    if (has_value()) target = *value_;
    if (is_null_) target.reset();
  }
  void apply_to(T& target) const {
    KEEL_EXPECT(!is_null_,
                "a null Patch is applied to a field that cannot be null: use check(field).not_null() in rules()");
    if (has_value()) target = *value_;
  }

  friend constexpr bool operator==(const Patch&, const Patch&) = default;

 private:
  std::optional<T> value_;
  bool is_null_ = false;
};

}  // namespace keel
