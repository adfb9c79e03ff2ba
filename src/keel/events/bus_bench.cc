// What it costs to publish an event, in nanoseconds for each, by number of subscribers (`publish`), by type of event
// (`publish_type`) and by number of publishing threads (`publishers`: events per second of all together; with more
// threads than cores they take turns, and nothing can be gained). The same work by Boost.Signals2, by a vector of
// std::function under a mutex, by direct and by virtual calls. Each round checks that every handler has been called for
// every event. `allocations` is per event.
//
//   publish_filtered  to handlers whose filters refuse it
//   publish_further   to 100 and to 10 in turns; `ns_per_subscriber` is what each of the 90 more adds
//   publish_kinds     to handlers of two types in turns, so that no call goes where the one before it went
//   publish_by_type   looks the topic up for each event, by its type
//   publish_all       a hundred events in one call
//   to_executor       copied into a queue, and handled by a job on the same thread
//   subscribe         a subscription begins, beside up to 15 others; end_subscription: it ends

#include <benchmark/benchmark.h>
#include <time.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#ifdef KEEL_BENCH_SIGNALS2
#include <boost/signals2.hpp>
#endif

#include "keel/base/host.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/events/bus.h"

namespace keel::events {
namespace {

struct Placed {
  std::uint64_t order = 1;
};
struct Large {
  std::int64_t order = 1;
  std::int64_t customer = 2;
  double price = 3;
  std::array<char, 40> text = {};
};

// What a handler does: enough to be seen, and no more.
struct Sum {
  std::uint64_t events = 0;
  [[gnu::noinline]] void add_direct(const Placed& event) { events += event.order; }
};

auto adds(Sum& sum) {
  return [&sum](const Placed& event) { sum.events += event.order; };
}

auto adds_too(Sum& sum) {
  return [&sum](const Placed& event) { sum.events += event.order; };
}

class Allocations {
 public:
  explicit Allocations(benchmark::State& state) : state_(state), before_(keel::internal::allocations()) {}
  ~Allocations() {
    state_.counters["allocations"] = benchmark::Counter(static_cast<double>(keel::internal::allocations() - before_),
                                                        benchmark::Counter::kAvgIterations);
  }

 private:
  benchmark::State& state_;
  const std::size_t before_;
};

void check(benchmark::State& state, std::uint64_t calls, std::int64_t handlers) {
  if (calls != state.iterations() * static_cast<std::uint64_t>(handlers)) {
    state.SkipWithError("not every handler was called for every event");
  }
}

// A counter for each handler, so that none waits for the one before it.
std::uint64_t sum_of(const std::vector<Sum>& sums) {
  std::uint64_t all = 0;
  for (const Sum& sum : sums) all += sum.events;
  return all;
}

void publish(benchmark::State& state) {
  Bus bus;
  const Topic<Placed> topic = bus.topic<Placed>();
  std::vector<Sum> sums(static_cast<std::size_t>(state.range(0)));
  std::vector<Subscription> subscriptions;
  for (Sum& sum : sums) subscriptions.push_back(topic.subscribe(adds(sum)));
  Placed event;
  topic.publish(event);
  for (Sum& sum : sums) sum.events = 0;
  {
    const Allocations allocations(state);
    for (auto _ : state) {
      benchmark::DoNotOptimize(event);
      topic.publish(event);
    }
  }
  check(state, sum_of(sums), state.range(0));
}
BENCHMARK(publish)->ArgName("subscribers")->Arg(0)->Arg(1)->Arg(2)->Arg(5)->Arg(10)->Arg(50)->Arg(100);

// What this thread has used of a processor: while another one has it, nothing.
Duration cpu_time() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return Duration::seconds(used.tv_sec) + Duration::nanoseconds(used.tv_nsec);
}

// So many subscribers of one topic, each with a counter of its own.
class Audience {
 public:
  explicit Audience(std::size_t subscribers) : sums_(subscribers) {
    for (Sum& sum : sums_) subscriptions_.push_back(topic_.subscribe(adds(sum)));
  }
  // The time of `events` events.
  Duration publish(Placed& event, std::size_t events) const {
    const Duration began = cpu_time();
    for (std::size_t i = 0; i < events; ++i) {
      benchmark::DoNotOptimize(event);
      topic_.publish(event);
    }
    return cpu_time() - began;
  }
  std::uint64_t handled() const { return sum_of(sums_); }

