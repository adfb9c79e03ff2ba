// Bodies behind middleware: what decides first, and what is received before it has.

#include "keel/http/server/internal/body_collector.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "keel/http/testing/internal/server_fixture.h"

namespace keel::http::body_collector_test {
namespace {

using namespace internal;

int asked = 0;
int seen_after = 0;
bool verified = true;  // What a verifier that waits is waiting for.
std::string seen;

bool is_allowed(const Request& request) { return request.header("X-Key").has_value(); }

struct Guard {
  std::optional<Response> before(Request& request) {
    ++asked;
    request.set(asked);
    if (is_allowed(request)) return std::nullopt;
    return refuse(Status::Unauthorized, "this needs a key");
  }
  void after(Request&, Response&) { ++seen_after; }
};
struct Peeks {
  std::optional<Response> before(Request& request) {
    seen = request.body();
    return std::nullopt;
  }
};

Task<Response> guards_later(Request& request, Next next) {
  ++asked;
  while (!verified) co_await sleep_for(1_ms);
  if (!is_allowed(request)) co_return refuse(Status::Unauthorized, "this needs a key");
  co_return co_await next(request);
}
// Wants the body to decide.
Task<Response> guards_by_body(Request& request, Next next) {
  ++asked;
  const std::string_view body = co_await request.whole_body();
  if (!body.starts_with("signed")) co_return refuse(Status::Unauthorized, "this needs a signature");
  EXPECT_EQ(co_await request.whole_body(), body);
  co_return co_await next(request);
}
Task<Response> peeks_later(Request& request, Next next) {
  seen = request.body();
  co_return co_await next(request);
}
Task<Response> reads_a_piece(Request& request, Next next) {
  seen = co_await request.read_body();
  co_return co_await next(request);
}

Response kept(Request& request) {
  ++handlers_begun;
  return Response::text(Status::Ok,
                        std::string(request.body()) + '|' + std::string(request.trailer("X-Sum").value_or("")));
}
Task<Response> kept_later(Request& request) {
  ++handlers_begun;
  co_await sleep_for(1_ms);
  const Chunk chunk = co_await request.read_body();
  EXPECT_EQ(chunk, request.body());
  co_return Response::text(Status::Ok, std::string(chunk) + '|' + std::string(request.trailer("X-Sum").value_or("")));
}
Task<Response> sleeps(Request& request) {
  ++handlers_begun;
  co_await sleep_for(80_ms);
  co_return Response::text(Status::Ok, request.body());
}

class BodyCollecting : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    asked = seen_after = 0;
    verified = true;
    seen = "nothing";
    const RouteOptions wide{.body_bytes_max = 64u << 20};
    for (const std::string path : {"/now", "/later", "/both"}) {
      Group group = router_.group(path);
      if (path != "/later") group.use(Guard());
      if (path != "/now") group.use(guards_later);
      group.post("/at-once", kept, wide).post("/task", &kept_later, wide).post("/sleeps", &sleeps);
    }
    router_.group("/signed").use(guards_by_body).post("/at-once", kept).post("/task", &kept_later);
    router_.group("/peeks").use(Peeks()).post("/now", kept);
    router_.group("/peeks-later").use(peeks_later).post("/now", kept);
    router_.group("/reads").use(reads_a_piece).post("/now", kept);
  }
  static std::vector<std::string> guarded() {
    return {"/now/at-once", "/now/task", "/later/at-once", "/later/task", "/both/at-once", "/both/task"};
  }
  static std::string head(const std::string& path, std::size_t length, const std::string& fields = "") {
    return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) + "\r\n" + fields +
           "\r\n";
  }
  static inline const std::string key = "X-Key: 1\r\n";
};

