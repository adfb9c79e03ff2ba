// The function that a Retry, a CircuitBreaker or a Bulkhead runs: it returns a task or an operation.

#pragma once

#include <type_traits>

namespace keel::internal {

// The type of the value of the task or operation that an F returns.
template <class F>
using AwaitedBy = typename std::remove_cvref_t<std::invoke_result_t<std::remove_reference_t<F>&>>::Value;

// F is deduced from a forwarding reference, so F is a reference for a named function, which is then kept by reference.
template <class F>
constexpr void check_closure() noexcept {
  static_assert(
      std::is_lvalue_reference_v<F> || (std::is_trivially_copyable_v<F> && std::is_trivially_destructible_v<F>),
      "a closure inside an awaiting expression may capture only references and plain values, because GCC 12 destroys "
      "other captures twice: any other closure must be a named variable, not a temporary");
}

}  // namespace keel::internal
