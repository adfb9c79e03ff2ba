#include "keel/net/listener.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/net/internal/net_test.h"
#include "keel/task/scope.h"

namespace keel {
namespace {

using Listeners = internal::NetTest;
INSTANTIATE_TEST_SUITE_P(, Listeners, internal::every_engine(), internal::name_of_engine);

TEST_P(Listeners, choose_a_port_and_say_which) {
  Listener one = listen();
  Listener two = listen();
  EXPECT_NE(one.address().port(), 0);
  EXPECT_NE(one.address().port(), two.address().port());
}

TEST_P(Listeners, refuse_an_address_that_is_taken) {
  Listener one = listen();
  const Result<Listener> two = Listener::bind(one.address());
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code(), Code::AlreadyExists);
}

Task<> accept_all(Listener& listener, std::size_t count, std::vector<Stream>& into) {
  while (into.size() < count) into.push_back(co_await listener.accept());
}

TEST_P(Listeners, accept_every_connection_once) {
  Listener listener = listen();
  std::vector<Stream> accepted;
  Start<void> accepting;
  ASSERT_FALSE(accepting.begin(accept_all(listener, 300, accepted), [](StartCore&) noexcept {}));
  std::vector<Stream> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(*run(Stream::connect(listener.address())));
  ASSERT_TRUE(until([&] { return accepting.has_ended(); }));
  EXPECT_TRUE(accepting.take());

  for (Stream& client : clients) {
    int count = 0;
    for (Stream& stream : accepted) count += stream.peer_address() == client.local_address();
    EXPECT_EQ(count, 1);
  }
}

Task<> accept_after(Stream& signal, Listener& listener, std::size_t count, std::vector<Stream>& into) {
  co_await signal.receive();
  co_await accept_all(listener, count, into);
}

// The listener stops accepting when many connections wait; here they are all taken before that has come about.
TEST_P(Listeners, go_on_when_everything_is_taken_while_accepting_stops) {
  Pair signal = pair();
  Listener listener = listen();
  EXPECT_FALSE(run(with_limit(accept_from(listener), 1_ms)));
  std::vector<Stream> accepted;
  Start<void> accepting;
  ASSERT_FALSE(accepting.begin(accept_after(signal.server, listener, 257, accepted), [](StartCore&) noexcept {}));
  std::vector<Stream> clients;
  for (int i = 0; i < 255; ++i) clients.push_back(*run(Stream::connect(listener.address())));
  settle();
  Start<Stream> last;
  ASSERT_FALSE(last.begin(Stream::connect(listener.address()), [](StartCore&) noexcept {}));
  ASSERT_TRUE(run(internal::write(signal.client, "go")));
  ASSERT_TRUE(until([&] { return last.has_ended(); }));
  clients.push_back(*last.take());
  clients.push_back(*run(Stream::connect(listener.address())));

  EXPECT_TRUE(until([&] { return accepting.has_ended(); }, 2_s));
  if (accepting.is_running()) {
    accepting.stop();
    ASSERT_TRUE(until([&] { return accepting.has_ended(); }));
  }
  EXPECT_TRUE(accepting.take());
}

TEST_P(Listeners, a_cancelled_accept_loses_no_connection) {
  Listener listener = listen();
  std::vector<Stream> clients;
  std::vector<Stream> accepted;
  for (int i = 0; i < 20; ++i) {
    Start<Stream> waiting;
    if (!waiting.begin(accept_from(listener), [](StartCore&) noexcept {})) {
      if (i % 2 == 0) settle();
      clients.push_back(*run(Stream::connect(listener.address())));
      waiting.stop();
      ASSERT_TRUE(until([&] { return waiting.has_ended(); }));
    } else {
      clients.push_back(*run(Stream::connect(listener.address())));
    }
    Result<Stream> stream = waiting.take();
    if (stream) accepted.push_back(*std::move(stream));
  }
  ASSERT_TRUE(run(accept_all(listener, 20, accepted)));
  EXPECT_EQ(accepted.size(), 20u);
}

TEST_P(Listeners, accept_ends_at_its_deadline) {
  Listener listener = listen();
  const Result<Stream> stream = run(with_limit(accept_from(listener), 20_ms));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), Code::DeadlineExceeded);
}

Task<std::string> hear(Stream& stream) {
  std::string text;
  while (true) {
    Result<Chunk> chunk = co_await attempt(stream.receive());
    if (!chunk || chunk->empty()) co_return text;
    text += *chunk;
  }
}

TEST_P(Listeners, close_what_was_accepted_and_not_taken) {
  std::vector<Stream> clients;
  {
    Listener listener = listen();
    // A deadline ends the accept; the kernel's multishot goes on.
    EXPECT_FALSE(run(with_limit(accept_from(listener), 1_ms)));
    for (int i = 0; i < 3; ++i) clients.push_back(*run(Stream::connect(listener.address())));
    settle();
  }
  for (Stream& client : clients) EXPECT_EQ(*run(hear(client)), "");
}

TEST_P(Listeners, may_be_destroyed_at_once) {
  for (int i = 0; i < 5; ++i) {
    Listener listener = listen();
    if (i % 2 == 0) {
      EXPECT_FALSE(run(with_limit(accept_from(listener), 1_ms)));
    }
  }
}

TEST_P(Listeners, share_a_port_only_when_both_say_so) {
  Listener one = listen({.reuse_port = true});
  EXPECT_TRUE(Listener::bind(one.address(), {.reuse_port = true}));
  settle();
  EXPECT_FALSE(Listener::bind(one.address()));
}

}  // namespace
}  // namespace keel
