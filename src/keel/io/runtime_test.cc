#include "keel/io/runtime.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "keel/exec/call.h"
#include "keel/exec/executor.h"
#include "keel/io/internal/sockets.h"

namespace keel::io::runtime_test {
namespace {

class Runtimes : public ::testing::TestWithParam<EngineKind> {
 protected:
  // Null where this machine has no such engine.
  static std::unique_ptr<Runtime> make(int workers, bool pin = false) {
    auto runtime = Runtime::make({.workers = workers, .engine = GetParam(), .pin = pin});
    if (!runtime) {
      EXPECT_EQ(runtime.error().code(), Code::Unsupported) << runtime.error().describe();
      return nullptr;
    }
    return *std::move(runtime);
  }
};

std::string name_of(const ::testing::TestParamInfo<EngineKind>& kind) {
  constexpr const char* names[] = {"auto", "uring", "epoll"};
  return names[static_cast<int>(kind.param)];
}
INSTANTIATE_TEST_SUITE_P(, Runtimes, ::testing::Values(EngineKind::Auto, EngineKind::Uring, EngineKind::Epoll),
                         name_of);

#define MAKE_OR_SKIP(runtime, ...)  \
  auto runtime = make(__VA_ARGS__); \
  if (runtime == nullptr) GTEST_SKIP() << "no such engine here"

TEST_P(Runtimes, say_which_engine_runs_and_why) {
  MAKE_OR_SKIP(runtime, 1);
  EXPECT_NE(runtime->engine().kind, EngineKind::Auto);
  EXPECT_NE(runtime->engine().reason, "");
  ASSERT_TRUE(runtime->start());
  EXPECT_STREQ(runtime->loop(0).engine().name(), runtime->engine().kind == EngineKind::Uring ? "uring" : "epoll");
}

TEST_P(Runtimes, have_loops_that_are_busy_in_a_turn_and_not_while_they_wait) {
  MAKE_OR_SKIP(runtime, 1);
  ASSERT_TRUE(runtime->start());
  const Instant before = Host::system().now();
  Instant within;
  runtime->each([&](Loop& loop) { within = loop.busy_since(); });

  EXPECT_GE(within, before);
  EXPECT_LE(within, Host::system().now());
  for (int i = 0; i < 10'000 && runtime->loop(0).busy_since() != Instant(); ++i) usleep(1000);
  EXPECT_EQ(runtime->loop(0).busy_since(), Instant());
}

TEST_P(Runtimes, run_each_on_every_workers_own_thread) {
  MAKE_OR_SKIP(runtime, 3);
  ASSERT_TRUE(runtime->start());
  EXPECT_EQ(runtime->workers(), 3);
  std::set<std::thread::id> threads;
  std::vector<int> indices;
  runtime->each([&](Loop& loop) {
    threads.insert(std::this_thread::get_id());
    indices.push_back(loop.index());
    EXPECT_EQ(Loop::current(), &loop);
    EXPECT_EQ(Executor::current(), &loop);
    EXPECT_EQ(&Host::current(), &loop);
  });
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
  EXPECT_EQ(indices, (std::vector<int>{0, 1, 2}));
}

TEST_P(Runtimes, have_a_worker_for_each_core_by_default) {
  MAKE_OR_SKIP(runtime, 0, true);
  EXPECT_GE(runtime->workers(), 1);
  ASSERT_TRUE(runtime->start());
}

struct Count : Job {
  explicit Count(std::atomic<int>& t) : Job([](Job& job) noexcept { ++static_cast<Count&>(job).total; }), total(t) {}
  std::atomic<int>& total;
};

TEST_P(Runtimes, run_what_other_threads_post) {
  MAKE_OR_SKIP(runtime, 2);
  ASSERT_TRUE(runtime->start());
  constexpr int jobs = 500;
  std::atomic<int> ran = 0;
  std::vector<std::unique_ptr<Count>> all;
  for (int i = 0; i < 2 * jobs; ++i) all.push_back(std::make_unique<Count>(ran));
  std::vector<std::thread> posters;
  for (int t = 0; t < 2; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i < jobs; ++i) runtime->loop(i % 2).post(*all[static_cast<std::size_t>(t * jobs + i)]);
    });
  }
  for (auto& poster : posters) poster.join();
  runtime->each([](Loop&) {});  // Comes after all of them.
  EXPECT_EQ(ran.load(), 2 * jobs);
}

