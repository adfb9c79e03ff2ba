// Sessions over connections that come and go, on every engine, over TCP and Unix sockets and under a layer.

#include "keel/net/sessions/session.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/events/bus.h"
#include "keel/net/sessions/bus.h"
#include "keel/net/sessions/internal/sessions_test.h"
#include "keel/task/leaf.h"

namespace keel::sessions::session_test {
namespace {

using namespace testing;

using Sessions = SessionsTest;
INSTANTIATE_TEST_SUITE_P(, Sessions, keel::internal::every_kind_and_layered(), keel::internal::name_of_engine);

TEST_P(Sessions, carry_messages_both_ways_in_order) {
  connect();
  Texts expected;
  for (int i = 0; i < 100; ++i) {
    expected.push_back(std::to_string(i));
    ASSERT_TRUE(say(expected.back()));
    ASSERT_TRUE(session()->send(Text{expected.back()}));
  }

  ASSERT_TRUE(until([&] { return at_server_.size() == 100 && at_client_.size() == 100; }));

  EXPECT_EQ(at_server_, expected);
  EXPECT_EQ(at_client_, expected);
  EXPECT_EQ(session()->name(), "kitchen");
  EXPECT_EQ(session()->number(), (*client_)->number());
  EXPECT_EQ(server_events_, Texts{"connected"});
  EXPECT_EQ(client_events_, Texts{"connected"});
  EXPECT_EQ(session()->stats().received, 100u);
  ASSERT_TRUE(run([](Session& s) -> Task<> { co_await s.acknowledged(); }(**client_)));
  EXPECT_EQ((*client_)->unacknowledged(), 0u);
}

TEST_P(Sessions, send_what_was_said_before_they_were_connected) {
  start_server();
  client_.emplace(client_handlers_, client_options());
  ASSERT_TRUE(say("early"));
  running_.emplace();
  running_->begin(client_->run(), [](StartCore&) noexcept {});

  ASSERT_TRUE(until([&] { return at_server_.size() == 1; }));
}

TEST_P(Sessions, go_on_over_another_connection_and_lose_nothing) {
  connect();
  Texts expected;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 20; ++i) {
      expected.push_back(std::to_string(round * 20 + i));
      ASSERT_TRUE(say(expected.back()));
      ASSERT_TRUE(session()->send(Text{expected.back()}));
    }
    cut();
    ASSERT_TRUE(until([&] { return (*client_)->stats().resumed == static_cast<std::uint64_t>(round + 1); }));
  }

  ASSERT_TRUE(until([&] { return at_server_.size() == 100 && at_client_.size() == 100; }));

  EXPECT_EQ(at_server_, expected);
  EXPECT_EQ(at_client_, expected);
  EXPECT_EQ(client_events_, (Texts{"connected", "resumed", "resumed", "resumed", "resumed", "resumed"}));
  EXPECT_EQ(server_events_, client_events_);
  EXPECT_EQ(registry_->stats().resumed, 5u);
}

TEST_P(Sessions, tell_their_receiver_how_many_messages_had_no_room) {
  start_server();
  ClientOptions options = client_options();
  options.session.ring_messages = 4;
  client_.emplace(client_handlers_, options);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(say(std::to_string(i)));
  EXPECT_EQ(say("4").error().code(), Code::ResourceExhausted);
  for (int i = 4; i < 7; ++i) ASSERT_TRUE(say(std::to_string(i), {.when_full = WhenFull::DropOldest}));
  running_.emplace();
  running_->begin(client_->run(), [](StartCore&) noexcept {});

  ASSERT_TRUE(until([&] { return at_server_.size() == 4; }));

  EXPECT_EQ(at_server_, (Texts{"3", "4", "5", "6"}));
  EXPECT_EQ(server_events_, (Texts{"connected", "lost 3"}));
  EXPECT_EQ((*client_)->stats().dropped, 3u);
  EXPECT_EQ(registry_->stats().lost, 3u);
}

