// OCSP responses: what is loaded, what is left out and why, and what clients get, over TLS without sockets.

#include "keel/net/tls/internal/ocsp.h"

#include <gtest/gtest.h>
#include <openssl/ocsp.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/host.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::tls::ocsp_test {
namespace {

using testing::Authority;
using testing::OcspStatus;

ServerContext serving(const std::vector<KeyPair>& pairs) {
  const ServerOptions options = {.certificates = pairs};
  return ServerContext::make(options).value();
}

// Why the response is left out; empty: it is not.
std::string problem_of(KeyPair pair, const std::string& der) {
  pair.ocsp_der = der;
  const ServerContext server = serving({pair});
  const CertificateFacts& facts = server.certificates()[0];
  EXPECT_EQ(facts.ocsp_problem.empty(), facts.ocsp_until != 0);
  return facts.ocsp_problem;
}

// What a client gets that asks for the response of `host`; nothing: none.
std::optional<std::string> given(const ServerContext& context, const char* host, int version, bool asks = true) {
  SSL_CTX* const client_context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_max_proto_version(client_context, version);
  SSL* const client = SSL_new(client_context);
  SSL_set_bio(client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_tlsext_host_name(client, host);
  if (asks) SSL_set_tlsext_status_type(client, TLSEXT_STATUSTYPE_ocsp);
  SSL_set_connect_state(client);
  Records server(context);
  for (int i = 0; i < 10; ++i) {
    SSL_do_handshake(client);
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(client), &bytes);
    std::string_view wire(bytes, static_cast<std::size_t>(size));
    EXPECT_TRUE(server.read(wire, {}));
    BIO_reset(SSL_get_wbio(client));
    const Buffer out = std::exchange(server.output(), Buffer());
    BIO_write(SSL_get_rbio(client), out.data(), static_cast<int>(out.size()));
  }
  EXPECT_TRUE(server.is_established());
  const unsigned char* der = nullptr;
  const long size = SSL_get_tlsext_status_ocsp_resp(client, &der);
  std::optional<std::string> response;
  if (size > 0) response.emplace(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  SSL_free(client);
  SSL_CTX_free(client_context);
  return response;
}

class OcspResponses : public ::testing::Test {
 protected:
  Authority root_{"Test Root"};
  Authority issuer_{"Test Issuer", root_};
  KeyPair pair_ = issuer_.issue({.names = {"server.test"}});
};

TEST_F(OcspResponses, are_given_to_clients_that_ask) {
  pair_.ocsp_der = issuer_.ocsp_response(pair_);
  const ServerContext context = serving({pair_});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    EXPECT_EQ(given(context, "server.test", version), pair_.ocsp_der);
    EXPECT_EQ(given(context, "server.test", version, false), std::nullopt);
  }
}

TEST_F(OcspResponses, are_those_of_the_certificate_that_a_client_gets) {
  KeyPair other = issuer_.issue({.names = {"other.test"}});
  const KeyPair third = issuer_.issue({.names = {"third.test"}});
  pair_.ocsp_der = issuer_.ocsp_response(pair_);
  other.ocsp_der = issuer_.ocsp_response(other);
  const ServerContext context = serving({pair_, other, third});
  EXPECT_EQ(given(context, "server.test", TLS1_3_VERSION), pair_.ocsp_der);
  EXPECT_EQ(given(context, "other.test", TLS1_3_VERSION), other.ocsp_der);
  EXPECT_EQ(given(context, "third.test", TLS1_3_VERSION), std::nullopt);
  EXPECT_EQ(given(context, "unknown.test", TLS1_3_VERSION), pair_.ocsp_der);
}

TEST_F(OcspResponses, are_left_out_where_they_are_wrong) {
  const KeyPair other = issuer_.issue({.names = {"server.test"}});
  EXPECT_EQ(problem_of(pair_, issuer_.ocsp_response(pair_)), "");
  EXPECT_EQ(problem_of(pair_, issuer_.ocsp_response(other)), "the OCSP response: it is for another certificate");
  EXPECT_EQ(problem_of(pair_, root_.ocsp_response(pair_)),
            "the OCSP response: it is not signed by the certificate's issuer");
  EXPECT_EQ(problem_of(pair_, issuer_.ocsp_response(pair_, {.status = OcspStatus::Revoked})),
            "the OCSP response: it says that the certificate is revoked");
  EXPECT_EQ(problem_of(pair_, issuer_.ocsp_response(pair_, {.status = OcspStatus::Unknown})),
            "the OCSP response: its responder does not know the certificate");
  EXPECT_EQ(problem_of(pair_, issuer_.ocsp_response(pair_, {.says_until = false})),
            "the OCSP response: it does not say how long it is valid (nextUpdate)");
  EXPECT_TRUE(problem_of(pair_, issuer_.ocsp_response(pair_, {.valid_until = -60_s}))
                  .starts_with("the OCSP response: it was valid until 20"));
  EXPECT_TRUE(problem_of(pair_, issuer_.ocsp_response(pair_, {.valid_from = 3600_s}))
                  .starts_with("the OCSP response: it is not valid before 20"));
  // RFC 6960 §4.2.1: tryLater, without anything else.
  EXPECT_EQ(problem_of(pair_, std::string("\x30\x03\x0a\x01\x03")),
            "the OCSP response: it reports an error of the responder: trylater");
  EXPECT_EQ(problem_of(pair_, std::string(20'000, 'x')), "the OCSP response: it has more than 16 KiB");
}

TEST_F(OcspResponses, are_left_out_where_their_issuer_has_not_signed_them) {
  Authority impostor("Test Issuer", root_);
  EXPECT_EQ(problem_of(pair_, impostor.ocsp_response(pair_)),
            "the OCSP response: it is not signed by the certificate's issuer");
}

TEST_F(OcspResponses, are_left_out_where_they_are_cut_or_longer) {
  const std::string whole = issuer_.ocsp_response(pair_);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    ASSERT_EQ(problem_of(pair_, whole.substr(0, size)), "the OCSP response: it is not an OCSP response in DER") << size;
  }
  EXPECT_EQ(problem_of(pair_, whole + "x"), "the OCSP response: it is not an OCSP response in DER");
}

TEST_F(OcspResponses, with_a_changed_byte_are_not_taken_for_others) {
  const std::string whole = issuer_.ocsp_response(pair_);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    problem_of(pair_, changed);  // Whatever it says: nothing breaks.
  }
}

TEST_F(OcspResponses, hold_what_the_fuzzer_wants) {
  const std::string whole = issuer_.ocsp_response(pair_);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char bit : {'\x01', '\x80'}) {
      for (const char kind : {'\x01', '\x03'}) {
        std::string input(1, kind);
        for (std::size_t left = at; left > 0;) {
          const std::size_t step = std::min<std::size_t>(left, 255);
          input += {static_cast<char>(step), '\0'};
          left -= step;
        }
        input += {'\0', bit};
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
      }
    }
    const std::string cut = '\0' + whole.substr(0, at);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(cut.data()), cut.size());
  }
}

TEST_F(OcspResponses, that_cannot_be_read_are_left_out) {
  pair_.ocsp_file = "/nowhere/response.der";
  EXPECT_EQ(serving({pair_}).certificates()[0].ocsp_problem,
            "the OCSP response '/nowhere/response.der': open: No such file or directory");
}

TEST_F(OcspResponses, end_with_their_time) {
  pair_.ocsp_der = issuer_.ocsp_response(pair_, {.valid_until = 3_s});
  const ServerContext context = serving({pair_});
  EXPECT_EQ(given(context, "server.test", TLS1_3_VERSION), pair_.ocsp_der);
  while (Host::current().wall_ns() / 1'000'000'000 < context.certificates()[0].ocsp_until) {
    Host::current().sleep(50_ms);
  }
  EXPECT_EQ(given(context, "server.test", TLS1_3_VERSION), std::nullopt);
}

}  // namespace
}  // namespace keel::tls::ocsp_test
