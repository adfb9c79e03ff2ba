#include "keel/app/lifecycle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

#include "keel/app/internal/no_threads_test.h"
#include "keel/config/version.h"

namespace keel::app::lifecycle_test {
namespace {

constexpr Duration long_enough = 30_s;  // For what comes soon, on a machine that is busy.

// What happened, in order.
class Events {
 public:
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    list_.push_back(what);
  }
  std::vector<std::string> list() const {
    const std::lock_guard lock(mutex_);
    return list_;
  }
  int at(const std::string& what) const {
    const auto all = list();
    return static_cast<int>(std::ranges::find(all, what) - all.begin());
  }
  bool has(const std::string& what) const { return at(what) < static_cast<int>(list().size()); }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> list_;
};

// Opens once. Waiting has an end, so that a test fails instead of hanging.
class Gate {
 public:
  void open() { open_ = true; }
  bool is_open() const { return open_; }
  bool wait(Duration most = long_enough) const {
    for (const Instant end = Host::system().now() + most; !open_ && Host::system().now() < end;) {
      Host::system().sleep(1_ms);
    }
    return open_;
  }

 private:
  std::atomic<bool> open_ = false;
};

class Modules : public ::testing::Test {
 protected:
  // A module that says what happens to it.
  Module module(const std::string& name, std::vector<std::string> needs = {}, Function<Result<>()> then = {}) {
    return {.name = name,
            .needs = std::move(needs),
            .start = [this, name, then = std::move(then)]() -> Result<> {
              events.add("+" + name);
              return then ? then() : Result<>();
            },
            .stop = [this, name] { events.add("-" + name); }};
  }
  Phase phase(const std::string& name) {
    for (Phase& one : lifecycle.phases()) {
      if (one.name == name) return std::move(one);
    }
    ADD_FAILURE() << "no phase " << name;
    return {};
  }

  // Interrupts the start once `name` has opened `begun`; then opens `gate`, a moment after the modules began to stop.
  Result<> start_until(const std::string& name, const Gate& begun, Gate& gate) {
    std::thread opener;
    Result<> started = lifecycle.start([&] {
      if (!begun.is_open()) return false;
      opener = std::thread([&] {
        while (lifecycle.begin(name)) std::this_thread::yield();  // Until it is stopping.
        Host::system().sleep(50_ms);
        gate.open();
      });
      return true;
    });
    if (opener.joinable()) opener.join();
    return started;
  }

  Events events;
  Lifecycle lifecycle{long_enough};
};

using List = std::vector<std::string>;

TEST_F(Modules, start_after_what_they_need_and_stop_before_it) {
  lifecycle.add(module("server", {"cache", "store"}));
  lifecycle.add(module("cache", {"store"}));
  lifecycle.add(module("store"));

  ASSERT_TRUE(lifecycle.start());
  EXPECT_EQ(events.list(), (List{"+store", "+cache", "+server"}));

  const StopReport report = lifecycle.stop(long_enough);
  EXPECT_EQ(events.list(), (List{"+store", "+cache", "+server", "-server", "-cache", "-store"}));
  EXPECT_TRUE(report.is_complete());
  ASSERT_EQ(report.parts.size(), 3u);
  EXPECT_EQ(report.parts[0].name, "server");
  EXPECT_EQ(report.parts[2].name, "store");
}

TEST_F(Modules, that_do_not_need_each_other_start_at_the_same_time) {
  Gate left, right;
  lifecycle.add(module("left", {}, [&]() -> Result<> {
    left.open();
    return right.wait() ? Result<>() : Result<>(Error(Code::Internal, "right has not begun"));
  }));
  lifecycle.add(module("right", {}, [&]() -> Result<> {
    right.open();
    return left.wait() ? Result<>() : Result<>(Error(Code::Internal, "left has not begun"));
  }));

  const auto started = lifecycle.start();

  ASSERT_TRUE(started) << started.error().describe();
  EXPECT_NE(phase("left").thread, phase("right").thread);
}

TEST_F(Modules, do_not_start_beside_what_they_need) {
  Gate begun;
  lifecycle.add(module("slow", {}, [&]() -> Result<> {
    begun.wait(20_ms);
    return {};
  }));
  lifecycle.add(module("after", {"slow"}, [&]() -> Result<> {
    begun.open();
    return {};
  }));

  ASSERT_TRUE(lifecycle.start());

  EXPECT_GE(phase("slow").took, 20_ms) << "nobody came";
  EXPECT_GE(phase("after").began, phase("slow").began + phase("slow").took);
  EXPECT_EQ(phase("after").waited_for, "slow");
  EXPECT_GE(phase("after").waited, 20_ms);
  EXPECT_EQ(phase("slow").waited_for, "");
}

TEST_F(Modules, that_are_missing_are_named_with_the_chain_before_anything_starts) {
  lifecycle.add(module("other"));
  lifecycle.add(module("server", {"other", "cache"}));
  lifecycle.add(module("cache", {"stroe"}));

  const auto started = lifecycle.start();

  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), Code::InvalidArgument);
  EXPECT_EQ(started.error().describe(), R"("server" needs "cache" needs "stroe": there is no module with that name)");
  EXPECT_EQ(events.list(), List{});
}

