// Connections that continue with another protocol, on every engine.

#include "keel/http/server/upgrade.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "keel/http/testing/internal/server_fixture.h"
#include "keel/net/stream.h"

namespace keel::http::upgrade_test {
namespace {

using namespace internal;
using io::testing::pattern;

int talks_running = 0;
int talks_ended = 0;
Code error_seen = Code::Internal;

struct Running {
  Running() { ++talks_running; }
  ~Running() {
    --talks_running;
    ++talks_ended;
  }
};

Task<> echo_bytes(Stream stream) {
  const Running running;
  while (true) {
    Result<Chunk> chunk = co_await attempt(stream.receive());
    if (!chunk) {
      error_seen = chunk.error().code();
      co_await std::move(chunk).error();
    }
    if (chunk->empty()) break;
    co_await stream.write(*chunk);
  }
  co_await stream.write("over");
}
Task<> say_bye(Stream stream) { co_await stream.write("bye"); }
Task<> end_at_once(Stream) { co_return; }
Task<> throws_in_talk(Stream stream) {
  co_await stream.write("before ");
  throw std::runtime_error("secret of the handler");
}
Task<> throws_before_talk(Stream) { throw std::runtime_error("secret of the handler"); }

Response to_echo() { return Response::upgrade("echo", &echo_bytes).header("X-Added", "by the handler"); }
Response upgrade_now(Request&) { return to_echo(); }
Task<Response> upgrade_later(Request&) {
  co_await sleep_for(3_ms);
  co_return to_echo();
}
Task<Response> upgrade_after_reading(Request& request) {
  while (true) {
    const Chunk chunk = co_await request.read_body();
    if (chunk.empty()) break;
  }
  co_return to_echo();
}
Task<Response> upgrade_unread(Request&) { co_return to_echo(); }
Response upgrade_if_asked(Request& request) {
  if (!offers_upgrade(request.head(), "echo")) return Response::text(Status::Ok, "as ever");
  return to_echo();
}

struct Marks {
  void after(Request&, Response& response) { response.header("X-Status", std::to_string(number(response.status()))); }
};

class Upgrades : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    if (loop_ == nullptr) return;
    talks_running = 0;
    talks_ended = 0;
    error_seen = Code::Internal;
    router_.get("/talk", upgrade_now).get("/talk-later", &upgrade_later).get("/maybe", upgrade_if_asked);
    router_.post("/talk", upgrade_now);
    router_.post("/read", &upgrade_after_reading, {.streams_body = true});
    router_.post("/unread", &upgrade_unread, {.streams_body = true});
    router_.get("/bye", [](Request&) { return Response::upgrade("echo", &say_bye); });
    router_.get("/end", [](Request&) { return Response::upgrade("echo", &end_at_once); });
    router_.get("/throw-in-talk", [](Request&) { return Response::upgrade("echo", &throws_in_talk); });
    router_.get("/throw-before-talk", [](Request&) { return Response::upgrade("echo", &throws_before_talk); });
  }
  // Begins with the head of a 101.
  static bool has_switched(const Peer& peer) {
    return peer.wire().starts_with("HTTP/1.1 101 Switching Protocols\r\n") &&
           peer.wire().find("\r\n\r\n") != std::string::npos;
  }
  // What comes behind the head.
  static std::string behind(const Peer& peer) {
    const auto at = peer.wire().find("\r\n\r\n");
    return at == std::string::npos ? std::string() : peer.wire().substr(at + 4);
  }
  static std::string ask_for_echo(std::string_view target, std::string_view fields = "") {
    return get(target, "Connection: Upgrade\r\nUpgrade: echo\r\n" + std::string(fields));
  }
  // Sends `wire`, waits for `answer` behind the 101, and ends from this side.
  void expect_echo(const std::string& wire, const std::string& answer) {
    Peer& one = peer();
    one.send(wire);
    ASSERT_TRUE(until([&] { return has_switched(one) && behind(one).size() >= answer.size(); })) << one.wire();
    EXPECT_TRUE(behind(one) == answer);
    one.send("!");
    ASSERT_TRUE(until([&] { return behind(one).size() == answer.size() + 1; }));
    one.finish_writing();
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    EXPECT_TRUE(behind(one) == answer + "!over");
    EXPECT_EQ(one.error(), 0);
    close(one);
  }
};
INSTANTIATE_TEST_SUITE_P(, Upgrades, io::testing::every_engine(), io::testing::name_of_engine);

