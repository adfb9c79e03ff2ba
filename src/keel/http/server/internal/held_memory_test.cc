// What clients that do not read, or do not finish what they began, make a server hold, on every engine.

#include "keel/http/server/internal/held_memory.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <string>
#include <vector>

#include "keel/base/sanitizers.h"
#include "keel/http/testing/internal/server_fixture.h"

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
TEST_P(HeldMemories, keep_to_the_formula_whatever_clients_do) {
  if (KEEL_SANITIZED || is_sim() || server_layers != nullptr) GTEST_SKIP() << "memory of other things";
  constexpr std::size_t connections = 100;
  constexpr std::size_t fixed = 16 * 1024;
  Limits limits;
  limits.responses_bytes_max = 4 * mib;
  limits.received_bytes_max = 1 * mib;
  start(limits, small_buffers);
  const std::string half = "GET /n/7 HTTP/1.1\r\nHost: a\r\nX-Field: " + std::string(12'000, 'f') + "\r\n";
  std::string small;
  while (small.size() < 30'000) small += get("/kilobyte");
  std::string large_ones;
  for (int i = 0; i < 20; ++i) large_ones += get("/eight");
  struct Attack {
    std::string wire;
    std::size_t bound;  // Of the server's memory that is counted.
  };
  // One response may pass the bound, in a buffer that has doubled.
  const std::size_t responses = limits.responses_bytes_max + 16 * mib;
  for (const Attack& attack :
       {Attack{"G", 0}, Attack{large_ones, responses}, Attack{half, limits.received_bytes_max + 256 * 1024},
        Attack{small, limits.responses_bytes_max + limits.received_bytes_max + mib}}) {
    const std::size_t before = allocated();
    std::size_t most = 0;
    for (std::size_t i = 0; i < connections; ++i) {
      unread(attack.wire);
      settle();
      most = std::max(most, allocated());
    }
    pass(20_ms);
    most = std::max(most, allocated());
    // What clients have to send is theirs, but for a copy or two.
    const std::size_t theirs = connections * (3 * attack.wire.size() + 4096);
    EXPECT_LE(most - before, attack.bound + connections * fixed + theirs) << attack.wire.substr(0, 40);
    // Beside what connections cost, and responses, no byte of a client makes the server hold a hundred.
    const std::size_t read = most - before - std::min(most - before, connections * fixed + responses);
    EXPECT_LE(read, 100 * connections * attack.wire.size()) << attack.wire.substr(0, 40);
    close_all();
    ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
    EXPECT_EQ(response_bytes(), 0u);
    EXPECT_EQ(received_bytes(), 0u);
  }
}

}  // namespace
}  // namespace keel::http::held_memory_test
