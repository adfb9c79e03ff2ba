#include "keel/net/sessions/internal/core.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);  // core_fuzz.cc

namespace keel::sessions::internal::core_test {
namespace {

using Kind = Core::Event::Kind;

constexpr Duration beat = 10_s;

// Both sides of a session, and packets that arrive when a test says so.
class Cores : public ::testing::Test {
 protected:
  struct Side {
    explicit Side(const CoreOptions& options) : core(options) {}
    Core core;
    std::deque<std::string> arriving;  // What the other has sent.
    std::vector<std::string> messages;
    std::uint64_t lost = 0;
    bool handles = true;
  };

  static CoreOptions options(Role role) {
    return {.role = role, .window = {8, 4096}, .ring = {8, 4096}, .ack_every = 3, .ack_after = 40_ms};
  }
  void link() {
    const Point of_client = client.core.tell_point();
    const Point of_server = server.core.tell_point();
    ASSERT_TRUE(server.core.link(now, of_client, client.core.window(), beat));
    ASSERT_TRUE(client.core.link(now, of_server, server.core.window(), beat));
  }
  void cut() {
    for (Side* const side : {&client, &server}) {
      side->core.unlink();
      side->arriving.clear();
    }
  }
  void send(Side& from, Side& to) {
    Buffer packet;
    while (from.core.next(now, packet)) {
      to.arriving.emplace_back(packet.view());
      packet.clear();
    }
  }
  void arrive(Side& at) {
    while (!at.arriving.empty()) {
      const std::string packet = std::move(at.arriving.front());
      at.arriving.pop_front();
      const Result<Core::Event> event = at.core.receive(now, packet);
      ASSERT_TRUE(event) << event.error().describe();
      if (event->kind == Kind::Message) at.messages.emplace_back(event->payload);
      if (event->kind == Kind::Lost) at.lost += event->lost;
      if (event->kind != Kind::Nothing && at.handles) at.core.handled(now, event->number, event->cost());
    }
  }
  void exchange() {
    for (int i = 0; i < 4; ++i) {
      send(client, server);
      arrive(server);
      send(server, client);
      arrive(client);
    }
  }
  static Result<> push(Side& side, std::string_view text, WhenFull when_full = WhenFull::Refuse,
                       std::uint64_t key = 0) {
    Buffer payload;
    payload.append(text);
    return side.core.push(1, std::move(payload), when_full, key);
  }

