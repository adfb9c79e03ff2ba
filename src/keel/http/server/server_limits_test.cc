// What the server's limits do: times, sizes, connections, memory and descriptors; over real sockets (io_uring, epoll)
// and simulated ones.

#include "keel/http/server/server.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "keel/http/testing/internal/server_fixture.h"
#include "keel/net/stream.h"

namespace keel::http::server_limits_test {
namespace {

using namespace internal;
using namespace std::string_literals;

using LimitedServers = Servers;
INSTANTIATE_TEST_SUITE_P(, LimitedServers, io::testing::every_engine(), io::testing::name_of_engine);

// --- Time.

TEST_P(LimitedServers, answer_408_when_a_head_does_not_end_however_slowly_it_comes) {
  Limits limits;
  limits.header_timeout = 80_ms;
  start(limits);
  Peer& silent = peer();
  Peer& slow_one = peer();
  const Instant began = now();
  silent.send("GET /plaintext HTTP/1.1\r\nHo");
  const std::string dribble = "GET /plaintext HTTP/1.1\r\nX: " + std::string(200, 'x');
  for (std::size_t i = 0; i < dribble.size() && !slow_one.has_ended() && slow_one.wire().empty(); ++i) {
    slow_one.send(dribble.substr(i, 1));
    pass(3_ms);
  }
  ASSERT_TRUE(until([&] { return silent.has_ended() && slow_one.has_ended(); }));
  EXPECT_GE((now() - began).count_ms(), 80);
  for (Peer* one : {&silent, &slow_one}) {
    ASSERT_EQ(one->all().size(), 1u);
    EXPECT_EQ(one->all()[0].status, 408);
    EXPECT_TRUE(one->all()[0].closes());
  }
  EXPECT_EQ(server_->stats().refused, 2u);
}

TEST_P(LimitedServers, answer_408_when_a_body_does_not_end) {
  Limits limits;
  limits.body_timeout = 50_ms;
  start(limits);
  for (const char* request : {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe",
                              "POST /echo-later HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe"}) {
    Peer& one = peer();
    one.send(request);
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    ASSERT_EQ(one.all().size(), 1u);
    EXPECT_EQ(one.all()[0].status, 408);
  }
}

TEST_P(LimitedServers, close_idle_connections_without_a_word) {
  Limits limits;
  limits.idle_timeout = 60_ms;
  start(limits);
  Peer& never = peer();
  Peer& once = peer();
  once.send(get("/plaintext"));
  ASSERT_TRUE(until([&] { return never.has_ended() && once.has_ended(); }));
  EXPECT_EQ(never.wire(), "");
  EXPECT_EQ(once.all().size(), 1u);
  EXPECT_FALSE(once.all()[0].closes());
}

TEST_P(LimitedServers, keep_a_busy_connection_beyond_the_idle_time) {
  Limits limits;
  limits.idle_timeout = 150_ms;
  start(limits);
  Peer& one = peer();
  for (std::size_t i = 1; i <= 15; ++i) {
    one.send(get(i % 2 == 0 ? "/n/1" : "/t/3"));
    ASSERT_TRUE(has_replies(one, i)) << i;
    pass(30_ms);
  }
  EXPECT_FALSE(one.has_ended());
  EXPECT_EQ(server_->stats().timeouts, 0u);
}

TEST_P(LimitedServers, cut_a_peer_that_does_not_read) {
  Limits limits;
  limits.send_timeout = 100_ms;
  start(limits);
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  one.send(get("/large") + get("/large"));
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0 && server_->stats().accepted == 1; }));
  EXPECT_EQ(server_->stats().aborted, 1u);
  EXPECT_EQ(server_->stats().timeouts, 1u);
}

TEST_P(LimitedServers, leave_a_slow_peer_alone_while_it_takes_something) {
  Limits limits;
  // A real kernel tells of room in large steps only; there the whole response leaves in time.
  limits.send_timeout = is_sim() ? 40_ms : 400_ms;
  start(limits);
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.send(get("/large"));
  for (int i = 0; i < 400 && one.all().empty(); ++i) {
    one.pause();
    pass(30_ms);
    one.resume();
    pass(2_ms);
  }
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].body.size(), large.size());
  EXPECT_EQ(server_->stats().timeouts, 0u);
}

