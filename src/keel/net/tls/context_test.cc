#include "keel/net/tls/context.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
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

TEST_F(Contexts, tell_when_the_things_that_they_rely_on_end) {
  Authority middle("Middle", authority_, {.valid_until = 24_h * 5});
  const KeyPair pair = middle.issue({.common_name = "shop", .names = {"server.test"}, .valid_until = 24_h * 3});
  const std::string chain = file(pair.certificate_pem);
  const std::string roots = file(authority_.pem());
  const std::string lists = file(authority_.revoke({}, 24_h) + middle.revoke({}, 48_h));
  const Trust trust = {.file = roots, .revoked_file = lists};
  const KeyPair own = {.certificate_file = chain, .key_pem = pair.key_pem};
  using enum Expiry::Kind;
  const auto told = [](const std::vector<Expiry>& expiries) {
    std::string all;
    for (const Expiry& one : expiries) {
      const std::int64_t left = one.until - Host::current().wall_ns() / 1'000'000'000;
      all += one.name + ' ' + std::to_string((left + 60) / 3600) + " h\n";
      EXPECT_LT(one.from, one.until);
    }
    return all;
  };

  const auto server = ServerContext::make(
      {.certificates = {own}, .client_certificates = ClientCertificates::Optional, .clients = trust});
  const auto client = ClientContext::make({.trust = trust, .certificate = own});
  ASSERT_TRUE(server && client);

  const std::string both = "CN = Test Root 2160 h\nCN = Test Root 24 h\nCN = Middle 48 h\n";
  EXPECT_EQ(told(server->expiries()), "CN = Middle 120 h\n" + both);
  EXPECT_EQ(told(client->expiries()), both + "CN = shop 72 h\nCN = Middle 120 h\n");
  EXPECT_EQ(server->expiries()[0].kind, Issuer);
  EXPECT_EQ(server->expiries()[0].file, chain);
  EXPECT_EQ(server->expiries()[1].kind, Root);
  EXPECT_EQ(server->expiries()[1].file, roots);
  EXPECT_EQ(server->expiries()[2].kind, RevocationList);
  EXPECT_EQ(server->expiries()[2].file, lists);
  EXPECT_EQ(client->expiries()[3].kind, Certificate);
  EXPECT_TRUE(ClientContext::make({}).value().expiries().empty()) << "the system's roots";
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
            "the text of the key: it is encrypted; store it without a passphrase, readable by the service alone");

  const KeyPair other = authority_.issue({.names = {"other.test"}});
  EXPECT_EQ(error_of({.certificate_file = certificate, .key_pem = other.key_pem}),
            "the text of the key: it does not match " + quoted_certificate);
  EXPECT_EQ(
      error_of({.certificate_pem = authority_.pem() + pair_.certificate_pem, .key_pem = pair_.key_pem}),
      "the text of the key: it does not match the text of the certificate, but its certificate number 2: the file must "
      "begin with the service's own certificate");
}

TEST_F(Contexts, say_that_a_certificate_is_not_valid_now) {
  EXPECT_TRUE(error_of(authority_.issue({.names = {"a.test"}, .valid_from = -48_h, .valid_until = -24_h}))
                  .starts_with("the text of the certificate: it expired on 20"));
  EXPECT_TRUE(error_of(authority_.issue({.names = {"a.test"}, .valid_from = 24_h}))
                  .starts_with("the text of the certificate: it is not valid before 20"));
}

