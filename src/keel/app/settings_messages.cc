// The sections network.messages and network.pools.NAME.

#include <string>

#include "keel/app/internal/https_rules.h"
#include "keel/app/internal/listen_rules.h"
#include "keel/app/internal/message_options.h"
#include "keel/app/settings.h"
#include "keel/net/sessions/registry.h"

namespace keel::app {
namespace {

using config::Bytes;
using config::ByteSize;
using config::field;

constexpr config::Range<Duration> message_time_limit = {1_ms, 24_h};
constexpr config::Range<Duration> message_time_or_none = {Duration(), 24_h};
constexpr auto take_default = [](const char*, auto& setting, const auto& option) { setting = option; };

}  // namespace

PeerSettings::PeerSettings() {
  const messages::PeerOptions defaults;
  internal::each_peer_option(*this, defaults, take_default);
}

void PeerSettings::fields(config::Schema& v, Of whom) {
  const auto reloads = [whom](config::Field& field) {
    if (whom == Of::Server) field.reloadable();
  };
  reloads(field(v, "max_frame", Bytes(frame_bytes_max),
                "size of the largest message that the peer may send; a larger message ends the connection",
                {ByteSize{512}, ByteSize::mib(1024)}));
  reloads(field(v, "max_requests", requests_max,
                "maximum number of a peer's requests that are handled at the same time on a connection; further "
                "requests wait at the peer",
                {0, 65'535}));
  reloads(field(v, "max_messages", messages_max,
                "maximum number of one-way messages that are handled at the same time on a connection; at this number, "
                "nothing more is read from the connection",
                {1, 65'535}));
  reloads(field(v, "max_streams", streams_max, "maximum number of streams that the peer may have open on a connection",
                {0, 65'535}));
  reloads(field(
      v, "max_stream", Bytes(stream_bytes_max),
      "maximum number of received bytes of a stream that its handler has not read; at the limit the peer stops sending",
      {ByteSize::kib(1), ByteSize::mib(1024)}));
  reloads(field(v, "max_queued", Bytes(queued_bytes_max),
                "maximum number of bytes that wait to be sent on a connection; above it, messages are rejected, and a "
                "peer that does not read its replies is disconnected",
                {ByteSize::kib(1), ByteSize::mib(4096)}));
  reloads(field(
      v, "heartbeat_sec", heartbeat,
      "a peer that sends nothing for this long is pinged, and after twice this time its connection is closed; 0: never",
      message_time_or_none));
  reloads(field(v, "stall_timeout_sec", stall_timeout,
                "if the peer receives none of the sent bytes for this long, the connection is reset",
                message_time_limit));
  reloads(field(
      v, "hello_timeout_sec", hello_timeout,
      "time limit from connecting to the peer's first message, including TLS; a connection that exceeds it is closed",
      message_time_limit));
  field(v, "checksums", checksums, "protect each message in both directions with a checksum; not needed with TLS");
}

SessionSettings::SessionSettings() {
  const sessions::ServerOptions defaults;
  internal::each_session_option(*this, defaults, take_default);
  sessions_max = sessions::RegistryOptions().sessions_max;
}

void SessionSettings::fields(config::Schema& v) {
  field(v, "expiry_sec", expiry, "how long a session is kept without a connection; after that time, the session ends",
        {1_ms, 24_h * 365})
      .reloadable();
  field(v, "max_sessions", sessions_max,
        "maximum number of sessions in the process, including those without a connection; further clients are rejected",
        {1, 100'000'000})
      .reloadable();
  field(v, "max_ring_messages", ring_messages,
        "maximum number of messages that one client has not acknowledged, including messages that wait to be sent",
        {1, 16'777'216})
      .reloadable();
  field(v, "max_ring", Bytes(ring_bytes),
        "maximum memory for the messages that one client has not acknowledged, where each message counts 64 bytes in "
        "addition to its content; this limit also applies while the client has no connection",
        {ByteSize::kib(1), ByteSize::mib(1024)})
      .reloadable();
  field(v, "max_window_messages", window_messages,
        "maximum number of received messages of one client that are not handled yet; at the limit the client stops "
        "sending",
        {1, 16'777'216})
      .reloadable();
  field(v, "max_window", Bytes(window_bytes),
        "maximum number of bytes in received messages of one client that are not handled yet; at the limit the client "
        "stops sending",
        {ByteSize::kib(1), ByteSize::mib(1024)})
      .reloadable();
}

MessagesSettings::MessagesSettings() {
  const messages::ServerOptions defaults;
  internal::each_message_server_option(*this, defaults, take_default);
}

void MessagesSettings::fields(config::Schema& v) {
  field(v, "address", address, "address to listen on; 0.0.0.0 or :: for all interfaces; unix:/path for a Unix socket");
  field(v, "port", port, "port to listen on; 0: any free port");
  field(v, "socket_mode", socket_mode, "permissions of a Unix socket, as for network.http.socket_mode");
  field(v, "tls", tls, "whether messages are served only over TLS, with the certificate of network.https");
  field(v, "client_roots", client_roots,
        "PEM file of the root authorities that issue clients' certificates; a client without such a certificate is "
        "rejected; "
        "empty text: clients need no certificate");
  field(v, "client_revoked", client_revoked, "PEM file of certificate revocation lists (CRL); empty text: none");
  field(v, "max_connections", connections_max,
        "maximum number of open connections of the process; further connections are closed with a reason",
        {1, 10'000'000})
      .reloadable();
  field(v, "drain_timeout_sec", drain,
        "time limit for requests and streams in progress when the service stops; those that exceed it are cancelled",
        message_time_or_none)
      .reloadable();
  peer.fields(v, PeerSettings::Of::Server);
  field(v, "sessions", sessions, "sessions, which outlive their connections");
}

Result<Address> MessagesSettings::listen_address() const { return internal::listen_address_of(address, port); }
Result<std::uint32_t> MessagesSettings::listen_mode() const { return internal::socket_mode_of(address, socket_mode); }

void MessagesSettings::check(bool has_certificate, config::Checks& checks) const {
  const std::string path = "network.messages.";
  const auto at = listen_address();
  if (!at) checks.refuse(path + "address", at.error().message());
  if (const auto mode = listen_mode(); !mode) checks.refuse(path + "socket_mode", mode.error().message());
  if (tls && !has_certificate) {
    checks.refuse(path + "tls", "needs a certificate: set network.https.certificate, which is empty");
  } else if (tls && at && at->is_unix()) {
    checks.refuse(path + "address", "expected an IP address: a Unix socket needs no TLS");
  }
  if (!client_roots.empty() && !tls) checks.refuse(path + "client_roots", "has no effect without network.messages.tls");
  if (!client_revoked.empty() && client_roots.empty()) {
    checks.refuse(path + "client_revoked", "has no effect without network.messages.client_roots");
  }
}

MessagePoolSettings::MessagePoolSettings() {
  const messages::PoolOptions defaults;
  internal::each_message_pool_option(*this, defaults, take_default);
}

void MessagePoolSettings::fields(config::Schema& v) {
  field(v, "endpoints", endpoints,
        "the servers: host:port, an IP address with its port, or unix:/path; each address that a host name resolves to "
        "counts as a server");
  field(v, "connections", connections, "number of connections to each address, for each worker", {1, 10'000});
  field(v, "timeout_sec", timeout,
        "time limit of a request, including retries; 0: only the caller's time limit applies", message_time_or_none);
  field(v, "connect_timeout_sec", connect_timeout, "time limit for connecting, including TLS", message_time_limit);
  field(v, "refresh_sec", refresh, "host names are looked up again after this time", message_time_limit);
  field(v, "eject_first_sec", eject_first,
        "longest time for which an address is excluded after its first failure; this maximum doubles with each further "
        "failure, up to eject_max_sec",
        message_time_limit);
  field(v, "eject_max_sec", eject_max, "longest time for which an address is excluded after repeated failures",
        message_time_limit);
  field(v, "max_attempts", attempts_max,
        "maximum number of attempts of a retryable request, including the first; 1: no retries", {1, 100});
  field(v, "backoff_first_sec", backoff_first,
        "longest wait before the first retry of a request; this maximum doubles with each further retry, up to "
        "backoff_max_sec",
        message_time_limit);
  field(v, "backoff_max_sec", backoff_max,
        "longest wait before any retry, and longest wait of a retryable request for a temporarily excluded address",
        message_time_limit);
  field(v, "budget_ratio", budget_ratio,
        "average number of retries for each request: 0.1 allows one retry for ten requests", {0, 1});
  field(v, "max_budget", budget_max,
        "maximum number of unused retries that are saved; saved retries may later be made in quick succession",
        {0, 1'000'000});
  field(v, "breaker_failure_ratio", breaker_failure_ratio,
        "an address is temporarily excluded if more than this share of its requests fails; above 1: never", {0, 2});
  field(v, "breaker_min_calls", breaker_calls_min,
        "the share of failed requests is judged only if the address got at least this many requests within "
        "breaker_window_sec",
        {1, 1'000'000});
  field(v, "breaker_window_sec", breaker_window, "the period over which the share of failed requests is judged",
        message_time_limit);
  field(v, "breaker_open_sec", breaker_open_time,
        "an address whose requests failed is excluded for this long before it is tried again", message_time_limit);
  peer.fields(v, PeerSettings::Of::Pool);
  field(v, "tls", tls, "connect with TLS; the certificate of a server must be valid for the host of its endpoint");
  field(
      v, "roots", roots,
      "PEM file of the root certificates by which servers' certificates are verified; empty text: those of the system");
  field(v, "revoked", revoked,
        "PEM file of certificate revocation lists (CRL) of the servers' issuers; empty text: none");
  field(v, "certificate", certificate,
        "PEM file of the certificate by which this client authenticates itself to servers; empty text: none");
  field(v, "key", key,
        "PEM file of the certificate's private key; empty text: the file of the certificate contains the key");
}

void MessagePoolSettings::check(const std::string& path, config::Checks& checks) const {
  internal::refuse_pem(checks, path + "certificate", certificate);
  internal::refuse_pem(checks, path + "key", key);
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    const Result<> good = messages::Pool::check_endpoint(endpoints[i]);
    if (!good) checks.refuse(path + "endpoints." + std::to_string(i), good.error().message());
  }
  if (eject_first > eject_max) checks.refuse(path + "eject_first_sec", "is above " + path + "eject_max_sec");
  if (backoff_first > backoff_max) checks.refuse(path + "backoff_first_sec", "is above " + path + "backoff_max_sec");
  const auto needs = [&](bool is_set, const char* key_of_it, bool is_met, const char* what) {
    if (is_set && !is_met) checks.refuse(path + key_of_it, std::string("has no effect without ") + what);
  };
  needs(!roots.empty(), "roots", tls, "tls: true");
  needs(!revoked.empty(), "revoked", tls, "tls: true");
  needs(!certificate.empty(), "certificate", tls, "tls: true");
  needs(!key.empty(), "key", !certificate.empty(), "a certificate");
}

}  // namespace keel::app
