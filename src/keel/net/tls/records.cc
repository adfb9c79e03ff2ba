#include "keel/net/tls/records.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/base/pool.h"
#include "keel/net/tls/internal/context.h"
#include "keel/net/tls/internal/memory.h"

namespace keel::tls {
namespace {

using internal::BioPointer;
using internal::SessionPointer;
using internal::SslPointer;

// At this amount of output, no more is accepted from OpenSSL. Beyond output_bytes_max, there is room for a handshake
// flight and a reply to one record.
constexpr std::size_t output_bytes_most = Records::output_bytes_max + 160 * 1024;

// The number of handshake messages that a peer may send in a row without data: updates of keys, tickets, requests to
// renegotiate. The number is limited because a message of some twenty bytes costs the receiver several hashes, a
// session or an alert.
constexpr int messages_max = 32;

Error from_peer(Code code, const std::string& text) { return Error::text(code, text).from_environment(); }

// The error for an alert of the peer (RFC 8446 §6).
Error error_of_alert(int alert, bool is_established) {
  const std::string words = std::string("the alert '") + SSL_alert_desc_string_long(alert) + '\'';
  switch (alert) {
    case SSL_AD_PROTOCOL_VERSION:
      return from_peer(Code::Protocol, "there is no common TLS version: the peer sent " + words);
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_INSUFFICIENT_SECURITY:
      return from_peer(Code::Protocol,
                       "there is no common value for the cipher or another required parameter: the peer sent " + words);
    case SSL_AD_NO_APPLICATION_PROTOCOL:
      return from_peer(Code::Protocol, "there is no common application protocol (ALPN): the peer sent " + words);
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_CERTIFICATE_REQUIRED:
    case SSL_AD_ACCESS_DENIED:
      return from_peer(Code::Unauthenticated,
                       "the peer does not accept this side's certificate, or requires one: " + words);
    default:
      return from_peer(
          Code::Protocol,
          (is_established ? "the peer ended the connection with " : "the peer ended the handshake with ") + words);
  }
}

Error error_of(unsigned long code, bool is_established) {
  const int reason = ERR_GET_REASON(code);
  if (reason == ERR_R_MALLOC_FAILURE) return Error(Code::ResourceExhausted, "no memory for TLS");
  if (ERR_GET_LIB(code) == ERR_LIB_SSL) {
    if (reason >= SSL_AD_REASON_OFFSET) return error_of_alert(reason - SSL_AD_REASON_OFFSET, is_established);
    switch (reason) {
      case SSL_R_HTTP_REQUEST:
      case SSL_R_HTTPS_PROXY_REQUEST:
        return from_peer(Code::Protocol, "the peer speaks HTTP without TLS");
      case SSL_R_WRONG_VERSION_NUMBER:
        return from_peer(Code::Protocol, is_established
                                             ? "the peer sent bytes that are not a TLS record"
                                             : "the peer does not speak TLS, or there is no common TLS version");
      case SSL_R_UNSUPPORTED_PROTOCOL:
      case SSL_R_UNKNOWN_SSL_VERSION:
      case SSL_R_VERSION_TOO_LOW:
      case SSL_R_NO_PROTOCOLS_AVAILABLE:
        return from_peer(Code::Protocol, "there is no common TLS version");
      case SSL_R_NO_SHARED_CIPHER:
      case SSL_R_NO_CIPHERS_AVAILABLE:
      case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
      case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
        return from_peer(Code::Protocol, "no common cipher works with the certificate's key");
      case SSL_R_NO_SUITABLE_KEY_SHARE:
      case SSL_R_NO_SUITABLE_GROUPS:
        return from_peer(Code::Protocol, "there is no common key-exchange group");
      case SSL_R_NO_APPLICATION_PROTOCOL:
        return from_peer(Code::Protocol, "there is no common application protocol (ALPN)");
      case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return from_peer(Code::Unauthenticated, "the client has no certificate");
      default:
        break;
    }
  }
  const char* const words = ERR_reason_error_string(code);
  return from_peer(Code::Protocol, std::string("the peer violated the TLS protocol: ") +
                                       (words != nullptr ? words : "OpenSSL does not say why"));
}

// The reason for a failure: the error of the TLS protocol if there is one, otherwise that of the cipher.
unsigned long first_of_protocol() noexcept {
  const unsigned long first = ERR_peek_error();
  for (unsigned long code = ERR_get_error(); code != 0; code = ERR_get_error()) {
    if (ERR_GET_LIB(code) == ERR_LIB_SSL) return code;
  }
  return first;
}

bool is_address(const std::string& host) {
  const internal::Owner<ASN1_OCTET_STRING, ASN1_OCTET_STRING_free> address(a2i_IPADDRESS(host.c_str()));
  ERR_clear_error();
  return address != nullptr;
}

// Wipes a key that was made for one handshake. Otherwise OpenSSL would keep the key of the handshake for the life of
// the connection, although data is encrypted with other keys. After forget(), OpenSSL keeps only an empty object.
void forget(EVP_PKEY* key) noexcept { EVP_PKEY_set_type(key, EVP_PKEY_X25519); }

void forget_handshake_keys(SSL* ssl) noexcept {
  EVP_PKEY* key = nullptr;
  if (SSL_get_tmp_key(ssl, &key) == 1) forget(internal::Owner<EVP_PKEY, EVP_PKEY_free>(key).get());
  key = nullptr;
  if (SSL_get_peer_tmp_key(ssl, &key) == 1) forget(internal::Owner<EVP_PKEY, EVP_PKEY_free>(key).get());
  ERR_clear_error();
}

}  // namespace

struct Records::State {
  explicit State(std::shared_ptr<const internal::Context> c) : context(std::move(c)) {
    connection.context = context.get();
    has_first_record = !context->is_server;
    if (!context->is_server) begin();
  }

