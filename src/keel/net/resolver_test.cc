// Names to addresses: with answers of our own on every engine, and what the system says of localhost.

#include "keel/net/resolver.h"

#include <gtest/gtest.h>
#include <netdb.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "keel/exec/thread_pool.h"
#include "keel/net/internal/lookup.h"
#include "keel/net/internal/net_test.h"

namespace keel::resolver_test {
namespace {

using Found = std::vector<Address>;
void ignore(StartCore&) noexcept {}

class Resolvers : public internal::NetTest {
 protected:
  void SetUp() override {
    NetTest::SetUp();
    if (loop_ != nullptr && simulation_ == nullptr)
      threads_ = std::make_unique<ThreadPool>(ThreadPoolOptions{"lookup"});
  }
  void TearDown() override {
    threads_.reset();  // Then what it has posted is on the loop.
    NetTest::TearDown();
  }
  Executor& pool() { return simulation_ != nullptr ? simulation_->pool() : *threads_; }

  // Answers by what the host's name begins with, and counts.
  Resolver::Lookup script() {
    return [this](const std::string& host) -> Result<Found> {
      ++lookups_;
      if (host.starts_with("none")) return internal::lookup_error(host, EAI_NONAME, 0);
      if (host.starts_with("fail") || down_) return internal::lookup_error(host, EAI_AGAIN, 0);
      return Found{*Address::ip("192.0.2.1", 0), *Address::ip("2001:db8::1", 0)};
    };
  }
  static Task<Found> ask(Resolver& resolver, std::string host) { co_return co_await resolver.resolve(host, 443); }
  void wait(Duration duration) {
    const Instant end = now() + duration;
    until([&] { return now() >= end; });
    settle();  // The loop's own clock follows.
  }

