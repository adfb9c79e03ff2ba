// Certificates, keys and lists of revoked ones, from files and text.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "keel/base/result.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/internal/ocsp.h"
#include "keel/net/tls/internal/openssl.h"

namespace keel::tls::internal {

// One that can be used: the key fits, and the certificate is valid at the time it was asked about.
struct Identity {
  CertificatePointer certificate;
  std::vector<CertificatePointer> chain;
  KeyPointer key;
  std::string name;  // Of its file, for messages.
  Staple staple;
  std::string staple_problem;  // Why there is none, though it was named.
};

// All that is in `file`, or `bytes` where there are some; what it is, for messages: "OCSP response".
Result<std::string> read_whole(const char* kind, const std::string& file, const std::string& bytes);

// `now`: seconds since 1970. An OCSP response that cannot be used is no error.
Result<Identity> load_identity(const KeyPair& pair, std::int64_t now);

struct Anchors {
  std::vector<CertificatePointer> roots;
  std::vector<Owner<X509_CRL, X509_CRL_free>> revoked;
};
Result<Anchors> load_anchors(const Trust& trust);

}  // namespace keel::tls::internal
