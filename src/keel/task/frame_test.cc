// A child that ends on another executor than its parent's: before the parent suspends, at the same time, and after it
// has suspended; with a parent on a loop and on a pool of threads. Each moment is brought about, not waited for.
// Crosses threads: run under ThreadSanitizer.

#include "keel/task/frame.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/task/leaf.h"
#include "keel/task/resume_on.h"
#include "keel/task/start.h"
#include "keel/task/task.h"

namespace keel::frame_test {
namespace {

// Threads that run jobs, and tell how many of them have returned.
class Threads final : public Executor {
 public:
  explicit Threads(int count) : count_(count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Threads() override {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void post(Job& job) noexcept override {
    // Told inside: whoever runs the job may end these threads.
    const std::lock_guard lock(mutex_);
    job.next = nullptr;
    *last_ = &job;
    last_ = &job.next;
    ++posted_;
    changed_.notify_one();
  }
  bool is_serial() const noexcept override { return count_ == 1; }
  int returned() const noexcept { return returned_.load(std::memory_order_acquire); }
  bool is_idle() const noexcept { return returned() == posted_.load(std::memory_order_acquire); }

 private:
  Job* take() noexcept {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_ending_ || first_ != nullptr; });
    Job* const job = first_;
    if (job == nullptr) return nullptr;
    first_ = job->next;
    if (first_ == nullptr) last_ = &first_;
    return job;
  }
  void work() noexcept {
    Executor::set_current(this);
    while (Job* job = take()) {
      job->run(*job);
      returned_.fetch_add(1, std::memory_order_release);
    }
    Executor::set_current(nullptr);
  }

