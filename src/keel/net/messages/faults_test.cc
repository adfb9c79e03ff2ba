// Messages in a network that cuts at any byte, delays, stalls and swallows: whatever happens, each request is answered
// once or fails, nothing hangs, and nothing is queued beyond its bound. KEEL_MESSAGES_SEEDS sets how many seeds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "keel/io/testing/simulation.h"
#include "keel/net/listener.h"
#include "keel/net/messages/client.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/message_stream.h"
#include "keel/net/messages/server.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::messages::faults_test {
namespace {

constexpr std::size_t queued_bytes_max = 300'000;
constexpr int requests = 40;

struct Ask {
  static constexpr std::uint16_t message_type = 1;
  std::int64_t number = 0;
  bool waits = false;
};
struct Answer {
  std::int64_t number = 0;
  std::string padding;
};
// Sent by the server while it handles an Ask, and answered by the client.
struct AskBack {
  static constexpr std::uint16_t message_type = 4;
  std::int64_t number = 0;
};
struct Count {
  static constexpr std::uint16_t message_type = 2;
  std::int64_t from = 0;
};
struct Told {
  static constexpr std::uint16_t message_type = 3;
  std::int64_t number = 0;
};

PeerOptions options() {
  PeerOptions made;
  made.requests_max = 8;
  made.streams_max = 2;
  made.stream_bytes_max = 5'000;
  made.heartbeat = 5_s;
  made.hello_timeout = 10_s;
  made.stall_timeout = 10_s;
  made.queued_bytes_max = queued_bytes_max;
  made.high_bytes = 30'000;
  made.low_bytes = 10'000;
  return made;
}

struct Run {
  // Most connections are reset somewhere, many swallow everything from then on.
  static sim::SimOptions faults(std::uint64_t seed) {
    sim::SimOptions options = sim::SimOptions::faulty(seed);
    options.reset = 0.7;
    options.vanish = seed % 4 == 0 ? 0.3 : 0;
    options.short_delivery = seed % 3 == 0 ? 0.2 : options.short_delivery;
    return options;
  }
  explicit Run(std::uint64_t seed) : simulation(faults(seed)) {
    handlers.on<Ask>([this](Peer& peer, Ask ask) -> Task<Answer> {
      look(peer);
      ++handled[ask.number];
      if (ask.waits) co_await sleep_for(20_ms);
      if (ask.number % 2 == 0) co_await ask_back(peer, ask.number);
      co_return Answer{ask.number, padding(ask.number)};
    });
    client_handlers.on<AskBack>([this](Peer& peer, AskBack ask) {
      look(peer);
      ++handled_back[ask.number];
      return Answer{ask.number, padding(ask.number)};
    });
    handlers.on<Told>([this](Peer& peer, Told told) {
      EXPECT_GT(told.number, last_told[&peer]) << "one-way messages come once, and in order";
      last_told[&peer] = told.number;
    });
    handlers.on_stream<Count>([this](Peer& peer, Count count, MessageStream out) -> Task<> {
      for (std::int64_t i = 0; i < 30; ++i) {
        const Answer answer{count.from + i, std::string(500, 'y')};
        co_await out.send(answer);
        look(peer);
      }
    });
  }
  Task<> ask_back(Peer& peer, std::int64_t number) {
    const AskBack message{number};
    const Answer answer = co_await peer.request<Answer>(message);
    ++answered_back;
    EXPECT_EQ(answer.number, number);
    EXPECT_EQ(answer.padding, padding(number));
    EXPECT_EQ(handled_back[number], 1);
  }
  // The answers to what may be asked at a time are more than high_bytes, in both directions.
  static std::string padding(std::int64_t number) {
    return std::string(static_cast<std::size_t>(number % 7) * 1500, 'x');
  }
  void look(const Peer& peer) { queued_most = std::max(queued_most, peer.queued_bytes()); }

