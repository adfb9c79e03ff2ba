// An App that speaks HTTPS, asked by curl: certificates from files, renewed ones, wrong ones, and of clients.

#include <array>
#include <cstdio>

#include "keel/app/internal/app_testing.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::app::app_https_test {
namespace {

using tls::testing::Authority;

http::Response who(http::Request& request) {
  return http::Response::text(http::Status::Ok,
                              std::string(request.scheme()) + " '" + std::string(request.peer_identity()) + "'");
}

http::SharedClient* payments = nullptr;
Task<http::Response> ask_payments(http::Request&) {
  http::ClientResponse answer = co_await payments->get("/who");
  co_return http::Response::text(http::Status::Ok, "payments said " + std::string(answer.body()));
}

class HttpsApps : public Apps {
 protected:
  HttpsApps() {
    write("root.pem", root_.pem());
    put_certificate(root_);
    add_routes = [](http::Router& router) { router.get("/who", who); };
  }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  // A new one, in one file with its key.
  void put_certificate(Authority& authority, Duration valid_until = 24_h * 90) const {
    const tls::KeyPair pair = authority.issue({.addresses = {"127.0.0.1"}, .valid_until = valid_until});
    write("shop.pem", pair.certificate_pem + pair.key_pem);
  }
  int run_https(std::vector<std::string> flags, Function<void()> client) {
    https_ = free_address();
    flags.push_back("--network.https.certificate=" + path("shop.pem"));
    flags.push_back("--network.https.port=" + std::to_string(https_.port()));
    return run(std::move(flags), std::move(client));
  }
  // What curl prints and, behind it, its exit code where that is not 0.
  std::string curl(const std::string& arguments) const {
    const std::string command = "curl -sS --max-time 10 " + arguments + " 2>&1";
    std::FILE* const out = ::popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> bytes;
    for (std::size_t got; (got = std::fread(bytes.data(), 1, bytes.size(), out)) > 0;) text.append(bytes.data(), got);
    const int code = WEXITSTATUS(::pclose(out));
    return code == 0 ? text : text + " (" + std::to_string(code) + ")";
  }
  std::string url(const Address& address, const std::string& scheme) const {
    return scheme + "://127.0.0.1:" + std::to_string(address.port());
  }
  std::string believing(const std::string& root, const std::string& target) const {
    return curl("--cacert " + path(root) + " " + url(https_, "https") + target);
  }
  // Until it says so, or 20 s.
  template <class Condition>
  bool waits_for(Condition condition) const {
    for (int i = 0; i < 400; ++i) {
      if (condition()) return true;
      ::usleep(50'000);
    }
    return false;
  }

  Authority root_{"Test Root"};
  Address https_;
};

TEST_F(HttpsApps, serve_the_same_with_and_without_tls) {
  write("other.pem", Authority("Another Root").pem());
  std::string secure, plain, unbelieving, at_the_wrong_port, metrics;
  const int code = run_https({"--network.https.hsts_sec=3600"}, [&] {
    secure = believing("root.pem", "/who -D -");
    plain = curl(url(service_, "http") + "/who");
    unbelieving = believing("other.pem", "/who");
    at_the_wrong_port = curl(url(https_, "http") + "/who");
    metrics = curl(url(admin_, "http") + "/metrics");
  });
  EXPECT_EQ(code, 0) << log();
  EXPECT_TRUE(secure.starts_with("HTTP/1.1 200 OK\r\n")) << secure;
  EXPECT_TRUE(secure.ends_with("https ''")) << secure;
  EXPECT_NE(secure.find("Strict-Transport-Security: max-age=3600\r\n"), std::string::npos) << secure;
  EXPECT_EQ(plain, "http ''");
  EXPECT_TRUE(unbelieving.ends_with(" (60)")) << unbelieving;
  EXPECT_EQ(at_the_wrong_port, "This port speaks HTTPS: ask with https:// in place of http://\n");
  EXPECT_NE(metrics.find("http_tls_handshakes_failed_total{server=\"https\"} 2\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("http_tls_handshakes_waiting{server=\"https\"} 0\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("tls_certificate_expiry_timestamp_seconds{certificate=\"" + path("shop.pem") + "\"} "),
            std::string::npos)
      << metrics;
}

TEST_F(HttpsApps, send_those_without_tls_where_it_is) {
  std::string there, posted;
  const int code = run_https({"--network.https.plain_http=redirect"}, [&] {
    there = curl("-w '%{http_code} %{redirect_url}' '" + url(service_, "http") + "/who?a=1'");
    posted = curl("-L --cacert " + path("root.pem") + " -d text " + url(service_, "http") + "/echo");
  });
  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(there, "308 " + url(https_, "https") + "/who?a=1");
  EXPECT_EQ(posted, "text");
}

TEST_F(HttpsApps, send_them_to_the_port_that_clients_know) {
  std::string there;
  const int code = run_https({"--network.https.plain_http=redirect", "--network.https.redirect_port=443"},
                             [&] { there = curl("-w '%{redirect_url}' " + url(service_, "http") + "/who"); });
  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(there, "https://127.0.0.1/who");
}

TEST_F(HttpsApps, do_not_start_where_the_port_of_https_is_taken) {
  const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const Address taken = free_address();
  ASSERT_EQ(::bind(other, taken.system(), taken.system_size()), 0);
  ASSERT_EQ(::listen(other, 1), 0);
  EXPECT_EXIT(
      run({"--network.https.certificate=" + path("shop.pem"), "--network.https.port=" + std::to_string(taken.port())},
          {}),
      ::testing::ExitedWithCode(1),
      "network.https: another process listens there: stop it .ss -ltnp shows its name., or change network.https.port: "
      ".*" +
          std::to_string(taken.port()));
  ::close(other);
}

TEST_F(HttpsApps, refuse_settings_that_make_no_sense) {
  const auto problem_of = [&](std::vector<std::string> flags) {
    std::vector<const char*> args;
    for (const std::string& flag : flags) args.push_back(flag.c_str());
    const char* const environment[] = {nullptr};
    const auto loaded = config::load<Settings>({.args = args, .environment = environment});
    return loaded ? std::string() : loaded.error().describe();
  };
  const std::string certificate = "--network.https.certificate=" + path("shop.pem");
  const auto expect = [&](std::vector<std::string> flags, const std::string& said) {
    EXPECT_NE(problem_of(flags).find(said), std::string::npos) << flags.back() << ": " << problem_of(flags);
  };
  EXPECT_EQ(problem_of({certificate}), "");
  expect({"--network.https.plain_http=redirect"}, "network.https.plain_http: has no effect");
  expect({certificate, "--network.https.client_certificates=required"}, "network.https.client_roots: is empty");
  expect({certificate, "--network.https.client_roots=x"}, "network.https.client_roots: has no effect");
  expect({certificate, "--network.https.plain_http=redirect", "--network.https.port=0"},
         "network.https.redirect_port: ");
  expect({certificate, "--network.https.redirect_port=443"}, "network.https.redirect_port: has no effect");
  expect({certificate, "--network.https.address=unix:/run/x"}, "network.https.address: expected an IP address");
  expect({certificate, "--network.https.more=[{key: x}]"}, "network.https.more.0.certificate: is empty");
  expect({certificate, "--network.https.client_revoked=x"}, "network.https.client_revoked: has no effect");
  expect({certificate, "--network.https.plain_http=redirect", "--network.http.trusted_proxies=[10.0.0.0/8]"},
         "network.https.plain_http: with this value the listener of network.http serves nothing, not even the https "
         "requests of");
  EXPECT_EQ(problem_of({certificate, "--network.https.plain_http=redirect",
                        "--network.http.trusted_proxies=[10.0.0.0/8]", "--network.http.proxy_protocol=true"}),
            "")
      << "proxies of bytes forward the redirect to the client";
  expect({"--monitoring.metrics.https=true"}, "monitoring.metrics.https: needs a certificate");
  expect({certificate, "--monitoring.metrics.client_roots=x"}, "monitoring.metrics.client_roots: has no effect");
  expect({certificate, "--monitoring.metrics.https=true", "--monitoring.metrics.client_revoked=x"},
         "monitoring.metrics.client_revoked: has no effect");
  expect({certificate, "--monitoring.metrics.https=true", "--monitoring.metrics.export_address=unix:/run/x"},
         "monitoring.metrics.export_address: expected an IP address");
  expect({certificate, "--monitoring.probes.https=true"}, "monitoring.probes.https: has no effect");
  expect({"--network.https.ocsp_response=x"}, "network.https.ocsp_response: has no effect");
  expect({"--network.https.port=18443"}, "network.https.port: has no effect");
  expect({"--network.https.address=::"}, "network.https.address: has no effect");
  expect({"--network.https.hsts_sec=5"}, "network.https.hsts_sec: has no effect");
  expect({"--network.https.min_version=1.3"}, "network.https.min_version: has no effect");
  expect({"--network.https.tickets=false"}, "network.https.tickets: has no effect");
  expect({"--network.https.handshake_timeout_sec=5"}, "network.https.handshake_timeout_sec: has no effect");
  expect({certificate, "--network.https.more=[{certificate: " + path("shop.pem") + "}]"},
         "network.https.more.0.certificate: names a file that another certificate names too");
  expect({certificate, "--network.https.more=[{certificate: x}, {certificate: x}]"},
         "network.https.more.1.certificate: names a file that another certificate names too");
  expect({"--network.clients.payments.key=x"}, "network.clients.payments.key: has no effect");
  const std::string pem = "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n";
  for (const std::string key :
       {"network.https.certificate", "network.https.key", "network.clients.payments.certificate",
        "network.clients.payments.key", "network.pools.rooms.certificate", "network.pools.rooms.key"}) {
    const std::string flag = std::string("--").append(key).append("=").append(pem);
    expect({certificate, flag}, key + ": is the text of a PEM file: expected the name of the file");
    EXPECT_EQ(problem_of({certificate, flag}).find("secret"), std::string::npos);
  }
}

TEST_F(HttpsApps, listen_with_tls_alone_where_that_is_asked_for) {
  std::string secure, plain;
  const int code = run_https({"--network.https.plain_http=off"}, [&] {
    secure = believing("root.pem", "/who");
    plain = curl(url(service_, "http") + "/who");
  });
  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(secure, "https ''");
  EXPECT_TRUE(plain.ends_with(" (7)")) << plain;
}

TEST_F(HttpsApps, use_certificates_that_were_renewed) {
  Authority other("Another Root");
  write("other.pem", other.pem());
  bool is_renewed = false, is_renewed_by_signal = false;
  const int code = run_https({}, [&] {
    EXPECT_EQ(believing("root.pem", "/who"), "https ''");
    put_certificate(other);
    is_renewed = waits_for([&] { return believing("other.pem", "/who") == "https ''"; });
    put_certificate(root_);
    ::kill(::getpid(), SIGHUP);
    is_renewed_by_signal = waits_for([&] { return believing("root.pem", "/who") == "https ''"; });
  });
  EXPECT_EQ(code, 0) << log();
  EXPECT_TRUE(is_renewed) << log();
  EXPECT_TRUE(is_renewed_by_signal) << log();
  EXPECT_EQ(occurrences(log(), "\"certificate loaded\""), 2) << log();
}

TEST_F(HttpsApps, keep_their_certificates_where_the_new_ones_are_wrong) {
  std::string metrics;
  const int code = run_https({}, [&] {
    write("shop.pem", root_.issue({.addresses = {"127.0.0.1"}}).certificate_pem + root_.issue({}).key_pem);
    ::kill(::getpid(), SIGHUP);
    EXPECT_TRUE(waits_for([&] { return occurrences(log(), "certificates could not be loaded") == 1; })) << log();
    EXPECT_EQ(believing("root.pem", "/who"), "https ''");
    ::unlink(path("shop.pem").c_str());
    ::kill(::getpid(), SIGHUP);
    EXPECT_TRUE(waits_for([&] { return occurrences(log(), "certificates could not be loaded") == 2; })) << log();
    EXPECT_EQ(believing("root.pem", "/who"), "https ''");
    metrics = curl(url(admin_, "http") + "/metrics");
  });
  EXPECT_EQ(code, 0) << log();
  EXPECT_NE(log().find("the key '" + path("shop.pem") + "': it does not match"), std::string::npos) << log();
  EXPECT_NE(log().find("the certificate '" + path("shop.pem") + "': open: No such file"), std::string::npos) << log();
  EXPECT_NE(metrics.find("tls_certificate_loads_total{result=\"failed\"} 2\n"), std::string::npos) << metrics;
}

TEST_F(HttpsApps, keep_their_certificates_where_the_new_chain_is_wrong) {
  const int code = run_https({}, [&] {
    const tls::KeyPair pair = root_.issue({.addresses = {"127.0.0.1"}});
    write("shop.pem", pair.certificate_pem + Authority("Stranger").pem() + pair.key_pem);
    ::kill(::getpid(), SIGHUP);
    EXPECT_TRUE(waits_for([&] { return occurrences(log(), "certificates could not be loaded") == 1; })) << log();
    EXPECT_EQ(believing("root.pem", "/who"), "https ''");
  });
  EXPECT_EQ(code, 0) << log();
  EXPECT_NE(
      log().find("the certificate '" + path("shop.pem") + "': its certificate number 2, 'CN = Stranger', did not"),
      std::string::npos)
      << log();
}

TEST_F(HttpsApps, warn_of_a_certificate_that_clients_overlook) {
  std::string response;
  const int code = run_https({}, [&] {
    const tls::KeyPair pair = root_.issue({.addresses = {"127.0.0.1"}});
    write("shop.pem", pair.certificate_pem + root_.pem() + Authority("Stranger").pem() + pair.key_pem);
    ::kill(::getpid(), SIGHUP);
    EXPECT_TRUE(waits_for([&] { return occurrences(log(), "the chain of a certificate differs from") == 1; })) << log();
    response = believing("root.pem", "/who");
  });
  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(response, "https ''");
  EXPECT_NE(log().find("its certificate number 3, 'CN = Stranger', did not issue any other certificate of the file"),
            std::string::npos)
      << log();
}

TEST_F(HttpsApps, give_clients_that_ask_the_ocsp_response_of_a_file) {
  const tls::KeyPair pair = root_.issue({.addresses = {"127.0.0.1"}});
  // curl looks for the issuer in what it is sent.
  write("shop.pem", pair.certificate_pem + root_.pem() + pair.key_pem);
  write("shop.der", root_.ocsp_response(pair));
  std::string given, metrics, left_out, ready;
  bool is_renewed = false;
  const std::vector<std::string> flags = {"--network.https.ocsp_response=" + path("shop.der"),
                                          "--monitoring.health.check_interval_sec=0.1"};
  const int code = run_https(flags, [&] {
    given = believing("root.pem", "/who --cert-status");
    metrics = curl(url(admin_, "http") + "/metrics");
    write("shop.der", "damaged");
    ::kill(::getpid(), SIGHUP);
    EXPECT_TRUE(waits_for([&] { return occurrences(log(), "an OCSP response could not be loaded") == 1; })) << log();
    left_out = believing("root.pem", "/who --cert-status");
    EXPECT_EQ(believing("root.pem", "/who"), "https ''");
    EXPECT_TRUE(waits_for([&] {
      ready = curl("-w '%{http_code}' " + url(admin_, "http") + "/readyz");
      return ready.find("it is not an OCSP response in DER") != std::string::npos;
    })) << ready;
    write("shop.der", root_.ocsp_response(pair));
    ::kill(::getpid(), SIGHUP);
    is_renewed = waits_for([&] { return believing("root.pem", "/who --cert-status") == "https ''"; });
  });
  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(given, "https ''");
  EXPECT_NE(metrics.find("tls_ocsp_response_expiry_timestamp_seconds{certificate=\"" + path("shop.pem") + "\"} "),
            std::string::npos)
      << metrics;
  EXPECT_TRUE(left_out.ends_with(" (91)")) << left_out;
  EXPECT_TRUE(ready.ends_with("200")) << ready;
  EXPECT_TRUE(is_renewed) << log();
}

TEST_F(HttpsApps, are_degraded_when_a_certificate_is_about_to_expire) {
  put_certificate(root_, 24_h * 3);
  std::string ready;
  const int code = run_https({}, [&] { ready = curl("-w '%{http_code}' " + url(admin_, "http") + "/readyz"); });
  EXPECT_EQ(code, 0) << log();
  EXPECT_NE(ready.find("\"status\":\"degraded\""), std::string::npos) << ready;
  EXPECT_NE(ready.find("the certificate " + path("shop.pem") + " expires on "), std::string::npos) << ready;
  EXPECT_TRUE(ready.ends_with("200")) << ready;
}

TEST_F(HttpsApps, are_degraded_when_what_certificates_rely_on_is_about_to_expire) {
  Authority middle("Middle", root_, {.valid_until = 24_h * 3});
  const tls::KeyPair pair = middle.issue({.addresses = {"127.0.0.1"}});
  write("shop.pem", pair.certificate_pem + pair.key_pem);
  Authority clients("Clients");
  write("clients.pem", clients.pem() + Authority("Old", root_, {.valid_from = -48_h, .valid_until = -24_h}).pem());
  write("clients.crl", clients.revoke({}, 5_min));  // Made an hour ago.
  const std::vector<std::string> mutual = {"--network.https.client_certificates=optional",
                                           "--network.https.client_roots=" + path("clients.pem"),
                                           "--network.https.client_revoked=" + path("clients.crl")};
  const auto ready = [&] { return curl("-w '%{http_code}' " + url(admin_, "http") + "/readyz"); };
  std::string issuer, root, list, metrics;

  int code = run_https({}, [&] { issuer = ready(); });
  EXPECT_EQ(code, 0) << log();
  put_certificate(root_);
  code = run_https(mutual, [&] {
    root = ready();
    metrics = curl(url(admin_, "http") + "/metrics");
  });
  EXPECT_EQ(code, 0) << log();
  write("clients.pem", clients.pem());
  code = run_https(mutual, [&] { list = ready(); });
  EXPECT_EQ(code, 0) << log();

  EXPECT_NE(issuer.find("the issuer 'CN = Middle' in " + path("shop.pem") + " expires on "), std::string::npos)
      << issuer;
  EXPECT_NE(root.find("the root 'CN = Old' in " + path("clients.pem") + " expired on "), std::string::npos) << root;
  EXPECT_NE(list.find("the revocation list of 'CN = Clients' in " + path("clients.crl") + " expires on "),
            std::string::npos)
      << list;
  for (const std::string& all : {issuer, root, list}) EXPECT_TRUE(all.ends_with("200")) << all;
  for (const char* kind : {"root", "revocation_list"}) {
    EXPECT_NE(metrics.find("tls_trust_expiry_timestamp_seconds{"), std::string::npos) << metrics;
    EXPECT_NE(metrics.find("kind=\"" + std::string(kind) + "\""), std::string::npos) << metrics;
  }
}

TEST_F(HttpsApps, know_their_clients_by_certificates) {
  const tls::KeyPair ada = root_.issue({.common_name = "ada", .uris = {"spiffe://test/ada"}});
  write("ada.pem", ada.certificate_pem + ada.key_pem);
  std::string known, unknown;
  const int code = run_https(
      {"--network.https.client_certificates=required", "--network.https.client_roots=" + path("root.pem")}, [&] {
        known = believing("root.pem", "/who --cert " + path("ada.pem"));
        unknown = believing("root.pem", "/who");
      });
  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(known, "https 'spiffe://test/ada'");
  EXPECT_TRUE(unknown.ends_with(")")) << unknown;
}

TEST_F(HttpsApps, have_tls_for_operators_where_that_is_asked_for) {
  const Address probes = free_address();
  std::string metrics, plain, ready;
  const int code =
      run_https({"--monitoring.metrics.https=true", "--monitoring.probes.address=127.0.0.1",
                 "--monitoring.probes.port=" + std::to_string(probes.port()), "--monitoring.probes.https=true"},
                [&] {
                  const std::string believing_root = "--cacert " + path("root.pem") + " ";
                  metrics = curl(believing_root + url(admin_, "https") + "/metrics");
                  plain = curl(url(admin_, "http") + "/metrics");
                  ready = curl(believing_root + "-w '%{http_code}' " + url(probes, "https") + "/readyz");
                });
  EXPECT_EQ(code, 0) << log();
  EXPECT_NE(metrics.find("http_requests_total"), std::string::npos) << metrics;
  EXPECT_EQ(plain, "This port speaks HTTPS: ask with https:// in place of http://\n");
  EXPECT_TRUE(ready.ends_with("200")) << ready;
}

TEST_F(HttpsApps, answer_those_operators_who_have_a_certificate) {
  Authority operators("Operators");
  write("operators.pem", operators.pem());
  const tls::KeyPair ada = operators.issue({.common_name = "ada"});
  write("ada.pem", ada.certificate_pem + ada.key_pem);
  const tls::KeyPair bob = root_.issue({.common_name = "bob"});
  write("bob.pem", bob.certificate_pem + bob.key_pem);
  Authority other("Another Root");
  write("other.pem", other.pem());
  std::string known, unknown, without, service;
  bool is_renewed = false;
  const int code =
      run_https({"--monitoring.metrics.https=true", "--monitoring.metrics.client_roots=" + path("operators.pem")}, [&] {
        const auto ask = [&](const std::string& root, const std::string& arguments) {
          return curl("-o /dev/null -w '%{http_code}' --cacert " + path(root) + " " + arguments + " " +
                      url(admin_, "https") + "/metrics");
        };
        known = ask("root.pem", "--cert " + path("ada.pem"));
        unknown = ask("root.pem", "--cert " + path("bob.pem"));
        without = ask("root.pem", "");
        service = believing("root.pem", "/who");
        put_certificate(other);
        ::kill(::getpid(), SIGHUP);
        is_renewed = waits_for([&] { return ask("other.pem", "--cert " + path("ada.pem")) == "200"; });
      });
  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(known, "200");
  EXPECT_FALSE(unknown.ends_with("200")) << unknown;
  EXPECT_FALSE(without.ends_with("200")) << without;
  EXPECT_EQ(service, "https ''");
  EXPECT_TRUE(is_renewed) << log();
}

TEST_F(HttpsApps, ask_others_by_https) {
  prepare = [&](App& app) { payments = &app.client({.name = "payments", .base_url = url(https_, "https")}); };
  add_routes = [](http::Router& router) { router.get("/who", who).get("/ask", &ask_payments); };
  std::string answer;
  const int code = run_https({"--network.clients.payments.roots=" + path("root.pem")},
                             [&] { answer = curl(url(service_, "http") + "/ask"); });
  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(answer, "payments said https ''");
}

TEST_F(HttpsApps, load_the_files_of_their_clients_again) {
  write("roots.pem", Authority("Another Root").pem());
  prepare = [&](App& app) { payments = &app.client({.name = "payments", .base_url = url(https_, "https")}); };
  add_routes = [](http::Router& router) { router.get("/who", who).get("/ask", &ask_payments); };
  std::string before, metrics;
  bool is_renewed = false;
  const int code = run_https({"--network.clients.payments.roots=" + path("roots.pem")}, [&] {
    const auto asked = [&] { return curl(url(service_, "http") + "/ask"); };
    before = asked();
    write("roots.pem", root_.pem());
    ::kill(::getpid(), SIGHUP);
    is_renewed = waits_for([&] { return asked() == "payments said https ''"; });
    write("roots.pem", "damaged");
    ::kill(::getpid(), SIGHUP);
    EXPECT_TRUE(waits_for([&] { return occurrences(log(), "certificates of a client could not be loaded") == 1; }))
        << log();
    EXPECT_EQ(asked(), "payments said https ''");
    metrics = curl(url(admin_, "http") + "/metrics");
  });
  EXPECT_EQ(code, 0) << log();
  EXPECT_NE(before, "payments said https ''");
  EXPECT_TRUE(is_renewed) << log();
  EXPECT_NE(log().find("the root certificates '" + path("roots.pem") + "': there is no certificate in it"),
            std::string::npos)
      << log();
  EXPECT_NE(metrics.find("tls_trust_expiry_timestamp_seconds{"), std::string::npos) << metrics;
}

TEST_F(HttpsApps, believe_no_server_that_is_revoked) {
  const tls::KeyPair pair = root_.issue({.addresses = {"127.0.0.1"}});
  write("shop.pem", pair.certificate_pem + pair.key_pem);
  write("revoked.crl", root_.revoke({pair}));
  prepare = [&](App& app) { payments = &app.client({.name = "payments", .base_url = url(https_, "https")}); };
  add_routes = [](http::Router& router) { router.get("/who", who).get("/ask", &ask_payments); };
  std::string answer;
  const int code = run_https({"--network.clients.payments.roots=" + path("root.pem"),
                              "--network.clients.payments.revoked=" + path("revoked.crl")},
                             [&] { answer = curl("-w '%{http_code}' " + url(service_, "http") + "/ask"); });
  EXPECT_EQ(code, 0) << log();
  EXPECT_TRUE(answer.ends_with("502")) << answer;
  EXPECT_NE(log().find("the certificate of '127.0.0.1' is revoked"), std::string::npos) << log();
}

TEST_F(HttpsApps, believe_no_server_that_the_system_does_not_know) {
  prepare = [&](App& app) { payments = &app.client({.name = "payments", .base_url = url(https_, "https")}); };
  add_routes = [](http::Router& router) { router.get("/who", who).get("/ask", &ask_payments); };
  std::string answer;
  const int code = run_https({}, [&] { answer = curl("-w '%{http_code}' " + url(service_, "http") + "/ask"); });
  EXPECT_EQ(code, 0) << log();
  EXPECT_TRUE(answer.ends_with("502")) << answer;
  EXPECT_NE(log().find("has an unknown issuer, 'CN = Test Root'"), std::string::npos) << log();
}

TEST_F(HttpsApps, do_not_start_with_a_file_that_is_wrong) {
  ::unlink(path("shop.pem").c_str());
  EXPECT_EXIT(run_https({}, {}), ::testing::ExitedWithCode(2),
              "network.https: the certificate '.*shop.pem': open: No such file or directory");
}

}  // namespace
}  // namespace keel::app::app_https_test
