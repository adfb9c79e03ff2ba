// The messages that a client gets for a value that does not match its schema, in the wording of data/rules.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keel/contract/schema.h"

namespace keel::contract::internal {

inline constexpr const char* not_allowed = "is not allowed here";

std::string words_of_types(std::uint8_t types);                 // "expected a string or null"
std::string words_of_values(std::span<const Constant> values);  // "must be one of a, b"
std::string words_of_bounds(const NumberRules& rules);          // "must be from 1 to 100"
std::string words_of_step(const Number& step);                  // "must be a multiple of 0.5"
std::string words_of_count(std::size_t least, std::size_t most,
                           std::string_view of_what);  // "must have 1 to 8 elements"
std::string words_of_contains(const ListRules& rules);

}  // namespace keel::contract::internal
