// Crosses threads: run under ThreadSanitizer.
#include "keel/exec/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <functional>
#include <latch>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "keel/base/host.h"
#include "keel/exec/call.h"
#include "keel/exec/submitted.h"

namespace keel::thread_pool_test {
namespace {

struct Noted : Job {
  explicit Noted(Function<void()> f) : Job(&run_it), body(std::move(f)) {}
  static void run_it(Job& job) noexcept { static_cast<Noted&>(job).body(); }
  Function<void()> body;
};

template <class Condition>
bool eventually(Condition condition) {
  const Instant until = Host::system().now() + 20_s;
  while (!condition()) {
    if (Host::system().now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Keeps `threads` threads of a pool busy until go().
class Busy {
 public:
  Busy(ThreadPool& pool, int threads) : began_(threads) {
    for (int i = 0; i < threads; ++i) {
      EXPECT_TRUE(execute(pool, [this] {
        began_.count_down();
        go_.wait();
      }));
    }
    began_.wait();
  }
  void go() { go_.count_down(); }

 private:
  std::latch began_;
  std::latch go_{1};
};

TEST(ThreadPool, runs_every_job_once) {
  std::atomic<int> count{0};
  std::deque<Noted> jobs;
  for (int i = 0; i < 1000; ++i) jobs.emplace_back([&] { ++count; });
  ThreadPool pool({.name = "test", .threads = 3});

  for (Noted& job : jobs) pool.post(job);
  pool.stop();

  EXPECT_EQ(count, 1000);
  EXPECT_EQ(pool.executed(), 1000u);
  EXPECT_EQ(pool.queued(), 0u);
  EXPECT_EQ(pool.running(), 0);
}

TEST(ThreadPool, runs_every_job_of_many_senders_once) {
  for (const int threads : {1, 2, 4}) {
    std::atomic<int> count{0};
    ThreadPool pool({.threads = threads, .queue_max = 100'000});
    std::vector<std::thread> senders;
    for (int s = 0; s < 3; ++s) {
      senders.emplace_back([&] {
        for (int i = 0; i < 3000; ++i) {
          // Some of them send once more.
          EXPECT_TRUE(execute(pool, [&pool, &count, i] {
            ++count;
            if (i % 10 != 0) return;
            EXPECT_TRUE(execute(pool, [&count] { ++count; }));
          }));
          if (i % 500 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
      });
    }
    for (std::thread& sender : senders) sender.join();
    EXPECT_TRUE(pool.drain(20_s));
    EXPECT_EQ(count, 3 * 3300);
    EXPECT_EQ(pool.running(), 0);
  }
}

TEST(ThreadPool, one_thread_runs_jobs_in_the_order_they_were_posted) {
  std::string order;
  ThreadPool pool({.threads = 1, .queue_max = 10'000});
  Busy busy(pool, 1);
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    const char c = static_cast<char>('a' + i % 26);
    expected += c;
    EXPECT_TRUE(execute(pool, [&order, c] { order += c; }));
  }

  busy.go();
  pool.stop();

  EXPECT_EQ(order, expected);
}

TEST(ThreadPool, refuses_when_the_queue_is_full_and_tells_what_waits_and_runs) {
  Noted first([] {}), second([] {}), third([] {}), forced([] {});
  ThreadPool pool({.threads = 1, .queue_max = 2});
  Busy busy(pool, 1);

  EXPECT_TRUE(pool.try_post(first));
  EXPECT_TRUE(pool.offer(second));

  EXPECT_FALSE(pool.try_post(third));
  EXPECT_FALSE(pool.offer(third));
  EXPECT_EQ(pool.refused(), 2u);
  EXPECT_EQ(pool.queue_max(), 2u);
  pool.post(forced);
  EXPECT_EQ(pool.queued(), 3u);
  EXPECT_EQ(pool.running(), 1);
  EXPECT_EQ(pool.executed(), 0u);
  busy.go();
  pool.stop();
  EXPECT_EQ(pool.executed(), 4u);
}

TEST(ThreadPool, takes_a_batch_whole_or_not_at_all) {
  ThreadPool pool({.threads = 1, .queue_max = 3});
  Busy busy(pool, 1);
  std::atomic<int> count{0};
  const auto callables = [&](std::size_t n) { return std::vector<std::function<void()>>(n, [&count] { ++count; }); };

  EXPECT_FALSE(execute_all(pool, callables(4)));
  EXPECT_TRUE(execute_all(pool, callables(2)));
  EXPECT_FALSE(execute_all(pool, callables(2)));
  EXPECT_TRUE(execute_all(pool, callables(1)));
  EXPECT_EQ(pool.refused(), 6u);
  busy.go();
  pool.stop();

  EXPECT_EQ(count, 3);
}

TEST(ThreadPool, that_is_full_makes_the_caller_wait_when_told_so) {
  ThreadPool pool({.threads = 1, .queue_max = 1, .when_full = WhenFull::Block});
  Busy busy(pool, 1);
  std::atomic<int> count{0};
  EXPECT_TRUE(execute(pool, [&] { ++count; }));
  std::atomic<bool> took{false};

  std::thread sender([&] {
    EXPECT_TRUE(execute(pool, [&] { ++count; }));
    took = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(took);
  Noted refused([] {});
  EXPECT_FALSE(pool.try_post(refused)) << "try_post never waits";
  EXPECT_FALSE(execute_all(pool, std::vector<std::function<void()>>(2))) << "which would wait for ever";
  busy.go();
  sender.join();
  pool.stop();

  EXPECT_EQ(count, 2);
}

TEST(ThreadPool, that_is_full_makes_several_callers_wait_and_runs_all_that_they_bring_once) {
  constexpr int senders = 4, batches = 60;
  ThreadPool pool({.threads = 2, .queue_max = 4, .when_full = WhenFull::Block});
  std::array<std::atomic<int>, priority_count> ran{};
  std::vector<std::thread> threads;
  for (int s = 0; s < senders; ++s) {
    threads.emplace_back([&, s] {
      for (int n = 0; n < batches; ++n) {
        const int priority = (s + n) % priority_count;
        std::vector<std::function<void()>> batch(static_cast<std::size_t>(n % 4 + 1), [&ran, priority] {
          ran[static_cast<std::size_t>(priority)].fetch_add(1, std::memory_order_relaxed);
        });
        EXPECT_TRUE(execute_all(pool, batch, static_cast<Priority>(priority)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  pool.stop();

  // Each sender brings one to four callables in turns, and the priorities in turns as well.
  std::array<int, priority_count> brought{};
  for (int s = 0; s < senders; ++s) {
    for (int n = 0; n < batches; ++n) brought[static_cast<std::size_t>((s + n) % priority_count)] += n % 4 + 1;
  }
  for (std::size_t i = 0; i < brought.size(); ++i) EXPECT_EQ(ran[i], brought[i]);
}

TEST(ThreadPool, that_is_full_lets_go_of_a_waiting_caller_when_it_is_stopped) {
  ThreadPool pool({.threads = 1, .queue_max = 1, .when_full = WhenFull::Block});
  Busy busy(pool, 1);
  EXPECT_TRUE(execute(pool, [] {}));
  std::latch began{1};
  std::thread sender([&] {
    began.count_down();
    // Rejected by the stop, or, when that is late, taken.
    (void)execute(pool, [] {});
  });
  began.wait();
  std::thread stopper([&] { pool.stop(); });
  sender.join();
  busy.go();
  stopper.join();
}

// A host that is not the system's.
struct OtherHost : Host {
  OtherHost() : before(Host::set_current(this)) {}
  ~OtherHost() override { Host::set_current(before); }
  Instant now() noexcept override { return Host::system().now(); }
  std::int64_t wall_ns() noexcept override { return Host::system().wall_ns(); }
  std::uint64_t random() noexcept override { return Host::system().random(); }
  void secret(std::span<std::byte> out) noexcept override { secret_from_random(out); }
  void start_timer(Timer&, Instant) noexcept override {}
  void stop_timer(Timer&) noexcept override {}
  std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) override {
    return Host::system().start_thread(name, std::move(body));
  }
  Host* const before;
};

TEST(ThreadPool, that_is_full_refuses_a_worker_that_must_not_wait) {
  ThreadPool pool({.threads = 1, .queue_max = 1, .when_full = WhenFull::Block});
  Busy busy(pool, 1);
  EXPECT_TRUE(execute(pool, [] {}));
  {
    const OtherHost worker;
    EXPECT_EQ(execute(pool, [] {}).error().code(), Code::ResourceExhausted);
  }
  EXPECT_EQ(pool.refused(), 1u);
  busy.go();
  pool.stop();
}

TEST(ThreadPool, accepts_no_delayed_job_for_a_clock_that_could_not_be_started) {
  struct OutOfThreads final : OtherHost {
    std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) override {
      if (!std::string_view(name).ends_with("-clock") || has_failed.exchange(true)) {
        return OtherHost::start_thread(name, std::move(body));
      }
      fails.count_down();
      for (int i = 0; i < 50 && !is_offered.load(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      throw std::system_error(EAGAIN, std::generic_category());
    }
    std::atomic<bool> has_failed = false;
    std::latch fails{1};  // Another thread offers its job now.
    std::atomic<bool> is_offered = false;
  };
  OutOfThreads host;
  ThreadPool pool({.name = "delays", .threads = 1});
  std::atomic<bool> has_run = false;
  Result<> second;
  std::thread other([&] {
    host.fails.wait();
    second = execute_after(pool, 1_ms, [&] { has_run.store(true); });
    host.is_offered.store(true);
  });

  const Result<> first = execute_after(pool, 1_ms, [] {});

  other.join();
  EXPECT_EQ(first.error().code(), Code::ResourceExhausted);
  EXPECT_TRUE(second) << "it starts a clock of its own";
  EXPECT_TRUE(eventually([&] { return has_run.load(); }));
  pool.stop();
}

TEST(ThreadPool, does_not_wait_for_itself_when_its_own_job_meets_a_full_queue) {
  ThreadPool pool({.threads = 1, .queue_max = 1, .when_full = WhenFull::Block});
  std::thread::id inner, outer;

  EXPECT_TRUE(submit(pool, [&] {
                outer = std::this_thread::get_id();
                EXPECT_TRUE(execute(pool, [] {}));
                EXPECT_TRUE(execute(pool, [&] { inner = std::this_thread::get_id(); }));
                EXPECT_EQ(inner, outer) << "it has run inside the call";
              }).get());
}

TEST(ThreadPool, that_is_full_runs_it_in_the_caller_when_told_so) {
  ThreadPool pool({.threads = 1, .queue_max = 1, .when_full = WhenFull::RunInCaller});
  Busy busy(pool, 1);
  EXPECT_TRUE(execute(pool, [] {}));
  std::thread::id ran_on;
  int batch = 0;

  EXPECT_TRUE(execute(pool, [&] { ran_on = std::this_thread::get_id(); }));
  EXPECT_TRUE(execute_all(pool, std::vector<std::function<void()>>(3, [&] { ++batch; })));

  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_EQ(batch, 3);
  EXPECT_EQ(pool.ran_in_caller(), 4u);
  EXPECT_EQ(pool.executed(), 4u);
  busy.go();
  pool.stop();
  EXPECT_EQ(pool.executed(), 6u) << "with the two of its own thread";
  EXPECT_FALSE(execute(pool, [] {})) << "a stopped pool refuses";
}

TEST(ThreadPool, starts_what_is_more_urgent_first_and_starves_nothing) {
  ThreadPool pool({.threads = 1});
  Busy busy(pool, 1);
  std::string order;
  EXPECT_TRUE(execute(pool, [&] { order += 'l'; }, Priority::Low));
  EXPECT_TRUE(execute(pool, [&] { order += 'n'; }, Priority::Normal));
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(execute(pool, [&] { order += 'h'; }, Priority::High));

  busy.go();
  pool.stop();

  EXPECT_EQ(order, std::string(16, 'h') + "ln" + std::string(24, 'h'));
}

TEST(ThreadPool, a_job_never_waits_for_another_while_a_thread_sleeps) {
  ThreadPool pool({.threads = 2, .queue_max = 10'000});
  for (int round = 0; round < 50; ++round) {
    // Short ones, so that several are taken together; then one that waits for the one behind it.
    std::vector<std::function<void()>> callables(60, [] {});
    std::latch second{1};
    callables.emplace_back([&] { second.wait(); });
    callables.emplace_back([&] { second.count_down(); });
    EXPECT_TRUE(execute_all(pool, callables));
    ASSERT_TRUE(pool.drain(20_s));
  }
}

TEST(ThreadPool, stopping_runs_what_waits_and_what_that_posts) {
  std::atomic<int> count{0};
  ThreadPool pool({.threads = 2});
  Noted inner([&] { ++count; });
  Noted outer([&] {
    pool.post(inner);
    ++count;
  });

  pool.post(outer);
  EXPECT_EQ(pool.stop(), 0u);

  EXPECT_EQ(count, 2);
  EXPECT_FALSE(pool.try_post(inner));
  EXPECT_EQ(pool.stop(), 0u);
}

TEST(ThreadPool, stopping_with_a_deadline_discards_what_has_not_begun_and_tells_its_owners) {
  ThreadPool pool({.threads = 1});
  Busy busy(pool, 1);
  std::atomic<int> ran{0};
  Noted posted([&] { ++ran; });
  auto submitted = submit(pool, [&] { ran += 10; });
  auto later = submit_after(pool, 1_h, [&] { ran += 100; });
  EXPECT_TRUE(execute(pool, [&] { ran += 1000; }));
  pool.post(posted);

  std::size_t discarded = 0;
  std::thread stopper([&] { discarded = pool.stop(Duration()); });
  EXPECT_TRUE(later.wait_for(20_s)) << "what is not due is discarded before the job that runs has ended";
  EXPECT_FALSE(submitted.is_done());
  busy.go();
  stopper.join();

  EXPECT_EQ(discarded, 3u);
  EXPECT_EQ(pool.discarded(), 3u);
  EXPECT_EQ(pool.executed(), 2u) << "what was discarded has not run";
  EXPECT_EQ(ran, 1) << "what was posted brings somebody home";
  EXPECT_EQ(submitted.get().error().code(), Code::Cancelled);
  EXPECT_EQ(later.get().error().code(), Code::Cancelled);
}

TEST(ThreadPool, stopping_lets_what_it_discards_bring_somebody_home) {
  ThreadPool pool({.threads = 1});
  Busy busy(pool, 1);
  bool is_home = false;
  Noted home([&] { is_home = true; });
  Noted delayed([&] {
    busy.go();
    while (pool.running() > 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // For its thread to sleep.
    pool.post(home);
  });
  EXPECT_TRUE(pool.offer_after(delayed, 1_h));

  EXPECT_EQ(pool.stop(), 0u);

  EXPECT_TRUE(is_home);
}

TEST(ThreadPool, stopping_with_a_deadline_runs_what_it_can_until_then) {
  ThreadPool pool({.threads = 2, .queue_max = 20'000});
  std::atomic<std::size_t> ran{0};
  for (int i = 0; i < 20'000; ++i) {
    EXPECT_TRUE(execute(pool, [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++ran;
    }));
  }

  const std::size_t discarded = pool.stop(5_ms);

  EXPECT_GT(discarded, 0u);
  EXPECT_EQ(ran + discarded, 20'000u);
}

TEST(ThreadPool, drains_and_stays_open) {
  ThreadPool pool({.threads = 2});
  Busy busy(pool, 1);
  EXPECT_TRUE(execute(pool, [] {}));

  EXPECT_FALSE(pool.drain(5_ms));
  busy.go();
  EXPECT_TRUE(pool.drain(20_s));

  EXPECT_EQ(pool.queued(), 0u);
  EXPECT_EQ(submit(pool, [] { return 1; }).get().value(), 1);
}

TEST(ThreadPool, runs_delayed_jobs_not_before_their_time_and_in_its_order) {
  ThreadPool pool({.threads = 1});
  std::string order;
  const Instant began = Host::system().now();
  Instant at;

  auto last = submit_after(pool, 20_ms, [&] {
    at = Host::system().now();
    order += 'c';
  });
  Executor& executor = pool;
  EXPECT_TRUE(execute_after(executor, 10_ms, [&] { order += 'b'; }));
  EXPECT_TRUE(execute_after(executor, Duration(), [&] { order += 'a'; }));

  EXPECT_TRUE(last.get());
  EXPECT_EQ(order, "abc");
  EXPECT_GE(at - began, 20_ms);
}

TEST(ThreadPool, draining_does_not_wait_for_what_is_not_due) {
  ThreadPool pool({.threads = 1});
  auto later = submit_after(pool, 1_h, [] {});

  EXPECT_TRUE(pool.drain(20_s));

  EXPECT_FALSE(later.is_done());
}

TEST(ThreadPool, refuses_a_delayed_job_when_too_many_wait_for_their_time) {
  ThreadPool pool({.threads = 1, .queue_max = 2});
  auto first = submit_after(pool, 1_h, [] {});
  auto second = submit_after(pool, 1_h, [] {});

  EXPECT_EQ(submit_after(pool, 1_h, [] {}).get().error().code(), Code::ResourceExhausted);
  EXPECT_EQ(execute_after(pool, 1_h, [] {}).error().code(), Code::ResourceExhausted);
  EXPECT_TRUE(first.cancel());
  EXPECT_EQ(pool.stop(), 1u) << "and one was cancelled";
  EXPECT_EQ(second.get().error().code(), Code::Cancelled);
  EXPECT_FALSE(execute_after(pool, Duration(), [] {}));
}

TEST(ThreadPool, that_is_stopped_runs_or_discards_each_delayed_job_that_it_took) {
  for (int round = 0; round < 30; ++round) {
    ThreadPool pool({.threads = 2});
    std::atomic<std::uint64_t> took{0}, ran{0};
    std::latch began{2};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        began.count_down();
        for (int n = 0; execute_after(pool, Duration::microseconds(n % 5 * 20), [&ran] { ++ran; }); ++n) {
          ++took;
          if (n % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
      });
    }
    began.wait();
    std::this_thread::sleep_for(std::chrono::microseconds(round * 30));

    pool.stop(round % 2 == 0 ? Duration() : Duration::forever());
    for (std::thread& thread : threads) thread.join();

    EXPECT_EQ(ran + pool.discarded(), took);
  }
}

TEST(ThreadPool, grows_when_its_threads_are_busy_and_jobs_wait_and_shrinks_when_they_are_not) {
  ThreadPool pool({.name = "elastic", .threads = 1, .threads_max = 3, .scale_interval = 2_ms});
  EXPECT_EQ(pool.threads(), 1);
  std::latch began{3}, go{1};
  std::atomic<int> count{0};
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(execute(pool, [&] {
      if (++count <= 3) began.count_down();
      go.wait();
    }));
  }

  began.wait();  // On three threads, or for ever.
  EXPECT_EQ(pool.threads(), 3);
  EXPECT_EQ(pool.queued(), 5u) << "and there are never more";
  go.count_down();
  EXPECT_TRUE(eventually([&] { return pool.threads() == 1; }));
  EXPECT_EQ(count, 8);

  // Again, with what came and went.
  std::atomic<bool> again{true};
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(execute(pool, [&] {
      while (again) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }));
  }
  EXPECT_TRUE(eventually([&] { return pool.threads() == 3; }));
  again = false;
  pool.stop();
  EXPECT_EQ(pool.executed(), 16u);
}

TEST(ThreadPool, that_is_elastic_is_stopped_while_it_grows_and_shrinks) {
  for (int round = 0; round < 20; ++round) {
    ThreadPool pool({.threads = 1, .threads_max = 4, .queue_max = 10'000, .scale_interval = 1_ms});
    std::atomic<int> count{0};
    for (int i = 0; i < 200; ++i) {
      EXPECT_TRUE(execute(pool, [&] {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        ++count;
      }));
    }
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pool.stop();
    EXPECT_EQ(count, 200);
  }
}

TEST(ThreadPool, that_is_idle_uses_no_processor_time) {
  ThreadPool pool({.threads = 4, .threads_max = 8, .scale_interval = 1_ms});
  std::atomic<int> count{0};
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(execute(pool, [&] { ++count; }));
  ASSERT_TRUE(pool.drain(20_s));
  EXPECT_TRUE(eventually([&] { return pool.threads() == 4; }));
  const auto used_ms = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
  };

  const auto before = used_ms();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));

  EXPECT_LE(used_ms() - before, 20);
}

TEST(ThreadPool, knows_how_long_its_threads_were_busy) {
  ThreadPool pool({.threads = 2});
  ASSERT_TRUE(pool.drain(20_s));
  const double before = pool.busy_seconds();
  EXPECT_TRUE(submit(pool, [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }).get());
  ASSERT_TRUE(pool.drain(20_s));

  EXPECT_GE(pool.busy_seconds() - before, 0.01);
  EXPECT_EQ(pool.busy_seconds(), pool.busy_seconds()) << "and stays so while they sleep";
}

TEST(ThreadPool, measures_how_long_jobs_wait_and_run) {
  std::mutex mutex;
  std::vector<std::pair<Duration, Duration>> measured;
  ThreadPool pool({.threads = 1, .queue_max = 10'000, .measured = [&](Duration wait, Duration run) {
                     const std::lock_guard lock(mutex);
                     measured.emplace_back(wait, run);
                   }});
  std::latch go{1};
  EXPECT_TRUE(execute(pool, [&] {
    go.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }));
  ASSERT_TRUE(eventually([&] { return pool.running() == 1; }));
  EXPECT_TRUE(execute(pool, [] {}));
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  go.count_down();
  ASSERT_TRUE(pool.drain(20_s));

  ASSERT_EQ(measured.size(), 2u);
  EXPECT_GE(measured[0].second, 5_ms);
  EXPECT_GE(measured[1].first, 5_ms);

  // Now that they are short, one in 64. They wake nobody, which would not be short.
  for (int i = 0; i < 640; ++i) {
    std::atomic<bool> has_run = false;
    EXPECT_TRUE(execute(pool, [&has_run] { has_run = true; }));
    while (!has_run) std::this_thread::yield();
  }
  ASSERT_TRUE(pool.drain(20_s));
  EXPECT_GE(measured.size(), 2u + 5u);
  EXPECT_LT(measured.size(), 2u + 320u);
}

TEST(ThreadPool, measures_what_runs_in_the_caller) {
  std::vector<std::pair<Duration, Duration>> measured;
  ThreadPool pool(
      {.threads = 1, .queue_max = 1, .when_full = WhenFull::RunInCaller, .measured = [&](Duration wait, Duration run) {
         measured.emplace_back(wait, run);
       }});
  Busy busy(pool, 1);
  EXPECT_TRUE(execute(pool, [] {}));

  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(execute(pool, [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }));
  }

  // The others have not returned yet.
  ASSERT_EQ(measured.size(), 3u);
  for (const auto& [wait, run] : measured) {
    EXPECT_EQ(wait, Duration());
    EXPECT_GE(run, 2_ms);
  }
  busy.go();
  pool.stop();
}

TEST(ThreadPool, measures_one_in_64_of_short_jobs_in_the_caller) {
  std::atomic<int> measured{0};
  ThreadPool pool(
      {.threads = 1, .queue_max = 1, .when_full = WhenFull::RunInCaller, .measured = [&](Duration, Duration) {
         ++measured;
       }});
  Busy busy(pool, 1);
  EXPECT_TRUE(execute(pool, [] {}));

  for (int i = 0; i < 6400; ++i) EXPECT_TRUE(execute(pool, [] {}));

  EXPECT_GE(measured, 100);
  EXPECT_LT(measured, 3200) << "a busy machine makes some of them long";
  busy.go();
  pool.stop();
}

TEST(ThreadPool, is_current_on_its_named_threads) {
  Executor* seen = nullptr;
  std::array<char, 16> thread_name{};
  ThreadPool pool({.name = "database", .threads = 1});
  EXPECT_TRUE(execute(pool, [&] {
    seen = Executor::current();
    pthread_getname_np(pthread_self(), thread_name.data(), thread_name.size());
  }));
  pool.stop();

  EXPECT_EQ(seen, &pool);
  EXPECT_STREQ(thread_name.data(), "database-0");
  EXPECT_EQ(Executor::current(), nullptr);
}

TEST(ThreadPool, runs_on_the_cpus_that_it_is_given) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &allowed)) --last;
  ThreadPool pool({.threads = 1, .cpus = {last}});
  ThreadPool elsewhere({.threads = 1, .cpus = {CPU_SETSIZE - 1, -1}});

  const auto cpus = [](ThreadPool& of) {
    return submit(of,
                  [] {
                    cpu_set_t set;
                    CPU_ZERO(&set);
                    sched_getaffinity(0, sizeof set, &set);
                    return set;
                  })
        .get()
        .value();
  };

  const cpu_set_t pinned = cpus(pool);
  EXPECT_EQ(CPU_COUNT(&pinned), 1);
  EXPECT_TRUE(CPU_ISSET(last, &pinned));
  const cpu_set_t unpinned = cpus(elsewhere);
  EXPECT_TRUE(CPU_EQUAL(&unpinned, &allowed)) << "a CPU that is not there pins nothing";
}

TEST(ThreadPool, is_not_serial) {
  ThreadPool pool({.threads = 1});
  EXPECT_FALSE(pool.is_serial());
}

TEST(ThreadPool, is_neither_stopped_nor_drained_by_one_of_its_own_jobs) {
  ThreadPool pool({.threads = 1});
  const Result<> stopped = submit(pool, [&] { pool.stop(); }).get();
  ASSERT_FALSE(stopped);
  EXPECT_TRUE(stopped.error().is_bug());
  const Result<> drained = submit(pool, [&] { pool.drain(1_s); }).get();
  ASSERT_FALSE(drained);
  EXPECT_TRUE(drained.error().is_bug());
  EXPECT_EQ(submit(pool, [] { return 1; }).get(), 1) << "the pool goes on";
}

// Runs its jobs when it is told, those with a delay last.
class Later final : public Executor {
 public:
  void post(Job& job) noexcept override { jobs.push_back(&job); }
  bool offer_after(Job& job, Duration) noexcept override {
    delayed.push_back(&job);
    return true;
  }
  bool has_clock() const noexcept override { return true; }
  void run() {
    for (std::deque<Job*>* const from : {&jobs, &delayed}) {
      for (; !from->empty(); from->pop_front()) from->front()->run(*from->front());
    }
  }
  std::deque<Job*> jobs;
  std::deque<Job*> delayed;
};

TEST(ThreadPool, runs_its_jobs_on_an_executor_by_priority) {
  Later executor;
  ThreadPool pool({.executor = &executor});
  std::string ran;
  const auto note = [&](const char* what) {
    EXPECT_EQ(Executor::current(), &pool);
    ran += what;
  };
  EXPECT_TRUE(execute_after(pool, 1_s, [&] { note("d"); }));
  EXPECT_TRUE(execute(pool, [&] { note("l"); }, Priority::Low));
  EXPECT_TRUE(execute(pool, [&] { note("n"); }));
  EXPECT_TRUE(execute(pool, [&] { note("h"); }, Priority::High));
  EXPECT_EQ(pool.queued(), 3u);

  executor.run();

  EXPECT_EQ(ran, "hnld");
  EXPECT_EQ(pool.executed(), 4u);
  EXPECT_EQ(pool.queued(), 0u);
}

TEST(ThreadPool, that_stops_on_an_executor_runs_what_waits_and_discards_what_is_not_due) {
  Later executor;
  std::string ran;
  {
    ThreadPool pool({.queue_max = 1, .executor = &executor});
    EXPECT_TRUE(execute(pool, [&] { ran += "a"; }));
    EXPECT_FALSE(execute(pool, [&] { ran += "b"; })) << "the queue is full";
    EXPECT_TRUE(execute_after(pool, 1_s, [&] { ran += "c"; }));
    EXPECT_EQ(pool.stop(), 1u);
    EXPECT_EQ(ran, "a");
  }
  executor.run();  // What it had posted is without effect.
  EXPECT_EQ(ran, "a");
}

}  // namespace
}  // namespace keel::thread_pool_test