  void begin() {
    ERR_clear_error();
    ssl.reset(SSL_new(context->ssl.get()));
    BioPointer bio(ssl != nullptr ? BIO_new(&method()) : nullptr);
    if (bio == nullptr) throw std::bad_alloc();
    BIO_set_data(bio.get(), this);
    BIO_set_init(bio.get(), 1);
    BIO* const owned = bio.release();
    SSL_set_bio(ssl.get(), owned, owned);
    SSL_set_app_data(ssl.get(), &connection);
    X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl.get()), Host::current().wall_ns() / 1'000'000'000);
    context->is_server ? SSL_set_accept_state(ssl.get()) : SSL_set_connect_state(ssl.get());
  }

  ~State() {
    // A session without an error may be resumed, even if its connection ended without close_notify.
    if (is_established && !failure) SSL_set_shutdown(ssl.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  }

  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* state, std::size_t bytes) noexcept { pool_free(state, bytes); }

  // --- the BIO

  static const BIO_METHOD& method() {
    static const internal::Owner<BIO_METHOD, BIO_meth_free> ours = [] {
      internal::Owner<BIO_METHOD, BIO_meth_free> made(
          BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "a connection of Keel"));
      if (made == nullptr) throw std::bad_alloc();
      BIO_meth_set_read_ex(made.get(), &take);
      BIO_meth_set_write_ex(made.get(), &put);
      BIO_meth_set_ctrl(made.get(), &control);
      return made;
    }();
    return *ours;
  }
  static int take(BIO* bio, char* into, std::size_t size, std::size_t* got) noexcept {
    auto& self = *static_cast<State*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (!self.early.empty()) {
      std::string_view early = self.early.view().substr(self.early_taken);
      take_from(early, into, size, got);
      self.early_taken += *got;
      if (early.empty()) self.early = Buffer();
      return 1;
    }
    if (self.wire == nullptr || self.wire->empty()) {
      BIO_set_retry_read(bio);
      return 0;
    }
    take_from(*self.wire, into, size, got);
    return 1;
  }
  static void take_from(std::string_view& bytes, char* into, std::size_t size, std::size_t* got) noexcept {
    *got = std::min(size, bytes.size());
    std::memcpy(into, bytes.data(), *got);
    bytes.remove_prefix(*got);
  }
  static int put(BIO* bio, const char* bytes, std::size_t size, std::size_t* put) noexcept {
    auto& self = *static_cast<State*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (self.out.size() >= output_bytes_most) {
      BIO_set_retry_write(bio);
      return 0;
    }
    try {
      self.out.append({bytes, size});
    } catch (const std::bad_alloc&) {
      self.is_without_memory = true;
      return 0;
    }
    *put = size;
    return 1;
  }
  static long control(BIO*, int command, long, void*) noexcept { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  // --- results of OpenSSL

  // Returns the error of a call of OpenSSL that returned `result`. Success: the call has to be repeated after bytes
  // were received or sent.
  Result<> judge(int result) {
    switch (SSL_get_error(ssl.get(), result)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
        return {};
      case SSL_ERROR_ZERO_RETURN:
        has_peer_finished = true;
        return {};
      default:
        break;
    }
    if (is_without_memory) {
      failure.emplace(Code::ResourceExhausted, "no memory for TLS");
    } else if (connection.refusal) {
      failure.emplace(*std::move(connection.refusal));
    } else {
      const unsigned long code = first_of_protocol();
      failure.emplace(error_of(code, is_established));
      if (context->is_server && ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_HTTP_REQUEST) {
        out.clear();
        out.append(context->response_to_http);
      }
    }
    ERR_clear_error();
    return failure->clone();
  }

  // True if `early` and `late` together contain the whole first record of a client, or bytes that are not a record.
  // OpenSSL takes some 10 KiB for a connection, and 60 KiB more when it begins a handshake; a client that has sent
  // nothing, or only a byte, must not cost that much memory.
  static bool is_whole_record(std::string_view early, std::string_view late) noexcept {
    constexpr std::size_t header = 5;  // RFC 8446 §5.1.
    const auto byte = [=](std::size_t i) -> std::size_t {
      return static_cast<unsigned char>(i < early.size() ? early[i] : late[i - early.size()]);
    };
    const std::size_t came = early.size() + late.size();
    if (came != 0 && is_of_ssl_2(static_cast<unsigned char>(byte(0)))) return true;
    if (came < header) return false;
    if (byte(0) != SSL3_RT_HANDSHAKE) return true;
    const std::size_t size = byte(3) << 8 | byte(4);
    return size > Records::plain_bytes_max || came >= header + size;
  }
  // The first byte of an SSL 2.0 record has its high bit set; OpenSSL would wait for the remaining bytes of such a
  // record.
  static bool is_of_ssl_2(unsigned char first) noexcept { return (first & 0x80) != 0; }

  bool collect(std::string_view& from) {
    if (has_first_record || is_whole_record(early.view(), from)) return true;
    early.append(from);
    from.remove_prefix(from.size());
    return false;
  }
  // False: call it again when more bytes have arrived.
  Result<bool> take_first_record() {
    if (has_first_record) return true;
    if (!collect(*wire)) return false;
    if (early.empty() && is_of_ssl_2(static_cast<unsigned char>(wire->front()))) {
      failure.emplace(from_peer(Code::Protocol, "the peer did not begin with a TLS handshake"));
      return failure->clone();
    }
    if (!early.empty()) {
      early.append(*wire);
      wire->remove_prefix(wire->size());
    }
    has_first_record = true;
    return true;
  }

  Result<> shake() {
    try {
      KEEL_TRY(const bool is_whole, take_first_record());
      if (!is_whole) return {};
      if (ssl == nullptr) begin();
    } catch (const std::bad_alloc&) {
      failure.emplace(Code::ResourceExhausted, "no memory for TLS");
      return failure->clone();
    }
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl.get());
    if (result != 1) {
      KEEL_TRY_VOID(judge(result));
      if (!std::exchange(has_peer_finished, false)) return {};
      failure.emplace(from_peer(Code::Unavailable, "the peer ended the TLS handshake with close_notify"));
      return failure->clone();
    }
    is_established = true;
    forget_handshake_keys(ssl.get());
    SSL_set_msg_callback(ssl.get(), &count_messages);
    SSL_set_msg_callback_arg(ssl.get(), this);
    if (context->is_server) {
      if (X509* const certificate = SSL_get0_peer_certificate(ssl.get()); certificate != nullptr) {
        identity = internal::identity_of(certificate);
      }
    } else {
      identity = connection.host;
    }
    return {};
  }

  // Called for each handshake message that arrives after the handshake.
  static void count_messages(int is_sent, int, int type, const void*, std::size_t, SSL*, void* self) noexcept {
    if (is_sent == 0 && type == SSL3_RT_HANDSHAKE) ++static_cast<State*>(self)->messages;
  }
  Result<> check_messages() {
    if (messages <= messages_max) return {};
    failure.emplace(from_peer(Code::Protocol, "the peer sent more than " + std::to_string(messages_max) +
                                                  " handshake messages without data between them"));
    SSL_shutdown(ssl.get());
    ERR_clear_error();
    return failure->clone();
  }

  // Call renew_keys() before each record. If the keys are already being renewed, the call does nothing, and the next
  // record tries again.
  void renew_keys() noexcept {
    if (SSL_version(ssl.get()) != TLS1_3_VERSION) return;
    if (SSL_key_update(ssl.get(), SSL_KEY_UPDATE_REQUESTED) == 1) sealed = 0;
    ERR_clear_error();
  }

  // To send a ticket, OpenSSL allocates a buffer of 16 KiB and keeps it until the next write. While the client is idle
  // there is no further write, so this function writes zero bytes: such a write sends nothing, and OpenSSL frees the
  // buffer.
  void release_write_buffer() noexcept {
    std::size_t written = 0;
    SSL_write_ex(ssl.get(), "", 0, &written);
    ERR_clear_error();
  }

  internal::PoolUse memory;
  std::shared_ptr<const internal::Context> context;
  internal::Connection connection;
  std::string_view* wire = nullptr;  // The caller's bytes, during read().
  Buffer early;                      // On a server, the beginning of the first record, which OpenSSL reads first.
  std::size_t early_taken = 0;       // The number of bytes of `early` that OpenSSL has read.
  Buffer out;
  std::optional<Error> failure;
  std::string identity;
  int messages = 0;               // The number of handshake messages that the peer has sent since its last data.
  std::uint32_t sealed = 0;       // The number of records sent since this side's keys were last changed.
  bool has_first_record = false;  // Always true for a client, because only a server waits for the first record.
  bool is_established = false;
  bool has_peer_finished = false;
  bool has_finished = false;
  bool is_without_memory = false;
  SslPointer ssl;  // Declared last, and so destroyed first, because it uses the other members.
};

