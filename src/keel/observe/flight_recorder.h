// keel/observe/flight_recorder.h — the last activities of a worker, and its current activity.
//
//   FlightRecorder recorder(loop.index());         // on the worker's thread, for as long as it runs
//   const flight::Doing doing(&tell, this);        // around the code that does a piece of work
//   flight::note({.verb = "GET", .object = "/users/{id}", …});
//
// The module that does the work chooses the words of its entries; http/server/server.h has the words of HTTP.
//
// Crash reports, reports of stalled workers and the admin listener use the recorder. Threads without a recorder record
// nothing.
//
// Threads:  only the thread that made the recorder may record; any thread may read at any time, and reading is
//           async-signal-safe. A Doing is read on its own thread, in a signal handler.
// Lifetime: verb and object of an entry live as long as the recorder.
// Cost:     a note takes ten stores, and a Doing takes four; a recorder has 8 KiB.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/observe/log.h"

namespace keel {

namespace flight {

// A completed piece of work.
struct Entry {
  std::string_view verb;
  std::string_view object;  // Empty: the work has no object.
  unsigned outcome = 0;
  std::uint64_t bytes = 0;  // The size of the result in bytes, for example of a response.
  Instant started;
  Duration took;
  log::TraceId trace;
};

// An activity that has not ended.
struct Activity {
  std::string_view verb;
  std::string_view object;
  log::TraceId trace;
};

}  // namespace flight

class FlightRecorder {
 public:
  static constexpr int recorders_max = 256;  // Workers beyond this number have no recorder.
  static constexpr int entries_max = 126;

  explicit FlightRecorder(int worker) noexcept;
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  int worker() const noexcept { return worker_; }
  void note(const flight::Entry& entry) noexcept {
    const std::uint64_t at = noted_.load(std::memory_order_relaxed);
    Slot& slot = slots_[at % slot_count];
    slot[0].store(pack(entry.verb), std::memory_order_relaxed);
    slot[1].store(pack(entry.object), std::memory_order_relaxed);
    slot[2].store(entry.outcome, std::memory_order_relaxed);
    slot[3].store(entry.bytes, std::memory_order_relaxed);
    slot[4].store(static_cast<std::uint64_t>(entry.started.ns()), std::memory_order_relaxed);
    slot[5].store(static_cast<std::uint64_t>(entry.took.count_ns()), std::memory_order_relaxed);
    slot[6].store(entry.trace.high, std::memory_order_relaxed);
    slot[7].store(entry.trace.low, std::memory_order_relaxed);
    noted_.store(at + 1, std::memory_order_release);
  }
  // Calls `f` with at most `count` of the last entries, newest first, without entries that were overwritten during the
  // call.
  void last(int count, FunctionRef<void(const flight::Entry&)> f) const noexcept;

  // The flight recorder of this thread, or null. Async-signal-safe.
  static const FlightRecorder* current() noexcept;
  // Calls `f` with each recorder, in no particular order. A recorder must not be destroyed during the call, so call
  // each() only while the workers exist.
  static void each(FunctionRef<void(const FlightRecorder&)> f) noexcept;

 private:
  // One slot may be in the middle of a write; on a machine that reorders stores, the next slot may be in the middle of
  // a write, too.
  static constexpr int slot_count = entries_max + 2;
  using Slot = std::array<std::atomic<std::uint64_t>, 8>;
  // Packs the address of a text (below 2^48) and the size of the text (less than 64 KiB) into one word.
  static std::uint64_t pack(std::string_view text) noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(text.data())) << 16 | (text.size() & 0xffff);
  }
  static std::string_view unpack(std::uint64_t word) noexcept {
    return {reinterpret_cast<const char*>(static_cast<std::uintptr_t>(word >> 16)), word & 0xffff};
  }

  std::array<Slot, slot_count> slots_{};
  std::atomic<std::uint64_t> noted_{0};
  const int worker_;
};

namespace flight {

// Describes what a piece of code is doing, for a signal handler that interrupts it. `how` returns the texts, which need
// to be valid only until the handler has ended.
class Doing {
 public:
  using Tell = Activity (*)(const void* subject);
  Doing(Tell how, const void* subject) noexcept;
  ~Doing();
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

  Activity tell() const { return tell_(subject_); }
  // The current activity of this thread; null if none was set.
  static const Doing* current() noexcept;

 private:
  Tell tell_;
  const void* subject_;
  const Doing* before_;
};

namespace internal {
constinit inline thread_local const Doing* current_doing = nullptr;
constinit inline thread_local FlightRecorder* current_recorder = nullptr;
}  // namespace internal

inline Doing::Doing(Tell how, const void* subject) noexcept
    : tell_(how), subject_(subject), before_(internal::current_doing) {
  std::atomic_signal_fence(std::memory_order_release);
  internal::current_doing = this;
}
inline Doing::~Doing() {
  internal::current_doing = before_;
  std::atomic_signal_fence(std::memory_order_release);
}
inline const Doing* Doing::current() noexcept { return internal::current_doing; }

// Adds an entry to the recorder of this thread, if the thread has a recorder.
inline void note(const Entry& entry) noexcept {
  if (internal::current_recorder != nullptr) internal::current_recorder->note(entry);
}

}  // namespace flight

inline const FlightRecorder* FlightRecorder::current() noexcept { return flight::internal::current_recorder; }

}  // namespace keel
