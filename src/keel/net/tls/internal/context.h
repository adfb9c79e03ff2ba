// The data that contexts share with their connections.

#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/error.h"
#include "keel/net/tls/internal/openssl.h"
#include "keel/net/tls/internal/pem.h"

namespace keel::tls::internal {

// Sessions that can be resumed, by host.
class Sessions {
 public:
  explicit Sessions(std::size_t count_max) noexcept : count_max_(count_max) {}

  void keep(std::string_view host, SessionPointer session);
  // A session of TLS 1.3 is used only once (RFC 8446 §C.4). Null: no session is stored.
  SessionPointer take(std::string_view host);

 private:
  struct Kept {
    std::string host;
    SessionPointer session;
  };
  const std::size_t count_max_;
  std::mutex mutex_;  // Connections of several workers share a context.
  std::deque<Kept> kept_;
};

struct Context {
  explicit Context(std::size_t sessions_max) noexcept : sessions(sessions_max) {}

  SslContextPointer ssl;
  bool is_server = false;
  ServerCheck check = ServerCheck::Host;  // How a client checks servers.
  Duration handshake_timeout;
  std::uint32_t records_per_key = 0;
  // Members of a server:
  std::string response_to_http;
  std::optional<TicketKeys> ticket_keys;
  std::vector<CertificateFacts> certificates;
  std::vector<Identity> identities;
  std::vector<Expiry> expiries;  // The expiry times, for a server or a client.
  std::string protocols;         // The protocols in their form on the wire (RFC 7301 §3.1).
  std::string chain_problem;     // For a client: the chain_problem of its own certificate.
  mutable Sessions sessions;     // The resumable sessions of a client.
};

// The data of one connection that OpenSSL's callbacks need: the application data of its SSL object.
struct Connection {
  const Context* context = nullptr;
  std::string host;              // The host that a client expects.
  std::optional<Error> refusal;  // The reason why the peer's certificate was rejected.
  bool has_new_session = false;  // The server has sent a ticket.

  static Connection& of(const SSL* ssl) noexcept { return *static_cast<Connection*>(SSL_get_app_data(ssl)); }
};

}  // namespace keel::tls::internal
