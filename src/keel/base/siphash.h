// keel/base/siphash.h — a keyed hash whose values an attacker without the key cannot predict (SipHash-2-4, Aumasson and
// Bernstein 2012).
//
// Use this hash for tables whose keys come from outside: with a secret key from Host::secret(), an attacker cannot fill
// a table with colliding keys.
//
// Threads: a function.
// Cost:    about 1 ns a byte for short texts.

#pragma once

#include <cstdint>
#include <string_view>

namespace keel {

// The 128-bit key of a keyed hash.
struct SipKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

std::uint64_t siphash(SipKey key, std::string_view text) noexcept;

}  // namespace keel
