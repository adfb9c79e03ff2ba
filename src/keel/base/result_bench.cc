// What a Result costs. Nanoseconds per operation; `allocations` is per operation. Against exceptions and other kinds of
// results: result_peers_bench.cc.
//
// Sources are hidden from the compiler (DoNotOptimize) and results are used, so nothing is computed beforehand. A
// Result cannot be copied, for an Error is moved only: `copy` makes another one from the value of the first.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "keel/base/result.h"
#include "keel/base/testing/allocation_count.h"

namespace keel {
namespace {

// Counts from here to its end.
class AllocationsPerIteration {
 public:
  explicit AllocationsPerIteration(benchmark::State& state) : state_(state), before_(internal::allocations()) {}
  ~AllocationsPerIteration() {
    state_.counters["allocations"] =
        benchmark::Counter(static_cast<double>(internal::allocations() - before_), benchmark::Counter::kAvgIterations);
  }

 private:
  benchmark::State& state_;
  std::size_t before_;
};

template <class T>
T payload(std::size_t size) {
  if constexpr (requires { T(size, typename T::value_type{}); }) {
    return T(size, typename T::value_type{1});
  } else {
    return static_cast<T>(size);
  }
}

template <class T>
void create(benchmark::State& state) {
  auto size = static_cast<std::size_t>(state.range(0));
  const AllocationsPerIteration allocations(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(size);
    Result<T> result(payload<T>(size));
    benchmark::DoNotOptimize(result);
  }
}

template <class T>
void copy(benchmark::State& state) {
  Result<T> source(payload<T>(static_cast<std::size_t>(state.range(0))));
  const AllocationsPerIteration allocations(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(source);
    Result<T> result(*source);
    benchmark::DoNotOptimize(result);
  }
}

// From one place to another and back, each time into memory that holds nothing.
template <class T>
void move(benchmark::State& state) {
  union Place {
    Place() {}
    ~Place() {}
    Result<T> result;
  } places[2];
  std::construct_at(&places[0].result, payload<T>(static_cast<std::size_t>(state.range(0))));
  const auto move_over = [](Place& from, Place& to) {
    std::construct_at(&to.result, std::move(from.result));
    std::destroy_at(&from.result);
    benchmark::DoNotOptimize(to.result);
  };
  {
    const AllocationsPerIteration allocations(state);
    while (state.KeepRunningBatch(2)) {
      move_over(places[0], places[1]);
      move_over(places[1], places[0]);
    }
  }
  if (!places[0].result.is_ok()) state.SkipWithError("the value was lost");
  std::destroy_at(&places[0].result);
}

template <class T>
void access(benchmark::State& state) {
  Result<T> source(payload<T>(static_cast<std::size_t>(state.range(0))));
  const AllocationsPerIteration allocations(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(source);
    const T* value = &source.value();
    benchmark::DoNotOptimize(value);
    if constexpr (std::is_arithmetic_v<T>) {
      T read = *value;
      benchmark::DoNotOptimize(read);
    }
  }
}

#define KEEL_BENCH_PAYLOAD(type, size)         \
  BENCHMARK_TEMPLATE(create, type)->Arg(size); \
  BENCHMARK_TEMPLATE(copy, type)->Arg(size);   \
  BENCHMARK_TEMPLATE(move, type)->Arg(size);   \
  BENCHMARK_TEMPLATE(access, type)->Arg(size)

KEEL_BENCH_PAYLOAD(int, 42);
KEEL_BENCH_PAYLOAD(double, 42);
KEEL_BENCH_PAYLOAD(bool, 1);
KEEL_BENCH_PAYLOAD(std::string, 10);
KEEL_BENCH_PAYLOAD(std::string, 100);
KEEL_BENCH_PAYLOAD(std::vector<int>, 10);
KEEL_BENCH_PAYLOAD(std::vector<int>, 100);

void create_void(benchmark::State& state) {
  for (auto _ : state) {
    Result<> result = Result<>::ok();
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK(create_void);

void move_void(benchmark::State& state) {
  Result<> source = Result<>::ok();
  for (auto _ : state) {
    benchmark::DoNotOptimize(source);
    Result<> result(std::move(source));
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK(move_void);

void create_error(benchmark::State& state) {
  const AllocationsPerIteration allocations(state);
  for (auto _ : state) {
    Result<int> result = fail(Code::NotFound, "no such user");
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK(create_error);

void create_error_with_message(benchmark::State& state) {
  const std::string message = "no user with the number 1234567";
  const AllocationsPerIteration allocations(state);
  for (auto _ : state) {
    Result<int> result = Error::text(Code::NotFound, message);
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK(create_error_with_message);

void is_ok(benchmark::State& state) {
  Result<int> source(42);
  const AllocationsPerIteration allocations(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(source);
    bool ok = source.is_ok();
    benchmark::DoNotOptimize(ok);
  }
}
BENCHMARK(is_ok);

void error_code(benchmark::State& state) {
  Result<int> source = fail(Code::NotFound, "no such user");
  for (auto _ : state) {
    benchmark::DoNotOptimize(source);
    auto code = static_cast<int>(source.error().code());
    benchmark::DoNotOptimize(code);
  }
}
BENCHMARK(error_code);

// Applies `f` to a fresh Result<int>, of a value or of an error.
template <class F>
void apply(benchmark::State& state, bool is_error, F f) {
  int input = 42;
  const AllocationsPerIteration allocations(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(input);
    benchmark::DoNotOptimize(is_error);
    Result<int> source = is_error ? Result<int>(fail(Code::NotFound, "no such user")) : Result<int>(input);
    auto result = f(std::move(source));
    benchmark::DoNotOptimize(result);
  }
}

constexpr auto add_one = [](int value) { return value + 1; };
constexpr auto checked = [](int value) -> Result<int> {
  if (value < 0) return fail(Code::OutOfRange, "below zero");
  return value + 1;
};
constexpr auto recover = [](Error&& error) -> Result<int> {
  if (error.code() == Code::NotFound) return 0;
  return Result<int>(std::move(error));
};

void map(benchmark::State& state) {
  apply(state, false, [](Result<int>&& r) { return std::move(r).map(add_one); });
}
BENCHMARK(map);
void map_twice(benchmark::State& state) {
  apply(state, false, [](Result<int>&& r) { return std::move(r).map(add_one).map(add_one); });
}
BENCHMARK(map_twice);
void and_then(benchmark::State& state) {
  apply(state, false, [](Result<int>&& r) { return std::move(r).and_then(checked); });
}
BENCHMARK(and_then);
void and_then_twice(benchmark::State& state) {
  apply(state, false, [](Result<int>&& r) { return std::move(r).and_then(checked).and_then(checked); });
}
BENCHMARK(and_then_twice);
void or_else_of_a_value(benchmark::State& state) {
  apply(state, false, [](Result<int>&& r) { return std::move(r).or_else(recover); });
}
BENCHMARK(or_else_of_a_value);
void or_else_of_an_error(benchmark::State& state) {
  apply(state, true, [](Result<int>&& r) { return std::move(r).or_else(recover); });
}
BENCHMARK(or_else_of_an_error);
void chain_of_four(benchmark::State& state) {
  apply(state, false,
        [](Result<int>&& r) { return std::move(r).and_then(checked).map(add_one).and_then(checked).or_else(recover); });
}
BENCHMARK(chain_of_four);
void chain_of_three(benchmark::State& state) {
  apply(state, false,
        [](Result<int>&& r) { return std::move(r).and_then(checked).and_then(checked).and_then(checked); });
}
BENCHMARK(chain_of_three);

// Context added at each of `depth` levels, each a call of its own.
[[gnu::noinline]] Result<int> descend_with_context(int depth, int input) {
  if (depth == 0) return fail(Code::OutOfRange, "below zero");
  Result<int> result = descend_with_context(depth - 1, input);
  if (!result) return std::move(result).because("reading the settings");
  return *result + 1;
}

void error_with_context(benchmark::State& state) {
  const int depth = static_cast<int>(state.range(0));
  std::size_t size = 0;
  const AllocationsPerIteration allocations(state);
  for (auto _ : state) {
    Result<int> result = descend_with_context(depth, -1);
    benchmark::DoNotOptimize(result);
    size = result.error().message().size();
  }
  // "below zero", and each level with what follows it.
  if (size != 10 + static_cast<std::size_t>(depth) * 22) state.SkipWithError("context was lost");
}
BENCHMARK(error_with_context)->ArgName("levels")->Arg(2)->Arg(5);

}  // namespace
}  // namespace keel