TEST_F(Contexts, say_which_certificate_of_a_chain_did_not_issue_the_one_before) {
  const Authority middle("Middle", authority_);
  Authority below("Below", middle);
  const Authority twin("Below", middle);  // The same name, another key.
  const KeyPair pair = below.issue({.names = {"server.test"}});
  const std::string own = pair.certificate_pem.substr(0, pair.certificate_pem.find("-----BEGIN", 20));
  const auto expect = [&](const std::string& chain, const std::string& wrong) {
    const std::string path = file(own + chain);
    EXPECT_EQ(error_of({.certificate_file = path, .key_pem = pair.key_pem}),
              wrong.empty() ? "" : "the certificate '" + path + "': its certificate number " + wrong);
    if (!wrong.empty()) {
      EXPECT_EQ(last_code, Code::InvalidArgument);
    }
  };
  const std::string cure = "each certificate must be followed by the certificate of its issuer";
  const std::string first = ", did not issue certificate number 1, whose issuer is 'CN = Below': " + cure;

  expect("", "");  // Clients may know the issuer.
  expect(below.pem(), "");
  expect(below.pem() + middle.pem(), "");
  expect(below.pem() + middle.pem() + authority_.pem(), "");  // The root is not needed.
  expect(authority_.pem(), "2, 'CN = Test Root'" + first);
  expect(twin.pem(), "2, 'CN = Below'" + first);
  expect(middle.pem() + below.pem(), "2, 'CN = Middle'" + first + "; certificate number 3 did");
  expect(own + middle.pem(), "3, 'CN = Middle'" + first);  // The own one is there twice.
  // A client's certificate is checked in the same way.
  const KeyPair client = {.certificate_pem = own + twin.pem(), .key_pem = pair.key_pem};
  EXPECT_EQ(ClientContext::make({.certificate = client}).error().describe(),
            "the text of the certificate: its certificate number 2, 'CN = Below'" + first);
}

TEST_F(Contexts, say_which_certificate_of_a_chain_is_not_valid_now) {
  Authority old("Old", authority_, {.valid_from = -48_h, .valid_until = -24_h});
  Authority early("Early", authority_, {.valid_from = 24_h});
  const auto starts = [](const std::string& error, const std::string& with) {
    EXPECT_TRUE(error.starts_with(with)) << error;
  };
  starts(error_of(old.issue({.names = {"a.test"}})),
         "the text of the certificate: its certificate number 2, 'CN = Old', expired on 20");
  starts(error_of(early.issue({.names = {"a.test"}})),
         "the text of the certificate: its certificate number 2, 'CN = Early', is not valid before 20");
}

