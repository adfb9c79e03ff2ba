#include "keel/net/tls/context.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <utility>

#include "keel/base/host.h"
#include "keel/net/tls/internal/context.h"
#include "keel/net/tls/internal/memory.h"
#include "keel/net/tls/internal/ticket_sealer.h"

namespace keel::tls {
namespace internal {
namespace {

// The cipher suites of the profile "intermediate" of Mozilla's guidelines 5.7, without DHE.
constexpr const char* suites_13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* suites_12 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* groups = "X25519:P-256:P-384";

std::int64_t seconds_now() noexcept { return Host::current().wall_ns() / 1'000'000'000; }

int wire_version(Version version) noexcept { return version == Version::Tls13 ? TLS1_3_VERSION : TLS1_2_VERSION; }

Result<std::string> wire_protocols(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& protocol : protocols) {
    if (protocol.empty() || protocol.size() > 255) {
      return Error::text(Code::InvalidArgument,
                         "a protocol's name (ALPN) has 1 to 255 bytes, '" + protocol + "' has not");
    }
    wire.push_back(static_cast<char>(protocol.size()));
    wire += protocol;
  }
  if (wire.size() > 65'535) return fail(Code::InvalidArgument, "the names of protocols (ALPN) have more than 64 KiB");
  return wire;
}

using Stack = Owner<STACK_OF(X509), [](STACK_OF(X509) * stack) noexcept { sk_X509_free(stack); }>;

// Makes an OpenSSL stack of the certificates; the stack does not own them.
Stack stack_of(const std::vector<CertificatePointer>& certificates) {
  Stack stack(sk_X509_new_null());
  for (const CertificatePointer& one : certificates) {
    if (stack == nullptr || sk_X509_push(stack.get(), one.get()) == 0) return nullptr;
  }
  return stack;
}

Result<> use(SSL_CTX* context, const Identity& identity) {
  const Stack chain = stack_of(identity.chain);
  if (chain != nullptr &&
      SSL_CTX_use_cert_and_key(context, identity.certificate.get(), identity.key.get(), chain.get(), 1) == 1) {
    return {};
  }
  return Error::text(Code::InvalidArgument, identity.name + ": it cannot be used: " + last_words());
}

bool is_for(const Identity& identity, const char* name) noexcept {
  return X509_check_host(identity.certificate.get(), name, std::strlen(name), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS,
                         nullptr) == 1;
}

// Gives a handshake the certificates for the name that the client requests.
int choose_certificates(SSL* ssl, void* data) noexcept {
  const auto& context = *static_cast<const Context*>(data);
  const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  SSL_certs_clear(ssl);
  bool has_one = false;
  for (const Identity& identity : context.identities) {
    if (name == nullptr || !is_for(identity, name)) continue;
    const Stack chain = stack_of(identity.chain);
    if (chain == nullptr) return 0;
    // If two certificates have the same kind of key, the first one is used.
    has_one |= SSL_use_cert_and_key(ssl, identity.certificate.get(), identity.key.get(), chain.get(), 0) == 1;
  }
  if (!has_one) {
    const Identity& first = context.identities.front();
    const Stack chain = stack_of(first.chain);
    if (chain == nullptr || SSL_use_cert_and_key(ssl, first.certificate.get(), first.key.get(), chain.get(), 1) != 1) {
      return 0;
    }
  }
  ERR_clear_error();
  return 1;
}

// Sends the OCSP response of the chosen certificate to a client that requests one.
int give_staple(SSL* ssl, void* data) noexcept {
  const X509* const chosen = SSL_get_certificate(ssl);
  for (const Identity& identity : static_cast<const Context*>(data)->identities) {
    const Staple& staple = identity.staple;
    if (chosen == nullptr || X509_cmp(identity.certificate.get(), chosen) != 0) continue;
    if (staple.der.empty() || seconds_now() >= staple.until) return SSL_TLSEXT_ERR_NOACK;
    void* const copy = OPENSSL_memdup(staple.der.data(), staple.der.size());
    if (copy == nullptr) return SSL_TLSEXT_ERR_NOACK;
    SSL_set_tlsext_status_ocsp_resp(ssl, copy, static_cast<long>(staple.der.size()));
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

// Chooses the first of this server's protocols that the client offers.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size, const unsigned char* offered,
                    unsigned offered_size, void* data) noexcept {
  const auto& ours = static_cast<const Context*>(data)->protocols;
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, chosen_size, reinterpret_cast<const unsigned char*>(ours.data()),
                                           static_cast<unsigned>(ours.size()), offered, offered_size);
  if (result != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

// Explains why a certificate was rejected, while OpenSSL still has that certificate.
Error refusal_of(X509_STORE_CTX* store, const Connection& connection) {
  const int reason = X509_STORE_CTX_get_error(store);
  X509* const certificate = X509_STORE_CTX_get_current_cert(store);
  std::string text =
      connection.context->is_server ? "the client's certificate" : "the certificate of '" + connection.host + '\'';
  const bool is_issuer = X509_STORE_CTX_get_error_depth(store) > 0 && reason != X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN;
  if (is_issuer) text = "an issuer of " + text;
  switch (reason) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      text += " is for another host: " + names_of(certificate, 5);
      break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      text += " expired on " + date_text(X509_get0_notAfter(certificate));
      break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      text += " is not valid before " + date_text(X509_get0_notBefore(certificate));
      break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      text += " is self-signed and not trusted";
      break;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      text += " has an unknown issuer, '" + name_text(X509_get_issuer_name(certificate)) + '\'';
      break;
    case X509_V_ERR_CERT_REVOKED:
      text += " is revoked";
      break;
    case X509_V_ERR_UNABLE_TO_GET_CRL:
      text += " cannot be checked: there is no list of revoked certificates from its issuer";
      break;
    case X509_V_ERR_CRL_HAS_EXPIRED:
      text += " cannot be checked: the list of revoked certificates has expired";
      break;
    default:
      text += std::string(" is invalid: ") + X509_verify_cert_error_string(reason);
  }
  return Error::text(Code::Unauthenticated, text).from_environment();
}

int verified(int is_good, X509_STORE_CTX* store) noexcept {
  if (is_good == 1) return 1;
  // Only the peer's own certificate requires a list from its issuer; for an issuer's certificate, a missing list is not
  // an error.
  if (X509_STORE_CTX_get_error(store) == X509_V_ERR_UNABLE_TO_GET_CRL && X509_STORE_CTX_get_error_depth(store) > 0) {
    X509_STORE_CTX_set_error(store, X509_V_OK);
    return 1;
  }
  const auto* const ssl =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  Connection& connection = Connection::of(ssl);
  if (connection.refusal) return 0;
  try {
    connection.refusal.emplace(refusal_of(store, connection));
  } catch (const std::bad_alloc&) {
    connection.refusal.emplace(Code::ResourceExhausted, "out of memory while explaining why a certificate is invalid");
  }
  return 0;
}

#if OPENSSL_VERSION_NUMBER < 0x30400000L
void set_session_time(SSL_SESSION* session, std::time_t time) noexcept { SSL_SESSION_set_time(session, time); }
std::time_t session_time(const SSL_SESSION* session) noexcept { return SSL_SESSION_get_time(session); }
#else
void set_session_time(SSL_SESSION* session, std::time_t time) noexcept { SSL_SESSION_set_time_ex(session, time); }
std::time_t session_time(const SSL_SESSION* session) noexcept { return SSL_SESSION_get_time_ex(session); }
#endif

// OpenSSL computes the age of a session from the system's clock, but the time in a ticket comes from the clock of the
// Host. The session's time is therefore shifted by the difference between these two clocks before OpenSSL computes the
// age.
void date_by_host(SSL_SESSION* session) noexcept { set_session_time(session, seconds_now()); }
void date_by_system(SSL_SESSION* session) noexcept {
  set_session_time(session, std::time(nullptr) - (seconds_now() - session_time(session)));
}

// The server chooses the size of its ticket, up to 64 KiB.
constexpr std::size_t ticket_bytes_max = 16 * 1024;

int keep_session(SSL* ssl, SSL_SESSION* session) noexcept {
  Connection& connection = Connection::of(ssl);
  connection.has_new_session = true;
  SessionPointer ours(session);
  const unsigned char* ticket = nullptr;
  std::size_t ticket_bytes = 0;
  SSL_SESSION_get0_ticket(session, &ticket, &ticket_bytes);
  if (ticket_bytes > ticket_bytes_max) return 1;
  date_by_host(session);
  try {
    connection.context->sessions.keep(connection.host, std::move(ours));
  } catch (const std::bad_alloc&) {
  }
  return 1;
}

// When a session is resumed, the client gets a new ticket, but the certificates are not checked again. Therefore each
// ticket contains the time at which the certificates were checked.
int ticket_is_made(SSL* ssl, void*) noexcept {
  SSL_SESSION* const session = SSL_get_session(ssl);
  date_by_host(session);
  if (SSL_session_reused(ssl) == 1) return 1;
  const std::int64_t now = seconds_now();
  return SSL_SESSION_set1_ticket_appdata(session, &now, sizeof now);
}

bool is_recent(SSL_SESSION* session) noexcept {
  void* data = nullptr;
  std::size_t size = 0;
  std::int64_t began = 0;
  if (SSL_SESSION_get0_ticket_appdata(session, &data, &size) != 1 || size != sizeof began) return false;
  std::memcpy(&began, data, sizeof began);
  return seconds_now() - began <= TicketKeys::opens_for.count_ms() / 1000;
}

SSL_TICKET_RETURN ticket_is_read(SSL*, SSL_SESSION* session, const unsigned char*, std::size_t,
                                 SSL_TICKET_STATUS status, void*) noexcept {
  if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) return SSL_TICKET_RETURN_IGNORE_RENEW;
  if (!is_recent(session)) return SSL_TICKET_RETURN_IGNORE_RENEW;
  date_by_system(session);
  return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

Result<std::shared_ptr<Context>> make_context(bool is_server, Version version_min, Version version_max,
                                              const std::vector<std::string>& protocols, std::size_t sessions_max) {
  static_cast<void>(uses_pools());  // This call makes the linker include the object file that installs the pools.
  ERR_clear_error();
  auto context = std::make_shared<Context>(sessions_max);
  context->is_server = is_server;
  context->ssl.reset(SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method()));
  SSL_CTX* const ssl = context->ssl.get();
  if (ssl == nullptr) return Error::text(Code::ResourceExhausted, "OpenSSL cannot be used: " + last_words());
  if (version_min > version_max)
    return fail(Code::InvalidArgument, "the lowest accepted TLS version is above the highest");
  const bool is_set = SSL_CTX_set_min_proto_version(ssl, wire_version(version_min)) == 1 &&
                      SSL_CTX_set_max_proto_version(ssl, wire_version(version_max)) == 1 &&
                      SSL_CTX_set_ciphersuites(ssl, suites_13) == 1 && SSL_CTX_set_cipher_list(ssl, suites_12) == 1 &&
                      SSL_CTX_set1_groups_list(ssl, groups) == 1;
  if (!is_set) return Error::text(Code::Unsupported, "OpenSSL lacks a feature that Keel needs: " + last_words());
  SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // An idle connection keeps no buffers, which would take 33 KB. Releasing the buffers takes a thirtieth of the time of
  // a small request (ReleasedBuffers in internal/memory_test.cc).
  SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_max_early_data(ssl, 0);
  KEEL_TRY(context->protocols, wire_protocols(protocols));
  return context;
}

Result<> trust(Context& context, const Trust& trust) {
  KEEL_TRY(Anchors anchors, load_anchors(trust));
  SSL_CTX* const ssl = context.ssl.get();
  X509_STORE* const store = SSL_CTX_get_cert_store(ssl);
  bool is_done = true;
  if (anchors.roots.empty()) is_done = SSL_CTX_set_default_verify_paths(ssl) == 1;
  for (const CertificatePointer& root : anchors.roots) {
    is_done = is_done && X509_STORE_add_cert(store, root.get()) == 1;
    if (context.is_server) is_done = is_done && SSL_CTX_add_client_CA(ssl, root.get()) == 1;
  }
  for (const auto& list : anchors.revoked) is_done = is_done && X509_STORE_add_crl(store, list.get()) == 1;
  if (!anchors.revoked.empty()) X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  if (!is_done) return Error::text(Code::InvalidArgument, "the roots cannot be used: " + last_words());
  for (Expiry& one : anchors.expiries) context.expiries.push_back(std::move(one));
  return {};
}

void note_issuers(Context& context, const Identity& identity, const std::string& file) {
  for (const X509* const issuer : identity.issuers) {
    context.expiries.push_back(expiry_of(Expiry::Kind::Issuer, file, issuer));
  }
}

bool is_empty(const KeyPair& pair) {
  return pair.certificate_file.empty() && pair.certificate_pem.empty() && pair.key_file.empty() && pair.key_pem.empty();
}

}  // namespace

void Sessions::keep(std::string_view host, SessionPointer session) {
  const std::lock_guard lock(mutex_);
  if (count_max_ == 0) return;
  if (kept_.size() == count_max_) {
    const auto is_of_host = [&](const Kept& one) { return one.host == host; };
    const bool has_enough = std::ranges::count_if(kept_, is_of_host) >= std::ptrdiff_t(count_max_ / 4);
    const auto own = std::ranges::find_if(kept_, is_of_host);
    kept_.erase(has_enough && own != kept_.end() ? own : kept_.begin());
  }
  kept_.push_back({std::string(host), std::move(session)});
}

SessionPointer Sessions::take(std::string_view host) {
  const std::lock_guard lock(mutex_);
  for (auto at = kept_.rbegin(); at != kept_.rend(); ++at) {
    if (at->host != host) continue;
    SSL_SESSION* const session = at->session.get();
    if (SSL_SESSION_get_protocol_version(session) == TLS1_2_VERSION) {
      // The session is copied before its time is changed, because other connections may use the session as well.
      SessionPointer copy(SSL_SESSION_dup(session));
      if (copy != nullptr) date_by_system(copy.get());
      return copy;
    }
    SessionPointer taken = std::move(at->session);
    kept_.erase(std::next(at).base());
    date_by_system(taken.get());
    return taken;
  }
  return nullptr;
}

}  // namespace internal

using internal::Context;

Result<ServerContext> ServerContext::make(const ServerOptions& options) {
  if (options.certificates.empty()) return fail(Code::InvalidArgument, "a TLS server needs a certificate");
  KEEL_TRY(auto context, internal::make_context(true, options.version_min, options.version_max, options.protocols, 0));
  SSL_CTX* const ssl = context->ssl.get();
  context->handshake_timeout = options.handshake_timeout;
  context->records_per_key = options.records_per_key;
  context->response_to_http = options.response_to_http;

  for (const KeyPair& pair : options.certificates) {
    KEEL_TRY(internal::Identity identity, internal::load_identity(pair, internal::seconds_now()));
    // This call checks the identity when the context is made, because the first handshake with the identity may come
    // much later.
    KEEL_TRY_VOID(internal::use(ssl, identity));
    X509* const certificate = identity.certificate.get();
    context->certificates.push_back({pair.certificate_file, internal::names_of(certificate, 5),
                                     internal::seconds_of(X509_get0_notAfter(certificate)), identity.staple.until,
                                     identity.staple_problem, identity.chain_problem});
    internal::note_issuers(*context, identity, pair.certificate_file);
    context->identities.push_back(std::move(identity));
  }
  if (context->identities.size() > 1) SSL_CTX_set_cert_cb(ssl, &internal::choose_certificates, context.get());
  SSL_CTX_set_tlsext_status_cb(ssl, &internal::give_staple);
  SSL_CTX_set_tlsext_status_arg(ssl, context.get());
  if (!context->protocols.empty()) SSL_CTX_set_alpn_select_cb(ssl, &internal::choose_protocol, context.get());

  if (options.client_certificates != ClientCertificates::Unwanted) {
    if (options.clients.file.empty() && options.clients.pem.empty()) {
      return fail(Code::InvalidArgument, "client certificates are requested, but no roots that issue them are given");
    }
    KEEL_TRY_VOID(internal::trust(*context, options.clients));
    const int required =
        options.client_certificates == ClientCertificates::Required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | required, &internal::verified);
  }
  // Each session stores a name for the context, because OpenSSL requires this name if clients have certificates.
  constexpr unsigned char name[] = {'k', 'e', 'e', 'l'};
  SSL_CTX_set_session_id_context(ssl, name, sizeof name);
  // The server stores no sessions: clients keep them as tickets.
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_ticket_cb(ssl, &internal::ticket_is_made, &internal::ticket_is_read, nullptr);
  if (options.tickets) {
    context->ticket_keys.emplace(options.ticket_keys ? *options.ticket_keys : TicketKeys());
    internal::TicketSealer::attach(ssl, *context->ticket_keys);
    // By default OpenSSL sends two tickets, and each costs a sixteenth of a handshake.
    SSL_CTX_set_num_tickets(ssl, 1);
  } else {
    SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(ssl, 0);
  }
  return ServerContext(std::move(context));
}

const std::vector<CertificateFacts>& ServerContext::certificates() const noexcept { return context_->certificates; }
const std::vector<Expiry>& ServerContext::expiries() const noexcept { return context_->expiries; }
const std::vector<Expiry>& ClientContext::expiries() const noexcept { return context_->expiries; }
const std::string& ClientContext::chain_problem() const noexcept { return context_->chain_problem; }

Result<ClientContext> ClientContext::make(const ClientOptions& options) {
  KEEL_TRY(auto context, internal::make_context(false, options.version_min, options.version_max, options.protocols,
                                                options.sessions_max));
  SSL_CTX* const ssl = context->ssl.get();
  context->handshake_timeout = options.handshake_timeout;
  context->records_per_key = options.records_per_key;

  context->check = options.check;
  if (options.check == ServerCheck::Nothing) {
    SSL_CTX_set_verify(ssl, SSL_VERIFY_NONE, nullptr);
  } else {
    KEEL_TRY_VOID(internal::trust(*context, options.trust));
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, &internal::verified);
  }
  if (!internal::is_empty(options.certificate)) {
    KEEL_TRY(const internal::Identity identity, internal::load_identity(options.certificate, internal::seconds_now()));
    KEEL_TRY_VOID(internal::use(ssl, identity));
    context->chain_problem = identity.chain_problem;
    const std::string& file = options.certificate.certificate_file;
    context->expiries.push_back(internal::expiry_of(Expiry::Kind::Certificate, file, identity.certificate.get()));
    internal::note_issuers(*context, identity, file);
  }
  if (!context->protocols.empty() &&
      SSL_CTX_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(context->protocols.data()),
                              static_cast<unsigned>(context->protocols.size())) != 0) {
    return fail(Code::ResourceExhausted, "out of memory for the names of ALPN protocols");
  }
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(ssl, &internal::keep_session);
  return ClientContext(std::move(context));
}

}  // namespace keel::tls
