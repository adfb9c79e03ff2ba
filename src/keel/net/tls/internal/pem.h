// Loads certificates, keys and revocation lists from files and text.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "keel/base/result.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/internal/ocsp.h"
#include "keel/net/tls/internal/openssl.h"

namespace keel::tls::internal {

// A certificate that can be used: the key matches, the second certificate issued the first, and the certificates that
// clients need are valid at the given time.
struct Identity {
  CertificatePointer certificate;
  // All certificates of the file except `certificate`, in the order of the file; all of them are sent.
  std::vector<CertificatePointer> chain;
  std::vector<const X509*> issuers;  // The certificates of `chain` that clients may use.
  std::string chain_problem;         // A fault of the chain that clients must tolerate; empty: none.
  KeyPointer key;
  std::string name;  // The name of the certificate's file, for messages.
  Staple staple;
  std::string staple_problem;  // The reason why there is no OCSP response, although one was configured.
};

// The whole content of `file`, or `bytes` if these are not empty; `kind` names the content in messages, such as "OCSP
// response".
Result<std::string> read_whole(const char* kind, const std::string& file, const std::string& bytes);

// `now`: seconds since 1970. An unusable OCSP response is not an error.
Result<Identity> load_identity(const KeyPair& pair, std::int64_t now);

Expiry expiry_of(Expiry::Kind kind, const std::string& file, const X509* certificate);

struct Anchors {
  std::vector<CertificatePointer> roots;
  std::vector<Owner<X509_CRL, X509_CRL_free>> revoked;
  std::vector<Expiry> expiries;
};
Result<Anchors> load_anchors(const Trust& trust);

}  // namespace keel::tls::internal
