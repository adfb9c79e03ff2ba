#include "keel/base/scan.h"

#include "keel/base/internal/scan_kernels.h"

#ifdef __SSE2__
#include <immintrin.h>

#include <atomic>

namespace keel::scan::internal {
namespace {

const char* find_sse2(const Far& set, const char* at, const char* end) noexcept { return set.find(at - 16, at, end); }

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i load_both_halves(const unsigned char* table) noexcept {
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
}

[[gnu::target("avx2"), gnu::always_inline]] inline unsigned hits_avx2(__m256i by_low, __m256i by_high,
                                                                      const char* block) noexcept {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
  const __m256i half = _mm256_set1_epi8(0x0f);
  const __m256i low = _mm256_shuffle_epi8(by_low, _mm256_and_si256(x, half));
  const __m256i high = _mm256_shuffle_epi8(by_high, _mm256_and_si256(_mm256_srli_epi16(x, 4), half));
  const __m256i misses = _mm256_cmpeq_epi8(_mm256_and_si256(low, high), _mm256_setzero_si256());
  return ~static_cast<unsigned>(_mm256_movemask_epi8(misses));
}

[[gnu::target("avx2")]] const char* find_avx2(const Far& set, const char* at, const char* end) noexcept {
  const __m256i by_low = load_both_halves(set.nibbles.by_low);
  const __m256i by_high = load_both_halves(set.nibbles.by_high);
  for (; end - at >= 32; at += 32) {
    if (const unsigned found = hits_avx2(by_low, by_high, at)) return at + __builtin_ctz(found);
  }
  if (at == end) return end;
  const unsigned found = hits_avx2(by_low, by_high, end - 32) >> (32 - (end - at));
  return found != 0 ? at + __builtin_ctz(found) : end;
}

[[gnu::target("avx512f,avx512bw"), gnu::always_inline]] inline __m512i load_four_times(
    const unsigned char* table) noexcept {
  return _mm512_maskz_broadcast_i32x4(0xffff, _mm_load_si128(reinterpret_cast<const __m128i*>(table)));
}

[[gnu::target("avx512f,avx512bw"), gnu::always_inline]] inline std::uint64_t hits_avx512(__m512i by_low,
                                                                                         __m512i by_high,
                                                                                         const char* block) noexcept {
  const __m512i x = _mm512_loadu_si512(block);
  const __m512i half = _mm512_set1_epi8(0x0f);
  const __m512i low = _mm512_shuffle_epi8(by_low, _mm512_and_si512(x, half));
  const __m512i high = _mm512_shuffle_epi8(by_high, _mm512_and_si512(_mm512_srli_epi16(x, 4), half));
  return _mm512_test_epi8_mask(low, high);
}

[[gnu::target("avx512f,avx512bw")]] const char* find_avx512(const Far& set, const char* at, const char* end) noexcept {
  const __m512i by_low = load_four_times(set.nibbles.by_low);
  const __m512i by_high = load_four_times(set.nibbles.by_high);
  for (; end - at >= 64; at += 64) {
    if (const std::uint64_t found = hits_avx512(by_low, by_high, at)) return at + __builtin_ctzll(found);
  }
  if (at == end) return end;
  const std::uint64_t found = hits_avx512(by_low, by_high, end - 64) >> (64 - (end - at));
  return found != 0 ? at + __builtin_ctzll(found) : end;
}

bool always() noexcept { return true; }
bool has_avx2() noexcept { return __builtin_cpu_supports("avx2"); }
// The first processors with VBMI2 (Ice Lake, Zen 4) were also the first to keep their clock rate while they use vectors
// of 512 bits.
bool has_fast_avx512() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vbmi2");
}

constexpr Kernel all[] = {
    {"sse2", &find_sse2, &always}, {"avx2", &find_avx2, &has_avx2}, {"avx512", &find_avx512, &has_fast_avx512}};

// The first call checks what the processor supports; if several threads make the first call concurrently, all get the
// same result.
const char* find_first_time(const Far& set, const char* at, const char* end) noexcept;
constinit std::atomic<decltype(Kernel::find)> chosen = &find_first_time;

const char* find_first_time(const Far& set, const char* at, const char* end) noexcept {
  const auto best = best_kernel().find;
  chosen.store(best, std::memory_order_relaxed);
  return best(set, at, end);
}

}  // namespace

std::span<const Kernel> kernels() noexcept { return all; }

const Kernel& best_kernel() noexcept {
  // This call is needed in case the function runs before main(); a second __builtin_cpu_init() does nothing.
  __builtin_cpu_init();
  const Kernel* best = all;
  for (const Kernel& kernel : all) {
    if (kernel.runs_here()) best = &kernel;
  }
  return *best;
}

const char* find_far(const Far& set, const char* at, const char* end) noexcept {
  return chosen.load(std::memory_order_relaxed)(set, at, end);
}

}  // namespace keel::scan::internal
#endif