INSTANTIATE_TEST_SUITE_P(, BodyCollecting, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(BodyCollecting, rejects_before_the_body_has_come) {
  start();
  for (const std::string& path : guarded()) {
    Peer& one = peer();
    one.send(head(path, 5));
    ASSERT_TRUE(has_replies(one, 1)) << path;
    EXPECT_EQ(one.all()[0].status, 401);
    // The rest of a body that is small is thrown away, and what follows is no request of its bytes.
    EXPECT_FALSE(one.all()[0].closes());
    one.send("GET /" + get("/n/7"));
    ASSERT_TRUE(has_replies(one, 2)) << path;
    EXPECT_EQ(one.all()[1].body, "n=7") << path;
    close(one);
  }
  EXPECT_EQ(handlers_begun, 0);
  EXPECT_EQ(seen_after, 0) << "after() is for requests that before() let pass";
}

TEST_P(BodyCollecting, never_asks_for_a_body_that_is_rejected) {
  start();
  for (const std::string& path : guarded()) {
    const std::string text = exchange(head(path, 5, "Expect: 100-continue\r\n"));
    EXPECT_EQ(text.find("100 Continue"), std::string::npos) << text;
    ASSERT_EQ(replies(text).size(), 1u) << text;
    EXPECT_EQ(replies(text)[0].status, 401);
    EXPECT_TRUE(replies(text)[0].closes()) << "whether its body follows cannot be told";
  }
}

TEST_P(BodyCollecting, asks_for_a_body_that_is_let_pass_once_middleware_has_decided) {
  start();
  for (const std::string& path : guarded()) {
    const bool waits = path[1] != 'n';
    verified = !waits;
    Peer& one = peer();
    one.send(head(path, 5, key + "Expect: 100-continue\r\n"));
    if (waits) {
      pass(5_ms);
      EXPECT_EQ(one.wire(), "") << path;
    }
    verified = true;
    ASSERT_TRUE(until([&] { return one.wire() == "HTTP/1.1 100 Continue\r\n\r\n"; })) << path << one.wire();
    one.send("hello" + get("/n/1"));
    ASSERT_TRUE(has_replies(one, 2)) << path;
    EXPECT_EQ(one.all()[0].body, "hello|");
    EXPECT_EQ(one.all()[1].body, "n=1");
    close(one);
  }
}

TEST_P(BodyCollecting, receives_nothing_of_a_body_while_middleware_waits) {
  start({}, {.receive_buffer_bytes = 64 * 1024});
  verified = false;
  Peer& one = peer();
  const std::string body = io::testing::pattern(16 << 20);
  one.send(head("/later/at-once", body.size(), key) + body);
  ASSERT_TRUE(until([&] { return asked == 1; }));
  pass(20_ms);
  EXPECT_FALSE(one.is_sent());
  EXPECT_EQ(server_->stats().body_bytes, 0u);

  verified = true;
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].body, body + "|");
  EXPECT_EQ(server_->stats().body_bytes, 0u);
}

TEST_P(BodyCollecting, ends_the_connection_of_a_rejected_body_that_is_large) {
  start();
  Peer& one = peer();
  one.send(head("/now/at-once", 10 << 20) + std::string(1 << 20, 'G'));
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].status, 401);
  EXPECT_TRUE(one.all()[0].closes());
  pass(5_ms);
  EXPECT_EQ(one.all().size(), 1u) << "nothing of a body is read as a request";
}

TEST_P(BodyCollecting, gives_the_same_however_a_body_is_cut) {
  start();
  const std::string next = get("/n/7");
  for (const std::string& path : guarded()) {
    const std::string plain = head(path, 18, key) + "hello, middleware!";
    std::string chunked = post_chunked(path, "hello, middleware!", 5, "", "X-Sum: 9\r\n");
    chunked.insert(chunked.find("\r\n") + 2, key);
    for (const std::string& wire : {plain, chunked}) {
      const std::string expected = wire == plain ? "hello, middleware!|" : "hello, middleware!|9";
      for (std::size_t cut = wire.find("\r\n\r\n"); cut <= wire.size() + 1; ++cut) {
        Peer& one = peer();
        one.send((wire + next).substr(0, cut));
        settle();
        one.send((wire + next).substr(cut));
        ASSERT_TRUE(has_replies(one, 2)) << wire << cut;
        EXPECT_EQ(one.all()[0].status, 200) << wire << cut;
        EXPECT_EQ(one.all()[0].body, expected) << wire << cut;
        EXPECT_EQ(one.all()[1].body, "n=7") << wire << cut;
        close(one);
      }
    }
  }
}

