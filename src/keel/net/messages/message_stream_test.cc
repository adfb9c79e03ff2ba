// Streams of messages, on every engine, over TCP and Unix sockets and under a layer.

#include "keel/net/messages/message_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/net/messages/internal/messages_test.h"
#include "keel/task/scope.h"

namespace keel::messages::message_stream_test {
namespace {

using namespace testing;

Task<> send_rows(MessageStream& out, Rows which) {
  for (int i = 0; i < which.count; ++i) {
    const Row row{i, std::string(static_cast<std::size_t>(which.bytes), 'x')};
    co_await out.send(row);
  }
}

class MessageStreams : public MessagesTest {
 protected:
  void SetUp() override {
    MessagesTest::SetUp();
    if (loop_ == nullptr) return;
    handlers_.on_stream<Rows>([this](Peer&, Rows which, MessageStream out) -> Task<> {
      if (which.count == 13) co_await fail(Code::Conflict, "not thirteen");
      Result<> sent = co_await attempt(send_rows(out, which));
      if (sent) co_return;
      stopped_.push_back(sent.error().code());
      co_await std::move(sent);
    });
    // Gives back what it gets, until that ends.
    handlers_.on_stream<Text>([](Peer&, Text first, MessageStream both) -> Task<> {
      co_await both.send(first);
      while (auto text = co_await both.receive<Text>()) {
        const Text back = *std::move(text);
        co_await both.send(back);
      }
    });
    handlers_.on_stream<Wait>([this](Peer&, Wait, MessageStream) -> Task<> {
      ++waiting_;
      Result<> gone = co_await attempt(go_.wait());
      --waiting_;
      co_await std::move(gone);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(, MessageStreams, keel::internal::every_kind_and_layered(), keel::internal::name_of_engine);

Task<int> read_rows(Peer& peer, Rows which) {
  MessageStream rows = co_await peer.open(which);
  int count = 0;
  while (auto row = co_await rows.receive<Row>()) {
    KEEL_CHECK(row->number == count++, "rows come in order");
    KEEL_CHECK(row->text.size() == static_cast<std::size_t>(which.bytes), "rows come whole");
  }
  co_return count;
}

TEST_P(MessageStreams, bring_what_the_handler_sends) {
  connect();
  Result<int> count = run(read_rows(client(), {100, 20}));
  ASSERT_TRUE(count) << count.error().describe();
  EXPECT_EQ(*count, 100);
  // More than the credit that a stream begins with.
  count = run(read_rows(client(), {200, 20'000}));
  ASSERT_TRUE(count) << count.error().describe();
  EXPECT_EQ(*count, 200);
  EXPECT_EQ(run(read_rows(client(), {0, 0})).value(), 0);
}

TEST_P(MessageStreams, end_with_the_error_of_the_handler) {
  connect();
  const Result<int> count = run(read_rows(client(), {13, 20}));
  EXPECT_EQ(count.error().code(), Code::Conflict);
  EXPECT_EQ(count.error().message(), "not thirteen");
}

Task<int> read_sums(Peer& peer) {
  MessageStream sums = co_await peer.open(Add{1, 2});
  while (co_await sums.receive<Sum>()) continue;
  co_return 0;
}

TEST_P(MessageStreams, say_that_there_is_no_handler) {
  connect();
  const Result<int> read = run(read_sums(client()));
  EXPECT_EQ(read.error().code(), Code::NotFound);
  EXPECT_EQ(read.error().message(), "there is no handler for streams of type 2");
  EXPECT_EQ(run(read_rows(client(), {5, 5})).value(), 5) << "the place is free again";
}

Task<std::vector<std::string>> converse(Peer& peer) {
  std::vector<std::string> got;
  const Text first{"first"};
  MessageStream both = co_await peer.open(first);
  for (int i = 0; i < 20; ++i) {
    const Text text{std::to_string(i)};
    co_await both.send(text);
    auto back = co_await both.receive<Text>();
    got.push_back(back->text);
  }
  both.finish();
  while (auto back = co_await both.receive<Text>()) got.push_back(back->text);
  co_return got;
}

TEST_P(MessageStreams, go_both_ways_and_end_apart) {
  connect();
  const Result<std::vector<std::string>> got = run(converse(client()));
  ASSERT_TRUE(got) << got.error().describe();
  ASSERT_EQ(got->size(), 21u);
  EXPECT_EQ(got->front(), "first");
  EXPECT_EQ(got->back(), "19");
}

TEST_P(MessageStreams, stop_who_sends_when_nobody_receives) {
  connect();
  struct Drops {
    static Task<> part(Peer& peer) {
      MessageStream rows = co_await peer.open(Rows{1000, 5000});
      for (int i = 0; i < 3; ++i) static_cast<void>(co_await rows.receive<Row>());
    }
  };
  ASSERT_TRUE(run(Drops::part(client())));
  ASSERT_TRUE(until([&] { return stopped_.size() == 1; }));
  EXPECT_EQ(stopped_[0], Code::Cancelled);
  EXPECT_EQ(run(read_rows(client(), {5, 5})).value(), 5);
}

TEST_P(MessageStreams, hold_no_more_than_their_credit) {
  connect({}, {.stream_bytes_max = 50'000});
  std::optional<MessageStream> held;
  struct Opens {
    static Task<> open(Peer& peer, std::optional<MessageStream>& held) {
      held.emplace(co_await peer.open(Rows{1000, 1000}));
    }
  };
  ASSERT_TRUE(run(Opens::open(client(), held)));
  settle();
  pass(20_ms);
  EXPECT_EQ(peer_->handling(), 1u) << "the handler waits for credit";
  EXPECT_EQ(peer_->queued_bytes(), 0u);
  held.reset();
  ASSERT_TRUE(until([&] { return peer_->handling() == 0; }));
}

TEST_P(MessageStreams, are_bounded_in_number) {
  connect({.peer = {.streams_max = 2}});
  std::vector<MessageStream> open;
  struct Opens {
    static Task<> open(Peer& peer, std::vector<MessageStream>& all) { all.push_back(co_await peer.open(Wait{})); }
  };
  ASSERT_TRUE(run(Opens::open(client(), open)));
  ASSERT_TRUE(run(Opens::open(client(), open)));
  EXPECT_EQ(run(Opens::open(client(), open)).error().code(), Code::ResourceExhausted);
  ASSERT_TRUE(until([&] { return waiting_ == 2; }));
  go_.set();
  for (MessageStream& stream : open) stream.finish();
  ASSERT_TRUE(until([&] { return waiting_ == 0 && peer_->handling() == 0; }));
  open.clear();
  settle();
  ASSERT_TRUE(run(Opens::open(client(), open))) << "there is a place again";
}

TEST_P(MessageStreams, end_when_the_connection_ends) {
  connect();
  Start<int> reading;
  struct Waits {
    static Task<int> read(Peer& peer) {
      MessageStream stream = co_await peer.open(Wait{});
      co_return co_await stream.receive<Row>() ? 1 : 0;
    }
  };
  reading.begin(Waits::read(client()), ignore);
  ASSERT_TRUE(until([&] { return waiting_ == 1; }));
  peer_->close(Error(Code::Unavailable, "enough"));
  ASSERT_TRUE(until([&] { return reading.has_ended() && waiting_ == 0; }));
  EXPECT_EQ(reading.take().error().code(), Code::Unavailable);
}

TEST_P(MessageStreams, have_a_peer_until_the_connection_or_both_directions_have_ended) {
  connect();
  struct Asks {
    static Task<> both(Peer& peer, std::optional<MessageStream>& open) {
      MessageStream rows = co_await peer.open(Rows{3, 5});
      KEEL_CHECK(rows.peer() == &peer, "the stream is open");
      while (co_await rows.receive<Row>()) continue;
      rows.finish();
      KEEL_CHECK(rows.peer() == nullptr, "both directions have ended");
      open.emplace(co_await peer.open(Wait{}));
    }
  };
  std::optional<MessageStream> open;
  ASSERT_TRUE(run(Asks::both(client(), open)));
  ASSERT_TRUE(until([&] { return waiting_ == 1; }));
  EXPECT_EQ(open->peer(), &client());
  peer_->close(Error(Code::Unavailable, "enough"));

  ASSERT_TRUE(until([&] { return open->peer() == nullptr; }));

  open.reset();
}

TEST_P(MessageStreams, throw_a_bug_in_a_second_task_that_sends_or_receives) {
  connect({}, {.stream_bytes_max = 1000});
  struct Two {
    static Task<> open(Peer& peer, std::optional<MessageStream>& stream) { stream.emplace(co_await peer.open(Wait{})); }
    static Task<> receive(MessageStream& stream) { static_cast<void>(co_await stream.receive<Row>()); }
    static Task<> send(MessageStream& stream) {
      const Row row{1, std::string(100'000, 'x')};
      while (true) co_await stream.send(row);
    }
  };
  std::optional<MessageStream> stream;
  ASSERT_TRUE(run(Two::open(client(), stream)));
  Start<void> receiving, sending;
  ASSERT_FALSE(receiving.begin(Two::receive(*stream), ignore));
  ASSERT_FALSE(sending.begin(Two::send(*stream), ignore));
  settle();
  ASSERT_FALSE(sending.has_ended()) << "it waits for credit";

  const Result<> second_receive = run(Two::receive(*stream));
  const Result<> second_send = run(Two::send(*stream));

  ASSERT_FALSE(second_receive || second_send);
  EXPECT_TRUE(second_receive.error().is_bug()) << second_receive.error().describe();
  EXPECT_TRUE(second_send.error().is_bug()) << second_send.error().describe();
  EXPECT_FALSE(receiving.has_ended() || sending.has_ended()) << "the first ones continue";
  go_.set();  // The handler ends, and with it the stream.
  ASSERT_TRUE(until([&] { return receiving.has_ended() && sending.has_ended(); }));
  EXPECT_TRUE(receiving.take());
  EXPECT_EQ(sending.take().error().code(), Code::Cancelled);
}

TEST_P(MessageStreams, go_on_after_a_cancelled_wait) {
  connect();
  struct Waits {
    static Task<std::string> read(Peer& peer) {
      const Text first{"first"};
      MessageStream both = co_await peer.open(first);
      static_cast<void>(co_await both.receive<Text>());
      Result<std::optional<Text>> none = co_await attempt(with_timeout(5_ms, both.receive<Text>()));
      if (none || none.error().code() != Code::DeadlineExceeded) co_return fail(Code::Internal, "it had to wait");
      const Text second{"second"};
      co_await both.send(second);
      std::optional<Text> text = co_await both.receive<Text>();
      co_return text->text;
    }
  };
  EXPECT_EQ(run(Waits::read(client())).value(), "second");
}

TEST_P(MessageStreams, allocate_nothing_in_steady_state) {
  if (is_sim() || is_layered() || KEEL_ADDRESS_SANITIZER) GTEST_SKIP() << "the heap is used there";
  connect();
  ASSERT_TRUE(run(read_rows(client(), {1000, 10})));
  ASSERT_TRUE(run(read_rows(client(), {1000, 10})));
  const std::size_t before = keel::internal::allocations();
  ASSERT_TRUE(run(read_rows(client(), {1000, 10})));
  EXPECT_EQ(keel::internal::allocations() - before, 0u);
}

}  // namespace
}  // namespace keel::messages::message_stream_test
