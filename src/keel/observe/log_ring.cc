#include "keel/observe/log_ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "keel/base/check.h"
#include "keel/observe/log_record.h"

namespace keel::log {
namespace {

using internal::RingBody;

struct State {
  std::mutex mutex;  // Guards the members up to `lost`.
  std::vector<std::unique_ptr<RingBody>> rings;
  RingOptions options;
  RingBody::Counts lost = {};  // Counts of rings that were destroyed.

  // The holder of shared_mutex is the only producer of `shared`. If both are needed, shared_mutex is locked before
  // `mutex`.
  std::mutex shared_mutex;
  RingBody* shared = nullptr;  // For threads without their own ring; it is also in `rings`.
  internal::CommitHook hook;

  std::atomic<bool> has_reader = false;
  std::atomic<bool> reader_in_background = false;
  std::atomic<std::uint32_t> wake_signal = 0;   // The value changes when the reader has to check the rings.
  std::atomic<std::uint32_t> space_signal = 0;  // The value changes when the reader has made room.
  std::atomic<std::uint32_t> space_waiters = 0;
};

// Never destroyed: threads may record until the process ends.
State& state() {
  static State& the_state = *new State;
  return the_state;
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, Duration timeout) noexcept {
  const std::int64_t ns = std::max<std::int64_t>(timeout.count_ns(), 0);
  const timespec relative{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen, &relative, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

void wake_reader() noexcept {
  state().wake_signal.fetch_add(1, std::memory_order_release);
  futex_wake_all(state().wake_signal);
}

void announce_space() noexcept {
  State& s = state();
  s.space_signal.fetch_add(1, std::memory_order_seq_cst);
  if (s.space_waiters.load(std::memory_order_seq_cst) != 0) futex_wake_all(s.space_signal);
}

// The rank of a level. When the ring is full, a record can displace only records of its own rank. There are three
// ranks: lines for each request, degraded states, errors.
int rank_of(Level level) noexcept { return level >= Level::Error ? 2 : level == Level::Warn ? 1 : 0; }

Level level_of(const internal::RecordHeader& header) noexcept {
  return static_cast<Level>(header.level & ~internal::has_trace);
}

// How many times the producer tries to take the tail from the reader; after that it drops the newest record.
constexpr int discard_patience = 64;

}  // namespace

void set_ring_options(const RingOptions& options) noexcept {
  std::lock_guard lock(state().mutex);
  state().options = options;
}

RingOptions ring_options() noexcept {
  std::lock_guard lock(state().mutex);
  return state().options;
}

bool is_read() noexcept { return state().has_reader.load(std::memory_order_acquire); }

namespace {

RingBody::Counts all_dropped() noexcept {
  std::lock_guard lock(state().mutex);
  RingBody::Counts all = state().lost;
  for (const auto& ring : state().rings) ring->add_dropped(all);
  return all;
}

}  // namespace

std::uint64_t dropped() noexcept {
  const RingBody::Counts all = all_dropped();
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
}

std::uint64_t dropped(Level level) noexcept { return all_dropped()[static_cast<std::size_t>(level)]; }

namespace internal {

RingBody::RingBody(const RingOptions& options)
    : capacity_(std::bit_ceil(std::max<std::uint64_t>(options.bytes, 4096))),
      mask_(capacity_ - 1),
      overflow_(options.overflow) {
  data_ = static_cast<char*>(std::aligned_alloc(64, capacity_));
  KEEL_CHECK(data_ != nullptr, "there must be memory for a log ring");
}

RingBody::~RingBody() { std::free(data_); }

void RingBody::add_dropped(Counts& to) const noexcept {
  for (std::size_t i = 0; i < level_count; ++i) to[i] += dropped_[i].get();
}

std::uint64_t RingBody::share(Level level) const noexcept {
  // Records of rank 0 may not fill the last quarter of the ring, and records of rank 1 may not fill the last eighth.
  static constexpr std::uint64_t kept_free[] = {4, 8};
  const int rank = rank_of(level);
  return rank == 2 ? capacity_ : capacity_ - capacity_ / kept_free[rank];
}

char* RingBody::reserve_slow(std::uint32_t bytes, Level level) noexcept {
  const std::uint64_t half = capacity_ / 2;
  if (bytes > half) {
    count_drop(level);
    return nullptr;
  }
  const std::uint64_t share_of_level = share(level);
  const std::uint64_t contiguous = capacity_ - (next_ & mask_);
  const std::uint64_t need = bytes <= contiguous ? bytes : contiguous + bytes;
  std::uint64_t tail = tail_.load(std::memory_order_acquire);
  // The bytes skipped at the end of the ring do not count towards the share of a level; otherwise an empty ring could
  // reject a record that fits.
  while (next_ + need - tail > capacity_ || next_ + bytes - tail > share_of_level) {
    bool again = false;
    if (overflow_ == Overflow::DropOldest) {
      again = discard_oldest(level);
    } else if (overflow_ == Overflow::Block) {
      State& s = state();
      const std::uint32_t seen = s.space_signal.load(std::memory_order_seq_cst);
      s.space_waiters.fetch_add(1, std::memory_order_seq_cst);
      again = s.reader_in_background.load(std::memory_order_acquire);
      if (again && tail_.load(std::memory_order_acquire) == tail) {
        wake_reader();
        futex_wait(s.space_signal, seen, Duration::milliseconds(10));
      }
      s.space_waiters.fetch_sub(1, std::memory_order_seq_cst);
    }
    if (!again) {
      count_drop(level);
      return nullptr;
    }
    tail = tail_.load(std::memory_order_acquire);
  }
  if (bytes > contiguous) {
    // The rest of the ring is too short for this record, so the first word of a header marks the rest as padding. The
    // padding is published with the record.
    auto* skip = reinterpret_cast<RecordHeader*>(data_ + (next_ & mask_));
    skip->bytes = static_cast<std::uint32_t>(contiguous);
    skip->level = padding;
    next_ += contiguous;
  }
  const std::uint64_t lap_end = (next_ & ~mask_) + capacity_;
  // Once the ring is filled beyond the share of the lowest level, each record is checked against the share of its own
  // level.
  soft_limit_ = std::min(lap_end, tail + share(Level::Trace));
  if (next_ + bytes - tail <= half) {
    soft_limit_ = std::min(soft_limit_, tail + half);
    woke_reader_ = false;
  } else if (!woke_reader_) {
    woke_reader_ = true;
    wake_reader();
  }
  return data_ + (next_ & mask_);
}

bool RingBody::discard_oldest(Level level) noexcept {
  for (int i = 0; i < discard_patience; ++i) {
    if (!try_hold_tail()) continue;
    bool gives_way = true;
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail != head_.load(std::memory_order_relaxed)) {
      const RecordHeader& oldest = at(tail);
      const bool is_record = oldest.level != padding;
      gives_way = !is_record || rank_of(level_of(oldest)) <= rank_of(level);
      if (gives_way) {
        if (is_record) count_drop(level_of(oldest));
        tail_.store(tail + oldest.bytes, std::memory_order_relaxed);
      }
    }
    release_tail();
    return gives_way;
  }
  return false;
}

std::size_t RingBody::drain(FunctionRef<void(const Record&)> f) {
  const std::uint64_t head = head_.load(std::memory_order_acquire);
  std::size_t count = 0;
  if (overflow_ == Overflow::DropOldest) {
    // The tail is held for one record at a time, so that the producer seldom finds it held.
    while (true) {
      while (!try_hold_tail()) {
      }
      const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
      const bool more = tail < head;
      if (more) {
        const RecordHeader& header = at(tail);
        const std::uint32_t bytes = header.bytes;
        if (header.level != padding) {
          f(Record(header));
          ++count;
        }
        tail_.store(tail + bytes, std::memory_order_release);
      }
      release_tail();
      if (!more) return count;
    }
  }
  std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  while (tail != head) {
    const RecordHeader& header = at(tail);
    const std::uint32_t bytes = header.bytes;
    if (header.level != padding) {
      f(Record(header));
      ++count;
    }
    tail += bytes;
    tail_.store(tail, std::memory_order_release);
  }
  return count;
}

void RingBody::add_left(Counts& to) noexcept {
  const std::uint64_t head = head_.load(std::memory_order_acquire);
  for (std::uint64_t tail = tail_.load(std::memory_order_relaxed); tail != head; tail += at(tail).bytes) {
    if (at(tail).level != padding) ++to[static_cast<std::size_t>(level_of(at(tail)))];
  }
}

RingBody& acquire_shared() noexcept {
  State& s = state();
  s.shared_mutex.lock();
  if (s.shared == nullptr) {
    std::lock_guard lock(s.mutex);
    s.rings.push_back(std::make_unique<RingBody>(s.options));
    s.shared = s.rings.back().get();
  }
  return *s.shared;
}

void release_shared() noexcept {
  State& s = state();
  if (s.hook.call != nullptr) s.hook.call(s.hook.context);
  s.shared_mutex.unlock();
}

void set_commit_hook(CommitHook hook) noexcept {
  std::lock_guard lock(state().shared_mutex);
  state().hook = hook;
  has_commit_hook.store(hook.call != nullptr, std::memory_order_release);
}

void run_commit_hook(const RingBody& ring) noexcept {
  if (!ring.runs_commit_hook) return;
  State& s = state();
  std::lock_guard lock(s.shared_mutex);
  if (s.hook.call != nullptr) s.hook.call(s.hook.context);
}

}  // namespace internal

Ring::Ring(const RingOptions& options) {
  KEEL_CHECK(internal::current_ring == nullptr, "a thread can have only one log ring");
  auto body = std::make_unique<RingBody>(options);
  body_ = body.get();
  body_->runs_commit_hook = true;
  internal::current_ring = body_;
  std::lock_guard lock(state().mutex);
  state().rings.push_back(std::move(body));
}

Ring::~Ring() {
  KEEL_CHECK(internal::current_ring == body_, "a log ring must be destroyed on the thread that made it");
  internal::current_ring = nullptr;
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (s.has_reader.load(std::memory_order_relaxed)) {
    body_->closed.store(true, std::memory_order_release);
    return;
  }
  body_->add_dropped(s.lost);
  body_->add_left(s.lost);
  std::erase_if(s.rings, [this](const auto& ring) { return ring.get() == body_; });
}

Reader::Reader(bool background) : seen_(state().wake_signal.load(std::memory_order_acquire)) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  KEEL_CHECK(!s.has_reader.load(std::memory_order_relaxed), "the log can have only one reader");
  s.has_reader.store(true, std::memory_order_relaxed);
  s.reader_in_background.store(background, std::memory_order_release);
}

Reader::~Reader() {
  State& s = state();
  {
    std::lock_guard lock(s.mutex);
    s.has_reader.store(false, std::memory_order_relaxed);
    s.reader_in_background.store(false, std::memory_order_release);
    std::erase_if(s.rings, [&s](const auto& ring) {
      if (!ring->closed.load(std::memory_order_acquire)) return false;
      ring->add_dropped(s.lost);
      ring->add_left(s.lost);
      return true;
    });
  }
  announce_space();
}

std::size_t Reader::drain(FunctionRef<void(const Record&)> f) {
  State& s = state();
  std::size_t count = 0;
  // While there is a reader, only the reader removes rings. Therefore the lock is not held while `f` writes, possibly
  // to a slow disk.
  std::unique_lock lock(s.mutex);
  for (std::size_t i = 0; i < s.rings.size();) {
    RingBody& ring = *s.rings[i];
    lock.unlock();
    const bool closed = ring.closed.load(std::memory_order_acquire);
    count += ring.drain(f);
    lock.lock();
    if (closed) {
      ring.add_dropped(s.lost);
      s.rings.erase(s.rings.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  lock.unlock();
  if (count != 0) announce_space();
  return count;
}

void Reader::wait(Duration timeout) noexcept {
  futex_wait(state().wake_signal, seen_, timeout);
  seen_ = state().wake_signal.load(std::memory_order_acquire);
}

void Reader::wake() noexcept { wake_reader(); }

}  // namespace keel::log
