// A Result against what is used in its place: exceptions, std::expected, Boost.Outcome where its package is there, and
// an optional with a code. Nanoseconds per operation.
//
// The same work for all: a value or an error goes up through `levels` functions, each a call that is not inlined and
// looks at what it got. An error says which one it is and has a constant text, save for Outcome's and the optional's,
// which have only a number.

#include <benchmark/benchmark.h>

#include <expected>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "keel/base/result.h"

#ifdef KEEL_BENCH_OUTCOME
#include <boost/outcome/std_result.hpp>
#include <boost/outcome/try.hpp>
#endif

namespace keel {
namespace {

[[gnu::noinline]] Result<int> descend(int depth, int input) {
  if (depth == 0) {
    if (input < 0) return fail(Code::OutOfRange, "below zero");
    return input;
  }
  KEEL_TRY(int value, descend(depth - 1, input));
  benchmark::DoNotOptimize(value);  // Or the compiler makes a loop of it.
  return value + 1;
}

[[gnu::noinline]] int descend_or_throw(int depth, int input) {
  if (depth == 0) {
    if (input < 0) throw std::runtime_error("below zero");
    return input;
  }
  int value = descend_or_throw(depth - 1, input);
  benchmark::DoNotOptimize(value);
  return value + 1;
}

struct Failure {
  Code code;
  const char* what;
};
using Expected = std::expected<int, Failure>;
[[gnu::noinline]] Expected descend_expected(int depth, int input) {
  if (depth == 0) {
    if (input < 0) return std::unexpected(Failure{Code::OutOfRange, "below zero"});
    return input;
  }
  Expected result = descend_expected(depth - 1, input);
  if (!result) return std::unexpected(result.error());
  benchmark::DoNotOptimize(*result);
  return *result + 1;
}

// What is written without any of them: an optional, and a number that says why it is empty.
struct OptionalAndCode {
  bool has_value() const { return value.has_value(); }
  std::optional<int> value;
  int code = 0;
};
[[gnu::noinline]] OptionalAndCode descend_optional(int depth, int input) {
  if (depth == 0) {
    if (input < 0) return {std::nullopt, 1};
    return {input, 0};
  }
  OptionalAndCode result = descend_optional(depth - 1, input);
  if (!result.value) return result;
  benchmark::DoNotOptimize(*result.value);
  return {*result.value + 1, 0};
}

// Counts what came back as an error: all, or none.
template <class Descend>
void through_levels(benchmark::State& state, Descend descend) {
  int input = state.range(1) != 0 ? -1 : 1;
  const int depth = static_cast<int>(state.range(0)) - 1;
  long errors = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(input);
    auto result = descend(depth, input);
    if (!result.has_value()) ++errors;
    benchmark::DoNotOptimize(result);
  }
  if (errors != (input < 0 ? state.iterations() : 0)) state.SkipWithError("wrong number of errors");
}
void levels(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"levels", "fails"});
  for (const int count : {1, 5, 10}) benchmark->Args({count, 0})->Args({count, 1});
}

void result_through_levels(benchmark::State& state) { through_levels(state, descend); }
BENCHMARK(result_through_levels)->Apply(levels);

void exception_through_levels(benchmark::State& state) {
  int input = state.range(1) != 0 ? -1 : 1;
  const int depth = static_cast<int>(state.range(0)) - 1;
  long errors = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(input);
    int result = 0;
    try {
      result = descend_or_throw(depth, input);
    } catch (const std::runtime_error& error) {
      ++errors;
      benchmark::DoNotOptimize(&error);
    }
    benchmark::DoNotOptimize(result);
  }
  if (errors != (input < 0 ? state.iterations() : 0)) state.SkipWithError("wrong number of errors");
}
BENCHMARK(exception_through_levels)->Apply(levels);

void expected_through_levels(benchmark::State& state) { through_levels(state, descend_expected); }
BENCHMARK(expected_through_levels)->Apply(levels);

void optional_through_levels(benchmark::State& state) { through_levels(state, descend_optional); }
BENCHMARK(optional_through_levels)->Apply(levels);

#ifdef KEEL_BENCH_OUTCOME
namespace outcome = BOOST_OUTCOME_V2_NAMESPACE;

[[gnu::noinline]] outcome::std_result<int> descend_outcome(int depth, int input) {
  if (depth == 0) {
    if (input < 0) return std::make_error_code(std::errc::result_out_of_range);
    return input;
  }
  BOOST_OUTCOME_TRY(int value, descend_outcome(depth - 1, input));
  benchmark::DoNotOptimize(value);
  return value + 1;
}
void outcome_through_levels(benchmark::State& state) { through_levels(state, descend_outcome); }
BENCHMARK(outcome_through_levels)->Apply(levels);
#endif

void optional_create(benchmark::State& state) {
  int input = 42;
  for (auto _ : state) {
    benchmark::DoNotOptimize(input);
    OptionalAndCode result{input, 0};
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK(optional_create);
void optional_create_error(benchmark::State& state) {
  for (auto _ : state) {
    OptionalAndCode result{std::nullopt, 1};
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK(optional_create_error);
void optional_is_ok(benchmark::State& state) {
  OptionalAndCode source{42, 0};
  for (auto _ : state) {
    benchmark::DoNotOptimize(source);
    bool ok = source.value.has_value();
    benchmark::DoNotOptimize(ok);
  }
}
BENCHMARK(optional_is_ok);

OptionalAndCode checked(int value) {
  if (value < 0) return {std::nullopt, 1};
  return {value + 1, 0};
}
OptionalAndCode three_times(int input) {
  const OptionalAndCode first = checked(input);
  if (!first.value) return first;
  const OptionalAndCode second = checked(*first.value);
  if (!second.value) return second;
  return checked(*second.value);
}
void optional_chain_of_three(benchmark::State& state) {
  int input = 42;
  for (auto _ : state) {
    benchmark::DoNotOptimize(input);
    OptionalAndCode result = three_times(input);
    benchmark::DoNotOptimize(result);
  }
}
BENCHMARK(optional_chain_of_three);

}  // namespace
}  // namespace keel