TEST_P(LimitedServers, answer_504_when_a_handler_takes_too_long) {
  Limits limits;
  limits.request_timeout = 50_ms;
  start(limits);
  const auto list = ask(get("/forever") + get("/n/1"));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].status, 504);
  EXPECT_EQ(list[1].body, "n=1");
  EXPECT_EQ(handlers_running.load(), 0);
}

// --- Sizes.

TEST_P(LimitedServers, send_large_bodies_whole_with_requests_behind_them) {
  start();
  const auto list = ask(get("/n/1") + get("/large") + get("/n/2") + get("/t/3") + get("/large") + get("/n/4"));
  ASSERT_EQ(list.size(), 6u);
  EXPECT_EQ(list[0].body, "n=1");
  EXPECT_TRUE(list[1].body == large);
  EXPECT_EQ(list[2].body, "n=2");
  EXPECT_EQ(list[3].body, "t=3");
  EXPECT_TRUE(list[4].body == large);
  EXPECT_EQ(list[5].body, "n=4");
}

TEST_P(LimitedServers, send_a_large_body_that_is_made_while_a_small_one_is_on_its_way) {
  start();
  for (int round = 0; round < 20; ++round) {
    Peer& one = peer();
    one.send(get("/kilobyte"));
    one.send(get("/large"));
    one.send(get("/n/1"));
    one.finish_writing();
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    const auto list = one.all();
    ASSERT_EQ(list.size(), 3u) << one.wire().size();
    EXPECT_TRUE(list[1].body == large);
    close(one);
  }
}

TEST_P(LimitedServers, stop_reading_from_a_peer_that_does_not_take_its_answers) {
  Limits limits;
  limits.pipeline_bytes_max = 16 * 1024;
  start(limits);
  constexpr std::size_t count = 20'000;
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  std::string wire;
  for (std::size_t i = 0; i < count; ++i) wire += get("/kilobyte");
  one.send(wire);
  pass(50_ms);
  std::uint64_t before = 0;
  ASSERT_TRUE(until([&] {
    const std::uint64_t was = std::exchange(before, server_->stats().requests);
    pass(30_ms);
    return server_->stats().requests == was && was != 0;
  }));
  EXPECT_LT(server_->stats().requests, count);

  one.resume();
  ASSERT_TRUE(until([&] { return server_->stats().requests == count; }));
  one.finish_writing();
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(one.all().size(), count);
}

// What is being sent is unsent as well. The simulated network holds the same of each connection.
TEST_P(LimitedServers, hold_no_more_of_unsent_answers_than_their_limit) {
  if (!is_sim()) GTEST_SKIP() << "a kernel holds now more and now less";
  const auto requests_answered = [&](std::size_t pipeline_bytes_max) {
    Limits limits;
    limits.pipeline_bytes_max = pipeline_bytes_max;
    limits.send_timeout = limits.idle_timeout = 1_h;
    start(limits);
    Peer& one = peer();
    EXPECT_TRUE(until([&] { return one.is_connected(); }));
    one.pause();
    std::string wire;
    for (std::size_t i = 0; i < 4000; ++i) wire += get("/kilobyte");
    one.send(wire);
    pass(1_s);
    const std::uint64_t answered = server_->stats().requests;
    reset(one);
    EXPECT_TRUE(until([&] { return server_->stats().connections == 0; }));
    server_->begin_drain(Duration());
    EXPECT_TRUE(until([&] { return server_->is_drained(); }));
    return answered;
  };

  const std::uint64_t few = requests_answered(1024);
  const std::uint64_t many = requests_answered(257 * 1024);

  EXPECT_GT(many, few);
  EXPECT_LE(many - few, 257u);
}

TEST_P(LimitedServers, close_a_connection_after_its_most_requests) {
  Limits limits;
  limits.requests_per_connection_max = 3;
  start(limits);
  const auto list = ask(get("/n/1") + get("/t/2") + get("/n/3") + get("/n/4"));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_FALSE(list[1].closes());
  EXPECT_TRUE(list[2].closes());
}

// --- Who still writes when the response has been given.

TEST_P(LimitedServers, are_heard_by_who_writes_all_before_it_reads) {
  start();
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  one.send(post("/echo", std::string(8 << 20, 'u')));
  ASSERT_TRUE(until([&] { return one.is_sent(); }));
  pass(20_ms);
  EXPECT_EQ(one.send_error(), 0);

  one.resume();

  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(one.error(), 0);
  ASSERT_EQ(one.all().size(), 1u);
  EXPECT_EQ(one.all()[0].status, 413);
  close(one);
  EXPECT_TRUE(until([&] { return server_->stats().connections == 0; }));
  EXPECT_EQ(server_->stats().timeouts, 0u);
}

