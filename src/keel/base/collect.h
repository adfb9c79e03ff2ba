// keel/base/collect.h — several Results as one: all of their values, or the first error.
//
//   KEEL_TRY(std::vector<Route> routes, collect(lines | std::views::transform(parse_route)));
//   KEEL_TRY(auto both, all(parse_host(host), parse_port(port)));   // std::tuple<std::string, std::uint16_t>
//   auto& [name, number] = both;
//
// This all() takes Results that already exist; the all() that takes tasks is in task/group.h.
//
// Errors:  the first error in the order of the range or of the arguments.
// Threads: values.
// Cost:    collect() allocates the vector; if the range knows its size, this is a single allocation.

#pragma once

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "keel/base/or_monostate.h"
#include "keel/base/result.h"

namespace keel {

namespace internal {

// Whether Range owns its elements, as a container does. The elements of a const container are const, whereas a const
// view may give access to elements that are not const.
template <class Range, class One>
concept Owns = requires(const std::remove_reference_t<Range>& range) {
  requires std::is_same_v<decltype(*std::begin(range)), const One&>;
};

// Moves the Result if it may be moved from; otherwise copies it.
template <bool is_given, class One>
auto take(One&& one) {
  if constexpr ((is_given || !std::is_lvalue_reference_v<One>) && !std::is_const_v<std::remove_reference_t<One>>) {
    return std::remove_cvref_t<One>(std::move(one));
  } else {
    return one.clone();
  }
}

}  // namespace internal

// The values of a range of Results in their order, as a vector; Result<> for a range of Result<>. After the first
// error, no further elements are requested from a range that makes its elements on demand (std::views::transform).
// Elements of a container that is passed as an rvalue are moved; those of a named container or a std::span are copied.
template <class Range>
auto collect(Range&& results) {
  using One = std::remove_cvref_t<decltype(*std::begin(results))>;
  static_assert(is_result<One>, "collect() needs a range of Results");
  using T = typename One::value_type;
  constexpr bool is_given = !std::is_lvalue_reference_v<Range> && internal::Owns<Range, One>;
  using Values = std::conditional_t<std::is_void_v<T>, std::monostate, std::vector<T>>;
  using All = Result<std::conditional_t<std::is_void_v<T>, void, Values>>;

  Values values;
  if constexpr (requires { values.reserve(results.size()); }) values.reserve(results.size());
  for (auto&& seen : results) {
    One one = internal::take<is_given>(std::forward<decltype(seen)>(seen));
    if (one.is_err()) [[unlikely]]
      return All(std::move(one).error());
    if constexpr (!std::is_void_v<T>) values.push_back(*std::move(one));
  }
  if constexpr (std::is_void_v<T>) {
    return All();
  } else {
    return All(std::move(values));
  }
}

// A tuple of the values; a Result<> contributes a std::monostate.
template <class... Ts>
  requires(sizeof...(Ts) >= 2)
Result<std::tuple<OrMonostate<Ts>...>> all(Result<Ts>... results) {
  Error* first = nullptr;
  const auto look = [&first](auto& result) {
    if (first == nullptr && result.is_err()) first = &result.error();
  };
  (look(results), ...);
  if (first != nullptr) return std::move(*first);
  return std::tuple<OrMonostate<Ts>...>(value_of(std::move(results))...);
}

}  // namespace keel
