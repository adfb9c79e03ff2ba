// keel/net/tls/context.h — the certificates, keys and trusted roots of one side of TLS.
//
//   const ServerOptions options = {.certificates = {{.certificate_file = "shop.pem", .key_file = "shop.key"}}};
//   KEEL_TRY(ServerContext server, ServerContext::make(options));
//   const ClientOptions defaults;                                 // the system's roots
//   ClientContext client = co_await ClientContext::make(defaults);
//
// In a coroutine the options are named on the line before, as here: GCC 12 destroys options twice that are made in an
// awaited expression.
//
// Both speak TLS 1.2 and 1.3 as Mozilla's "intermediate" profile has it: AES-GCM and ChaCha20-Poly1305 with X25519,
// P-256 and P-384. Its DHE suites for RSA are left out: a client can make a server compute those for nothing
// (CVE-2002-20001), and no client of the profile needs them. Off are 0-RTT (its data can be replayed), renegotiation
// and compression. A client checks that a server's certificate is good and for its host, unless ServerCheck says less.
//
// Errors:    make: NotFound and other codes of the errno for a file that cannot be read; InvalidArgument for what is in
//            it, with its name: no certificate, a damaged one, one that has expired or is not valid yet, a key that
//            does not fit, is encrypted or too weak for the profile (security level 2: RSA of 2,048 bits).
// Ownership: a value; copies share what was loaded. Connections keep what they began with: another context may take its
//            place while they live. The text of a key is wiped after it was parsed; the key itself is OpenSSL's.
// Threads:   copies may be used on any, at the same time.
// Cost:      make: file reads, some milliseconds. A copy is a pointer. With several certificates each handshake
//            compares the name it is asked for with all of them.
// Time:      certificates are compared with the calendar of the current Host when a context is made and when a
//            connection begins. The age of a session that is resumed is by it as well.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/net/tls/ticket_keys.h"

namespace keel::tls {

namespace internal {
struct Context;
}

// The versions of TLS.
enum class Version : std::uint8_t { Tls12, Tls13 };

// A certificate and its private key, in PEM, each as a file or as text.
struct KeyPair {
  // The certificate, followed by the intermediate certificates up to a root, which itself is not needed.
  std::string certificate_file = {};
  std::string certificate_pem = {};
  // Without a passphrase. PKCS #8, or the older forms of RSA and EC keys. Where there is neither file nor text of it,
  // it is beside the certificate.
  std::string key_file = {};
  std::string key_pem = {};
  // For a server: the OCSP response (RFC 6960) by which its issuer confirms that it is not revoked, in DER. A client
  // that asks gets it (stapling, RFC 6066 §8), as long as it is valid. Neither: it gets none.
  std::string ocsp_file = {};
  std::string ocsp_der = {};
};

// The trusted roots. A file and a text are used together.
struct Trust {
  // Certificates of roots, in PEM. None: for a client the system's.
  std::string file = {};
  std::string pem = {};
  // Lists of revoked certificates of their issuers (CRLs), in PEM. When there is one, a peer whose issuer has none is
  // rejected, and so is every peer when the list is out of date.
  std::string revoked_file = {};
  std::string revoked_pem = {};
};

// Whether a server asks its clients for certificates.
enum class ClientCertificates : std::uint8_t {
  Unwanted,
  Optional,  // A client that has none is let in; one that is not good is not.
  Required,
};

// Certificates, trust and limits of a server.
struct ServerOptions {
  // At least one. A client that asks for a name gets the certificates for it (exactly, or by a wildcard of one label);
  // if there is none, or it asks for no name, the first one. Two for one name may differ in the kind of key.
  std::vector<KeyPair> certificates = {};
  // The application protocols (ALPN), the preferred one first. A client that offers none of them is rejected; one that
  // has no ALPN is let in.
  std::vector<std::string> protocols = {};
  ClientCertificates client_certificates = ClientCertificates::Unwanted;
  // The issuers of clients' certificates: required unless these are unwanted.
  Trust clients = {};
  Version version_min = Version::Tls12;
  Version version_max = Version::Tls13;
  // Clients may resume a session with a ticket, for 2 h.
  bool tickets = true;
  // The lifetime of tickets. None: the context's own, so that a context which takes its place resumes none of its
  // sessions.
  std::optional<TicketKeys> ticket_keys = {};
  // Time limit of the handshake, from the beginning of the connection. Raising it lets slow peers hold their memory for
  // longer.
  Duration handshake_timeout = Duration::seconds(10);
  // After this many records that were sent with one key, TLS 1.3 renews the keys of both directions (KeyUpdate): not
  // every peer counts. RFC 8446 §5.5 allows 2^24.5 of them with AES-GCM. 0 is 1.
  std::uint32_t records_per_key = 1u << 24;
  // A whole HTTP response that a client which speaks HTTP without TLS gets, in clear text, before its connection ends.
  // Empty: nothing.
  std::string answer_to_http = {};
};

// What a client checks in a server's certificate. For a protocol that leaves the choice to its users (sslmode of
// PostgreSQL): with anything but Host, an attacker in the middle can pose as the server.
enum class ServerCheck : std::uint8_t {
  Host,       // It is good, and for the host that was asked for.
  Authority,  // It is good, for whatever host.
  Nothing,    // It is not looked at.
};

// Trust and certificate of a client.
struct ClientOptions {
  // The roots of servers' certificates.
  Trust trust = {};
  ServerCheck check = ServerCheck::Host;
  // The certificate of this side, for servers that ask for one. Empty: nothing.
  KeyPair certificate = {};
  std::vector<std::string> protocols = {};
  Version version_min = Version::Tls12;
  Version version_max = Version::Tls13;
  // How many sessions are kept to be resumed, of all hosts together; the oldest go first.
  std::size_t sessions_max = 128;
  Duration handshake_timeout = Duration::seconds(10);
  // As ServerOptions has it.
  std::uint32_t records_per_key = 1u << 24;
};

// Facts about a server's certificate, for people and for monitoring.
struct CertificateFacts {
  std::string file;              // Empty: it was given as a text.
  std::string names;             // The names that it is valid for: DNS names and addresses, some of them.
  std::int64_t valid_until = 0;  // Seconds since 1970.
  std::int64_t ocsp_until = 0;   // When its OCSP response expires; 0: there is none.
  // Why there is no OCSP response although one was named: damaged, for another certificate, too old.
  std::string ocsp_problem;
};

// What the connections of a server have in common; may be shared by all workers.
class ServerContext {
 public:
  static Result<ServerContext> make(const ServerOptions& options);

  // In the order of ServerOptions::certificates; valid as long as a copy of this.
  const std::vector<CertificateFacts>& certificates() const noexcept;

  // How many copies and connections have it, this one included.
  long use_count() const noexcept { return context_.use_count(); }

 private:
  friend class Records;
  explicit ServerContext(std::shared_ptr<const internal::Context> context) noexcept : context_(std::move(context)) {}
  std::shared_ptr<const internal::Context> context_;  // Shared: connections outlive a reload.
};

// What the connections of a client have in common; may be shared by all workers.
class ClientContext {
 public:
  static Result<ClientContext> make(const ClientOptions& options);

  long use_count() const noexcept { return context_.use_count(); }

 private:
  friend class Records;
  explicit ClientContext(std::shared_ptr<const internal::Context> context) noexcept : context_(std::move(context)) {}
  std::shared_ptr<const internal::Context> context_;
};

}  // namespace keel::tls