// RFC 6455 §10.2: browsers send cookies with a WebSocket that a page of any site opens.
TEST_P(Upgrades, are_not_given_to_pages_of_other_sites) {
  if (server_layers != nullptr) GTEST_SKIP() << "of another scheme";
  options_.upgrade_origins = {"https://app.example.com", "https://dev.example.com:8443"};
  router_.get("/public", [](Request&) { return to_echo().any_origin(); });
  start();
  const struct {
    const char* host;
    const char* origin;
    bool is_allowed;
  } cases[] = {
      {"a.example", "https://a.example", true},
      {"A.example", "http://a.EXAMPLE", true},
      {"a.example:8443", "https://a.example:8443", true},
      {"a.example:443", "https://a.example", true},
      {"a.example", "https://a.example:443", true},
      {"[::1]:80", "http://[::1]", true},
      {"a.example", "https://app.example.com", true},
      {"a.example", "https://dev.example.com:8443", true},
      {"a.example", "https://evil.example", false},
      {"a.example", "https://a.example.evil.example", false},
      {"a.example", "https://a.example:8443", false},
      {"a.example:80", "https://a.example", false},
      {"a.example", "https://dev.example.com", false},
      {"a.example", "https://app.example.com.evil.example", false},
      {"a.example", "null", false},
      {"a.example", "a.example", false},
      {"a.example", "app://a.example", false},
      {"a.example", "", false},
  };
  for (const auto& each : cases) {
    const std::string fields = "Connection: Upgrade\r\nUpgrade: echo\r\nOrigin: " + std::string(each.origin);
    const auto ask = [&](const char* path) {
      return "GET " + std::string(path) + " HTTP/1.1\r\nHost: " + each.host + "\r\n" + fields + "\r\n\r\n";
    };
    if (each.is_allowed) {
      Peer& one = peer();
      one.send(ask("/talk"));
      EXPECT_TRUE(until([&] { return has_switched(one); })) << each.host << " " << each.origin << one.wire();
      close(one);
    } else {
      EXPECT_EQ(ask_one(ask("/talk")).status, 403) << each.host << " " << each.origin;
    }
    Peer& visitor = peer();
    visitor.send(ask("/public"));
    EXPECT_TRUE(until([&] { return has_switched(visitor); })) << each.origin << visitor.wire();
    close(visitor);
  }
  EXPECT_TRUE(until([&] { return talks_running == 0; }));
}

TEST_P(Upgrades, are_given_to_pages_of_every_site_where_the_server_is_told_so) {
  options_.upgrade_origins = {"*"};
  start();
  Peer& one = peer();
  one.send(ask_for_echo("/talk", "Origin: https://evil.example\r\n"));
  EXPECT_TRUE(until([&] { return has_switched(one); })) << one.wire();
  close(one);
}

TEST_P(Upgrades, compare_the_origin_with_the_host_that_a_trusted_proxy_tells) {
  options_.trusted_proxies.push_back(Network::parse("0.0.0.0/0").value());
  options_.believed.host = TrustedPeers::TrustedProxies;
  start();
  Peer& one = peer();
  one.send(ask_for_echo("/talk", "X-Forwarded-Host: shop.example:8443\r\nOrigin: https://shop.example:8443\r\n"));
  EXPECT_TRUE(until([&] { return has_switched(one); })) << one.wire();
  close(one);
  EXPECT_EQ(ask_one(ask_for_echo("/talk", "X-Forwarded-Host: shop.example\r\nOrigin: https://a\r\n")).status, 403);
}

