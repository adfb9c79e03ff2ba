// keel/base/or_monostate.h — the type of a value in a tuple, or std::monostate if there is no value: for all() of
// Results and of tasks.

#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "keel/base/result.h"

namespace keel {

template <class T>
using OrMonostate = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

// The value of a Result that is known to have a value.
template <class T>
OrMonostate<T> value_of(Result<T>&& result) noexcept {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return *std::move(result);
  }
}

}  // namespace keel
