#include "keel/io/testing/simulation.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "keel/exec/call.h"
#include "keel/exec/submitted.h"
#include "keel/io/runtime.h"
#include "keel/task/completion.h"
#include "keel/task/start.h"

namespace keel::sim::simulation_test {
namespace {

// A server that echoes and clients that check what comes back; it survives every fault.
class Echo {
 public:
  explicit Echo(const SimOptions& options) : simulation(options) {
    for (int i = 0; i < 2; ++i) {
      io::Loop& loop = simulation.add_loop();
      servers_.push_back(std::make_unique<Server>(*this, loop));
    }
    io::Loop& loop = simulation.add_loop();
    for (int i = 0; i < 6; ++i) clients_.push_back(std::make_unique<Peer>(*this, loop, i));
  }
  ~Echo() { finish(); }

  bool run() {
    const bool ended = simulation.run_until([&] { return ended_ == clients_.size(); }, 30_s);
    return ended;
  }
  void finish() {
    for (auto& client : clients_) client->stop();
    for (auto& server : servers_) server->stop();
    ASSERT_TRUE(simulation.run_until(
        [&] {
          for (auto& server : servers_) {
            if (!server->idle()) return false;
          }
          for (auto& client : clients_) {
            if (!client->idle()) return false;
          }
          return true;
        },
        10_s))
        << simulation.replay();
  }
  std::size_t answered() const { return answered_; }
  std::size_t damaged() const { return damaged_; }

  Simulation simulation;

 private:
  struct Session {
    explicit Session(io::Loop& l, int fd) : loop(l) {
      read.self = write.self = this;
      read.fd = write.fd = fd;
      loop.engine().submit(read);
    }
    struct Read : io::Receive {
      Read() : Receive([](Op& op) noexcept { static_cast<Read&>(op).self->received(); }) {}
      Session* self = nullptr;
    };
    struct Write : io::SendPart {
      Write() : SendPart([](Op& op) noexcept { static_cast<Write&>(op).self->sent(); }) {}
      Session* self = nullptr;
    };
    void received() {
      if (read.result > 0) {
        waiting.append(read.data, static_cast<std::size_t>(read.result));
        pump();
      } else if (write.is_idle()) {
        close();
      }
    }
    void sent() {
      if (write.result < 0) {
        loop.engine().cancel(read);
        if (read.is_idle()) close();
        return;
      }
      pump();
      if (read.is_idle() && write.is_idle()) close();
    }
    void pump() {
      while (write.is_idle() && !waiting.empty()) {
        leaving.swap(waiting);
        waiting.clear();
        write.set(leaving.data(), leaving.size());
        if (!loop.engine().submit(write)) return;
        if (write.result < 0) return loop.engine().cancel(read);
      }
    }
    void stop() {
      loop.engine().cancel(read);
      loop.engine().cancel(write);
    }
    void close() {
      if (!closed) loop.engine().close(read.fd);
      closed = true;
    }
    bool idle() const { return read.is_idle() && write.is_idle(); }
    io::Loop& loop;
    Read read;
    Write write;
    std::string waiting, leaving;
    bool closed = false;
  };

  struct Server {
    Server(Echo&, io::Loop& l) : loop(l) {
      accept.self = this;
      accept.fd = loop.engine().open_listener(Address::parse("10.0.0.1:80").value(), {.reuse_port = true}).value();
      again.self = this;
      loop.engine().submit(accept);
    }
    struct Listening : io::Accept {
      Listening()
          : Accept([](Op& op) noexcept {
              Server& server = *static_cast<Listening&>(op).self;
              if (op.result >= 0) server.sessions.emplace_back(server.loop, op.result);
              if (op.result == -EMFILE) server.loop.start_timer(server.again, server.loop.now() + 10_ms);
            }) {}
      Server* self = nullptr;
    };
    struct Again : Timer {
      Again()
          : Timer([](Timer& timer) noexcept {
              Server& server = *static_cast<Again&>(timer).self;
              server.loop.engine().submit(server.accept);
            }) {}
      Server* self = nullptr;
    };
    void stop() {
      loop.stop_timer(again);
      loop.engine().cancel(accept);
      for (Session& session : sessions) session.stop();
    }
    bool idle() const {
      for (const Session& session : sessions) {
        if (!session.idle()) return false;
      }
      return accept.is_idle();
    }
    io::Loop& loop;
    Listening accept;
    Again again;
    std::deque<Session> sessions;
  };

