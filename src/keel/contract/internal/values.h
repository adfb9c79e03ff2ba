// Numbers and constants of schemas, and how they compare with values: exactly, and in decimal where a double would be
// imprecise.

#pragma once

#include <cstdint>

#include "keel/contract/schema.h"

namespace keel::contract::internal {

// The number of a value, which must be a number.
Number number_of(const json::Value& value) noexcept;
// Returns -1, 0 or 1.
int compare(const Number& a, const Number& b) noexcept;
bool is_integer(const Number& number) noexcept;
// Whether `number` is a whole multiple of `step`, which is not 0.
bool is_multiple(const Number& number, const Number& step) noexcept;

bool is_equal(const Constant& constant, const json::Value& value) noexcept;

// Equal values have equal hashes. The work of hashing is added to `work`.
std::uint64_t hash(const json::Value& value, std::size_t& work) noexcept;

std::uint8_t type_of(const json::Value& value) noexcept;

}  // namespace keel::contract::internal