TEST_P(Runtimes, wake_from_sleep_for_timers_and_jobs) {
  MAKE_OR_SKIP(runtime, 1);
  ASSERT_TRUE(runtime->start());
  struct Ring : Timer {
    Ring() : Timer(&fired) {}
    static void fired(Timer& timer) noexcept {
      static_cast<Ring&>(timer).rang.store(true);
      static_cast<Ring&>(timer).rang.notify_all();
    }
    std::atomic<bool> rang = false;
  } ring;
  const Instant began = Host::system().now();
  runtime->each([&](Loop& loop) { loop.start_timer(ring, loop.now() + 20_ms); });
  ring.rang.wait(false);
  runtime->each([](Loop&) {});  // The worker has let go of it.
  EXPECT_GE((Host::system().now() - began).count_ms(), 19);
}

// The last turn of a loop may ask for a close that nobody hands over any more.
// Goes from worker to worker.
struct Ball : Job {
  Ball() : Job(&hop) {}
  static void hop(Job& job) noexcept {
    auto& self = static_cast<Ball&>(job);
    if (--self.left == 0) {
      std::atomic<int>& in_play = *self.in_play;
      in_play.fetch_sub(1);  // The ball may be gone now.
      in_play.notify_one();
      return;
    }
    self.at = (self.at + 1) % self.runtime->workers();
    self.runtime->loop(self.at).post(self);
  }
  Runtime* runtime = nullptr;
  std::atomic<int>* in_play = nullptr;
  int at = 0;
  int left = 3000;
};

TEST_P(Runtimes, pass_jobs_from_worker_to_worker_and_lose_no_wake_up) {
  std::atomic<int> in_play{0};  // Outlives the workers, who may still be about to notify.
  MAKE_OR_SKIP(runtime, 3);
  ASSERT_TRUE(runtime->start());
  for (const int count : {1, 7}) {
    in_play = count;
    std::vector<std::unique_ptr<Ball>> balls;
    for (int i = 0; i < count; ++i) {
      balls.push_back(std::make_unique<Ball>());
      balls.back()->runtime = runtime.get();
      balls.back()->in_play = &in_play;
      runtime->loop(0).post(*balls.back());
    }
    for (int left = in_play; left != 0; left = in_play) in_play.wait(left);
  }
}

// The last thing that a worker does: nothing is submitted after it but by the end of run().
TEST_P(Runtimes, wake_another_worker_in_the_turn_that_ends_the_loop) {
  struct Arrival : Job {
    Arrival() : Job([](Job& job) noexcept { static_cast<Arrival&>(job).arrived = true; }) {}
    std::atomic<bool> arrived{false};
  } arrival;
  struct Last : Ready {
    Last()
        : Ready([](Op& op) noexcept {
            auto& self = static_cast<Last&>(op);
            self.own->stop();
            self.other->post(*self.posted);
          }) {}
    Loop* own = nullptr;
    Loop* other = nullptr;
    Job* posted = nullptr;
  } last;
  MAKE_OR_SKIP(runtime, 2);
  ASSERT_TRUE(runtime->start());
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  last.own = &runtime->loop(0);
  last.other = &runtime->loop(1);
  last.posted = &arrival;
  last.fd = ends[0];
  last.events = POLLIN;
  runtime->each([&](Loop& loop) {
    if (&loop == last.own) loop.engine().submit(last);
  });

  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  for (int i = 0; i < 5000 && !arrival.arrived; ++i) usleep(1000);

  EXPECT_TRUE(arrival.arrived);
  runtime->stop();
  ::close(ends[0]);
  ::close(ends[1]);
}

// A worker that posts to another one and does not come to the end of its turn.
struct Staller : Job {
  Staller()
      : Job([](Job& job) noexcept {
          auto& self = static_cast<Staller&>(job);
          self.target->post(self.posted);
          EXPECT_TRUE(execute_after(static_cast<Executor&>(*self.target), Duration(), [] {}));
          self.stalls = true;
          const Instant end = Host::system().now() + 10_s;
          while (self.stalls && Host::system().now() < end) continue;
        }) {}
  Loop* target = nullptr;
  std::atomic<int> ran = 0;
  Count posted{ran};
  std::atomic<bool> stalls{false};
};

