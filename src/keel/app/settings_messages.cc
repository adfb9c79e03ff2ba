// The sections network.messages and network.pools.NAME.

#include <string>

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
  reloads(field(v, "max_frame", Bytes(frame_bytes_max), "largest message of the peer; a larger one ends the connection",
                {ByteSize{512}, ByteSize::mib(1024)}));
  reloads(field(v, "max_requests", requests_max,
                "requests of the peer that are handled at a time on a connection; the others wait at the peer",
                {0, 65'535}));
  reloads(field(v, "max_messages", messages_max,
                "one-way messages that are handled at a time on a connection; then no more are read from it",
                {1, 65'535}));
  reloads(field(v, "max_streams", streams_max, "streams that the peer may have open on a connection", {0, 65'535}));
  reloads(field(v, "max_stream", Bytes(stream_bytes_max),
                "received bytes of a stream that its handler has not taken; at the limit the peer stops sending",
                {ByteSize::kib(1), ByteSize::mib(1024)}));
  reloads(field(
      v, "max_queued", Bytes(queued_bytes_max),
      "bytes that wait to be sent on a connection; above it messages are rejected, and a peer that does not read its "
      "replies is disconnected",
      {ByteSize::kib(1), ByteSize::mib(4096)}));
  reloads(field(
      v, "heartbeat_sec", heartbeat,
      "a peer that sends nothing for this long is asked for a sign of life, and after twice as long the connection "
      "is closed; 0: never",
      message_time_or_none));
  reloads(field(v, "stall_timeout_sec", stall_timeout,
                "time limit for the peer to receive anything of what is sent; then the connection is reset",
                message_time_limit));
  reloads(field(v, "hello_timeout_sec", hello_timeout,
                "time limit from connecting to the peer's first message, TLS included; then the connection is closed",
                message_time_limit));
  field(v, "checksums", checksums, "protect each message by a checksum, both ways; TLS needs none");
}

SessionSettings::SessionSettings() {
  const sessions::ServerOptions defaults;
  internal::each_session_option(*this, defaults, take_default);
  sessions_max = sessions::RegistryOptions().sessions_max;
}

void SessionSettings::fields(config::Schema& v) {
  field(v, "expiry_sec", expiry, "how long a session is kept without a connection; then it ends", {1_ms, 24_h * 365})
      .reloadable();
  field(v, "max_sessions", sessions_max,
        "sessions of the process, with those that have no connection; a client above it is rejected", {1, 100'000'000})
      .reloadable();
  field(v, "max_ring_messages", ring_messages, "messages that wait for one client, or that it has not acknowledged",
        {1, 16'777'216})
      .reloadable();
  field(v, "max_ring", Bytes(ring_bytes),
        "memory of those messages, with 64 bytes for each in addition to its content; it limits what a client without "
        "a connection may use",
        {ByteSize::kib(1), ByteSize::mib(1024)})
      .reloadable();
  field(v, "max_window_messages", window_messages,
        "messages of one client that were received and not handled; at the limit it stops sending", {1, 16'777'216})
      .reloadable();
  field(v, "max_window", Bytes(window_bytes), "the same in bytes", {ByteSize::kib(1), ByteSize::mib(1024)})
      .reloadable();
}

MessagesSettings::MessagesSettings() {
  const messages::ServerOptions defaults;
  internal::each_message_server_option(*this, defaults, take_default);
}

void MessagesSettings::fields(config::Schema& v) {
  field(v, "address", address, "address to listen on; 0.0.0.0 or :: for all; unix:/path for a Unix socket");
  field(v, "port", port, "port to listen on; 0: any free one");
  field(v, "socket_mode", socket_mode, "of a Unix socket: its permissions, as network.http.socket_mode");
  field(v, "tls", tls, "serve messages over TLS only, with the certificate of network.https");
  field(v, "client_roots", client_roots,
        "PEM file of the certificates that issue those of clients; a client without one is rejected; empty text: no "
        "client needs one");
  field(v, "client_revoked", client_revoked, "PEM file of certificate revocation lists (CRL); empty text: none");
  field(v, "max_connections", connections_max,
        "maximum number of open connections of the process; more are closed with a reason", {1, 10'000'000})
      .reloadable();
  field(v, "drain_timeout_sec", drain,
        "time limit for requests and streams that are under way when the service stops; then they are cancelled",
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
    checks.refuse(path + "tls", "needs a certificate: that of network.https.certificate, which is empty");
  } else if (tls && at && at->is_unix()) {
    checks.refuse(path + "address", "expected an IP address: what comes by a Unix socket needs no TLS");
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
        "the servers: host:port, an IP address with its port, or unix:/path; each address of a host is one");
  field(v, "connections", connections, "connections to each address, for each worker", {1, 10'000});
  field(v, "timeout_sec", timeout, "time limit of a request, repetitions included; 0: that of the caller alone",
        message_time_or_none);
  field(v, "connect_timeout_sec", connect_timeout, "time limit of connecting, TLS included", message_time_limit);
  field(v, "refresh_sec", refresh, "host names are looked up again after this time", message_time_limit);
  field(v, "eject_first_sec", eject_first,
        "longest time that an address is left out after its first failure; it doubles with each further one",
        message_time_limit);
  field(v, "eject_max_sec", eject_max, "longest time that an address is left out", message_time_limit);
  field(v, "max_attempts", attempts_max,
        "attempts of a request that may be repeated, the first included; 1: no repetitions", {1, 100});
  field(v, "breaker_failure_ratio", breaker_failure_ratio,
        "an address is left out when more than this share of its requests fails; above 1: never", {0, 2});
  field(v, "breaker_min_calls", breaker_calls_min, "requests within 10 s before that share means anything",
        {1, 1'000'000});
  field(v, "breaker_open_sec", breaker_open_time, "how long it is left out then, until it is tried again",
        message_time_limit);
  peer.fields(v, PeerSettings::Of::Pool);
  field(v, "tls", tls, "connect with TLS; the name of an endpoint is the one its certificate has to be for");
  field(v, "roots", roots, "PEM file of the roots of servers' certificates; empty text: the system's");
  field(v, "certificate", certificate, "PEM file of a certificate that proves who this client is; empty text: none");
  field(v, "key", key, "PEM file of its private key; empty text: beside the certificate");
}

void MessagePoolSettings::check(const std::string& path, config::Checks& checks) const {
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    const Result<> good = messages::Pool::check_endpoint(endpoints[i]);
    if (!good) checks.refuse(path + "endpoints." + std::to_string(i), good.error().message());
  }
  if (eject_first > eject_max) checks.refuse(path + "eject_first_sec", "is above " + path + "eject_max_sec");
  const auto needs = [&](bool is_set, const char* key_of_it, bool is_met, const char* what) {
    if (is_set && !is_met) checks.refuse(path + key_of_it, std::string("has no effect without ") + what);
  };
  needs(!roots.empty(), "roots", tls, "tls: true");
  needs(!certificate.empty(), "certificate", tls, "tls: true");
  needs(!key.empty(), "key", !certificate.empty(), "a certificate");
}

}  // namespace keel::app