// nginx and Go send each file as it is. Clients overlook what stands here (RFC 8446 §4.4.2).
TEST_F(Contexts, tell_what_clients_overlook_in_a_chain) {
  const Authority other_root("Other Root");
  const Authority middle("Middle", authority_);
  Authority below("Below", middle);
  const Authority stranger("Stranger", other_root);
  const Authority old("Old", other_root, {.valid_from = -48_h, .valid_until = -24_h});
  const KeyPair pair = below.issue({.names = {"server.test"}});
  const std::string own = pair.certificate_pem.substr(0, pair.certificate_pem.find("-----BEGIN", 20));
  const auto flaw_of = [&](const std::string& chain) {
    const KeyPair all = {.certificate_pem = own + chain, .key_pem = pair.key_pem};
    const auto server = ServerContext::make({.certificates = {all}});
    const auto client = ClientContext::make({.certificate = all});
    if (!server || !client) return server.error().describe();
    EXPECT_EQ(client->chain_problem(), server->certificates()[0].chain_problem);
    for (const Expiry& one : server->expiries()) {
      EXPECT_NE(one.name, "CN = Stranger");
      EXPECT_NE(one.name, "CN = Old");
      EXPECT_GT(one.until, Host::current().wall_ns() / 1'000'000'000);
    }
    return server->certificates()[0].chain_problem;
  };
  const std::string both = below.pem() + middle.pem();
  const std::string unused = " did not issue any other certificate of the file: clients do not use it";

  EXPECT_EQ(flaw_of(""), "");
  EXPECT_EQ(flaw_of(both), "");
  EXPECT_EQ(flaw_of(both + authority_.pem()), "") << "a root at the end";
  EXPECT_EQ(flaw_of(both + authority_.pem() + authority_.pem()),
            "its certificate number 5, 'CN = Test Root', is in the file twice");
  EXPECT_EQ(flaw_of(own + both).substr(0, 24), "its certificate number 2");
  EXPECT_EQ(flaw_of(both + stranger.pem()), "its certificate number 4, 'CN = Stranger'," + unused);
  EXPECT_EQ(flaw_of(both + old.pem()), "its certificate number 4, 'CN = Old'," + unused);
  EXPECT_EQ(flaw_of(below.pem() + authority_.pem()), "its certificate number 3, 'CN = Test Root'," + unused)
      << "the clients know Middle";
  EXPECT_EQ(flaw_of(below.pem() + authority_.pem() + middle.pem()),
            "its certificate number 3, 'CN = Test Root', comes before the certificate that it issued");
  // Cross-certificates, in any order.
  const std::string cross = middle.pem_from(other_root);
  EXPECT_EQ(flaw_of(below.pem() + cross + middle.pem()), "");
  EXPECT_EQ(flaw_of(both + cross + other_root.pem() + authority_.pem()), "");
  EXPECT_EQ(flaw_of(below.pem_from(authority_) + both + authority_.pem()), "");
  // After its time only beside one that is valid.
  const std::string expired = middle.pem_from(other_root, {.valid_from = -48_h, .valid_until = -24_h});
  EXPECT_EQ(
      flaw_of(both + expired),
      "its certificate number 4, 'CN = Middle', is not valid now: clients use another certificate with the same key");
  EXPECT_EQ(
      flaw_of(below.pem() + expired + middle.pem()),
      "its certificate number 3, 'CN = Middle', is not valid now: clients use another certificate with the same key");
  EXPECT_NE(flaw_of(below.pem() + expired).find("its certificate number 3, 'CN = Middle', expired on 20"),
            std::string::npos);
}

TEST_F(Contexts, do_not_wait_for_a_file_that_is_none) {
  const std::string pipe = ::testing::TempDir() + "keel_tls_" + std::to_string(getpid()) + ".fifo";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  paths_.push_back(pipe);
  ::alarm(30);  // Ends the test, should one of them wait for a writer.

  EXPECT_EQ(error_of({.certificate_file = pipe}), "the certificate '" + pipe + "': it is not a regular file");
  EXPECT_EQ(last_code, Code::InvalidArgument);
  EXPECT_EQ(error_of({.certificate_pem = pair_.certificate_pem, .key_file = pipe}),
            "the key '" + pipe + "': it is not a regular file");
  EXPECT_EQ(ClientContext::make({.trust = {.file = pipe}}).error().describe(),
            "the root certificates '" + pipe + "': it is not a regular file");
  EXPECT_EQ(error_of({.certificate_file = ::testing::TempDir()}),
            "the certificate '" + ::testing::TempDir() + "': it is not a regular file");
  ::alarm(0);
}

TEST_F(Contexts, reject_keys_that_are_too_weak) {
  const std::string error = error_of(authority_.issue({.names = {"a.test"}, .key = testing::KeyKind::Rsa1024}));
  EXPECT_EQ(error, "the text of the certificate: it cannot be used: ee key too small");
}

TEST_F(Contexts, reject_options_that_do_not_fit) {
  const auto error = [](const ServerOptions& options) { return ServerContext::make(options).error().describe(); };
  EXPECT_EQ(error({}), "a TLS server needs a certificate");
  EXPECT_EQ(error({.certificates = {pair_}, .client_certificates = ClientCertificates::Optional}),
            "client certificates are requested, but no roots that issue them are given");
  EXPECT_EQ(error({.certificates = {pair_}, .version_min = Version::Tls13, .version_max = Version::Tls12}),
            "the lowest accepted TLS version is above the highest");
  EXPECT_EQ(error({.certificates = {pair_}, .protocols = {""}}),
            "a protocol's name (ALPN) has 1 to 255 bytes, '' has not");
  EXPECT_EQ(ClientContext::make({.trust = {.file = "nowhere.pem"}}).error().describe(),
            "the root certificates 'nowhere.pem': open: No such file or directory");
  EXPECT_EQ(ClientContext::make({.trust = {.revoked_pem = "words"}}).error().describe(),
            "the text of the revoked certificates: it has no revocation list (-----BEGIN X509 CRL-----)");
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
