// The end of a server: what is under way is answered, what is idle is closed, no timer stays.

#include "keel/http/server/server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "keel/http/testing/internal/server_fixture.h"
#include "keel/net/stream.h"

namespace keel::http::server_drain_test {
namespace {

using namespace internal;

using DrainingServers = Servers;
INSTANTIATE_TEST_SUITE_P(, DrainingServers, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(DrainingServers, drain_answers_what_is_under_way_and_closes_what_is_idle) {
  start();
  held_back = true;
  Peer& idle = peer();
  Peer& late = peer();
  Peer& busy = peer();
  Peer& half = peer();
  busy.send(get("/held"));
  half.send("GET /n/1 HTTP/1.1\r\nHo");
  late.send(get("/n/1"));
  ASSERT_TRUE(until([&] { return handlers_running == 1 && late.all().size() == 1 && idle.is_connected(); }));
  settle();
  Peer& waiting = peer();  // Connected, and perhaps not accepted yet.
  ASSERT_TRUE(until([&] { return waiting.is_connected(); }));
  waiting.send(get("/n/2"));

  server_->begin_drain(100_ms);
  const Instant began = now();
  settle();
  late.send(get("/n/3"));
  half.send("st: a\r\n\r\n");
  held_back = false;
  ASSERT_TRUE(until([&] { return server_->is_drained(); }));
  ASSERT_TRUE(until([&] { return std::ranges::all_of(peers_, [](auto& p) { return p->has_ended(); }); }));

  EXPECT_GE((now() - began).count_ms(), 100);
  EXPECT_EQ(idle.wire(), "");
  ASSERT_EQ(busy.all().size(), 1u);
  EXPECT_EQ(busy.all()[0].body, "/held");
  EXPECT_TRUE(busy.all()[0].closes());
  ASSERT_EQ(late.all().size(), 2u);
  EXPECT_FALSE(late.all()[0].closes());
  EXPECT_TRUE(late.all()[1].closes());
  ASSERT_EQ(half.all().size(), 1u);
  EXPECT_TRUE(half.all()[0].closes());
  ASSERT_EQ(waiting.all().size(), 1u);
  EXPECT_TRUE(waiting.all()[0].closes());

  Peer& newcomer = peer();
  ASSERT_TRUE(until([&] { return newcomer.is_refused(); }));
}

TEST_P(DrainingServers, that_can_no_longer_listen_leave_no_timer_behind_when_they_drain) {
  if (is_sim()) GTEST_SKIP() << "the simulation has no other descriptors of a listener";
  start();
  const int before = loop().timers();
  const std::vector<int> listeners = server_->duplicate_listeners();
  ASSERT_EQ(listeners.size(), 1u);
  ASSERT_EQ(::shutdown(listeners[0], SHUT_RDWR), 0);  // Accepting fails.
  ::close(listeners[0]);
  settle();
  server_->begin_drain();
  ASSERT_TRUE(until([&] { return server_->is_drained(); }));
  EXPECT_EQ(loop().timers(), before);
}

http::Response much(Request&) { return Response::text(Status::Ok, std::string(3000, 'm')); }

Task<> ask_for_much_and_leave(Address to) {
  Stream stream = co_await Stream::connect(to);
  std::string requests;
  for (int i = 0; i < 12; ++i) requests += get("/much");
  co_await stream.write(requests);
  co_await stream.receive();
}

// Drains after this many steps of a simulation in which a peer takes a little of its responses and goes. False: it had
// gone.
bool drain_after(int steps, std::uint64_t seed) {
  sim::SimOptions faults;
  faults.seed = seed;
  faults.buffer_bytes = 4096;
  faults.instant_send = 0;
  sim::Simulation simulation(faults);
  io::Loop& loop = simulation.add_loop();
  io::Loop& client_loop = simulation.add_loop();
  Router router;
  router.get("/much", much);
  ServerOptions options;
  options.address = Address::parse("10.0.0.1:80").value();
  Server server(router, options);
  Start<void> client;
  {
    io::Loop::Entered entered(loop);
    EXPECT_TRUE(server.start(loop));
  }
  {
    io::Loop::Entered entered(client_loop);
    client.begin(ask_for_much_and_leave(server.address()), [](StartCore&) noexcept {});
  }
  for (int step = 0; step < steps; ++step) simulation.step();
  const bool has_gone = client.has_ended() && server.stats().connections == 0;
  {
    io::Loop::Entered entered(loop);
    server.begin_drain();
  }
  EXPECT_TRUE(simulation.run_until([&] { return server.is_drained() && client.has_ended(); }, 60_s));
  EXPECT_EQ(loop.timers(), 0) << "drained after step " << steps << " of seed " << seed;
  io::Loop::Entered entered(client_loop);
  (void)client.take().is_ok();
  return !has_gone;
}

// How long an idle server at `address` takes to drain.
Duration idle_drain(std::string_view address) {
  sim::Simulation simulation;
  io::Loop& loop = simulation.add_loop();
  Router router;
  ServerOptions options;
  options.address = Address::parse(address).value();
  Server server(router, options);
  io::Loop::Entered entered(loop);
  EXPECT_TRUE(server.start(loop));
  const Instant began = simulation.now();
  server.begin_drain();
  EXPECT_TRUE(simulation.run_until([&] { return server.is_drained(); }, 60_s));
  return simulation.now() - began;
}

TEST(Drain, waits_for_who_may_be_connecting_only_where_that_takes_a_round_trip) {
  EXPECT_GE(idle_drain("10.0.0.1:80").count_ms(), 100);
  EXPECT_LT(idle_drain("unix:/run/service.sock").count_ms(), 10);
}

// A connection that is ending waits for its cancelled send; a drain that begins just then must not set its timer again.
TEST(Drain, at_any_moment_leaves_no_timer_behind) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    int steps = 0;
    while (steps < 5000 && drain_after(steps, seed)) ++steps;
    EXPECT_GT(steps, 20);
    EXPECT_LT(steps, 5000);
  }
}

}  // namespace
}  // namespace keel::http::server_drain_test
