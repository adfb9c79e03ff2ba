// keel/base/testing/interleaving.h — runs lock-free code of a few threads in every order that their atomic operations
// can take; for tests, which link keel::base_testing.
//
//   struct Run {                                                  // made anew for each schedule
//     SpscRing<Watched<int>, interleaving::Atomics> ring{2};
//     std::optional<int> got;
//     void push() { ring.try_push(1); }
//     void pop() { got = ring.try_pop(); }
//     void check() { require(!got || *got == 1, "what was pushed is popped"); }   // after both
//   };
//   const Verdict verdict = explore<Run>({&Run::push, &Run::pop}, {.stale_loads = 1});
//   EXPECT_EQ(verdict.failure, "");
//
// Schedules: the threads are fibers; before each atomic operation the checker decides which thread continues, and
// explores all decisions, depth first. Operations are independent if they use different atomics, or are all loads.
// Among schedules that differ only in the order of independent operations, only one is run. The method is Godefroid's
// sleep sets ("Partial-Order Methods for the Verification of Concurrent Systems", 1996).
//
// Memory: the writes to an atomic have one order, the order in which they ran. A load returns the newest write, except
//         that up to `stale_loads` loads in each thread return an older write that C++ permits: a write whose successor
//         the thread does not know. A thread knows the writes that it has read or made. When a thread acquires a
//         released value, also through read-modify-writes, it learns everything that the releasing thread knew
//         ([intro.races], [atomics.order]). A read-modify-write uses the newest write. Plain data is in Watched: two
//         accesses, at least one of which writes, are a failure unless happens-before orders them. The destruction of
//         an atomic must also be ordered after its uses; a use after the destruction is a failure.
//
// Therefore C++ permits every failing execution that is reported. However, some permitted executions are not explored:
// no write is inserted between older writes, no load returns a later write, and compare_exchange_weak does not fail
// spuriously. memory_order_seq_cst is rejected by a check, and there are no fences.
//
// The threads must end by themselves in every schedule: a thread may repeat an operation only a limited number of
// times, and may wait for another thread only by sleeping on an atomic. It is a failure if all threads sleep. Only
// wake_one() ends a sleep; no sleep ends spuriously.

#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>

namespace keel::interleaving {

// The extent of the exploration, and its limits.
struct Options {
  int stale_loads = 0;
  // The index of an atomic, from 0, in the order in which a Run creates its atomics. The loads of this atomic do not
  // acquire, and its writes do not release. Use this option to prove that a memory order is needed.
  int weak_loads_of = -1;
  int weak_stores_of = -1;
};

// The result: how many schedules ran, and the first schedule that failed.
struct Verdict {
  std::uint64_t schedules = 0;
  std::string failure;  // The failure of the first schedule that failed, with its steps; empty when no schedule failed.
};

// Makes the schedule fail if `condition` is false; call it in a thread or in check(). The schedule still continues to
// its end.
void require(bool condition, const char* sentence);

// The interface of Atomic and Watched to the checker.
namespace internal {
int make_atomic(std::uint64_t value);
void end_atomic(int atomic) noexcept;
std::uint64_t load(int atomic, std::memory_order order);
void store(int atomic, std::uint64_t value, std::memory_order order);
std::uint64_t exchange(int atomic, std::uint64_t value, std::memory_order order);
// Computes the new value from `before`, for an operation that reads and writes.
using Change = std::uint64_t (*)(std::uint64_t before, std::uint64_t by);
std::uint64_t change(int atomic, Change change, std::uint64_t by, std::memory_order order);
bool compare_exchange(int atomic, std::uint64_t& expected, std::uint64_t value, std::memory_order success,
                      std::memory_order failure);
void sleep_while(int atomic, std::uint64_t value);
void wake_one(int atomic);
void read_plain(const void* data);
void write_plain(const void* data);

class Subject {
 public:
  virtual ~Subject() = default;
  virtual void begin() = 0;
  virtual void run(int thread) = 0;
  virtual void end() = 0;
};
Verdict explore(Subject& subject, int threads, const Options& options);
}  // namespace internal

// Runs `threads` of a Run in every schedule, until all schedules have run or one has failed. A new Run is made before
// each schedule, and is checked after the schedule.
template <class Run>
Verdict explore(std::initializer_list<void (Run::*)()> threads, const Options& options = {}) {
  struct Each final : internal::Subject {
    explicit Each(std::initializer_list<void (Run::*)()> all) : bodies(all) {}
    void begin() override { made.emplace(); }
    void run(int thread) override { ((*made).*(bodies.begin()[thread]))(); }
    void end() override {
      made->check();
      made.reset();
    }
    std::initializer_list<void (Run::*)()> bodies;
    std::optional<Run> made;
  } each(threads);
  return internal::explore(each, static_cast<int>(threads.size()), options);
}

// Stands in for std::atomic: each access is a point where another thread may run.
template <class T>
class Atomic {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);