 private:
  Bus bus_;
  const Topic<Placed> topic_ = bus_.topic<Placed>();
  std::vector<Sum> sums_;
  std::vector<Subscription> subscriptions_;
};

// In turns, so that what slows the processor down for a while does so for both.
void publish_further(benchmark::State& state) {
  constexpr std::size_t many = 100, few = 10, at_once = 64;
  const Audience large(many), small(few);
  Placed event;
  Duration added;
  while (state.KeepRunningBatch(at_once)) {
    added = added + large.publish(event, at_once);
    added = added - small.publish(event, at_once);
  }
  check(state, large.handled() + small.handled(), many + few);
  state.counters["ns_per_subscriber"] =
      static_cast<double>(added.count_ns()) / static_cast<double>(state.iterations()) / (many - few);
}
BENCHMARK(publish_further);

void publish_kinds(benchmark::State& state) {
  Bus bus;
  const Topic<Placed> topic = bus.topic<Placed>();
  std::vector<Sum> sums(static_cast<std::size_t>(state.range(0)));
  std::vector<Subscription> subscriptions;
  for (Sum& sum : sums) {
    const bool is_even = subscriptions.size() % 2 == 0;
    subscriptions.push_back(is_even ? topic.subscribe(adds(sum)) : topic.subscribe(adds_too(sum)));
  }
  Placed event;
  for (auto _ : state) {
    benchmark::DoNotOptimize(event);
    topic.publish(event);
  }
  check(state, sum_of(sums), state.range(0));
}
BENCHMARK(publish_kinds)->ArgName("subscribers")->Arg(10)->Arg(100);

// To subscribers whose filters want none of it.
void publish_filtered(benchmark::State& state) {
  Bus bus;
  const Topic<Placed> topic = bus.topic<Placed>();
  std::vector<Sum> sums(static_cast<std::size_t>(state.range(0)));
  std::vector<Subscription> subscriptions;
  std::uint64_t wanted = 2;
  for (Sum& sum : sums) {
    subscriptions.push_back(
        topic.subscribe([&wanted](const Placed& event) { return event.order == wanted; }, adds(sum)));
  }
  Placed event;
  for (auto _ : state) {
    benchmark::DoNotOptimize(event);
    benchmark::DoNotOptimize(wanted);
    topic.publish(event);
  }
  if (sum_of(sums) != 0) state.SkipWithError("a handler was called for an event that its filter refuses");
}
BENCHMARK(publish_filtered)->ArgName("subscribers")->Arg(10);

void publish_by_type(benchmark::State& state) {
  Bus bus;
  Sum sum;
  const Subscription subscription = bus.subscribe<Placed>(adds(sum));
  Placed event;
  for (auto _ : state) {
    benchmark::DoNotOptimize(event);
    bus.publish(event);
  }
  check(state, sum.events, 1);
}
BENCHMARK(publish_by_type);

void publish_all(benchmark::State& state) {
  constexpr std::size_t batch = 100;
  Bus bus;
  const Topic<Placed> topic = bus.topic<Placed>();
  Sum sum;
  const Subscription subscription = topic.subscribe(adds(sum));
  const std::vector<Placed> events(batch);
  while (state.KeepRunningBatch(batch)) topic.publish_all(events);
  check(state, sum.events, 1);
}
BENCHMARK(publish_all);

template <class E>
void publish_type(benchmark::State& state, const E& event) {
  Bus bus;
  const Topic<E> topic = bus.topic<E>();
  std::uint64_t calls = 0;
  const Subscription subscription = topic.subscribe([&](const E& got) {
    benchmark::DoNotOptimize(&got);
    ++calls;
  });
  for (auto _ : state) topic.publish(event);
  check(state, calls, 1);
}
BENCHMARK_CAPTURE(publish_type, int, 42);
BENCHMARK_CAPTURE(publish_type, string_10, std::string(10, 'a'));
BENCHMARK_CAPTURE(publish_type, string_100, std::string(100, 'a'));
BENCHMARK_CAPTURE(publish_type, struct, Large());

// One topic for all threads; each event is handled on the thread that publishes it.
void publishers(benchmark::State& state) {
  static Bus* bus = nullptr;
  static Subscription* subscription = nullptr;
  static thread_local std::uint64_t calls = 0;
  if (state.thread_index() == 0) {
    bus = new Bus;
    subscription = new Subscription(bus->subscribe<Placed>([](const Placed&) { ++calls; }));
  }
  calls = 0;
  Placed event;
  for (auto _ : state) {
    benchmark::DoNotOptimize(event);
    bus->publish(event);
  }
  check(state, calls, 1);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
  if (state.thread_index() == 0) {
    delete subscription;
    delete bus;
  }
}
BENCHMARK(publishers)->Threads(1)->Threads(2)->Threads(4)->Threads(8)->Threads(16)->UseRealTime();

// Runs what was posted when it is told to.
struct Later final : Executor {
  void post(Job& job) noexcept override { waiting = &job; }
  void run() {
    while (Job* const job = std::exchange(waiting, nullptr)) job->run(*job);
  }
  Job* waiting = nullptr;
};

void to_executor(benchmark::State& state) {
  constexpr std::size_t batch = 64;
  Later later;
  Bus bus;
  const Topic<Placed> topic = bus.topic<Placed>();
  Sum sum;
  const Subscription subscription = topic.subscribe(adds(sum), {.executor = &later});
  Placed event;
  topic.publish(event);
  later.run();
  sum.events = 0;
  {
    const Allocations allocations(state);
    while (state.KeepRunningBatch(batch)) {
      for (std::size_t i = 0; i < batch; ++i) topic.publish(event);
      later.run();
    }
  }
  check(state, sum.events, 1);
}
BENCHMARK(to_executor);

constexpr std::size_t at_once = 16;

// Gives the heap allocations of f.
template <class F>
std::size_t time_of(benchmark::State& state, F&& f) {
  const std::size_t before = keel::internal::allocations();
  const Instant began = Host::system().now();
  f();
  state.SetIterationTime((Host::system().now() - began).count_seconds());
  return keel::internal::allocations() - before;
}

void subscribe(benchmark::State& state) {
  Bus bus;
  const Topic<Placed> topic = bus.topic<Placed>();
  std::vector<Subscription> subscriptions(at_once);
  std::uint64_t calls = 0;
  std::size_t allocations = 0;
  while (state.KeepRunningBatch(at_once)) {
    allocations += time_of(state, [&] {
      for (Subscription& one : subscriptions) one = topic.subscribe([&](const Placed&) { ++calls; });
    });
    topic.publish(Placed());
    for (Subscription& one : subscriptions) one.end();
  }
  check(state, calls, 1);
  state.counters["allocations"] = static_cast<double>(allocations) / static_cast<double>(state.iterations());
}
BENCHMARK(subscribe)->UseManualTime();

void end_subscription(benchmark::State& state) {
  Bus bus;
  const Topic<Placed> topic = bus.topic<Placed>();
  std::vector<Subscription> subscriptions(at_once);
  std::uint64_t calls = 0;
  std::size_t allocations = 0;
  while (state.KeepRunningBatch(at_once)) {
    for (Subscription& one : subscriptions) one = topic.subscribe([&](const Placed&) { ++calls; });
    allocations += time_of(state, [&] {
      for (Subscription& one : subscriptions) one.end();
    });
    topic.publish(Placed());
  }
  check(state, calls, 0);
  state.counters["allocations"] = static_cast<double>(allocations) / static_cast<double>(state.iterations());
}
BENCHMARK(end_subscription)->UseManualTime();

// --- The same work by others.

#ifdef KEEL_BENCH_SIGNALS2
void signals2_kinds(benchmark::State& state) {
  boost::signals2::signal<void(const Placed&)> signal;
  std::vector<Sum> sums(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (i % 2 == 0) {
      signal.connect(adds(sums[i]));
    } else {
      signal.connect(adds_too(sums[i]));
    }
  }
  Placed event;
  for (auto _ : state) {
    benchmark::DoNotOptimize(event);
    signal(event);
  }
  check(state, sum_of(sums), state.range(0));
}
BENCHMARK(signals2_kinds)->ArgName("subscribers")->Arg(10)->Arg(100);

void signals2(benchmark::State& state) {
  boost::signals2::signal<void(const Placed&)> signal;
  std::vector<Sum> sums(static_cast<std::size_t>(state.range(0)));
  for (Sum& sum : sums) signal.connect(adds(sum));
  Placed event;
  {
    const Allocations allocations(state);
    for (auto _ : state) {
      benchmark::DoNotOptimize(event);
      signal(event);
    }
  }
  check(state, sum_of(sums), state.range(0));
}
BENCHMARK(signals2)->ArgName("subscribers")->Arg(1)->Arg(10)->Arg(100);
#endif

class MutexBus {
 public:
  void subscribe(std::function<void(const Placed&)> handler) {
    const std::lock_guard lock(mutex_);
    handlers_.push_back(std::move(handler));
  }
  void publish(const Placed& event) const {
    const std::lock_guard lock(mutex_);
    for (const auto& handler : handlers_) handler(event);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::function<void(const Placed&)>> handlers_;
};

void mutex_bus(benchmark::State& state) {
  MutexBus bus;
  std::vector<Sum> sums(static_cast<std::size_t>(state.range(0)));
  for (Sum& sum : sums) bus.subscribe(adds(sum));
  Placed event;
  for (auto _ : state) {
    benchmark::DoNotOptimize(event);
    bus.publish(event);
  }
  check(state, sum_of(sums), state.range(0));
}
BENCHMARK(mutex_bus)->ArgName("subscribers")->Arg(1)->Arg(10)->Arg(100);

void mutex_bus_publishers(benchmark::State& state) {
  static MutexBus* bus = nullptr;
  static thread_local std::uint64_t calls = 0;
  if (state.thread_index() == 0) {
    bus = new MutexBus;
    bus->subscribe([](const Placed&) { ++calls; });
  }
  calls = 0;
  Placed event;
  for (auto _ : state) {
    benchmark::DoNotOptimize(event);
    bus->publish(event);
  }
  check(state, calls, 1);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
  if (state.thread_index() == 0) delete bus;
}
BENCHMARK(mutex_bus_publishers)->Threads(1)->Threads(2)->UseRealTime();

void direct_call(benchmark::State& state) {
  Sum sum;
  Sum* at = &sum;
  Placed event;
  for (auto _ : state) {
    benchmark::DoNotOptimize(at);
    benchmark::DoNotOptimize(event);
    at->add_direct(event);
  }
  check(state, sum.events, 1);
}
BENCHMARK(direct_call);

struct Handler {
  virtual ~Handler() = default;
  virtual void handle(const Placed& event) = 0;
};
struct Adding final : Handler {
  void handle(const Placed& event) override { sum.events += event.order; }
  Sum sum;
};

// A second kind: else the compiler knows the called handler.
struct Ignoring final : Handler {
  void handle(const Placed&) override {}
};

void virtual_call(benchmark::State& state) {
  Adding adding;
  Ignoring ignoring;
  Handler* at = state.max_iterations > 0 ? static_cast<Handler*>(&adding) : &ignoring;
  Placed event;
  for (auto _ : state) {
    benchmark::DoNotOptimize(at);
    benchmark::DoNotOptimize(event);
    at->handle(event);
  }
  check(state, adding.sum.events, 1);
}
BENCHMARK(virtual_call);

}  // namespace
}  // namespace keel::events
