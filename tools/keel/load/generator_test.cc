// The load of one thread against servers on the same loop, over real sockets (io_uring, epoll) and simulated ones.

#include "load/generator.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/http/server/server.h"
#include "keel/io/testing/loop_test.h"
#include "keel/net/listener.h"
#include "keel/net/testing/test_layer.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::load::load_generator_test {
namespace {

using io::testing::every_engine;
using io::testing::name_of_engine;

http::Response hello(http::Request&) { return http::Response::text(http::Status::Ok, "Hello, World!"); }
http::Response gone(http::Request&) { return http::Response::text(http::Status::NotFound, "gone"); }
http::Response created(http::Request& request) {
  return http::Response::text(http::Status::Created, std::string(request.path()));
}

// A server that does not answer while it stalls: once, for this time.
struct Stall {
  Instant from;
  Instant to;
};
Stall stall;
Task<http::Response> stalling(http::Request&) {
  const Instant now = Host::current().now();
  if (now >= stall.from && now < stall.to) co_await sleep_for(stall.to - now);
  co_return http::Response::text(http::Status::Ok, "Hello, World!");
}

class GeneratorTest : public io::testing::LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    plan_.connections = {8, 8};
    plan_.warmup = Duration();
    plan_.duration = 200_ms;
    plan_.timeout = 10_s;
  }

  Mix mix(const std::vector<RequestText>& texts) {
    auto compiled = Mix::compile(texts, "test", nullptr);
    EXPECT_TRUE(compiled) << compiled.error().describe();
    return *std::move(compiled);
  }

  // Against an http::Server with the routes above.
  Counts load(const Mix& requests) {
    http::Router router;
    router.get("/hello", hello).get("/gone", gone).post("/created/{n}", created).get("/stalling", &stalling);
    http::Server server(router, server_options());
    EXPECT_TRUE(server.start(loop()));
    plan_.address = server.address();
    Counts counts = generate(requests);
    server.begin_drain(Duration());
    EXPECT_TRUE(until([&] { return server.is_drained(); }));
    stats_ = server.stats();
    return counts;
  }
  http::ServerOptions server_options() const {
    http::ServerOptions options;
    options.address = any_port();
    options.limits = limits_;
    options.access_log = false;
    return options;
  }
  static Address any_port() { return *Address::parse("127.0.0.1:0"); }

  Counts generate(const Mix& requests) {
    if (!is_timed()) plan_.duration = 1_h;
    Generator generator(loop(), requests, plan_, 0, now());
    EXPECT_TRUE(until([&] { return generator.is_finished() || (!is_timed() && has_enough(generator)); }));
    generator.stop();
    EXPECT_TRUE(until([&] { return generator.is_finished(); }));
    EXPECT_EQ(generator.progress().open.get(), 0u);
    Counts counts;
    counts.add(generator.counts());
    return counts;
  }

  // Against one that does the same to each connection.
  using Talk = Task<> (*)(Stream peer);
  Counts load_against(Talk talk, const Mix& requests) {
    Counts counts;
    EXPECT_TRUE(run(serve_and_load(talk, requests, counts)));
    return counts;
  }
  Task<> serve_and_load(Talk talk, const Mix& requests, Counts& counts) {
    Listener listener = *Listener::bind(any_port());
    plan_.address = listener.address();
    if (!is_timed()) plan_.duration = 1_h;
    Generator generator(loop(), requests, plan_, 0, now());
    Scope server;
    server.spawn(accept_all(listener, talk), OnError::Ignore);
    while (!generator.is_finished()) {
      co_await sleep_for(2_ms);
      if (!is_timed() && has_enough(generator)) generator.stop();
    }
    counts.add(generator.counts());
    server.stop();
    const auto joined = co_await attempt(server.join());
  }
  static Task<> accept_all(Listener& listener, Talk talk) {
    Scope connections;
    while (true) {
      Stream peer = co_await listener.accept();
      connections.spawn(talk(std::move(peer)), OnError::Ignore);
    }
  }

  // A closed loop in real time continues until it has something to show, however busy the machine is.
  bool is_timed() const { return is_sim() || plan_.open || plan_.connections.from != plan_.connections.to; }
  static bool has_enough(Generator& generator) {
    return generator.progress().responses.get() >= 200 || generator.progress().errors.get() >= 16;
  }
  static std::uint64_t failures(const Counts& counts, Failure failure) {
    return counts.failures[static_cast<std::size_t>(failure)];
  }
  // Nothing is lost: a request has a response, or is an error.
  static void expect_all_accounted_for(const Counts& counts) {
    EXPECT_EQ(counts.due, counts.responses + counts.waiting);
    EXPECT_EQ(counts.latency.count(), counts.due);
  }

  http::Limits limits_;
  http::Server::Stats stats_;
  Plan plan_;
};

