#include "keel/task/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "keel/task/start.h"
#include "keel/task/testing.h"

namespace keel::task_test {
namespace {

// What must not compile: a task in a container, or moved.
static_assert(!std::is_move_constructible_v<Task<int>>);
static_assert(!std::is_copy_constructible_v<Task<int>>);
static_assert(!std::is_move_assignable_v<Task<int>>);
static_assert(!std::is_default_constructible_v<Task<int>>);
static_assert(!std::is_move_constructible_v<Start<int>>);

// An operation whose end the test decides.
struct Source;
class Wait : public Leaf {
 public:
  using Value = int;
  explicit Wait(Source& source) noexcept : Leaf(&cancel), source_(source) {}
  bool start() noexcept;
  Result<int> take() noexcept { return std::move(result_); }
  void complete(Result<int> result) noexcept {
    result_ = std::move(result);
    wake();
  }

 protected:
  Result<int> result_ = 0;

 private:
  static void cancel(Leaf& leaf) noexcept;
  Source& source_;
};
// The same where the awaiting side asks for the result only as it continues.
class Telling : public Wait {
 public:
  using Wait::Wait;
  bool failed() const noexcept { return !result_.has_value(); }
};
static_assert(!TellsFailure<Wait> && TellsFailure<Telling>);
struct Source {
  int started = 0;
  int cancelled = 0;
  bool at_once = false;
  bool fails_at_once = false;
  StopSource* stops_when_started = nullptr;
  Wait* waiting = nullptr;
  Wait wait() noexcept { return Wait(*this); }
};
bool Wait::start() noexcept {
  ++source_.started;
  if (source_.at_once) {
    result_ = 7;
    return true;
  }
  if (source_.fails_at_once) {
    result_ = fail(Code::Conflict, "refused at once");
    return true;
  }
  source_.waiting = this;
  if (source_.stops_when_started != nullptr) source_.stops_when_started->request_stop();
  return false;
}
void Wait::cancel(Leaf& leaf) noexcept {
  auto& wait = static_cast<Wait&>(leaf);
  ++wait.source_.cancelled;
  wait.complete(fail(Code::Cancelled, "the source was cancelled"));
}

struct TaskTest : ::testing::Test {
  testing::TestLoop loop;
  Source source;
  int done = 0;
};
int done_count = 0;
void count_done(StartCore&) noexcept { ++done_count; }

Task<int> answer() { co_return 42; }
Task<int> absent() { co_return fail(Code::NotFound, "no such user"); }
Task<> nothing() { co_return; }
Task<> refuses() { co_await fail(Code::Conflict, "insufficient funds"); }
Task<std::unique_ptr<int>> owned() { co_return std::make_unique<int>(5); }

TEST_F(TaskTest, completes_with_its_value) {
  EXPECT_EQ(loop.run(answer()).value(), 42);
  EXPECT_TRUE(loop.run(nothing()).is_ok());
  EXPECT_EQ(*loop.run(owned()).value(), 5);
}

TEST_F(TaskTest, completes_with_its_error) {
  EXPECT_EQ(loop.run(absent()).error().code(), Code::NotFound);
  EXPECT_EQ(loop.run(refuses()).error().message(), "insufficient funds");
}

Result<int> parse(bool good) {
  if (good) return 3;
  return fail(Code::InvalidArgument, "digits only");
}
Task<int> returns(int form) {
  if (form == 0) co_return parse(true);
  if (form == 1) co_return parse(false);
  if (form == 2) co_return Error(Code::Unavailable, "an error");
  if (form == 3) {
    Result<int> named = parse(false);
    co_return named;
  }
  if (form == 6) co_return {};
  co_return co_await parse(form == 4);
}
TEST_F(TaskTest, returns_values_results_and_errors_in_every_form) {
  EXPECT_EQ(loop.run(returns(0)).value(), 3);
  EXPECT_EQ(loop.run(returns(1)).error().code(), Code::InvalidArgument);
  EXPECT_EQ(loop.run(returns(2)).error().code(), Code::Unavailable);
  EXPECT_EQ(loop.run(returns(3)).error().code(), Code::InvalidArgument);
  EXPECT_EQ(loop.run(returns(4)).value(), 3);
  EXPECT_EQ(loop.run(returns(6)).value(), 0);
  EXPECT_EQ(loop.run(returns(5)).error().message(), "digits only");
}

Task<Result<int>> nested_result() { co_return parse(false); }
TEST_F(TaskTest, may_yield_a_result_as_its_value) { EXPECT_FALSE(loop.run(nested_result()).value().has_value()); }

Task<int> awaits_error(bool& resumed) {
  const int value = co_await absent();
  resumed = true;
  co_return value;
}
TEST_F(TaskTest, an_awaited_error_ends_the_awaiting_task) {
  bool resumed = false;
  EXPECT_EQ(loop.run(awaits_error(resumed)).error().message(), "no such user");
  EXPECT_FALSE(resumed);
}

Task<int> recovers() {
  Result<int> result = co_await attempt(absent());
  if (!result && result.error().code() == Code::NotFound) co_return co_await attempt(answer());
  co_return 0;
}
TEST_F(TaskTest, attempt_yields_the_result) { EXPECT_EQ(loop.run(recovers()).value(), 42); }

Task<int> throws(bool standard) {
  if (standard) throw std::runtime_error("thrown by a library");
  throw 5;
  co_return 1;
}
Task<int> awaits_throwing() { co_return co_await throws(true); }
TEST_F(TaskTest, an_exception_becomes_internal_at_the_task_boundary) {
  auto result = loop.run(awaits_throwing());
  EXPECT_EQ(result.error().code(), Code::Internal);
  EXPECT_EQ(result.error().message(), "exception: thrown by a library");
  EXPECT_EQ(loop.run(throws(false)).error().code(), Code::Internal);
}

TEST_F(TaskTest, is_lazy) {
  bool ran = false;
  auto body = [](bool& flag) -> Task<> {
    flag = true;
    co_return;
  };
  {
    Task<> task = body(ran);
  }
  EXPECT_FALSE(ran);
}

Task<long> sum(long count) {
  long total = 0;
  for (long i = 0; i < count; ++i) {
    total += co_await answer();
    if (!co_await attempt(absent())) ++total;
    total += co_await parse(true);
  }
  co_return total;
}
TEST_F(TaskTest, a_long_loop_of_awaits_that_complete_at_once_does_not_use_the_stack) {
  EXPECT_EQ(loop.run(sum(200'000)).value(), 200'000 * 46);
}

Task<int> depth(int levels, Source& source) {
  if (levels == 0) co_return co_await source.wait();
  std::string local(50, 'x');
  co_return co_await depth(levels - 1, source) + static_cast<int>(local.size());
}
TEST_F(TaskTest, a_waiting_chain_goes_on_when_its_operation_completes) {
  Start<int> start;
  done_count = 0;

  EXPECT_FALSE(start.begin(depth(100, source), &count_done));
  EXPECT_TRUE(start.is_running());
  source.waiting->complete(1);

  EXPECT_EQ(done_count, 1);
  EXPECT_EQ(start.take().value(), 5001);
}
TEST_F(TaskTest, a_failed_operation_ends_the_waiting_chain) {
  Start<int> start;
  done_count = 0;

  EXPECT_FALSE(start.begin(depth(100, source), &count_done));
  source.waiting->complete(fail(Code::Protocol, "peer lied"));

  EXPECT_EQ(done_count, 1);
  EXPECT_EQ(start.take().error().code(), Code::Protocol);
}

TEST_F(TaskTest, an_operation_that_completes_at_once_does_not_suspend) {
  source.at_once = true;
  Start<int> start;
  done_count = 0;
  EXPECT_TRUE(start.begin(depth(0, source), &count_done));
  EXPECT_EQ(done_count, 0);
  EXPECT_EQ(start.take().value(), 7);
}

Task<int> many_waits(Source& source, int count) {
  int total = 0;
  for (int i = 0; i < count; ++i) total += co_await depth(2, source);
  co_return total;
}
TEST_F(TaskTest, waits_again_and_again) {
  Start<int> start;
  done_count = 0;
  EXPECT_FALSE(start.begin(many_waits(source, 1000), &count_done));
  for (int i = 0; i < 1000; ++i) source.waiting->complete(1);
  EXPECT_EQ(done_count, 1);
  EXPECT_EQ(start.take().value(), 1000 * 101);
}

Task<int> attempts_wait(Source& source) {
  Result<int> result = co_await attempt(source.wait());
  co_return result ? *result : -1;
}
TEST_F(TaskTest, attempt_yields_the_result_of_an_operation) {
  Start<int> start;
  EXPECT_FALSE(start.begin(attempts_wait(source), &count_done));
  source.waiting->complete(fail(Code::Protocol, "peer lied"));
  EXPECT_EQ(start.take().value(), -1);
}

TEST_F(TaskTest, stopping_cancels_the_operation_and_waits) {
  Start<int> start;
  done_count = 0;
  EXPECT_FALSE(start.begin(depth(3, source), &count_done));

  start.stop();
  EXPECT_EQ(source.cancelled, 1);
  EXPECT_EQ(done_count, 0) << "stop() asks, it does not resume";
  start.stop();
  loop.run_jobs();

  EXPECT_EQ(source.cancelled, 1);
  EXPECT_EQ(done_count, 1);
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
}

TEST_F(TaskTest, a_stopped_task_begins_no_further_operation) {
  StopSource stop;
  stop.request_stop();
  Start<int> start;
  EXPECT_TRUE(start.begin(depth(3, source), &count_done, {.stop = &stop}));
  EXPECT_EQ(source.started, 0);
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
}

TEST_F(TaskTest, a_stop_source_ends_every_task_below_it) {
  StopSource stop;
  Source other;
  Start<int> first, second;
  done_count = 0;
  EXPECT_FALSE(first.begin(depth(1, source), &count_done, {.stop = &stop}));
  EXPECT_FALSE(second.begin(depth(1, other), &count_done, {.stop = &stop}));

  stop.request_stop(Code::Unavailable);
  loop.run_jobs();

  EXPECT_TRUE(stop.token().stop_requested());
  EXPECT_EQ(done_count, 2);
  EXPECT_EQ(first.take().error().code(), Code::Unavailable);
  EXPECT_EQ(second.take().error().code(), Code::Unavailable);
}

TEST_F(TaskTest, an_operation_whose_start_stops_its_own_task_is_cancelled) {
  StopSource stop;
  source.stops_when_started = &stop;
  Start<int> start;
  EXPECT_FALSE(start.begin(depth(3, source), &count_done, {.stop = &stop}));
  loop.run_jobs();
  EXPECT_EQ(source.cancelled, 1);
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
}

TEST_F(TaskTest, past_its_deadline_a_task_begins_no_further_operation) {
  Start<int> start;
  EXPECT_TRUE(start.begin(depth(3, source), &count_done, {.deadline = loop.now()}));
  EXPECT_EQ(source.started, 0);
  EXPECT_EQ(start.take().error().code(), Code::DeadlineExceeded);
}

Task<int> tells(Source& source) { co_return co_await Telling(source); }
// 100 and the code for an error.
Task<int> tells_attempt(Source& source) {
  Result<int> result = co_await attempt(Telling(source));
  co_return result ? *result : 100 + static_cast<int>(result.error().code());
}
constexpr int told(Code code) { return 100 + static_cast<int>(code); }

TEST_F(TaskTest, an_operation_that_tells_failure_ends_as_any_other) {
  source.at_once = true;
  EXPECT_EQ(loop.run(tells(source)).value(), 7);
  EXPECT_EQ(loop.run(tells_attempt(source)).value(), 7);
  source = Source{.fails_at_once = true};
  EXPECT_EQ(loop.run(tells(source)).error().message(), "refused at once");
  EXPECT_EQ(loop.run(tells_attempt(source)).value(), told(Code::Conflict));
  source = Source{};

  Start<int> start;
  EXPECT_FALSE(start.begin(tells(source), &count_done));
  source.waiting->complete(9);
  EXPECT_EQ(start.take().value(), 9);
  EXPECT_FALSE(start.begin(tells(source), &count_done));
  source.waiting->complete(fail(Code::NotFound, "nothing came"));
  EXPECT_EQ(start.take().error().message(), "nothing came");
  EXPECT_FALSE(start.begin(tells_attempt(source), &count_done));
  source.waiting->complete(fail(Code::NotFound, "nothing came"));
  EXPECT_EQ(start.take().value(), told(Code::NotFound));
}

TEST_F(TaskTest, an_operation_that_tells_failure_is_refused_and_cancelled_as_any_other) {
  StopSource stop;
  Start<int> start, attempting;
  EXPECT_FALSE(start.begin(tells(source), &count_done, {.stop = &stop}));
  Source other;
  EXPECT_FALSE(attempting.begin(tells_attempt(other), &count_done, {.stop = &stop}));
  stop.request_stop(Code::Unavailable);
  loop.run_jobs();
  EXPECT_EQ(source.cancelled + other.cancelled, 2);
  EXPECT_EQ(start.take().error().code(), Code::Unavailable);
  EXPECT_EQ(attempting.take().value(), told(Code::Unavailable));

  EXPECT_TRUE(start.begin(tells(source), &count_done, {.stop = &stop}));
  EXPECT_EQ(start.take().error().code(), Code::Unavailable);
  EXPECT_TRUE(attempting.begin(tells_attempt(other), &count_done, {.deadline = loop.now()}));
  EXPECT_EQ(attempting.take().value(), told(Code::DeadlineExceeded));
  EXPECT_EQ(source.started + other.started, 2);
}

Task<Instant> deadline_below() { co_return (co_await this_task()).deadline; }
Task<bool> inherits(Executor& home, Instant expected) {
  TaskInfo info = co_await this_task();
  const Instant below = co_await deadline_below();
  co_return info.executor == &home&& info.deadline == expected&& below == expected && !info.stop.stop_requested();
}
TEST_F(TaskTest, tells_where_it_runs_and_inherits_the_deadline) {
  Start<bool> start;
  const Instant deadline = loop.now() + 1_s;
  EXPECT_TRUE(start.begin(inherits(loop, deadline), &count_done, {.deadline = deadline}));
  EXPECT_TRUE(start.take().value());
}

// A task that wakes another one does not run it inside itself.
Task<> wakes(Source& source, int& seen) {
  source.waiting->complete(1);
  seen = done_count;
  co_return;
}
TEST_F(TaskTest, a_wake_inside_a_task_is_posted) {
  Start<int> waiting;
  done_count = 0;
  int seen = -1;
  EXPECT_FALSE(waiting.begin(depth(1, source), &count_done));

  EXPECT_TRUE(loop.run(wakes(source, seen)).is_ok());
  loop.run_jobs();

  EXPECT_EQ(seen, 0);
  EXPECT_EQ(done_count, 1);
  EXPECT_TRUE(waiting.take().is_ok());
}

struct Repeating {
  Start<int> start;
  Source* source;
  int rounds = 0;
};
TEST_F(TaskTest, done_may_begin_the_next_task) {
  static Repeating repeating;
  repeating.source = &source;
  auto done_again = [](StartCore&) noexcept {
    EXPECT_TRUE(repeating.start.take().is_ok());
    if (++repeating.rounds < 3) {
      EXPECT_FALSE(repeating.start.begin(depth(1, *repeating.source), [](StartCore&) noexcept { ++repeating.rounds; }));
    }
  };
  EXPECT_FALSE(repeating.start.begin(depth(1, source), done_again));
  source.waiting->complete(1);
  EXPECT_EQ(repeating.rounds, 1);
  source.waiting->complete(1);
  EXPECT_EQ(repeating.rounds, 2);
  EXPECT_TRUE(repeating.start.take().is_ok());
}

TEST_F(TaskTest, destroying_an_untaken_result_frees_it) {
  Start<std::unique_ptr<int>> start;
  EXPECT_TRUE(start.begin(owned(), &count_done));
}

using TaskDeathTest = TaskTest;
TEST_F(TaskDeathTest, a_running_start_is_not_destroyed) {
  EXPECT_DEATH(
      {
        Start<int> start;
        (void)start.begin(depth(1, source), &count_done);
      },
      "stop it and wait for done");
}

}  // namespace
}  // namespace keel::task_test