TEST_P(Sessions, begin_again_when_the_server_has_forgotten_them) {
  start_server({.session = {}, .expiry = 20_ms, .authenticate = {}});
  start_client();
  ASSERT_TRUE(until([&] { return is_connected(); }));
  const std::uint64_t first = (*client_)->number();
  go_.reset();
  ASSERT_TRUE((*client_)->send(Slow{1}));
  ASSERT_TRUE(until([&] { return session()->stats().received == 1; }));
  running_->stop();  // The device is switched off …
  ASSERT_TRUE(until([&] { return running_->has_ended(); }));
  static_cast<void>(running_->take());
  ASSERT_TRUE(say("unsent"));
  ASSERT_TRUE(until([&] { return session() == nullptr; }));
  EXPECT_EQ(server_events_.back(), "ended: the client did not reconnect in time");

  running_.emplace();  // … and comes back too late.
  running_->begin(client_->run(), [](StartCore&) noexcept {});
  ASSERT_TRUE(until([&] { return at_server_ == Texts{"unsent"}; }));

  EXPECT_EQ(client_events_, (Texts{"connected", "forgotten, unconfirmed 1", "connected"}));
  EXPECT_NE((*client_)->number(), first);
  EXPECT_EQ(registry_->stats().forgotten, 1u);
  EXPECT_EQ(registry_->stats().expired, 1u);
}

TEST_P(Sessions, end_on_both_sides_with_a_reason) {
  connect();
  ASSERT_TRUE(registry_->kick(number_, Error(Code::PermissionDenied, "the device is blocked")));

  ASSERT_TRUE(until([&] { return running_->has_ended(); }));

  EXPECT_EQ(server_events_, (Texts{"connected", "ended: the device is blocked"}));
  EXPECT_EQ(client_events_, (Texts{"connected", "ended: the device is blocked"}));
  EXPECT_TRUE((*client_)->has_ended());
  EXPECT_EQ(say("late").error().code(), Code::Unavailable);
  stop_client();
  EXPECT_EQ(ended_.error().code(), Code::PermissionDenied);
  EXPECT_EQ(registry_->kick(number_, Error(Code::Cancelled, "again")).error().code(), Code::NotFound);
  EXPECT_EQ(sessions_->sessions(), 0u);
}

TEST_P(Sessions, end_without_telling_the_peer_what_is_inside) {
  connect();
  session()->end(Error(Code::Internal, "NOT NULL constraint failed: devices.key").from_environment());

  ASSERT_TRUE(until([&] { return running_->has_ended(); }));

  EXPECT_EQ(server_events_.back(), "ended: NOT NULL constraint failed: devices.key");
  EXPECT_EQ(client_events_.back(), "ended: the other side failed");
  stop_client();
  EXPECT_EQ(ended_.error().code(), Code::Internal);
}

TEST_P(Sessions, end_when_the_client_says_so) {
  connect();
  (*client_)->end(Error(Code::Cancelled, "done"));

  ASSERT_TRUE(until([&] { return server_events_.size() == 2; }));

  EXPECT_EQ(server_events_.back(), "ended: done");
  EXPECT_EQ(registry_->stats().sessions, 0u);
}