TEST_P(LimitedServers, are_heard_by_who_writes_slowly) {
  start();
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  one.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n");
  for (int i = 0; i < (is_sim() ? 30 : 15); ++i) {
    one.send(std::string(20'000, 'u'));
    pass(100_ms);
    EXPECT_EQ(one.send_error(), 0);
  }

  one.resume();

  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(one.error(), 0);
  ASSERT_EQ(one.all().size(), 1u);
  EXPECT_EQ(one.all()[0].status, 413);
}

TEST_P(LimitedServers, leave_who_sends_on_for_ever) {
  Limits limits;
  limits.linger_timeout = 60_ms;
  limits.linger_time_max = 300_ms;
  start(limits);
  Peer& silent = peer();
  Peer& busy = peer();
  for (Peer* one : {&silent, &busy}) one->send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 80000000\r\n\r\n");
  ASSERT_TRUE(has_replies(silent, 1) && has_replies(busy, 1));

  const Instant began = now();
  ASSERT_TRUE(until([&] {
    if (busy.is_sent()) busy.send("u");
    return server_->stats().connections == 1;
  }));
  EXPECT_GE(now() - began, 50_ms);
  EXPECT_LT(now() - began, 250_ms);
  ASSERT_TRUE(until([&] {
    if (busy.is_sent()) busy.send("u");
    pass(1_ms);
    return server_->stats().connections == 0;
  }));
  EXPECT_GE(now() - began, 250_ms);
  EXPECT_EQ(server_->stats().timeouts, 2u);
}

TEST_P(LimitedServers, wait_a_second_for_who_sends_on_when_they_drain) {
  start();
  Peer& one = peer();
  one.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 80000000\r\n\r\n");
  ASSERT_TRUE(has_replies(one, 1));
  const Instant began = now();
  server_->begin_drain();
  ASSERT_TRUE(until([&] { return server_->is_drained(); }));
  EXPECT_GE(now() - began, 500_ms);
  EXPECT_LT(now() - began, 3_s);
}

TEST_P(LimitedServers, stop_accepting_at_the_limit_and_go_on_below_it) {
  Limits limits;
  limits.connections_max = 4;
  start(limits);
  for (int i = 0; i < 4; ++i) {
    peer().send(get("/n/1"));
    ASSERT_TRUE(has_replies(*peers_.back(), 1));
  }
  Peer& fifth = peer();
  fifth.send(get("/n/5"));
  pass(20_ms);
  EXPECT_EQ(fifth.wire(), "");
  EXPECT_EQ(server_->stats().connections, 4u);
  EXPECT_EQ(server_->stats().connections_max, 4u);
  EXPECT_EQ(server_->stats().paused_full, 1u);

  close(*peers_[1]);
  ASSERT_TRUE(has_replies(fifth, 1));
}

TEST_P(LimitedServers, go_on_accepting_when_connections_end_as_soon_as_the_limit_is_met) {
  Limits limits;
  limits.connections_max = 1;
  start(limits);
  for (int i = 0; i < 30; ++i) {
    peer().send(get("/n/1", "Connection: close\r\n"));
    peers_.back()->finish_writing();
  }
  ASSERT_TRUE(until([&] { return std::ranges::all_of(peers_, [](auto& p) { return p->has_ended(); }); }));
  for (auto& one : peers_) EXPECT_EQ(one->all().size(), 1u);
}

TEST_P(LimitedServers, never_have_more_connections_than_the_limit_however_many_wait) {
  const io::testing::ManyDescriptors many(4096);
  if (!many.are_granted()) GTEST_SKIP() << "4,096 descriptors";
  Limits limits;
  limits.connections_max = 200;
  start(limits);
  std::uint64_t most = 0;
  const auto connections = [&] { return most = std::max(most, server_->stats().connections); };

  for (int i = 0; i < 1000; ++i) peer();
  ASSERT_TRUE(until([&] {
    return connections() >= 200 && std::ranges::all_of(peers_, [](auto& one) { return one->is_connected(); });
  }));
  settle();

  EXPECT_EQ(connections(), 200u);
  EXPECT_EQ(server_->stats().accepted, 200u);
  for (auto& one : peers_) one->send(get("/n/1", "Connection: close\r\n"));
  ASSERT_TRUE(until([&] {
    connections();
    return std::ranges::all_of(peers_, [](auto& one) { return one->has_ended(); });
  }));
  EXPECT_EQ(most, 200u);
  for (auto& one : peers_) EXPECT_EQ(one->all().size(), 1u);
}

// A queue's length below the limit they are accepted one by one, and all together again further below.
TEST_P(LimitedServers, meet_their_limit_exactly_again_and_again) {
  Limits limits;
  limits.connections_max = 100;
  start(limits, {.backlog = 32});
  for (int round = 0; round < 3; ++round) {
    std::uint64_t most = 0;
    while (peers_.size() < 120) {
      for (int i = 0; i < 9; ++i) peer();
      ASSERT_TRUE(until([&] {
        most = std::max(most, server_->stats().connections);
        return std::ranges::all_of(peers_, [](auto& one) { return one->is_connected(); });
      }));
      settle();
    }
    most = std::max(most, server_->stats().connections);
    EXPECT_EQ(most, 100u) << round;
    // Those who waited have their turn when others go.
    for (int i = 0; i < 100; ++i) close(*peers_.front());
    ASSERT_TRUE(until([&] { return server_->stats().connections == peers_.size(); }));
  }
}

// They are closed before somebody comes, and so nobody waits.
TEST_P(LimitedServers, close_who_has_been_idle_longest_when_they_are_full) {
  Limits limits;
  limits.connections_max = 4;
  start(limits);
  for (int i = 0; i < 4; ++i) {
    peer().send(get("/n/1"));
    ASSERT_TRUE(has_replies(*peers_.back(), 1));
    pass(30_ms);
  }
  peers_[0]->send(get("/n/2"));
  ASSERT_TRUE(has_replies(*peers_[0], 2));
  EXPECT_EQ(server_->stats().idle_closed, 0u);

  ASSERT_TRUE(until([&] { return peers_[1]->has_ended(); }));
  EXPECT_EQ(peers_[1]->error(), 0);
  EXPECT_EQ(server_->stats().idle_closed, 1u) << "no more than are needed";
  pass(200_ms);
  EXPECT_EQ(server_->stats().connections, 3u);

  const Instant began = now();
  Peer& newcomer = peer();
  newcomer.send(get("/n/5"));
  ASSERT_TRUE(has_replies(newcomer, 1));
  EXPECT_LT(now() - began, 500_ms);
  ASSERT_TRUE(until([&] { return peers_[2]->has_ended(); }));
  newcomer.send(get("/n/6"));
  peers_[0]->send(get("/n/6"));
  peers_[3]->send(get("/n/6"));
  EXPECT_TRUE(has_replies(newcomer, 2) && has_replies(*peers_[0], 3) && has_replies(*peers_[3], 2));
}

TEST_P(LimitedServers, close_the_longest_idle_of_many_that_could_be_closed) {
  Limits limits;
  limits.connections_max = 32;
  start(limits);
  for (int i = 0; i < 31; ++i) peer();
  const auto is_longest = [](std::size_t i) { return i == 10 || i == 20 || i == 30; };
  for (const bool again : {false, true}) {
    for (std::size_t i = 0; i < 31; ++i) {
      if (again && is_longest(i)) continue;
      peers_[i]->send(get("/n/1"));
      ASSERT_TRUE(has_replies(*peers_[i], again ? 2 : 1));
    }
    pass(50_ms);
  }
  pass(1100_ms);

  Peer& newcomer = peer();
  newcomer.send(get("/n/3"));
  ASSERT_TRUE(has_replies(newcomer, 1));
  ASSERT_TRUE(until([&] { return server_->stats().idle_closed == 3; })) << "a sixteenth and one";
  pass(20_ms);

  for (std::size_t i = 0; i < 31; ++i) EXPECT_EQ(peers_[i]->has_ended(), is_longest(i)) << i;
}

TEST_P(LimitedServers, let_nobody_wait_for_longer_than_the_silent_are_given) {
  Limits limits;
  limits.connections_max = 40;
  start(limits);
  for (int i = 0; i < 40; ++i) peer();
  ASSERT_TRUE(until([&] { return server_->stats().connections == 40; }));

  const Instant began = now();
  Peer& newcomer = peer();
  newcomer.send(get("/n/5"));
  ASSERT_TRUE(has_replies(newcomer, 1));
  EXPECT_GE(now() - began, 500_ms) << "who has just come is not sent away";
  EXPECT_LT(now() - began, 3_s);
  EXPECT_EQ(server_->stats().idle_closed, 3u) << "a sixteenth and one";
}

TEST_P(LimitedServers, close_nobody_with_a_request_under_way) {
  held_back = true;
  Limits limits;
  limits.connections_max = 3;
  start(limits, {.send_buffer_bytes = 64 * 1024});
  Peer& handled = peer();
  Peer& body = peer();
  Peer& reader = peer();
  ASSERT_TRUE(until([&] { return reader.is_connected(); }));
  reader.pause();
  handled.send(get("/held"));
  body.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nbeg");
  reader.send(get("/large"));
  ASSERT_TRUE(until([&] { return handlers_running == 1; }));
  Peer& newcomer = peer();
  newcomer.send(get("/n/5"));
  pass(2500_ms);
  EXPECT_EQ(server_->stats().idle_closed, 0u);
  EXPECT_EQ(server_->stats().connections, 3u);
  EXPECT_EQ(newcomer.wire(), "");

  held_back = false;
  ASSERT_TRUE(has_replies(handled, 1));
  ASSERT_TRUE(has_replies(newcomer, 1)) << "a second after the answer there is room";
  EXPECT_TRUE(handled.has_ended());
  EXPECT_EQ(handled.all()[0].status, 200);
  body.send(std::string(997, 'b'));
  reader.resume();
  EXPECT_TRUE(has_replies(body, 1) && has_replies(reader, 1));
}

// A client that begins a head and does not end it holds a place for no longer than one that says nothing.
TEST_P(LimitedServers, close_the_oldest_head_that_is_not_whole_when_they_are_full) {
  Limits limits;
  limits.connections_max = 8;
  limits.header_timeout = 1_s;
  start(limits);
  for (int i = 0; i < 7; ++i) {
    peer().send(i % 2 == 0 ? "G" : get("/n/1") + "GET /n/2 HT");
    ASSERT_TRUE(until([&] { return peers_.back()->is_sent(); }));
    pass(20_ms);
  }
  const Instant began = now();
  Peer& eighth = peer();
  eighth.send(get("/n/8"));
  ASSERT_TRUE(has_replies(eighth, 1));
  Peer& newcomer = peer();
  newcomer.send(get("/n/9"));
  ASSERT_TRUE(has_replies(newcomer, 1));

  EXPECT_LT(now() - began, 800_ms);
  ASSERT_TRUE(until([&] { return peers_[0]->has_ended(); }));
  EXPECT_EQ(peers_[0]->wire(), "");
  EXPECT_GE(server_->stats().idle_closed, 1u);
  EXPECT_EQ(server_->stats().cut, server_->stats().idle_closed) << "as requests that were never whole";
  EXPECT_FALSE(peers_[6]->has_ended()) << "the youngest";
  EXPECT_FALSE(eighth.has_ended());
}

// The admin listener's case: as many slow heads as there are places, which come back as soon as they are closed.
TEST_P(LimitedServers, answer_a_probe_among_slow_heads_that_come_again_and_again) {
  Limits limits;
  limits.connections_max = 64;
  limits.header_timeout = 1_s;
  start(limits);
  std::vector<Peer*> slow;
  const auto attack = [&] {
    for (Peer*& one : slow) {
      if (!one->has_ended()) continue;
      close(*one);
      one = nullptr;
    }
    std::erase(slow, nullptr);
    while (slow.size() < 64) (slow.emplace_back(&peer()))->send("G");
  };
  attack();
  ASSERT_TRUE(until([&] { return server_->stats().connections >= 59; }));
  Duration slowest;
  for (int round = 0; round < 6; ++round) {
    const Instant began = now();
    Peer& probe = peer();
    probe.send(get("/plaintext"));
    while (!probe.wire().ends_with("Hello, World!") && now() - began < 20_s) {
      pass(5_ms);
      attack();
    }
    slowest = std::max(slowest, now() - began);
    close(probe);
    pass(100_ms);
  }
  EXPECT_LT(slowest, 1_s);
  EXPECT_GE(server_->stats().idle_closed, 6u);
}

// A client that continues sending behind its last response would hold its place for the whole of linger_time_max.
TEST_P(LimitedServers, take_the_place_of_a_client_that_sends_on) {
  Limits limits;
  limits.connections_max = 1;
  start(limits);
  Peer& rejected = peer();
  rejected.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 80000000\r\n\r\n");
  ASSERT_TRUE(has_replies(rejected, 1));
  const Instant began = now();
  Peer& newcomer = peer();
  newcomer.send(get("/n/5"));
  ASSERT_TRUE(until([&] {
    rejected.send("more");
    pass(10_ms);
    return newcomer.wire().ends_with("n=5");
  }));
  EXPECT_LT(now() - began, 3_s);
}

TEST_P(LimitedServers, take_no_body_where_there_may_be_none) {
  Limits limits;
  limits.body_bytes_max = 0;
  start(limits);
  for (const char* const framing : {"Content-Length: 1", "Transfer-Encoding: chunked"}) {
    Peer& one = peer();
    one.send("POST /echo HTTP/1.1\r\nHost: a\r\n" + std::string(framing) + "\r\n\r\n");
    ASSERT_TRUE(has_replies(one, 1)) << framing;
    EXPECT_EQ(one.all()[0].status, 413) << framing;
    EXPECT_TRUE(one.all()[0].closes());
  }
  EXPECT_EQ(ask_one(post("/echo", "", "Connection: close\r\n")).status, 200);
}

TEST_P(LimitedServers, take_the_places_of_those_that_are_only_waited_for) {
  Limits limits;
  limits.connections_max = 1;
  start(limits);
  Peer& refused = peer();
  refused.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 80000000\r\n\r\n");
  ASSERT_TRUE(has_replies(refused, 1));
  const Instant began = now();
  Peer& newcomer = peer();
  newcomer.send(get("/n/5"));
  ASSERT_TRUE(has_replies(newcomer, 1));
  EXPECT_LT(now() - began, 3_s) << "less than linger_timeout";
}

TEST_P(LimitedServers, accept_in_the_places_that_are_free_even_when_nobody_is_idle) {
  held_back = true;
  Limits limits;
  limits.connections_max = 64;
  start(limits);
  for (int i = 0; i < 64; ++i) peer().send(get("/held"));
  ASSERT_TRUE(until([&] { return handlers_running == 64; }));
  reset(*peers_[0]);
  ASSERT_TRUE(until([&] { return server_->stats().connections == 63; }));
  Peer& newcomer = peer();
  newcomer.send(get("/n/5"));
  ASSERT_TRUE(has_replies(newcomer, 1));
  held_back = false;
}

// A client that has connected is accepted, and may be one too many.
TEST_P(LimitedServers, look_for_no_room_when_they_drain) {
  if (is_sim()) GTEST_SKIP() << "nobody connects while the loop stands still";
  Limits limits;
  limits.connections_max = 1;
  start(limits);
  settle();
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(client, server_->address().system(), server_->address().system_size()), 0);
  server_->begin_drain(300_ms);
  ASSERT_TRUE(until([&] { return server_->stats().paused_full == 1; })) << "it is accepted and the limit is met";
  ASSERT_TRUE(until([&] { return server_->is_drained(); }));
  ::close(client);
  server_.reset();
  pass(1200_ms);  // A timer of the acceptor's would ring now.
}

// A flood of connections that say nothing: a client that sends a request immediately is served.
TEST_P(LimitedServers, serve_who_asks_among_many_who_do_not) {
  if (!is_sim()) GTEST_SKIP() << "in virtual time";
  Limits limits;
  limits.connections_max = 200;
  start(limits);
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 20; ++i) peer();  // Of 200 a second.
    pass(50_ms);
    Peer& good = peer();
    const Instant began = now();
    good.send(get("/n/5"));
    ASSERT_TRUE(has_replies(good, 1)) << round;
    EXPECT_LT(now() - began, 1500_ms) << round;
    ASSERT_LE(server_->stats().connections, 200u);
  }
}

