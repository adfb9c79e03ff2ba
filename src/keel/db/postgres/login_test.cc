#include "keel/db/postgres/login.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "keel/db/postgres/testing/fake_client.h"

namespace keel::db::postgres::login_test {
namespace {

using namespace std::string_literals;
using testing::FakeClient;
using testing::FakeOptions;
using testing::FakeServer;
using testing::Fault;

struct Nothing : testing::FakeDatabase {
  testing::FakeStatement prepare(std::string_view) override { return {}; }
  testing::FakeResult execute(std::uint64_t, std::string_view, std::span<const testing::FakeValue>) override {
    return {};
  }
};

const std::map<std::string, std::string> passwords = {{"app", "pw"}};

Result<> log_in(const FakeOptions& server_options, const LoginOptions& options, std::size_t piece = 0) {
  Nothing database;
  FakeServer server(database, server_options);
  FakeClient client(server, piece);
  return client.log_in(options);
}

TEST(Login, proves_the_password_however_the_bytes_are_cut) {
  for (const std::size_t piece : {0u, 1u, 5u}) {
    EXPECT_TRUE(log_in({.passwords = passwords}, {.user = "app", .password = "pw"}, piece).is_ok());
    EXPECT_TRUE(log_in({.passwords = passwords, .channel_binding = "hash"},
                       {.user = "app",
                        .password = "pw",
                        .channel_binding = ChannelBinding::Require,
                        .channel_binding_data = "hash"},
                       piece)
                    .is_ok());
  }
  EXPECT_TRUE(log_in({}, {.user = "app"}).is_ok()) << "the server asks for none";
}

TEST(Login, gets_the_key_for_cancels) {
  Nothing database;
  FakeServer server(database);
  FakeClient client(server);
  ASSERT_TRUE(client.log_in({.user = "app", .database = "shop"}).is_ok());
  EXPECT_EQ(client.login().key().process, server.process());
  Message again{MessageType::ReadyForQuery, "I"};
  Buffer out;
  EXPECT_EQ(client.login().receive(again, out).error().code(), Code::Protocol) << "it is over";
}

TEST(Login, ends_with_the_error_of_the_server) {
  for (const LoginOptions& options :
       {LoginOptions{.user = "app", .password = "wrong"}, LoginOptions{.user = "nobody", .password = "pw"}}) {
    const Result<> result = log_in({.passwords = passwords}, options);
    EXPECT_EQ(result.error().code(), Code::Unauthenticated);
    EXPECT_TRUE(result.error().message().starts_with("login to the database: password authentication failed"));
    EXPECT_TRUE(result.error().is_from_environment());
  }
  EXPECT_EQ(log_in({.passwords = passwords}, {.user = "app"}).error().message(),
            "the database server requests a password, but none is configured");
}

TEST(Login, rejects_servers_that_lie) {
  struct Case {
    Fault fault;
    Code code;
  };
  for (const Case& one : {Case{Fault::BadSignature, Code::Unauthenticated}, Case{Fault::BadNonce, Code::Protocol},
                          Case{Fault::HugeIterations, Code::Protocol}, Case{Fault::NoIterations, Code::Protocol},
                          Case{Fault::SkipsProof, Code::Unauthenticated}}) {
    const Result<> result = log_in({.passwords = passwords, .fault = one.fault}, {.user = "app", .password = "pw"});
    ASSERT_TRUE(result.is_err()) << static_cast<int>(one.fault);
    EXPECT_EQ(result.error().code(), one.code) << result.error().message();
  }
}

TEST(Login, notices_that_the_offer_to_bind_was_taken_out) {
  const FakeOptions hides = {.passwords = passwords, .channel_binding = "hash", .fault = Fault::HidesPlus};
  LoginOptions options = {.user = "app", .password = "pw", .channel_binding_data = "hash"};
  EXPECT_EQ(log_in(hides, options).error().message(),
            "login to the database: SCRAM channel binding negotiation error (08P01)")
      << "the server notices";
  options.channel_binding = ChannelBinding::Require;
  EXPECT_EQ(log_in(hides, options).error().code(), Code::Unauthenticated) << "we notice";
  options.channel_binding = ChannelBinding::Disable;
  EXPECT_TRUE(log_in({.passwords = passwords, .channel_binding = "other"}, options).is_ok());
  options.channel_binding = ChannelBinding::Prefer;
  EXPECT_EQ(log_in({.passwords = passwords, .channel_binding = "other"}, options).error().code(), Code::Unauthenticated)
      << "another certificate: somebody is in between";
}

TEST(Login, requires_a_proof_where_binding_is_required) {
  EXPECT_EQ(
      log_in(
          {},
          {.user = "app", .password = "pw", .channel_binding = ChannelBinding::Require, .channel_binding_data = "hash"})
          .error()
          .code(),
      Code::Unauthenticated)
      << "the server asks for nothing";
}

TEST(Login, tells_the_password_itself_only_where_that_is_allowed) {
  for (const Fault fault : {Fault::AsksForCleartext, Fault::AsksForMd5}) {
    LoginOptions options = {.user = "app", .password = "pw"};
    EXPECT_EQ(log_in({.fault = fault}, options).error().code(), Code::Unauthenticated);
    options.allows_cleartext_password = true;
    options.allows_md5_password = true;
    EXPECT_TRUE(log_in({.fault = fault}, options).is_ok());
    options.password.reset();
    EXPECT_EQ(log_in({.fault = fault}, options).error().code(), Code::Unauthenticated);
    options.password = "pw";
    options.channel_binding = ChannelBinding::Require;
    EXPECT_EQ(log_in({.fault = fault}, options).error().code(), Code::Unauthenticated);
  }
}

// The bytes of one message.
Result<bool> receive(Login& login, char type, std::string_view body, Buffer& out) {
  return login.receive({static_cast<MessageType>(type), body}, out);
}

TEST(Login, hashes_the_password_as_md5_has_it) {
  Login login({.user = "app", .password = "pw", .allows_md5_password = true});
  Buffer out;
  ASSERT_TRUE(receive(login, 'R', "\0\0\0\x05"s + "salt", out).is_ok());
  // md5(md5("pwapp") + "salt")
  EXPECT_EQ(out.view(), "p\0\0\0\x28md5"s + "8652ee94fb4fd2b22eb4003fc29e0fee" + "\0"s);
}

TEST(Login, rejects_what_may_not_come_now) {
  const std::string sasl = "\0\0\0\x0aSCRAM-SHA-256\0\0"s;
  const auto error = [&](std::initializer_list<std::pair<char, std::string>> messages) {
    std::array<std::byte, 18> nonce{};
    Login login({.user = "app", .password = "pw", .nonce = nonce});
    Buffer out;
    for (const auto& [type, body] : messages) {
      const Result<bool> result = receive(login, type, body, out);
      if (!result) {
        EXPECT_TRUE(receive(login, 'R', "\0\0\0\0"s, out).is_err()) << "it stays";
        return result.error().code();
      }
    }
    ADD_FAILURE() << "no error";
    return Code::Internal;
  };
  const std::pair<char, std::string> ok = {'R', "\0\0\0\0"s};
  EXPECT_EQ(error({{'Z', "I"}}), Code::Protocol) << "before it lets us in";
  EXPECT_EQ(error({{'K', "\0\0\0\x01\0\0\0\x01"s}}), Code::Protocol);
  EXPECT_EQ(error({{'S', "a\0b\0"s}}), Code::Protocol);
  EXPECT_EQ(error({{'D', "\0\0"s}}), Code::Protocol);
  EXPECT_EQ(error({ok, ok}), Code::Protocol);
  EXPECT_EQ(error({ok, {'R', sasl}}), Code::Protocol);
  EXPECT_EQ(error({ok, {'T', "\0\0"s}}), Code::Protocol);
  EXPECT_EQ(error({ok, {'Z', "X"}}), Code::Protocol);
  EXPECT_EQ(error({{'R', sasl}, {'R', sasl}}), Code::Protocol);
  EXPECT_EQ(error({{'R', sasl}, ok}), Code::Unauthenticated);
  EXPECT_EQ(error({{'R', "\0\0\0\x0b"s + "r=x"}}), Code::Protocol);
  EXPECT_EQ(error({{'R', "\0\0\0\x0c"s + "v=x"}}), Code::Protocol);
  EXPECT_EQ(error({{'R', sasl}, {'R', "\0\0\0\x0c"s + "v=x"}}), Code::Protocol);
  EXPECT_EQ(error({{'R', "\0\0\0\x07"s}}), Code::Unsupported) << "GSSAPI";
  EXPECT_EQ(error({{'v', "\0\x03\0\0\0\0\0\x01_pq_.x\0"s}}), Code::Unsupported);
}

TEST(Login, passes_notices_and_a_lower_version) {
  Login login({.user = "app"});
  Buffer out;
  EXPECT_FALSE(receive(login, 'v', "\0\x03\0\0\0\0\0\0"s, out).value());
  EXPECT_FALSE(receive(login, 'N', "\0"s, out).value());
  EXPECT_FALSE(receive(login, 'R', "\0\0\0\0"s, out).value());
  EXPECT_TRUE(receive(login, 'Z', "I", out).value());
  EXPECT_EQ(login.key().process, 0u) << "some poolers give no key";
}

}  // namespace
}  // namespace keel::db::postgres::login_test
