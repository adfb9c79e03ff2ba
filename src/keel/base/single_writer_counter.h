// keel/base/single_writer_counter.h — a counter that one thread changes and others read.
//
// Use a metrics::Counter for a sum over all threads, and for exported values (observe/metric.h).
//
// Threads: add(), subtract() and set() on one thread at a time; get() on any thread.
// Cost:    a load and a store, no atomic operation.

#pragma once

#include <atomic>
#include <cstdint>

namespace keel {

class SingleWriterCounter {
 public:
  void add(std::uint64_t n = 1) noexcept { set(get() + n); }
  void subtract(std::uint64_t n = 1) noexcept { set(get() - n); }
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace keel
