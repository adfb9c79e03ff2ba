// Requests and messages between two programs, on every engine, over TCP and Unix sockets and under a layer.

#include "keel/net/messages/peer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/net/messages/internal/messages_test.h"
#include "keel/observe/span.h"
#include "keel/task/scope.h"

namespace keel::messages::peer_test {
namespace {

using namespace testing;

using Peers = MessagesTest;
INSTANTIATE_TEST_SUITE_P(, Peers, keel::internal::every_kind_and_layered(), keel::internal::name_of_engine);

TEST_P(Peers, answer_requests) {
  connect();
  Result<Sum> sum = ask<Sum>(client(), Add{2, 3});
  ASSERT_TRUE(sum) << sum.error().describe();
  EXPECT_EQ(sum->value, 5);
  EXPECT_EQ(client().outstanding(), 0u);
}

TEST_P(Peers, answer_with_the_error_of_the_handler) {
  connect();
  const Result<Sum> sum = ask<Sum>(client(), Add{13, 3});
  EXPECT_EQ(sum.error().code(), Code::Conflict);
  EXPECT_EQ(sum.error().message(), "not thirteen");
  EXPECT_TRUE(sum.error().is_from_environment());
}

TEST_P(Peers, say_that_there_is_no_handler) {
  connect();
  const Result<Sum> sum = ask<Sum>(client(), Rows{});
  EXPECT_EQ(sum.error().code(), Code::NotFound);
  EXPECT_EQ(sum.error().message(), "there is no handler for messages of type 4");
}

TEST_P(Peers, say_what_is_wrong_with_a_message_and_with_a_reply) {
  handlers_.on_raw(20, [](Peer&, std::string_view) { return std::string("no CBOR of a Sum"); });
  connect();
  const Result<Sum> sum = ask<Sum>(client(), Raw{2,
                                                 "\xa1"
                                                 "aa\x01"});
  EXPECT_EQ(sum.error().code(), Code::InvalidArgument);
  EXPECT_EQ(sum.error().message(), "/b is required");

  const Result<Sum> reply = ask<Sum>(client(), Raw{20, ""});
  EXPECT_EQ(reply.error().code(), Code::Protocol);
  EXPECT_TRUE(reply.error().message().starts_with("the reply of the peer: ")) << reply.error().message();
  // The connection continues.
  EXPECT_EQ(ask<Sum>(client(), Add{2, 3})->value, 5);
}

TEST_P(Peers, exchange_raw_bytes) {
  handlers_.on_raw(20, [](Peer&, std::string_view bytes) { return std::string(bytes.rbegin(), bytes.rend()); });
  handlers_.on_raw(21, [this](Peer&, Buffer bytes) -> Task<Buffer> {
    co_await go_.wait();
    co_return std::move(bytes);
  });
  connect();
  EXPECT_EQ(*ask<std::string>(client(), Raw{20, "abc"}), "cba");
  go_.set();
  const std::string large = keel::internal::pattern(300'000);
  Result<std::string> back = ask<std::string>(client(), Raw{21, large});
  ASSERT_TRUE(back) << back.error().describe();
  EXPECT_TRUE(*back == large);
}

TEST_P(Peers, tell_each_other_one_way_in_order) {
  std::vector<std::string> pushed;
  client_handlers_.on<Text>([&](Peer&, Text text) { pushed.push_back(text.text); });
  connect();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(client().try_send(Text{std::to_string(i)}));
    ASSERT_TRUE(peer_->try_send(Text{std::to_string(-i)}));
  }
  ASSERT_TRUE(until([&] { return texts_.size() == 100 && pushed.size() == 100; }));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(texts_[static_cast<std::size_t>(i)], std::to_string(i));
    EXPECT_EQ(pushed[static_cast<std::size_t>(i)], std::to_string(-i));
  }
}

TEST_P(Peers, ask_in_both_directions_at_the_same_time) {
  client_handlers_.on<Add>([](Peer& server, Add add) -> Task<Sum> {
    const Sum more = co_await server.request<Sum>(Add{add.b, 1000});
    co_return Sum{add.a + more.value};
  });
  connect();
  EXPECT_EQ(ask<Sum>(*peer_, Add{1, 10})->value, 1011);
}

Task<> ask_many(Peer& peer, int count, std::vector<int>& order) {
  Scope scope;
  struct One {
    static Task<> ask(Peer& peer, int i, std::vector<int>& order) {
      const Sum sum = co_await peer.request<Sum>(Wait{i});
      order.push_back(static_cast<int>(sum.value));
    }
  };
  for (int i = 0; i < count; ++i) scope.spawn(One::ask(peer, i, order));
  co_await scope.join();
}

TEST_P(Peers, have_no_more_requests_at_a_time_than_the_other_takes) {
  connect({.peer = {.requests_max = 8}});
  std::vector<int> order;
  Start<void> asking;
  asking.begin(ask_many(client(), 30, order), ignore);
  ASSERT_TRUE(until([&] { return waiting_ == 8; }));
  settle();
  EXPECT_EQ(waiting_, 8);
  EXPECT_EQ(client().outstanding(), 8u);
  EXPECT_EQ(peer_->handling(), 8u);
  go_.set();
  ASSERT_TRUE(until([&] { return asking.has_ended(); }));
  EXPECT_TRUE(asking.take());
  EXPECT_EQ(order.size(), 30u);
}

TEST_P(Peers, ask_nothing_of_one_that_takes_no_requests) {
  connect({}, {.requests_max = 0});
  EXPECT_EQ(ask<Sum>(*peer_, Add{1, 2}).error().code(), Code::Unsupported);
  EXPECT_EQ(ask<Sum>(client(), Add{1, 2})->value, 3);
}

TEST_P(Peers, cancel_at_the_other_what_is_cancelled_here) {
  connect({.peer = {.requests_max = 1}});
  Start<Sum> first, second;
  StopSource stop_first, stop_second;
  first.begin(asked<Sum>(client(), Wait{1}), ignore, {.stop = &stop_first});
  second.begin(asked<Sum>(client(), Wait{2}), ignore, {.stop = &stop_second});
  ASSERT_TRUE(until([&] { return waiting_ == 1; }));
  // One that waits for its turn leaves it.
  stop_second.request_stop();
  ASSERT_TRUE(until([&] { return second.has_ended(); }));
  EXPECT_EQ(second.take().error().code(), Code::Cancelled);
  stop_first.request_stop();
  ASSERT_TRUE(until([&] { return first.has_ended(); }));
  EXPECT_EQ(first.take().error().code(), Code::Cancelled);
  ASSERT_TRUE(until([&] { return waiting_ == 0 && client().outstanding() == 0; }));
  EXPECT_EQ(stopped_, std::vector<Code>{Code::Cancelled});
  EXPECT_EQ(ask<Sum>(client(), Add{2, 3})->value, 5);
}

Task<Sum> ask_within(Peer& peer, Duration limit) { co_return co_await with_timeout(limit, peer.request<Sum>(Wait{1})); }

TEST_P(Peers, take_the_deadline_along) {
  std::optional<Duration> left;
  handlers_.on_raw(20, [&](Peer&, Buffer) -> Task<Buffer> {
    left = (co_await this_task()).deadline - Host::current().now();
    co_return Buffer();
  });
  connect();
  struct Limited {
    static Task<> ask(Peer& peer) { co_await with_timeout(5_s, peer.request(Raw{20, ""})); }
  };
  ASSERT_TRUE(run(Limited::ask(client())));
  EXPECT_GT(*left, 3_s);
  EXPECT_LE(*left, 5001_ms);
  // And it passes at the other side by itself.
  EXPECT_EQ(run(ask_within(client(), 20_ms)).error().code(), Code::DeadlineExceeded);
  ASSERT_TRUE(until([&] { return stopped_.size() == 1; }));
}

TEST_P(Peers, take_the_trace_along) {
  log::TraceId seen;
  handlers_.on_raw(20, [&](Peer&, Buffer) -> Task<Buffer> {
    seen = current_span() != nullptr ? current_span()->trace : log::TraceId();
    co_return Buffer();
  });
  connect();
  const Span span{.trace = {7, 9}};
  Start<void> asking;
  struct Traced {
    static Task<> ask(Peer& peer) { co_await peer.request(Raw{20, ""}); }
  };
  asking.begin(Traced::ask(client()), ignore, {.span = &span});
  ASSERT_TRUE(until([&] { return asking.has_ended(); }));
  EXPECT_TRUE(asking.take());
  EXPECT_EQ(seen, (log::TraceId{7, 9}));
}

TEST_P(Peers, end_requests_when_the_connection_ends) {
  connect();
  Start<Sum> asking;
  asking.begin(asked<Sum>(client(), Wait{1}), ignore);
  ASSERT_TRUE(until([&] { return waiting_ == 1; }));
  peer_->close(Error(Code::PermissionDenied, "you are not welcome"));
  ASSERT_TRUE(until([&] { return asking.has_ended(); }));
  const Result<Sum> sum = asking.take();
  EXPECT_EQ(sum.error().code(), Code::Unavailable);
  EXPECT_EQ(sum.error().message(), "the connection has ended: the peer has closed the connection: you are not welcome");
  ASSERT_TRUE(until([&] { return closed_.size() == 1; }));
  EXPECT_EQ(closed_[0].code(), Code::PermissionDenied);
  EXPECT_EQ(stopped_, std::vector<Code>{Code::Cancelled}) << "handlers are stopped";
  EXPECT_EQ(client().try_send(Text{"late"}).error().code(), Code::Unavailable);
  EXPECT_EQ(ask<Sum>(client(), Add{1, 2}).error().code(), Code::Unavailable);
}

TEST_P(Peers, refuse_what_is_too_large_for_the_other) {
  connect({.peer = {.frame_bytes_max = 1000}});
  const std::string large(2000, 'x');
  EXPECT_EQ(ask<std::string>(client(), Raw{20, large}).error().code(), Code::OutOfRange);
  EXPECT_EQ(client().try_send(Raw{20, large}).error().code(), Code::OutOfRange);
  EXPECT_EQ(ask<Sum>(client(), Add{2, 3})->value, 5);
}

TEST_P(Peers, say_that_a_reply_is_too_large) {
  handlers_.on_raw(20, [](Peer&, std::string_view) { return std::string(5000, 'x'); });
  connect({}, {.frame_bytes_max = 1000});
  const Result<std::string> reply = ask<std::string>(client(), Raw{20, ""});
  EXPECT_EQ(reply.error().code(), Code::OutOfRange);
  EXPECT_EQ(reply.error().message(), "the reply is larger than the peer accepts (frame_bytes_max)");
}

TEST_P(Peers, check_frames_by_checksums_where_one_side_asks_for_them) {
  connect({.peer = {.checksums = true}});
  EXPECT_EQ(ask<Sum>(client(), Add{2, 3})->value, 5);
  EXPECT_EQ(ask<Sum>(client(), Add{2, 4})->value, 6);
}

TEST_P(Peers, bound_what_is_queued) {
  connect({}, {.queued_bytes_max = 100'000});
  const std::string bytes(30'000, 'x');
  int sent = 0;
  Result<> result;
  while ((result = client().try_send(Text{bytes}))) ++sent;
  EXPECT_EQ(result.error().code(), Code::ResourceExhausted);
  EXPECT_EQ(sent, 3);
  ASSERT_TRUE(until([&] { return texts_.size() == 3; }));
  EXPECT_TRUE(client().try_send(Text{bytes})) << "there is room again";
}

Task<> send_many(Peer& peer, int count, std::size_t bytes) {
  const Text text{std::string(bytes, 'x')};
  for (int i = 0; i < count; ++i) co_await peer.send(text);
}

TEST_P(Peers, wait_to_send_while_much_is_queued) {
  connect({}, {.high_bytes = 100'000, .low_bytes = 10'000});
  ASSERT_TRUE(run(send_many(client(), 200, 20'000)));
  ASSERT_TRUE(until([&] { return texts_.size() == 200; }));
}

TEST_P(Peers, wait_to_send_though_little_may_be_queued) {
  connect({}, {.queued_bytes_max = 60'000});
  ASSERT_TRUE(run(send_many(client(), 100, 20'000)));
  ASSERT_TRUE(until([&] { return texts_.size() == 100; }));
}

TEST_P(Peers, read_no_more_while_as_many_messages_as_may_are_handled) {
  connect({.peer = {.messages_max = 4}});
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(client().try_send(Wait{i}));
  ASSERT_TRUE(until([&] { return waiting_ == 4; }));
  settle();
  EXPECT_EQ(waiting_, 4);
  go_.set();
  ASSERT_TRUE(until([&] { return waiting_ == 0; }));
  EXPECT_EQ(ask<Sum>(client(), Add{2, 3})->value, 5);
}

// What ends these waits is read by the same connection, which reads no more while messages_max handlers run.
TEST_P(Peers, let_handlers_of_one_way_messages_ask_back_but_not_all_of_them) {
  int answered = 0;
  std::vector<Code> rejected;
  handlers_.on_raw(30, [&](Peer& peer, Buffer) -> Task<> {
    const Result<Sum> sum = co_await attempt(peer.request<Sum>(Add{2, 3}));
    sum ? void(++answered) : rejected.push_back(sum.error().code());
  });
  client_handlers_.on<Add>([](Peer&, Add add) { return Sum{add.a + add.b}; });
  connect({.peer = {.messages_max = 4}});
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(client().try_send(Raw{30, "x"}));
  ASSERT_TRUE(until([&] { return answered + static_cast<int>(rejected.size()) == 50; }))
      << answered << " " << rejected.size();
  EXPECT_GE(answered, 3);
  for (const Code code : rejected) EXPECT_EQ(code, Code::ResourceExhausted);
  // One after the other they all may.
  const int before = answered;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client().try_send(Raw{30, "x"}));
    ASSERT_TRUE(until([&] { return answered == before + i + 1; }));
  }
}

TEST_P(Peers, let_handlers_of_requests_ask_back_all_of_them) {
  int answered = 0;
  handlers_.on_raw(31, [&](Peer& peer, Buffer) -> Task<Sum> {
    const Sum sum = co_await peer.request<Sum>(Add{2, 3});
    ++answered;
    co_return sum;
  });
  client_handlers_.on<Add>([](Peer&, Add add) { return Sum{add.a + add.b}; });
  connect({.peer = {.messages_max = 1}});
  Start<Sum> asking[20];
  for (Start<Sum>& one : asking) one.begin(asked<Sum>(client(), Raw{31, "x"}), ignore);
  ASSERT_TRUE(until([&] { return answered == 20; }));
  ASSERT_TRUE(until([&] { return std::ranges::all_of(asking, [](auto& one) { return one.has_ended(); }); }));
  for (Start<Sum>& one : asking) EXPECT_EQ(one.take()->value, 5);
}

TEST_P(Peers, let_handlers_of_one_way_messages_wait_in_streams_but_not_all_of_them) {
  int received = 0;
  std::vector<Code> rejected;
  handlers_.on_raw(32, [&](Peer& peer, Buffer) -> Task<> {
    MessageStream rows = co_await peer.open(Rows{.count = 1});
    const Result<std::optional<Row>> row = co_await attempt(rows.receive<Row>());
    row ? void(++received) : rejected.push_back(row.error().code());
  });
  client_handlers_.on_stream<Rows>([&](Peer&, Rows, MessageStream out) -> Task<> {
    const Row row{7, "row"};
    co_await out.send(row);
  });
  connect({.peer = {.messages_max = 3}});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client().try_send(Raw{32, "x"}));
  ASSERT_TRUE(until([&] { return received + static_cast<int>(rejected.size()) == 20; }))
      << received << " " << rejected.size();
  EXPECT_GE(received, 2);
  for (const Code code : rejected) EXPECT_EQ(code, Code::ResourceExhausted);
}

TEST_P(Peers, drain_before_they_close) {
  connect();
  Start<Sum> asking;
  asking.begin(asked<Sum>(client(), Wait{7}), ignore);
  ASSERT_TRUE(until([&] { return waiting_ == 1; }));
  Start<void> stopping;
  stopping.begin(server_->stop(), ignore);
  ASSERT_TRUE(until([&] { return client().is_draining(); }));
  EXPECT_EQ(ask<Sum>(client(), Add{2, 3}).error().code(), Code::Unavailable);
  EXPECT_FALSE(asking.has_ended());
  go_.set();
  ASSERT_TRUE(until([&] { return asking.has_ended() && stopping.has_ended(); }));
  EXPECT_EQ(asking.take()->value, 7);
  EXPECT_TRUE(stopping.take());
  EXPECT_EQ(server_->connections(), 0u);
}

// A pool asks another server from the moment that it hears of it, and loses nothing.
TEST_P(Peers, get_answers_to_requests_that_were_on_their_way_when_the_server_stopped) {
  connect();
  Start<void> stopping;
  stopping.begin(server_->stop(), ignore);
  std::vector<std::unique_ptr<Start<Sum>>> asked_before;
  for (int i = 0; i < 3; ++i) {
    asked_before.push_back(std::make_unique<Start<Sum>>());
    asked_before.back()->begin(asked<Sum>(client(), Add{i, 1}), ignore);
  }
  ASSERT_TRUE(until([&] { return stopping.has_ended(); }));
  EXPECT_TRUE(stopping.take());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(until([&] { return asked_before[static_cast<std::size_t>(i)]->has_ended(); }));
    const Result<Sum> sum = asked_before[static_cast<std::size_t>(i)]->take();
    ASSERT_TRUE(sum) << sum.error().describe();
    EXPECT_EQ(sum->value, i + 1);
  }
  EXPECT_EQ(ask<Sum>(client(), Add{2, 3}).error().code(), Code::Unavailable);
}

TEST_P(Peers, are_greeted_though_they_connect_when_the_server_stops) {
  serve();
  auto [client, server] = pair();
  server_->add(std::move(server));
  Start<void> stopping;
  stopping.begin(server_->stop(), ignore);
  Result<Client> made = run(over(std::move(client), {}));
  ASSERT_TRUE(made) << made.error().describe();
  ASSERT_TRUE(until([&] { return stopping.has_ended(); }));
  EXPECT_TRUE((*made)->is_draining());
  EXPECT_TRUE(stopping.take());
}

TEST_P(Peers, that_say_nothing_are_not_waited_for_when_the_server_stops) {
  server_options_.peer.close_timeout = 30_ms;
  serve();
  auto [silent, server] = pair();
  server_->add(std::move(server));
  auto [greeting, other] = pair();
  server_->add(std::move(other));
  struct Writes {
    static Task<> one(Stream& stream, std::string bytes) { co_await stream.write(bytes); }
  };
  Buffer payload, hello;
  put_hello(payload, {.requests_max = 1, .streams_max = 1, .frame_bytes_max = 1 << 20, .stream_bytes = 1 << 20});
  put_frame(hello, {.kind = FrameKind::Hello, .payload = payload.view()});
  ASSERT_TRUE(run(Writes::one(greeting, std::string(hello.view()))));
  ASSERT_TRUE(until([&] { return peer_ != nullptr; }));
  const Instant began = now();
  ASSERT_TRUE(run(server_->stop()));
  EXPECT_GE(now() - began, 30_ms);
  EXPECT_LT(now() - began, 5_s) << "less than what a server has to drain";
}

TEST_P(Peers, close_after_what_was_queued) {
  connect();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(client().try_send(Text{std::string(3000, 'x')}));
  ASSERT_TRUE(run(client_->close()));
  ASSERT_TRUE(run(client_->close())) << "it is closed already";
  client_.reset();
  ASSERT_TRUE(until([&] { return closed_.size() == 1; }));
  EXPECT_EQ(texts_.size(), 50u);
  EXPECT_EQ(closed_[0].code(), Code::Cancelled);
}

Task<> ask_often(Peer& peer, int count) {
  for (int i = 0; i < count; ++i) {
    const Sum sum = co_await peer.request<Sum>(Add{1, i});
    KEEL_CHECK(sum.value == i + 1, "the sum is right");
  }
}
Task<> ask_waiters(Peer& peer, int count) {
  for (int i = 0; i < count; ++i) co_await peer.request<Sum>(Wait{i});
}

TEST_P(Peers, allocate_nothing_in_steady_state) {
  if (is_sim() || is_layered() || KEEL_ADDRESS_SANITIZER) GTEST_SKIP() << "the heap is used there";
  connect();
  go_.set();
  ASSERT_TRUE(run(ask_often(client(), 20)));
  ASSERT_TRUE(run(ask_waiters(client(), 20)));
  const std::size_t before = keel::internal::allocations();
  ASSERT_TRUE(run(ask_often(client(), 100)));
  ASSERT_TRUE(run(ask_waiters(client(), 100)));
  EXPECT_EQ(keel::internal::allocations() - before, 0u);
}

// Two sides that both stopped reading until the other has read would wait for ever.
TEST_P(Peers, that_both_send_much_read_meanwhile) {
  int here = 0;
  int there = 0;
  handlers_.on_raw(21, [&there](Peer&, std::string_view) { return ++there, std::string(); });
  client_handlers_.on_raw(21, [&here](Peer&, std::string_view) { return ++here, std::string(); });
  connect();
  const std::string payload(16 * 1024, 'x');
  for (int i = 0; i < 150; ++i) {
    ASSERT_TRUE(client().try_send(Raw{21, payload}));
    ASSERT_TRUE(peer_->try_send(Raw{21, payload}));
  }
  EXPECT_GT(client().queued_bytes(), PeerOptions().high_bytes);

  EXPECT_TRUE(until([&] { return here == 150 && there == 150; })) << here << ' ' << there;
  EXPECT_TRUE(closed_.empty());
}

// 8 MB of answers on each side: more than may be queued, and than sockets hold.
TEST_P(Peers, that_ask_each_other_for_much_get_it) {
  const std::string much(40 * 1024, 'x');
  handlers_.on_raw(22, [&much](Peer&, std::string_view) { return much; });
  client_handlers_.on_raw(22, [&much](Peer&, std::string_view) { return much; });
  connect();
  std::deque<Start<std::string>> asking;
  for (int i = 0; i < 200; ++i) {
    for (Peer* const peer : {&client(), peer_}) {
      if (asking.emplace_back().begin(asked<std::string>(*peer, Raw{22, ""}), ignore))
        ADD_FAILURE() << "answered already";
    }
  }

  EXPECT_TRUE(until([&] { return std::ranges::all_of(asking, &Start<std::string>::has_ended); }));
  for (auto& one : asking) EXPECT_EQ(one.take().value_or(""), much);
  EXPECT_TRUE(closed_.empty());
}

}  // namespace
}  // namespace keel::messages::peer_test
