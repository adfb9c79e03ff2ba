// keel/net/tls/context.h — the certificates, keys and trusted roots of one side of TLS.
//
//   const ServerOptions options = {.certificates = {{.certificate_file = "shop.pem", .key_file = "shop.key"}}};
//   KEEL_TRY(ServerContext server, ServerContext::make(options));
//   const ClientOptions defaults;                                 // the system's roots
//   ClientContext client = co_await ClientContext::make(defaults);
//
// In a coroutine, store the options in a variable first, as in this example: GCC 12 destroys options twice if they are
// made within an awaited expression.
//
// Servers and clients use TLS 1.2 and 1.3 with Mozilla's "intermediate" profile: AES-GCM and ChaCha20-Poly1305 with
// X25519, P-256 and P-384. The DHE suites for RSA in Mozilla's profile are left out, because a client can make a server
// do the expensive computation of these suites at no cost to itself (CVE-2002-20001), and no client that the profile
// supports needs these suites. 0-RTT (whose data can be replayed), renegotiation and compression are off. A client
// checks that the server's certificate is valid and was issued for the host, unless ServerCheck requires less.
//
// Errors:    make: NotFound, or another code that corresponds to the errno, for a file that cannot be read.
//            InvalidArgument, with the name of the file, for a file that is not a regular file or contains no
//            certificate; for a certificate that is damaged, has expired, is not valid yet, or did not issue the
//            preceding certificate; and for a key that does not match, is encrypted or is too weak for the profile
//            (security level 2, for RSA at least 2,048 bits).
// Ownership: a value; copies share what was loaded. Connections keep the context with which they began, so a context
//            can be replaced while connections are open. The text of a key is wiped after it was parsed; OpenSSL holds
//            the key itself.
// Threads:   any; copies may be used at the same time.
// Cost:      make() reads files and takes some milliseconds. Copying a context copies only a pointer. If there are
//            several certificates, each handshake compares the requested name with all of them.
// Time:      certificates are compared with the calendar of the current Host when a context is made and when a
//            connection begins. The age of a resumed session is also measured by the calendar of the current Host.

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

// A certificate and its private key, in PEM, each in a file or as text.
struct KeyPair {
  // The certificate, followed by the intermediate certificates up to a root; the root itself is not needed. The second
  // certificate must have issued the first, and the issuers must be valid. All certificates are sent unchanged,
  // including those that peers do not need (CertificateFacts::chain_problem).
  std::string certificate_file = {};
  std::string certificate_pem = {};
  // The key must have no passphrase. The format of the key is PKCS #8, or an older format of RSA and EC keys. When
  // neither a file nor a text is given, the key is in the certificate's file or text.
  std::string key_file = {};
  std::string key_pem = {};
  // For a server: the OCSP response (RFC 6960) in which the issuer confirms that the certificate is not revoked, in
  // DER. A client that requests the response gets it (stapling, RFC 6066 §8) as long as the response is valid. With
  // neither a file nor a text, clients get no OCSP response.
  std::string ocsp_file = {};
  std::string ocsp_der = {};
};

// The trusted roots. If both a file and a text are given, both are used.
struct Trust {
  // Certificates of roots, in PEM. If both the file and the text are empty, a client uses the system's roots.
  std::string file = {};
  std::string pem = {};
  // Lists of revoked certificates of their issuers (CRLs), in PEM. If there is any list, a peer is rejected when its
  // issuer has no list or when that list is out of date. The issuers of a peer's certificate are checked with the lists
  // of their own issuers, if there are such lists.
  std::string revoked_file = {};
  std::string revoked_pem = {};
};

// Whether a server requests certificates from its clients.
enum class ClientCertificates : std::uint8_t {
  Unwanted,
  Optional,  // A client without a certificate is accepted; a client with an invalid certificate is rejected.
  Required,
};

// Certificates, trust and limits of a server.
struct ServerOptions {
  // At least one. A client that requests a host name gets the certificate for that name (an exact match, or a wildcard
  // of one label); if there is none, or the client requests no name, it gets the first certificate. Two certificates
  // for one name may have keys of different kinds.
  std::vector<KeyPair> certificates = {};
  // The application protocols (ALPN), the preferred one first. A client that offers only other protocols is rejected; a
  // client that does not use ALPN is accepted.
  std::vector<std::string> protocols = {};
  ClientCertificates client_certificates = ClientCertificates::Unwanted;
  // The trusted issuers of client certificates; required if client certificates are requested.
  Trust clients = {};
  Version version_min = Version::Tls12;
  Version version_max = Version::Tls13;
  // For 2 h, clients may resume a session with its ticket. Each handshake gives the client one ticket, so a client that
  // opens several connections at the same time can resume as many sessions as it had connections before.
  bool tickets = true;
  // The keys that encrypt tickets. nullopt: the context generates its own keys, so a later context that replaces this
  // one cannot resume sessions of this one.
  std::optional<TicketKeys> ticket_keys = {};
  // Time limit of the handshake, from the beginning of the connection. Raising this limit lets slow peers occupy memory
  // for longer.
  Duration handshake_timeout = Duration::seconds(10);
  // After this many records that were sent with one key, TLS 1.3 renews the keys of both directions (KeyUpdate),
  // because not every peer counts records. RFC 8446 §5.5 allows 2^24.5 records with AES-GCM. The value 0 has the same
  // effect as 1.
  std::uint32_t records_per_key = 1u << 24;
  // The HTTP response, complete and in clear text, for a client that speaks HTTP without TLS; after this response, the
  // connection is closed.
  // Empty: no response is sent.
  std::string response_to_http = {};
};

