// Numbers and constants of schemas beside values: exact, and in decimal where a double would lie.

#pragma once

#include <cstdint>

#include "keel/contract/schema.h"

namespace keel::contract::internal {

// Of a value that is a number.
Number number_of(const json::Value& value) noexcept;
// -1, 0, 1.
int compare(const Number& a, const Number& b) noexcept;
bool is_integer(const Number& number) noexcept;
// Whether `number` is a whole multiple of `step`, which is not 0.
bool is_multiple(const Number& number, const Number& step) noexcept;

bool is_equal(const Constant& constant, const json::Value& value) noexcept;

// Equal for equal values; adds to `work` what it has looked at.
std::uint64_t hash(const json::Value& value, std::size_t& work) noexcept;

std::uint8_t type_of(const json::Value& value) noexcept;

}  // namespace keel::contract::internal
