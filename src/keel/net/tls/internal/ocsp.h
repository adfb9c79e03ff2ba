// OCSP responses that a server holds for its own certificate, from files and bytes.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "keel/base/result.h"
#include "keel/net/tls/internal/openssl.h"

namespace keel::tls::internal {

struct Staple {
  std::string der;         // Empty: there is no response.
  std::int64_t until = 0;  // The response's nextUpdate, in seconds since 1970.
};

// Loads a response that says that `certificate` is not revoked, and that can be sent to clients at the time `now`. The
// signature of the response is checked if the issuer is in `chain`, which follows the certificate.
Result<Staple> load_staple(const std::string& file, const std::string& der, X509* certificate,
                           const std::vector<CertificatePointer>& chain, std::int64_t now);

}  // namespace keel::tls::internal