  Task<> serve() {
    ServerOptions all;
    all.peer = options();
    all.on_open = [this](Peer& peer) { last_told[&peer] = -1; };
    Server server(handlers, std::move(all));
    Listener listener = co_await Listener::bind(*Address::parse("10.0.0.1:7000"));
    Result<> served = co_await attempt(server.serve(listener, stopping));
    EXPECT_EQ(server.connections(), 0u);
    co_await std::move(served);
  }
  Task<> ask(Peer& peer, std::int64_t number, bool waits) {
    const Ask message{number, waits};
    Result<Answer> answer = co_await attempt(with_timeout(60_s, peer.request<Answer>(message)));
    ++ended;
    if (!answer) co_return;
    ++answered;
    EXPECT_EQ(answer->number, number);
    EXPECT_EQ(answer->padding, padding(number));
    EXPECT_EQ(handled[number], 1);
  }
  Task<> count(Peer& peer, std::int64_t from) {
    MessageStream stream = co_await peer.open(Count{from});
    std::int64_t next = from;
    while (auto one = co_await stream.receive<Answer>()) EXPECT_EQ(one->number, next++) << "a stream keeps its order";
    EXPECT_EQ(next, from + 30) << "a stream that ended well is whole";
    ++streams;
  }
  // On one connection after the other, until all was asked.
  Task<> client() {
    std::int64_t next = 0;
    while (next < requests) {
      Result<Client> client = co_await attempt(with_timeout(20_s, connect()));
      if (!client) {
        ++failed_connects;
        co_await sleep_for(100_ms);
        if (failed_connects > 50) co_return;
        continue;
      }
      Peer& peer = **client;
      Scope asking;
      while (next < requests && !peer.is_closed()) {
        for (int i = 0; i < 5 && next < requests; ++i, ++next) {
          asking.spawn(ask(peer, next, next % 3 == 0), OnError::Ignore);
          static_cast<void>(peer.try_send(Told{next}));
        }
        asking.spawn(count(peer, next * 1000), OnError::Ignore);
        look(peer);
        co_await sleep_for(80_ms);
      }
      co_await asking.join();
      static_cast<void>(co_await attempt(client->close()));
    }
    has_asked_all = true;
  }
  Task<Client> connect() {
    ClientOptions all;
    all.handlers = &client_handlers;
    all.peer = options();
    co_return co_await Client::connect(*Address::parse("10.0.0.1:7000"), all);
  }

  sim::Simulation simulation;
  Handlers handlers;
  Handlers client_handlers;
  Event stopping;
  std::map<std::int64_t, int> handled;
  std::map<std::int64_t, int> handled_back;
  std::map<const Peer*, std::int64_t> last_told;
  std::size_t queued_most = 0;
  int ended = 0;
  int answered = 0;
  int answered_back = 0;
  int streams = 0;
  int failed_connects = 0;
  bool has_asked_all = false;
};

struct Sums {
  int answered = 0;
  int answered_back = 0;
  int streams = 0;
  std::uint64_t resets = 0;
  std::uint64_t vanished = 0;
};

void run_seed(std::uint64_t seed, Sums& sums) {
  Run run(seed);
  io::Loop& there = run.simulation.add_loop();
  io::Loop& here = run.simulation.add_loop();
  const auto in = [](io::Loop& loop, auto act) {
    const io::Loop::Entered entered(loop);
    act();
  };
  const auto ignore = [](StartCore&) noexcept {};
  Start<void> serving, asking;
  in(there, [&] { serving.begin(run.serve(), ignore); });
  in(here, [&] { asking.begin(run.client(), ignore); });

  ASSERT_TRUE(run.simulation.run_until([&] { return asking.has_ended(); }, 1_h)) << run.simulation.replay();
  static_cast<void>(asking.take());
  if (run.has_asked_all) {
    EXPECT_EQ(run.ended, requests) << run.simulation.replay();
  }
  for (const auto* const handled : {&run.handled, &run.handled_back}) {
    for (const auto& [number, times] : *handled) EXPECT_EQ(times, 1) << number << ' ' << run.simulation.replay();
  }
  EXPECT_LE(run.queued_most, queued_bytes_max) << run.simulation.replay();
  in(there, [&] { run.stopping.set(); });
  ASSERT_TRUE(run.simulation.run_until([&] { return serving.has_ended(); }, 1_h)) << run.simulation.replay();
  static_cast<void>(serving.take());
  run.simulation.run_until([] { return false; }, 5_s);
  sums.answered += run.answered;
  sums.answered_back += run.answered_back;
  sums.streams += run.streams;
  sums.resets += run.simulation.faults().resets;
  sums.vanished += run.simulation.faults().vanished;
}

TEST(MessagesInFaults, are_answered_once_or_fail_and_nothing_hangs) {
  const char* const text = std::getenv("KEEL_MESSAGES_SEEDS");
  const int seeds = text != nullptr ? std::atoi(text) : 100;
  Sums sums;
  for (int i = 1; i <= seeds; ++i) {
    SCOPED_TRACE("seed " + std::to_string(i));
    run_seed(static_cast<std::uint64_t>(i), sums);
    if (HasFailure()) return;
  }
  std::printf(
      "%d seeds: %d requests of clients and %d of servers answered, %d streams whole, %llu resets, %llu vanished\n",
      seeds, sums.answered, sums.answered_back, sums.streams, static_cast<unsigned long long>(sums.resets),
      static_cast<unsigned long long>(sums.vanished));
  EXPECT_GT(sums.answered, seeds * 10);
  EXPECT_GT(sums.answered_back, seeds * 5);
  EXPECT_GT(sums.resets, static_cast<std::uint64_t>(seeds) / 2);
}

}  // namespace
}  // namespace keel::messages::faults_test
