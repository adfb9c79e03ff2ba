// keel/base/constant_time.h — compares secrets (tokens, signatures, keys) in a time that does not reveal their
// contents.
//
//   if (!constant_time_equal(given, expected)) return fail(Code::Unauthenticated, "the signature is wrong");
//
// Result:  whether both texts have the same bytes. The time depends only on the sizes of the texts, never on their
//          contents. A difference in size can be measured: where the size is secret too, compare digests, or use tokens
//          of one fixed size.
// Threads: a function.
// Cost:    about 0.3 ns a byte.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace keel {

// Compares all bytes of `a` and `b`, even after a difference; texts of different lengths are different.
inline bool constant_time_equal(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  std::uint64_t difference = 0;
  std::size_t at = 0;
  const auto add = [&](std::size_t size) {
    std::uint64_t of_a = 0;
    std::uint64_t of_b = 0;
    std::memcpy(&of_a, a.data() + at, size);
    std::memcpy(&of_b, b.data() + at, size);
    difference |= of_a ^ of_b;
    // Hides the value from the compiler, so that the compiler cannot prove that an early exit would be equivalent.
    __asm__("" : "+r"(difference));
    at += size;
  };
  while (a.size() - at >= sizeof difference) add(sizeof difference);
  while (at < a.size()) add(1);
  return difference == 0;
}

inline bool constant_time_equal(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return constant_time_equal(std::string_view(reinterpret_cast<const char*>(a.data()), a.size()),
                             std::string_view(reinterpret_cast<const char*>(b.data()), b.size()));
}

}  // namespace keel
