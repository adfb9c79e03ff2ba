// Reads network.clients.NAME.

#include <string>
#include <utility>

#include "keel/app/internal/https_rules.h"
#include "keel/app/settings.h"
#include "keel/http/client/client.h"
#include "keel/http/client/proxy.h"

namespace keel::app {
namespace {

using config::Bytes;
using config::ByteSize;
using config::field;

constexpr config::Range<Duration> client_time_limit = {1_ms, 24_h};

}  // namespace

ClientSettings::ClientSettings() {
  const http::ClientOptions defaults;
  base_url = defaults.base_url;
  timeout = defaults.timeout;
  connect_timeout = defaults.pool.connect_timeout;
  first_byte_timeout = defaults.first_byte_timeout;
  read_timeout = defaults.read_timeout;
  connections_max = defaults.pool.connections_max;
  connections_per_origin_max = defaults.pool.connections_per_origin_max;
  body_bytes_max = defaults.body_bytes_max;
  attempts_max = defaults.retry.attempts_max;
  decompresses = defaults.decompresses;
}

void ClientSettings::fields(config::Schema& v) {
  field(v, "base_url", base_url,
        "the server's base URL, http[s]://host[:port][/path]; the paths of calls are appended to it");
  field(v, "timeout_sec", timeout, "time limit of a call, including redirects and retries", client_time_limit);
  field(v, "connect_timeout_sec", connect_timeout, "time limit for connecting, including the name lookup",
        client_time_limit);
  field(v, "first_byte_timeout_sec", first_byte_timeout,
        "time limit from sending a request to receiving the head of its response", client_time_limit);
  field(v, "read_timeout_sec", read_timeout, "time limit between two pieces of a response body", client_time_limit);
  field(v, "max_connections", connections_max,
        "maximum number of open connections to all servers together, for each worker", {1, 1'000'000});
  field(v, "max_connections_per_server", connections_per_origin_max,
        "maximum number of concurrent calls to one server, for each worker; further calls wait", {1, 1'000'000});
  field(v, "max_body", Bytes(body_bytes_max),
        "maximum size of a response body that is read completely into memory; the call fails when it is larger",
        {ByteSize{0}, ByteSize::mib(1 << 20)});
  field(v, "max_attempts", attempts_max, "maximum number of attempts of one call, including the first; 1: no retries",
        {1, 100});
  field(v, "proxy", proxy,
        "HTTP proxy for the calls: http://[user:password@]host[:port]; environment: the proxy in HTTPS_PROXY or "
        "http_proxy, unless NO_PROXY lists the server; empty text: none");
  field(v, "no_proxy", no_proxy,
        "servers that are called without the proxy: host names (with their subdomains), addresses, networks, "
        "localhost, or * for all");
  field(v, "decompress", decompresses, "request compressed responses (br, zstd, gzip), and decode them");
  field(v, "roots", roots,
        "PEM file of the root certificates by which servers' certificates are verified (https); empty text: those of "
        "the system");
  field(v, "revoked", revoked,
        "PEM file of certificate revocation lists (CRL) of the servers' issuers; empty text: none");
  field(v, "certificate", certificate,
        "PEM file of the certificate by which this client authenticates itself to servers; empty text: none");
  field(v, "key", key,
        "PEM file of the certificate's private key; empty text: the file of the certificate contains the key");
}

void ClientSettings::check(const std::string& path, config::Checks& checks) const {
  internal::refuse_pem(checks, path + "certificate", certificate);
  internal::refuse_pem(checks, path + "key", key);
  if (certificate.empty() && !key.empty()) checks.refuse(path + "key", "has no effect without a certificate");
  const auto through = http::ProxyRules::make(proxy.reveal(), {});
  if (!through) checks.refuse(path + "proxy", through.error().describe());
  for (std::size_t i = 0; i < no_proxy.size(); ++i) {
    const auto directly = http::ProxyRules::make("", {&no_proxy[i], 1});
    if (!directly) checks.refuse(path + "no_proxy." + std::to_string(i), directly.error().describe());
  }
}

}  // namespace keel::app
