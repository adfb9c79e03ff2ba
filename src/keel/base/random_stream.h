// keel/base/random_stream.h — computes random bits that cannot be predicted, for a worker's Host::random().
//
// ChaCha20 (RFC 8439 §2.3) with fast key erasure (Bernstein, 2017). The 256-bit key comes from a host's secret(), that
// is, from the kernel on the system host and from the seed in a simulation. Sixteen blocks are computed at a time; the
// first 256 bits become the next key, and each value is erased when it is returned. An attacker who knows some of the
// values cannot compute any other value; an attacker who reads the memory cannot compute any earlier value. The same
// key gives the same values on every processor.
//
// fork(): the child's stream continues with a new key from the host. Two virtual machines that are started from one
// snapshot produce the same values. Where equal values are not acceptable, use Host::secret(), which gets its bits from
// the kernel.
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
  std::uint32_t left_ = 0;  // The number of `values_` that have not been returned; the last value is returned first.
  std::uint32_t forks_ = 0;
  std::uint32_t key_[8];
  std::uint64_t values_[124];
};

}  // namespace keel
