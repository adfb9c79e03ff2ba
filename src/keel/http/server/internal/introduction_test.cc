// Connections that a proxy introduces by the PROXY protocol, on every engine: who their requests are from.

#include "keel/http/server/internal/introduction.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/http/middleware/rate_limit.h"
#include "keel/http/testing/internal/server_fixture.h"
#include "keel/net/stream.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/layer.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/metric.h"

namespace keel::http::introduction_test {
namespace {

using namespace internal;
using namespace std::string_literals;

const std::string signature("\r\n\r\n\0\r\nQUIT\n", 12);
const std::string v1 = "PROXY TCP4 203.0.113.9 192.0.2.1 56789 443\r\n";
const std::string v2 = signature + "\x21\x11\0\x0c"s + "\xcb\x00\x71\x09\xc0\x00\x02\x01\xdd\xd5\x01\xbb"s;
const std::string v2_local = signature + "\x20\0\0\0"s;
const std::string v2_unknown = signature + "\x21\0\0\0"s;
constexpr const char* named = "203.0.113.9:56789 ";

std::string from(const std::string& host) { return "PROXY TCP4 " + host + " 192.0.2.1 56789 443\r\n"; }

const std::string told_trace = "0af7651916cd43dd8448eb211c80319c";

// Its client, its scheme, and its name: "own" where nobody has told one.
Response who(Request& request) {
  const bool is_told = request.id().size() != 32 || request.id() == told_trace;
  return Response::text(Status::Ok, request.client_address().to_string() + " " + std::string(request.scheme()) + " " +
                                        std::string(is_told ? request.id() : "own"));
}
Task<Response> who_later(Request& request) {
  co_await sleep_for(1_ms);
  co_return who(request);
}
Task<Response> who_after_the_body(Request& request) {
  while (true) {
    const Chunk chunk = co_await request.read_body();
    if (chunk.empty()) co_return who(request);
  }
}
Task<> echo_bytes(Stream stream) {
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
    co_await stream.write(chunk);
  }
}

class Introductions : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    if (server_layers != nullptr) GTEST_SKIP() << "its peers cannot send anything before their layer";
    router_.get("/who", who).get("/who-later", &who_later).post("/who", &who_after_the_body, {.streams_body = true});
    router_.get("/socket", [](Request&) { return Response::upgrade("echo", &echo_bytes); });
    trust({"127.0.0.1"});
    options_.proxy_protocol = true;
    lines("");
  }
  void trust(std::initializer_list<const char*> proxies) {
    options_.trusted_proxies.clear();
    for (const char* const proxy : proxies) options_.trusted_proxies.push_back(Network::parse(proxy).value());
  }
  // The body of the one response to `wire`.
  std::string answer(const std::string& wire) {
    Peer& one = peer();
    one.send(wire);
    EXPECT_TRUE(has_replies(one, 1)) << wire << one.error();
    const auto all = one.all();
    close(one);
    return all.empty() ? "" : all.front().body;
  }
  // A connection on which `wire` is sent ends without a response.
  void expect_closed(const std::string& wire) {
    Peer& one = peer();
    one.send(wire);
    EXPECT_TRUE(until([&] { return one.has_ended(); })) << wire;
    EXPECT_EQ(one.wire(), "") << wire;
    close(one);
  }
  // The lines of the log since the last call that begin with `message`: level and fields.
  std::vector<std::string> lines(std::string_view message) {
    std::vector<std::string> found;
    reader_.drain([&](const log::Record& record) {
      if (record.message() != message) return;
      std::string line(log::to_string(record.level()));
      record.for_each([&](const log::FieldView& field) {
        if (field.kind == log::FieldKind::String) line += ' ' + std::string(field.name) + '=' + std::string(field.text);
      });
      found.push_back(line);
    });
    return found;
  }
  static constexpr std::string_view invalid = "a trusted proxy sent no valid PROXY header; its connection was closed";

 private:
  log::Reader reader_{false};
  log::Ring ring_;
};
INSTANTIATE_TEST_SUITE_P(, Introductions, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(Introductions, give_each_request_the_address_that_the_header_names) {
  start();
  for (const std::string& header : {v1, v2}) {
    Peer& one = peer();
    one.send(header + get("/who") + get("/who-later"));
    ASSERT_TRUE(has_replies(one, 2));
    one.send(post("/who", "body") + get("/who"));
    ASSERT_TRUE(has_replies(one, 4));
    for (const Reply& reply : one.all()) EXPECT_EQ(reply.body, named + "http own"s);
    close(one);
  }
  EXPECT_EQ(answer("PROXY TCP6 2001:db8::7 2001:db8::1 1 2\r\n" + get("/who")), "[2001:db8::7]:1 http own");
  EXPECT_EQ(server_->stats().introductions_refused, 0u);
}

TEST_P(Introductions, are_the_same_wherever_they_are_cut) {
  start();
  for (const std::string& wire : {v1 + get("/who"), v2 + get("/who")}) {
    for (std::size_t cut = 1; cut < wire.size(); cut += cut < v1.size() + 2 ? 1 : 7) {
      Peer& one = peer();
      one.send(wire.substr(0, cut));
      ASSERT_TRUE(until([&] { return one.is_sent(); }));
      if (cut % 8 == 0) pass(1_ms);
      one.send(wire.substr(cut));
      ASSERT_TRUE(has_replies(one, 1)) << cut;
      EXPECT_EQ(one.all()[0].body, named + "http own"s) << cut;
      close(one);
    }
    Peer& slow = peer();
    for (const char c : wire) {
      slow.send(std::string(1, c));
      pass(is_sim() ? 10_ms : 100_us);
    }
    ASSERT_TRUE(has_replies(slow, 1));
    EXPECT_EQ(slow.all()[0].body, named + "http own"s);
  }
}

TEST_P(Introductions, are_of_trusted_proxies_alone) {
  trust({"192.0.2.0/24"});
  start();
  EXPECT_EQ(answer(get("/who")).substr(0, 10), "127.0.0.1:");
  for (const std::string& header : {v1, v2}) {
    Peer& one = peer();
    one.send(header + get("/who"));
    ASSERT_TRUE(has_replies(one, 1));
    EXPECT_EQ(one.all()[0].status, 400) << "everybody can write one";
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    EXPECT_EQ(one.all().size(), 1u);
  }
}

TEST_P(Introductions, are_not_looked_for_unless_they_are_asked_for) {
  options_.proxy_protocol = false;
  start();
  EXPECT_EQ(answer(get("/who")).substr(0, 10), "127.0.0.1:");
  EXPECT_EQ(ask_one(v1 + get("/who")).status, 400);
}

TEST_P(Introductions, of_a_client_do_not_make_its_fields_believed) {
  start();
  const std::string forged = get("/who",
                                 "X-Forwarded-For: 10.66.66.66\r\nX-Forwarded-Proto: https\r\nX-Request-Id: forged\r\n"
                                 "traceparent: 00-" +
                                     told_trace + "-b7ad6b7169203331-01\r\n");
  EXPECT_EQ(answer(v1 + forged), named + "http own"s);
  EXPECT_EQ(answer(v2 + forged), named + "http own"s);
  EXPECT_EQ(answer(v1 + "GET https://a/who HTTP/1.1\r\nHost: a\r\n\r\n").find(named), std::string::npos) << "421";
}

TEST_P(Introductions, of_another_trusted_proxy_make_its_fields_believed) {
  trust({"127.0.0.1", "203.0.113.0/24"});
  start();
  const std::string told =
      get("/who", "X-Forwarded-For: 198.51.100.7\r\nX-Forwarded-Proto: https\r\nX-Request-Id: r1\r\n");
  EXPECT_EQ(answer(v1 + told), "198.51.100.7:0 https r1");
  EXPECT_EQ(answer(from("198.51.100.9") + told), "198.51.100.9:56789 http own");
  const std::string traced = get("/who", "traceparent: 00-" + told_trace + "-b7ad6b7169203331-01\r\n");
  EXPECT_EQ(answer(v1 + traced), named + ("http " + told_trace));
}

TEST_P(Introductions, of_the_proxy_itself_leave_it_the_peer) {
  start();
  EXPECT_EQ(answer(v2_local + get("/who")).substr(0, 10), "127.0.0.1:");
  EXPECT_EQ(answer(v2_local + get("/who", "X-Forwarded-For: 198.51.100.7\r\n")), "198.51.100.7:0 http own");
}

// A client that the proxy does not name could be anybody: that the proxy is trusted says nothing of it.
TEST_P(Introductions, of_nobody_known_give_no_address_and_are_not_believed) {
  start();
  for (const std::string& header : {"PROXY UNKNOWN\r\n"s, v2_unknown}) {
    EXPECT_EQ(answer(header + get("/who")), "none http own");
    EXPECT_EQ(answer(header + get("/who",
                                  "X-Forwarded-For: 10.66.66.66\r\nX-Forwarded-Proto: https\r\n"
                                  "X-Request-Id: forged\r\n")),
              "none http own");
  }
}

TEST_P(Introductions, that_are_invalid_end_their_connection_without_an_answer) {
  start();
  const std::vector<std::string> wires = {get("/who"), "\x16\x03\x01\x02"s,
                                          "PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n" + get("/who"),
                                          "PROXY UNKNOWN" + std::string(100, ' '), signature + "\x11\0\0\0"s};
  for (const std::string& wire : wires) expect_closed(wire);
  EXPECT_EQ(server_->stats().introductions_refused, wires.size());
  EXPECT_EQ(server_->stats().requests, 0u);
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
  if (!log::is_recorded) return;
  const std::vector<std::string> found = lines(invalid);
  ASSERT_EQ(found.size(), 1u) << "once a minute";
  EXPECT_TRUE(found[0].starts_with("warn proxy=127.0.0.1:")) << found[0];
  EXPECT_TRUE(found[0].ends_with(" reason=the connection does not begin with a PROXY header")) << found[0];
}

TEST_P(Introductions, have_the_time_of_a_head_once_they_have_begun) {
  Limits limits;
  limits.header_timeout = 200_ms;
  limits.idle_timeout = 30_s;
  start(limits);
  Peer& silent = peer();
  expect_closed(v1.substr(0, 20));
  EXPECT_EQ(server_->stats().introductions_refused, 1u);
  EXPECT_EQ(server_->stats().timeouts, 1u);
  // A proxy may say nothing before its client does.
  EXPECT_FALSE(silent.has_ended());
  silent.send(v1 + get("/who"));
  ASSERT_TRUE(has_replies(silent, 1));
  // And the head has a time of its own.
  Peer& slow = peer();
  slow.send(v1 + "GET /who");
  ASSERT_TRUE(has_replies(slow, 1));
  EXPECT_EQ(slow.all()[0].status, 408);
  EXPECT_EQ(server_->stats().introductions_refused, 1u);
}

TEST_P(Introductions, that_do_not_begin_end_as_idle_connections_do) {
  Limits limits;
  limits.header_timeout = 30_s;
  limits.idle_timeout = 200_ms;
  start(limits);
  expect_closed("");
  EXPECT_EQ(server_->stats().introductions_refused, 0u);
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
}

// A probe that looks whether somebody listens is no failure.
TEST_P(Introductions, that_end_before_they_are_whole_are_invalid_unless_nothing_was_said) {
  start();
  Peer& probe = peer();
  ASSERT_TRUE(until([&] { return server_->stats().accepted == 1; }));
  probe.finish_writing();
  ASSERT_TRUE(until([&] { return probe.has_ended() && server_->stats().connections == 0; }));
  EXPECT_EQ(server_->stats().introductions_refused, 0u);
  Peer& cut = peer();
  cut.send(v1.substr(0, 7));
  cut.finish_writing();
  ASSERT_TRUE(until([&] { return server_->stats().introductions_refused == 1; }));
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
}

TEST_P(Introductions, count_connections_by_the_client_and_not_by_the_proxy) {
  Limits limits;
  limits.client_connections_max = 1;
  start(limits);
  Peer& first = peer();
  first.send(v1 + get("/who"));
  ASSERT_TRUE(has_replies(first, 1));
  Peer& other = peer();
  other.send(from("203.0.113.8") + get("/who"));
  ASSERT_TRUE(has_replies(other, 1)) << "by the same proxy";
  EXPECT_EQ(server_->stats().clients, 2u);

  Peer& again = peer();
  again.send(v2 + get("/who"));
  ASSERT_TRUE(until([&] { return again.has_ended(); }));
  EXPECT_EQ(again.wire(), "");
  EXPECT_EQ(server_->stats().client_connections_refused, 1u);
  close(first);
  ASSERT_TRUE(until([&] { return server_->stats().clients == 1; }));
  EXPECT_EQ(answer(v1 + get("/who")), named + "http own"s);
}

TEST_P(Introductions, limit_the_rate_of_the_client_and_not_of_the_proxy) {
  router_.group("/limited").use(RateLimit({.requests = 1, .per = 1_h})).get("/who", who);
  start();
  const auto status = [&](const std::string& header) {
    Peer& one = peer();
    one.send(header + get("/limited/who"));
    EXPECT_TRUE(has_replies(one, 1));
    return one.all()[0].status;
  };
  EXPECT_EQ(status(v1), 200);
  EXPECT_EQ(status(from("203.0.113.8")), 200);
  EXPECT_EQ(status(v2), 429);
}

TEST_P(Introductions, make_room_for_others_as_idle_connections_do) {
  Limits limits;
  limits.connections_max = 2;
  start(limits);
  Peer& silent = peer();
  Peer& begun = peer();
  begun.send(v1.substr(0, 30));
  ASSERT_TRUE(until([&] { return server_->stats().connections == 2; }));
  Peer& one = peer();
  one.send(v1 + get("/who"));
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_TRUE(until([&] { return silent.has_ended() || begun.has_ended(); }));
  EXPECT_GE(server_->stats().idle_closed, 1u);
}

TEST_P(Introductions, that_are_waited_for_are_not_waited_for_by_a_drain) {
  start();
  Peer& silent = peer();
  Peer& late = peer();
  ASSERT_TRUE(until([&] { return server_->stats().connections == 2; }));
  server_->begin_drain(300_ms);
  late.send(v1 + get("/who"));
  ASSERT_TRUE(has_replies(late, 1));
  EXPECT_TRUE(late.all()[0].closes());
  ASSERT_TRUE(until([&] { return server_->is_drained(); }));
  EXPECT_TRUE(until([&] { return silent.has_ended(); }));
}

TEST_P(Introductions, name_the_client_in_the_log) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  options_.log_clients = true;
  start();
  answer(v1 + get("/who"));
  std::vector<std::string> found = lines("request");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].ends_with(" client=203.0.113.9:56789")) << found[0];
  answer(v1 + "nonsense\r\n\r\n");
  found = lines("request rejected");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].ends_with(" client=203.0.113.9:56789")) << found[0];
}

