// ChaCha20's block function (RFC 8439 §2.3), sixteen blocks at a time; used by base/random_stream.h. Tests can call
// each kernel separately; all of them compute the same output.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace keel::internal {

inline constexpr std::size_t chacha20_state_words = 16;
inline constexpr std::size_t chacha20_blocks = 16;

using ChaCha20State = std::span<const std::uint32_t, chacha20_state_words>;
using ChaCha20Output = std::span<std::uint32_t, chacha20_state_words * chacha20_blocks>;

struct ChaCha20Kernel {
  const char* name;
  // In block j the counter (word 12 of the state) is increased by j; word i of that block is stored in out[16 * i + j].
  void (*compute)(ChaCha20State state, ChaCha20Output out) noexcept;
  bool (*runs_here)() noexcept;
};

// The kernels, ordered from the narrowest, which runs on every processor, to the widest.
std::span<const ChaCha20Kernel> chacha20_kernels() noexcept;
// The widest kernel that this processor supports.
const ChaCha20Kernel& best_chacha20_kernel() noexcept;

}  // namespace keel::internal