TEST_F(Modules, that_need_each_other_are_named_with_the_chain_before_anything_starts) {
  lifecycle.add(module("a", {"b"}));
  lifecycle.add(module("b", {"c"}));
  lifecycle.add(module("c", {"a"}));

  const auto started = lifecycle.start();

  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().describe(),
            R"(modules depend on each other in a cycle: "a" needs "b" needs "c" needs "a")");
  EXPECT_EQ(events.list(), List{});
}

TEST_F(Modules, that_run_already_are_stopped_when_others_cannot_start) {
  lifecycle.add(module("store"));
  ASSERT_TRUE(lifecycle.ensure("store"));
  lifecycle.add(module("server", {"nobody"}));

  EXPECT_FALSE(lifecycle.start());

  EXPECT_EQ(events.list(), (List{"+store", "-store"}));
}

TEST_F(Modules, that_are_lazy_are_checked_too) {
  Module lazy = module("lazy", {"nobody"});
  lazy.lazy = true;
  lifecycle.add(std::move(lazy));

  EXPECT_FALSE(lifecycle.start());
}

TEST_F(Modules, that_fail_stop_what_has_started_in_reverse) {
  lifecycle.add(module("store"));
  lifecycle.add(module("cache", {"store"}));
  lifecycle.add(module("mail", {"cache"}, [] { return Result<>(Error(Code::Unavailable, "no mail today")); }));
  lifecycle.add(module("server", {"mail"}));
  lifecycle.add(module("door", {"server"}));

  const auto started = lifecycle.start();

  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), Code::Unavailable);
  const std::string text = started.error().describe();
  EXPECT_TRUE(text.starts_with(R"(no mail today (module "mail" failed after )")) << text;
  EXPECT_TRUE(text.ends_with(R"( ms; "server", "door" waited for it))")) << text;
  EXPECT_EQ(events.list(), (List{"+store", "+cache", "+mail", "-cache", "-store"}));
  EXPECT_EQ(phase("mail").state, Phase::State::Failed);
}

TEST_F(Modules, that_throw_have_failed) {
  lifecycle.add(module("thrower", {}, []() -> Result<> { throw std::runtime_error("thrown"); }));

  const auto started = lifecycle.start();

  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), Code::Internal);
  EXPECT_NE(started.error().describe().find("exception: thrown"), std::string::npos);
}