  std::unique_ptr<ThreadPool> threads_;
  std::atomic<int> lookups_ = 0;
  std::atomic<bool> down_ = false;
};
INSTANTIATE_TEST_SUITE_P(, Resolvers, internal::every_engine(), internal::name_of_engine);

TEST_P(Resolvers, answer_in_order_with_the_port) {
  Resolver resolver(pool(), {}, script());
  const Result<Found> found = run(ask(resolver, "host.test"));
  ASSERT_TRUE(found) << found.error().describe();
  EXPECT_EQ(*found, (Found{*Address::parse("192.0.2.1:443"), *Address::parse("[2001:db8::1]:443")}));
}

TEST_P(Resolvers, answer_literals_at_once) {
  Resolver resolver(pool(), {}, script());
  for (const char* literal : {"127.0.0.1", "::1"}) {
    Start<Found> asking;
    ASSERT_TRUE(asking.begin(ask(resolver, literal), ignore)) << literal;
    EXPECT_EQ(*asking.take(), Found{*Address::ip(literal, 443)});
  }
  EXPECT_EQ(lookups_, 0);
}

TEST_P(Resolvers, refuse_what_is_no_name) {
  Resolver resolver(pool(), {}, script());
  for (const std::string& wrong : {std::string(), std::string("a b"), std::string("a\nb"), std::string(254, 'x'),
                                   std::string("unix:/path"), std::string("a\0b", 3)}) {
    EXPECT_EQ(run(ask(resolver, wrong)).error().code(), Code::InvalidArgument) << wrong;
  }
  EXPECT_EQ(lookups_, 0);
}

TEST_P(Resolvers, look_up_once_for_all_who_ask_at_the_same_time) {
  Resolver resolver(pool(), {}, script());
  Start<Found> asking[5];
  for (auto& one : asking) ASSERT_FALSE(one.begin(ask(resolver, "host.test"), ignore));
  for (auto& one : asking) {
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    EXPECT_EQ(one.take()->size(), 2u);
  }
  EXPECT_EQ(lookups_, 1);
}

TEST_P(Resolvers, remember_an_answer_for_its_lifetime) {
  Resolver resolver(pool(), {.lifetime = 60_ms}, script());
  ASSERT_TRUE(run(ask(resolver, "host.test")));
  Start<Found> again;
  if (again.begin(ask(resolver, "host.test"), ignore)) {
    EXPECT_EQ(again.take()->size(), 2u);
    EXPECT_EQ(lookups_, 1);
  } else {  // On a machine that has stalled for this time.
    ASSERT_TRUE(until([&] { return again.has_ended(); }));
  }
  const int before = lookups_;
  wait(80_ms);
  ASSERT_TRUE(run(ask(resolver, "host.test")));
  EXPECT_EQ(lookups_, before + 1);
}

TEST_P(Resolvers, remember_that_there_is_no_such_host) {
  Resolver resolver(pool(), {.lifetime = 1_h, .negative_lifetime = 60_ms}, script());
  const Result<Found> none = run(ask(resolver, "none.test"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::NotFound);
  EXPECT_EQ(none.error().describe(), "no such host 'none.test'");
  EXPECT_EQ(run(ask(resolver, "none.test")).error().code(), Code::NotFound);
  const int before = lookups_;
  EXPECT_LE(before, 2);
  wait(80_ms);
  EXPECT_FALSE(run(ask(resolver, "none.test")));
  EXPECT_EQ(lookups_, before + 1);
}

TEST_P(Resolvers, do_not_remember_that_no_name_server_answered) {
  Resolver resolver(pool(), {}, script());
  for (int i = 1; i <= 3; ++i) {
    const Result<Found> failed = run(ask(resolver, "fail.test"));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code(), Code::Unavailable);
    EXPECT_NE(failed.error().describe().find("fail.test"), std::string::npos);
    EXPECT_EQ(lookups_, i);
  }
}

TEST_P(Resolvers, give_a_stale_answer_while_no_name_server_answers) {
  Resolver resolver(pool(), {.lifetime = 1_ms, .negative_lifetime = 1_ms, .stale_lifetime = 1_h}, script());
  ASSERT_TRUE(run(ask(resolver, "host.test")));
  down_ = true;
  wait(5_ms);
  EXPECT_EQ(run(ask(resolver, "host.test"))->size(), 2u);
  EXPECT_EQ(lookups_, 2);  // It did ask.
  EXPECT_EQ(run(ask(resolver, "other.test")).error().code(), Code::Unavailable);

  Resolver strict(pool(), {.lifetime = 1_ms, .stale_lifetime = 2_ms}, script());
  down_ = false;
  ASSERT_TRUE(run(ask(strict, "host.test")));
  down_ = true;
  wait(5_ms);
  EXPECT_EQ(run(ask(strict, "host.test")).error().code(), Code::Unavailable);
}

TEST_P(Resolvers, forget_what_was_asked_for_longest_ago) {
  Resolver resolver(pool(), {.names_max = 2}, script());
  for (const char* host : {"a.test", "b.test", "a.test", "c.test"}) ASSERT_TRUE(run(ask(resolver, host)));
  EXPECT_EQ(lookups_, 3);
  ASSERT_TRUE(run(ask(resolver, "a.test")));
  EXPECT_EQ(lookups_, 3);
  ASSERT_TRUE(run(ask(resolver, "b.test")));
  EXPECT_EQ(lookups_, 4);
}

TEST_P(Resolvers, have_a_bound_for_lookups_under_way) {
  Resolver resolver(pool(), {.names_max = 1, .lookups_max = 2}, script());
  Start<Found> one;
  Start<Found> two;
  Start<Found> three;
  ASSERT_FALSE(one.begin(ask(resolver, "one.test"), ignore));
  ASSERT_FALSE(two.begin(ask(resolver, "two.test"), ignore));
  ASSERT_TRUE(three.begin(ask(resolver, "three.test"), ignore));
  EXPECT_EQ(three.take().error().code(), Code::ResourceExhausted);
  ASSERT_TRUE(until([&] { return one.has_ended() && two.has_ended(); }));
  EXPECT_TRUE(one.take());
  EXPECT_TRUE(two.take());
  EXPECT_TRUE(run(ask(resolver, "three.test")));
}

TEST_P(Resolvers, let_go_of_who_is_cancelled_and_keep_the_answer) {
  Resolver resolver(pool(), {}, script());
  Start<Found> leaves;
  Start<Found> stays;
  ASSERT_FALSE(leaves.begin(ask(resolver, "host.test"), ignore));
  ASSERT_FALSE(stays.begin(ask(resolver, "host.test"), ignore));
  leaves.stop();
  ASSERT_TRUE(until([&] { return leaves.has_ended() && stays.has_ended(); }));
  EXPECT_EQ(leaves.take().error().code(), Code::Cancelled);
  EXPECT_TRUE(stays.take());
  ASSERT_FALSE(leaves.begin(ask(resolver, "alone.test"), ignore));
  leaves.stop(Code::DeadlineExceeded);
  ASSERT_TRUE(until([&] { return leaves.has_ended(); }));
  EXPECT_EQ(leaves.take().error().code(), Code::DeadlineExceeded);
  ASSERT_TRUE(run(ask(resolver, "alone.test")));
  EXPECT_EQ(lookups_, 2);
  StopSource stop;
  stop.request_stop();
  ASSERT_TRUE(stays.begin(ask(resolver, "never.test"), ignore, {.stop = &stop}));
  EXPECT_EQ(stays.take().error().code(), Code::Cancelled);
  EXPECT_EQ(lookups_, 2);
}

TEST_P(Resolvers, may_end_while_a_lookup_is_under_way) {
  {
    Resolver resolver(pool(), {}, script());
    Start<Found> leaves;
    ASSERT_FALSE(leaves.begin(ask(resolver, "host.test"), ignore));
    leaves.stop();
    ASSERT_TRUE(until([&] { return leaves.has_ended(); }));
  }
  EXPECT_TRUE(until([&] { return lookups_ == 1; }));
}

TEST(SystemLookup, knows_localhost) {
  const Result<Found> found = Resolver::system_lookup("localhost");
  ASSERT_TRUE(found) << found.error().describe();
  ASSERT_FALSE(found->empty());
  for (const Address& address : *found) {
    EXPECT_TRUE(address == *Address::ip("127.0.0.1", 0) || address == *Address::ip("::1", 0)) << address.to_string();
  }
}

TEST(SystemLookup, knows_localhost_where_the_system_does_not) {
  for (const char* host : {"localhost", "LocalHost", "localhost.", "db.localhost", "db.localhost."}) {
    EXPECT_TRUE(internal::is_localhost(host)) << host;
  }
  for (const char* host : {"", ".", "localhost.test", "notlocalhost", "localhos", "localhost.."}) {
    EXPECT_FALSE(internal::is_localhost(host)) << host;
  }
  const Result<Found> found = Resolver::system_lookup("no-such-service.localhost");
  ASSERT_TRUE(found) << found.error().describe();
  ASSERT_FALSE(found->empty());
}

TEST(SystemLookup, tells_what_getaddrinfo_meant) {
  EXPECT_EQ(internal::lookup_error("x", EAI_NONAME, 0).describe(), "no such host 'x'");
  EXPECT_EQ(internal::lookup_error("x", EAI_NODATA, 0).code(), Code::NotFound);
  EXPECT_EQ(internal::lookup_error("x", EAI_AGAIN, 0).code(), Code::Unavailable);
  EXPECT_EQ(internal::lookup_error("x", EAI_FAIL, 0).code(), Code::Unavailable);
  EXPECT_EQ(internal::lookup_error("x", EAI_MEMORY, 0).code(), Code::ResourceExhausted);
  EXPECT_EQ(internal::lookup_error("x", EAI_SYSTEM, EMFILE).errno_value(), EMFILE);
  for (const int status : {EAI_NONAME, EAI_AGAIN, EAI_FAIL, EAI_MEMORY, EAI_SYSTEM}) {
    EXPECT_TRUE(internal::lookup_error("x", status, EMFILE).is_from_environment()) << status;
  }
}

}  // namespace
}  // namespace keel::resolver_test
