// keel/db/internal/sha256.h — SHA-256 (FIPS 180-4): a digest that identifies a text, because it is infeasible to find
// another text with the same digest.
//
// Use it for checksums that must withstand an attacker who chooses the texts. SHA-256 has no key: to protect a hash
// table, use siphash.h; for passwords, use a function that is slow on purpose.
//
// Threads: a function.
// Cost:    one pass over the text; no allocation.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace keel::db {

std::array<std::uint8_t, 32> sha256(std::string_view text) noexcept;

}  // namespace keel::db
