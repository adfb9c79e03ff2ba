// What clients that do not read, or do not finish what they began, make a server hold, on every engine.

#include "keel/http/server/internal/held_memory.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/sanitizers.h"
#include "keel/http/testing/internal/server_fixture.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/layer.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::http::held_memory_test {
namespace {

using namespace internal;

constexpr std::size_t mib = 1u << 20;

Response eight(Request&) {
  static const std::string text(8 * mib, 'e');
  return Response::text(Status::Ok, text);
}
Task<> write_for_ever(BodyWriter& out) {
  static const std::string text(64 * 1024, 'w');
  while (true) co_await out.write(text);
}
Response streams(Request&) { return Response::stream(Status::Ok, "text/plain", &write_for_ever); }

class HeldMemories : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    held_back = true;
    router_.get("/eight", eight).get("/streams", streams);
  }
  // A client that asks and does not read. Its kernel takes little.
  Peer& unread(const std::string& wire) {
    Peer& one = peer();
    EXPECT_TRUE(until([&] { return one.is_connected(); }));
    one.pause();
    one.send(wire);
    return one;
  }
  std::uint64_t response_bytes() { return server_->stats().response_bytes; }
  std::uint64_t received_bytes() { return server_->stats().received_bytes; }
  // Of this process, clients and all.
  static std::size_t allocated() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  }
  static constexpr io::ListenOptions small_buffers = {.send_buffer_bytes = 64 * 1024,
                                                      .receive_buffer_bytes = 64 * 1024};
};

INSTANTIATE_TEST_SUITE_P(, HeldMemories, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(HeldMemories, count_a_response_as_long_as_it_waits) {
  start({}, small_buffers);
  Peer& one = unread(get("/eight"));
  ASSERT_TRUE(until([&] { return response_bytes() >= 8 * mib; }));
  EXPECT_LE(response_bytes(), 17 * mib);
  one.resume();
  ASSERT_TRUE(has_replies(one, 1));
  ASSERT_TRUE(until([&] { return response_bytes() == 0; }));

  Peer& other = unread(get("/eight"));
  ASSERT_TRUE(until([&] { return response_bytes() >= 8 * mib; }));
  close(other);
  ASSERT_TRUE(until([&] { return response_bytes() == 0; }));
}

TEST_P(HeldMemories, count_what_a_stream_has_queued_and_nothing_of_small_responses) {
  start({}, small_buffers);
  unread(get("/streams"));
  ASSERT_TRUE(until([&] { return response_bytes() >= 16 * 1024; }));
  EXPECT_LE(response_bytes(), 160u * 1024);
  close_all();
  ASSERT_TRUE(until([&] { return response_bytes() == 0; }));
  EXPECT_EQ(ask(get("/plaintext") + get("/kilobyte")).size(), 2u);
  EXPECT_EQ(response_bytes(), 0u);
}

TEST_P(HeldMemories, turn_large_responses_away_while_they_are_full) {
  Limits limits;
  limits.responses_bytes_max = 12 * mib;
  start(limits, small_buffers);
  Peer& first = unread(get("/eight"));
  ASSERT_TRUE(until([&] { return response_bytes() >= 8 * mib; }));
  Peer& second = unread(get("/eight"));
  ASSERT_TRUE(until([&] { return response_bytes() >= 12 * mib; })) << "the one that passes the bound is sent";

  const Reply rejected = ask_one(get("/eight"));
  EXPECT_EQ(rejected.status, 503);
  EXPECT_EQ(rejected.field("Retry-After"), "1");
  EXPECT_FALSE(rejected.closes());
  EXPECT_EQ(ask_one(get("/plaintext")).status, 200) << "small ones pass";
  EXPECT_EQ(server_->stats().responses_refused, 1u);

  first.resume();
  second.resume();
  ASSERT_TRUE(has_replies(first, 1));
  ASSERT_TRUE(has_replies(second, 1));
  EXPECT_EQ(ask_one(get("/eight")).status, 200);
}

TEST_P(HeldMemories, reset_clients_that_take_nothing_and_let_those_that_read_go_on) {
  Limits limits;
  limits.responses_bytes_max = 44 * mib;
  start(limits, small_buffers);
  Peer& honest = unread(get("/streams"));
  for (int i = 0; i < 6; ++i) unread(get("/eight"));
  ASSERT_TRUE(until([&] { return response_bytes() >= 44 * mib; }));

  // A client that others keep out asks again; meanwhile the honest one reads a little.
  const Instant began = loop_->now();
  Peer& asking = peer();
  std::size_t asked = 0;
  do {
    asking.send(get("/eight"));
    ASSERT_TRUE(has_replies(asking, ++asked));
    honest.resume();
    pass(1_ms);
    honest.pause();
    pass(100_ms);
  } while (asking.all().back().status == 503 && loop_->now() - began < 6_s);
  EXPECT_EQ(asking.all().back().status, 200);
  EXPECT_GE(loop_->now() - began, 1_s) << "nobody is reset before it had a second";
  EXPECT_LE(loop_->now() - began, 4_s);
  EXPECT_GE(server_->stats().responses_reset, 1u);
  EXPECT_LE(server_->stats().responses_reset, 4u) << "no more than have to";
  const std::size_t taken = honest.wire().size();
  honest.resume();
  EXPECT_TRUE(until([&] { return honest.wire().size() > taken + 4 * mib; }));
  EXPECT_FALSE(honest.has_ended());
}

TEST_P(HeldMemories, count_heads_that_are_not_whole) {
  start();
  Peer& one = peer();
  const std::string field = "X-Field: " + std::string(12'000, 'f') + "\r\n";
  one.send("GET /n/7 HTTP/1.1\r\nHost: a\r\n" + field);
  ASSERT_TRUE(until([&] { return received_bytes() >= 8 * 1024; }));
  EXPECT_LE(received_bytes(), 32u * 1024);
  one.send("\r\n");
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].body, "n=7");
  EXPECT_EQ(received_bytes(), 0u);
}