// How a client checks a server's certificate. The choice exists for protocols that leave it to their users (sslmode of
// PostgreSQL): with any value but Host, an attacker in the middle can pose as the server.
enum class ServerCheck : std::uint8_t {
  Host,       // The certificate is valid, and was issued for the host.
  Authority,  // The certificate is valid, for any host.
  Nothing,    // The certificate is not checked.
};

// The trusted roots, the certificate and the limits of a client.
struct ClientOptions {
  // The roots of servers' certificates.
  Trust trust = {};
  ServerCheck check = ServerCheck::Host;
  // The certificate of this side, for servers that request one. Empty: none.
  KeyPair certificate = {};
  std::vector<std::string> protocols = {};
  Version version_min = Version::Tls12;
  Version version_max = Version::Tls13;
  // The maximum number of sessions, over all hosts, that are kept for resumption; the oldest sessions are dropped
  // first. Once a host has a quarter of this number, its new sessions replace its own older sessions, so a server that
  // sends a flood of tickets does not displace the sessions of other hosts. A ticket of more than 16 KiB is not kept.
  std::size_t sessions_max = 128;
  Duration handshake_timeout = Duration::seconds(10);
  // See ServerOptions::records_per_key.
  std::uint32_t records_per_key = 1u << 24;
};

// Facts about a server's certificate, for people and for monitoring.
struct CertificateFacts {
  std::string file;              // Empty: the certificate was given as text.
  std::string names;             // The certificate's names: DNS names and addresses, at most a few of them.
  std::int64_t valid_until = 0;  // Seconds since 1970.
  std::int64_t ocsp_until = 0;   // The expiry time of the certificate's OCSP response; 0: there is no response.
  // The reason why there is no OCSP response although one was configured: it is damaged, for another certificate, or
  // too old.
  std::string ocsp_problem;
  // A fault that clients must tolerate in the other certificates of the file: a certificate that is present twice, that
  // issued none of the others, that has expired while a valid certificate with the same key is present, or that is out
  // of the order of the chain. The file is sent unchanged. Empty: the other certificates have no fault.
  std::string chain_problem;
};

// The expiry of an object that connections rely on and that was loaded from a file, for monitoring. An Expiry does not
// describe a server's own certificate (see CertificateFacts).
struct Expiry {
  enum class Kind : std::uint8_t {
    Certificate,  // The certificate of a client.
    Issuer,       // An issuer that follows the certificate in its file.
    Root,         // A root of Trust; the system's roots are not listed.
    // A revocation list of Trust. Once the list has expired, peers with certificates of the list's issuer are rejected.
    RevocationList,
  };
  Kind kind = Kind::Certificate;
  std::string file;       // Empty: the object was given as text.
  std::string name;       // The name of the certificate's subject or of the list's issuer, such as "CN = Shop Root".
  std::int64_t from = 0;  // `from` and `until` are seconds since 1970.
  std::int64_t until = 0;
  bool operator==(const Expiry&) const = default;
};

// The data that the connections of a server share; may be used by all workers.
class ServerContext {
 public:
  static Result<ServerContext> make(const ServerOptions& options);

  // The facts are in the order of ServerOptions::certificates; valid as long as a copy of this context exists.
  const std::vector<CertificateFacts>& certificates() const noexcept;
  // The expiry times of issuers, roots and revocation lists; valid as long as a copy of this context exists.
  const std::vector<Expiry>& expiries() const noexcept;

  // How many copies and connections use the context, including this copy.
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

  // The expiry times of the client's certificate, issuers, roots and revocation lists; valid as long as a copy of this
  // context exists.
  const std::vector<Expiry>& expiries() const noexcept;
  // A fault that servers must tolerate in the file of the client's certificate (see CertificateFacts::chain_problem);
  // valid as long as a copy of this context exists.
  const std::string& chain_problem() const noexcept;

  long use_count() const noexcept { return context_.use_count(); }

 private:
  friend class Records;
  friend struct internal::SslOf;
  explicit ClientContext(std::shared_ptr<const internal::Context> context) noexcept : context_(std::move(context)) {}
  std::shared_ptr<const internal::Context> context_;
};

}  // namespace keel::tls
