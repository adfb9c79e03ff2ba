// Whatever an OCSP response is, it is a staple or an error that names the reason; and where the issuer is known, a
// staple says what the issuer has signed. ocsp_test.cc runs the same function.

#include "keel/net/tls/internal/ocsp.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/net/tls/internal/pem.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::tls::internal {
namespace {

struct Served {
  std::int64_t now = Host::current().wall_ns() / 1'000'000'000;
  testing::Authority root{"Test Root"};
  testing::Authority issuer{"Test Issuer", root};
  KeyPair pair = issuer.issue({.names = {"server.test"}});
  std::string good = issuer.ocsp_response(pair);
  Identity identity = load_identity(pair, now).value();
  std::int64_t until = load_staple({}, good, identity.certificate.get(), identity.chain, now).value().until;
};

// `bytes` in pairs: how far to go, and what to change there.
std::string changed(std::string der, std::string_view bytes) {
  std::size_t at = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    at = (at + static_cast<unsigned char>(bytes[i])) % der.size();
    der[at] = static_cast<char>(der[at] ^ bytes[i + 1]);
  }
  return der;
}

}  // namespace
}  // namespace keel::tls::internal

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::tls::internal;
  if (size < 2) return 0;
  static const Served served;
  static const std::vector<CertificatePointer> nobody;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool is_changed = data[0] % 2 == 1;
  const bool is_issuer_known = data[0] / 2 % 2 == 0;

  const std::string der = is_changed ? changed(served.good, bytes) : std::string(bytes);
  const auto staple = load_staple({}, der, served.identity.certificate.get(),
                                  is_issuer_known ? served.identity.chain : nobody, served.now);
  KEEL_CHECK(ERR_peek_error() == 0, "no error of OpenSSL is left for the next call");
  if (!staple) {
    KEEL_CHECK(staple.error().message().starts_with("the OCSP response"), "it says what is wrong");
    return 0;
  }
  KEEL_CHECK(staple->der == der && staple->until > served.now, "clients get the bytes of the file, which are valid");
  if (is_issuer_known) KEEL_CHECK(staple->until == served.until, "for as long as the issuer has signed");
  return 0;
}
