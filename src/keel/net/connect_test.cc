// Connecting to the first of several addresses, and by name, on every engine.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "keel/exec/thread_pool.h"
#include "keel/net/internal/net_test.h"
#include "keel/net/resolver.h"
#include "keel/net/stream.h"

namespace keel::connect_test {
namespace {

void ignore(StartCore&) noexcept {}

class Connects : public internal::NetTest {
 protected:
  // Where no process listens: refused immediately.
  Address refusing() {
    Address address = listen().address();
    settle();
    return address;
  }
  // Where nobody answers: a listener whose queue is full drops what comes.
  Address silent() {
    full_.push_back(listen({.backlog = 1}));
    const Address address = full_.back().address();
    for (int i = 0; i < 10; ++i) {
      Result<Stream> stream = run(with_limit(Stream::connect(address), 100_ms));
      if (!stream) return address;
      held_.push_back(*std::move(stream));
    }
    ADD_FAILURE() << "a queue that is never full";
    return address;
  }
  void TearDown() override {
    held_.clear();
    full_.clear();
    NetTest::TearDown();
  }

  std::vector<Listener> full_;
  std::vector<Stream> held_;
};
INSTANTIATE_TEST_SUITE_P(, Connects, internal::every_engine(), internal::name_of_engine);

TEST_P(Connects, go_on_at_once_to_the_next_address_when_one_refuses) {
  Listener listener = listen();
  const std::vector<Address> addresses{refusing(), refusing(), listener.address()};
  const Instant began = now();
  const Result<Stream> stream = run(Stream::connect(addresses));
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(stream->peer_address(), listener.address());
  EXPECT_LT((now() - began).count_ms(), simulation_ != nullptr ? 250 : 10'000);
}

TEST_P(Connects, try_the_next_address_beside_one_that_is_silent) {
  Listener listener = listen();
  const std::vector<Address> addresses{silent(), listener.address()};
  const Instant began = now();
  const Result<Stream> stream = run(Stream::connect(addresses));
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(stream->peer_address(), listener.address());
  EXPECT_GE((now() - began).count_ms(), 249);
  EXPECT_LT((now() - began).count_ms(), simulation_ != nullptr ? 300 : 10'000);
}

TEST_P(Connects, name_every_address_that_was_tried_in_turns_of_their_families) {
  const Address one = refusing();
  const Address two = refusing();
  const Address six = *Address::parse("[::1]:1");
  const Result<Stream> stream = run(Stream::connect({one, two, six}));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), Code::Unavailable);
  const std::string text = stream.error().describe();
  EXPECT_LT(text.find(one.to_string()), text.find(six.to_string())) << text;
  EXPECT_LT(text.find(six.to_string()), text.find(two.to_string())) << text;
  EXPECT_NE(text.find(two.to_string()), std::string::npos) << text;
  EXPECT_EQ(run(Stream::connect(std::vector<Address>())).error().code(), Code::InvalidArgument);
}

TEST_P(Connects, can_be_cancelled_with_several_attempts_under_way) {
  const Address nobody = silent();
  const std::vector<Address> addresses(4, nobody);
  EXPECT_EQ(run(with_limit(Stream::connect(addresses), 600_ms)).error().code(), Code::DeadlineExceeded);
  Start<Stream> connecting;
  ASSERT_FALSE(connecting.begin(Stream::connect(addresses), ignore));
  settle();
  connecting.stop();
  ASSERT_TRUE(until([&] { return connecting.has_ended(); }));
  EXPECT_EQ(connecting.take().error().code(), Code::Cancelled);
  StopSource stop;
  stop.request_stop();
  Start<Stream> late;
  if (!late.begin(Stream::connect(addresses), ignore, {.stop = &stop})) {
    ASSERT_TRUE(until([&] { return late.has_ended(); }));
  }
  EXPECT_EQ(late.take().error().code(), Code::Cancelled);
}

TEST_P(Connects, resolve_a_name_and_say_it_in_errors) {
  Listener listener = listen();
  const Address nobody = refusing();
  std::unique_ptr<ThreadPool> threads;
  if (simulation_ == nullptr) threads = std::make_unique<ThreadPool>(ThreadPoolOptions{"lookup"});
  Executor& pool = simulation_ != nullptr ? simulation_->pool() : *threads;
  const auto lookup = [](const std::string& host) -> Result<std::vector<Address>> {
    if (host != "server.test") return Error::text(Code::NotFound, "no such host '" + host + "'");
    return std::vector<Address>{*Address::ip("127.0.0.1", 0)};
  };
  Resolver resolver(pool, {}, lookup);
  const Result<Stream> stream = run(Stream::connect(resolver, "server.test", listener.address().port()));
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(stream->peer_address(), listener.address());
  const Result<Stream> refused = run(Stream::connect(resolver, "server.test", nobody.port()));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().describe().find("server.test"), std::string::npos);
  EXPECT_NE(refused.error().describe().find(nobody.to_string()), std::string::npos) << refused.error().describe();
  const Result<Stream> by_address = run(Stream::connect(resolver, "127.0.0.1", nobody.port()));
  ASSERT_FALSE(by_address);
  EXPECT_TRUE(by_address.error().describe().starts_with("connecting to " + nobody.to_string() + ": "))
      << "it is named once: " << by_address.error().describe();
  const Result<Stream> unknown = run(Stream::connect(resolver, "nobody.test", 80));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::NotFound);
  EXPECT_EQ(unknown.error().describe(), "no such host 'nobody.test'");
}

TEST_P(Connects, reach_over_ipv6_what_a_name_leads_to) {
  Result<Listener> listener = Listener::bind(*Address::parse("[::1]:0"));
  if (!listener) GTEST_SKIP() << listener.error().describe();
  std::unique_ptr<ThreadPool> threads;
  if (simulation_ == nullptr) threads = std::make_unique<ThreadPool>(ThreadPoolOptions{"lookup"});
  Executor& pool = simulation_ != nullptr ? simulation_->pool() : *threads;
  const auto lookup = [](const std::string&) -> Result<std::vector<Address>> {
    return std::vector<Address>{*Address::ip("::1", 0)};
  };
  Resolver resolver(pool, {}, lookup);
  const Result<Stream> stream = run(Stream::connect(resolver, "six.test", listener->address().port()));
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(stream->peer_address(), listener->address());
  EXPECT_EQ(stream->local_address().family(), AF_INET6);
}

TEST_P(Connects, reach_localhost_by_its_name) {
  if (simulation_ != nullptr) GTEST_SKIP() << "a simulation does not ask the system";
  Listener listener = listen();
  ThreadPool threads({.name = "lookup"});
  Resolver resolver(threads);
  const Result<Stream> stream = run(Stream::connect(resolver, "localhost", listener.address().port()));
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(stream->peer_address(), listener.address());
}

}  // namespace
}  // namespace keel::connect_test
