#include "keel/base/testing/interleaving.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/sanitizers.h"

#if KEEL_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#if KEEL_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace keel::interleaving::internal {
namespace {

constexpr int threads_max = 4;
constexpr int maker = threads_max;  // The thread that makes and checks a Run; the checker does not schedule it.
constexpr int atomics_max = 16;
constexpr std::size_t stack_bytes = 256 * 1024;
constexpr int steps_max = 10'000;

// What a thread knows about the other threads; a write that releases passes this knowledge to the threads that acquire
// it.
struct Knowledge {
  // For each atomic, the newest write that the thread knows; the thread never sees an older write again.
  std::array<std::uint16_t, atomics_max> newest{};
  // For each other thread, the last of its steps that happened before the present step of this thread.
  std::array<std::uint16_t, threads_max + 1> clock{};

  void join(const Knowledge& other) noexcept {
    for (std::size_t i = 0; i < newest.size(); ++i) newest[i] = std::max(newest[i], other.newest[i]);
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other.clock[i]);
  }
};

struct Write {
  std::uint64_t value;
  Knowledge released;
};

enum class Kind : std::uint8_t { Begin, Load, Store, Exchange, Change, CompareExchange, Sleep, Wake };

// The next operation of a thread.
struct Operation {
  Kind kind = Kind::Begin;
  int atomic = -1;

  bool concerns(const Operation& other) const noexcept {
    return atomic >= 0 && atomic == other.atomic && (kind != Kind::Load || other.kind != Kind::Load);
  }
};

struct Step {
  int thread;
  Operation operation;
  std::memory_order order;
  std::uint64_t value;  // The value that was read or stored.
  std::size_t age;      // The age of the write that was read: 0 is the newest.
};

// A decision: which thread continues, and which of the visible writes it sees.
struct Decision {
  unsigned alive;  // Threads that have not ended, and are not sleeping.
  // The threads whose next step has already been explored at this decision, in this schedule or in an equivalent one.
  unsigned asleep;
  int thread;
  std::size_t choice = 0;
  std::size_t choices = 0;  // 0: not known yet.
};

// For each thread, the last of its steps that had an effect; 0: none of its steps had an effect.
using Steps = std::array<std::uint16_t, threads_max + 1>;

// The last accesses to some plain data.
struct Access {
  const void* data;
  int writer;
  std::uint16_t written;
  Steps read;
};

struct Context {
  ucontext_t registers;
  const void* stack = nullptr;
  std::size_t bytes = 0;
  void* fake_stack = nullptr;  // For AddressSanitizer.
  void* fiber = nullptr;       // For ThreadSanitizer.
};

int lowest(unsigned threads) noexcept { return std::countr_zero(threads); }

bool acquires(std::memory_order order) noexcept {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel;
}
bool releases(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel;
}

const char* name(std::memory_order order) noexcept {
  if (order == std::memory_order_acquire) return "acquire";
  if (order == std::memory_order_release) return "release";
  return order == std::memory_order_acq_rel ? "acq_rel" : "relaxed";
}

const char* name(Kind kind) noexcept {
  switch (kind) {
    case Kind::Begin:
      return "begins";
    case Kind::Load:
      return "loads";
    case Kind::Store:
      return "stores";
    case Kind::Exchange:
      return "exchanges";
    case Kind::Change:
      return "changes";
    case Kind::CompareExchange:
      return "compares and exchanges";
    case Kind::Sleep:
      return "would sleep on";
    case Kind::Wake:
      return "wakes one from";
  }
  return "";
}

class Checker;
constinit Checker* current = nullptr;

