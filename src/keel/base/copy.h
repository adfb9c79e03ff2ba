// keel/base/copy.h — copies texts that are mostly short.
//
// Threads: a function.
// Cost:    for up to 64 bytes, two overlapping loads and stores instead of a call to memcpy.

#pragma once

#include <cstddef>
#include <cstring>

namespace keel {
namespace internal {

template <std::size_t N>
[[gnu::always_inline]] inline void copy_ends(char* to, const char* from, std::size_t size) noexcept {
  char front[N];
  char back[N];
  std::memcpy(front, from, N);
  std::memcpy(back, from + size - N, N);
  std::memcpy(to, front, N);
  std::memcpy(to + size - N, back, N);
}

}  // namespace internal

// Copies `size` bytes; the two ranges must not overlap.
[[gnu::always_inline]] inline void copy_short(char* to, const char* from, std::size_t size) noexcept {
  if (__builtin_constant_p(size)) {
    std::memcpy(to, from, size);
    return;
  }
  // Hides from the compiler which object `from` points into: otherwise the compiler warns about branches that are never
  // taken for short objects.
  asm("" : "+r"(from));
  if (size - 8 > 56) {  // The condition is also true for sizes below 8, because the subtraction wraps around.
    std::memcpy(to, from, size);
  } else if (size >= 32) {
    internal::copy_ends<32>(to, from, size);
  } else if (size >= 16) {
    internal::copy_ends<16>(to, from, size);
  } else {
    internal::copy_ends<8>(to, from, size);
  }
}

}  // namespace keel