// --- Answers.

TEST_P(GeneratorTest, a_closed_loop_counts_every_answer) {
  if (is_sim()) plan_.warmup = 50_ms;

  const Counts counts = load(mix({{.target = "/hello", .check = {.status = 200, .body = "Hello, World!"}}}));

  EXPECT_GT(counts.responses, is_sim() ? 100u : 0u);
  EXPECT_EQ(counts.by_class[2], counts.responses);
  EXPECT_EQ(counts.errors(), 0u);
  EXPECT_EQ(counts.connections, 8u);
  EXPECT_LE(counts.responses, stats_.requests);
  if (is_sim()) {
    EXPECT_LT(counts.responses, stats_.requests);       // Responses of the warm-up are not counted.
    EXPECT_EQ(counts.by_status[200], stats_.requests);  // Here they are counted.
  }
  expect_all_accounted_for(counts);
}

TEST_P(GeneratorTest, an_open_loop_sends_what_is_due_and_no_more) {
  plan_.open = Schedule::Options{.rate = {.from = 500, .to = 500}};
  plan_.duration = 400_ms;

  const Counts counts = load(mix({{.target = "/hello"}}));

  EXPECT_EQ(counts.due, 200u);
  EXPECT_EQ(counts.responses, 200u);
  EXPECT_EQ(stats_.requests, 200u);
  EXPECT_EQ(counts.errors(), 0u);
  EXPECT_EQ(counts.service.count(), 200u);
  expect_all_accounted_for(counts);
}

TEST_P(GeneratorTest, wrong_statuses_and_bodies_are_counted_apart) {
  const Counts wrong_status = load(mix({{.target = "/gone"}}));
  EXPECT_GT(wrong_status.responses, 0u);
  EXPECT_EQ(failures(wrong_status, Failure::Status), wrong_status.responses);
  EXPECT_EQ(wrong_status.other_status.count(), wrong_status.responses);
  EXPECT_EQ(wrong_status.by_class[4], wrong_status.responses);
  EXPECT_EQ(wrong_status.errors(), wrong_status.responses);

  const Counts wrong_body = load(mix({{.target = "/hello", .check = {.body = "Hello, world!"}}}));
  EXPECT_GT(wrong_body.responses, 0u);
  EXPECT_EQ(failures(wrong_body, Failure::Body), wrong_body.responses);
  EXPECT_EQ(wrong_body.errors(), wrong_body.responses);
}

TEST_P(GeneratorTest, every_request_of_a_template_is_another_one) {
  plan_.open = Schedule::Options{.rate = {.from = 1000, .to = 1000}};
  const Counts counts = load(mix({{.method = "POST",
                                   .target = "/created/{n}",
                                   .body = "{\"id\": {n}}",
                                   .check = {.status = 201, .contains = {"/created/"}}}}));

  EXPECT_EQ(counts.responses, 200u);
  EXPECT_EQ(counts.errors(), 0u);
}

