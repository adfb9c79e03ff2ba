// Pools over several servers, on every engine.

#include "keel/net/messages/pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "keel/exec/inline_executor.h"
#include "keel/net/messages/internal/messages_test.h"
#include "keel/net/resolver.h"
#include "keel/task/scope.h"

namespace keel::messages::pool_test {
namespace {

using namespace testing;

Task<> serve_at(Server& server, Listener listener, Event& stopping) { co_await server.serve(listener, stopping); }

// A server that says which it is.
struct Site {
  explicit Site(Listener listener, std::string name, Event& go) : address(listener.address()) {
    handlers.on_raw(20, [this, name](Peer&, std::string_view) {
      ++asked;
      return name;
    });
    handlers.on_raw(21, [&go, name](Peer&, Buffer) -> Task<std::string> {
      co_await go.wait();
      co_return name;
    });
    handlers.on_raw(22, [this](Peer& peer, Buffer) -> Task<> {
      ++asked;
      peer.close(Error(Code::Unavailable, "gone"));
      co_await fail(Code::Unavailable, "gone");
    });
    handlers.on_raw(23, [this](Peer&, std::string_view) -> Result<> {
      ++asked;
      return fail(Code::Unavailable, "not now");
    });
    server.emplace(handlers);
    serving.begin(serve_at(*server, std::move(listener), stopping), [](StartCore&) noexcept {});
  }
  void stop() { stopping.set(); }
  // Then it does not listen any more.
  bool has_ended() {
    if (serving.has_ended()) {
      static_cast<void>(serving.take());
      is_over = true;
    }
    return is_over;
  }

  const Address address;
  Handlers handlers;
  std::optional<Server> server;
  Event stopping;
  Start<void> serving;
  int asked = 0;
  bool is_over = false;
};

class Pools : public MessagesTest {
 protected:
  void TearDown() override {
    if (loop_ != nullptr) {
      pool_.reset();
      settle();
      for (auto& site : sites_) end(*site);
      sites_.clear();
      resolver_.reset();
    }
    MessagesTest::TearDown();
  }
  Site& add_site() {
    sites_.push_back(std::make_unique<Site>(listen(), std::to_string(sites_.size()), go_));
    return *sites_.back();
  }
  void end(Site& site) {
    site.stop();
    ASSERT_TRUE(until([&] { return site.has_ended(); }));
  }
  void make(std::vector<std::string> endpoints, PoolOptions options = {}) {
    resolver_ = std::make_unique<Resolver>(inline_, ResolverOptions{.lifetime = 1_ms, .negative_lifetime = 1_ms},
                                           [this](const std::string&) -> Result<std::vector<Address>> {
                                             if (addresses_.empty()) return fail(Code::NotFound, "no such host");
                                             return addresses_;
                                           });
    options.endpoints = std::move(endpoints);
    pool_ = std::make_unique<Pool>(*resolver_, std::move(options));
  }
  // With the loop's own clock.
  void nap(Duration time) {
    struct Naps {
      static Task<> nap(Duration for_so_long) { co_await sleep_for(for_so_long); }
    };
    ASSERT_TRUE(run(Naps::nap(time)));
  }
  static std::string name_of(const Site& site) { return site.address.to_string(); }

  template <class Reply>
  Result<Reply> ask_pool(Raw raw, Pool::Repeat repeat = Pool::Repeat::Never) {
    return run(ask_of<Reply>(*pool_, raw, repeat));
  }
  template <class Reply>
  static Task<Reply> ask_of(Pool& pool, Raw raw, Pool::Repeat repeat) {
    if constexpr (std::is_void_v<Reply>) {
      co_await pool.request<Reply>(raw, repeat);
    } else {
      co_return co_await pool.request<Reply>(raw, repeat);
    }
  }