 public:
  Atomic(T value = T()) : atomic_(internal::make_atomic(to_word(value))) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;
  ~Atomic() { internal::end_atomic(atomic_); }

  T load(std::memory_order order) const noexcept { return from_word(internal::load(atomic_, order)); }
  void store(T to, std::memory_order order) noexcept { internal::store(atomic_, to_word(to), order); }
  T exchange(T to, std::memory_order order) noexcept {
    return from_word(internal::exchange(atomic_, to_word(to), order));
  }
  T fetch_add(T by, std::memory_order order) noexcept
    requires std::unsigned_integral<T>
  {
    return change<[](T before, T operand) { return static_cast<T>(before + operand); }>(by, order);
  }
  T fetch_sub(T by, std::memory_order order) noexcept
    requires std::unsigned_integral<T>
  {
    return change<[](T before, T operand) { return static_cast<T>(before - operand); }>(by, order);
  }
  T fetch_or(T bits, std::memory_order order) noexcept
    requires std::unsigned_integral<T>
  {
    return change<[](T before, T operand) { return static_cast<T>(before | operand); }>(bits, order);
  }
  T fetch_and(T bits, std::memory_order order) noexcept
    requires std::unsigned_integral<T>
  {
    return change<[](T before, T operand) { return static_cast<T>(before & operand); }>(bits, order);
  }
  bool compare_exchange_weak(T& expected, T to, std::memory_order success, std::memory_order failure) noexcept {
    return compare_exchange_strong(expected, to, success, failure);
  }
  bool compare_exchange_strong(T& expected, T to, std::memory_order success, std::memory_order failure) noexcept {
    std::uint64_t found = to_word(expected);
    const bool exchanged = internal::compare_exchange(atomic_, found, to_word(to), success, failure);
    expected = from_word(found);
    return exchanged;
  }
  // Like a futex (futex(2)): sleeps until a wake_one() if `value` is the newest value.
  void sleep_while(T value) noexcept { internal::sleep_while(atomic_, to_word(value)); }
  void wake_one() noexcept { internal::wake_one(atomic_); }

 private:
  template <auto next>
  T change(T by, std::memory_order order) noexcept {
    const internal::Change words = [](std::uint64_t before, std::uint64_t operand) {
      return to_word(next(from_word(before), from_word(operand)));
    };
    return from_word(internal::change(atomic_, words, to_word(by), order));
  }
  static std::uint64_t to_word(T value) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  static T from_word(std::uint64_t bits) noexcept {
    T result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
  }
  const int atomic_;
};

// Pass Atomics as the last template argument of the containers.
struct Atomics {
  template <class T>
  using Atomic = interleaving::Atomic<T>;
};

// A plain value that is handed from thread to thread.
template <class T>
class Watched {
 public:
  Watched(T value = T()) noexcept : value_(value) { internal::write_plain(this); }
  Watched(const Watched& other) noexcept : value_(other) { internal::write_plain(this); }
  ~Watched() { internal::write_plain(this); }
  Watched& operator=(const Watched& other) noexcept { return *this = static_cast<T>(other); }
  Watched& operator=(T value) noexcept {
    internal::write_plain(this);
    value_ = value;
    return *this;
  }
  operator T() const noexcept {
    internal::read_plain(this);
    return value_;
  }

 private:
  T value_;
};

}  // namespace keel::interleaving
