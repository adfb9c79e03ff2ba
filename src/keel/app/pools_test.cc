#include "keel/app/pools.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <latch>
#include <thread>

#include "keel/app/settings.h"
#include "keel/base/bug.h"
#include "keel/config/reloadable.h"
#include "keel/exec/call.h"
#include "keel/exec/submitted.h"
#include "keel/telemetry/log_writer.h"
#include "keel/telemetry/prometheus.h"

namespace keel::app::pools_test {
namespace {

class NamedPools : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const args[] = {"--thread.pool_size=3", "--thread.pools=[{name: images, size: 2}]",
                                "--thread.queue_capacity=7"};
    const char* const environment[] = {nullptr};
    settings_ = config::load<Settings>({.args = args, .environment = environment}).value();
  }
  void TearDown() override { lifecycle_.stop(10_s); }
  ThreadPool& start(std::string_view name) {
    EXPECT_TRUE(lifecycle_.ensure(pools_.add(name)));
    return pools_.get(name);
  }
  std::string metrics() {
    Buffer text;
    telemetry::Prometheus(registry_).render(text);
    return std::string(text.view());
  }

  Settings settings_;
  metrics::Registry registry_;
  int asked_ = 0;
  Lifecycle lifecycle_;
  Pools pools_{settings_, lifecycle_, registry_, [this] {
                 ++asked_;
                 return 5u;
               }};
};

TEST_F(NamedPools, have_the_size_of_their_name_or_the_usual_one) {
  EXPECT_EQ(start("images").threads(), 2);
  EXPECT_EQ(start("others").threads(), 3);
  EXPECT_EQ(start("images").queue_max(), 7u);
  EXPECT_EQ(asked_, 0);
}

TEST_F(NamedPools, ask_for_a_size_when_none_is_configured) {
  settings_.thread.pool_size = 0;
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(start("others").threads(), 5);
  EXPECT_EQ(asked_, 1);
}

TEST_F(NamedPools, without_a_size_of_their_own_are_elastic_with_autoscale) {
  settings_.thread.autoscale = {.enabled = true, .min_threads = 1, .max_threads = 3};
  ThreadPool& others = start("others");
  EXPECT_EQ(others.threads(), 1);
  EXPECT_EQ(start("images").threads(), 2);
  EXPECT_EQ(asked_, 0);

  std::latch together{3};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(execute(others, [&] { together.arrive_and_wait(); }));
  EXPECT_TRUE(others.drain(20_s)) << "three threads are there at once";
}

TEST_F(NamedPools, are_elastic_between_their_size_and_their_max_size_by_the_thresholds_of_autoscale) {
  settings_.thread.autoscale.scale_up_threshold = 0;  // A thread comes whenever jobs wait.
  settings_.thread.pools = {{.name = "images", .size = 1, .max_size = 3}};
  ThreadPool& images = start("images");
  EXPECT_EQ(images.threads(), 1);

  std::latch together{3};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(execute(images, [&] { together.arrive_and_wait(); }));
  EXPECT_TRUE(images.drain(20_s)) << "three threads are there at once";
}

TEST_F(NamedPools, have_a_queue_of_their_own_and_do_what_they_say_when_it_is_full) {
  settings_.thread.pools = {{.name = "usual", .size = 1},
                            {.name = "refuses", .size = 1, .queue_max = 1},
                            {.name = "shares", .size = 1, .queue_max = 1, .when_full = WhenFull::RunInCaller},
                            {.name = "waits", .size = 1, .queue_max = 1, .when_full = WhenFull::Block}};
  EXPECT_EQ(start("usual").queue_max(), 7u);
  ThreadPool& refuses = start("refuses");
  ThreadPool& shares = start("shares");
  ThreadPool& waits = start("waits");
  std::latch began{3}, go{1};
  for (ThreadPool* const pool : {&refuses, &shares, &waits}) {
    EXPECT_TRUE(execute(*pool, [&] {
      began.count_down();
      go.wait();
    }));
  }
  began.wait();
  for (ThreadPool* const pool : {&refuses, &shares, &waits}) EXPECT_TRUE(execute(*pool, [] {}));

  EXPECT_EQ(execute(refuses, [] {}).error().code(), Code::ResourceExhausted);
  std::thread::id ran_on;
  EXPECT_TRUE(execute(shares, [&] { ran_on = std::this_thread::get_id(); }));
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  const std::string text = metrics();
  EXPECT_NE(text.find("pool_jobs_total{pool=\"shares\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pool_jobs_in_caller_total{pool=\"shares\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pool_run_seconds_count{pool=\"shares\"} 1\n"), std::string::npos) << text;
  bool has_run = false;
  std::thread caller([&] { EXPECT_TRUE(submit(waits, [&] { has_run = true; }).get()); });
  EXPECT_EQ(waits.refused(), 0u);
  go.count_down();
  caller.join();
  EXPECT_TRUE(has_run);
  for (ThreadPool* const pool : {&refuses, &shares, &waits}) EXPECT_TRUE(pool->drain(20_s));
}