class Checker {
 public:
  Checker(Subject& subject, int threads, const Options& options)
      : subject_(subject), threads_(threads), options_(options) {
    KEEL_CHECK(current == nullptr, "only one exploration can run at a time");
    KEEL_CHECK(threads > 0 && threads <= threads_max, "an exploration needs one to four threads");
    current = this;
    for (int i = 0; i < threads; ++i) {
      stacks_.push_back(std::make_unique<char[]>(stack_bytes));
      Context& fiber = contexts_[static_cast<std::size_t>(i)];
      fiber.stack = stacks_.back().get();
      fiber.bytes = stack_bytes;
      getcontext(&fiber.registers);
      fiber.registers.uc_link = nullptr;
      fiber.registers.uc_stack.ss_sp = stacks_.back().get();
      fiber.registers.uc_stack.ss_size = stack_bytes;
      makecontext(&fiber.registers, &live, 0);
#if KEEL_THREAD_SANITIZER
      fiber.fiber = __tsan_create_fiber(0);
#endif
    }
#if KEEL_THREAD_SANITIZER
    contexts_[maker].fiber = __tsan_get_current_fiber();
#endif
  }
  // No run is in progress, so the fibers hold no resources.
  ~Checker() {
#if KEEL_THREAD_SANITIZER
    for (int i = 0; i < threads_; ++i) __tsan_destroy_fiber(contexts_[index(i)].fiber);
#endif
    current = nullptr;
  }
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  Verdict explore() {
    Verdict verdict;
    do {
      run();
      if (!redundant_) ++verdict.schedules;
      if (!failure_.empty()) {
        verdict.failure = failure_ + told();
        break;
      }
    } while (advance());
    return verdict;
  }

  void fail(const std::string& sentence) {
    if (failure_.empty()) failure_ = sentence;
  }

  int make_atomic(std::uint64_t value) {
    KEEL_CHECK(who_ == maker, "the atomics of a Run must be made when the Run is made, not by its threads");
    KEEL_CHECK(atomics_ < atomics_max, "a Run can have at most 16 atomics");
    auto& writes = writes_[static_cast<std::size_t>(atomics_)];
    writes.clear();
    writes.push_back({value, {}});
    used_[index(atomics_)] = {};
    return atomics_++;
  }

  void end_atomic(int atomic) {
    ended_ |= bit(atomic);
    if (!are_known(used_[index(atomic)])) fail("an atomic is destroyed while another thread uses it");
  }

  std::uint64_t load(int atomic, std::memory_order order) {
    pause({Kind::Load, atomic});
    const auto& writes = history(atomic);
    const std::size_t newest = writes.size() - 1;
    const std::size_t age = choose(stale_left() == 0 ? 1 : newest - knowledge().newest[index(atomic)] + 1);
    return see(atomic, newest - age, loading(atomic, order), Kind::Load);
  }

  void store(int atomic, std::uint64_t value, std::memory_order order) {
    pause({Kind::Store, atomic});
    const std::memory_order effective = storing(atomic, order);
    append(atomic, value, effective, {});
    steps_.push_back({who_, {Kind::Store, atomic}, effective, value, 0});
  }

  std::uint64_t exchange(int atomic, std::uint64_t value, std::memory_order order) {
    pause({Kind::Exchange, atomic});
    const std::size_t newest = history(atomic).size() - 1;
    const std::uint64_t before = see(atomic, newest, loading(atomic, order), Kind::Exchange);
    append(atomic, value, storing(atomic, order), history(atomic)[newest].released);
    return before;
  }

  std::uint64_t change(int atomic, Change next, std::uint64_t by, std::memory_order order) {
    pause({Kind::Change, atomic});
    const std::size_t newest = history(atomic).size() - 1;
    const std::uint64_t before = see(atomic, newest, loading(atomic, order), Kind::Change);
    append(atomic, next(before, by), storing(atomic, order), history(atomic)[newest].released);
    return before;
  }

  bool compare_exchange(int atomic, std::uint64_t& expected, std::uint64_t value, std::memory_order success,
                        std::memory_order failure) {
    pause({Kind::CompareExchange, atomic});
    const auto& writes = history(atomic);
    const std::size_t newest = writes.size() - 1;
    // A compare-and-exchange succeeds only with the newest value. A compare-and-exchange that fails is a load, which
    // may return an older value, but not the expected value.
    std::vector<std::size_t>& seen = candidates_;
    seen.assign(1, newest);
    if (stale_left() != 0) {
      for (std::size_t at = newest; at-- > knowledge().newest[index(atomic)];) {
        if (writes[at].value != expected) seen.push_back(at);
      }
    }
    const std::size_t at = seen[choose(seen.size())];
    const bool succeeds = writes[at].value == expected;
    expected = see(atomic, at, loading(atomic, succeeds ? success : failure), Kind::CompareExchange);
    if (succeeds) append(atomic, value, storing(atomic, success), history(atomic)[newest].released);
    return succeeds;
  }

