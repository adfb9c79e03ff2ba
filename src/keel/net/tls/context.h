// keel/net/tls/context.h — the certificates, keys and trusted roots of one side of TLS.
//
//   const ServerOptions options = {.certificates = {{.certificate_file = "shop.pem", .key_file = "shop.key"}}};
//   KEEL_TRY(ServerContext server, ServerContext::make(options));
//   const ClientOptions defaults;                                 // the system's roots
//   ClientContext client = co_await ClientContext::make(defaults);
//
// In a coroutine, store the options in a variable first, as here: GCC 12 destroys options twice that are made
// within an awaited expression.
//
// Both speak TLS 1.2 and 1.3 as in Mozilla's "intermediate" profile: AES-GCM and ChaCha20-Poly1305 with X25519,
// P-256 and P-384. Its DHE suites for RSA are left out: a client can make a server compute them at no cost to itself
// (CVE-2002-20001), and no client of the profile needs them. 0-RTT (whose data can be replayed), renegotiation and
// compression are off. A client checks that a server's certificate is valid and for its host, unless ServerCheck
// demands less.
//
// Errors:    make: NotFound and other codes of the errno for a file that cannot be read; InvalidArgument for what is in
//            it, with its name: no certificate, a damaged one, one that has expired or is not valid yet, one that did
//            not issue the certificate before it, a key that does not fit, is encrypted or too weak for the profile
//            (security level 2: RSA of 2,048 bits); also a file that is not a regular one.
// Ownership: a value; copies share what was loaded. Connections keep the context with which they began, so it can be
//            replaced while they are open. The text of a key is wiped after it was parsed; the key itself is OpenSSL's.
// Threads:   copies may be used on any, at the same time.
// Cost:      make: file reads, some milliseconds. A copy is a pointer. If there are several certificates, each
//            handshake compares the requested name with all of them.
// Time:      certificates are compared with the calendar of the current Host when a context is made and when a
//            connection begins. The age of a resumed session is measured with it, too.

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
struct SslOf;
}  // namespace internal

// The versions of TLS.
enum class Version : std::uint8_t { Tls12, Tls13 };

// A certificate and its private key, in PEM, each as a file or as text.
struct KeyPair {
  // The certificate, followed by the intermediate certificates up to a root, which itself is not needed. The second one
  // must have issued the first, and the issuers must be valid. All certificates are sent as they are, including those
  // that peers do not need (CertificateFacts::chain_problem).
  std::string certificate_file = {};
  std::string certificate_pem = {};
  // Without a passphrase. PKCS #8, or the older forms of RSA and EC keys. When neither a file nor a text is given, the
  // key is in the certificate's file or text.
  std::string key_file = {};
  std::string key_pem = {};
  // For a server: the OCSP response (RFC 6960) in which the issuer confirms that the certificate is not revoked, in
  // DER. A client that asks gets it (stapling, RFC 6066 §8), as long as it is valid. With neither a file nor a text,
  // clients get no OCSP response.
  std::string ocsp_file = {};
  std::string ocsp_der = {};
};

// The trusted roots. A file and a text are used together.
struct Trust {
  // Certificates of roots, in PEM. If both are empty, a client uses the system's.
  std::string file = {};
  std::string pem = {};
  // Lists of revoked certificates of their issuers (CRLs), in PEM. If there is any list, a peer whose issuer has no
  // list is rejected, and every peer is rejected when the list is out of date. The issuers of a peer's certificate are
  // checked with the lists of their own issuers, where there are any.
  std::string revoked_file = {};
  std::string revoked_pem = {};
};

// Whether a server asks its clients for certificates.
enum class ClientCertificates : std::uint8_t {
  Unwanted,
  Optional,  // A client without a certificate is accepted; one with an invalid certificate is not.
  Required,
};

// Certificates, trust and limits of a server.
struct ServerOptions {
  // At least one. A client that asks for a name gets the certificate for it (exactly, or by a wildcard of one label);
  // if there is none, or it asks for no name, the first one. Two certificates for one name may differ in the kind of
  // key.
  std::vector<KeyPair> certificates = {};
  // The application protocols (ALPN), the preferred one first. A client that offers only other protocols is rejected; a
  // client that does not use ALPN is accepted.
  std::vector<std::string> protocols = {};
  ClientCertificates client_certificates = ClientCertificates::Unwanted;
  // The issuers of clients' certificates: needed unless client certificates are not wanted.
  Trust clients = {};
  Version version_min = Version::Tls12;
  Version version_max = Version::Tls13;
  // Clients may resume a session with a ticket, for 2 h. Each handshake gives them one, so a client that opens several
  // connections at the same time resumes as many as it had before.
  bool tickets = true;
  // The keys that seal tickets. nullopt: the context generates its own keys, so that a context that replaces it cannot
  // resume its sessions.
  std::optional<TicketKeys> ticket_keys = {};
  // Time limit of the handshake, from the beginning of the connection. Raising it lets slow peers occupy memory for
  // longer.
  Duration handshake_timeout = Duration::seconds(10);
  // After this many records that were sent with one key, TLS 1.3 renews the keys of both directions (KeyUpdate): not
  // every peer counts. RFC 8446 §5.5 allows 2^24.5 of them with AES-GCM. 0 counts as 1.
  std::uint32_t records_per_key = 1u << 24;
  // A whole HTTP response, sent in clear text to a client that speaks HTTP without TLS before its connection is closed.
  // Empty: nothing.
  std::string response_to_http = {};
};