TEST_P(Sessions, carry_messages_that_are_larger_than_what_may_be_queued) {
  start_server();
  ClientOptions options = client_options();
  options.connection.peer.queued_bytes_max = 10'000;
  start_client(options);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(say(std::string(30'000, 'x')));

  ASSERT_TRUE(until([&] { return at_server_.size() == 5; }));

  EXPECT_EQ(client_events_, Texts{"connected"});
}

TEST_P(Sessions, end_while_they_are_being_connected) {
  start_server();
  for (int turns = 0; turns < 12; ++turns) {
    start_client();
    for (int i = 0; i < turns; ++i) {
      simulation_ != nullptr ? simulation_->step() : loop_->turn(keel::Host::system().now() + 1_ms) > 0;
    }
    (*client_)->end(Error(Code::Cancelled, "done"));
    ASSERT_TRUE(until([&] { return running_->has_ended(); })) << "after " << turns << " turns";
    stop_client();
    EXPECT_EQ(ended_.error().message(), "done");
  }
}

TEST_P(Sessions, handle_messages_one_after_the_other_though_a_handler_waits) {
  connect();
  ASSERT_TRUE((*client_)->send(Slow{1}));
  ASSERT_TRUE(say("a"));
  ASSERT_TRUE((*client_)->send(Slow{2}));
  ASSERT_TRUE(say("b"));
  ASSERT_TRUE(until([&] { return session()->stats().received == 4; }));
  EXPECT_TRUE(at_server_.empty());
  EXPECT_EQ((*client_)->unacknowledged(), 4u) << "they have come and are not handled";

  go_.set();
  ASSERT_TRUE(until([&] { return at_server_.size() == 4; }));

  EXPECT_EQ(at_server_, (Texts{"slow 1", "a", "slow 2", "b"}));
  ASSERT_TRUE(until([&] { return (*client_)->unacknowledged() == 0; }));
}

TEST_P(Sessions, slow_down_a_peer_whose_messages_are_handled_slowly) {
  ServerOptions options;
  options.session.window_messages = 8;
  start_server(std::move(options));
  ClientOptions of_client = client_options();
  of_client.session.ring_messages = 16;
  start_client(of_client);
  ASSERT_TRUE(until([&] { return is_connected(); }));
  for (int i = 0; i < 16; ++i) ASSERT_TRUE((*client_)->send(Slow{i}));
  EXPECT_EQ(say("x").error().code(), Code::ResourceExhausted);
  ASSERT_TRUE(until([&] { return session()->stats().received == 8; }));
  pass(20_ms);
  EXPECT_EQ(session()->stats().received, 8u) << "no more than the window";

  Start<void> waiting;
  ASSERT_FALSE(waiting.begin([](Session& s) -> Task<> { co_await s.room(); }(**client_), [](StartCore&) noexcept {}));
  go_.set();
  ASSERT_TRUE(until([&] { return waiting.has_ended(); }));
  EXPECT_TRUE(waiting.take());
  ASSERT_TRUE(until([&] { return at_server_.size() == 16; }));
}

TEST_P(Sessions, reject_a_client_that_is_not_authenticated) {
  ServerOptions options;
  options.authenticate = [this](const Greeting& client) -> Task<std::string> {
    const std::string name(client.name);
    const bool is_right = client.credentials == "key";
    co_await go_.wait();
    if (!is_right) co_await fail(Code::Unauthenticated, "the key is wrong");
    co_return "room/" + name;
  };
  start_server(std::move(options));
  start_client();
  pass(5_ms);
  EXPECT_FALSE((*client_)->is_connected());
  go_.set();
  ASSERT_TRUE(until([&] { return running_->has_ended(); }));
  EXPECT_EQ(client_events_, Texts{"ended: the key is wrong"});
  stop_client();
  EXPECT_EQ(ended_.error().code(), Code::Unauthenticated);
  EXPECT_EQ(registry_->stats().rejected, 1u);

  ClientOptions right = client_options();
  right.credentials = "key";
  start_client(right);
  ASSERT_TRUE(until([&] { return is_connected(); }));
  EXPECT_EQ(session()->name(), "room/kitchen");
}

TEST_P(Sessions, are_taken_over_by_a_newer_connection) {
  start_server();
  const auto first = connect_raw();
  const internal::Welcome welcome = greet(*first);
  const auto second = connect_raw();

  EXPECT_TRUE(greet(*second, welcome.token).is_resumed);

  ASSERT_TRUE(until([&] { return !first->reason.empty(); }));
  EXPECT_TRUE(first->reason.ends_with("a newer connection took the session over")) << first->reason;
  EXPECT_EQ(internal::read_bye(first->packets.back()).value().code, Code::Conflict);
  EXPECT_EQ(server_events_, (Texts{"connected", "resumed"}));
  EXPECT_EQ(registry_->stats().taken_over, 1u);
}

TEST_P(Sessions, without_an_expiry_end_when_a_newer_connection_asks_for_them) {
  start_server({.session = {}, .expiry = Duration(), .authenticate = {}});
  const auto first = connect_raw();
  const internal::Welcome welcome = greet(*first);
  const auto second = connect_raw();

  const internal::Welcome other = greet(*second, welcome.token);

  EXPECT_FALSE(other.is_resumed);
  EXPECT_NE(other.token.number, welcome.token.number);
  ASSERT_TRUE(until([&] { return !first->reason.empty(); }));
  second->say(internal::Packet{.kind = internal::Kind::Ping});
  ASSERT_TRUE(until([&] { return second->packets.size() == 2; })) << "the session is there";
  EXPECT_EQ(internal::read_packet(second->packets.back()).value().kind, internal::Kind::Pong);
  EXPECT_EQ(server_events_, (Texts{"connected", "ended: the client did not reconnect in time", "connected"}));
  EXPECT_EQ(registry_->stats().connected, 1u);
  EXPECT_EQ(registry_->stats().forgotten, 1u);
}

TEST_P(Sessions, are_not_given_to_who_does_not_know_their_secret) {
  start_server();
  const auto first = connect_raw();
  internal::Token token = greet(*first).token;
  token.secret[3] ^= 1;
  const auto second = connect_raw();

  const internal::Welcome welcome = greet(*second, token);

  EXPECT_FALSE(welcome.is_resumed);
  EXPECT_NE(welcome.token.number, token.number);
  EXPECT_TRUE(first->reason.empty());
}

TEST_P(Sessions, close_the_connection_of_a_peer_that_breaks_the_rules_with_the_reason) {
  start_server();
  struct Wrong {
    std::string packet, reason;
    bool greets;
  };
  Buffer twice;
  internal::write(twice, internal::Packet{.kind = internal::Kind::Data, .number = 5, .type = 1});
  for (const Wrong& wrong : {Wrong{"xyz", "a packet of the session is of an unexpected kind", false},
                             Wrong{"", "a packet of the session is of an unexpected kind", false},
                             Wrong{"xyz", "a packet of the session is of an unknown kind", true},
                             Wrong{std::string(twice.view()), "the peer skipped the number of a message", true}}) {
    const auto raw = connect_raw();
    if (wrong.greets) greet(*raw);
    ASSERT_TRUE((*raw->client)->try_send_session(wrong.packet));
    ASSERT_TRUE(until([&] { return !raw->reason.empty(); }));
    EXPECT_TRUE(raw->reason.ends_with(wrong.reason)) << raw->reason;
  }
  EXPECT_EQ(registry_->stats().sessions, 2u) << "they may resume";
}

TEST_P(Sessions, close_the_connection_of_a_peer_that_floods) {
  ServerOptions options;
  options.session.window_messages = 8;
  start_server(std::move(options));
  const auto raw = connect_raw();
  greet(*raw);
  Buffer payload;
  messages::encode(payload, Slow{1});
  for (std::uint64_t i = 1; i <= 20; ++i) {
    raw->say(internal::Packet{.kind = internal::Kind::Data, .number = i, .type = 2, .payload = payload.view()});
  }

  ASSERT_TRUE(until([&] { return !raw->reason.empty(); }));

  EXPECT_TRUE(raw->reason.ends_with("the peer sent more than the window of this side allows")) << raw->reason;
}

// Messages that its handler has not come to are dropped by their sender, which must not send more than it may.
TEST_P(Sessions, stay_connected_while_their_sender_drops_what_a_slow_handler_has_not_handled) {
  ServerOptions options;
  options.session.window_messages = 8;
  start_server(std::move(options));
  ClientOptions of_client = client_options();
  of_client.session.ring_messages = 8;
  start_client(of_client);
  ASSERT_TRUE(until([&] { return is_connected(); }));
  for (const WhenFull how : {WhenFull::DropOldest, WhenFull::NewestOfKey}) {
    for (std::uint64_t i = 0; i < 30; ++i) {
      ASSERT_TRUE((*client_)->send(Slow{static_cast<int>(i)}, {.when_full = how, .key = i}));
      if (i % 4 == 0) pass(1_ms);
    }
  }
  pass(20_ms);
  EXPECT_EQ(client_events_, Texts{"connected"});
  EXPECT_EQ(registry_->stats().resumed, 0u);

  go_.set();
  ASSERT_TRUE(until([&] { return (*client_)->unacknowledged() == 0; }));

  EXPECT_EQ(client_events_, Texts{"connected"});
  EXPECT_EQ(at_server_.size() + registry_->stats().lost, 60u);
  EXPECT_EQ(at_server_.back(), "slow 29");
}

TEST_P(Sessions, close_the_connection_of_a_peer_that_floods_with_losses) {
  ServerOptions options;
  options.session.window_messages = 8;
  start_server(std::move(options));
  const auto raw = connect_raw();
  greet(*raw);
  Buffer payload;
  messages::encode(payload, Slow{1});
  raw->say(internal::Packet{.kind = internal::Kind::Data, .number = 1, .type = 2, .payload = payload.view()});
  for (std::uint64_t i = 2; i <= 20; ++i) raw->say(internal::Packet{.kind = internal::Kind::Skip, .number = i});

  ASSERT_TRUE(until([&] { return !raw->reason.empty(); }));

  EXPECT_TRUE(raw->reason.ends_with("the peer sent more than the window of this side allows")) << raw->reason;
}

TEST_P(Sessions, end_with_a_message_that_is_not_what_its_type_says) {
  start_server();
  const auto raw = connect_raw();
  greet(*raw);
  raw->say(internal::Packet{.kind = internal::Kind::Data, .number = 1, .type = 1, .payload = "\x01"});

  ASSERT_TRUE(until([&] { return !raw->reason.empty(); }));

  EXPECT_NE(raw->reason.find("a message of the session: "), std::string::npos) << raw->reason;
  EXPECT_EQ(registry_->stats().sessions, 0u);
}

TEST_P(Sessions, bound_what_a_peer_costs_that_does_not_acknowledge) {
  ServerOptions options;
  options.session.ring_messages = 16;
  start_server(std::move(options));
  const auto raw = connect_raw();
  greet(*raw);
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(session()->send(Text{"x"}, {.when_full = WhenFull::Close}));
  EXPECT_EQ(registry_->stats().ring_bytes, session()->ring_bytes());
  EXPECT_EQ(session()->send(Text{"x"}, {.when_full = WhenFull::Close}).error().code(), Code::ResourceExhausted);

  ASSERT_TRUE(until([&] { return !raw->reason.empty(); }));

  EXPECT_TRUE(raw->reason.ends_with("the session's peer is too slow")) << raw->reason;
  EXPECT_EQ(server_events_.back(), "ended: the session's peer is too slow");
}

TEST_P(Sessions, ask_a_silent_peer_and_give_its_connection_up) {
  ServerOptions options;
  options.session.heartbeat = 40_ms;
  start_server(std::move(options));
  const auto raw = connect_raw();
  EXPECT_EQ(greet(*raw).heartbeat, 40_ms);
  const Instant began = now();

  ASSERT_TRUE(until([&] { return !raw->reason.empty(); }));

  EXPECT_TRUE(raw->reason.ends_with("the peer did not reply to two heartbeats")) << raw->reason;
  EXPECT_GE((now() - began).count_ms(), 125);
  EXPECT_EQ(registry_->stats().heartbeats_missed, 2u);
  EXPECT_EQ(registry_->stats().sessions, 1u);
}

class PausedSessions : public SessionsTest {
 protected:
  void configure(messages::ServerOptions& options) override { options.peer.messages_max = 1; }
};
INSTANTIATE_TEST_SUITE_P(, PausedSessions, keel::internal::every_engine(), keel::internal::name_of_engine);

TEST_P(PausedSessions, stay_connected_though_their_heartbeats_are_not_read) {
  requests_.on_raw(9, [this](messages::Peer&, Buffer) -> Task<> { co_await go_.wait(); });
  ServerOptions options;
  options.session.heartbeat = 50_ms;
  start_server(std::move(options));
  start_client();
  ASSERT_TRUE(until([&] { return is_connected(); }));

  ASSERT_TRUE((*client_)->peer()->try_send(messages::Raw{9, ""}));
  pass(500_ms);

  EXPECT_TRUE(is_connected());
  go_.set();
  ASSERT_TRUE(say("after"));
  ASSERT_TRUE(until([&] { return at_server_.size() == 1; }));
  EXPECT_EQ((*client_)->stats().resumed, 0u);
}

// On a machine that takes the loop, and with it both sides, away for half a heartbeat, it becomes longer.
TEST_P(Sessions, keep_an_idle_connection_by_heartbeats) {
  start_server();
  for (Duration heartbeat = 20_ms;; heartbeat = heartbeat * 2) {
    ASSERT_LE(heartbeat, 5_s) << "the machine never ran this test for a heartbeat without a pause";
    const std::uint64_t missed = registry_->stats().heartbeats_missed;
    client_events_.clear();
    ClientOptions options = client_options();
    options.session.heartbeat = heartbeat;
    start_client(options);
    ASSERT_TRUE(until([&] { return is_connected(); }));

    if (longest_pause_of(heartbeat * 10) >= heartbeat / 2) {
      stop_client();
      continue;
    }

    EXPECT_TRUE(is_connected());
    EXPECT_EQ(client_events_, Texts{"connected"});
    EXPECT_EQ(registry_->stats().heartbeats_missed, missed);
    return;
  }
}

TEST_P(Sessions, send_no_heartbeats_where_neither_side_wants_them) {
  ServerOptions options;
  options.session.heartbeat = Duration();
  start_server(std::move(options));
  ClientOptions of_client = client_options();
  of_client.session.heartbeat = Duration();
  start_client(of_client);
  ASSERT_TRUE(until([&] { return is_connected(); }));
  ASSERT_TRUE(say("x"));
  ASSERT_TRUE(until([&] { return (*client_)->unacknowledged() == 0; }));
  const Instant heard = session()->peer()->last_received();

  pass(150_ms);

  EXPECT_EQ(session()->peer()->last_received(), heard) << "nothing was sent";
  EXPECT_EQ(client_events_, Texts{"connected"});
}

TEST_P(Sessions, take_the_heartbeat_of_the_side_that_wants_one) {
  ServerOptions options;
  options.session.heartbeat = Duration();
  start_server(std::move(options));
  const auto raw = connect_raw();

  EXPECT_EQ(greet(*raw).heartbeat, 15_s) << "the client's";

  sessions_->change({.heartbeat = 20_s}, 60_s);
  const auto other = connect_raw();
  other->say(internal::Hello{.heartbeat = {}, .window = {100, 100'000}, .name = "raw"});
  ASSERT_TRUE(until([&] { return !other->packets.empty(); }));
  EXPECT_EQ(internal::read_welcome(other->packets.at(0)).value().heartbeat, 20_s) << "the server's";
}

TEST_P(Sessions, come_back_after_the_server_was_away) {
  connect();
  stop_server();
  ASSERT_TRUE(until([&] { return !(*client_)->is_connected(); }));
  ASSERT_TRUE(say("meanwhile"));
  go_.reset();
  start_server();

  ASSERT_TRUE(until([&] { return at_server_ == Texts{"meanwhile"}; }));

  EXPECT_EQ(client_events_, (Texts{"connected", "forgotten, unconfirmed 0", "connected"}));
}

// The server destroys both sessions before the second task has continued.
TEST_P(Sessions, tell_the_tasks_that_wait_for_them_why_they_end) {
  start_server();
  const auto first = connect_raw(), second = connect_raw();
  Start<void> waiting[2];
  for (int i = 0; i < 2; ++i) {
    greet(*(i == 0 ? first : second));
    ASSERT_TRUE(session()->send(Text{"not acknowledged"}));
    ASSERT_FALSE(waiting[i].begin([](Session& s) -> Task<> { co_await s.acknowledged(); }(*session()),
                                  [](StartCore&) noexcept {}));
  }

  ASSERT_TRUE(run(sessions_->stop()));

  for (Start<void>& wait : waiting) {
    ASSERT_TRUE(until([&] { return wait.has_ended(); }));
    const Result<> ended = wait.take();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code(), Code::Unavailable);
    EXPECT_EQ(ended.error().message(), "the session has ended: the server stops");
  }
}

TEST_P(Sessions, of_a_client_end_while_its_handler_waits) {
  client_handlers_.on<Slow>([this](Session&, Slow) -> Task<> {
    at_client_.push_back("begun");
    co_await go_.wait();
    at_client_.push_back("handled");
  });
  connect();
  ASSERT_TRUE(session()->send(Slow{1}));
  ASSERT_TRUE(until([&] { return at_client_.size() == 1; }));

  stop_client();

  EXPECT_EQ(ended_.error().code(), Code::Cancelled);
  go_.set();
  pass(5_ms);
  EXPECT_EQ(at_client_, Texts{"begun"});
  EXPECT_EQ(client_events_, Texts{"connected"});
}

// A wait that cannot be cancelled.
class Committed : public Leaf {
 public:
  using Value = void;
  explicit Committed(Committed*& place) noexcept : place_(place) {}
  bool start() noexcept {
    place_ = this;
    return false;
  }
  Result<> take() noexcept { return {}; }
  void complete() noexcept { wake(); }

 private:
  Committed*& place_;
};

TEST_P(Sessions, of_a_client_end_before_a_handler_that_cannot_be_stopped) {
  Committed* waits = nullptr;
  client_handlers_.on<Slow>([this, &waits](Session&, Slow) -> Task<> {
    co_await Committed(waits);
    at_client_.push_back("handled");
  });
  connect();
  ASSERT_TRUE(session()->send(Slow{1}));
  ASSERT_TRUE(until([&] { return waits != nullptr; }));
  (*client_)->end(Error(Code::Cancelled, "done"));

  stop_client();

  EXPECT_EQ(ended_.error().code(), Code::Cancelled);
  waits->complete();
  pass(5_ms);
  EXPECT_EQ(at_client_, Texts{"handled"});
  EXPECT_EQ(client_events_, (Texts{"connected", "ended: done"}));
}

TEST_P(Sessions, have_requests_beside_them) {
  requests_.on<Slow>([](messages::Peer&, Slow slow) { return Slow{slow.number * 2}; });
  connect();

  const Result<Slow> reply = run(
      [](messages::Peer& peer) -> Task<Slow> { co_return co_await peer.request<Slow>(Slow{21}); }(*(*client_)->peer()));

  ASSERT_TRUE(reply) << reply.error().describe();
  EXPECT_EQ(reply->number, 42);
}

TEST_P(Sessions, get_broadcasts_each_by_its_room) {
  connect();
  const auto raw = connect_raw();
  greet(*raw);

  registry_->broadcast(Text{"fire"});
  ASSERT_TRUE(registry_->send((*client_)->number(), Text{"you"}));

  ASSERT_TRUE(until([&] { return at_client_.size() == 2 && raw->packets.size() == 2; }));
  EXPECT_EQ(at_client_, (Texts{"fire", "you"}));
  EXPECT_EQ(registry_->send(77, Text{"you"}).error().code(), Code::NotFound);
}

TEST_P(Sessions, carry_events_of_a_bus_and_publish_messages_on_it) {
  events::Bus bus;
  publish_messages<Text>(client_handlers2_, bus);
  Texts heard;
  const events::Subscription listens = bus.subscribe<Text>([&](const Text& text) { heard.push_back(text.text); });
  start_server();
  client_.emplace(client_handlers2_, client_options());
  running_.emplace();
  running_->begin(client_->run(), [](StartCore&) noexcept {});
  ASSERT_TRUE(until([&] { return is_connected(); }));
  events::Bus server_bus;
  const events::Subscription alarms = broadcast_events<Text>(server_bus, *registry_);

  server_bus.publish(Text{"alarm"});

  ASSERT_TRUE(until([&] { return heard == Texts{"alarm"}; }));
  stop_client();
}

TEST_P(Sessions, are_shown_on_a_page) {
  connect();
  ASSERT_TRUE(say("x"));
  ASSERT_TRUE(until([&] { return at_server_.size() == 1; }));
  pass(5_ms);
  Buffer json, text;
  write_sessions_json(json, *registry_);
  write_sessions_text(text, *registry_);

  EXPECT_TRUE(json.view().starts_with(R"({"sessions":1,"connected":1,"shown":1,"list":[{"number":1,"name":"kitchen",)"))
      << json.view();
  EXPECT_NE(json.view().find(R"("received":1)"), std::string_view::npos);
  EXPECT_TRUE(text.view().starts_with("1 sessions, 1 connected\n1 kitchen: at ")) << text.view();
}

TEST_P(Sessions, end_at_a_server_that_has_none) {
  messages::ServerOptions options;
  options.layers = is_layered() ? &layers_ : nullptr;
  options.drain = 10_ms;
  messages_.emplace(requests_, std::move(options));
  ASSERT_FALSE(serving_.begin(messages_->serve(*listener_, stopping_), [](StartCore&) noexcept {}));
  sessions_.emplace(*registry_, server_handlers_);
  start_client();

  ASSERT_TRUE(until([&] { return running_->has_ended(); }));

  stop_client();
  EXPECT_EQ(ended_.error().code(), Code::Unsupported);
  EXPECT_TRUE(ended_.error().message().ends_with("a frame of a session arrived on a connection without sessions"))
      << ended_.error().message();
}

TEST_P(Sessions, try_the_next_server_when_one_cannot_be_reached) {
  start_server();
  ClientOptions options = client_options();
  options.servers.insert(options.servers.begin(), Address::parse("unix:/nowhere/at/all.sock").value());
  start_client(options);

  ASSERT_TRUE(until([&] { return is_connected(); }));
}

}  // namespace
}  // namespace keel::sessions::session_test