  void sleep_while(int atomic, std::uint64_t value) {
    pause({Kind::Sleep, atomic});
    const std::uint64_t newest = see(atomic, history(atomic).size() - 1, std::memory_order_relaxed, Kind::Sleep);
    if (who_ == maker || newest != value) return;
    alive_ &= ~bit(who_);
    sleeps_on_[index(who_)] = atomic;
    switch_to(decide());
  }

  // Wakes the first thread that sleeps on `atomic`. (A futex of the kernel does not promise which thread it wakes.)
  void wake_one(int atomic) {
    pause({Kind::Wake, atomic});
    see(atomic, history(atomic).size() - 1, std::memory_order_relaxed, Kind::Wake);
    for (int thread = 0; thread < threads_; ++thread) {
      if (sleeps_on_[index(thread)] != atomic) continue;
      sleeps_on_[index(thread)] = -1;
      next_[index(thread)] = {};
      alive_ |= bit(thread);
      return;
    }
  }

  void read_plain(const void* data) {
    Access& access = access_to(data);
    if (!is_known(access.writer, access.written)) fail("plain data is read while another thread writes it");
    access.read[index(who_)] = knowledge().clock[index(who_)];
  }

  void write_plain(const void* data) {
    Access& access = access_to(data);
    const bool ordered = is_known(access.writer, access.written) && are_known(access.read);
    if (!ordered) fail("plain data is written while another thread reads or writes it");
    access.writer = who_;
    access.written = knowledge().clock[index(who_)];
  }

 private:
  static std::size_t index(int number) noexcept { return static_cast<std::size_t>(number); }
  static unsigned bit(int thread) noexcept { return 1u << thread; }

  // ---- Schedules.

  // Runs one schedule: the choices in path_, and after them the first choice at each decision.
  void run() {
    atomics_ = 0;
    ended_ = 0;
    sleeps_on_.fill(-1);
    depth_ = 0;
    asleep_ = 0;
    redundant_ = false;
    steps_.clear();
    accesses_.clear();
    for (int thread = 0; thread <= threads_max; ++thread) {
      known_[index(thread)] = {};
      stale_[index(thread)] = 0;
    }
    known_[maker].clock[maker] = 1;
    who_ = maker;
    subject_.begin();
    // From now on, other threads do not see the maker's writes until they synchronize with it.
    ++known_[maker].clock[maker];
    alive_ = bit(threads_) - 1;
    for (int thread = 0; thread < threads_; ++thread) {
      known_[index(thread)] = known_[maker];
      --known_[index(thread)].clock[maker];
      known_[index(thread)].clock[index(thread)] = 1;
      next_[index(thread)] = {};
    }
    switch_to(decide());
    for (int thread = 0; thread < threads_; ++thread) known_[maker].join(known_[index(thread)]);
    subject_.end();
  }

  // Moves path_ to the next schedule; returns false when there is no further schedule.
  bool advance() {
    for (; !path_.empty(); path_.pop_back()) {
      Decision& last = path_.back();
      if (++last.choice < last.choices) return true;
      last.asleep |= bit(last.thread);
      const unsigned awake = last.alive & ~last.asleep;
      if (awake == 0) continue;
      last.thread = lowest(awake);
      last.choice = last.choices = 0;
      return true;
    }
    return false;
  }