TEST_F(Modules, that_take_too_long_are_named_and_the_rest_is_stopped) {
  Gate gate;
  Lifecycle short_stop(50_ms);
  short_stop.add(module("store"));
  Module slow = module("slow", {}, [&]() -> Result<> {
    gate.wait();
    return {};
  });
  slow.start_timeout = 30_ms;
  short_stop.add(std::move(slow));
  short_stop.add(module("server", {"slow", "store"}));

  const auto started = short_stop.start();

  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(started.error().describe(), R"(module "slow" did not start within 30 ms; "server" waited for it)");
  EXPECT_TRUE(events.has("-store"));
  EXPECT_FALSE(events.has("+server"));
  gate.open();
  EXPECT_TRUE(short_stop.stop(long_enough).is_complete());
  EXPECT_TRUE(events.has("-slow")) << "what came up late is stopped as well";
}

TEST_F(Modules, without_a_time_limit_of_their_own_have_that_of_the_lifecycle) {
  Gate gate;
  Lifecycle brief(50_ms, ModuleThreads::Own, 30_ms);
  brief.add(module("slow", {}, [&]() -> Result<> {
    gate.wait();
    return {};
  }));

  const auto started = brief.start();

  gate.open();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().describe(), R"(module "slow" did not start within 30 ms)");
}

TEST_F(Modules, stop_when_the_start_is_interrupted) {
  Gate gate;
  Gate slow;
  lifecycle.add(module("store"));
  lifecycle.add(module("slow", {"store"}, [&]() -> Result<> {
    slow.open();
    gate.wait();
    return {};
  }));
  lifecycle.add(module("server", {"slow"}));
  std::thread opener;

  const auto started = lifecycle.start([&] {
    if (!slow.is_open()) return false;
    // The module that is starting is waited for, and stopped.
    opener = std::thread([&] {
      while (lifecycle.begin("server")) std::this_thread::yield();  // Until it is stopping.
      gate.open();
    });
    return true;
  });
  opener.join();

  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), Code::Cancelled);
  EXPECT_EQ(events.list(), (List{"+store", "+slow", "-slow", "-store"}));
}

TEST_F(Modules, that_run_already_are_stopped_after_a_start_that_uses_them) {
  Gate used, done;
  Module store = module("store");
  store.lazy = true;
  lifecycle.add(std::move(store));
  lifecycle.add(module("user", {}, [&]() -> Result<> {
    KEEL_TRY_VOID(lifecycle.ensure("store"));
    used.open();
    done.wait();
    events.add("used");
    return {};
  }));
  ASSERT_TRUE(lifecycle.ensure("store"));

  EXPECT_FALSE(start_until("user", used, done));

  EXPECT_EQ(events.list(), (List{"+store", "+user", "used", "-user", "-store"}));
}

TEST_F(Modules, that_are_used_within_a_start_are_stopped_after_the_users_of_their_user) {
  Gate used, done;
  Module deep = module("deep");
  deep.lazy = true;
  lifecycle.add(std::move(deep));
  lifecycle.add(module("middle", {}, [&] { return lifecycle.ensure("deep"); }));
  lifecycle.add(module("top", {"middle"}, [&]() -> Result<> {
    used.open();
    done.wait();
    return {};
  }));

  EXPECT_FALSE(start_until("top", used, done));

  EXPECT_EQ(events.list(), (List{"+middle", "+deep", "+top", "-top", "-middle", "-deep"}));
}

TEST_F(Modules, that_are_lazy_start_at_their_first_use_and_once) {
  Module lazy = module("lazy", {"lazy need"});
  lazy.lazy = true;
  Module need = module("lazy need");
  need.lazy = true;
  lifecycle.add(std::move(lazy));
  lifecycle.add(std::move(need));
  lifecycle.add(module("eager"));

  ASSERT_TRUE(lifecycle.start());
  EXPECT_EQ(events.list(), (List{"+eager"}));

  std::vector<std::thread> users;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) users.emplace_back([&] { good += lifecycle.ensure("lazy").is_ok(); });
  for (std::thread& user : users) user.join();

  EXPECT_EQ(good, 8);
  EXPECT_EQ(events.list(), (List{"+eager", "+lazy need", "+lazy"}));
  lifecycle.stop(long_enough);
  EXPECT_EQ(events.list(), (List{"+eager", "+lazy need", "+lazy", "-lazy", "-lazy need", "-eager"}));
}