  struct Peer {
    Peer(Echo& e, io::Loop& l, int number) : echo(e), loop(l) {
      connecting.self = read.self = write.self = this;
      deadline.self = this;
      text.assign(100u + 3000u * static_cast<unsigned>(number), static_cast<char>('a' + number));
      connecting.fd = loop.engine().open_stream(AF_INET).value();
      connecting.address = Address::parse("10.0.0.1:80").value();
      loop.engine().submit(connecting);
      loop.start_timer(deadline, loop.now() + 20_s);
    }
    struct Connecting : io::Connect {
      Connecting() : Connect([](Op& op) noexcept { static_cast<Connecting&>(op).self->connected(); }) {}
      Peer* self = nullptr;
    };
    struct Read : io::Receive {
      Read() : Receive([](Op& op) noexcept { static_cast<Read&>(op).self->received(); }) {}
      Peer* self = nullptr;
    };
    struct Write : io::SendPart {
      Write() : SendPart([](Op& op) noexcept { static_cast<Write&>(op).self->sent(); }) {}
      Peer* self = nullptr;
    };
    struct Deadline : Timer {
      Deadline() : Timer([](Timer& timer) noexcept { static_cast<Deadline&>(timer).self->stop(); }) {}
      Peer* self = nullptr;
    };
    void connected() {
      if (connecting.result < 0) return end();
      read.fd = write.fd = connecting.fd;
      loop.engine().submit(read);
      write.set(text.data(), text.size());
      if (loop.engine().submit(write)) sent();
    }
    void sent() {
      if (write.result < 0) loop.engine().cancel(read);
      if (idle()) end();
    }
    void received() {
      if (read.result > 0) {
        got.append(read.data, static_cast<std::size_t>(read.result));
        if (text.compare(0, got.size(), got) != 0) ++echo.damaged_;
        if (got.size() == text.size() && !counted) {
          counted = true;
          ++echo.answered_;
          loop.engine().cancel(read);
        }
        return;
      }
      if (read.result < 0) loop.engine().cancel(write);
      if (idle()) end();
    }
    void stop() {
      loop.stop_timer(deadline);
      loop.engine().cancel(connecting);
      loop.engine().cancel(read);
      loop.engine().cancel(write);
    }
    void end() {
      if (ended) return;
      ended = true;
      loop.stop_timer(deadline);
      loop.engine().close(connecting.fd);
      ++echo.ended_;
    }
    bool idle() const { return connecting.is_idle() && read.is_idle() && write.is_idle(); }
    Echo& echo;
    io::Loop& loop;
    Connecting connecting;
    Read read;
    Write write;
    Deadline deadline;
    std::string text, got;
    bool counted = false;
    bool ended = false;
  };

  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::unique_ptr<Peer>> clients_;
  std::size_t answered_ = 0;
  std::size_t damaged_ = 0;
  std::size_t ended_ = 0;
};

TEST(Simulation, answers_everything_when_nothing_fails) {
  Echo echo({.seed = 7});

  ASSERT_TRUE(echo.run()) << echo.simulation.replay();

  EXPECT_EQ(echo.answered(), 6u);
  EXPECT_EQ(echo.damaged(), 0u);
}

TEST(Simulation, runs_the_same_way_twice_for_each_seed_and_differently_for_others) {
  std::set<std::uint64_t> hashes;
  FaultCounts sum;
  std::size_t answered = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SimOptions options = SimOptions::faulty(seed);
    options.trace_bytes_max = 1 << 20;
    Echo first(options);
    Echo second(options);

    ASSERT_EQ(first.run(), second.run()) << first.simulation.replay();
    first.finish();
    second.finish();

    ASSERT_EQ(first.simulation.trace_text(), second.simulation.trace_text()) << first.simulation.replay();
    ASSERT_EQ(first.simulation.trace_hash(), second.simulation.trace_hash()) << first.simulation.replay();
    ASSERT_EQ(first.damaged(), 0u) << first.simulation.replay();
    hashes.insert(first.simulation.trace_hash());
    answered += first.answered();
    const FaultCounts& faults = first.simulation.faults();
    sum.resets += faults.resets;
    sum.vanished += faults.vanished;
    sum.accept_failures += faults.accept_failures;
    sum.short_deliveries += faults.short_deliveries;
    sum.long_delays += faults.long_delays;
    sum.stalls += faults.stalls;
    sum.clock_jumps += faults.clock_jumps;
  }

  EXPECT_EQ(hashes.size(), 200u);
  EXPECT_GT(answered, 800u);
  EXPECT_GT(sum.resets, 0u);
  EXPECT_GT(sum.vanished, 0u);
  EXPECT_GT(sum.accept_failures, 0u);
  EXPECT_GT(sum.short_deliveries, 0u);
  EXPECT_GT(sum.long_delays, 0u);
  EXPECT_GT(sum.stalls, 0u);
  EXPECT_GT(sum.clock_jumps, 0u);
}

TEST(Simulation, spreads_connections_over_listeners_of_one_address) {
  // Twelve seeds of six connections: both workers get some.
  std::set<std::string> accepted_by;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Echo echo({.seed = seed, .trace_bytes_max = 1 << 20});
    ASSERT_TRUE(echo.run());
    for (const char* worker : {"accept w0", "accept w1"}) {
      if (echo.simulation.trace_text().find(worker) != std::string_view::npos) accepted_by.insert(worker);
    }
  }
  EXPECT_EQ(accepted_by.size(), 2u);
}

