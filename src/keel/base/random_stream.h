// keel/base/random_stream.h — computed random bits that cannot be predicted: the source of a worker's
// Host::random().
//
// ChaCha20 (RFC 8439 §2.3) with fast key erasure (D. J. Bernstein, 2017). The key, 256 bits, is taken from a host's
// secret(): the kernel's on the system, the seed's in a simulation. Sixteen blocks are computed at a time; the first
// 256 bits become the next key, and each value is erased when it is returned. An observer of some values cannot compute
// others, and a reader of the memory cannot compute earlier ones. The same key gives the same values
// on every processor.
//
// fork(): the child's stream continues with a new key from the host. A virtual machine whose snapshot is started twice
// produces the same values in both. Where that is not acceptable, use Host::secret(), which asks the kernel.
//
// Threads:  one at a time.
// Lifetime: the host outlives the stream.
// Cost:     1,064 bytes. next() is three loads, a store and two comparisons; every 124th call computes the blocks.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace keel {

class Host;

namespace internal {
// The number of forks between the first process and this one.
extern std::atomic<std::uint32_t> forks;
}  // namespace internal

class RandomStream {
 public:
  explicit RandomStream(Host& host);
  ~RandomStream();
  RandomStream(const RandomStream&) = delete;
  RandomStream& operator=(const RandomStream&) = delete;

  std::uint64_t next() noexcept {
    if (left_ == 0 || forks_ != internal::forks.load(std::memory_order_relaxed)) [[unlikely]]
      refill();
    return std::exchange(values_[--left_], 0);
  }

 private:
  void take_key() noexcept;
  void refill() noexcept;

  Host& host_;
  std::uint32_t left_ = 0;  // The number of `values_` that have not been returned; the last one is returned first.
  std::uint32_t forks_ = 0;
  std::uint32_t key_[8];
  std::uint64_t values_[124];
};

}  // namespace keel