TEST_P(Upgrades, hand_the_connection_over_behind_a_101) {
  start();
  Peer& one = peer();
  one.send(ask_for_echo("/talk"));
  ASSERT_TRUE(until([&] { return has_switched(one) && talks_running == 1; }));
  const std::string head = one.wire();
  EXPECT_NE(head.find("\r\nUpgrade: echo\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("\r\nConnection: Upgrade\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("\r\nX-Added: by the handler\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("Content-Length"), std::string::npos) << head;
  EXPECT_EQ(server_->stats().upgraded, 1u);
  EXPECT_EQ(server_->stats().connections, 1u);
  EXPECT_EQ(server_->stats().requests, 1u);

  one.send("hello");
  ASSERT_TRUE(until([&] { return behind(one) == "hello"; }));
  one.finish_writing();
  ASSERT_TRUE(until([&] { return one.has_ended() && server_->stats().connections == 0; }));
  EXPECT_EQ(behind(one), "helloover") << "the task may still write";
  EXPECT_EQ(server_->stats().upgraded, 0u);
  EXPECT_EQ(server_->stats().aborted, 0u);
}

TEST_P(Upgrades, begin_with_the_bytes_behind_the_request_which_are_no_request) {
  start();
  for (const char* target : {"/talk", "/talk-later"}) {
    const std::string more = get("/n/1") + "and more";
    expect_echo(ask_for_echo(target) + more, more);
  }
}

TEST_P(Upgrades, come_after_the_answers_to_the_requests_before) {
  start();
  Peer& one = peer();
  one.send(get("/n/1") + get("/t/2") + ask_for_echo("/talk-later") + "behind");
  ASSERT_TRUE(until([&] { return one.wire().ends_with("behind"); }));
  const auto list = one.all();
  ASSERT_GE(list.size(), 3u);
  EXPECT_EQ(list[0].body, "n=1");
  EXPECT_EQ(list[1].body, "t=2");
  EXPECT_EQ(list[2].status, 101);
}

TEST_P(Upgrades, lose_nothing_wherever_the_bytes_are_cut) {
  start();
  const std::string wire = ask_for_echo("/talk") + "behind";
  for (std::size_t cut = 1; cut < wire.size(); cut += is_sim() ? 1 : 3) {
    Peer& one = peer();
    one.send(wire.substr(0, cut));
    settle();
    one.send(wire.substr(cut));
    ASSERT_TRUE(until([&] { return behind(one) == "behind"; })) << cut << "\n" << one.wire();
    one.finish_writing();
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    close(one);
  }
}

// More than the connection reads ahead, so that it has stopped reading when the response comes; and it continues
// coming.
TEST_P(Upgrades, lose_nothing_of_much_that_comes_while_the_101_is_made) {
  start();
  const std::string much = pattern(1024 * 1024);
  for (const char* target : {"/talk", "/talk-later"}) {
    Peer& one = peer();
    one.send(ask_for_echo(target) + much.substr(0, 100'000));
    one.send(much.substr(100'000));
    one.finish_writing();
    ASSERT_TRUE(until([&] { return one.has_ended(); })) << one.wire().size();
    EXPECT_TRUE(behind(one) == much + "over") << target << ' ' << one.wire().size();
    close(one);
  }
}

TEST_P(Upgrades, take_an_offer_among_others_in_any_case) {
  start();
  for (const char* fields : {"Connection: keep-alive, uPGRADE\r\nUpgrade: ECHO\r\n",
                             "Connection: Upgrade\r\nUpgrade: h2c, other/1 ,Echo\r\n",
                             "Connection: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\nUpgrade: echo\r\n"}) {
    expect_echo(get("/talk", fields), "");
  }
}

// RFC 9110 §15.5.22, and §7.8: not to switch to what was not offered.
TEST_P(Upgrades, answer_426_to_those_who_do_not_ask_and_go_on) {
  start();
  for (const char* fields :
       {"", "Upgrade: echo\r\n", "Connection: Upgrade\r\n", "Connection: close-not, Upgraded\r\nUpgrade: echo\r\n",
        "Connection: Upgrade\r\nUpgrade: echo/2\r\n", "Connection: Upgrade\r\nUpgrade: h2c\r\n"}) {
    const auto list = ask(get("/talk", fields) + get("/n/1"));
    ASSERT_EQ(list.size(), 2u) << fields;
    EXPECT_EQ(list[0].status, 426) << fields;
    EXPECT_EQ(list[0].field("Upgrade"), "echo");
    EXPECT_EQ(list[0].field("Connection"), "Upgrade");
    EXPECT_EQ(list[1].body, "n=1");
  }
  const Reply old = ask_one("GET /talk HTTP/1.0\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
  EXPECT_EQ(old.status, 426);
  EXPECT_EQ(old.field("Connection"), "close, Upgrade");
  const std::string head = exchange("HEAD /talk HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 426 ") && head.ends_with("\r\n\r\n")) << head;
  EXPECT_EQ(talks_ended, 0);
}

TEST_P(Upgrades, are_ignored_where_nobody_wants_them) {
  start();
  EXPECT_EQ(ask_one(ask_for_echo("/plaintext")).body, "Hello, World!");
  EXPECT_EQ(ask_one(get("/maybe")).body, "as ever");
  EXPECT_EQ(ask_one(get("/maybe", "Connection: Upgrade\r\nUpgrade: h2c\r\n")).body, "as ever");
  expect_echo(ask_for_echo("/maybe"), "");
}

TEST_P(Upgrades, come_behind_the_body_of_their_request) {
  start();
  constexpr const char* fields = "Connection: Upgrade\r\nUpgrade: echo\r\n";
  for (const char* target : {"/talk", "/read"}) {
    expect_echo(post(target, "the body", fields) + "behind", "behind");
    expect_echo(post_chunked(target, "the body", 3, fields) + "behind", "behind");
  }
}

TEST_P(Upgrades, of_a_request_whose_body_was_not_read_are_a_mistake) {
  start();
  Peer& one = peer();
  one.send(
      "POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhalf");
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].status, 500);
  EXPECT_EQ(talks_ended, 0);
}

TEST_P(Upgrades, pass_the_middleware) {
  router_.use(Marks());
  router_.get("/marked", upgrade_now);
  start();
  Peer& one = peer();
  one.send(ask_for_echo("/marked"));
  ASSERT_TRUE(until([&] { return has_switched(one); }));
  EXPECT_NE(one.wire().find("\r\nX-Status: 101\r\n"), std::string::npos) << one.wire();
  EXPECT_EQ(ask_one(get("/marked")).field("X-Status"), "426");
}

TEST_P(Upgrades, end_with_their_task) {
  start();
  for (const auto& [target, answer] : {std::pair("/bye", "bye"), std::pair("/end", ""),
                                       std::pair("/throw-in-talk", "before "), std::pair("/throw-before-talk", "")}) {
    Peer& one = peer();
    one.send(ask_for_echo(target));
    ASSERT_TRUE(until([&] { return one.has_ended(); })) << target;
    EXPECT_TRUE(has_switched(one)) << target;
    EXPECT_EQ(behind(one), answer) << target;
    close(one);
  }
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
  EXPECT_EQ(server_->stats().upgraded, 0u);
}

Task<> tell(Stream stream, std::unique_ptr<std::string> text, const std::string& more, int& told) {
  co_await stream.receive();
  co_await stream.write(*text);
  co_await stream.write(more);
  ++told;
}

TEST_P(Upgrades, keep_what_their_task_is_given_until_it_has_ended) {
  static int told = 0;
  told = 0;
  router_.get("/kept", [](Request& request) {
    return Response::upgrade("echo", &tell, std::make_unique<std::string>("kept "), std::string(request.path()),
                             std::ref(told));
  });
  start();
  Peer& one = peer();
  one.send(ask_for_echo("/kept"));
  ASSERT_TRUE(until([&] { return has_switched(one); }));
  one.send("x");
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(behind(one), "kept /kept");
  EXPECT_EQ(told, 1);
}

// None of the limits of HTTP hold any longer: they are short here, and the connection is silent for longer.
TEST_P(Upgrades, stay_as_long_as_their_task) {
  Limits limits;
  limits.idle_timeout = limits.request_timeout = limits.header_timeout = limits.send_timeout = 250_ms;
  limits.send_rate_grace = 50_ms;
  start(limits);
  Peer& one = peer();
  one.send(ask_for_echo("/talk"));
  ASSERT_TRUE(until([&] { return talks_running == 1; }));
  pass(600_ms);
  one.send("still there");
  ASSERT_TRUE(until([&] { return behind(one) == "still there"; }));
  EXPECT_EQ(server_->stats().timeouts, 0u);
}

TEST_P(Upgrades, see_that_their_peer_is_gone) {
  start();
  Peer& one = peer();
  one.send(ask_for_echo("/talk"));
  ASSERT_TRUE(until([&] { return talks_running == 1; }));
  settle();
  reset(one);
  ASSERT_TRUE(until([&] { return talks_running == 0 && server_->stats().connections == 0; }));
  EXPECT_EQ(error_seen, Code::Unavailable);
  EXPECT_EQ(server_->stats().upgraded, 0u);
}

TEST_P(Upgrades, survive_peers_that_leave_at_any_moment) {
  start();
  const std::string wire = ask_for_echo("/talk-later") + "behind";
  for (std::size_t size = 0; size <= wire.size(); size += 7) {
    Peer& finishes = peer();
    finishes.send(wire.substr(0, size));
    finishes.finish_writing();
    Peer& resets = peer();
    ASSERT_TRUE(until([&] { return resets.is_connected(); }));
    resets.send(wire.substr(0, size));
    pass(Duration::microseconds(static_cast<std::int64_t>(size) * 40));
    reset(resets);
    ASSERT_TRUE(until([&] { return finishes.has_ended(); })) << size;
    close(finishes);
  }
  Peer& whole = peer();
  whole.send(wire);
  whole.finish_writing();
  ASSERT_TRUE(until([&] { return whole.has_ended(); }));
  EXPECT_EQ(behind(whole), "behindover");
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
}

TEST_P(Upgrades, are_asked_to_stop_when_the_server_drains) {
  start();
  Peer& silent = peer();
  Peer& busy = peer();
  silent.send(ask_for_echo("/talk"));
  busy.send(ask_for_echo("/talk"));
  ASSERT_TRUE(until([&] { return talks_running == 2; }));
  busy.send("some");
  ASSERT_TRUE(until([&] { return behind(busy) == "some"; }));

  server_->begin_drain(10_ms);
  ASSERT_TRUE(until([&] { return server_->is_drained(); }));

  EXPECT_EQ(talks_running, 0);
  EXPECT_EQ(error_seen, Code::Cancelled);
  ASSERT_TRUE(until([&] { return silent.has_ended() && busy.has_ended(); }));
  EXPECT_EQ(silent.error(), 0) << "closed, not reset";
}

TEST_P(Upgrades, are_not_begun_any_more_while_the_server_drains) {
  start();
  Peer& late = peer();
  Peer& under_way = peer();
  late.send(get("/n/1"));
  under_way.send(ask_for_echo("/talk-later").substr(0, 30));
  ASSERT_TRUE(has_replies(late, 1));
  settle();

  server_->begin_drain(1_s);
  late.send(ask_for_echo("/talk"));
  under_way.send(ask_for_echo("/talk-later").substr(30));
  ASSERT_TRUE(until([&] { return late.has_ended() && under_way.has_ended(); }));

  ASSERT_EQ(late.all().size(), 2u);
  EXPECT_EQ(late.all()[1].status, 503);
  EXPECT_TRUE(late.all()[1].closes());
  ASSERT_EQ(under_way.all().size(), 1u);
  EXPECT_EQ(under_way.all()[0].status, 503);
  EXPECT_EQ(talks_ended, 0);
}

TEST_P(Upgrades, count_as_connections_of_the_server) {
  Limits limits;
  limits.connections_max = 2;
  start(limits);
  Peer& first = peer();
  Peer& second = peer();
  first.send(ask_for_echo("/talk"));
  second.send(ask_for_echo("/talk"));
  ASSERT_TRUE(until([&] { return talks_running == 2; }));
  Peer& third = peer();
  third.send(get("/n/1"));
  pass(30_ms);
  EXPECT_TRUE(third.all().empty());
  first.finish_writing();
  ASSERT_TRUE(has_replies(third, 1));
}

TEST(OffersUpgrade, looks_at_every_field_of_the_two_names) {
  const auto offers = [](const std::string& fields, const char* protocol = "websocket") {
    const std::string wire = "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
    RequestHead head;
    EXPECT_EQ(parse_head(wire, HeadLimits(), head).state, HeadState::Complete) << fields;
    return offers_upgrade(head, protocol);
  };
  EXPECT_TRUE(offers("Connection: upgrade\r\nUpgrade: websocket\r\n"));
  EXPECT_TRUE(offers("Upgrade: a, b\r\nConnection: x, upgrade\r\nUpgrade: c, websocket\r\n"));
  EXPECT_TRUE(offers("Connection: upgrade\r\nUpgrade: HTTP/2.0\r\n", "http/2.0"));
  EXPECT_FALSE(offers("Connection: upgrade\r\nUpgrade: web, socket\r\n"));
  EXPECT_FALSE(offers("Connection: upgrades\r\nUpgrade: websocket\r\n"));
  EXPECT_FALSE(offers("Connection: upgrade\r\n"));
  EXPECT_FALSE(offers("Upgrade: websocket\r\n"));
}

}  // namespace
}  // namespace keel::http::upgrade_test
