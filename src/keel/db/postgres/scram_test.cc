#include "keel/db/postgres/scram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "keel/base/bug.h"
#include "keel/data/base64.h"

namespace keel::db::postgres::scram_test {
namespace {

using namespace std::string_literals;

const std::string both = "\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"s;
const std::string plain = "\0\0\0\x0aSCRAM-SHA-256\0\0"s;
const std::string rfc_nonce = base64::decode("rOprNGfwEbeRWgbNEkqO", base64::Form::Standard).value();

Authentication offered(const std::string& body) { return Authentication::read(body).value(); }
ScramOptions options_of_the_rfc() {
  return {.password = "pencil", .user = "user", .nonce = std::as_bytes(std::span(rfc_nonce))};
}
std::string base64_of(const auto& bytes) {
  return base64::encode(std::as_bytes(std::span(bytes)), base64::Form::Standard);
}

const std::string rfc_challenge =
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

// RFC 7677 §3
TEST(Scram, has_the_conversation_of_the_rfc) {
  Scram scram = Scram::begin(offered(plain), options_of_the_rfc()).value();
  EXPECT_EQ(scram.mechanism(), "SCRAM-SHA-256");
  EXPECT_EQ(scram.message(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");

  ASSERT_TRUE(scram.challenge(rfc_challenge).is_ok());
  EXPECT_EQ(scram.message(),
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");

  EXPECT_FALSE(scram.is_finished());
  ASSERT_TRUE(scram.finish("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").is_ok());
  EXPECT_TRUE(scram.is_finished());
}

TEST(Scram, binds_to_the_tls_connection_where_both_can) {
  ScramOptions options = options_of_the_rfc();
  options.channel_binding = "hash";
  EXPECT_EQ(Scram::begin(offered(both), options)->mechanism(), "SCRAM-SHA-256-PLUS");
  EXPECT_EQ(Scram::begin(offered(both), options)->message(), "p=tls-server-end-point,,n=user,r=rOprNGfwEbeRWgbNEkqO");
  EXPECT_EQ(Scram::begin(offered(plain), options)->message(), "y,,n=user,r=rOprNGfwEbeRWgbNEkqO")
      << "so that the server notices that its offer was taken out";
  options.is_binding_disabled = true;
  EXPECT_EQ(Scram::begin(offered(both), options)->message(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
  options = options_of_the_rfc();
  EXPECT_EQ(Scram::begin(offered(both), options)->mechanism(), "SCRAM-SHA-256") << "there is nothing to bind to";

  options.channel_binding = "hash";
  Scram scram = Scram::begin(offered(both), options).value();
  ASSERT_TRUE(scram.challenge(rfc_challenge).is_ok());
  EXPECT_EQ(scram.message().substr(0, scram.message().find(',')), "c=" + base64_of("p=tls-server-end-point,,hash"s));
}

TEST(Scram, rejects_a_downgrade_where_binding_is_required) {
  ScramOptions options = options_of_the_rfc();
  options.is_binding_required = true;
  EXPECT_EQ(Scram::begin(offered(both), options).error().code(), Code::Unauthenticated) << "no TLS";
  options.channel_binding = "hash";
  EXPECT_EQ(Scram::begin(offered(plain), options).error().code(), Code::Unauthenticated) << "no offer";
  EXPECT_TRUE(Scram::begin(offered(both), options).is_ok());
}

TEST(Scram, needs_an_offer_and_a_password) {
  EXPECT_EQ(Scram::begin(offered("\0\0\0\x0aSCRAM-SHA-1\0\0"s), options_of_the_rfc()).error().code(),
            Code::Unsupported);
  EXPECT_EQ(Scram::begin(offered("\0\0\0\x0aSCRAM-SHA-256-PLUS\0\0"s), options_of_the_rfc()).error().code(),
            Code::Unsupported);
  ScramOptions options = options_of_the_rfc();
  options.password = "";
  EXPECT_EQ(Scram::begin(offered(plain), options).error().code(), Code::Unauthenticated);
  options = options_of_the_rfc();
  options.nonce = options.nonce.first(14);
  EXPECT_THROW((void)Scram::begin(offered(plain), options), Bug);
}

TEST(Scram, writes_a_name_so_that_it_ends_no_attribute) {
  ScramOptions options = options_of_the_rfc();
  options.user = "a,b=c";
  EXPECT_EQ(Scram::begin(offered(plain), options)->message(), "n,,n=a=2Cb=3Dc,r=rOprNGfwEbeRWgbNEkqO");
}

TEST(Scram, rejects_challenges_that_cannot_be) {
  const std::string nonce = "r=rOprNGfwEbeRWgbNEkqOxyz";
  struct Case {
    std::string challenge;
    Code code;
  };
  const Case cases[] = {
      {"", Code::Protocol},
      {nonce, Code::Protocol},
      {nonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==", Code::Protocol},
      {"s=W22ZaJ0SNY7soEsUEjb6gQ==," + nonce + ",i=4096", Code::Protocol},
      {"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", Code::Protocol},     // Nothing of the server's.
      {"r=xOprNGfwEbeRWgbNEkqOxyz,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", Code::Protocol},  // Not ours.
      {"r=rOprNGfwEbeRWgbNEkqO\x01,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", Code::Protocol},
      {nonce + ",s=,i=4096", Code::Protocol},
      {nonce + ",s=W22,i=4096", Code::Protocol},
      {nonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=0", Code::Protocol},
      {nonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=-1", Code::Protocol},
      {nonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096x", Code::Protocol},
      {nonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=250001", Code::Protocol},
      {nonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=99999999999", Code::Protocol},
      {"m=ext," + nonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", Code::Unsupported},
  };
  for (const Case& one : cases) {
    Scram scram = Scram::begin(offered(plain), options_of_the_rfc()).value();
    const Result<> result = scram.challenge(one.challenge);
    ASSERT_TRUE(result.is_err()) << one.challenge;
    EXPECT_EQ(result.error().code(), one.code) << one.challenge;
    EXPECT_TRUE(result.error().is_from_environment());
    EXPECT_TRUE(scram.challenge(rfc_challenge).is_err()) << "it stays";
  }
}

TEST(Scram, rejects_a_server_that_does_not_know_the_password) {
  for (const char* final : {"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G8=", "v=", "v=AAAA"}) {
    Scram scram = Scram::begin(offered(plain), options_of_the_rfc()).value();
    ASSERT_TRUE(scram.challenge(rfc_challenge).is_ok());
    EXPECT_EQ(scram.finish(final).error().code(), Code::Unauthenticated) << final;
    EXPECT_FALSE(scram.is_finished());
  }
  Scram scram = Scram::begin(offered(plain), options_of_the_rfc()).value();
  EXPECT_EQ(scram.finish("v=x").error().code(), Code::Protocol) << "before the challenge";
  Scram other = Scram::begin(offered(plain), options_of_the_rfc()).value();
  ASSERT_TRUE(other.challenge(rfc_challenge).is_ok());
  EXPECT_EQ(other.finish("x=1").error().code(), Code::Protocol);
  Scram rejected = Scram::begin(offered(plain), options_of_the_rfc()).value();
  ASSERT_TRUE(rejected.challenge(rfc_challenge).is_ok());
  EXPECT_EQ(rejected.finish("e=invalid-proof").error().message(),
            "the database server rejects the SCRAM proof: invalid-proof");
}

}  // namespace
}  // namespace keel::db::postgres::scram_test
