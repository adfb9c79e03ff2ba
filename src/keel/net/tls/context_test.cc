#include "keel/net/tls/context.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "keel/base/host.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::tls::context_test {
namespace {

using testing::Authority;

class Contexts : public ::testing::Test {
 protected:
  ~Contexts() override {
    for (const std::string& path : paths_) std::remove(path.c_str());
  }
  std::string file(const std::string& text) {
    paths_.push_back(::testing::TempDir() + "keel_tls_" + std::to_string(getpid()) + '_' +
                     std::to_string(paths_.size()) + ".pem");
    std::ofstream(paths_.back()) << text;
    return paths_.back();
  }
  static std::string error_of(const KeyPair& pair) {
    const auto made = ServerContext::make({.certificates = {pair}});
    if (made) return "";
    last_code = made.error().code();
    return made.error().describe();
  }

  static inline Code last_code = Code::Internal;
  Authority authority_{"Test Root"};
  const KeyPair pair_ = authority_.issue({.names = {"server.test"}});
  std::vector<std::string> paths_;
};

TEST_F(Contexts, are_made_from_files_and_from_text) {
  EXPECT_EQ(error_of(pair_), "");
  EXPECT_EQ(error_of({.certificate_file = file(pair_.certificate_pem), .key_file = file(pair_.key_pem)}), "");
  EXPECT_EQ(
      error_of({.certificate_file = file("some words before\n" + pair_.certificate_pem), .key_pem = pair_.key_pem}),
      "");
  EXPECT_TRUE(ClientContext::make({.trust = {.file = file(authority_.pem())}}));
  EXPECT_TRUE(ClientContext::make({.certificate = pair_}));
  EXPECT_TRUE(ClientContext::make({})) << "the system's roots";
}

TEST_F(Contexts, take_a_key_that_is_beside_its_certificate) {
  EXPECT_TRUE(ServerContext::make({.certificates = {{.certificate_pem = pair_.certificate_pem + pair_.key_pem}}}));
  const std::string both = file(pair_.key_pem + pair_.certificate_pem);
  EXPECT_TRUE(ServerContext::make({.certificates = {{.certificate_file = both}}}));
}

TEST_F(Contexts, tell_what_a_server_shows) {
  const std::string both = file(pair_.certificate_pem + pair_.key_pem);
  const auto context = ServerContext::make({.certificates = {{.certificate_file = both}, pair_}});
  ASSERT_TRUE(context) << context.error().describe();
  ASSERT_EQ(context->certificates().size(), 2u);
  EXPECT_EQ(context->certificates()[0].file, both);
  EXPECT_EQ(context->certificates()[1].file, "");
  EXPECT_EQ(context->certificates()[0].names, context->certificates()[1].names);
  EXPECT_FALSE(context->certificates()[0].names.empty());
  const std::int64_t left = context->certificates()[0].valid_until - Host::current().wall_ns() / 1'000'000'000;
  EXPECT_NEAR(static_cast<double>(left), 90 * 24 * 3600, 60);
}

TEST_F(Contexts, say_what_is_wrong_with_a_certificate_or_a_key) {
  const std::string certificate = file(pair_.certificate_pem);
  const std::string key = file(pair_.key_pem);
  const std::string empty = file("");
  const std::string quoted_certificate = "the certificate '" + certificate + '\'';

  EXPECT_EQ(error_of({.certificate_file = "nowhere.pem", .key_file = key}),
            "the certificate 'nowhere.pem': open: No such file or directory");
  EXPECT_EQ(last_code, Code::NotFound);
  EXPECT_EQ(error_of({.certificate_file = certificate, .key_file = "nowhere.key"}),
            "the key 'nowhere.key': open: No such file or directory");
  EXPECT_EQ(error_of({.certificate_file = certificate}),
            "the key '" + certificate + "': there is no private key in it (-----BEGIN PRIVATE KEY-----)");
  EXPECT_EQ(error_of({.certificate_file = empty, .key_file = key}),
            "the certificate '" + empty + "': there is no certificate in it (-----BEGIN CERTIFICATE-----)");
  EXPECT_EQ(last_code, Code::InvalidArgument);
  EXPECT_EQ(error_of({.certificate_file = certificate, .key_file = certificate}),
            "the key '" + certificate + "': there is no private key in it (-----BEGIN PRIVATE KEY-----)");

  std::string damaged = pair_.certificate_pem;
  damaged[100] = damaged[100] == 'A' ? 'B' : '!';
  EXPECT_TRUE(error_of({.certificate_pem = damaged, .key_pem = pair_.key_pem})
                  .starts_with("the text of the certificate: its certificate number 1 is damaged: "));
  std::string half = pair_.key_pem;
  half.erase(60, 40);
  EXPECT_TRUE(error_of({.certificate_pem = pair_.certificate_pem, .key_pem = half})
                  .starts_with("the text of the key: its private key is damaged: "));

  const KeyPair locked = testing::encrypted(pair_, "a secret");
  EXPECT_EQ(error_of(locked),
            "the text of the key: it is encrypted; write it without a passphrase, for the service alone to read");

  const KeyPair other = authority_.issue({.names = {"other.test"}});
  EXPECT_EQ(error_of({.certificate_file = certificate, .key_pem = other.key_pem}),
            "the text of the key: it does not fit " + quoted_certificate);
  EXPECT_EQ(error_of({.certificate_pem = authority_.pem() + pair_.certificate_pem, .key_pem = pair_.key_pem}),
            "the text of the key: it does not fit the text of the certificate, but its certificate number 2: the own "
            "certificate comes first");
}

TEST_F(Contexts, say_that_a_certificate_is_not_valid_now) {
  EXPECT_TRUE(error_of(authority_.issue({.names = {"a.test"}, .valid_from = -48_h, .valid_until = -24_h}))
                  .starts_with("the text of the certificate: it has expired, on 20"));
  EXPECT_TRUE(error_of(authority_.issue({.names = {"a.test"}, .valid_from = 24_h}))
                  .starts_with("the text of the certificate: it is not valid before 20"));
}

TEST_F(Contexts, reject_keys_that_are_too_weak) {
  const std::string error = error_of(authority_.issue({.names = {"a.test"}, .key = testing::KeyKind::Rsa1024}));
  EXPECT_EQ(error, "the text of the certificate: it cannot be used: ee key too small");
}

TEST_F(Contexts, reject_options_that_do_not_fit) {
  const auto error = [](const ServerOptions& options) { return ServerContext::make(options).error().describe(); };
  EXPECT_EQ(error({}), "a server of TLS needs a certificate");
  EXPECT_EQ(error({.certificates = {pair_}, .client_certificates = ClientCertificates::Optional}),
            "client certificates are requested, but no roots that issue them are given");
  EXPECT_EQ(error({.certificates = {pair_}, .version_min = Version::Tls13, .version_max = Version::Tls12}),
            "lowest accepted version of TLS is above the highest");
  EXPECT_EQ(error({.certificates = {pair_}, .protocols = {""}}),
            "a protocol's name (ALPN) has 1 to 255 bytes, '' has not");
  EXPECT_EQ(ClientContext::make({.trust = {.file = "nowhere.pem"}}).error().describe(),
            "the root certificates 'nowhere.pem': open: No such file or directory");
  EXPECT_EQ(ClientContext::make({.trust = {.revoked_pem = "words"}}).error().describe(),
            "the text of the revoked certificates: there is no list in it (-----BEGIN X509 CRL-----)");
}

TEST_F(Contexts, are_shared_by_their_copies) {
  ServerContext one = ServerContext::make({.certificates = {pair_}}).value();
  const ServerContext two = one;
  EXPECT_EQ(one.use_count(), 2);
  {
    const Records records(two);
    EXPECT_EQ(one.use_count(), 3);
  }
  EXPECT_EQ(one.use_count(), 2);
}

}  // namespace
}  // namespace keel::tls::context_test
