// What a block costs a program that allocates all the time: one that is freed and another one that is allocated in its
// place. Prints nanoseconds of CPU for such a step, and its resident memory.
//
//   bench_allocate --from=malloc | --from=pool     malloc is the one that is preloaded; pool is keel/base/pool.h
//
// Sizes and their shares are S0's: 256 bytes for a line of the log, thirteen times as often as 1.2 KB for a request.
// 16,384 blocks live at a time, about 5 MB; which one is freed next is random, but the same in every run. Each holds
// its number, which must be there when it is freed.

#include <sys/resource.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "keel/base/pool.h"

namespace {

constexpr std::size_t live_max = 16 * 1024;
constexpr std::size_t line_bytes = 256;
constexpr std::size_t request_bytes = 1229;

struct Block {
  char* bytes = nullptr;
  std::size_t size = 0;
  std::uint64_t number = 0;
};

struct Malloc {
  static void* allocate(std::size_t size) { return std::malloc(size); }
  static void free(void* block, std::size_t) { std::free(block); }
};
struct Pool {
  static void* allocate(std::size_t size) { return keel::pool_allocate(size); }
  static void free(void* block, std::size_t size) { keel::pool_free(block, size); }
};

double seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (14), 2003.
struct Random {
  std::uint64_t operator()() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  std::uint64_t state = 88172645463325252u;
};

template <class From>
class Work {
 public:
  void steps(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t random = random_();
      Block& block = blocks_[random % live_max];
      if (block.bytes != nullptr) {
        std::uint64_t written = 0;
        std::memcpy(&written, block.bytes, sizeof written);
        if (written != block.number) std::abort();
        From::free(block.bytes, block.size);
      }
      block.size = (random >> 32) % 14 == 0 ? request_bytes : line_bytes;
      block.bytes = static_cast<char*>(From::allocate(block.size));
      if (block.bytes == nullptr) std::abort();
      block.number = ++number_;
      std::memcpy(block.bytes, &block.number, sizeof block.number);
      block.bytes[block.size - 1] = 1;
    }
  }

 private:
  Random random_;
  std::vector<Block> blocks_{live_max};
  std::uint64_t number_ = 0;
};

template <class From>
int measure() {
  constexpr std::uint64_t per_round = 10'000;
  Work<From> work;
  work.steps(20 * live_max);
  const double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
  const double end = seconds(CLOCK_MONOTONIC) + 0.4;
  std::uint64_t count = 0;
  do {
    work.steps(per_round);
    count += per_round;
  } while (seconds(CLOCK_MONOTONIC) < end);
  const double used = seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("{\"ns\": %.3f, \"whole_cpu\": %.6f, \"rss_kb\": %ld}\n", used * 1e9 / static_cast<double>(count),
              seconds(CLOCK_PROCESS_CPUTIME_ID), usage.ru_maxrss);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view from = argc == 2 ? argv[1] : "";
  if (from == "--from=malloc") return measure<Malloc>();
  if (from == "--from=pool") return measure<Pool>();
  std::fprintf(stderr, "usage: %s --from=malloc|pool\n", argv[0]);
  return 2;
}
