// keel/base/siphash.h — a keyed hash that an attacker who does not know the key cannot steer (SipHash-2-4, Aumasson and
// Bernstein 2012).
//
// For tables whose keys come from outside: with a key of its own, taken from Host::secret(), a table cannot be filled
// with keys that collide.
//
// Threads: a function.  Cost: about 1 ns a byte for short texts.

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
