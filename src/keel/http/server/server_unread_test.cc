// What becomes of a client that does not read what it has asked for: it is reset, and the kernel keeps nothing for it,
// nor does part of a response look whole.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "keel/http/server/server.h"
#include "keel/http/testing/internal/server_fixture.h"
#include "keel/io/runtime.h"
#include "keel/observe/metric.h"

namespace keel::http::server_unread_test {
namespace {

using namespace internal;

// What a kernel takes immediately on the loopback, and no peer's kernel that nobody reads from.
const std::string medium(600 * 1024, 'm');

Task<> write_for_ever(BodyWriter& out) {
  while (true) co_await out.write(kilobyte);
}
Task<> write_once_and_wait(BodyWriter& out) {
  co_await out.write("first");
  co_await sleep_for(1_h);
}

class UnreadServers : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    router_.get("/medium", [](Request&) { return Response::text(Status::Ok, medium); });
    router_.get("/endless", [](Request&) { return Response::stream(Status::Ok, "text/plain", &write_for_ever); });
    router_.get("/first", [](Request&) { return Response::stream(Status::Ok, "text/plain", &write_once_and_wait); });
  }
  // A peer that asks, and reads nothing.
  Peer& ask_without_reading(const std::string& request) {
    Peer& one = peer();
    EXPECT_TRUE(until([&] { return one.is_connected(); }));
    one.pause();
    one.send(request);
    return one;
  }
  void await_end_of_all() {
    ASSERT_TRUE(until([&] { return server_->stats().accepted != 0 && server_->stats().connections == 0; }));
  }
  // It reads on, and does not take what it got for whole.
  void expect_reset(Peer& one) {
    one.resume();
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    EXPECT_EQ(one.error(), ECONNRESET);
  }
  // How many sockets of the server's port are between its close and the end that the peer has to acknowledge.
  int left_in_kernel() const {
    int left = 0;
    std::ifstream table("/proc/net/tcp");
    std::string slot, local, remote, state;
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      words >> slot >> local >> remote >> state;
      char port[8];
      std::snprintf(port, sizeof port, ":%04X", server_->address().port());
      // FIN-WAIT-1, LAST-ACK, CLOSING.
      if (local.ends_with(port) && (state == "04" || state == "09" || state == "0B")) ++left;
    }
    return is_sim() ? 0 : left;
  }
  static Limits short_times() {
    Limits limits;
    limits.send_rate_min = 0;
    limits.send_timeout = 150_ms;
    return limits;
  }
};
INSTANTIATE_TEST_SUITE_P(, UnreadServers, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(UnreadServers, reset_a_client_that_takes_nothing_within_the_send_timeout) {
  start(short_times());
  Peer& one = ask_without_reading(get("/large"));

  await_end_of_all();

  EXPECT_EQ(server_->stats().slow_readers, 1u);
  EXPECT_EQ(server_->stats().timeouts, 1u);
  EXPECT_EQ(left_in_kernel(), 0);
  expect_reset(one);
}

// RFC 9112 §8: the end of the connection is the end of such a body.
TEST_P(UnreadServers, let_no_part_of_a_response_without_a_length_look_whole_at_the_send_timeout) {
  start(short_times());
  Peer& one = ask_without_reading("GET /endless HTTP/1.0\r\nHost: a\r\n\r\n");

  await_end_of_all();

  EXPECT_EQ(server_->stats().slow_readers, 1u);
  EXPECT_EQ(left_in_kernel(), 0);
  expect_reset(one);
}

TEST_P(UnreadServers, let_no_part_of_a_response_without_a_length_look_whole_at_the_idle_timeout) {
  Limits limits;
  limits.idle_timeout = 100_ms;
  start(limits);
  Peer& one = peer();
  one.send("GET /first HTTP/1.0\r\nHost: a\r\n\r\n");
  one.finish_writing();

  ASSERT_TRUE(until([&] { return one.has_ended(); }));

  EXPECT_EQ(one.error(), ECONNRESET) << "the handler has not ended";
  EXPECT_EQ(server_->stats().slow_readers, 0u) << "it has read everything";
}

TEST_P(UnreadServers, reset_an_idle_client_that_has_not_read_the_last_response) {
  if (is_sim()) GTEST_SKIP() << "there the peer has what was sent: see IdleServers";
  Limits limits = short_times();
  limits.idle_timeout = 100_ms;
  start(limits);
  Peer& one = ask_without_reading(get("/medium"));
  ASSERT_TRUE(until([&] { return server_->stats().requests == 1; }));
  const Instant began = now();

  await_end_of_all();

  EXPECT_GE(now() - began, 240_ms) << "the idle timeout, and a send's";
  EXPECT_EQ(server_->stats().slow_readers, 1u);
  EXPECT_EQ(server_->stats().aborted, 0u);
  EXPECT_EQ(left_in_kernel(), 0);
  expect_reset(one);
}

TEST_P(UnreadServers, reset_a_client_that_does_not_read_its_last_response) {
  start(short_times());
  Peer& one = ask_without_reading(get("/medium", "Connection: close\r\n"));
  one.finish_writing();

  await_end_of_all();

  EXPECT_EQ(server_->stats().slow_readers, 1u);
  settle();  // A layer closes in the turn after its connection.
  EXPECT_EQ(left_in_kernel(), 0);
  expect_reset(one);
}

TEST_P(UnreadServers, wait_for_a_client_that_reads_its_last_response_late) {
  Limits limits;
  limits.idle_timeout = 50_ms;
  start(limits);
  for (const bool keeps_alive : {false, true}) {
    Peer& one = ask_without_reading(get("/medium", keeps_alive ? "" : "Connection: close\r\n"));
    one.finish_writing();
    pass(400_ms);

    one.resume();
    ASSERT_TRUE(until([&] { return one.has_ended(); }));

    EXPECT_EQ(one.error(), 0);
    ASSERT_EQ(one.all().size(), 1u);
    EXPECT_TRUE(one.all()[0].body == medium);
  }
  EXPECT_EQ(server_->stats().slow_readers, 0u);
}

TEST_P(UnreadServers, end_a_drain_in_peace_for_a_client_that_reads_late) {
  start();
  Peer& one = ask_without_reading(get("/medium"));
  ASSERT_TRUE(until([&] { return server_->stats().requests == 1; }));
  pass(20_ms);
  server_->begin_drain(20_ms);
  pass(400_ms);

  one.resume();
  ASSERT_TRUE(until([&] { return one.has_ended() && server_->is_drained(); }));

  EXPECT_EQ(one.error(), 0);
  ASSERT_EQ(one.all().size(), 1u);
  EXPECT_TRUE(one.all()[0].body == medium);
  EXPECT_EQ(server_->stats().slow_readers, 0u);
}

TEST_P(UnreadServers, reset_a_client_that_has_not_read_when_a_drain_has_no_more_time) {
  if (server_layers != nullptr) GTEST_SKIP() << "a server of its own";
  const auto runtime = io::Runtime::over({loop_}, [this](FunctionRef<bool()> done, Duration limit) {
    return until([&] { return done(); }, limit / (is_sim() ? 100 : 1));
  });
  ServerOptions options;
  options.address = Address::parse("127.0.0.1:0").value();
  server_ = std::make_unique<Server>(router_, std::move(options));
  ASSERT_TRUE(server_->start(*runtime));
  Peer& sends = ask_without_reading(get("/large"));
  Peer& streams = ask_without_reading("GET /endless HTTP/1.0\r\nHost: a\r\n\r\n");
  Peer& idle = ask_without_reading(get("/medium"));
  ASSERT_TRUE(until([&] { return server_->stats().accepted == 3 && sends.is_sent() && streams.is_sent(); }));
  pass(50_ms);

  EXPECT_FALSE(server_->drain(300_ms)) << "not all had ended";

  EXPECT_EQ(left_in_kernel(), 0);
  for (Peer* const one : {&sends, &streams, &idle}) expect_reset(*one);
  server_.reset();
}

// In virtual time the peer's kernel may get nothing.
TEST(IdleServers, reset_a_client_that_acknowledges_nothing) {
  sim::SimOptions faults;
  faults.long_delay = 1;
  // The packets to the first connection's client: the second one, and with it what comes after it, is late.
  faults.only = std::vector<sim::Fault>{{sim::FaultKind::LongDelay, 2, 1}};
  sim::Simulation simulation(faults);
  io::Loop& loop = simulation.add_loop();
  io::Loop::Entered entered(loop);
  Router router;
  add_routes(router);
  ServerOptions options;
  options.address = Address::parse("10.0.0.1:80").value();
  options.limits.send_rate_min = 0;
  options.limits.send_timeout = 20_ms;
  options.limits.idle_timeout = 20_ms;
  Server server(router, options);
  ASSERT_TRUE(server.start(loop));
  Peer client(loop, server.address());
  client.send(get("/kilobyte"));

  ASSERT_TRUE(simulation.run_until([&] { return client.has_ended(); }, 10_s));

  ASSERT_EQ(simulation.struck().size(), 1u);
  EXPECT_EQ(client.error(), ECONNRESET);
  EXPECT_EQ(server.stats().slow_readers, 1u);
  client.end_close();
  server.begin_drain(Duration());
  EXPECT_TRUE(simulation.run_until([&] { return server.is_drained(); }, 10_s));
}

TEST_P(UnreadServers, say_how_much_the_kernel_holds_for_their_clients) {
  if (is_sim()) GTEST_SKIP() << "there the peer has what was sent";
  start();
  EXPECT_EQ(server_->kernel_send_bytes(), 0u);
  Peer& one = ask_without_reading(get("/medium"));
  Peer& other = ask_without_reading(get("/medium"));
  ASSERT_TRUE(until([&] { return server_->stats().requests == 2; }));
  settle();

  EXPECT_GT(server_->kernel_send_bytes(), medium.size() / 2);
  EXPECT_LT(server_->kernel_send_bytes(), 2 * medium.size() + 1024);

  one.resume();
  other.resume();
  EXPECT_TRUE(has_replies(one, 1) && has_replies(other, 1));
  EXPECT_TRUE(until([&] { return server_->kernel_send_bytes() == 0; }));
}

// The kernel's time limit is the listener's, and so that of the connections that it brings.
TEST_P(UnreadServers, give_the_kernel_a_time_limit_for_their_connections) {
  if (is_sim()) GTEST_SKIP() << "the simulation has no other descriptors of a listener";
  const auto of_listener = [&] {
    const std::vector<int> listeners = server_->duplicate_listeners();
    int timeout_ms = 0;
    socklen_t size = sizeof timeout_ms;
    EXPECT_EQ(::getsockopt(listeners.at(0), IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, &size), 0);
    ::close(listeners[0]);
    return timeout_ms;
  };
  Limits limits;
  start(limits);
  EXPECT_EQ(of_listener(), 60'000);
  limits.user_timeout = 5_s;
  server_->change(limits, true);
  EXPECT_EQ(of_listener(), 5000);
}

TEST_P(UnreadServers, count_a_client_that_the_kernel_has_given_up) {
  if (is_sim()) GTEST_SKIP() << "it is the kernel's";
  Limits limits;
  limits.user_timeout = 300_ms;
  start(limits);
  Peer& one = ask_without_reading(get("/large"));

  await_end_of_all();

  EXPECT_EQ(server_->stats().slow_readers, 1u);
  EXPECT_EQ(server_->stats().timeouts, 1u);
  EXPECT_EQ(left_in_kernel(), 0);
  expect_reset(one);
}

TEST(ServersOfMoreWorkers, say_how_much_their_kernel_holds) {
  auto runtime = io::Runtime::make({.workers = 2});
  ASSERT_TRUE(runtime);
  ASSERT_TRUE((*runtime)->start());
  Router router;
  router.get("/medium", [](Request&) { return Response::text(Status::Ok, medium); });
  metrics::Registry registry;
  ServerOptions options;
  options.address = Address::parse("127.0.0.1:0").value();
  options.metrics = &registry;
  Server server(router, std::move(options));
  ASSERT_TRUE(server.start(**runtime));
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(client, server.address().system(), server.address().system_size()), 0);
  const std::string request = get("/medium");
  ASSERT_EQ(::write(client, request.data(), request.size()), std::ssize(request));

  EXPECT_TRUE((*runtime)->wait_until([&] { return server.kernel_send_bytes() > medium.size() / 4; }, 10_s));
  double shown = 0;
  metrics::Reading reading;
  registry.read(reading, [&](std::span<const metrics::Family> families) {
    for (const metrics::Family& family : families) {
      if (family.name == "http_kernel_send_bytes") shown = family.series.at(0).function_value;
    }
  });
  EXPECT_GT(shown, 0);

  ::close(client);
  EXPECT_TRUE((*runtime)->wait_until([&] { return server.kernel_send_bytes() == 0; }, 10_s));
  server.stop();
  (*runtime)->stop();
}

}  // namespace
}  // namespace keel::http::server_unread_test