TEST(Simulation, jumps_to_the_next_timer_instead_of_waiting) {
  Simulation simulation;
  io::Loop& loop = simulation.add_loop();
  bool rang = false;
  struct Bell : Timer {
    Bell() : Timer([](Timer& timer) noexcept { *static_cast<Bell&>(timer).rang = true; }) {}
    bool* rang = nullptr;
  } bell;
  bell.rang = &rang;
  const Instant start = simulation.now();
  const std::int64_t wall = simulation.wall_ns();
  loop.start_timer(bell, start + 24_h);

  EXPECT_FALSE(simulation.run_until([&] { return rang; }, 23_h));
  ASSERT_TRUE(simulation.run_until([&] { return rang; }, 2_h));

  EXPECT_GE(simulation.now() - start, 24_h);
  EXPECT_LT(simulation.now() - start, 24_h + 10_ms);
  EXPECT_EQ(simulation.wall_ns() - wall, (simulation.now() - start).count_ns());
}

TEST(Simulation, says_when_nothing_can_happen_any_more) {
  Simulation simulation;
  simulation.add_loop();

  int steps = 0;
  while (simulation.step() && steps < 100) ++steps;

  EXPECT_LT(steps, 100);
}

TEST(Simulation, runs_pool_jobs_as_steps_and_posts_back_to_a_loop) {
  Simulation simulation;
  io::Loop& loop = simulation.add_loop();
  struct Back : Job {
    Back() : Job([](Job& job) noexcept { static_cast<Back&>(job).on = io::Loop::current(); }) {}
    io::Loop* on = nullptr;
  } back;
  struct Work : Job {
    Work()
        : Job([](Job& job) noexcept {
            auto& self = static_cast<Work&>(job);
            self.on = Executor::current();
            self.home->post(*self.back);
          }) {}
    Executor* on = nullptr;
    io::Loop* home = nullptr;
    Back* back = nullptr;
  } work;
  work.home = &loop;
  work.back = &back;

  simulation.pool().post(work);
  EXPECT_EQ(work.on, nullptr);
  ASSERT_TRUE(simulation.run_until([&] { return back.on != nullptr; }, 1_s));

  EXPECT_EQ(work.on, &simulation.pool());
  EXPECT_EQ(back.on, &loop);
}

TEST(Simulation, runs_delayed_pool_jobs_at_their_time_and_discards_the_others_at_its_end) {
  auto simulation = std::make_unique<Simulation>(SimOptions());
  const Instant began = simulation->now();
  Instant at;
  Executor* on = nullptr;
  auto soon = submit_after(simulation->pool(), 1_s, [&] {
    at = simulation->now();
    on = Executor::current();
  });
  auto later = submit_after(simulation->pool(), 1_h, [] {});

  EXPECT_TRUE(simulation->run_until([&] { return soon.is_done(); }, 2_s));

  EXPECT_GE(at - began, 1_s);
  EXPECT_EQ(on, &simulation->pool());
  simulation.reset();
  EXPECT_EQ(later.get().error().code(), Code::Cancelled);
}

Task<int> submits(Executor& pool, int times) {
  int sum = 0;
  for (int i = 0; i < times; ++i) {
    auto handle = submit(pool, [i] { return i; });
    sum += co_await completion(std::move(handle));
  }
  co_return sum;
}
TEST(Simulation, runs_submitted_work_as_steps_the_same_way_twice) {
  std::uint64_t hashes[2] = {};
  for (std::uint64_t& hash : hashes) {
    Simulation simulation(SimOptions::faulty(7));
    io::Loop& loop = simulation.add_loop();
    Start<int> start;
    {
      io::Loop::Entered entered(loop);
      EXPECT_FALSE(start.begin(submits(simulation.pool(), 20), [](StartCore&) noexcept {}));
    }
    ASSERT_TRUE(simulation.run_until([&] { return start.has_ended(); }, 10_s)) << simulation.replay();
    EXPECT_EQ(start.take().value(), 190);
    hash = simulation.trace_hash();
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(Simulation, names_seed_and_options_for_the_replay) {
  Simulation simulation(SimOptions::faulty(42));

  EXPECT_NE(simulation.replay().find("seed=42 latency="), std::string::npos);
  EXPECT_EQ(SimOptions::faulty(42).to_string(), SimOptions::faulty(42).to_string());
  EXPECT_NE(SimOptions::faulty(42).to_string(), SimOptions::faulty(43).to_string());
}

TEST(Simulation, turns_the_loops_of_a_runtime_on_the_thread_that_waits) {
  Simulation simulation;
  io::Loop& first = simulation.add_loop();
  io::Loop& second = simulation.add_loop();
  const auto runtime = io::Runtime::over(
      {&first, &second}, [&](FunctionRef<bool()> done, Duration limit) { return simulation.run_until(done, limit); });
  ASSERT_TRUE(runtime->start());
  EXPECT_EQ(runtime->workers(), 2);
  EXPECT_EQ(&runtime->loop(1), &second);

  int ran = 0;
  runtime->each([&](io::Loop& loop) {
    EXPECT_EQ(io::Loop::current(), &loop);
    EXPECT_TRUE(execute_after(loop, 1_h, [&] { ++ran; }));
  });

  EXPECT_FALSE(runtime->wait_until([&] { return ran == 2; }, 59_min));
  EXPECT_TRUE(runtime->wait_until([&] { return ran == 2; }, 2_min));
  runtime->stop();
}

}  // namespace
}  // namespace keel::sim::simulation_test