  Instant now = Instant::from_ns(1'000'000'000);
  Side client{options(Role::Client)};
  Side server{options(Role::Server)};
};

TEST_F(Cores, deliver_messages_both_ways_in_order) {
  link();
  for (const char* const text : {"a", "b", "c"}) ASSERT_TRUE(push(client, text));
  ASSERT_TRUE(push(server, "x"));

  exchange();

  EXPECT_EQ(server.messages, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(client.messages, (std::vector<std::string>{"x"}));
}

TEST_F(Cores, send_what_was_pushed_before_the_connection) {
  ASSERT_TRUE(push(client, "early"));
  Buffer out;
  EXPECT_FALSE(client.core.next(now, out));

  link();
  exchange();

  EXPECT_EQ(server.messages, (std::vector<std::string>{"early"}));
}

TEST_F(Cores, send_again_what_was_on_its_way_when_the_connection_broke) {
  link();
  for (const char* const text : {"a", "b", "c"}) ASSERT_TRUE(push(client, text));
  send(client, server);
  server.arriving.resize(1);  // The others are cut off.
  arrive(server);
  cut();

  link();
  exchange();

  EXPECT_EQ(server.messages, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(client.core.unacknowledged(), 2u) << "the first was acknowledged by the point";
}

TEST_F(Cores, send_again_what_their_receiver_had_no_memory_for) {
  link();
  for (const char* const text : {"a", "b", "c"}) ASSERT_TRUE(push(client, text));
  send(client, server);
  const Result<Core::Event> first = server.core.receive(now, server.arriving[0]);
  const Result<Core::Event> second = server.core.receive(now, server.arriving[1]);
  ASSERT_TRUE(first && second);
  const std::size_t unhandled = server.core.unhandled_bytes();

  server.core.give_back(*second);

  EXPECT_EQ(server.core.point(), (Point{.seen = 1, .handled = 0}));
  EXPECT_EQ(server.core.unhandled_bytes(), unhandled - second->cost());
  server.core.handled(now, first->number, first->cost());
  cut();
  link();
  exchange();
  EXPECT_EQ(server.messages, (std::vector<std::string>{"b", "c"}));
}

TEST_F(Cores, tell_again_of_a_loss_that_their_receiver_had_no_memory_for) {
  link();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(push(client, std::to_string(i), WhenFull::DropOldest));
  send(client, server);
  const Result<Core::Event> event = server.core.receive(now, server.arriving[0]);
  ASSERT_TRUE(event);
  ASSERT_EQ(event->kind, Kind::Lost);

  server.core.give_back(*event);

  EXPECT_EQ(server.core.point(), Point());
  cut();
  link();
  exchange();
  EXPECT_EQ(server.lost, 2u);
  EXPECT_EQ(server.messages.size(), 8u);
}

TEST_F(Cores, acknowledge_every_few_messages_and_after_a_time) {
  link();
  ASSERT_TRUE(push(client, "a"));
  exchange();
  EXPECT_EQ(client.core.unacknowledged(), 1u);
  EXPECT_EQ(server.core.deadline(), now + 40_ms);

  now = now + 40_ms;
  EXPECT_EQ(server.core.tick(now), Core::Due::Packet);
  exchange();
  EXPECT_EQ(client.core.unacknowledged(), 0u);

  for (const char* const text : {"b", "c", "d"}) ASSERT_TRUE(push(client, text));
  exchange();
  EXPECT_EQ(client.core.unacknowledged(), 0u) << "three at once need no time";
}

TEST_F(Cores, acknowledge_with_a_message_of_the_other_direction) {
  link();
  ASSERT_TRUE(push(client, "a"));
  exchange();
  ASSERT_TRUE(push(server, "x"));

  exchange();

  EXPECT_EQ(client.core.unacknowledged(), 0u);
}

TEST_F(Cores, refuse_what_has_no_room) {
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(push(client, "x"));

  EXPECT_EQ(push(client, "y").error().code(), Code::ResourceExhausted);
  EXPECT_EQ(push(client, "y", WhenFull::Close).error().code(), Code::ResourceExhausted);
  EXPECT_FALSE(client.core.has_room(1));
  EXPECT_EQ(push(server, std::string(4097, 'x')).error().code(), Code::InvalidArgument);
  EXPECT_TRUE(push(server, std::string(2000, 'x')));
  EXPECT_TRUE(push(server, std::string(1900, 'x')));
  EXPECT_FALSE(push(server, std::string(100, 'x'))) << "bytes are bounded as well";
}

TEST_F(Cores, tell_the_receiver_how_many_were_dropped) {
  for (int i = 0; i < 11; ++i) ASSERT_TRUE(push(client, std::to_string(i), WhenFull::DropOldest));
  EXPECT_EQ(client.core.dropped(), 3u);

  link();
  exchange();

  EXPECT_EQ(server.lost, 3u);
  EXPECT_EQ(server.messages, (std::vector<std::string>{"3", "4", "5", "6", "7", "8", "9", "10"}));
}

TEST_F(Cores, do_not_count_as_lost_what_has_arrived_before_it_was_dropped) {
  link();
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(push(client, std::to_string(i)));
  send(client, server);
  arrive(server);
  cut();  // No acknowledgement has come.
  for (int i = 8; i < 10; ++i) ASSERT_TRUE(push(client, std::to_string(i), WhenFull::DropOldest));

  link();
  exchange();

  EXPECT_EQ(server.lost, 0u);
  EXPECT_EQ(server.messages.size(), 10u);
}

TEST_F(Cores, replace_a_message_of_the_same_key_that_was_not_sent) {
  link();
  ASSERT_TRUE(push(client, "a1", WhenFull::NewestOfKey, 1));
  send(client, server);
  for (const char* const text : {"a2", "a3"}) ASSERT_TRUE(push(client, text, WhenFull::NewestOfKey, 1));
  ASSERT_TRUE(push(client, "b1", WhenFull::NewestOfKey, 2));
  ASSERT_TRUE(push(client, "a4", WhenFull::NewestOfKey, 1));

  exchange();

  EXPECT_EQ(server.messages, (std::vector<std::string>{"a1", "a4", "b1"}));
  EXPECT_EQ(server.lost, 0u);
}

TEST_F(Cores, never_replace_what_may_have_arrived) {
  link();
  ASSERT_TRUE(push(client, "a1", WhenFull::NewestOfKey, 1));
  send(client, server);
  arrive(server);
  cut();
  ASSERT_TRUE(push(client, "a2", WhenFull::NewestOfKey, 1));

  link();
  exchange();

  EXPECT_EQ(server.messages, (std::vector<std::string>{"a1", "a2"}));
}

TEST_F(Cores, send_no_more_than_the_peer_has_room_for_until_it_has_handled_it) {
  Side large({.role = Role::Client, .ring = {100, 1 << 20}});
  server.handles = false;
  const Point of_client = large.core.tell_point();
  ASSERT_TRUE(large.core.link(now, server.core.tell_point(), server.core.window(), beat));
  ASSERT_TRUE(server.core.link(now, of_client, large.core.window(), beat));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(push(large, "x"));

  send(large, server);
  arrive(server);
  EXPECT_EQ(server.messages.size(), 8u);

  server.core.handled(now, 8, server.core.unhandled_bytes());
  send(server, large);
  arrive(large);
  send(large, server);
  arrive(server);
  EXPECT_EQ(server.messages.size(), 16u);
}

TEST_F(Cores, end_the_connection_of_a_peer_that_floods) {
  link();
  server.handles = false;
  Buffer out;
  for (std::uint64_t i = 1; i <= 9; ++i) {
    out.clear();
    write(out, Packet{.kind = internal::Kind::Data, .number = i, .type = 1, .payload = "x"});
    const Result<Core::Event> event = server.core.receive(now, out.view());
    ASSERT_EQ(event.has_value(), i <= 8);
    if (!event) {
      EXPECT_EQ(event.error().message(), "the peer sent more than the window of this side allows");
    }
  }
}

TEST_F(Cores, say_what_a_peer_does_wrong) {
  link();
  const auto says = [&](const Packet& packet) {
    Buffer out;
    write(out, packet);
    const Result<Core::Event> event = server.core.receive(now, out.view());
    return event ? std::string() : std::string(event.error().message());
  };
  EXPECT_EQ(says({.kind = internal::Kind::Data, .number = 2}), "the peer skipped the number of a message");
  EXPECT_EQ(says({.kind = internal::Kind::Data, .number = 1}), "");
  EXPECT_EQ(says({.kind = internal::Kind::Data, .number = 1}), "the peer sent a message twice");
  EXPECT_EQ(says({.kind = internal::Kind::Skip, .number = 1}), "the peer dropped a message that has already arrived");
  EXPECT_EQ(says({.kind = internal::Kind::Ack, .acknowledged = 1}),
            "the peer acknowledged a message that was not sent");
  cut();
  EXPECT_EQ(server.core.link(now, {.seen = 1, .handled = 0}, {1, 1}, beat).error().message(),
            "the peer claims to have received a message that was never sent");
}

TEST_F(Cores, ask_only_when_nothing_has_come_for_an_interval) {
  link();
  EXPECT_EQ(client.core.deadline(), now + beat);
  EXPECT_EQ(server.core.deadline(), now + beat * 5 / 4) << "usually one side asks";
  now = now + 9_s;
  ASSERT_TRUE(push(server, "x"));
  exchange();
  now = now + 9_s;
  EXPECT_EQ(client.core.tick(now), Core::Due::Packet) << "an acknowledgement";
  exchange();

  now = now + 1_s;
  EXPECT_EQ(client.core.tick(now), Core::Due::Packet);
  Buffer out;
  ASSERT_TRUE(client.core.next(now, out));
  EXPECT_EQ(out.view()[0], 'p');
  ASSERT_TRUE(server.core.receive(now, out.view()));
  out.clear();
  ASSERT_TRUE(server.core.next(now, out));
  EXPECT_EQ(out.view()[0], 'q');
  ASSERT_TRUE(client.core.receive(now, out.view()));
  EXPECT_EQ(client.core.deadline(), now + beat);
  EXPECT_EQ(client.core.heartbeats_missed(), 0u);
}

TEST_F(Cores, give_a_connection_up_after_two_questions_without_a_reply) {
  link();
  Buffer out;
  for (int i = 0; i < 2; ++i) {
    now = now + beat;
    EXPECT_EQ(client.core.tick(now), Core::Due::Packet);
    EXPECT_TRUE(client.core.next(now, out));
  }
  now = now + beat;

  EXPECT_EQ(client.core.tick(now), Core::Due::LinkLost);
  EXPECT_EQ(client.core.heartbeats_missed(), 2u);
}

TEST_F(Cores, ask_twice_before_they_give_a_connection_up_though_they_were_away_themselves) {
  link();
  Buffer out;
  now = now + beat * 10;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client.core.tick(now), Core::Due::Packet);
    EXPECT_TRUE(client.core.next(now, out));
    EXPECT_EQ(client.core.tick(now), Core::Due::Nothing) << "the peer has had no time to reply";
    EXPECT_EQ(client.core.deadline(), now + beat);
    now = now + beat;
  }

  EXPECT_EQ(client.core.tick(now), Core::Due::LinkLost);
}

TEST_F(Cores, take_the_goodbye_of_the_peer_with_its_reason) {
  link();
  Buffer out;
  write(out, Bye{.code = Code::PermissionDenied, .text = "kicked"});

  const Core::Event event = client.core.receive(now, out.view()).value();

  EXPECT_EQ(event.kind, Kind::Bye);
  EXPECT_EQ(event.code, Code::PermissionDenied);
  EXPECT_EQ(event.payload, "kicked");
}

TEST_F(Cores, give_their_memory_back_when_they_are_idle) {
  link();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(push(client, std::string(1000, 'x')));
  exchange();
  EXPECT_EQ(client.core.ring_bytes(), 0u);
  EXPECT_LE(sizeof(Core), 360u);
}

TEST_F(Cores, keep_to_the_window_of_a_slow_peer_though_they_drop_what_is_on_its_way) {
  link();
  server.handles = false;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(push(client, std::to_string(i)));
  send(client, server);
  arrive(server);

  for (int i = 8; i < 12; ++i) ASSERT_TRUE(push(client, std::to_string(i), WhenFull::DropOldest));
  send(client, server);
  arrive(server);
  EXPECT_EQ(server.messages.size(), 8u) << "the others wait until the peer has handled these";

  server.handles = true;
  server.core.handled(now, 8, server.core.unhandled_bytes());
  exchange();
  EXPECT_EQ(server.messages.size(), 12u);
  EXPECT_EQ(server.lost, 0u);
}

TEST_F(Cores, keep_to_the_window_of_a_slow_peer_over_another_connection) {
  link();
  server.handles = false;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(push(client, std::string(400, 'x')));
  send(client, server);
  arrive(server);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(push(client, std::string(400, 'y'), WhenFull::DropOldest));
  cut();

  link();
  send(client, server);
  arrive(server);

  EXPECT_EQ(server.messages.size(), 8u);
}

// More is dropped in each round than the window has messages.
TEST_F(Cores, bring_messages_though_more_are_dropped_than_arrive) {
  link();
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(push(client, std::to_string(50 * round + i), WhenFull::DropOldest));
    exchange();
  }