// --- Limits that change.

TEST_P(LimitedServers, take_new_limits_for_what_begins_after_them) {
  start();
  Peer& head = peer();
  Peer& body = peer();
  Peer& task = peer();
  head.send("GET /n/1 HTTP/1.1\r\nX: " + std::string(60, 'x'));
  body.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n" + std::string(20, 'b') +
            "\r\n");
  task.send(get("/slow"));
  ASSERT_TRUE(until([&] { return server_->stats().accepted == 3; }));
  settle();

  Limits limits;
  limits.head.field_line_bytes_max = 100;
  limits.body_bytes_max = 10;
  limits.request_timeout = 1_ms;
  server_->change(limits, true);

  // What had begun ends as it began.
  head.send(std::string(60, 'x') + "\r\nHost: a\r\n\r\n");
  body.send("14\r\n" + std::string(20, 'b') + "\r\n0\r\n\r\n");
  ASSERT_TRUE(has_replies(head, 1) && has_replies(body, 1) && has_replies(task, 1));
  EXPECT_EQ(head.all()[0].body, "n=1");
  EXPECT_EQ(body.all()[0].body.size(), 40u);
  EXPECT_EQ(task.all()[0].status, 200);

  // What begins now, on the same connections and on new ones, does not.
  task.send(get("/slow"));
  ASSERT_TRUE(has_replies(task, 2));
  EXPECT_EQ(task.all()[1].status, 504);
  body.send(post("/echo", "0123456789a"));
  ASSERT_TRUE(has_replies(body, 2));
  EXPECT_EQ(body.all()[1].status, 413);
  EXPECT_EQ(ask_one(get("/n/1", "X: " + std::string(120, 'x') + "\r\n")).status, 431);
  EXPECT_EQ(ask_one(get("/n/1")).status, 200);

  // And back again.
  server_->change({}, true);
  EXPECT_EQ(ask_one(get("/n/1", "X: " + std::string(120, 'x') + "\r\n")).status, 200);
  EXPECT_EQ(ask_one(get("/slow")).status, 200);
}