TEST_F(NamedPools, run_on_the_cpus_of_their_affinity) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int last = 0;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) last = cpu;
  }
  settings_.thread.pools = {{.name = "images", .size = 2, .affinity = {last}}};
  ThreadPool& images = start("images");

  for (int i = 0; i < 10; ++i) {
    const auto on = submit(images, [] {
                      cpu_set_t set;
                      EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
                      EXPECT_EQ(CPU_COUNT(&set), 1);
                      return sched_getcpu();
                    }).get();
    EXPECT_EQ(on.value(), last);
  }
}

TEST_F(NamedPools, say_which_cpu_of_their_affinity_they_may_not_use_and_run) {
  std::string text;
  telemetry::LogWriterOptions options;
  options.mode = telemetry::LogWriterOptions::Mode::Manual;
  options.sinks.emplace_back();
  options.sinks[0].to = telemetry::LogSink::To::Function;
  options.sinks[0].format = telemetry::LineFormat::Text;
  options.sinks[0].write = [&](std::string_view lines) { text.append(lines); };
  auto logs = telemetry::LogWriter::make(std::move(options)).value();
  settings_.thread.pools = {{.name = "images", .size = 1, .affinity = {1023}}};

  EXPECT_TRUE(submit(start("images"), [] {}).get());

  logs->flush();
  EXPECT_NE(
      text.find(
          "a thread of a pool was not pinned: this process is not allowed to run on that CPU pool=images cpu=1023"),
      std::string::npos)
      << text;
}

TEST_F(NamedPools, are_made_once) {
  ThreadPool& images = start("images");
  EXPECT_EQ(&start("images"), &images);
  EXPECT_EQ(images.name(), "images");
}

TEST_F(NamedPools, start_when_they_are_ensured_and_stop_with_the_lifecycle) {
  pools_.add("images");
  ASSERT_TRUE(lifecycle_.start());
  EXPECT_EQ(metrics().find("pool=\"images\""), std::string::npos);

  struct Note : Job {
    explicit Note(bool& r) : Job([](Job& job) noexcept { static_cast<Note&>(job).ran = true; }), ran(r) {}
    bool& ran;
  };
  bool has_run = false;
  Note note(has_run);
  start("images").post(note);
  ASSERT_TRUE(lifecycle_.stop(10_s).is_complete());
  EXPECT_TRUE(has_run) << "what waited runs before the threads end";
}

TEST_F(NamedPools, discard_what_has_not_begun_in_half_of_the_time_to_stop) {
  settings_.common.stop_timeout = Duration();
  ThreadPool& images = start("images");
  const auto later = submit_after(images, 1_h, [] {});
  std::latch run{2};
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(execute(images, [&] {
      run.count_down();
      while (!later.is_done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }));
  }
  run.wait();
  auto waits = submit(images, [] {});

  ASSERT_TRUE(lifecycle_.stop(20_s).is_complete());

  EXPECT_EQ(waits.get().error().code(), Code::Cancelled);
  EXPECT_NE(metrics().find("pool_discarded_total{pool=\"images\"} 2\n"), std::string::npos) << metrics();
}

TEST_F(NamedPools, are_seen_in_the_metrics_by_their_name) {
  ThreadPool& images = start("images");
  EXPECT_TRUE(submit(images, [] {}).get());
  EXPECT_TRUE(images.drain(20_s));
  const std::string text = metrics();
  EXPECT_NE(text.find("pool_threads{pool=\"images\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pool_queued_max{pool=\"images\"} 7\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pool_refused_total{pool=\"images\"} 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pool_jobs_total{pool=\"images\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pool_jobs_in_caller_total{pool=\"images\"} 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pool_discarded_total{pool=\"images\"} 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pool_wait_seconds_count{pool=\"images\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pool_run_seconds_count{pool=\"images\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pool_busy_seconds_total{pool=\"images\"} "), std::string::npos) << text;
}

TEST_F(NamedPools, that_do_not_run_yet_are_not_to_be_had) {
  pools_.add("images");
  EXPECT_THROW((void)pools_.get("images"), Bug);
  EXPECT_THROW((void)pools_.get("others"), Bug);
}

}  // namespace
}  // namespace keel::app::pools_test