TEST_F(Modules, that_are_lazy_and_not_used_are_neither_started_nor_stopped) {
  Module lazy = module("lazy");
  lazy.lazy = true;
  lifecycle.add(std::move(lazy));

  ASSERT_TRUE(lifecycle.start());
  EXPECT_TRUE(lifecycle.stop(long_enough).is_complete());

  EXPECT_EQ(events.list(), List{});
  EXPECT_TRUE(lifecycle.phases().empty());
}

TEST_F(Modules, that_are_lazy_start_when_a_module_needs_them) {
  Module lazy = module("lazy");
  lazy.lazy = true;
  lifecycle.add(std::move(lazy));
  lifecycle.add(module("user", {"lazy"}));

  ASSERT_TRUE(lifecycle.start());

  EXPECT_EQ(events.list(), (List{"+lazy", "+user"}));
}

TEST_F(Modules, that_are_used_within_a_start_are_stopped_after_their_user) {
  Module lazy = module("lazy");
  lazy.lazy = true;
  lifecycle.add(module("user", {}, [&] { return lifecycle.ensure("lazy"); }));
  lifecycle.add(std::move(lazy));

  const auto started = lifecycle.start();
  ASSERT_TRUE(started) << started.error().describe();
  lifecycle.stop(long_enough);

  EXPECT_EQ(events.list(), (List{"+user", "+lazy", "-user", "-lazy"}));
}

TEST_F(Modules, that_use_their_own_user_within_a_start_are_a_cycle) {
  Module lazy = module("lazy", {"user"});
  lazy.lazy = true;
  lifecycle.add(module("user", {}, [&] { return lifecycle.ensure("lazy"); }));
  lifecycle.add(std::move(lazy));

  const auto started = lifecycle.start();

  ASSERT_FALSE(started);
  EXPECT_NE(started.error().describe().find("in a cycle"), std::string::npos) << started.error().describe();
}

TEST_F(Modules, that_failed_start_again_when_they_are_ensured_again) {
  int attempts = 0;
  Module lazy = module("lazy", {}, [&]() -> Result<> {
    if (++attempts == 1) return fail(Code::Unavailable, "not yet");
    return {};
  });
  lazy.lazy = true;
  lifecycle.add(std::move(lazy));
  lifecycle.add(module("eager"));
  ASSERT_TRUE(lifecycle.start());

  EXPECT_EQ(lifecycle.ensure("lazy").error().code(), Code::Unavailable);
  EXPECT_FALSE(events.has("-eager")) << "the others go on";
  EXPECT_TRUE(lifecycle.ensure("lazy"));

  EXPECT_EQ(attempts, 2);
}

TEST_F(Modules, that_nobody_added_cannot_be_ensured) {
  EXPECT_EQ(lifecycle.ensure("nobody").error().code(), Code::InvalidArgument);
}

TEST_F(Modules, begun_run_beside_the_thread_that_asked) {
  Gate gate;
  lifecycle.add(module("slow", {}, [&]() -> Result<> {
    return gate.wait() ? Result<>() : Result<>(Error(Code::Internal, "begin() has waited"));
  }));

  ASSERT_TRUE(lifecycle.begin("slow"));
  EXPECT_EQ(phase("slow").state, Phase::State::Starting);
  gate.open();
  const auto ensured = lifecycle.ensure("slow");

  EXPECT_TRUE(ensured) << ensured.error().describe();
  EXPECT_EQ(events.list(), (List{"+slow"}));
}

