// keel/observe/log_ring.h — where log records wait: one ring per worker, one writer thread that reads them all.
//
//   log::Ring ring;                       // on the worker's thread, for as long as it runs
//
// A thread that has installed a Ring records into it without locks or system calls; every other thread shares one ring
// behind a mutex. A full ring follows its Overflow; what it loses is counted exactly, by level (log::dropped()).
//
// A flood of lines does not push out those of higher levels: the last quarter of a ring is for warnings and errors, the
// last eighth for errors alone, and no record is lost for one of a lower of these three ranks.
//
// Threads:  a Ring belongs to the thread that made it and is destroyed there. One Reader exists at a time; its calls
//           come from one thread at a time (the caller locks).
// Lifetime: what a thread recorded survives its Ring: the Reader gets it. Without a Reader it is dropped and counted.
// Cost:     room in a ring is one compare; publishing is one store. Reading is paid by the reader.

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
  // The oldest records are lost, and the worker never waits. If the reader holds the oldest record, or if that has a
  // higher rank, the newest record is lost instead.
  DropOldest,
  Block,  // The worker waits for the writer. Without a writer thread this is DropNewest.
};

// The size of a ring, and what happens when it is full.
struct RingOptions {
  std::size_t bytes = 1 << 20;  // Rounded up to a power of two, at least 4 KiB. Half of it bounds one record.
  Overflow overflow = Overflow::DropNewest;
};

// The default options of rings that are made from now on. Call at start-up.
void set_ring_options(const RingOptions& options) noexcept;
RingOptions ring_options() noexcept;

// Whether there is a Reader. Any thread.
bool is_read() noexcept;

// Records lost since the process began, in all rings, those gone included; and those of one level.
std::uint64_t dropped() noexcept;
std::uint64_t dropped(Level level) noexcept;
inline constexpr std::size_t level_count = static_cast<std::size_t>(Level::Fatal) + 1;

namespace internal {

// A single-producer, single-consumer ring of bytes. Positions count up for ever; the low bits are the place.
class RingBody {
 public:
  explicit RingBody(const RingOptions& options);
  ~RingBody();
  RingBody(const RingBody&) = delete;

  // Producer: `bytes` (a multiple of 8) in one piece, or null when they are lost (counted).
  char* reserve(std::uint32_t bytes, Level level) noexcept {
    if (next_ + bytes > soft_limit_) [[unlikely]]
      return reserve_slow(bytes, level);
    return data_ + (next_ & mask_);
  }
  // Producer: publishes what was reserved last.
  void commit(std::uint32_t bytes) noexcept {
    next_ += bytes;
    head_.store(next_, std::memory_order_release);
  }

  // Consumer: calls `f` with every record that was published before the call, oldest first.
  std::size_t drain(FunctionRef<void(const Record&)> f);
  using Counts = std::array<std::uint64_t, level_count>;  // Counts of records, by level.
  void add_dropped(Counts& to) const noexcept;
  // Records that are in it; only once the producer is gone.
  void add_left(Counts& to) noexcept;

  std::atomic<bool> closed = false;  // The producer is gone.
  bool runs_commit_hook = false;

 private:
  char* reserve_slow(std::uint32_t bytes, Level level) noexcept;
  // How much of it records of this level may fill.
  std::uint64_t share(Level level) const noexcept;
  // False when the oldest record cannot give way to one of `level`.
  bool discard_oldest(Level level) noexcept;
  bool try_hold_tail() noexcept { return !tail_held_.exchange(true, std::memory_order_acquire); }
  void release_tail() noexcept { tail_held_.store(false, std::memory_order_release); }
  const RecordHeader& at(std::uint64_t position) const noexcept {
    return *reinterpret_cast<const RecordHeader*>(data_ + (position & mask_));
  }
  void count_drop(Level level) noexcept { dropped_[static_cast<std::size_t>(level)].add(); }

  // Read by both, written by neither.
  char* data_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t mask_ = 0;
  Overflow overflow_;
  // The producer's.
  alignas(64) std::uint64_t next_ = 0;
  std::uint64_t soft_limit_ = 0;  // Up to here a record fits without a second thought.
  bool woke_reader_ = false;
  std::array<SingleWriterCounter, level_count> dropped_;
  std::atomic<std::uint64_t> head_ = 0;
  // The consumer's. With DropOldest the producer moves the tail too, and `tail_held_` says whose turn it is.
  alignas(64) std::atomic<std::uint64_t> tail_ = 0;
  std::atomic<bool> tail_held_ = false;
};

constinit inline thread_local RingBody* current_ring = nullptr;

// For threads without a ring: the shared one, locked; release_shared() unlocks it and runs the commit hook.
RingBody& acquire_shared() noexcept;
void release_shared() noexcept;

// Runs after every record, on the recording thread, one at a time. For a writer without a thread of its own. Not after
// records in a RingBody that is no Ring's.
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
  // `background`: a thread of its own drains, so that recording threads may wait for it (Overflow::Block).
  explicit Reader(bool background);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Gives `f` every record that was recorded before the call: in order within a thread, one thread after the other.
  // The Record is valid during the call. Returns how many. `f` must not record.
  std::size_t drain(FunctionRef<void(const Record&)> f);
  // Sleeps until `timeout` is over, wake() is called or a ring is more than half full; returns immediately if that
  // happened since the last wait() returned.
  void wait(Duration timeout) noexcept;
  void wake() noexcept;  // On any thread.

 private:
  std::uint32_t seen_;
};

}  // namespace keel::log