TEST_P(GeneratorTest, pipelined_requests_are_all_answered) {
  plan_.depth = 16;

  const Counts counts = load(mix({{.target = "/hello", .check = {.body = "Hello, World!"}}, {.target = "/hello?{n}"}}));

  EXPECT_GT(counts.responses, is_sim() ? 100u : 0u);
  EXPECT_EQ(counts.errors(), 0u);
  expect_all_accounted_for(counts);
}

TEST_P(GeneratorTest, a_connection_makes_place_for_another_after_so_many_requests) {
  for (const int depth : {1, 3}) {
    plan_.depth = depth;
    plan_.requests_per_connection_max = 5;

    const Counts counts = load(mix({{.target = "/hello"}}));

    EXPECT_EQ(counts.errors(), 0u);
    EXPECT_GE(counts.connections, stats_.requests / 5);
    EXPECT_LE(counts.connections, stats_.requests / 5 + 8);
    EXPECT_GE(stats_.accepted, counts.connections);
    expect_all_accounted_for(counts);
  }
}

// What it has been sent behind its last answer is sent again on the next connection.
TEST_P(GeneratorTest, a_server_that_announces_the_end_of_a_connection_loses_no_request) {
  limits_.requests_per_connection_max = 7;
  for (const int depth : {1, 4}) {
    plan_.depth = depth;

    const Counts counts = load(mix({{.target = "/hello"}}));

    EXPECT_GT(counts.connections, 8u);
    EXPECT_EQ(counts.errors(), 0u);
    expect_all_accounted_for(counts);
  }
}

TEST_P(GeneratorTest, connections_are_opened_along_the_ramp) {
  plan_.connections = {2, 12, 200_ms};
  plan_.duration = 400_ms;

  const Counts counts = load(mix({{.target = "/hello"}}));

  EXPECT_LE(counts.connections, 12u);
  if (is_sim()) {
    EXPECT_EQ(counts.connections, 12u);
  }
  EXPECT_EQ(counts.errors(), 0u);
}

TEST_P(GeneratorTest, stop_ends_the_run_and_keeps_what_was_measured) {
  http::Router router;
  router.get("/hello", hello);
  http::Server server(router, server_options());
  ASSERT_TRUE(server.start(loop()));
  plan_.address = server.address();
  plan_.duration = 1_h;
  const Mix requests = mix({{.target = "/hello"}});
  Generator generator(loop(), requests, plan_, 0, now());
  EXPECT_TRUE(until([&] { return generator.progress().responses.get() > 50; }));

  generator.stop();

  EXPECT_TRUE(until([&] { return generator.is_finished(); }));
  EXPECT_GT(generator.counts().responses, 30u);
  EXPECT_EQ(generator.counts().errors(), 0u);
  EXPECT_LT(generator.measured(), 1_min);
  expect_all_accounted_for(generator.counts());
  server.begin_drain(Duration());
  EXPECT_TRUE(until([&] { return server.is_drained(); }));
}

// Nothing but a timer ends it: no connection is open, and none is being opened.
TEST_P(GeneratorTest, a_run_without_a_server_ends_when_its_time_is_over) {
  if (is_sim()) GTEST_SKIP() << "the simulation turns its loops itself";
  plan_.address = *Address::parse("127.0.0.1:1");
  plan_.duration = 50_ms;
  const Mix requests = mix({{.target = "/hello"}});
  const Instant begins = now();
  Generator generator(loop(), requests, plan_, 0, begins);

  while (!generator.is_finished()) {
    loop().turn(std::min(generator.next_due(), begins + 10_s));
    generator.send_due();
  }

  EXPECT_LT(now() - begins, 5_s);
  EXPECT_GE(generator.counts().failures[static_cast<std::size_t>(Failure::Connect)], 8u);
}

// --- Servers that do it wrong. Each is counted for what it is, and nothing hangs.

