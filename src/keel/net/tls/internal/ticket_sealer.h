// The callbacks that connect OpenSSL with TicketKeys.

#pragma once

#include "keel/net/tls/internal/openssl.h"
#include "keel/net/tls/ticket_keys.h"

namespace keel::tls::internal {

class TicketSealer {
 public:
  // `keys` must outlive `context`.
  static void attach(SSL_CTX* context, const TicketKeys& keys) noexcept;

 private:
  static int call(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                  int seals) noexcept;
};

}  // namespace keel::tls::internal
