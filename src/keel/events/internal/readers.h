// Records which thread publishes on which topic: so a topic knows when nobody reads an old list of subscribers any
// more, and when nobody calls a subscriber that has been ended.
//
// Hazard pointers (Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", IEEE TPDS 2004), with the
// expensive half of the barrier on the side that needs it rarely. A publisher stores what it is about to use, and
// checks again whether that is still in use, with a barrier for the compiler only. A thread that takes something out of
// use makes every running thread pass a barrier (membarrier(2)) before it looks at what they have stored. Without
// membarrier, and under ThreadSanitizer, which does not know it, the publisher's store is sequentially consistent.
//
// readers_test.cc goes through all interleavings of the two.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "keel/base/single_writer_counter.h"

namespace keel::events::internal {

struct Snapshot;
class Subscriber;

// One call of publish() that is running on a thread, or has run: what it reads, and which subscriber it calls. Only
// that thread writes it.
struct alignas(64) Frame {
  bool is_free() const noexcept { return snapshot.load(std::memory_order_relaxed) == nullptr; }

  std::atomic<const Snapshot*> snapshot = nullptr;
  std::atomic<const Subscriber*> calling = nullptr;
  std::atomic<Frame*> inner = nullptr;  // Made when a handler first publishes, then kept.
};

// What happened to the events of one topic on one thread.
struct Counts {
  SingleWriterCounter published, delivered, failed, dropped;
};
struct Totals {
  std::uint64_t published = 0, delivered = 0, failed = 0, dropped = 0;
};

inline constexpr std::uint32_t topics_max = 1024;  // The most topics in a process at a time.

// The part of one thread. A thread that ends leaves its Reader to a later thread.
class Reader {
 public:
  explicit Reader(bool has_barrier);

  // The calls of publish() on this thread, from the outermost to the innermost; running ones come first. Without the
  // barrier the outermost one is never considered free: whoever finds it free would not check further.
  Frame& outermost() noexcept { return outermost_; }
  Frame& first_free();
  Counts& counts(std::uint32_t topic) const noexcept { return counts_[topic]; }

  // Whether the thread that ends a subscription makes the barrier for all.
  bool has_barrier() const noexcept { return has_barrier_; }

 private:
  friend struct Readers;

  Frame outermost_;
  Counts* const counts_;
  const bool has_barrier_;
  std::atomic<bool> is_taken_ = true;
  Reader* next_ = nullptr;
};

// The calling thread's Reader. Must not be inlined into coroutines, which may change threads.
constinit inline thread_local Reader* current_reader = nullptr;
Reader& make_current_reader();
inline Reader& this_reader() {
  Reader* const reader = current_reader;
  if (reader == nullptr) [[unlikely]]
    return make_current_reader();
  return *reader;
}

// What a publisher does with a free frame, in this order. `has_barrier` is the value of its reader.
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
  // Called before it looks how `subscriber` is to be called.
  static void calls(Frame& frame, const Subscriber& subscriber) noexcept { announce(frame.calling, &subscriber); }
  static void end(Frame& frame) noexcept {
    frame.calling.store(nullptr, std::memory_order_release);
    // Announced: a leaving publisher checks whether the list has been replaced, and a thread that replaces the list
    // checks who still reads it.
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

// After this, every publisher that does not see the earlier changes is seen by the queries below.
void pass_barrier() noexcept;
bool is_read(const Snapshot& snapshot) noexcept;
bool is_called(const Subscriber& subscriber) noexcept;
// Whether the calling thread does it: then the query comes from inside the handler.
bool is_called_here(const Subscriber& subscriber) noexcept;

// Numbers of topics, by which Reader::counts() are indexed.
std::uint32_t take_topic();
void give_back_topic(std::uint32_t topic) noexcept;  // Called when nobody publishes there any more.
Totals totals(std::uint32_t topic) noexcept;

// Waits for something that another thread does soon, or for the end of a handler: spins first, then sleeps.
class Patience {
 public:
  void wait() noexcept;

 private:
  int turns_ = 0;
};

}  // namespace keel::events::internal