// Ends with an error when the peer has finished.
Task<> take_request(Stream& peer) {
  const Chunk head = co_await peer.read_until("\r\n\r\n", 4096);
  if (head.empty()) co_await fail(Code::Unavailable, "the peer has finished");
}
Task<> reads_and_closes(Stream peer) { co_await take_request(peer); }
Task<> resets(Stream peer) {
  co_await take_request(peer);
  const auto set = peer.set_options({.reset_on_close = true});
}
Task<> answers_half(Stream peer) {
  co_await take_request(peer);
  co_await peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
}
Task<> answers_nonsense(Stream peer) {
  co_await take_request(peer);
  co_await peer.write("what?\r\n");
  co_await take_request(peer);
}
Task<> answers_twice(Stream peer) {
  constexpr std::string_view two =
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  while (true) {
    co_await take_request(peer);
    co_await peer.write(two);
  }
}
Task<> is_silent(Stream peer) {
  while (true) co_await take_request(peer);
}
Task<> answers_until_the_end(Stream peer) {
  co_await take_request(peer);
  co_await peer.write("HTTP/1.1 200 OK\r\n\r\nall of it");
}
Task<> answers_in_chunks(Stream peer) {
  while (true) {
    co_await take_request(peer);
    co_await peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nall ");
    co_await peer.write("\r\n5\r\nof it\r\n0\r\n\r\n");
  }
}

TEST_P(GeneratorTest, each_way_to_fail_has_its_count) {
  struct Way {
    Talk talk;
    Failure failure;
  };
  const Way ways[] = {{&reads_and_closes, Failure::Closed}, {&resets, Failure::Reset},
                      {&answers_half, Failure::Short},      {&answers_nonsense, Failure::Protocol},
                      {&is_silent, Failure::Timeout},       {&answers_twice, Failure::Protocol}};
  const Mix requests = mix({{.target = "/hello"}});
  for (const Way& way : ways) {
    plan_.timeout = way.failure == Failure::Timeout ? 60_ms : 10_s;
    const Counts counts = load_against(way.talk, requests);

    EXPECT_GT(failures(counts, way.failure), 0u) << to_string(way.failure);
    if (way.talk != &answers_twice) {
      EXPECT_EQ(counts.responses, 0u) << to_string(way.failure);
      EXPECT_EQ(counts.waiting, counts.due) << to_string(way.failure);
    }
  }
}

TEST_P(GeneratorTest, bodies_without_a_length_are_read_to_their_end) {
  const Mix requests = mix({{.target = "/", .check = {.body = "all of it"}}});
  for (const Talk talk : {&answers_until_the_end, &answers_in_chunks}) {
    const Counts counts = load_against(talk, requests);

    EXPECT_GT(counts.responses, 0u);
    for (std::size_t i = 0; i < failure_count; ++i) {
      EXPECT_EQ(counts.failures[i], 0u) << to_string(static_cast<Failure>(i));
    }
    expect_all_accounted_for(counts);
  }
}

TEST_P(GeneratorTest, without_a_server_it_tries_again_and_ends_in_time) {
  {
    const Listener listener = *Listener::bind(any_port());
    plan_.address = listener.address();
  }
  settle();
  plan_.duration = 1_s;
  plan_.timeout = 100_ms;
  plan_.open = Schedule::Options{.rate = {.from = 100, .to = 100}};

  const Counts counts = generate(mix({{.target = "/"}}));

  EXPECT_GE(failures(counts, Failure::Connect), is_sim() ? 16u : 8u);  // 8 connections, tried again.
  EXPECT_EQ(failures(counts, Failure::Unanswered), 100u);
  EXPECT_EQ(counts.responses, 0u);
  EXPECT_GE(counts.latency.max(), 1_s);
  expect_all_accounted_for(counts);
}

// --- Coordinated omission: a stall of 100 ms, once.

class StallTest : public GeneratorTest {
 protected:
  void SetUp() override {
    GeneratorTest::SetUp();
    if (loop_ == nullptr) return;
    plan_.duration = 3_s;
    stall = {now() + 1_s, now() + 1100_ms};
  }
};

