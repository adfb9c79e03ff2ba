// Against OpenSSL's own programs, s_client and s_server, where they are installed.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "keel/base/host.h"
#include "keel/io/testing/loop_test.h"
#include "keel/net/tls/internal/context.h"
#include "keel/net/tls/internal/openssl.h"
#include "keel/net/tls/internal/pem.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/stream.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::tls::openssl_test {
namespace {

using io::testing::Which;

class OpensslPrograms : public io::testing::LoopTest {
 protected:
  void SetUp() override {
    if (std::system("openssl version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no program openssl";
    LoopTest::SetUp();
  }
  ~OpensslPrograms() override {
    for (const std::string& path : paths_) std::remove(path.c_str());
  }
  std::string file(const std::string& text) {
    paths_.push_back(::testing::TempDir() + "keel_openssl_" + std::to_string(getpid()) + '_' +
                     std::to_string(paths_.size()) + ".pem");
    std::ofstream(paths_.back()) << text;
    return paths_.back();
  }
  // What it prints, while the loop runs.
  std::string output_of(const std::string& command) {
    std::string output;
    std::atomic<bool> has_ended = false;
    std::thread reading([&] {
      FILE* const pipe = popen(command.c_str(), "r");
      char piece[4096];
      while (const std::size_t got = std::fread(piece, 1, sizeof piece, pipe)) output.append(piece, got);
      pclose(pipe);
      has_ended = true;
    });
    EXPECT_TRUE(until([&] { return has_ended.load(); }, 30_s));
    reading.join();
    return output;
  }

  testing::Authority authority_{"Test Root"};
  const KeyPair pair_ = authority_.issue({.names = {"server.test"}});
  std::vector<std::string> paths_;
};

INSTANTIATE_TEST_SUITE_P(, OpensslPrograms, ::testing::Values(Which::Uring, Which::Epoll), io::testing::name_of_engine);

Task<std::string> echo_once(Listener& listener, Version& version) {
  Stream peer = co_await listener.accept();
  std::string all;
  while (true) {
    const Chunk chunk = co_await peer.receive();
    if (chunk.empty()) break;
    all += chunk;
    co_await peer.write(chunk);
  }
  version = connection_of(peer)->version();
  co_return all;
}

TEST_P(OpensslPrograms, s_client_is_served_and_may_ask_for_new_keys) {
  const std::string roots = file(authority_.pem());
  for (const std::string version : {"-tls1_2", "-tls1_3"}) {
    Listener listener = Listener::bind(ServerContext::make({.certificates = {pair_}, .protocols = {"echo"}}).value(),
                                       Address::parse("127.0.0.1:0").value())
                            .value();
    Version agreed = Version::Tls12;
    Start<std::string> serving;
    serving.begin(echo_once(listener, agreed), [](StartCore&) noexcept {});
    const bool is_13 = version == "-tls1_3";
    // A line that begins with K asks for new keys, of both sides; the program reacts to lines that arrive together.
    const std::string lines = is_13 ? "(sleep 0.3; echo hello; sleep 0.2; echo K; sleep 0.2; echo world; sleep 0.3)"
                                    : "(sleep 0.3; echo hello; sleep 0.2; echo world; sleep 0.3)";
    const std::string output =
        output_of(lines + " | timeout 20 openssl s_client -connect " + listener.address().to_string() +
                  " -servername server.test -alpn echo -verify_return_error -verify_hostname server.test -CAfile " +
                  roots + ' ' + version + " 2>&1");
    ASSERT_TRUE(until([&] { return serving.has_ended(); })) << output;
    const Result<std::string> got = serving.take();
    ASSERT_TRUE(got) << got.error().describe() << output;
    EXPECT_EQ(*got, "hello\nworld\n") << output;
    EXPECT_EQ(agreed, is_13 ? Version::Tls13 : Version::Tls12);
    EXPECT_NE(output.find("Verification: OK"), std::string::npos) << output;
    EXPECT_NE(output.find("ALPN protocol: echo"), std::string::npos) << output;
    EXPECT_NE(output.find("world"), std::string::npos) << output;
  }
}

TEST_P(OpensslPrograms, s_client_that_asks_gets_the_ocsp_response) {
  KeyPair pair = pair_;
  pair.ocsp_der = authority_.ocsp_response(pair);
  for (const std::string version : {"-tls1_2", "-tls1_3"}) {
    Listener listener =
        Listener::bind(ServerContext::make({.certificates = {pair}}).value(), Address::parse("127.0.0.1:0").value())
            .value();
    Version agreed = Version::Tls12;
    Start<std::string> serving;
    serving.begin(echo_once(listener, agreed), [](StartCore&) noexcept {});
    const std::string output =
        output_of("(sleep 0.3; echo hello; sleep 0.3) | timeout 20 openssl s_client -status -connect " +
                  listener.address().to_string() + " -CAfile " + file(authority_.pem()) + ' ' + version + " 2>&1");
    ASSERT_TRUE(until([&] { return serving.has_ended(); })) << output;
    EXPECT_NE(output.find("OCSP Response Status: successful"), std::string::npos) << output;
    EXPECT_NE(output.find("Cert Status: good"), std::string::npos) << output;
  }
}

Task<Code> serve_one(Listener& listener) {
  Stream peer = co_await listener.accept();
  const Result<Chunk> got = co_await attempt(peer.receive());
  co_return got ? Code::Internal : got.error().code();
}

TEST_P(OpensslPrograms, s_client_without_a_version_or_a_cipher_in_common_is_told_so) {
  for (const std::string what : {"-tls1_1 -cipher DEFAULT:@SECLEVEL=0", "-tls1_2 -cipher AES128-SHA"}) {
    Listener listener =
        Listener::bind(ServerContext::make({.certificates = {pair_}}).value(), Address::parse("127.0.0.1:0").value())
            .value();
    Start<Code> serving;
    serving.begin(serve_one(listener), [](StartCore&) noexcept {});
    const std::string output = output_of("timeout 20 openssl s_client -connect " + listener.address().to_string() +
                                         ' ' + what + " 2>&1 < /dev/null");
    ASSERT_TRUE(until([&] { return serving.has_ended(); })) << output;
    EXPECT_EQ(serving.take().value(), Code::Protocol);
    EXPECT_NE(output.find("alert"), std::string::npos) << output;
  }
}

Task<std::string> ask_reversed(ClientContext context, Address to) {
  Stream stream = co_await connect(std::move(context), "server.test", to);
  co_await stream.write("hello\n");
  std::string line(co_await stream.read_until("\n", 100));
  co_return line;
}

TEST_P(OpensslPrograms, s_server_is_asked) {
  const std::string certificate = file(pair_.certificate_pem);
  const std::string key = file(pair_.key_pem);
  const ClientContext context = ClientContext::make({.trust = {.pem = authority_.pem()}}).value();
  for (const std::string version : {"-tls1_2", "-tls1_3"}) {
    FILE* const server = popen(("timeout 20 openssl s_server -accept 127.0.0.1:0 -rev -naccept 1 -cert " + certificate +
                                " -key " + key + ' ' + version + " 2>&1")
                                   .c_str(),
                               "r");
    std::string address;
    char line[512];
    while (address.empty() && std::fgets(line, sizeof line, server) != nullptr) {
      const std::string text(line);
      if (text.starts_with("ACCEPT ")) address = text.substr(7, text.find('\n') - 7);
    }
    const Result<Address> to = Address::parse(address);
    ASSERT_TRUE(to) << address;
    const auto answer = run(ask_reversed(context, *to));
    ASSERT_TRUE(answer) << answer.error().describe();
    EXPECT_EQ(*answer, "olleh\n");
    settle();
    pclose(server);
  }
}

// An end of OpenSSL's in memory, which does what Records do not.
class RawEnd {
 public:
  RawEnd() : RawEnd(TLS_client_method()) { SSL_set_connect_state(ssl()); }
  // A server.
  explicit RawEnd(const KeyPair& pair) : RawEnd(TLS_server_method()) {
    const internal::Identity identity =
        internal::load_identity(pair, Host::current().wall_ns() / 1'000'000'000).value();
    SSL_use_certificate(ssl(), identity.certificate.get());
    SSL_use_PrivateKey(ssl(), identity.key.get());
    SSL_set_accept_state(ssl());
  }
  SSL* ssl() { return ssl_.get(); }
  // Brings what each has to say to the other; returns what the other has read, or its error.
  std::string exchange(Records& other) {
    std::string read;
    char plain[Records::plain_bytes_max];
    if (std::string_view nothing; !other.is_established()) static_cast<void>(other.read(nothing, plain));
    char bytes[16 * 1024];
    for (int got; (got = BIO_read(SSL_get_wbio(ssl()), bytes, sizeof bytes)) > 0;) {
      std::string_view wire(bytes, static_cast<std::size_t>(got));
      while (true) {
        const Result<std::size_t> some = other.read(wire, plain);
        if (!some) return some.error().describe();
        if (*some == 0) break;
        read.append(plain, *some);
      }
    }
    BIO_write(SSL_get_rbio(ssl()), other.output().data(), static_cast<int>(other.output().size()));
    other.output().clear();
    return read;
  }
  void shake_hands(Records& other) {
    for (int i = 0; i < 4; ++i) {
      SSL_do_handshake(ssl());
      EXPECT_EQ(exchange(other), "");
    }
    EXPECT_TRUE(other.is_established());
  }

 private:
  explicit RawEnd(const SSL_METHOD* method) : context_(SSL_CTX_new(method)), ssl_(SSL_new(context_.get())) {
    BIO* const in = BIO_new(BIO_s_mem());
    BIO* const out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl(), in, out);
  }
  internal::SslContextPointer context_;
  internal::SslPointer ssl_;
};

constexpr std::string_view flooded = "the peer sent more than 32 handshake messages without data between them";

TEST(Records, end_a_peer_that_floods_updates_of_keys) {
  testing::Authority authority("Test Root");
  const KeyPair pair = authority.issue({.names = {"server.test"}});
  Records server(ServerContext::make({.certificates = {pair}, .version_min = Version::Tls13}).value());
  RawEnd client;
  client.shake_hands(server);
  const auto update = [&](int count) {
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(SSL_key_update(client.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
      EXPECT_EQ(SSL_do_handshake(client.ssl()), 1);
    }
  };

  for (int i = 0; i < 3; ++i) {
    update(32);
    EXPECT_EQ(client.exchange(server), "");
    EXPECT_EQ(SSL_write(client.ssl(), "data", 4), 4);
    EXPECT_EQ(client.exchange(server), "data");
  }
  update(33);
  EXPECT_EQ(client.exchange(server), flooded);
  EXPECT_FALSE(server.output().empty()) << "the peer is told";
}

// RFC 8446 §4.6.1, RFC 5246 §7.4.1.1: a server sends tickets, or asks to renegotiate, whenever it likes.
TEST(Records, end_a_server_that_floods_tickets_or_requests_to_renegotiate) {
  testing::Authority authority("Test Root");
  const KeyPair pair = authority.issue({.names = {"server.test"}});
  for (const Version version : {Version::Tls12, Version::Tls13}) {
    const ClientContext context =
        ClientContext::make({.trust = {.pem = authority.pem()}, .version_max = version}).value();
    Records client(context, "server.test");
    RawEnd server(pair);
    server.shake_hands(client);
    const auto flood = [&](int count) {
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ(version == Version::Tls13 ? SSL_new_session_ticket(server.ssl()) : SSL_renegotiate(server.ssl()), 1);
        EXPECT_EQ(SSL_do_handshake(server.ssl()), 1);
      }
    };
    const auto data = [&] {
      EXPECT_EQ(SSL_write(server.ssl(), "data", 4), 4);
      EXPECT_EQ(server.exchange(client), "data");
    };

    data();
    for (int i = 0; i < 3; ++i) {
      flood(32);
      EXPECT_EQ(server.exchange(client), "");
      data();
    }
    flood(33);
    EXPECT_EQ(server.exchange(client), flooded) << (version == Version::Tls13 ? "tickets" : "requests");
    EXPECT_FALSE(client.output().empty()) << "the peer is told";
  }
}

TEST(Sessions, of_a_host_that_floods_displace_none_of_others) {
  internal::Sessions sessions(8);
  const auto keep = [&](std::string_view host) { sessions.keep(host, internal::SessionPointer(SSL_SESSION_new())); };
  const auto count = [&](std::string_view host) {
    int taken = 0;
    while (sessions.take(host) != nullptr) ++taken;
    return taken;
  };
  for (int i = 0; i < 3; ++i) keep("good.test");
  for (int i = 0; i < 100; ++i) keep("bad.test");
  EXPECT_EQ(count("good.test"), 3);
  EXPECT_EQ(count("bad.test"), 5);

  for (int i = 0; i < 100; ++i) keep("alone.test");
  EXPECT_EQ(count("alone.test"), 8) << "the others' room is used";
}

}  // namespace
}  // namespace keel::tls::openssl_test
