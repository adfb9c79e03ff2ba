// Pins every coroutine pattern that task/ relies on, with counted constructions and destructions, against the compiler
// itself: the little task below repeats the protocol of task/task.h and uses nothing of it, so that a failure here
// means the compiler and a failure in task_test.cc means us. Built twice, at -O0 and at -O2, under AddressSanitizer.

#include <gtest/gtest.h>

#include <coroutine>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

int live_frames = 0;
int live_values = 0;
std::coroutine_handle<> next_up;              // The trampoline slot.
std::vector<std::coroutine_handle<>> parked;  // What waits for the outside.

void run(std::coroutine_handle<> handle) {
  handle.resume();
  while (next_up) std::exchange(next_up, {}).resume();
}
void run_parked() {
  while (!parked.empty()) {
    auto all = std::exchange(parked, {});
    for (auto handle : all) run(handle);
  }
}

struct Counted {
  explicit Counted(int v) : value(v) { ++live_values; }
  Counted(const Counted& other) : value(other.value) { ++live_values; }
  Counted(Counted&& other) noexcept : value(std::exchange(other.value, -1)) { ++live_values; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --live_values; }
  int value;
};

struct Core {
  std::coroutine_handle<> parent;
  bool done = false;
  bool failed = false;

  static void* operator new(std::size_t bytes) {
    ++live_frames;
    return std::malloc(bytes);
  }
  static void operator delete(void* frame) {
    --live_frames;
    std::free(frame);
  }
  void end() noexcept {
    done = true;
    if (parent) next_up = parent;
  }
  void fail() noexcept {
    failed = true;
    end();
  }
};

template <class T>
class MiniTask;

template <class T>
struct Awaiting {
  Core& self;
  MiniTask<T>& child;
  bool await_ready();
  template <class P>
  void await_suspend(std::coroutine_handle<P> handle) noexcept;
  T await_resume();
};

struct Fail {};
struct Failing {
  Core& self;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) noexcept { self.fail(); }
  void await_resume() noexcept {}
};
struct Park {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) { parked.push_back(handle); }
  void await_resume() const noexcept {}
};
struct Ready {
  int value;
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  int await_resume() const noexcept { return value; }
};