TEST_F(Modules, that_are_stuck_at_the_deadline_are_named_and_what_they_need_is_left) {
  Gate gate;
  lifecycle.add(module("store"));
  Module stuck = module("stuck", {"store"});
  stuck.stop = [&] { gate.wait(); };
  lifecycle.add(std::move(stuck));
  lifecycle.add(module("server", {"stuck"}));
  ASSERT_TRUE(lifecycle.start());
  int looked = 0;

  const StopReport report = lifecycle.stop(40_ms, [&] { ++looked; });

  EXPECT_FALSE(report.is_complete());
  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].name, "server");
  EXPECT_FALSE(report.parts[0].is_stuck);
  EXPECT_EQ(report.parts[1].name, "stuck");
  EXPECT_TRUE(report.parts[1].is_stuck);
  EXPECT_EQ(report.left, List{"store"});
  EXPECT_GE(report.took, 40_ms);
  EXPECT_GT(looked, 1);

  gate.open();
  const StopReport later = lifecycle.stop(long_enough);
  EXPECT_TRUE(later.is_complete());
  EXPECT_EQ(later.parts.size(), 3u);
  EXPECT_TRUE(events.has("-store"));
}

TEST_F(Modules, whose_stop_throws_are_reported_and_the_others_are_stopped) {
  lifecycle.add(module("store"));
  Module thrower = module("thrower", {"store"});
  thrower.stop = [] { throw std::runtime_error("thrown"); };
  lifecycle.add(std::move(thrower));
  ASSERT_TRUE(lifecycle.start());

  const StopReport report = lifecycle.stop(long_enough);

  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].problem, "exception: thrown");
  EXPECT_TRUE(events.has("-store"));
}

TEST_F(Modules, do_not_start_and_say_why_when_no_thread_can_be_started) {
  lifecycle.add(module("store"));
  lifecycle.add(module("server", {"store"}));
  Result<> started;
  {
    const NoThreads none;
    started = lifecycle.start();
  }

  ASSERT_FALSE(started);
  const std::string text = started.error().describe();
  EXPECT_NE(text.find("cannot start a thread: "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(R"( ms; "server" waited for it))")) << text;
  EXPECT_EQ(events.list(), List{});
}

TEST_F(Modules, are_stopped_when_no_thread_can_be_started) {
  lifecycle.add(module("store"));
  ASSERT_TRUE(lifecycle.start());
  std::optional<NoThreads> none(std::in_place);

  const StopReport report = lifecycle.stop(long_enough);

  none.reset();
  EXPECT_TRUE(report.left.empty());
  ASSERT_EQ(report.parts.size(), 1U);
  EXPECT_EQ(report.parts[0].problem, "");
  EXPECT_FALSE(lifecycle.runs("store"));
}

TEST_F(Modules, do_not_start_once_stopping_has_begun) {
  Module lazy = module("lazy");
  lazy.lazy = true;
  lifecycle.add(std::move(lazy));
  ASSERT_TRUE(lifecycle.start());
  lifecycle.stop(long_enough);

  EXPECT_EQ(lifecycle.ensure("lazy").error().code(), Code::FailedPrecondition);
  EXPECT_EQ(events.list(), List{});
}

TEST_F(Modules, are_stopped_by_the_destructor) {
  {
    Lifecycle inner;
    inner.add(module("store"));
    ASSERT_TRUE(inner.start());
  }
  EXPECT_EQ(events.list(), (List{"+store", "-store"}));
}

TEST_F(Modules, start_along_a_dense_graph_in_a_moment) {
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) {
    lifecycle.add(module(std::to_string(i), names));
    names.push_back(std::to_string(i));
  }

  ASSERT_TRUE(lifecycle.start());

  EXPECT_EQ(events.list().size(), 60u);
  EXPECT_EQ(events.list().back(), "+59");
}

// --- The table.

