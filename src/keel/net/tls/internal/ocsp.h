// OCSP responses that a server has for its own certificate, from files and bytes.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "keel/base/result.h"
#include "keel/net/tls/internal/openssl.h"

namespace keel::tls::internal {

struct Staple {
  std::string der;         // Empty: there is none.
  std::int64_t until = 0;  // Seconds since 1970: its nextUpdate.
};

// One that can be given to clients at the time `now`: it says that `certificate` is good. Its signature is checked
// where the issuer is in `chain`, behind the certificate.
Result<Staple> load_staple(const std::string& file, const std::string& der, X509* certificate,
                           const std::vector<CertificatePointer>& chain, std::int64_t now);

}  // namespace keel::tls::internal