TEST_P(LimitedServers, take_a_new_number_of_connections) {
  Limits limits;
  limits.connections_max = 2;
  start(limits);
  for (int i = 0; i < 2; ++i) {
    peer().send(get("/n/1"));
    ASSERT_TRUE(has_replies(*peers_.back(), 1));
  }
  Peer& third = peer();
  third.send(get("/n/3"));
  pass(20_ms);
  ASSERT_EQ(third.wire(), "");

  limits.connections_max = 3;
  server_->change(limits, true);
  ASSERT_TRUE(has_replies(third, 1));

  limits.connections_max = 1;
  server_->change(limits, true);
  third.send(get("/n/3"));
  ASSERT_TRUE(has_replies(third, 2)) << "nobody is sent away";
  close(third);
  Peer& fourth = peer();
  fourth.send(get("/n/4"));
  pass(20_ms);
  EXPECT_EQ(fourth.wire(), "");
  EXPECT_EQ(server_->stats().connections, 2u);

  close(*peers_[0]);
  pass(20_ms);
  EXPECT_EQ(fourth.wire(), "");
  close(*peers_[0]);
  ASSERT_TRUE(has_replies(fourth, 1));
}

TEST_P(LimitedServers, close_idle_connections_until_a_lower_number_holds) {
  if (!is_sim()) GTEST_SKIP() << "in virtual time";
  held_back = true;
  Limits limits;
  limits.connections_max = 200;
  limits.idle_timeout = 1_h;
  start(limits);
  for (int i = 0; i < 150; ++i) peer();
  for (int i = 0; i < 3; ++i) peers_[static_cast<std::size_t>(i)]->send(get("/held"));
  ASSERT_TRUE(until([&] { return server_->stats().connections == 150 && handlers_running == 3; }));
  pass(1500_ms);
  for (int i = 0; i < 5; ++i) peers_[static_cast<std::size_t>(3 + i)]->send(get("/n/1"));
  ASSERT_TRUE(has_replies(*peers_[7], 1));

  limits.connections_max = 10;
  server_->change(limits, false);
  Peer& newcomer = peer();
  newcomer.send(get("/n/4"));
  const Instant began = now();
  ASSERT_TRUE(has_replies(newcomer, 1));
  EXPECT_LT(now() - began, 1_s);
  EXPECT_LE(server_->stats().connections, 10u);

  // Those that were used a moment ago go when they have been idle for long enough.
  limits.connections_max = 4;
  server_->change(limits, false);
  ASSERT_TRUE(until([&] { return server_->stats().connections <= 4; }, 5_s));
  held_back = false;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(has_replies(*peers_[i], 1)) << "a request in progress continues";
}