  InlineExecutor inline_;
  std::vector<Address> addresses_;
  std::vector<std::unique_ptr<Site>> sites_;
  std::unique_ptr<Resolver> resolver_;
  std::unique_ptr<Pool> pool_;
};
INSTANTIATE_TEST_SUITE_P(, Pools, keel::internal::every_kind(), keel::internal::name_of_engine);

TEST_P(Pools, ask_the_server) {
  make({name_of(add_site())});
  const Result<std::string> name = ask_pool<std::string>({20, ""});
  ASSERT_TRUE(name) << name.error().describe();
  EXPECT_EQ(*name, "0");
  EXPECT_EQ(pool_->stats().connections, 1u);
  EXPECT_EQ(pool_->stats().connected, 1u);
}

TEST_P(Pools, ask_where_the_fewest_requests_are_outstanding) {
  Site& one = add_site();
  Site& other = add_site();
  make({name_of(one), name_of(other)});
  ASSERT_TRUE(ask_pool<std::string>({20, ""}));
  ASSERT_TRUE(until([&] { return pool_->stats().connections == 2; }));
  std::vector<std::unique_ptr<Start<std::string>>> asking;
  for (int i = 0; i < 10; ++i) {
    asking.push_back(std::make_unique<Start<std::string>>());
    asking.back()->begin(ask_of<std::string>(*pool_, {21, ""}, Pool::Repeat::Never), ignore);
  }
  ASSERT_TRUE(until([&] { return pool_->stats().outstanding == 10; }));
  go_.set();
  int of_one = 0;
  for (auto& start : asking) {
    ASSERT_TRUE(until([&] { return start->has_ended(); }));
    of_one += start->take().value() == "0" ? 1 : 0;
  }
  EXPECT_EQ(of_one, 5);
}

TEST_P(Pools, go_on_with_the_others_when_a_server_is_stopped) {
  Site& one = add_site();
  Site& other = add_site();
  make({name_of(one), name_of(other)});
  ASSERT_TRUE(ask_pool<std::string>({20, ""}));
  ASSERT_TRUE(until([&] { return pool_->stats().connections == 2; }));
  end(one);
  settle();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask_pool<std::string>({20, ""}).value(), "1");
  EXPECT_EQ(pool_->stats().ejected, 1u);
}

TEST_P(Pools, say_what_is_wrong_with_every_target_when_there_is_none) {
  Site& one = add_site();
  const std::string gone = name_of(one);
  end(one);
  make({gone, "no.such.host:7000"});
  const Result<std::string> name = ask_pool<std::string>({20, ""});
  EXPECT_EQ(name.error().code(), Code::Unavailable);
  EXPECT_NE(name.error().message().find(gone + ": "), std::string_view::npos) << name.error().message();
  EXPECT_NE(name.error().message().find("no.such.host:7000: "), std::string_view::npos) << name.error().message();
  // The first target is left out for a while: this is reported immediately.
  EXPECT_EQ(ask_pool<std::string>({20, ""}).error().code(), Code::Unavailable);
  EXPECT_EQ(pool_->stats().failed, 1u);

  make({"nonsense"});
  EXPECT_EQ(ask_pool<std::string>({20, ""}).error().code(), Code::InvalidArgument);
}

TEST_P(Pools, come_back_to_a_target_after_a_while) {
  Site& one = add_site();
  make({name_of(one)}, {.eject_first = 10_ms, .eject_max = 20_ms});
  EXPECT_FALSE(ask_pool<void>({22, ""}));
  EXPECT_FALSE(ask_pool<std::string>({20, ""})) << "it is left out";
  nap(50_ms);
  const Result<std::string> name = ask_pool<std::string>({20, ""});
  EXPECT_TRUE(name) << name.error().describe();
  EXPECT_EQ(pool_->stats().connected, 2u);
}

TEST_P(Pools, repeat_what_is_idempotent_and_nothing_else) {
  Site& one = add_site();
  make({name_of(one)}, {.retry = {.attempts_max = 3, .backoff_first = 2_ms}});
  EXPECT_EQ(ask_pool<void>({23, ""}).error().code(), Code::Unavailable);
  EXPECT_EQ(one.asked, 1);
  EXPECT_EQ(ask_pool<void>({23, ""}, Pool::Repeat::Idempotent).error().code(), Code::Unavailable);
  EXPECT_EQ(one.asked, 4);
  EXPECT_EQ(pool_->stats().retries, 2u);
}

TEST_P(Pools, leave_out_a_target_that_fails_too_often) {
  Site& one = add_site();
  make({name_of(one)}, {.breaker = {.calls_min = 5, .open_time = 50_ms}});
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(ask_pool<void>({23, ""}));
  const Result<std::string> name = ask_pool<std::string>({20, ""});
  EXPECT_EQ(name.error().code(), Code::Unavailable);
  EXPECT_NE(name.error().message().find("its circuit is open"), std::string_view::npos) << name.error().message();
  EXPECT_EQ(one.asked, 5);
  nap(80_ms);
  EXPECT_TRUE(ask_pool<std::string>({20, ""})) << "it is probed";
  EXPECT_TRUE(ask_pool<std::string>({20, ""}));
}

TEST_P(Pools, follow_a_name_to_its_new_addresses) {
  if (is_unix()) GTEST_SKIP() << "names are of TCP";
  Site& one = add_site();
  sites_.push_back(
      std::make_unique<Site>(Listener::bind(Address::ip("127.0.0.2", one.address.port()).value()).value(), "1", go_));
  Site& other = *sites_.back();
  addresses_ = {one.address};
  make({"service.test:" + std::to_string(one.address.port())}, {.refresh = 5_ms});
  EXPECT_EQ(ask_pool<std::string>({20, ""}).value(), "0");
  addresses_ = {other.address};
  nap(20_ms);
  ASSERT_TRUE(until([&] { return ask_pool<std::string>({20, ""}).value() == "1"; }));
  EXPECT_EQ(pool_->stats().targets, 1u);
  EXPECT_EQ(pool_->stats().connections, 1u);
}

TEST_P(Pools, look_a_name_up_again_soon_after_that_has_failed) {
  if (is_unix()) GTEST_SKIP() << "names are of TCP";
  Site& one = add_site();
  make({"service.test:" + std::to_string(one.address.port())}, {.eject_first = 10_ms, .eject_max = 20_ms});
  EXPECT_EQ(ask_pool<std::string>({20, ""}).error().code(), Code::Unavailable);
  addresses_ = {one.address};
  nap(50_ms);

  const Result<std::string> name = ask_pool<std::string>({20, ""});

  EXPECT_TRUE(name) << name.error().describe();
}

TEST_P(Pools, count_connections_that_break_together_as_one_failure) {
  Site& one = add_site();
  make({name_of(one)}, {.connections = 6, .eject_first = 20_ms, .eject_max = 10_s});
  ASSERT_TRUE(until([&] { return ask_pool<std::string>({20, ""}) && pool_->stats().connections == 6; }));

  one.server->each([](Peer& peer) { peer.close(Error(Code::Unavailable, "a restart")); });
  ASSERT_TRUE(until([&] { return pool_->stats().connections == 0; }));
  EXPECT_FALSE(ask_pool<std::string>({20, ""})) << "it is left out";
  nap(40_ms);

  const Result<std::string> name = ask_pool<std::string>({20, ""});
  EXPECT_TRUE(name) << name.error().describe();
}

TEST_P(Pools, repeat_what_is_idempotent_when_their_target_comes_back) {
  Site& one = add_site();
  make({name_of(one)}, {.eject_first = 50_ms, .eject_max = 100_ms});
  EXPECT_FALSE(ask_pool<void>({22, ""}));
  EXPECT_FALSE(ask_pool<std::string>({20, ""})) << "it is left out";

  const Result<std::string> name = ask_pool<std::string>({20, ""}, Pool::Repeat::Idempotent);

  EXPECT_TRUE(name) << name.error().describe();
  EXPECT_EQ(pool_->stats().retries, 1u);
}

TEST_P(Pools, do_not_wait_long_for_a_target_that_is_left_out) {
  Site& one = add_site();
  make({name_of(one)}, {.eject_first = 1_h, .eject_max = 1_h});
  EXPECT_FALSE(ask_pool<void>({22, ""}));
  const Instant began = now();

  EXPECT_EQ(ask_pool<std::string>({20, ""}, Pool::Repeat::Idempotent).error().code(), Code::Unavailable);

  EXPECT_LT(now() - began, 2_s);
  EXPECT_EQ(pool_->stats().retries, 0u);
}

TEST_P(Pools, send_one_request_at_a_time_to_a_target_that_is_probed) {
  Site& one = add_site();
  make({name_of(one)}, {.breaker = {.calls_min = 5, .open_time = 50_ms}});
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(ask_pool<void>({23, ""}));
  nap(80_ms);
  std::vector<std::unique_ptr<Start<std::string>>> asking;
  for (int i = 0; i < 5; ++i) {
    asking.push_back(std::make_unique<Start<std::string>>());
    asking.back()->begin(ask_of<std::string>(*pool_, {21, ""}, Pool::Repeat::Never), ignore);
  }

  ASSERT_TRUE(until([&] { return pool_->stats().outstanding == 1; }));
  for (std::size_t i = 1; i < 5; ++i) {
    ASSERT_TRUE(asking[i]->has_ended());
    const Result<std::string> name = asking[i]->take();
    EXPECT_NE(name.error().message().find("its circuit is open"), std::string_view::npos) << name.error().message();
  }
  go_.set();
  ASSERT_TRUE(until([&] { return asking[0]->has_ended(); }));
  EXPECT_TRUE(asking[0]->take());
  EXPECT_TRUE(ask_pool<std::string>({20, ""}));
}

TEST_P(Pools, keep_a_target_that_a_name_no_longer_has_until_its_requests_have_ended) {
  if (is_unix()) GTEST_SKIP() << "names are of TCP";
  Site& one = add_site();
  sites_.push_back(
      std::make_unique<Site>(Listener::bind(Address::ip("127.0.0.2", one.address.port()).value()).value(), "1", go_));
  addresses_ = {one.address};
  make({"service.test:" + std::to_string(one.address.port())}, {.refresh = 5_ms});
  Start<std::string> asking;
  asking.begin(ask_of<std::string>(*pool_, {21, ""}, Pool::Repeat::Never), ignore);
  ASSERT_TRUE(until([&] { return pool_->stats().outstanding == 1; }));
  addresses_ = {sites_[1]->address};
  nap(20_ms);
  ASSERT_TRUE(until([&] { return ask_pool<std::string>({20, ""}).value() == "1"; }));

  one.server->each([](Peer& peer) { peer.close(Error(Code::Unavailable, "a restart")); });
  ASSERT_TRUE(until([&] { return asking.has_ended(); }));

  EXPECT_EQ(asking.take().error().code(), Code::Unavailable);
  EXPECT_EQ(ask_pool<std::string>({20, ""}).value(), "1");
  EXPECT_EQ(pool_->stats().targets, 1u);
}

TEST_P(Pools, must_outlive_the_tasks_that_wait_for_replies) {
  Site& one = add_site();
  make({name_of(one)});
  Start<std::string> asking;
  asking.begin(ask_of<std::string>(*pool_, {21, ""}, Pool::Repeat::Never), ignore);
  ASSERT_TRUE(until([&] { return pool_->stats().outstanding == 1; }));

  EXPECT_DEATH(pool_.reset(), "a messages::Pool must outlive the tasks that wait for replies");

  go_.set();
  ASSERT_TRUE(until([&] { return asking.has_ended(); }));
  EXPECT_TRUE(asking.take());
}

Task<> stop_midway(Pool& pool) { co_await pool.request(Raw{21, ""}); }

TEST_P(Pools, may_end_while_they_connect) {
  Site& one = add_site();
  make({name_of(one)});
  Start<void> asking;
  StopSource stop;
  asking.begin(stop_midway(*pool_), ignore, {.stop = &stop});
  stop.request_stop();
  ASSERT_TRUE(until([&] { return asking.has_ended(); }));
  EXPECT_EQ(asking.take().error().code(), Code::Cancelled);
  pool_.reset();
  settle();
}

}  // namespace
}  // namespace keel::messages::pool_test