TEST_P(BodyCollecting, lets_middleware_wait_for_the_whole_body) {
  start();
  for (const std::string path : {"/signed/at-once", "/signed/task"}) {
    for (const std::string body : {"signed text", "forged text"}) {
      for (std::size_t cut = 0; cut <= body.size(); ++cut) {
        Peer& one = peer();
        one.send(head(path, body.size()) + body.substr(0, cut));
        settle();
        one.send(body.substr(cut) + get("/n/7"));
        ASSERT_TRUE(has_replies(one, 2)) << path << cut;
        EXPECT_EQ(one.all()[0].status, body.starts_with("signed") ? 200 : 401);
        EXPECT_EQ(one.all()[1].body, "n=7");
        close(one);
      }
    }
  }
}

TEST_P(BodyCollecting, says_that_a_body_is_read_too_early_whether_it_has_come_or_not) {
  start();
  for (const std::string path : {"/peeks/now", "/peeks-later/now", "/reads/now"}) {
    for (const std::size_t cut : {0u, 5u}) {
      Peer& one = peer();
      one.send(head(path, 5) + std::string("hello").substr(0, cut));
      ASSERT_TRUE(has_replies(one, 1)) << path;
      EXPECT_EQ(one.all()[0].status, 500) << path << cut;
      close(one);
    }
  }
  EXPECT_EQ(server_->stats().bugs, 6u);
  EXPECT_EQ(seen, "nothing");
}

TEST_P(BodyCollecting, holds_what_is_put_together_to_the_limits_of_bodies) {
  Limits limits;
  limits.body_bytes_max = 1000;
  limits.bodies_bytes_max = 100'000;
  start(limits);
  const std::string large_chunked = [] {
    std::string wire = post_chunked("/now/sleeps", std::string(5000, 'x'), 100);
    return wire.insert(wire.find("\r\n") + 2, key);
  }();
  EXPECT_EQ(ask_one(large_chunked).status, 413);
  EXPECT_EQ(ask_one(head("/now/sleeps", 5000, key)).status, 413);

  // A route of its own limit is held to that of all bodies.
  const std::string chunked = [] {
    std::string wire = post_chunked("/later/task", std::string(1 << 20, 'x'), 10'000);
    return wire.insert(wire.find("\r\n") + 2, key);
  }();
  Peer& one = peer();
  one.send(chunked);
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].status, 503);
  EXPECT_TRUE(one.all()[0].closes());
  EXPECT_EQ(server_->stats().bodies_refused, 1u);
  EXPECT_EQ(server_->stats().body_bytes, 0u);
}

TEST_P(BodyCollecting, gives_a_body_its_time_and_the_handler_its_own) {
  Limits limits;
  limits.request_timeout = 150_ms;
  limits.body_timeout = 100_ms;
  start(limits);
  for (const std::string path : {"/now/sleeps", "/later/sleeps"}) {
    // Together more than the handler's time.
    Peer& good = peer();
    good.send(head(path, 5, key));
    pass(80_ms);
    good.send("hello");
    ASSERT_TRUE(has_replies(good, 1));
    EXPECT_EQ(good.all()[0].body, "hello") << path;

    // All of the body has to come in its time, not each piece of it.
    Peer& slow = peer();
    slow.send(head(path, 500, key));
    for (int i = 0; i < 20 && slow.all().empty(); ++i) {
      slow.send("x");
      pass(20_ms);
    }
    ASSERT_TRUE(has_replies(slow, 1));
    EXPECT_EQ(slow.all()[0].status, 408) << path;
    EXPECT_TRUE(slow.all()[0].closes());
  }
}

TEST_P(BodyCollecting, is_cut_in_its_body_when_the_client_goes) {
  start();
  Peer& one = peer();
  one.send(head("/later/task", 5, key) + "he");
  ASSERT_TRUE(until([&] { return asked == 1; }));
  one.finish_writing();
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(one.wire(), "");
  EXPECT_EQ(server_->stats().cut, 1u);
  EXPECT_EQ(handlers_begun, 0);
}

}  // namespace
}  // namespace keel::http::body_collector_test