template <class T>
class MiniTask {
 public:
  struct promise_type : Core {
    struct Final {
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> handle) noexcept { handle.promise().end(); }
      void await_resume() const noexcept {}
    };
    MiniTask get_return_object() { return MiniTask(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    Final final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept { failed = true; }
    void return_value(T v) { value.emplace(std::move(v)); }
    template <class U>
    Awaiting<U> await_transform(MiniTask<U>&& child) {
      return {*this, child};
    }
    Failing await_transform(Fail) { return {*this}; }
    Park await_transform(Park park) { return park; }
    Ready await_transform(Ready ready) { return ready; }
    std::optional<T> value;
  };
  explicit MiniTask(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  MiniTask(MiniTask&&) = delete;
  ~MiniTask() { handle_.destroy(); }

  std::coroutine_handle<promise_type> handle_;
};

template <class T>
bool Awaiting<T>::await_ready() {
  child.handle_.resume();
  return child.handle_.promise().done && !child.handle_.promise().failed;
}
template <class T>
template <class P>
void Awaiting<T>::await_suspend(std::coroutine_handle<P> handle) noexcept {
  Core& core = child.handle_.promise();
  if (core.done) {
    self.fail();
  } else {
    // A child that fails later finishes its parent without resuming it: here the parent's slot stays empty.
    core.parent = handle;
  }
}
template <class T>
T Awaiting<T>::await_resume() {
  return std::move(*child.handle_.promise().value);
}

class Compiler : public ::testing::Test {
 protected:
  void SetUp() override { live_frames = live_values = 0; }
  void TearDown() override {
    EXPECT_EQ(live_frames, 0);
    EXPECT_EQ(live_values, 0);
    EXPECT_TRUE(parked.empty());
  }
  // Runs to its end, or destroys it where it is suspended.
  template <class T>
  static std::optional<T> finish(MiniTask<T>&& task) {
    run(task.handle_);
    run_parked();
    if (!task.handle_.promise().done || task.handle_.promise().failed) return std::nullopt;
    return std::move(*task.handle_.promise().value);
  }
};

MiniTask<int> at_once(int value) { co_return value; }
MiniTask<int> later(int value) {
  co_await Park{};
  co_return value;
}
MiniTask<int> failing() {
  co_await Fail{};
  ADD_FAILURE() << "a failed task is not resumed";
  co_return 0;
}

MiniTask<long> sum_of(long count) {
  long sum = 0;
  for (long i = 0; i < count; ++i) sum += co_await at_once(1);
  co_return sum;
}
TEST_F(Compiler, a_million_awaits_that_complete_at_once_do_not_overflow) {
  EXPECT_EQ(finish(sum_of(1'000'000)), 1'000'000);
}

MiniTask<long> sum_of_ready(long count) {
  long sum = 0;
  for (long i = 0; i < count; ++i) sum += co_await Ready{1};
  co_return sum;
}
TEST_F(Compiler, a_million_ready_operations_do_not_overflow) { EXPECT_EQ(finish(sum_of_ready(1'000'000)), 1'000'000); }

MiniTask<long> sum_of_parked(long count) {
  long sum = 0;
  for (long i = 0; i < count; ++i) sum += co_await later(1);
  co_return sum;
}
TEST_F(Compiler, a_hundred_thousand_suspensions_do_not_overflow) { EXPECT_EQ(finish(sum_of_parked(100'000)), 100'000); }

MiniTask<int> takes(Counted by_value, Counted other) {
  EXPECT_GE(live_values, 2);
  co_await Park{};
  co_return by_value.value + other.value;
}
TEST_F(Compiler, parameters_live_in_the_frame_and_die_once) { EXPECT_EQ(finish(takes(Counted(2), Counted(3))), 5); }
TEST_F(Compiler, parameters_of_a_task_that_never_started_die_once) {
  MiniTask<int> task = takes(Counted(2), Counted(3));
  EXPECT_EQ(live_values, 2);
}
TEST_F(Compiler, parameters_of_a_suspended_task_die_with_its_frame) {
  {
    MiniTask<int> task = takes(Counted(2), Counted(3));
    run(task.handle_);
    EXPECT_EQ(live_values, 2);
    parked.clear();
  }
  EXPECT_EQ(live_values, 0);
}
MiniTask<int> passes_on(Counted counted) { co_return co_await takes(std::move(counted), Counted(10)); }
TEST_F(Compiler, parameters_move_down_a_chain) { EXPECT_EQ(finish(passes_on(Counted(1))), 11); }

// all(f(), g()): tasks as temporaries, referred to by another temporary that is awaited.
struct Both {
  Both(MiniTask<int>&& a, MiniTask<int>&& b) : first(a), second(b) {}
  Both(Both&&) = delete;
  MiniTask<int>& first;
  MiniTask<int>& second;
  Counted guard{0};
};
Both both(MiniTask<int>&& a, MiniTask<int>&& b) { return Both(std::move(a), std::move(b)); }
MiniTask<int> join(Both&& pair) {
  const int a = co_await std::move(pair.first);
  const int b = co_await std::move(pair.second);
  co_return a + b;
}
MiniTask<int> awaits_temporaries() {
  const int sum = co_await join(both(later(20), later(22)));
  co_return sum;
}
TEST_F(Compiler, temporaries_of_an_awaited_expression_survive_suspension) {
  EXPECT_EQ(finish(awaits_temporaries()), 42);
}
TEST_F(Compiler, temporaries_of_an_awaited_expression_die_once_when_the_frame_is_destroyed) {
  {
    MiniTask<int> task = awaits_temporaries();
    run(task.handle_);
    EXPECT_EQ(live_values, 1);
    parked.clear();
  }
  EXPECT_EQ(live_values, 0);
}
MiniTask<int> fails_among_temporaries() {
  Counted local(1);
  const int sum = co_await join(both(failing(), later(22)));
  co_return sum + local.value;
}
TEST_F(Compiler, temporaries_die_once_when_an_awaited_task_fails_at_once) {
  EXPECT_EQ(finish(fails_among_temporaries()), std::nullopt);
}

struct Holder {
  explicit Holder(MiniTask<int>&& t) : task(t) {}
  Holder(Holder&&) = delete;
  MiniTask<int>& task;
  std::string text = std::string(100, 'x');
};
MiniTask<int> await_holder(Holder&& holder, const std::string& text) {
  const int value = co_await std::move(holder.task);
  co_return value + static_cast<int>(text.size());
}
MiniTask<int> awaits_with_string_temporary() {
  co_return co_await await_holder(Holder(later(1)), std::string("a text that is too long for the small buffer"));
}
TEST_F(Compiler, references_to_temporaries_hold_across_suspension) {
  EXPECT_EQ(finish(awaits_with_string_temporary()), 45);
}

MiniTask<std::tuple<Counted, Counted>> pair_of(int a, int b) {
  co_await Park{};
  co_return std::tuple<Counted, Counted>(Counted(a), Counted(b));
}
MiniTask<int> binds_a_named_result() {
  auto pair = co_await pair_of(3, 4);
  auto& [a, b] = pair;
  co_await Park{};
  co_return a.value* b.value;
}
TEST_F(Compiler, a_named_result_bound_by_reference_dies_once) { EXPECT_EQ(finish(binds_a_named_result()), 12); }
TEST_F(Compiler, a_named_result_bound_by_reference_dies_with_a_suspended_frame) {
  {
    MiniTask<int> task = binds_a_named_result();
    run(task.handle_);
    run(std::exchange(parked, {}).front());
    EXPECT_EQ(live_values, 2);
    parked.clear();
  }
  EXPECT_EQ(live_values, 0);
}

MiniTask<Counted> counted_later(int value) {
  co_await Park{};
  co_return Counted(value);
}
MiniTask<int> awaits_in_conditions() {
  int rounds = 0;
  while (co_await later(rounds) < 3) ++rounds;
  if (co_await at_once(1) == 1 && (co_await later(2)) == 2) rounds += 10;
  if ((co_await counted_later(5)).value == 5) rounds += 100;
  const int picked = co_await at_once(0) != 0 ? co_await later(1) : co_await later(1000);
  for (int i = co_await later(0); i < co_await later(2); ++i) rounds += 10000;
  switch (co_await later(7)) {
    case 7:
      co_return rounds + picked;
    default:
      co_return -1;
  }
}
TEST_F(Compiler, awaits_in_conditions_are_evaluated_once_each) { EXPECT_EQ(finish(awaits_in_conditions()), 21113); }

// `if (co_await …)` in a coroutine without a local variable never continues with GCC 12.2: the result is named before.
MiniTask<int> awaits_for_its_only_condition() {
  const int value = co_await later(1);
  if (value != 1) co_return 0;
  co_await Park{};
  co_return 2;
}
TEST_F(Compiler, a_result_that_is_named_before_a_condition_is_the_only_local) {
  EXPECT_EQ(finish(awaits_for_its_only_condition()), 2);
}

MiniTask<int> awaits_with_initialiser() {
  if (auto counted = co_await counted_later(8); counted.value == 8) co_return counted.value;
  co_return 0;
}
TEST_F(Compiler, an_initialiser_of_a_condition_dies_once) { EXPECT_EQ(finish(awaits_with_initialiser()), 8); }

int add(Counted a, const Counted& b, int c) { return a.value + b.value + c; }
MiniTask<int> awaits_as_arguments() {
  co_return add(co_await counted_later(1), co_await counted_later(2), co_await later(3));
}
TEST_F(Compiler, awaits_as_arguments_of_one_call_die_once) { EXPECT_EQ(finish(awaits_as_arguments()), 6); }

MiniTask<int> throws_after(bool suspend) {
  Counted local(1);
  if (suspend) co_await Park{};
  throw std::runtime_error("thrown");
  co_return 0;
}
MiniTask<int> catches_its_own() {
  Counted outer(1);
  int caught = 0;
  try {
    Counted inner(2);
    co_await Park{};
    throw std::runtime_error("thrown");
  } catch (const std::runtime_error&) {
    caught = 1;
  }
  co_await Park{};
  co_return caught;
}
TEST_F(Compiler, an_exception_from_a_body_destroys_its_locals_once) {
  EXPECT_EQ(finish(throws_after(false)), std::nullopt);
  EXPECT_EQ(finish(throws_after(true)), std::nullopt);
  EXPECT_EQ(finish(catches_its_own()), 1);
}

MiniTask<int> chain(int depth) {
  Counted local(depth);
  if (depth == 0) co_return co_await failing();
  const int below = co_await chain(depth - 1);
  co_return below + local.value;
}
TEST_F(Compiler, a_failed_chain_is_never_resumed_and_its_frames_die_once) {
  EXPECT_EQ(finish(chain(50)), std::nullopt);
}

MiniTask<int> suspended_chain(int depth) {
  Counted local(depth);
  if (depth == 0) co_return co_await later(1);
  co_return co_await suspended_chain(depth - 1) + local.value;
}
TEST_F(Compiler, destroying_a_suspended_chain_destroys_every_local_once) {
  {
    MiniTask<int> task = suspended_chain(50);
    run(task.handle_);
    EXPECT_EQ(live_values, 51);
    parked.clear();
  }
  EXPECT_EQ(live_values, 0);
}

MiniTask<int> assigns_from_awaits() {
  std::string text;
  text += std::to_string(co_await later(1));
  text += std::to_string(co_await at_once(2));
  std::vector<Counted> counted;
  counted.push_back(co_await counted_later(3));
  counted.emplace_back(co_await later(4));
  co_return std::stoi(text) + counted[0].value + counted[1].value;
}
TEST_F(Compiler, results_are_moved_into_containers) { EXPECT_EQ(finish(assigns_from_awaits()), 19); }

// A lambda that captures what has a destructor is built on the line before, never inside the awaiting expression.
template <class F>
MiniTask<int> calls(F f) {
  co_await Park{};
  co_return f();
}
MiniTask<int> awaits_with_named_lambda() {
  Counted captured(9);
  auto reader = [captured] { return captured.value; };
  co_return co_await calls(reader);
}
TEST_F(Compiler, a_lambda_named_before_the_await_dies_once) { EXPECT_EQ(finish(awaits_with_named_lambda()), 9); }

// One that has nothing to destroy may stand there: what is called is the temporary itself, until the await is over.
struct Borrowed {
  template <class F>
  Borrowed(F&& f) noexcept
      : object(const_cast<void*>(static_cast<const void*>(&f))),
        call([](void* at, int value) { (*static_cast<std::remove_reference_t<F>*>(at))(value); }) {}
  void* object;
  void (*call)(void*, int);
};
MiniTask<int> calls_borrowed(Borrowed borrowed, int value) {
  borrowed.call(borrowed.object, value);
  co_await Park{};
  borrowed.call(borrowed.object, value);
  co_return 1;
}
MiniTask<int> awaits_with_lambda_of_references() {
  Counted sum(0);
  std::string text;
  const int added = co_await calls_borrowed(
      [&sum, &text](int value) {
        sum.value += value;
        text += std::string(20, 'x');
      },
      3);
  co_return sum.value * 100 + static_cast<int>(text.size()) + added;
}
TEST_F(Compiler, a_lambda_of_references_in_the_awaited_expression_lives_until_it_ends) {
  EXPECT_EQ(finish(awaits_with_lambda_of_references()), 641);
}
TEST_F(Compiler, a_lambda_of_references_ends_with_a_suspended_frame) {
  MiniTask<int> task = awaits_with_lambda_of_references();
  run(task.handle_);
  parked.clear();
}

struct Service {
  Counted state{5};
  MiniTask<int> member(int add_on) {
    co_await Park{};
    co_return state.value + add_on;
  }
  MiniTask<int> twice() { co_return co_await member(1) + co_await member(2); }
};
TEST_F(Compiler, member_coroutines_keep_this) {
  Service service;
  EXPECT_EQ(finish(service.twice()), 13);
}

// A coroutine that yields: the value is taken by value, the locals live on, and one that is dropped at its co_yield
// destroys them.
struct MiniStream {
  struct promise_type : Core {
    std::optional<Counted> value;
    MiniStream get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() noexcept {
      value.reset();
      return {};
    }
    void unhandled_exception() noexcept { failed = true; }
    void return_void() noexcept {}
    std::suspend_always yield_value(Counted yielded) {
      value.emplace(std::move(yielded));
      return {};
    }
  };
  std::coroutine_handle<promise_type> handle;
  std::optional<Counted> next() {
    if (!handle.done()) handle.resume();
    return std::exchange(handle.promise().value, std::nullopt);
  }
  ~MiniStream() { handle.destroy(); }
};
MiniStream yields(Counted parameter) {
  Counted local(10);
  for (int i = 0; i < 3; ++i) {
    Counted named(local.value + parameter.value + i);
    co_yield std::move(named);
    co_yield Counted(i);
  }
}
TEST_F(Compiler, a_yielded_value_is_moved_once_and_locals_live_on) {
  MiniStream stream = yields(Counted(100));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(stream.next()->value, 110 + i);
    EXPECT_EQ(stream.next()->value, i);
  }
  EXPECT_FALSE(stream.next());
  EXPECT_FALSE(stream.next());
}
TEST_F(Compiler, a_stream_that_is_dropped_at_a_yield_destroys_its_locals) {
  {
    MiniStream stream = yields(Counted(100));
    EXPECT_EQ(stream.next()->value, 110);
    EXPECT_EQ(live_values, 4) << "the parameter, the local, and the two that the value was moved from";
  }
  {
    MiniStream never_asked = yields(Counted(1));
  }
}

// A frame finds its handle by where its promise is.
template <class Base>
struct Placed {
  struct promise_type : Base {
    Placed get_return_object() { return {reinterpret_cast<char*>(this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept {}
  };
  std::coroutine_handle<> handle() const { return std::coroutine_handle<>::from_address(promise - 2 * sizeof(void*)); }
  char* promise;
};
struct Small {
  char byte;
};
struct Pointers {
  void* words[7];
};
struct alignas(2 * sizeof(void*)) Aligned {
  char bytes[64];
};
template <class Base>
Placed<Base> counts(int& steps) {
  ++steps;
  co_return;
}
template <class Base>
void expect_handle_of_promise() {
  int steps = 0;
  const Placed<Base> placed = counts<Base>(steps);
  placed.handle().resume();
  EXPECT_EQ(steps, 1);
  EXPECT_TRUE(placed.handle().done());
  placed.handle().destroy();
}
TEST_F(Compiler, a_promise_stands_behind_two_pointers) {
  expect_handle_of_promise<Small>();
  expect_handle_of_promise<Pointers>();
  expect_handle_of_promise<Aligned>();
}

}  // namespace
