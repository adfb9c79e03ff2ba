// keel/db/internal/sha256.h — a digest by which a text is recognised, and that nobody can give to another text
// (SHA-256, FIPS 180-4).
//
// For checksums that have to hold against somebody who chooses the texts. It has no key: a table is protected by
// siphash.h, and a password by a function that is slow on purpose.
//
// Threads: a function.  Cost: one pass over the text; no allocation.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace keel::db {

std::array<std::uint8_t, 32> sha256(std::string_view text) noexcept;

}  // namespace keel::db
