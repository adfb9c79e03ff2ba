// Records which thread publishes on which topic, so that a topic knows when an old list of subscribers is no longer
// read, and when no thread is calling a subscriber that has been ended.
//
// These are hazard pointers (Michael, IEEE TPDS 15(6), 2004), but the expensive half of the barrier is in the code that
// rarely runs: in the replacement of a list. A publisher stores a pointer to the list that it is about to use, and then
// checks that the list is still current; between the store and the check there is a barrier only for the compiler.
// Before a thread that replaces a list reads the pointers that the publishers have stored, it makes every running
// thread execute a barrier (membarrier(2)). Without membarrier, and under ThreadSanitizer, which does not know
// membarrier, the publisher's store is sequentially consistent.
//
// readers_test.cc runs a publisher and a thread that replaces a list in all interleavings.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "keel/base/single_writer_counter.h"

namespace keel::events::internal {

struct Snapshot;
class Subscriber;

// The state of one call of publish() that is running on a thread, or has ended: the list that the call reads and the
// subscriber that it calls. Only the publishing thread writes the Frame.
struct alignas(64) Frame {
  bool is_free() const noexcept { return snapshot.load(std::memory_order_relaxed) == nullptr; }

  std::atomic<const Snapshot*> snapshot = nullptr;
  std::atomic<const Subscriber*> calling = nullptr;
  std::atomic<Frame*> inner = nullptr;  // Made when a handler first publishes, and then kept.
};

// The counts of the events of one topic on one thread.
struct Counts {
  SingleWriterCounter published, delivered, failed, dropped;
};
struct Totals {
  std::uint64_t published = 0, delivered = 0, failed = 0, dropped = 0;
};

inline constexpr std::uint32_t topics_max = 1024;  // The maximum number of topics in a process at a time.

// The state that Readers keeps for one thread. A thread that ends leaves its Reader to a later thread.
class Reader {
 public:
  explicit Reader(bool has_barrier);

  // Each running publish() on this thread uses one frame: the outermost call uses the first frame, and each nested call
  // the next frame. Free frames come last. Without the barrier, the outermost frame must never look free while another
  // frame is in use, because a publisher that finds it free does not check the other frames.
  Frame& outermost() noexcept { return outermost_; }
  Frame& first_free();
  Counts& counts(std::uint32_t topic) const noexcept { return counts_[topic]; }

  // Whether the thread that ends a subscription executes the barrier for all threads.
  bool has_barrier() const noexcept { return has_barrier_; }

 private:
  friend struct Readers;

  Frame outermost_;
  Counts* const counts_;
  const bool has_barrier_;
  std::atomic<bool> is_taken_ = true;
  Reader* next_ = nullptr;
};

// The calling thread's Reader. The access must not be inlined into coroutines, which may change threads.
constinit inline thread_local Reader* current_reader = nullptr;
Reader& make_current_reader();
inline Reader& this_reader() {
  Reader* const reader = current_reader;
  if (reader == nullptr) [[unlikely]]
    return make_current_reader();
  return *reader;
}

// The steps that a publisher with a free frame takes, in the order of the functions below. `has_barrier` must be equal
// to Reader::has_barrier.
template <bool has_barrier>
struct Publishing {
  // The returned list is not freed before end().
  static const Snapshot& begin(Frame& frame, const std::atomic<const Snapshot*>& current) noexcept {
    const Snapshot* seen = current.load(std::memory_order_relaxed);
    while (true) {
      announce(frame.snapshot, seen);
      const Snapshot* const again = current.load(std::memory_order_seq_cst);
      if (again == seen) [[likely]]
        return *seen;
      seen = again;
    }
  }
  // A publisher calls this function before it reads from `subscriber` which function to call.
  static void calls(Frame& frame, const Subscriber& subscriber) noexcept { announce(frame.calling, &subscriber); }
  static void end(Frame& frame) noexcept {
    frame.calling.store(nullptr, std::memory_order_release);
    // The end of the call is announced as well, because the publisher then checks whether the list has been replaced,
    // while a thread that replaces the list checks which publishers still read it.
    announce(frame.snapshot, static_cast<const Snapshot*>(nullptr));
  }

 private:
  template <class T>
  static void announce(std::atomic<T>& where, T what) noexcept {
    if constexpr (has_barrier) {
      where.store(what, std::memory_order_release);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      where.store(what, std::memory_order_seq_cst);
    }
  }
};

// After this call, the queries below see every publisher that does not see the changes made before the call.
void pass_barrier() noexcept;
bool is_read(const Snapshot& snapshot) noexcept;
bool is_called(const Subscriber& subscriber) noexcept;
// Whether the calling thread is inside a call of `subscriber`.
bool is_called_here(const Subscriber& subscriber) noexcept;

// Allocates the number of a topic, which is its index for Reader::counts().
std::uint32_t take_topic();
void give_back_topic(std::uint32_t topic) noexcept;  // Call it when no thread publishes on the topic any more.
Totals totals(std::uint32_t topic) noexcept;

// Waits until another thread has made progress or a handler has ended: spins first, then sleeps.
class Patience {
 public:
  void wait() noexcept;

 private:
  int turns_ = 0;
};

}  // namespace keel::events::internal