// Each connection waits for one answer, and nobody asks meanwhile: 8 of thousands.
TEST_P(StallTest, a_closed_loop_hides_it) {
  const Counts counts = load(mix({{.target = "/stalling"}}));

  EXPECT_GT(counts.responses, 10'000u);
  EXPECT_EQ(counts.latency.above(50_ms), 8u);
  EXPECT_LT(counts.latency.percentile(99.9), 10_ms);
}

// A request that was due in its first 50 ms waited for more than 50 ms.
TEST_P(StallTest, an_open_loop_shows_it) {
  plan_.open = Schedule::Options{.rate = {.from = 2000, .to = 2000}};
  plan_.connections = {256, 256};

  const Counts counts = load(mix({{.target = "/stalling"}}));

  EXPECT_EQ(counts.responses, 6000u);
  EXPECT_NEAR(static_cast<double>(counts.latency.above(50_ms)), 100, 6);
  EXPECT_GT(counts.latency.percentile(99), 50_ms);
  EXPECT_GT(counts.latency.max(), 95_ms);
}

// With too few connections those that are due wait for one, and that counts. The same run, as a closed loop would have
// told it, has the 8 that were under way.
TEST_P(StallTest, an_open_loop_shows_it_though_connections_are_few) {
  plan_.open = Schedule::Options{.rate = {.from = 2000, .to = 2000}};

  const Counts counts = load(mix({{.target = "/stalling"}}));

  EXPECT_EQ(counts.responses, 6000u);
  EXPECT_GE(counts.latency.above(50_ms), 100u);
  EXPECT_GT(counts.latency.percentile(99), 50_ms);
  EXPECT_EQ(counts.service.above(50_ms), 8u);
  EXPECT_LT(counts.service.percentile(99.8), 10_ms);
}

// --- Under a layer, as https is.

class LayeredGenerator : public GeneratorTest {
 protected:
  void TearDown() override {
    GeneratorTest::TearDown();
    EXPECT_EQ(TestLayer::alive, 0);
  }
};

Task<> answer_under_a_layer(Stream accepted) {
  TestLayers layers("server");
  Stream peer(*layers.make(accepted.detach(), ""));
  while (true) {
    const Chunk head = co_await peer.read_until("\r\n\r\n", 4096);
    if (head.empty()) co_return;
    co_await peer.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello");
  }
}

TEST_P(LayeredGenerator, speaks_through_the_layers_of_its_plan) {
  TestLayers layers("generator");
  plan_.layers = &layers;

  const Counts counts =
      load_against(answer_under_a_layer, mix({{.target = "/", .check = {.status = 200, .body = "Hello"}}}));

  EXPECT_GT(counts.responses, 0u);
  EXPECT_EQ(counts.by_class[2], counts.responses);
  EXPECT_EQ(counts.errors(), 0u);
  expect_all_accounted_for(counts);
}

TEST_P(LayeredGenerator, counts_a_failed_handshake_as_an_error) {
  TestLayers layers("generator", false);
  plan_.layers = &layers;

  const Counts counts = load_against(answer_under_a_layer, mix({{.target = "/"}}));

  EXPECT_EQ(counts.responses, 0u);
  EXPECT_GT(counts.errors(), 0u);
  EXPECT_FALSE(counts.reason.empty());
  expect_all_accounted_for(counts);
}

INSTANTIATE_TEST_SUITE_P(, LayeredGenerator,
                         ::testing::Values(io::testing::Which::UringLayered, io::testing::Which::EpollLayered,
                                           io::testing::Which::SimLayered),
                         name_of_engine);
INSTANTIATE_TEST_SUITE_P(, GeneratorTest, every_engine(), name_of_engine);
// In virtual time the numbers are exact, however busy the machine is.
INSTANTIATE_TEST_SUITE_P(, StallTest, ::testing::Values(io::testing::Which::Sim), name_of_engine);

}  // namespace
}  // namespace keel::load::load_generator_test