  EXPECT_GE(server.messages.size(), 50u);
  EXPECT_EQ(server.messages.back(), "499");
  EXPECT_EQ(server.messages.size() + server.lost, 500u);
}

TEST_F(Cores, end_the_connection_of_a_peer_that_floods_with_losses) {
  link();
  server.handles = false;
  Buffer out;
  for (std::uint64_t i = 1; i <= 9; ++i) {
    out.clear();
    write(out, Packet{.kind = internal::Kind::Skip, .number = i * 1000});
    const Result<Core::Event> event = server.core.receive(now, out.view());
    ASSERT_EQ(event.has_value(), i <= 8);
    if (!event) {
      EXPECT_EQ(event.error().message(), "the peer sent more than the window of this side allows");
    }
  }
}

// Both sides push, drop and replace messages at random; handlers are slow, packets are late, and connections break. No
// side may close the connection because of a broken rule, and each missing message has to be reported as lost.
TEST_F(Cores, never_break_a_rule_whatever_is_dropped) {
  std::uint64_t state = 1;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % below;
  };
  struct Unhandled {
    std::uint64_t number;
    std::size_t cost;
  };
  for (int round = 0; round < 400; ++round) {
    CoreOptions ends[2] = {options(Role::Client), options(Role::Server)};
    for (CoreOptions& of : ends) {
      of.window = {static_cast<std::uint32_t>(1 + random(8)), static_cast<std::uint32_t>(100 + random(2000))};
      of.ring = {static_cast<std::uint32_t>(1 + random(12)), static_cast<std::uint32_t>(300 + random(2000))};
    }
    Side one(ends[0]), other(ends[1]);
    std::map<const Side*, std::deque<Unhandled>> unhandled;
    std::map<const Side*, std::uint64_t> sent, gone, replaced;
    const auto take_one = [&](Side& at) {
      if (at.arriving.empty()) return;
      const std::string packet = std::move(at.arriving.front());
      at.arriving.pop_front();
      const Result<Core::Event> event = at.core.receive(now, packet);
      ASSERT_TRUE(event) << event.error().describe() << " in round " << round;
      if (event->kind == Kind::Nothing) return;
      if (event->kind == Kind::Message) at.messages.emplace_back(event->payload);
      if (event->kind == Kind::Lost) at.lost += event->lost;
      unhandled[&at].push_back({event->number, event->cost()});
      ASSERT_LE(unhandled[&at].size(), ends[&at == &other].window.messages);
    };
    const auto handle_one = [&](Side& at) {
      std::deque<Unhandled>& waiting = unhandled[&at];
      if (waiting.empty()) return;
      at.core.handled(now, waiting.front().number, waiting.front().cost);
      waiting.pop_front();
    };
    const auto connect = [&] {
      const Point of_one = one.core.tell_point();
      const Point of_other = other.core.tell_point();
      ASSERT_TRUE(other.core.link(now, of_one, one.core.window(), beat));
      ASSERT_TRUE(one.core.link(now, of_other, other.core.window(), beat));
    };
    const auto put = [&](Side& from) {
      const std::uint64_t kept = from.core.unacknowledged();
      const std::uint64_t dropped = from.core.dropped();
      const WhenFull how = random(2) == 0 ? WhenFull::DropOldest : WhenFull::NewestOfKey;
      const Result<> pushed = push(from, std::string(random(200), 'x'), how, random(4));
      ASSERT_TRUE(pushed);
      ++sent[&from];
      if (from.core.unacknowledged() + (from.core.dropped() - dropped) == kept) ++replaced[&from];
    };
    connect();
    for (int i = 0; i < 300; ++i) {
      now = now + 10_ms;
      Side& side = random(2) == 0 ? one : other;
      Side& peer = &side == &one ? other : one;
      const std::uint64_t what = random(16);
      if (what < 6) put(side);
      if (what == 6 || what == 7) send(side, peer);
      if (what > 7 && what < 12) take_one(side);
      if (what > 11 && what < 15) handle_one(side);
      if (what == 15 && random(4) == 0) {
        for (Side* const end : {&one, &other}) end->core.unlink(), end->arriving.clear();
        connect();
      }
      if (HasFatalFailure()) return;
    }
    for (int i = 0; i < 2000 && (one.core.unacknowledged() != 0 || other.core.unacknowledged() != 0); ++i) {
      now = now + 50_ms;
      for (Side* const end : {&one, &other}) {
        send(*end, end == &one ? other : one);
        while (!end->arriving.empty() && !HasFatalFailure()) take_one(*end);
        handle_one(*end);
      }
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(other.messages.size() + other.lost + replaced[&one], sent[&one]) << "in round " << round;
    EXPECT_EQ(one.messages.size() + one.lost + replaced[&other], sent[&other]) << "in round " << round;
  }
}

TEST_F(Cores, keep_the_newest_of_a_key_though_it_is_larger_than_what_it_replaces) {
  ASSERT_TRUE(push(client, "a" + std::string(1000, '1'), WhenFull::NewestOfKey, 1));
  ASSERT_TRUE(push(client, "b" + std::string(2500, '1'), WhenFull::NewestOfKey, 2));
  ASSERT_TRUE(push(client, "a" + std::string(2000, '2'), WhenFull::NewestOfKey, 1));

  link();
  exchange();

  ASSERT_FALSE(server.messages.empty());
  EXPECT_EQ(server.messages.back(), "a" + std::string(2000, '2'));
  EXPECT_LE(client.core.ring_bytes(), 4096u);
}

TEST_F(Cores, keep_the_place_of_a_key_when_older_messages_make_room_for_it) {
  ASSERT_TRUE(push(client, "b" + std::string(2500, '1'), WhenFull::NewestOfKey, 2));
  ASSERT_TRUE(push(client, "a1", WhenFull::NewestOfKey, 1));
  ASSERT_TRUE(push(client, "c1", WhenFull::NewestOfKey, 3));
  ASSERT_TRUE(push(client, "a" + std::string(2000, '2'), WhenFull::NewestOfKey, 1));

  link();
  exchange();

  EXPECT_EQ(server.messages, (std::vector<std::string>{"a" + std::string(2000, '2'), "c1"}));
  EXPECT_EQ(server.lost, 1u);
}

TEST_F(Cores, send_no_heartbeats_where_the_interval_is_zero) {
  const Point of_client = client.core.tell_point();
  ASSERT_TRUE(server.core.link(now, of_client, client.core.window(), Duration()));
  ASSERT_TRUE(client.core.link(now, server.core.tell_point(), server.core.window(), Duration()));
  EXPECT_EQ(client.core.deadline(), Instant::never());
  EXPECT_EQ(server.core.deadline(), Instant::never());
  now = now + 24_h;
  EXPECT_EQ(client.core.tick(now), Core::Due::Nothing);
  EXPECT_EQ(server.core.tick(now), Core::Due::Nothing);
}

// Each input is made of whole packets and of noise.
TEST(CoreFuzz, holds_for_random_inputs) {
  std::uint64_t state = 1;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % below;
  };
  for (int round = 0; round < 20'000; ++round) {
    Buffer input;
    for (std::uint64_t i = random(12); i != 0; --i) {
      Buffer packet;
      constexpr internal::Kind kinds[] = {internal::Kind::Data, internal::Kind::Skip, internal::Kind::Ack,
                                          internal::Kind::Ping};
      write(packet, Packet{.kind = kinds[random(4)],
                           .acknowledged = random(3),
                           .number = random(6),
                           .type = static_cast<std::uint16_t>(random(3)),
                           .payload = "payload"});
      if (random(2) == 0) input.push_back(static_cast<char>(random(256)));
      input.push_back(static_cast<char>(packet.size() * 6 + 4 + random(2)));
      input.append(packet.view());
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
}

}  // namespace
}  // namespace keel::sessions::internal::core_test