TEST_P(Runtimes, hear_others_while_a_worker_that_posted_to_them_stalls) {
  for (const bool from_a_worker : {false, true}) {
    for (const bool is_delayed : {false, true}) {
      SCOPED_TRACE(std::string(from_a_worker ? "a worker" : "a thread") + (is_delayed ? ", later" : ""));
      Staller staller;
      std::atomic<int> ran = 0;
      Count job(ran);
      MAKE_OR_SKIP(runtime, 3);
      ASSERT_TRUE(runtime->start());
      staller.target = &runtime->loop(1);
      usleep(20'000);  // They sleep.
      runtime->loop(0).post(staller);
      while (!staller.stalls) std::this_thread::yield();
      usleep(20'000);

      const auto give = [&] {
        if (!is_delayed) {
          runtime->loop(1).post(job);
        } else {
          EXPECT_TRUE(execute_after(static_cast<Executor&>(runtime->loop(1)), Duration(), [&] { ++ran; }));
        }
      };
      if (from_a_worker) {
        EXPECT_TRUE(execute(static_cast<Executor&>(runtime->loop(2)), give));
      } else {
        give();
      }
      for (int i = 0; i < 100 && ran == 0; ++i) usleep(1000);
      EXPECT_EQ(ran, 1);
      EXPECT_TRUE(staller.stalls);

      staller.stalls = false;
    }
  }
}

// Stopping is heard as well.
TEST_P(Runtimes, stop_a_loop_while_a_worker_that_posted_to_it_stalls) {
  Staller staller;
  MAKE_OR_SKIP(runtime, 1);
  MAKE_OR_SKIP(other, 1);
  ASSERT_TRUE(runtime->start());
  ASSERT_TRUE(other->start());
  staller.target = &other->loop(0);
  usleep(20'000);
  runtime->loop(0).post(staller);
  while (!staller.stalls) std::this_thread::yield();
  usleep(20'000);

  const Instant began = Host::system().now();
  other->stop();

  EXPECT_LT(Host::system().now() - began, 5_s);
  staller.stalls = false;
  runtime->stop();
}

TEST(Uring, is_woken_at_once_by_others_while_a_message_for_it_waits) {
  auto from = make_uring_engine();
  auto to = make_uring_engine();
  if (!from || !to) GTEST_SKIP() << "no uring engine here";
  Engine& target = **to;
  target.wait(Instant());
  target.dispatch();
  (*from)->wake_other(target);

  target.wake();
  const Instant began = Host::system().now();
  target.wait(began + 2_s);

  EXPECT_LT(Host::system().now() - began, 1_s);
  EXPECT_EQ(target.system_calls(), 3u);
  target.dispatch();
}

// More than it keeps in mind.
TEST(Uring, wakes_as_many_others_as_there_are) {
  auto from = make_uring_engine();
  if (!from) GTEST_SKIP() << "no uring engine here";
  std::vector<std::unique_ptr<Engine>> targets;
  for (int i = 0; i < 40; ++i) {
    targets.push_back(make_uring_engine({.submission_entries = 4, .completion_entries = 8}).value());
    targets.back()->wait(Instant());
    targets.back()->dispatch();
  }

  for (int i = 0; i < 2; ++i) {
    for (auto& target : targets) (*from)->wake_other(*target);
  }
  targets.erase(targets.begin() + 20);  // Its message comes nowhere.
  (*from)->wait(Instant());
  (*from)->dispatch();

  for (auto& target : targets) {
    const Instant began = Host::system().now();
    target->wait(began + 2_s);
    EXPECT_LT(Host::system().now() - began, 1_s);
    target->dispatch();
  }
}

// On one thread, so that each system call can be told.
TEST(Uring, wakes_another_ring_without_a_system_call_of_its_own_where_the_kernel_can) {
  for (const bool messages : {false, true}) {
    auto from = make_uring_engine({.messages = messages});
    auto to = make_uring_engine();
    if (!from || !to) GTEST_SKIP() << "no uring engine here";
    Engine& sender = **from;
    Engine& target = **to;
    sender.wait(Instant());
    target.wait(Instant());
    target.dispatch();
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    Receive other([](Op&) noexcept {});
    other.fd = ends[0];
    const std::uint64_t before = sender.system_calls() + target.system_calls();

    sender.submit(other);  // The turn has a call to make.
    sender.wake_other(target);
    sender.wake_other(target);  // It is on its way already.
    sender.wait(Instant());
    target.wait(Host::system().now() + 20_s);  // Would be long.
    target.dispatch();

    const std::uint64_t calls = sender.system_calls() + target.system_calls() - before;
    utsname kernel{};
    uname(&kernel);
    int major = 0, minor = 0;
    std::sscanf(kernel.release, "%d.%d", &major, &minor);
    const bool can = messages && (major > 6 || (major == 6 && minor >= 11));
    EXPECT_EQ(calls, can ? 2u : 3u);
    sender.cancel(other);
    while (other.pending) {
      sender.wait(Host::system().now() + 20_s);
      sender.dispatch();
    }
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

TEST_P(Runtimes, leave_no_descriptor_open_that_was_closed_in_the_last_turn) {
  int signal[2];
  int closed[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, signal), 0);
  ASSERT_EQ(pipe2(closed, O_CLOEXEC), 0);
  struct Last : Receive {
    Last() : Receive(&on_done) {}
    static void on_done(Op& op) noexcept {
      auto& self = static_cast<Last&>(op);
      if (op.result <= 0) return;
      self.loop->engine().close(self.closes);
      self.loop->stop();
      self.seen = true;
    }
    std::atomic<bool> seen = false;
    Loop* loop = nullptr;
    int closes = -1;
  } last;
  {
    MAKE_OR_SKIP(runtime, 1);
    ASSERT_TRUE(runtime->start());
    last.fd = signal[0];
    last.closes = closed[1];
    runtime->each([&](Loop& loop) {
      last.loop = &loop;
      loop.engine().submit(last);
    });
    ASSERT_EQ(write(signal[1], "k", 1), 1);
    while (!last.seen.load()) std::this_thread::yield();
    runtime->stop();
  }
  char byte = 0;
  ASSERT_EQ(fcntl(closed[0], F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(read(closed[0], &byte, 1), 0) << "the other end is still open";
  for (const int fd : {signal[0], signal[1], closed[0]}) ::close(fd);
}

// As a stream does that is destroyed while it waits to receive: it can close only when that has ended.
TEST_P(Runtimes, close_what_was_cancelled_in_the_last_turn) {
  int signal[2];
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, signal), 0);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
  struct Orphan : Receive {
    Orphan()
        : Receive([](Op& op) noexcept {
            if (!op.more) static_cast<Orphan&>(op).loop->engine().close(op.fd);
          }) {}
    Loop* loop = nullptr;
  } orphan;
  struct Last : Receive {
    Last()
        : Receive([](Op& op) noexcept {
            if (op.result <= 0) return;
            auto& self = static_cast<Last&>(op);
            self.orphan->loop->engine().cancel(*self.orphan);
            self.orphan->loop->stop();
          }) {}
    Orphan* orphan = nullptr;
  } last;
  {
    MAKE_OR_SKIP(runtime, 1);
    ASSERT_TRUE(runtime->start());
    orphan.fd = pair[0];
    last.fd = signal[0];
    last.orphan = &orphan;
    runtime->each([&](Loop& loop) {
      orphan.loop = &loop;
      loop.engine().submit(orphan);
      loop.engine().submit(last);
    });
    ASSERT_EQ(write(signal[1], "k", 1), 1);
    char byte = 0;
    pollfd ended{.fd = pair[1], .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&ended, 1, 5000), 1);
    EXPECT_EQ(read(pair[1], &byte, 1), 0) << "the other end is still open";
    runtime->stop();
  }
  for (const int fd : {signal[0], signal[1], pair[1]}) ::close(fd);
}

// A loop that always has something to do ends, too.
TEST_P(Runtimes, stop_though_there_is_always_more_to_do) {
  struct Again : Job {
    Again() : Job([](Job& job) noexcept { Loop::current()->post(job); }) {}
  } again;
  MAKE_OR_SKIP(runtime, 1);
  ASSERT_TRUE(runtime->start());
  runtime->loop(0).post(again);
  const Instant began = Host::system().now();
  runtime->stop();
  EXPECT_LT(Host::system().now() - began, 10_s);
}

TEST_P(Runtimes, stop_more_than_once_and_without_start) {
  MAKE_OR_SKIP(runtime, 2);
  MAKE_OR_SKIP(never_started, 2);
  ASSERT_TRUE(runtime->start());
  runtime->stop();
  runtime->stop();
  never_started->stop();
}

}  // namespace
}  // namespace keel::io::runtime_test