TEST_P(LimitedServers, take_new_limits_when_draining_too) {
  start();
  Peer& one = peer();
  one.send(get("/slow"));
  ASSERT_TRUE(until([&] { return server_->stats().connections == 1; }));
  settle();
  server_->begin_drain();
  Limits limits;
  limits.connections_max = 1;
  server_->change(limits, true);
  limits.connections_max = 5;
  server_->change(limits, true);

  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_TRUE(until([&] { return server_->is_drained(); }));
}

// --- Memory and descriptors.

TEST_P(LimitedServers, refuse_bodies_while_as_much_is_held_as_may_be) {
  Limits limits;
  limits.bodies_bytes_max = 100 * 1024;
  start(limits);
  const std::string body(64 * 1024, 'b');
  const std::string request = post("/echo-later", body);
  Peer& first = peer();
  first.send(request.substr(0, request.size() - 10));
  ASSERT_TRUE(until([&] { return server_->stats().body_bytes >= 60 * 1024; }));

  const Reply refused = ask_one(request);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.field("Retry-After"), "1");
  EXPECT_TRUE(refused.closes());
  EXPECT_EQ(ask_one(post("/echo", "small")).status, 200) << "what fits is taken";
  EXPECT_EQ(server_->stats().bodies_refused, 1u);
  Limits less = limits;
  less.bodies_bytes_max = 1024;
  server_->change(less, true);
  EXPECT_EQ(ask_one(get("/later")).status, 200) << "what has no body needs no room for one";
  server_->change(limits, true);

  first.send(request.substr(request.size() - 10));
  ASSERT_TRUE(has_replies(first, 1));
  EXPECT_EQ(first.all()[0].body, body);
  ASSERT_TRUE(until([&] { return server_->stats().body_bytes == 0; })) << "given back with the answer";
  EXPECT_EQ(ask_one(request).status, 200);
  EXPECT_EQ(server_->stats().body_bytes_max, 100u * 1024);
}

