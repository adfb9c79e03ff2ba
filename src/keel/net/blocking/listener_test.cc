#include "keel/net/blocking/listener.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "keel/base/host.h"

namespace keel::blocking::blocking_listener_test {
namespace {

TEST(BlockingListener, says_which_port_it_has_and_refuses_one_that_is_taken) {
  Listener one = Listener::bind(*Address::parse("127.0.0.1:0")).value();
  EXPECT_NE(one.address().port(), 0);
  const Result<Listener> two = Listener::bind(one.address());
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code(), Code::AlreadyExists);
  EXPECT_NE(two.error().describe().find(one.address().to_string()), std::string::npos);
}

TEST(BlockingListener, accept_meets_its_time_limit_and_goes_on) {
  Listener listener = Listener::bind(*Address::parse("127.0.0.1:0")).value();
  const Instant began = Host::system().now();
  EXPECT_EQ(listener.accept(20_ms).error().code(), Code::DeadlineExceeded);
  EXPECT_GE((Host::system().now() - began).count_ms(), 20);
  Stream client = Stream::connect(listener.address(), 10_s).value();
  const Result<Stream> server = listener.accept(10_s);
  ASSERT_TRUE(server);
  EXPECT_EQ(server->peer_address(), client.local_address());
}

TEST(BlockingListener, shares_a_port_only_when_both_say_so) {
  Listener one = Listener::bind(*Address::parse("127.0.0.1:0"), {.reuse_port = true}).value();
  EXPECT_TRUE(Listener::bind(one.address(), {.reuse_port = true}));
  EXPECT_FALSE(Listener::bind(one.address()));
}

TEST(BlockingListener, passes_on_its_options) {
  Listener listener =
      Listener::bind(*Address::parse("127.0.0.1:0"), {.no_delay = false, .receive_buffer_bytes = 30'000}).value();
  Stream client = Stream::connect(listener.address(), 10_s).value();
  const Stream server = listener.accept(10_s).value();
  EXPECT_FALSE(*server.options().no_delay);
  EXPECT_EQ(server.options().receive_buffer_bytes, 60'000);
}

TEST(BlockingListener, goes_on_with_one_that_it_inherits) {
  Listener parent = Listener::bind(*Address::parse("127.0.0.1:0")).value();
  Listener heir = Listener::bind({}, {.inherited = parent.native_handle()}).value();
  EXPECT_EQ(heir.address(), parent.address());
  Stream client = Stream::connect(heir.address(), 10_s).value();
  EXPECT_TRUE(heir.accept(10_s));
  EXPECT_FALSE(Listener::bind({}, {.inherited = 1 << 20}));
}

TEST(BlockingListener, of_ipv6_takes_ipv4_only_when_it_is_told_to) {
  for (const bool both : {false, true}) {
    Result<Listener> listener = Listener::bind(*Address::parse("[::]:0"), {.dual_stack = both});
    if (!listener) GTEST_SKIP() << listener.error().describe();
    const std::uint16_t port = listener->address().port();
    EXPECT_TRUE(Stream::connect(*Address::ip("::1", port), 10_s));
    EXPECT_TRUE(listener->accept(10_s));
    Result<Stream> client = Stream::connect(*Address::ip("127.0.0.1", port), 10_s);
    EXPECT_EQ(client.has_value(), both);
    if (!both) continue;
    const Stream server = listener->accept(10_s).value();
    EXPECT_EQ(server.peer_address(), *Address::ip("::ffff:127.0.0.1", client->local_address().port()));
  }
}

TEST(BlockingListener, takes_over_the_path_of_one_that_has_gone) {
  const std::string path = ::testing::TempDir() + "keel_blocking_listener_" + std::to_string(getpid()) + ".sock";
  const Address address = Address::parse("unix:" + path).value();
  {
    Listener gone = Listener::bind(address).value();
  }
  Listener here = Listener::bind(address).value();
  EXPECT_EQ(Listener::bind(address).error().code(), Code::AlreadyExists);
  Stream client = Stream::connect(address, 10_s).value();
  EXPECT_TRUE(here.accept(10_s));
  std::remove(path.c_str());
}

TEST(BlockingListener, leaves_a_file_that_is_no_socket_alone) {
  const std::string path = ::testing::TempDir() + "keel_blocking_listener_" + std::to_string(getpid()) + ".file";
  std::FILE* const file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fclose(file);

  EXPECT_EQ(Listener::bind(Address::parse("unix:" + path).value()).error().code(), Code::AlreadyExists);

  EXPECT_EQ(std::remove(path.c_str()), 0) << "it is there still";
}

}  // namespace
}  // namespace keel::blocking::blocking_listener_test
