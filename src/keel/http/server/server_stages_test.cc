// Where the time of requests goes, measured by a whole server, on every engine.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "keel/http/server/stages.h"
#include "keel/http/testing/internal/server_fixture.h"

namespace keel::http::server_stages_test {
namespace {

using namespace internal;

Task<Response> validates_and_sleeps(Request& request) {
  {
    const StageTimer timer(stage::validate);
    if (request.body().empty()) co_return refuse(Status::BadRequest, "no body");
  }
  co_await sleep_for(20_ms);  // From the time of the turn, so that less may be measured.
  co_return Response::json(Status::Ok, Point{7});
}
Task<> write_slowly(BodyWriter& out) {
  co_await out.write("first,");
  co_await sleep_for(5_ms);
  co_await out.write("last");
}

class ServerStages : public Servers {
 protected:
  void SetUp() override {
    if constexpr (!metrics::is_recorded) GTEST_SKIP() << "compiled out";
    Servers::SetUp();
    router_.post("/slow-json", &validates_and_sleeps);
    router_.get("/streamed", [](Request&) { return Response::stream(Status::Ok, "text/plain", &write_slowly); });
  }
  void start_measuring(std::uint32_t every, bool server_timing = false) {
    options_.measured_every = every;
    options_.server_timing = server_timing;
    start();
  }
  RouteStages of(std::string_view pattern) {
    for (const RouteStages& route : server_->stage_times()) {
      if (route.pattern == pattern) return route;
    }
    ADD_FAILURE() << "no route " << pattern;
    return {};
  }
};

TEST_P(ServerStages, are_those_of_the_route_that_answered) {
  start_measuring(1);
  ask(get("/plaintext") + get("/plaintext") + post("/slow-json", "{}"));
  ask(get("/nowhere"));

  EXPECT_EQ(of("/plaintext").measured, 2u);
  EXPECT_EQ(of("/plaintext").of[static_cast<int>(stage::validate)], Duration());
  const RouteStages slow = of("/slow-json");
  EXPECT_EQ(slow.measured, 1u);
  EXPECT_EQ(slow.written, 1u);
  EXPECT_GE(slow.mean(stage::handler), 5_ms) << "what it waits for by itself is the handler's";
  EXPECT_LT(slow.mean(stage::serialize), slow.mean(stage::handler));
  EXPECT_EQ(of("").measured, 1u) << "what no route matched";
  EXPECT_EQ(of("/json").measured, 0u);
}

TEST_P(ServerStages, are_measured_of_one_request_in_so_many) {
  start_measuring(4);
  std::string nine;
  for (int i = 0; i < 9; ++i) nine += get("/plaintext");
  EXPECT_EQ(ask(nine).size(), 9u);
  EXPECT_EQ(of("/plaintext").measured, 2u);
}

TEST_P(ServerStages, are_not_measured_when_nobody_wants_them) {
  start_measuring(0);
  EXPECT_EQ(ask(get("/plaintext") + get("/later")).size(), 2u);
  for (const RouteStages& route : server_->stage_times()) EXPECT_EQ(route.measured, 0u);
}

// The body's second half comes when the server waits for it.
TEST_P(ServerStages, know_how_long_a_body_was_waited_for) {
  start_measuring(1);
  const std::string request = post("/echo-later", "0123456789");
  Peer& one = peer();
  one.send(request.substr(0, request.size() - 5));
  ASSERT_TRUE(until([&] { return one.is_sent(); }));
  const Instant began = loop_->precise_now();
  ASSERT_TRUE(until([&] { return loop_->precise_now() >= began + 10_ms; }));
  one.send(request.substr(request.size() - 5));
  ASSERT_TRUE(has_replies(one, 1));

  EXPECT_GE(of("/echo-later").mean(stage::body), 1_ms);
}

TEST_P(ServerStages, end_with_a_streamed_body) {
  start_measuring(1);
  EXPECT_EQ(ask_one(get("/streamed")).body, "first,last");
  EXPECT_EQ(of("/streamed").measured, 1u);
}

TEST_P(ServerStages, follow_one_send_at_a_time_and_let_go_of_a_reset_one) {
  start_measuring(1);
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  one.send(get("/large"));
  ASSERT_TRUE(until([&] { return of("/large").measured == 1; }));
  ask(get("/plaintext"));
  EXPECT_EQ(of("/plaintext").written, 0u) << "the other is followed";
  reset(one);
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
  ask(get("/plaintext"));

  EXPECT_EQ(of("/large").written, 0u);
  EXPECT_EQ(of("/plaintext").written, 1u);
}

TEST_P(ServerStages, are_told_to_the_client_that_may_know) {
  start_measuring(16, true);
  const auto list = ask(post("/slow-json", "{}") + get("/plaintext") + get("/plaintext"));
  ASSERT_EQ(list.size(), 3u);
  const std::string timing = list[0].field("Server-Timing");
  const auto at = timing.find("handler;dur=");
  ASSERT_NE(at, std::string::npos) << timing;
  EXPECT_GE(std::stod(timing.substr(at + 12)), 5.0) << timing;
  EXPECT_EQ(of("/plaintext").measured, 2u) << "every request, whatever `measured_every` is";

  ASSERT_EQ(ask_one(get("/missing")).status, 404);
}

TEST_P(ServerStages, are_told_to_nobody_else) {
  start_measuring(1);
  EXPECT_EQ(ask_one(post("/slow-json", "{}")).field("Server-Timing"), "");
}

INSTANTIATE_TEST_SUITE_P(, ServerStages, io::testing::every_engine(), io::testing::name_of_engine);

}  // namespace
}  // namespace keel::http::server_stages_test