TEST_P(Introductions, stand_before_connections_that_leave_http) {
  start();
  Peer& one = peer();
  one.send(v1 + "GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello");
  ASSERT_TRUE(until([&] { return one.wire().ends_with("\r\n\r\nhello"); }));
  EXPECT_EQ(server_->stats().upgraded, 1u);
  close(one);
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
}

TEST_P(Introductions, are_made_by_proxies_behind_a_unix_socket) {
  trust({"unix"});
  ServerOptions options = options_;
  options.address =
      Address::parse("unix:" + ::testing::TempDir() + "keel_introductions_" + std::to_string(getpid())).value();
  options.limits.queue_delay_max = Duration::forever();
  server_ = std::make_unique<Server>(router_, std::move(options));
  ASSERT_TRUE(server_->start(*loop_));
  EXPECT_EQ(answer(v2 + get("/who")), named + "http own"s);
  EXPECT_TRUE(answer(v2_local + get("/who")).starts_with("unix:"));
  expect_closed(get("/who"));
}

TEST_P(Introductions, are_refused_where_nobody_is_trusted) {
  trust({});
  Server server(router_, {.address = Address::parse("127.0.0.1:0").value(), .proxy_protocol = true});
  const Result<> started = server.start(*loop_);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), Code::InvalidArgument);
}

