// The numbers and constants of schemas, and their comparison with values: comparisons are exact, because they use
// decimals where doubles would be imprecise.

#pragma once

#include <cstdint>

#include "keel/contract/schema.h"

namespace keel::contract::internal {

// The number that `value` contains; `value` must be a number.
Number number_of(const json::Value& value) noexcept;
// Returns -1 if a < b, 0 if a == b, and 1 if a > b.
int compare(const Number& a, const Number& b) noexcept;
bool is_integer(const Number& number) noexcept;
// Whether `number` is a whole multiple of `step`, which is not 0.
bool is_multiple(const Number& number, const Number& step) noexcept;

bool is_equal(const Constant& constant, const json::Value& value) noexcept;

// Equal values have equal hashes. Adds the units of work that the hashing takes to `work`.
std::uint64_t hash(const json::Value& value, std::size_t& work) noexcept;

std::uint8_t type_of(const json::Value& value) noexcept;

}  // namespace keel::contract::internal