TEST_P(LimitedServers, refuse_a_body_that_grows_beyond_what_may_be_held) {
  Limits limits;
  limits.bodies_bytes_max = 100 * 1024;
  start(limits);
  const std::string head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string chunk = "8000\r\n" + std::string(0x8000, 'c') + "\r\n";
  Peer& first = peer();
  Peer& second = peer();
  first.send(head + chunk + chunk);
  ASSERT_TRUE(until([&] { return server_->stats().body_bytes >= 64 * 1024; }));

  second.send(head + chunk + chunk);
  ASSERT_TRUE(has_replies(second, 1));
  EXPECT_EQ(second.all()[0].status, 503);
  EXPECT_TRUE(second.all()[0].closes());

  first.send("0\r\n\r\n");
  ASSERT_TRUE(has_replies(first, 1));
  EXPECT_EQ(first.all()[0].status, 200);
  EXPECT_EQ(server_->stats().bodies_refused, 1u);
  // A body that nobody will finish is given back as well.
  Peer& third = peer();
  third.send(head + chunk);
  ASSERT_TRUE(until([&] { return server_->stats().body_bytes != 0; }));
  close(third);
  EXPECT_TRUE(until([&] { return server_->stats().body_bytes == 0; }));
}

TEST_P(LimitedServers, answer_503_when_a_request_needs_too_much_memory) {
  Limits limits;
  limits.request_bytes_max = 256 * 1024;
  router_.get("/hungry", [](Request& request) {
    request.arena().allocate(300 * 1024);
    return Response::text(Status::Ok, "unexpected");
  });
  router_.get("/hungry-later", &hungry_later);
  start(limits);

  for (const char* target : {"/hungry", "/hungry-later"}) {
    const auto list = ask(get(target) + get("/plaintext"));
    ASSERT_EQ(list.size(), 2u);
    EXPECT_EQ(list[0].status, 503);
    EXPECT_EQ(list[0].field("Retry-After"), "1");
    EXPECT_EQ(list[1].status, 200) << "the connection goes on, and the memory was given back";
  }
  EXPECT_EQ(server_->stats().requests_too_big, 2u);
}

TEST_P(LimitedServers, accept_again_by_themselves_when_descriptors_had_run_out) {
  if (is_sim()) GTEST_SKIP() << "the simulation has no descriptors to run out of";
  // io_uring asks for the limit when the accept begins.
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = ::dup(0);
  ::close(next);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next) + 20;
  setrlimit(RLIMIT_NOFILE, &tight);
  start();
  Peer& one = peer();
  std::vector<int> others;
  for (int fd; (fd = ::dup(0)) >= 0;) others.push_back(fd);
  one.send(get("/n/2"));

  EXPECT_TRUE(until([&] { return server_->stats().paused_descriptors >= 2; })) << "it tries again by timer";
  EXPECT_LE(server_->stats().paused_descriptors, 250u) << "not as fast as it can";
  EXPECT_EQ(one.wire(), "");
  for (const int fd : others) ::close(fd);
  EXPECT_TRUE(has_replies(one, 1));
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace keel::http::server_limits_test