// The checks that a client makes of a server's certificate. It is for a protocol that leaves the choice to its users
// (sslmode of PostgreSQL): with anything but Host, an attacker in the middle can pose as the server.
enum class ServerCheck : std::uint8_t {
  Host,       // It is valid, and for the host that was asked for.
  Authority,  // It is valid, for any host.
  Nothing,    // It is not checked.
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
  // The maximum number of sessions that are kept for resumption, for all hosts together; the oldest are dropped first.
  // A host that has a quarter of them replaces its own, so that a server that floods tickets displaces no others. A
  // ticket of more than 16 KiB is not kept.
  std::size_t sessions_max = 128;
  Duration handshake_timeout = Duration::seconds(10);
  // The same as in ServerOptions.
  std::uint32_t records_per_key = 1u << 24;
};

// Facts about a server's certificate, for people and for monitoring.
struct CertificateFacts {
  std::string file;              // Empty: it was given as a text.
  std::string names;             // The names that it is valid for: DNS names and addresses, at most a few of them.
  std::int64_t valid_until = 0;  // Seconds since 1970.
  std::int64_t ocsp_until = 0;   // When the OCSP response of the certificate expires; 0: it has no response.
  // Why there is no OCSP response although one was configured: damaged, for another certificate, too old.
  std::string ocsp_problem;
  // What clients have to overlook in the other certificates of the file: one that is there twice, that issued none of
  // the others, that has expired beside a valid one with its key, or that is not in the order of the chain. The file is
  // sent as it is. Empty: nothing.
  std::string chain_problem;
};

// When something from a file ends that connections rely on, besides a server's own certificates: for monitoring.
struct Expiry {
  enum class Kind : std::uint8_t {
    Certificate,     // The certificate of a client.
    Issuer,          // An issuer that follows the own certificate.
    Root,            // One of Trust; those of the system are not listed.
    RevocationList,  // One of Trust. When it has ended, the peers of its issuer are rejected.
  };
  Kind kind = Kind::Certificate;
  std::string file;       // Empty: it was given as a text.
  std::string name;       // The name of its subject, or of the list's issuer: "CN = Shop Root".
  std::int64_t from = 0;  // Seconds since 1970, as `until`.
  std::int64_t until = 0;
  bool operator==(const Expiry&) const = default;
};

// The data that the connections of a server share; may be used by all workers.
class ServerContext {
 public:
  static Result<ServerContext> make(const ServerOptions& options);

  // They are in the order of ServerOptions::certificates; valid as long as a copy of this.
  const std::vector<CertificateFacts>& certificates() const noexcept;
  // The expiry times of issuers, roots and revocation lists; valid as long as a copy of this.
  const std::vector<Expiry>& expiries() const noexcept;

  // How many copies and connections use it, including this one.
  long use_count() const noexcept { return context_.use_count(); }

 private:
  friend class Records;
  friend struct internal::SslOf;
  explicit ServerContext(std::shared_ptr<const internal::Context> context) noexcept : context_(std::move(context)) {}
  std::shared_ptr<const internal::Context> context_;  // Shared, because connections outlive a reload.
};

// The data that the connections of a client share; may be used by all workers.
class ClientContext {
 public:
  static Result<ClientContext> make(const ClientOptions& options);

  // It is valid as long as a copy of this.
  const std::vector<Expiry>& expiries() const noexcept;
  // What servers have to overlook in the file of the client's certificate, as CertificateFacts::chain_problem has it;
  // valid as long as a copy of this.
  const std::string& chain_problem() const noexcept;

  long use_count() const noexcept { return context_.use_count(); }

 private:
  friend class Records;
  friend struct internal::SslOf;
  explicit ClientContext(std::shared_ptr<const internal::Context> context) noexcept : context_(std::move(context)) {}
  std::shared_ptr<const internal::Context> context_;
};

}  // namespace keel::tls
