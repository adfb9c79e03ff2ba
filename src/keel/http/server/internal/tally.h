// keel/http/server/internal/tally.h — a counter with one writer that others may read.
//
// Threads: add, subtract and set on one thread; get on any.  Cost: a load and a store.

#pragma once

#include <atomic>
#include <cstdint>

namespace keel::http {

class Tally {
 public:
  void add(std::uint64_t n = 1) noexcept { set(get() + n); }
  void subtract(std::uint64_t n = 1) noexcept { set(get() - n); }
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace keel::http