// --- before TLS

class SecureIntroductions : public Introductions {
 protected:
  void SetUp() override {
    Introductions::SetUp();
    if (loop_ == nullptr || IsSkipped()) return;
    authority_.emplace("Test Root");
    server_context_.emplace(
        tls::ServerContext::make({.certificates = {authority_->issue({.names = {"localhost"}})}}).value());
    client_context_.emplace(tls::ClientContext::make({.trust = {.pem = authority_->pem()}}).value());
    layers_.emplace(*server_context_);
    options_.https = &*layers_;
  }
  Peer& plain_peer() {
    peers_.push_back(std::make_unique<Peer>(*loop_, server_->address(), nullptr));
    return *peers_.back();
  }
  // Speaks TLS over a plain connection, on which the header comes first.
  struct Secure {
    Secure(Peer& over, const tls::ClientContext& context) : peer(over), records(context, "localhost") {}
    // What has to be sent now.
    std::string flight() {
      feed({});
      const Buffer output = std::exchange(records.output(), Buffer());
      return std::string(output.view());
    }
    void feed(std::string_view wire) {
      char room[tls::Records::plain_bytes_max];
      while (true) {
        const Result<std::size_t> got = records.read(wire, room);
        if (!got) error = got.error().message();
        if (!got || *got == 0) return;
        text.append(room, *got);
      }
    }
    // Continues with what has come.
    void go_on() {
      const std::string fresh = peer.wire().substr(std::exchange(taken, peer.wire().size()));
      feed(fresh);
      if (records.is_established() && !question.empty()) {
        EXPECT_TRUE(records.write(std::exchange(question, "")));
      }
      if (std::string more = flight(); !more.empty()) peer.send(std::move(more));
    }
    Peer& peer;
    tls::Records records;
    std::string question = get("/who");
    std::string text, error;
    std::size_t taken = 0;
  };
  // The body of the response over TLS that begins behind `header`, both cut at `cut`.
  std::string secure_answer(const std::string& header, std::size_t cut = std::string::npos) {
    Peer& one = plain_peer();
    Secure secure(one, *client_context_);
    const std::string first = header + secure.flight();
    one.send(first.substr(0, cut));
    EXPECT_TRUE(until([&] { return one.is_sent(); }));
    if (cut < first.size()) one.send(first.substr(cut));
    EXPECT_TRUE(until([&] {
      secure.go_on();
      return !replies(secure.text).empty() || one.has_ended();
    })) << secure.error;
    const auto all = replies(secure.text);
    close(one);
    return all.empty() ? "nothing: " + secure.error : all.front().body;
  }