Records::Records(const ServerContext& context) : state_(std::make_unique<State>(context.context_)) {}

Records::Records(const ClientContext& context, std::string_view host)
    : state_(std::make_unique<State>(context.context_)) {
  KEEL_EXPECT(!host.empty(), "TLS needs the host that the peer's certificate must be valid for");
  std::string& name = state_->connection.host;
  name = host;
  // A DNS name may end in a dot, but names in certificates do not.
  if (name.size() > 1 && name.back() == '.') name.pop_back();
  SSL* const ssl = state_->ssl.get();
  bool is_set = false;
  if (name.find('\0') != std::string::npos) {
    // A host with a zero byte is rejected, because OpenSSL would compare only the part before that byte.
  } else if (state_->context->check != ServerCheck::Host) {
    is_set = is_address(name) || SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
  } else if (is_address(name)) {
    is_set = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1;
  } else {
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    is_set = SSL_set1_host(ssl, name.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
  }
  if (!is_set) {
    // OpenSSL would accept a certificate for any host if the host name were not set.
    ERR_clear_error();
    state_->failure.emplace(Error::text(Code::InvalidArgument, "'" + name.substr(0, 100) + "' is not a host for TLS"));
    return;
  }
  const SessionPointer session = state_->context->sessions.take(name);
  if (session != nullptr) SSL_set_session(ssl, session.get());
}

Records::~Records() = default;

Result<std::size_t> Records::read(std::string_view& wire, std::span<char> into) {
  State& state = *state_;
  if (state.failure) return state.failure->clone();
  if (state.has_peer_finished) return 0;
  state.wire = &wire;
  struct Leaving {
    State& state;
    ~Leaving() { state.wire = nullptr; }
  } leaving{state};
  if (!state.is_established) {
    KEEL_TRY_VOID(state.shake());
    if (!state.is_established) return 0;
  }
  if (into.empty() || state.out.size() >= output_bytes_max) return 0;
  ERR_clear_error();
  std::size_t got = 0;
  const int result = SSL_read_ex(state.ssl.get(), into.data(), into.size(), &got);
  if (result != 1) KEEL_TRY_VOID(state.judge(result));
  KEEL_TRY_VOID(state.check_messages());
  if (result == 1) state.messages = 0;
  if (std::exchange(state.connection.has_new_session, false)) state.release_write_buffer();
  return result == 1 ? got : 0;
}

bool Records::collect(std::string_view& wire) noexcept {
  State& state = *state_;
  if (state.failure) return true;
  try {
    return state.collect(wire);
  } catch (const std::bad_alloc&) {
    state.failure.emplace(Code::ResourceExhausted, "no memory for TLS");
    return true;
  }
}

Result<std::size_t> Records::write(std::string_view plain) {
  State& state = *state_;
  KEEL_EXPECT(state.is_established && !state.has_finished,
              "TLS data can be written only between the handshake and finish()");
  if (state.failure) return state.failure->clone();
  std::size_t done = 0;
  while (done < plain.size() && state.out.size() < output_bytes_max) {
    ERR_clear_error();
    if (state.sealed >= state.context->records_per_key) state.renew_keys();
    std::size_t some = 0;
    const int result = SSL_write_ex(state.ssl.get(), plain.data() + done, plain.size() - done, &some);
    if (result != 1) {
      KEEL_TRY_VOID(state.judge(result));
      break;
    }
    done += some;
    ++state.sealed;
  }
  return done;
}

void Records::finish() {
  State& state = *state_;
  if (!state.is_established || state.failure || std::exchange(state.has_finished, true)) return;
  ERR_clear_error();
  SSL_shutdown(state.ssl.get());
  ERR_clear_error();
}

Result<> Records::ended(int number) {
  State& state = *state_;
  if (state.failure) return state.failure->clone();
  if (state.has_peer_finished) return {};
  const std::string how = number != 0 ? std::string(": ") + std::strerror(number) : ": the peer closed the connection";
  if (state.is_established) {
    return from_peer(Code::Unavailable, "the connection was truncated: the peer closed it without close_notify" + how);
  }
  state.failure.emplace(from_peer(Code::Unavailable, "the connection ended during the TLS handshake" + how));
  return state.failure->clone();
}

Buffer& Records::output() noexcept { return state_->out; }
bool Records::has_begun() const noexcept { return state_->ssl != nullptr; }
bool Records::is_established() const noexcept { return state_->is_established; }
bool Records::has_peer_finished() const noexcept { return state_->has_peer_finished; }

Version Records::version() const noexcept {
  return has_begun() && SSL_version(state_->ssl.get()) == TLS1_3_VERSION ? Version::Tls13 : Version::Tls12;
}
std::string_view Records::cipher() const noexcept {
  const char* const name = has_begun() ? SSL_get_cipher_name(state_->ssl.get()) : nullptr;
  return name != nullptr ? name : "";
}
std::string_view Records::protocol() const noexcept {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  if (has_begun()) SSL_get0_alpn_selected(state_->ssl.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}
std::string_view Records::peer_identity() const noexcept { return state_->identity; }
std::string Records::server_end_point() const {
  const internal::Owner<X509, X509_free> certificate(has_begun() ? SSL_get1_peer_certificate(state_->ssl.get())
                                                                 : nullptr);
  int hash = NID_undef;
  if (certificate == nullptr || OBJ_find_sigid_algs(X509_get_signature_nid(certificate.get()), &hash, nullptr) != 1) {
    return {};
  }
  if (hash == NID_md5 || hash == NID_sha1) hash = NID_sha256;
  const EVP_MD* const digest = EVP_get_digestbynid(hash);
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (digest == nullptr || X509_digest(certificate.get(), digest, bytes, &size) != 1) {
    ERR_clear_error();
    return {};
  }
  return std::string(reinterpret_cast<const char*>(bytes), size);
}
std::string_view Records::server_name() const noexcept {
  const char* const name = has_begun() ? SSL_get_servername(state_->ssl.get(), TLSEXT_NAMETYPE_host_name) : nullptr;
  return name != nullptr ? name : "";
}
bool Records::is_resumed() const noexcept { return has_begun() && SSL_session_reused(state_->ssl.get()) == 1; }
Duration Records::handshake_timeout() const noexcept { return state_->context->handshake_timeout; }

}  // namespace keel::tls