  const int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Job* first_ = nullptr;
  Job** last_ = &first_;
  bool is_ending_ = false;
  std::atomic<int> posted_{0};
  std::atomic<int> returned_{0};
  std::vector<std::thread> threads_;
};

template <class Holds>
void wait_until(Holds holds) noexcept {
  const Instant end = Host::system().now() + 60_s;
  while (!holds()) {
    KEEL_CHECK(Host::system().now() < end, "what a test brings about happens");
    std::this_thread::yield();
  }
}
void spend(int time) noexcept {
  for (int i = 0; i < time * 20; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

enum class Moment { Before, Meanwhile, After };

// Which thread is held up where, so that the child ends at the moment.
struct Stage {
  void begin(int number) noexcept {
    round = number;
    has_arrived = false;
    go = false;
  }
  // On the parent's thread, within its await, when the child has been sent away.
  void hold_parent() noexcept {
    if (moment == Moment::Before) wait_until([this] { return elsewhere.is_idle(); });
    if (moment != Moment::Meanwhile) return;
    wait_until([this] { return has_arrived.load(); });
    const int time = round % 8;  // The child may be gone when it continues.
    go = true;
    spend(time);
  }
  // On the other thread, at the child's end.
  void hold_child() noexcept {
    if (moment == Moment::After) wait_until([this] { return home.returned() != returned_at_home; });
    if (moment != Moment::Meanwhile) return;
    const int time = round * 5 % 8;
    has_arrived = true;
    wait_until([this] { return go.load(); });
    spend(time);
  }

  const Moment moment;
  Threads& home;  // The parent's.
  Threads& elsewhere;
  int round = 0;
  int returned_at_home = 0;
  int alive = 0;  // Children that are in their body.
  std::atomic<bool> has_arrived{false};
  std::atomic<bool> go{false};
};

// Goes elsewhere, and holds up the thread that it leaves.
class GoElsewhere : public Leaf {
 public:
  using Value = void;
  explicit GoElsewhere(Stage& stage) noexcept : stage_(stage) {}
  bool start() noexcept { return false; }
  bool suspended() noexcept {
    Stage& stage = stage_;  // This may be gone as soon as it is posted.
    stage.returned_at_home = stage.home.returned();
    wake_on(stage.elsewhere);
    stage.hold_parent();
    return true;
  }
  Result<> take() noexcept { return {}; }

 private:
  Stage& stage_;
};

struct Alive {
  explicit Alive(int& n) : count(n) { ++count; }
  ~Alive() { --count; }
  int& count;
};
Task<int> ends_elsewhere(Stage& stage, bool fails) {
  const Alive locals(stage.alive);
  co_await GoElsewhere(stage);
  stage.hold_child();
  if (fails) co_return fail(Code::NotFound, "elsewhere");
  co_return stage.round;
}
Task<int> passes_on(Stage& stage, bool fails) { co_return co_await ends_elsewhere(stage, fails); }

constexpr int rounds = 200;

// How many of them went as they should: at home, with the answer of the child, whose locals are destroyed.
Task<int> awaits_values(Stage& stage) {
  co_await resume_on(stage.home);
  int well = 0;
  for (int i = 0; i < rounds; ++i) {
    stage.begin(i);
    const int answer = co_await passes_on(stage, false);
    if (answer == i && Executor::current() == &stage.home && stage.alive == 0) ++well;
  }
  co_return well;
}
Task<int> awaits_errors(Stage& stage) {
  co_await resume_on(stage.home);
  int well = 0;
  for (int i = 0; i < rounds; ++i) {
    stage.begin(i);
    const auto near = co_await attempt(ends_elsewhere(stage, true));
    if (!near && near.error().code() == Code::NotFound && Executor::current() == &stage.home) ++well;
    stage.begin(i);
    // The one between is not resumed.
    const auto far = co_await attempt(passes_on(stage, true));
    if (!far && far.error().code() == Code::NotFound && Executor::current() == &stage.home && stage.alive == 0) ++well;
  }
  co_return well;
}

// Begins a task on an executor, and tells when it has ended there.
class Beginning : public Job {
 public:
  Beginning(Executor& on, Task<int>&& task) : Job(&begin), task_(task.release()) { on.post(*this); }
  Result<int> result() {
    wait_until([this] { return start_.ended.load(std::memory_order_acquire); });
    return start_.take();
  }

 private:
  struct Begun : Start<int> {
    std::atomic<bool> ended{false};
  };
  static void begin(Job& job) noexcept {
    auto& self = static_cast<Beginning&>(job);
    if (self.start_.begin(Task<int>(self.task_), &done)) done(self.start_);
  }
  static void done(StartCore& start) noexcept {
    static_cast<Begun&>(start).ended.store(true, std::memory_order_release);
  }
  Promise<int>& task_;
  Begun start_;
};

class ChildEnds : public ::testing::TestWithParam<std::tuple<Moment, bool>> {
 protected:
  Result<int> run(Task<int> (*parent)(Stage&)) {
    const auto [moment, on_pool] = GetParam();
    Threads loop(1);
    Threads pool(2);
    Threads elsewhere(1);
    Stage stage{.moment = moment, .home = on_pool ? pool : loop, .elsewhere = elsewhere};
    return Beginning(loop, parent(stage)).result();
  }
};
std::string name_of(const ::testing::TestParamInfo<ChildEnds::ParamType>& which) {
  constexpr const char* moments[] = {"before", "meanwhile", "after"};
  const auto [moment, on_pool] = which.param;
  return std::string(moments[static_cast<int>(moment)]) +
         (on_pool ? "_its_parent_on_a_pool" : "_its_parent_on_a_loop") + "_suspends";
}
INSTANTIATE_TEST_SUITE_P(, ChildEnds,
                         ::testing::Combine(::testing::Values(Moment::Before, Moment::Meanwhile, Moment::After),
                                            ::testing::Bool()),
                         name_of);

TEST_P(ChildEnds, elsewhere_and_its_parent_goes_on_at_home) {
  const Result<int> well = run(&awaits_values);
  ASSERT_TRUE(well) << well.error().describe();
  EXPECT_EQ(*well, rounds);
}

TEST_P(ChildEnds, elsewhere_with_an_error_and_its_parent_learns_of_it_at_home) {
  const Result<int> well = run(&awaits_errors);
  ASSERT_TRUE(well) << well.error().describe();
  EXPECT_EQ(*well, 2 * rounds);
}

}  // namespace
}  // namespace keel::frame_test