  // Chooses the thread that continues; once all threads have ended, chooses `maker`, which started them.
  int decide() {
    if (alive_ == 0) {
      for (const int atomic : sleeps_on_) {
        if (atomic >= 0) fail("a thread sleeps, and no other thread wakes it");
      }
      return maker;
    }
    KEEL_CHECK(steps_.size() < steps_max, "the threads of a Run must end by themselves in every schedule");
    // A run that can only repeat an explored schedule still runs to its end, so that every object it has made is
    // destroyed.
    if (redundant_) return lowest(alive_);
    if (depth_ == path_.size()) {
      const unsigned awake = alive_ & ~asleep_;
      if (awake == 0) {
        redundant_ = true;
        return lowest(alive_);
      }
      path_.push_back({.alive = alive_, .asleep = asleep_, .thread = lowest(awake)});
    }
    const Decision& decision = path_[depth_++];
    asleep_ = 0;
    for (int thread = 0; thread < threads_; ++thread) {
      const bool stays = !next_[index(thread)].concerns(next_[index(decision.thread)]);
      if ((decision.asleep & bit(thread)) != 0 && stays) asleep_ |= bit(thread);
    }
    return decision.thread;
  }

  // Chooses one of the possible outcomes of the current operation.
  std::size_t choose(std::size_t choices) {
    if (who_ == maker || redundant_) return 0;
    Decision& decision = path_[depth_ - 1];
    KEEL_CHECK(decision.choices == 0 || decision.choices == choices, "a Run must depend on nothing but its schedule");
    decision.choices = choices;
    return decision.choice;
  }

  // Called before each operation, so that other threads can run first.
  void pause(Operation operation) {
    if (who_ != maker) {
      next_[index(who_)] = operation;
      switch_to(decide());
    }
    if ((ended_ & bit(operation.atomic)) != 0) fail("an atomic is used after it was destroyed");
    used_[index(operation.atomic)][index(who_)] = knowledge().clock[index(who_)];
  }

  void switch_to(int thread) {
    const int from = who_;
    who_ = thread;
    if (thread == from) return;
    Context& before = contexts_[index(from)];
    Context& after = contexts_[index(thread)];
#if KEEL_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(&before.fake_stack, after.stack, after.bytes);
#endif
#if KEEL_THREAD_SANITIZER
    __tsan_switch_to_fiber(after.fiber, 0);
#endif
    swapcontext(&before.registers, &after.registers);
    arrive(before.fake_stack);
  }

  // After a switch, this must be the first call on the new stack. The first call keeps the bounds of the stack of
  // `maker`, from which the fiber was resumed.
  void arrive([[maybe_unused]] void* fake_stack) {
#if KEEL_ADDRESS_SANITIZER
    const void* stack = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(fake_stack, &stack, &bytes);
    if (contexts_[maker].stack == nullptr) {
      contexts_[maker].stack = stack;
      contexts_[maker].bytes = bytes;
    }
#endif
  }

  // The code of a fiber: in each Run, it runs one of the threads.
  static void live() {
    Checker& checker = *current;
    checker.arrive(nullptr);
    for (;;) {
      const int thread = checker.who_;
      checker.subject_.run(thread);
      checker.alive_ &= ~bit(thread);
      checker.switch_to(checker.decide());
    }
  }

  // ---- Memory.

  Knowledge& knowledge() noexcept { return known_[index(who_)]; }
  std::vector<Write>& history(int atomic) noexcept { return writes_[index(atomic)]; }
  int stale_left() const noexcept { return who_ == maker ? 0 : options_.stale_loads - stale_[index(who_)]; }

  std::memory_order loading(int atomic, std::memory_order order) const {
    KEEL_CHECK(order != std::memory_order_seq_cst, "the checker does not know memory_order_seq_cst");
    return atomic == options_.weak_loads_of ? std::memory_order_relaxed : order;
  }
  std::memory_order storing(int atomic, std::memory_order order) const {
    KEEL_CHECK(order != std::memory_order_seq_cst, "the checker does not know memory_order_seq_cst");
    return atomic == options_.weak_stores_of ? std::memory_order_relaxed : order;
  }

  std::uint64_t see(int atomic, std::size_t at, std::memory_order order, Kind kind) {
    const Write& write = history(atomic)[at];
    const std::size_t age = history(atomic).size() - 1 - at;
    if (age != 0) ++stale_[index(who_)];
    auto& newest = knowledge().newest[index(atomic)];
    newest = std::max(newest, static_cast<std::uint16_t>(at));
    if (acquires(order)) knowledge().join(write.released);
    steps_.push_back({who_, {kind, atomic}, order, write.value, age});
    return write.value;
  }

