#include "keel/net/tls/testing/certificates.h"

#include <gtest/gtest.h>

namespace keel::tls::testing::certificates_test {
namespace {

TEST(Certificates, are_accepted_by_contexts) {
  Authority root("Root");
  Authority below("Below", root);
  for (const KeyKind kind : {KeyKind::P256, KeyKind::Rsa2048}) {
    const KeyPair pair =
        below.issue({.common_name = "shop", .names = {"shop.test"}, .addresses = {"::1"}, .key = kind});
    EXPECT_TRUE(ServerContext::make({.certificates = {pair}}));
    EXPECT_NE(pair.certificate_pem.find("-----BEGIN CERTIFICATE-----", 100), std::string::npos) << "and its issuer";
  }
  EXPECT_TRUE(ServerContext::make({.certificates = {self_signed({.names = {"shop.test"}})}}));
  EXPECT_TRUE(ClientContext::make({.trust = {.pem = root.pem(), .revoked_pem = root.revoke({})}}));
}

TEST(Certificates, have_keys_of_their_own) {
  Authority root("Root");
  EXPECT_NE(root.issue({}).key_pem, root.issue({}).key_pem);
  EXPECT_NE(encrypted(root.issue({}), "secret").key_pem.find("ENCRYPTED"), std::string::npos);
}

}  // namespace
}  // namespace keel::tls::testing::certificates_test