TEST_P(HeldMemories, reset_the_oldest_heads_that_are_not_whole) {
  Limits limits;
  limits.received_bytes_max = 64 * 1024;
  start(limits);
  const std::string half = "GET /n/7 HTTP/1.1\r\nHost: a\r\nX-Field: " + std::string(12'000, 'f') + "\r\n";
  std::vector<Peer*> begun;
  for (int i = 0; i < 12; ++i) {
    begun.push_back(&peer());
    begun.back()->send(half);
    pass(5_ms);
    EXPECT_LE(received_bytes(), 64u * 1024 + 32 * 1024);
  }
  EXPECT_TRUE(until([&] { return begun[0]->has_ended(); }));
  EXPECT_FALSE(begun.back()->has_ended());
  begun.back()->send("\r\n");
  ASSERT_TRUE(has_replies(*begun.back(), 1));
  EXPECT_EQ(begun.back()->all()[0].status, 200);
  EXPECT_GE(server_->stats().received_reset, 5u);
}

TEST_P(HeldMemories, count_requests_behind_one_in_progress) {
  Limits limits;
  limits.received_bytes_max = 32 * 1024;
  start(limits);
  std::string many = get("/held");
  while (many.size() < 12'000) many += get("/plaintext");
  std::vector<Peer*> ahead;
  for (int i = 0; i < 6; ++i) {
    ahead.push_back(&peer());
    ahead.back()->send(many);
    pass(5_ms);
  }
  EXPECT_TRUE(until([&] { return server_->stats().received_reset >= 1; }));
  EXPECT_LE(received_bytes(), 64u * 1024);
  held_back = false;
  EXPECT_TRUE(has_replies(*ahead.back(), 100));
}

// The formula of docs/operations.md, against what attacks make the process allocate.
class Formulas : public HeldMemories {
 protected:
  static constexpr std::size_t connections = 100;
  static constexpr std::size_t fixed = 16 * 1024;

  struct Attack {
    std::string name;
    std::string wire;
    std::size_t bound = 0;             // Of the server's memory that is counted.
    std::size_t of_each = 0;           // Beside `fixed`.
    bool is_cut = false;               // Its last record is not whole.
    bool is_before_handshake = false;  // `wire` is what is sent, without TLS.
  };
  void SetUp() override {
    HeldMemories::SetUp();
    if (KEEL_SANITIZED || is_sim() || server_layers != nullptr) GTEST_SKIP() << "memory of other things";
    limits_.responses_bytes_max = 4 * mib;
    limits_.received_bytes_max = 1 * mib;
    half_ = "GET /n/7 HTTP/1.1\r\nHost: a\r\nX-Field: " + std::string(12'000, 'f') + "\r\n";
    while (small_.size() < 30'000) small_ += get("/kilobyte");
    for (int i = 0; i < 20; ++i) large_ones_ += get("/eight");
    // One response may pass the bound, in a buffer that has doubled.
    responses_ = limits_.responses_bytes_max + 16 * mib;
  }
  // `begin` makes a client of the attack, and returns the bytes that it has sent.
  template <class F>
  void attack(const Attack& attack, F begin) {
    // Connections with TLS end a little after those of the server.
    std::size_t before = allocated();
    for (std::size_t last = before + 1; before < last; before = allocated()) {
      last = before;
      pass(50_ms);
    }
    std::size_t most = before;
    std::size_t sent = 0;
    for (std::size_t i = 0; i < connections; ++i) {
      sent += begin(attack);
      settle();
      most = std::max(most, allocated());
    }
    pass(20_ms);
    most = std::max(most, allocated()) - before;
    // What clients have to send is theirs, but for a copy or two.
    const std::size_t theirs = 3 * sent + connections * 4096;
    const std::size_t of_connections = connections * (fixed + attack.of_each);
    EXPECT_LE(most, attack.bound + of_connections + theirs) << attack.name;
    // Beside what connections cost, and responses, no byte of a client makes the server hold a hundred.
    const std::size_t read = most - std::min(most, of_connections + responses_);
    EXPECT_LE(read, 100 * sent) << attack.name;
    std::printf("%s: %zu bytes sent, %zu held, for each of %zu clients\n", attack.name.c_str(), sent / connections,
                most / connections, connections);
    close_all();
    ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
    EXPECT_EQ(response_bytes(), 0u);
    EXPECT_EQ(received_bytes(), 0u);
  }

  std::optional<tls::Layers> layers_;  // The server uses them to its end.
  Limits limits_;
  std::string half_, small_, large_ones_;
  std::size_t responses_ = 0;
};

INSTANTIATE_TEST_SUITE_P(, Formulas, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(Formulas, hold_whatever_clients_do) {
  start(limits_, small_buffers);
  for (const Attack& one : {Attack{"a byte", "G"}, Attack{"responses that are not read", large_ones_, responses_},
                            Attack{"half a head", half_, limits_.received_bytes_max + 256 * 1024},
                            Attack{"small responses that are not read", small_,
                                   limits_.responses_bytes_max + limits_.received_bytes_max + mib}}) {
    attack(one, [&](const Attack& attack) {
      unread(attack.wire);
      return attack.wire.size();
    });
  }
}

// The client's end of TLS is gone once its bytes are made: what is measured is the server's.
TEST_P(Formulas, hold_over_tls_whatever_clients_do) {
  // Of docs/memory.md: OpenSSL's, during a handshake and after it, a record that is not whole, encrypted bytes.
  constexpr std::size_t secured = 24 * 1024;
  constexpr std::size_t shaking = secured + 40 * 1024;
  constexpr std::size_t unfinished = 16 * 1024;
  constexpr std::size_t sealed = 80 * 1024;
  tls::testing::Authority authority("Test Root");
  const tls::ServerOptions server = {.certificates = {authority.issue({.names = {"localhost"}})}};
  layers_.emplace(tls::ServerContext::make(server).value());
  const tls::ClientContext client = tls::ClientContext::make({.trust = {.pem = authority.pem()}}).value();
  options_.https = &*layers_;
  start(limits_, small_buffers);
  const auto connect = [&]() -> Peer& {
    peers_.push_back(std::make_unique<Peer>(*loop_, server_->address(), nullptr));
    EXPECT_TRUE(until([&] { return peers_.back()->is_connected(); }));
    return *peers_.back();
  };
  const auto begin_in_clear = [&](const Attack& attack) {
    Peer& one = connect();
    one.send(attack.wire);
    one.pause();
    return attack.wire.size();
  };
  const auto begin = [&](const Attack& attack) {
    if (attack.is_before_handshake) return begin_in_clear(attack);
    Peer& one = connect();
    tls::Records records(client, "localhost");
    std::size_t sent = 0;
    std::size_t taken = 0;
    const auto say = [&](std::size_t cut) {
      const std::string text(records.output().view().substr(0, records.output().size() - cut));
      records.output().clear();
      sent += text.size();
      if (!text.empty()) one.send(text);
    };
    EXPECT_TRUE(until([&] {
      char room[tls::Records::plain_bytes_max];
      std::string_view fresh = std::string_view(one.wire()).substr(taken);
      const std::size_t size = fresh.size();
      EXPECT_TRUE(records.read(fresh, room));
      taken += size - fresh.size();
      say(0);
      return records.is_established();
    }));
    one.pause();
    EXPECT_EQ(records.write(attack.wire).value(), attack.wire.size());
    say(attack.is_cut ? 1 : 0);
    return sent;
  };
  std::string hello;
  {
    tls::Records records(client, "localhost");
    std::string_view nothing;
    char room[tls::Records::plain_bytes_max];
    ASSERT_TRUE(records.read(nothing, room));
    hello = records.output().view();
  }
  // A record of 16 KiB, but for its last byte.
  const std::string half_record("\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03", 11);
  for (const Attack& one :
       {Attack{"nothing", "", 0, secured, false, true}, Attack{"a byte of a hello", "\x16", 0, secured, false, true},
        Attack{"a first record of a byte", std::string("\x16\x03\x01\x00\x01\x01", 6), 0, shaking, false, true},
        Attack{"a hello and no answer to the server's", hello, 0, shaking, false, true},
        Attack{"half a record of a hello", half_record + std::string(16'383 - 6, '\0'), 0, secured + unfinished, false,
               true},
        Attack{"a handshake", "", 0, secured},
        Attack{"half a record", std::string(16 * 1024, 'G'), 0, secured + unfinished, true},
        Attack{"half a head", half_, limits_.received_bytes_max + 256 * 1024, secured},
        Attack{"responses that are not read", large_ones_, responses_, secured + sealed},
        Attack{"small responses that are not read", small_,
               limits_.responses_bytes_max + limits_.received_bytes_max + mib, secured + sealed}}) {
    attack(one, begin);
  }
}

}  // namespace
}  // namespace keel::http::held_memory_test