  // `released`: the knowledge that an older write has released, if this write is part of the release sequence of that
  // older write.
  void append(int atomic, std::uint64_t value, std::memory_order order, Knowledge released) {
    knowledge().newest[index(atomic)] = static_cast<std::uint16_t>(history(atomic).size());
    if (releases(order)) {
      released.join(knowledge());
      ++knowledge().clock[index(who_)];  // Writes of later steps are not part of the release.
    }
    history(atomic).push_back({value, released});
  }

  Access& access_to(const void* data) {
    for (Access& access : accesses_) {
      if (access.data == data) return access;
    }
    return accesses_.emplace_back(Access{data, who_, 0, {}});
  }
  bool is_known(int thread, std::uint16_t step) noexcept {
    return thread == who_ || knowledge().clock[index(thread)] >= step;
  }

  bool are_known(const Steps& steps) noexcept {
    bool all = true;
    for (int thread = 0; thread <= threads_max; ++thread) all &= is_known(thread, steps[index(thread)]);
    return all;
  }

  std::string told() const {
    std::string text = "\nafter:";
    for (const Step& step : steps_) {
      const std::string thread = step.thread == maker ? "maker" : "thread " + std::to_string(step.thread);
      text += "\n  " + thread + ' ' + name(step.operation.kind) + " atomic " + std::to_string(step.operation.atomic) +
              ' ' + name(step.order) + ": " + std::to_string(step.value);
      if (step.age != 0) text += ", " + std::to_string(step.age) + " before the newest";
    }
    return text;
  }

  Subject& subject_;
  const int threads_;
  const Options options_;
  std::string failure_;

  std::array<Context, threads_max + 1> contexts_;
  std::vector<std::unique_ptr<char[]>> stacks_;
  int who_ = maker;

  std::vector<Decision> path_;
  std::size_t depth_ = 0;  // The position in path_.
  unsigned alive_ = 0;
  unsigned asleep_ = 0;
  bool redundant_ = false;
  std::array<Operation, threads_max> next_;
  std::array<int, threads_max> sleeps_on_;  // The index of the atomic on which the thread sleeps, or -1.
  std::vector<Step> steps_;

  int atomics_ = 0;
  unsigned ended_ = 0;  // One bit for each atomic that was destroyed.
  std::array<std::vector<Write>, atomics_max> writes_;
  std::array<Steps, atomics_max> used_;
  std::array<Knowledge, threads_max + 1> known_;
  std::array<int, threads_max + 1> stale_{};
  std::vector<Access> accesses_;
  std::vector<std::size_t> candidates_;
};

Checker& checker() {
  KEEL_CHECK(current != nullptr, "atomics and checked data can be made and used only inside explore()");
  return *current;
}

}  // namespace

int make_atomic(std::uint64_t value) { return checker().make_atomic(value); }
std::uint64_t load(int atomic, std::memory_order order) { return checker().load(atomic, order); }
void store(int atomic, std::uint64_t value, std::memory_order order) { checker().store(atomic, value, order); }
std::uint64_t exchange(int atomic, std::uint64_t value, std::memory_order order) {
  return checker().exchange(atomic, value, order);
}
std::uint64_t change(int atomic, Change next, std::uint64_t by, std::memory_order order) {
  return checker().change(atomic, next, by, order);
}
bool compare_exchange(int atomic, std::uint64_t& expected, std::uint64_t value, std::memory_order success,
                      std::memory_order failure) {
  return checker().compare_exchange(atomic, expected, value, success, failure);
}
void end_atomic(int atomic) noexcept { checker().end_atomic(atomic); }
void sleep_while(int atomic, std::uint64_t value) { checker().sleep_while(atomic, value); }
void wake_one(int atomic) { checker().wake_one(atomic); }
void read_plain(const void* data) { checker().read_plain(data); }
void write_plain(const void* data) { checker().write_plain(data); }

Verdict explore(Subject& subject, int threads, const Options& options) {
  return Checker(subject, threads, options).explore();
}

}  // namespace keel::interleaving::internal

namespace keel::interleaving {

void require(bool condition, const char* sentence) {
  if (!condition) internal::checker().fail(sentence);
}

}  // namespace keel::interleaving
