// keel/net/tls/testing/certificates.h — certificates for tests, made while the tests run.
//
//   testing::Authority authority("Test Root");
//   ServerContext server = *ServerContext::make({.certificates = {authority.issue({.names = {"server.test"}})}});
//   ClientContext client = *ClientContext::make({.trust = {.pem = authority.pem()}});
//
// Keys use P-256. With SeededRandomness (seeded_randomness.h), the same seed always gives the same keys, certificates
// and responses. Times are relative to the calendar of the current Host.
//
// Errors:  none; a failure of OpenSSL ends the test (KEEL_CHECK).
// Threads: one.
// Cost:    about 0.2 ms for a certificate.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "keel/net/tls/context.h"

namespace keel::tls::testing {

// The kind of a certificate's key.
enum class KeyKind : std::uint8_t { P256, Rsa2048, Rsa1024 };

// The content of a certificate.
struct CertificateOptions {
  std::string common_name = {};
  std::vector<std::string> names = {};        // Host names, such as "*.example.test", and addresses.
  std::vector<std::string> addresses = {};    // "127.0.0.1"
  std::vector<std::string> uris = {};         // "spiffe://test/shop"
  Duration valid_from = -Duration::hours(1);  // Relative to now.
  Duration valid_until = Duration::hours(90 * 24);
  KeyKind key = KeyKind::P256;
};

// The status that an OCSP response gives a certificate.
enum class OcspStatus : std::uint8_t { Good, Revoked, Unknown };

// The content and the validity of an OCSP response.
struct OcspOptions {
  OcspStatus status = OcspStatus::Good;
  Duration valid_from = -Duration::hours(1);  // Relative to now.
  Duration valid_until = Duration::hours(24);
  bool says_until = true;
};

// A certificate authority that issues certificates, revocation lists and OCSP responses for tests.
class Authority {
 public:
  explicit Authority(const std::string& name);
  // Makes an authority whose certificate is issued by `issuer`; `issuer` must outlive the authority. Only the times of
  // `options` are used.
  Authority(const std::string& name, const Authority& issuer, const CertificateOptions& options = {});
  Authority(Authority&&) noexcept;
  ~Authority();

  // Issues a certificate, which is followed by the certificates of this authority and of its issuers, without the root.
  KeyPair issue(const CertificateOptions& options);
  // Makes a certificate revocation list that revokes the certificates of `pairs`.
  std::string revoke(const std::vector<KeyPair>& pairs, Duration valid_until = Duration::hours(24));
  // The response of this authority's OCSP responder for the certificate of `pair`, in DER.
  std::string ocsp_response(const KeyPair& pair, const OcspOptions& options = {});
  // The authority's own certificate.
  std::string pem() const;
  // A certificate that another issuer issues for this authority's name and key (a cross-certificate). Only the times of
  // `options` are used.
  std::string pem_from(const Authority& issuer, const CertificateOptions& options = {}) const;

 private:
  struct State;
  State* state_;
};

// A certificate that no authority issued.
KeyPair self_signed(const CertificateOptions& options);

// A copy of `pair` whose private key is encrypted with `passphrase`.
KeyPair encrypted(const KeyPair& pair, const std::string& passphrase);

}  // namespace keel::tls::testing
