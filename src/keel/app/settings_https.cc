#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "keel/app/internal/https_rules.h"
#include "keel/app/settings.h"
#include "keel/http/server/server.h"
#include "keel/net/tls/context.h"

namespace keel::app {
namespace {

using config::field;

constexpr auto plain_http_names =
    config::names<PlainHttp>({{"serve", PlainHttp::Serve}, {"redirect", PlainHttp::Redirect}, {"off", PlainHttp::Off}});
constexpr auto client_certificates_names =
    config::names<tls::ClientCertificates>({{"unwanted", tls::ClientCertificates::Unwanted},
                                            {"optional", tls::ClientCertificates::Optional},
                                            {"required", tls::ClientCertificates::Required}});
constexpr auto version_names =
    config::names<tls::Version>({{"1.2", tls::Version::Tls12}, {"1.3", tls::Version::Tls13}});
constexpr config::Range<Duration> handshake_limit = {1_ms, 24_h};

}  // namespace

void CertificateSettings::fields(config::Schema& v) {
  field(v, "certificate", certificate, "PEM file of the certificate, as for network.https.certificate");
  field(v, "key", key,
        "PEM file of the certificate's private key; empty text: the file of the certificate contains the key");
  field(v, "ocsp_response", ocsp_response,
        "DER file of the certificate's OCSP response, as for network.https.ocsp_response");
}

HttpsSettings::HttpsSettings() {
  const tls::ServerOptions defaults;
  client_certificates = defaults.client_certificates;
  version_min = defaults.version_min;
  tickets = defaults.tickets;
  handshake_timeout = defaults.handshake_timeout;
  hsts = http::ServerOptions().hsts_max_age;
}

void HttpsSettings::fields(config::Schema& v) {
  field(v, "certificate", certificate,
        "PEM file of the certificate, followed by the intermediate certificates up to a root; empty text: the service "
        "does not serve https")
      .reloadable();
  field(v, "key", key,
        "PEM file of the certificate's private key, without a passphrase; empty text: the file of the certificate "
        "contains the key")
      .reloadable();
  field(v, "ocsp_response", ocsp_response,
        "DER file of the certificate's OCSP response, which is sent to clients that request it; this file, like the "
        "file of the certificate, is read again when it changes; empty text: none")
      .reloadable();
  field(v, "more", more,
        "certificates for other host names; a client gets the certificate for the host name that it requests")
      .reloadable();
  field(v, "address", address, "address to listen on; empty text: the value of network.http.address");
  field(v, "port", port, "port to listen on; 0: any free port");
  field(v, "plain_http", plain_http,
        "what network.http does when https is on; serve: serve the same routes; redirect: redirect each request to "
        "https; off: do not listen",
        plain_http_names);
  field(v, "redirect_port", redirect_port,
        "port to which requests are redirected, if clients reach https at a port other than network.https.port; 0: "
        "network.https.port");
  field(v, "hsts_sec", hsts,
        "Strict-Transport-Security of each response: how long browsers use only https for this host; 0: the field is "
        "not sent",
        {Duration(), 24_h * 3660});
  field(v, "client_certificates", client_certificates, "whether clients authenticate with a certificate",
        client_certificates_names)
      .reloadable();
  field(v, "client_roots", client_roots,
        "PEM file with the certificates of the authorities that issue clients' certificates")
      .reloadable();
  field(v, "client_revoked", client_revoked, "PEM file of certificate revocation lists (CRL); empty text: none")
      .reloadable();
  field(v, "min_version", version_min, "lowest accepted version of TLS", version_names).reloadable();
  field(v, "tickets", tickets, "whether clients may resume a session within two hours").reloadable();
  field(v, "handshake_timeout_sec", handshake_timeout,
        "time limit of a TLS handshake; a connection that exceeds it is closed", handshake_limit)
      .reloadable();
}

std::vector<std::string> HttpsSettings::files() const {
  std::vector<std::string> all;
  const auto add = [&all](const std::string& file) {
    if (!file.empty()) all.push_back(file);
  };
  add(certificate);
  add(key);
  add(ocsp_response);
  for (const CertificateSettings& one : more) {
    add(one.certificate);
    add(one.key);
    add(one.ocsp_response);
  }
  add(client_roots);
  add(client_revoked);
  return all;
}

void internal::refuse_pem(config::Checks& checks, const std::string& path, const std::string& value) {
  if (value.find("-----BEGIN ") == std::string::npos) return;
  checks.refuse(path, "is the text of a PEM file: expected the name of the file");
}

void HttpsSettings::check(config::Checks& checks) const {
  const std::string path = "network.https.";
  internal::refuse_pem(checks, path + "certificate", certificate);
  internal::refuse_pem(checks, path + "key", key);
  for (std::size_t i = 0; i < more.size(); ++i) {
    const std::string one = path + "more." + std::to_string(i);
    internal::refuse_pem(checks, one + ".certificate", more[i].certificate);
    internal::refuse_pem(checks, one + ".key", more[i].key);
  }
  if (!is_on()) {
    const auto needs_certificate = [&](bool is_set, const char* name) {
      if (is_set) checks.refuse(path + name, "has no effect: there is no https without network.https.certificate");
    };
    needs_certificate(port != HttpsSettings().port, "port");
    needs_certificate(!address.empty(), "address");
    needs_certificate(hsts != Duration(), "hsts_sec");
    needs_certificate(!client_roots.empty(), "client_roots");
    needs_certificate(!client_revoked.empty(), "client_revoked");
    needs_certificate(redirect_port != 0, "redirect_port");
    needs_certificate(!key.empty(), "key");
    needs_certificate(!ocsp_response.empty(), "ocsp_response");
    needs_certificate(!more.empty(), "more");
    needs_certificate(plain_http != PlainHttp::Serve, "plain_http");
    needs_certificate(client_certificates != tls::ClientCertificates::Unwanted, "client_certificates");
    needs_certificate(version_min != HttpsSettings().version_min, "min_version");
    needs_certificate(tickets != HttpsSettings().tickets, "tickets");
    needs_certificate(handshake_timeout != HttpsSettings().handshake_timeout, "handshake_timeout_sec");
    return;
  }
  for (std::size_t i = 0; i < more.size(); ++i) {
    const std::string& file = more[i].certificate;
    const auto is_same = [&file](const CertificateSettings& other) { return other.certificate == file; };
    if (file.empty()) {
      checks.refuse(path + "more." + std::to_string(i) + ".certificate", "is empty: expected the name of a file");
    } else if (file == certificate || std::ranges::any_of(std::span(more).first(i), is_same)) {
      checks.refuse(path + "more." + std::to_string(i) + ".certificate",
                    "names a file that another certificate names too: remove one of the two certificates");
    }
  }
  if (plain_http == PlainHttp::Redirect && redirect_target() == 0) {
    checks.refuse(path + "redirect_port",
                  "expected the port at which clients reach https, because network.https.port is 0 (any free port)");
  }
  if (plain_http != PlainHttp::Redirect && redirect_port != 0) {
    checks.refuse(path + "redirect_port", "has no effect: network.https.plain_http is not redirect");
  }
  const bool wants_clients = client_certificates != tls::ClientCertificates::Unwanted;
  if (wants_clients && client_roots.empty()) {
    checks.refuse(
        path + "client_roots",
        "is empty: expected a PEM file with the certificates of the authorities that issue clients' certificates");
  }
  if (!wants_clients && !client_roots.empty()) {
    checks.refuse(path + "client_roots", "has no effect: network.https.client_certificates has the value unwanted");
  }
  if (!wants_clients && !client_revoked.empty()) {
    checks.refuse(path + "client_revoked", "has no effect: network.https.client_certificates has the value unwanted");
  }
}

void internal::check_admin_https(const Settings& settings, config::Checks& checks) {
  const MetricsSettings& metrics = settings.monitoring.metrics;
  const ProbesSettings& probes = settings.monitoring.probes;
  const auto check = [&](const std::string& path, bool is_on, const Result<Address>& address, const char* name) {
    if (!is_on) return;
    if (!settings.network.https.is_on()) {
      checks.refuse(path + "https", "needs a certificate: set network.https.certificate, which is empty");
    } else if (address && address->is_unix()) {
      checks.refuse(path + name, "expected an IP address: a Unix socket needs no TLS");
    }
  };
  check("monitoring.metrics.", metrics.https, metrics.listen_address(), "export_address");
  check("monitoring.probes.", probes.https, probes.listen_address(), "address");
  if (probes.https && probes.address.empty()) {
    checks.refuse("monitoring.probes.https", "has no effect: monitoring.probes.address is empty");
  }
  const auto needs = [&](bool is_set, const char* name, bool is_met, const std::string& other) {
    if (is_set && !is_met) checks.refuse("monitoring.metrics." + std::string(name), "has no effect without " + other);
  };
  needs(!metrics.client_roots.empty(), "client_roots", metrics.https, "monitoring.metrics.https");
  needs(!metrics.client_revoked.empty(), "client_revoked", !metrics.client_roots.empty(),
        "monitoring.metrics.client_roots");
}

}  // namespace keel::app
