// The functions used here are deprecated in OpenSSL 3; the alternative is a provider, which would be a separate
// library.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "keel/net/tls/testing/seeded_randomness.h"

#include <openssl/rand.h>

#include <cstddef>
#include <span>

#include "keel/base/host.h"

namespace keel::tls::testing {
namespace {

int bytes_of_host(unsigned char* into, int size) noexcept {
  Host::current().secret({reinterpret_cast<std::byte*>(into), static_cast<std::size_t>(size)});
  return 1;
}
int is_ready() noexcept { return 1; }

constexpr RAND_METHOD of_host = {nullptr, &bytes_of_host, nullptr, nullptr, &bytes_of_host, &is_ready};

}  // namespace

SeededRandomness::SeededRandomness() noexcept { RAND_set_rand_method(&of_host); }
SeededRandomness::~SeededRandomness() { RAND_set_rand_method(RAND_OpenSSL()); }

}  // namespace keel::tls::testing
