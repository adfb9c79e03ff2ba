// keel/observe/log_ring.h — the queues of log records: one ring per worker, and one writer thread that reads them all.
//
//   log::Ring ring;                       // on the worker's thread, for as long as it runs
//
// A thread that has installed a Ring records into it without locks or system calls; every other thread shares one ring
// behind a mutex. When a ring is full, the Overflow of its options decides which record is lost; lost records are
// counted exactly, by level (log::dropped()).
//
// A flood of lines does not displace lines of higher levels: the last quarter of a ring is for warnings and errors, the
// last eighth is only for errors, and a record never displaces a record of a higher rank.
//
// Threads:  a Ring belongs to the thread that made it and is destroyed there. One Reader exists at a time; only one
//           thread at a time may call the Reader (the caller locks).
// Lifetime: records outlive their Ring, so that the Reader still gets them. Without a Reader, records are dropped and
//           counted.
// Cost:     checking for room in a ring takes one comparison, and publishing takes one store. Only the reader's thread
//           bears the cost of reading.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "keel/base/error.h"
#include "keel/base/function.h"
#include "keel/base/single_writer_counter.h"
#include "keel/base/time.h"
#include "keel/observe/internal/log_layout.h"

namespace keel::log {

class Record;

enum class Overflow : std::uint8_t {
  DropNewest,  // The record that does not fit is lost. The worker never waits.
  // The oldest records are lost, and the worker never waits. If the reader holds the oldest record, or if that record
  // has a higher rank, the newest record is lost instead.
  DropOldest,
  Block,  // The worker waits for the writer. If there is no writer thread, Block acts as DropNewest.
};

// The size of a ring, and what happens when it is full.
struct RingOptions {
  // Rounded up to a power of two, at least 4 KiB. A record can take at most half of the ring.
  std::size_t bytes = 1 << 20;
  Overflow overflow = Overflow::DropNewest;
};

// Sets the default options of rings that are made from now on. Call at start-up.
void set_ring_options(const RingOptions& options) noexcept;
RingOptions ring_options() noexcept;

// Whether there is a Reader. Any thread.
bool is_read() noexcept;

// The number of records that were lost since the process began, in all rings, including destroyed rings; of all levels,
// or of one level.
std::uint64_t dropped() noexcept;
std::uint64_t dropped(Level level) noexcept;
inline constexpr std::size_t level_count = static_cast<std::size_t>(Level::Fatal) + 1;

namespace internal {

// A single-producer, single-consumer ring of bytes. Positions never decrease; their low bits are the place in the ring.
class RingBody {
 public:
  explicit RingBody(const RingOptions& options);
  ~RingBody();
  RingBody(const RingBody&) = delete;

  // Producer: reserves `bytes` (a multiple of 8) contiguously, or returns null when the record is lost (which is
  // counted).
  char* reserve(std::uint32_t bytes, Level level) noexcept {
    if (next_ + bytes > soft_limit_) [[unlikely]]
      return reserve_slow(bytes, level);
    return data_ + (next_ & mask_);
  }
  // Producer: publishes the bytes that were reserved last.
  void commit(std::uint32_t bytes) noexcept {
    next_ += bytes;
    head_.store(next_, std::memory_order_release);
  }

  // Consumer: calls `f` with every record that was published before the call, oldest first.
  std::size_t drain(FunctionRef<void(const Record&)> f);
  using Counts = std::array<std::uint64_t, level_count>;  // Counts of records, by level.
  void add_dropped(Counts& to) const noexcept;
  // Adds the records in the ring to `to`; call it only after the producer has ended.
  void add_left(Counts& to) noexcept;

  std::atomic<bool> closed = false;  // The producer has ended.
  bool runs_commit_hook = false;

 private:
  char* reserve_slow(std::uint32_t bytes, Level level) noexcept;
  // The part of the ring that records of this level may fill.
  std::uint64_t share(Level level) const noexcept;
  // False when the oldest record must not be dropped for a record of `level`.
  bool discard_oldest(Level level) noexcept;
  bool try_hold_tail() noexcept { return !tail_held_.exchange(true, std::memory_order_acquire); }
  void release_tail() noexcept { tail_held_.store(false, std::memory_order_release); }
  const RecordHeader& at(std::uint64_t position) const noexcept {
    return *reinterpret_cast<const RecordHeader*>(data_ + (position & mask_));
  }
  void count_drop(Level level) noexcept { dropped_[static_cast<std::size_t>(level)].add(); }

  // Constant, and read by both threads.
  char* data_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t mask_ = 0;
  Overflow overflow_;
  // Written by the producer.
  alignas(64) std::uint64_t next_ = 0;
  std::uint64_t soft_limit_ = 0;  // A record that ends before this position fits without a further check.
  bool woke_reader_ = false;
  std::array<SingleWriterCounter, level_count> dropped_;
  std::atomic<std::uint64_t> head_ = 0;
  // Written by the consumer. With DropOldest, the producer also moves the tail; `tail_held_` decides whether the
  // producer or the consumer may move it.
  alignas(64) std::atomic<std::uint64_t> tail_ = 0;
  std::atomic<bool> tail_held_ = false;
};

constinit inline thread_local RingBody* current_ring = nullptr;

// For threads without a ring: returns the shared ring, locked; release_shared() unlocks it and runs the commit hook.
RingBody& acquire_shared() noexcept;
void release_shared() noexcept;

// A hook that runs after every record, on the recording thread; only one call runs at a time. A log writer that has no
// thread uses the hook. The hook does not run after records in a RingBody that does not belong to a Ring.
struct CommitHook {
  void (*call)(void* context) noexcept = nullptr;
  void* context = nullptr;
};
constinit inline std::atomic<bool> has_commit_hook = false;
void run_commit_hook(const RingBody& ring) noexcept;
void set_commit_hook(CommitHook hook) noexcept;

}  // namespace internal

class Ring {
 public:
  Ring() : Ring(ring_options()) {}
  explicit Ring(const RingOptions& options);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

 private:
  internal::RingBody* body_ = nullptr;
};

// The one reader of all rings.
class Reader {
 public:
  // `background`: a separate thread drains the rings, so recording threads may wait for it (Overflow::Block).
  explicit Reader(bool background);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Calls `f` with every record that was recorded before the call: first the records of one thread in their order, then
  // those of the next thread, and so on. The Record is valid during the call. Returns the number of records. `f` must
  // not record.
  std::size_t drain(FunctionRef<void(const Record&)> f);
  // Sleeps until `timeout` is over, wake() is called or a ring is more than half full; returns immediately if wake()
  // was called or a ring became more than half full since the last wait() returned.
  void wait(Duration timeout) noexcept;
  void wake() noexcept;  // May be called on any thread.

 private:
  std::uint32_t seen_;
};

}  // namespace keel::log
