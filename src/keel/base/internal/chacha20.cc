#include <cstring>

#include "keel/base/internal/chacha20.h"

namespace keel::internal {
namespace {

template <std::size_t bytes>
struct Vector {
  using Words [[gnu::vector_size(bytes)]] = std::uint32_t;
};

template <int bits, class Words>
[[gnu::always_inline]] inline void rotate(Words& x) noexcept {
  x = (x << bits) | (x >> (32 - bits));
}

template <class Words>
[[gnu::always_inline]] inline void quarter_round(Words& a, Words& b, Words& c, Words& d) noexcept {
  a += b;
  d ^= a;
  rotate<16>(d);
  c += d;
  b ^= c;
  rotate<12>(b);
  a += b;
  d ^= a;
  rotate<8>(d);
  c += d;
  b ^= c;
  rotate<7>(b);
}

// Each lane of the vectors is a separate block.
template <std::size_t bytes>
[[gnu::always_inline]] inline void compute(ChaCha20State state, ChaCha20Output out) noexcept {
  using Words = typename Vector<bytes>::Words;
  constexpr std::size_t lanes = bytes / sizeof(std::uint32_t);
  for (std::size_t first = 0; first < chacha20_blocks; first += lanes) {
    Words in[chacha20_state_words];
    for (std::size_t i = 0; i < chacha20_state_words; ++i) in[i] = Words{} + state[i];
    for (std::size_t lane = 0; lane < lanes; ++lane) in[12][lane] += static_cast<std::uint32_t>(first + lane);
    Words x[chacha20_state_words];
    for (std::size_t i = 0; i < chacha20_state_words; ++i) x[i] = in[i];
    for (int round = 0; round < 20; round += 2) {
      quarter_round(x[0], x[4], x[8], x[12]);
      quarter_round(x[1], x[5], x[9], x[13]);
      quarter_round(x[2], x[6], x[10], x[14]);
      quarter_round(x[3], x[7], x[11], x[15]);
      quarter_round(x[0], x[5], x[10], x[15]);
      quarter_round(x[1], x[6], x[11], x[12]);
      quarter_round(x[2], x[7], x[8], x[13]);
      quarter_round(x[3], x[4], x[9], x[14]);
    }
    for (std::size_t i = 0; i < chacha20_state_words; ++i) {
      x[i] += in[i];
      std::memcpy(out.data() + chacha20_blocks * i + first, &x[i], sizeof x[i]);
    }
  }
}

bool always() noexcept { return true; }
void compute_by_4(ChaCha20State state, ChaCha20Output out) noexcept { compute<16>(state, out); }

#ifdef __SSE2__
[[gnu::target("avx2")]] void compute_by_8(ChaCha20State state, ChaCha20Output out) noexcept { compute<32>(state, out); }
[[gnu::target("avx512f")]] void compute_by_16(ChaCha20State state, ChaCha20Output out) noexcept {
  compute<64>(state, out);
}

bool has_avx2() noexcept { return __builtin_cpu_supports("avx2"); }
// The first processors with VBMI2 (Ice Lake, Zen 4) were also the first to keep their clock rate while they use vectors
// of 512 bits.
bool has_fast_avx512() noexcept { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vbmi2"); }
#endif

constexpr ChaCha20Kernel all[] = {
    {"by 4", &compute_by_4, &always},
#ifdef __SSE2__
    {"by 8", &compute_by_8, &has_avx2},
    {"by 16", &compute_by_16, &has_fast_avx512},
#endif
};

}  // namespace

std::span<const ChaCha20Kernel> chacha20_kernels() noexcept { return all; }

const ChaCha20Kernel& best_chacha20_kernel() noexcept {
#ifdef __SSE2__
  // This call is needed in case the function runs before main(); a second __builtin_cpu_init() does nothing.
  __builtin_cpu_init();
#endif
  const ChaCha20Kernel* best = all;
  for (const ChaCha20Kernel& kernel : all) {
    if (kernel.runs_here()) best = &kernel;
  }
  return *best;
}

}  // namespace keel::internal