  std::optional<tls::testing::Authority> authority_;
  std::optional<tls::ServerContext> server_context_;
  std::optional<tls::ClientContext> client_context_;
  std::optional<tls::Layers> layers_;
};
INSTANTIATE_TEST_SUITE_P(, SecureIntroductions, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(SecureIntroductions, stand_before_the_handshake) {
  start();
  for (const std::string& header : {v1, v2}) EXPECT_EQ(secure_answer(header), named + "https own"s);
  EXPECT_EQ(secure_answer(v2_local).substr(0, 10), "127.0.0.1:");
  EXPECT_EQ(server_->stats().handshakes_failed, 0u);
}

TEST_P(SecureIntroductions, are_the_same_wherever_they_are_cut) {
  start();
  for (const std::string& header : {v1, v2}) {
    for (std::size_t cut = 1; cut < header.size() + 12; cut += cut + 3 < header.size() ? 5 : 1) {
      EXPECT_EQ(secure_answer(header, cut), named + "https own"s) << cut;
    }
  }
}

TEST_P(SecureIntroductions, are_asked_of_trusted_proxies_alone) {
  start();
  Peer& bare = plain_peer();
  Secure secure(bare, *client_context_);
  bare.send(secure.flight());
  ASSERT_TRUE(until([&] { return bare.has_ended(); }));
  EXPECT_EQ(bare.wire(), "");
  EXPECT_EQ(server_->stats().introductions_refused, 1u);
}

TEST_P(SecureIntroductions, are_not_asked_of_others) {
  trust({"192.0.2.0/24"});
  start();
  EXPECT_EQ(secure_answer("").substr(0, 10), "127.0.0.1:");
  EXPECT_TRUE(secure_answer(v1).starts_with("nothing: ")) << "TLS does not begin so";
  EXPECT_EQ(server_->stats().introductions_refused, 0u);
}

TEST_P(SecureIntroductions, leave_a_failed_handshake_to_be_counted) {
  options_.log_clients = true;
  start();
  Peer& one = plain_peer();
  one.send(v1 + get("/who"));
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(server_->stats().handshakes_failed, 1u);
  EXPECT_EQ(server_->stats().introductions_refused, 0u);
  Peer& gone = plain_peer();
  gone.send(v1);
  gone.finish_writing();
  ASSERT_TRUE(until([&] { return gone.has_ended(); }));
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
}

TEST_P(SecureIntroductions, count_connections_by_the_client) {
  Limits limits;
  limits.client_connections_max = 1;
  start(limits);
  Peer& first = plain_peer();
  first.send(v1);
  ASSERT_TRUE(until([&] { return server_->stats().clients == 1; }));
  expect_closed(v2);
  EXPECT_EQ(server_->stats().client_connections_refused, 1u);
  EXPECT_EQ(secure_answer(from("203.0.113.8")), "203.0.113.8:56789 https own");
}

}  // namespace
}  // namespace keel::http::introduction_test
