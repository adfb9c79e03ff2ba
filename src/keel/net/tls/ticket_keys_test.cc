#include "keel/net/tls/ticket_keys.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "keel/base/host.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::tls::ticket_keys_test {
namespace {

class Ahead : public Host {
 public:
  explicit Ahead(Duration ahead) : ahead_(ahead), before_(Host::set_current(this)) {}
  ~Ahead() override { Host::set_current(before_); }
  Instant now() noexcept override { return system().now() + ahead_; }
  std::int64_t wall_ns() noexcept override { return system().wall_ns() + ahead_.count_ns(); }
  std::uint64_t random() noexcept override { return system().random(); }
  void secret(std::span<std::byte> out) noexcept override { system().secret(out); }
  void start_timer(Timer&, Instant) noexcept override {}
  void stop_timer(Timer&) noexcept override {}
  std::unique_ptr<Thread> start_thread(const char*, Function<void()>) override { return nullptr; }

 private:
  const Duration ahead_;
  Host* const before_;
};

class Tickets : public ::testing::TestWithParam<Version> {
 protected:
  ServerContext server(const TicketKeys& keys) {
    const ServerOptions options = {.certificates = {pair_}, .version_max = GetParam(), .ticket_keys = keys};
    return ServerContext::make(options).value();
  }
  // Whether a client that was here before has resumed its session.
  bool resumes(const ServerContext& server) {
    Records at_client(client_, "server.test");
    Records at_server(server);
    char room[Records::plain_bytes_max];
    std::string_view to_client;
    std::string_view to_server;
    Buffer of_client;
    Buffer of_server;
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(at_client.read(to_client, room));
      of_client = std::exchange(at_client.output(), Buffer());
      to_server = of_client.view();
      EXPECT_TRUE(at_server.read(to_server, room));
      of_server = std::exchange(at_server.output(), Buffer());
      to_client = of_server.view();
    }
    EXPECT_TRUE(at_client.is_established() && at_server.is_established());
    EXPECT_EQ(at_client.is_resumed(), at_server.is_resumed());
    return at_server.is_resumed();
  }

  testing::Authority authority_{"Test Root"};
  KeyPair pair_ = authority_.issue({.names = {"server.test"}});
  ClientContext client_ = ClientContext::make({.trust = {.pem = authority_.pem()}}).value();
};
INSTANTIATE_TEST_SUITE_P(, Tickets, ::testing::Values(Version::Tls12, Version::Tls13),
                         [](const auto& version) { return version.param == Version::Tls12 ? "tls12" : "tls13"; });

TEST_P(Tickets, are_good_for_a_context_that_takes_the_place_of_theirs) {
  const TicketKeys keys;
  EXPECT_FALSE(resumes(server(keys)));
  EXPECT_TRUE(resumes(server(keys)));
  EXPECT_FALSE(resumes(server(TicketKeys())));
}

TEST_P(Tickets, are_good_for_another_process_that_was_given_the_keys) {
  const TicketKeys keys;
  EXPECT_FALSE(resumes(server(keys)));
  const Result<TicketKeys> same = TicketKeys::load(keys.save());
  ASSERT_TRUE(same);
  EXPECT_TRUE(resumes(server(*same)));
}

TEST_P(Tickets, are_good_for_a_context_that_was_there_before_its_keys_came) {
  const TicketKeys keys;
  EXPECT_FALSE(resumes(server(keys)));
  const TicketKeys others;
  const ServerContext successor = server(others);
  TicketKeys(others).adopt(keys);
  EXPECT_TRUE(resumes(successor));
  EXPECT_EQ(others.save(), keys.save());
}

TEST_P(Tickets, are_sealed_with_a_new_key_each_hour) {
  const TicketKeys keys;
  const ServerContext one = server(keys);
  const std::size_t with_one = keys.save().size();
  EXPECT_FALSE(resumes(one));
  {
    const Ahead later(Duration::seconds(3700));
    EXPECT_TRUE(resumes(one)) << "the key of an hour ago still opens";
    EXPECT_GT(keys.save().size(), with_one);
  }
  {
    const Ahead later(Duration::minutes(119));
    EXPECT_TRUE(resumes(one));
  }
  const Ahead later(Duration::seconds(9 * 3600));
  EXPECT_FALSE(resumes(one));
  EXPECT_EQ(keys.save().size(), with_one) << "the old keys are gone";
}

TEST_P(Tickets, do_not_run_out) {
  const ServerContext one = server(TicketKeys());
  EXPECT_FALSE(resumes(one));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(resumes(one)) << i;
}

TEST_P(Tickets, are_good_for_two_hours_from_the_whole_handshake_on_however_often_it_is_resumed) {
  const ServerContext one = server(TicketKeys());
  EXPECT_FALSE(resumes(one));
  for (const int minutes : {30, 60, 90, 119}) {
    const Ahead later(Duration::minutes(minutes));
    EXPECT_TRUE(resumes(one)) << minutes;
  }
  const Ahead later(Duration::minutes(121));
  EXPECT_FALSE(resumes(one));
  EXPECT_TRUE(resumes(one));
}

TEST(TicketKeys, say_when_a_text_holds_none) {
  const std::string text = TicketKeys().save();
  EXPECT_TRUE(TicketKeys::load(text));
  for (std::size_t size = 0; size < text.size(); ++size) {
    const Result<TicketKeys> cut = TicketKeys::load(std::string_view(text).substr(0, size));
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code(), Code::InvalidArgument);
  }
  EXPECT_FALSE(TicketKeys::load("x" + text.substr(1)));
}

}  // namespace
}  // namespace keel::tls::ticket_keys_test