TEST(Phases, are_a_table_for_people) {
  const Instant zero = Instant::from_ns(5'000'000);
  const std::vector<Phase> phases = {
      {.name = "signals", .began = zero, .took = 10_us, .thread = "main"},
      {.name = "workers", .began = zero + 1_ms, .took = 1500_us, .thread = "start-1"},
      {.name = "http",
       .began = zero + 3_ms,
       .took = 250_us,
       .waited = 2_ms,
       .waited_for = "workers",
       .thread = "start-1"},
      {.name = "late", .began = zero + 4_ms, .took = 1_ms, .thread = "start-2", .state = Phase::State::Starting},
  };

  EXPECT_EQ(phase_table("shop", phases, zero, zero + 5_ms),
            "start of shop\n"
            "  phase        at ms    took ms  on        waited for\n"
            "  signals       0.00       0.01  main\n"
            "  workers       1.00       1.50  start-1\n"
            "  http          3.00       0.25  start-1   workers (2.00 ms)\n"
            "  late          4.00       1.00  start-2   starting\n"
            "  total                    5.00\n");
}

TEST(Phases, are_json_for_machines) {
  const Instant zero = Instant::from_ns(0);
  Buffer out;
  write_phases(out, {"shop", "1.4.2"},
               {{.name = "http",
                 .began = zero + 3_ms,
                 .took = 250_us,
                 .waited = 2_ms,
                 .waited_for = "workers",
                 .thread = "start-1"}},
               zero, zero + 5_ms);

  EXPECT_EQ(out.view(), R"({"name":"shop","version":"1.4.2","keel":")" + std::string(keel_version()) +
                            R"(","total_ms":5,"phases":[{"name":"http","began_ms":3,"took_ms":0.25,"waited_ms":2,)"
                            R"("waited_for":"workers","thread":"start-1","state":"running"}]})");
}

TEST_F(Modules, and_steps_are_told_in_order_of_beginning) {
  const Instant began = Host::current().now();
  lifecycle.add(module("store"));
  ASSERT_TRUE(lifecycle.start());
  lifecycle.record("configuration", began, 3_ms);

  const auto phases = lifecycle.phases();

  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].name, "configuration");
  EXPECT_EQ(phases[0].took, 3_ms);
  EXPECT_EQ(phases[0].thread, "main");
  EXPECT_EQ(phases[1].name, "store");
  EXPECT_EQ(phases[1].state, Phase::State::Running);
  EXPECT_TRUE(phases[1].thread.starts_with("start-"));
}

TEST_F(Modules, without_threads_start_and_stop_inside_the_calls) {
  Lifecycle inside(30_s, ModuleThreads::None);
  const auto here = std::this_thread::get_id();
  std::vector<std::string> order;
  const auto add = [&](const std::string& name, std::vector<std::string> needs, Function<Result<>()> then = {}) {
    inside.add({.name = name,
                .needs = std::move(needs),
                .start = [&order, here, name, then = std::move(then)]() -> Result<> {
                  EXPECT_EQ(std::this_thread::get_id(), here);
                  if (then) KEEL_TRY_VOID(then());
                  order.push_back("+" + name);
                  return {};
                },
                .stop = [&order, name] { order.push_back("-" + name); },
                .lazy = name == "late"});
  };
  add("late", {});
  add("cache", {"store"}, [&] { return inside.ensure("late"); });
  add("store", {});

  EXPECT_TRUE(inside.start());
  EXPECT_TRUE(inside.stop(1_s).is_complete());

  EXPECT_EQ(order, (std::vector<std::string>{"+store", "+late", "+cache", "-cache", "-late", "-store"}));
}

TEST_F(Modules, without_threads_stop_again_when_one_of_them_fails) {
  Lifecycle inside(30_s, ModuleThreads::None);
  bool has_stopped = false;
  inside.add({.name = "store", .stop = [&] { has_stopped = true; }});
  inside.add({.name = "cache", .needs = {"store"}, .start = []() -> Result<> {
                return fail(Code::NotFound, "no such cache");
              }});

  const Result<> started = inside.start();

  ASSERT_FALSE(started);
  EXPECT_NE(started.error().describe().find("no such cache"), std::string::npos);
  EXPECT_TRUE(has_stopped);
}

}  // namespace
}  // namespace keel::app::lifecycle_test
