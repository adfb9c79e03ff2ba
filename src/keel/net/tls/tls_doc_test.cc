// docs/tls.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "keel/io/testing/loop_test.h"
#include "keel/net.h"
#include "keel/net/resolver.h"
#include "keel/net/tls/blocking_stream.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/stream.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::tls_doc_test {
namespace {

// --- The page.

Task<std::string> ask(tls::ClientContext context, Resolver& resolver) {
  Stream stream = co_await tls::connect(context, resolver, "shop.example", 443);  // it has proved that it is the shop
  co_await stream.write("hello\n");
  co_return std::string(co_await stream.read_until("\n", 1024));
}

Result<tls::ClientContext> client_context() {
  return tls::ClientContext::make({
      .trust = {.file = "authority.pem", .revoked_file = "revoked.pem"},
      .certificate = {.certificate_file = "billing.pem", .key_file = "billing.key"},
  });
}

std::string ask_and_wait(const tls::ClientContext& context) {
  auto stream = tls::BlockingStream::connect(context, "shop.example", 443, 5_s);
  if (!stream || !stream->write("hello\n", 1_s)) return "";
  return std::string(stream->read_until("\n", 1024, 1_s).value_or(""));
}

Result<tls::ServerContext> server_context() {
  return tls::ServerContext::make({
      .certificates = {{.certificate_file = "shop.pem", .key_file = "shop.key"},
                       {.certificate_file = "mail.pem", .key_file = "mail.key"}},
  });
}

Task<> talk(Stream peer) {
  while (true) {
    const Chunk chunk = co_await peer.receive();
    if (chunk.empty()) co_return;
    co_await peer.write(chunk);
  }
}

Task<> serve(tls::ServerContext context, Address at) {
  tls::Listener listener = co_await tls::Listener::bind(context, at);
  Scope connections;
  while (true) {
    Stream peer = co_await listener.accept();
    connections.spawn(talk(std::move(peer)), OnError::Ignore);
  }
}

Result<tls::ServerContext> mutual_context() {
  return tls::ServerContext::make({
      .certificates = {{.certificate_file = "shop.pem", .key_file = "shop.key"}},
      .client_certificates = tls::ClientCertificates::Required,
      .clients = {.file = "authority.pem"},
  });
}

Task<std::string> client_of(Stream& peer) {
  co_await peer.establish();  // waits for the handshake
  co_return std::string(tls::connection_of(peer)->peer_identity());
}

struct TestContexts {
  tls::testing::Authority authority{"Test Root"};
  tls::ServerContext server =
      tls::ServerContext::make({.certificates = {authority.issue({.names = {"server.test"}})}}).value();
  tls::ClientContext client = tls::ClientContext::make({.trust = {.pem = authority.pem()}}).value();
};

// --- What it does.

class TlsPage : public io::testing::LoopTest {};
INSTANTIATE_TEST_SUITE_P(, TlsPage, ::testing::Values(io::testing::Which::Epoll, io::testing::Which::Sim),
                         io::testing::name_of_engine);

// Where nobody listens yet.
Address free_address() { return Listener::bind(Address::parse("127.0.0.1:0").value()).value().address(); }

void write(const char* name, const std::string& text) { std::ofstream(name) << text; }

// The files that the page names, in a folder that is the current one meanwhile.
class Files {
 public:
  Files() : before_(std::filesystem::current_path()) {
    std::filesystem::create_directory(folder_);
    std::filesystem::current_path(folder_);
    for (const std::string name : {"shop", "mail", "billing"}) {
      const tls::KeyPair pair = authority.issue({.names = {name + ".example"}});
      write((name + ".pem").c_str(), pair.certificate_pem);
      write((name + ".key").c_str(), pair.key_pem);
    }
    write("authority.pem", authority.pem());
    write("revoked.pem", authority.revoke({}));
  }
  ~Files() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }
  tls::testing::Authority authority{"The authority"};

 private:
  const std::filesystem::path before_;
  const std::filesystem::path folder_ = ::testing::TempDir() + "keel_tls_page_" + std::to_string(getpid());
};

Task<std::string> identity_of_next(Listener& listener, tls::ServerContext context) {
  Stream plain = co_await listener.accept();
  Stream peer = co_await tls::accept(context, std::move(plain));
  std::string identity = co_await client_of(peer);
  co_await talk(std::move(peer));
  co_return identity;
}

Task<std::string> ask_at(tls::ClientContext context, std::string host, Address at) {
  Stream stream = co_await tls::connect(std::move(context), std::move(host), at);
  co_await stream.write("hello\n");
  std::string line(co_await stream.read_until("\n", 1024));
  stream.shutdown_write();
  co_await stream.receive();
  co_return line;
}

TEST_P(TlsPage, knows_its_clients_and_is_known_to_them) {
  const Files files;
  const auto client = client_context();
  ASSERT_TRUE(client) << client.error().describe();
  const auto mutual = mutual_context();
  ASSERT_TRUE(mutual) << mutual.error().describe();
  Listener listener = Listener::bind(Address::parse("127.0.0.1:0").value()).value();
  Start<std::string> serving;
  serving.begin(identity_of_next(listener, *mutual), [](StartCore&) noexcept {});

  const auto answer = run(ask_at(*client, "shop.example", listener.address()));

  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_EQ(*answer, "hello\n");
  ASSERT_TRUE(until([&] { return serving.has_ended(); }));
  EXPECT_EQ(serving.take().value(), "billing.example");
}

TEST_P(TlsPage, serves_each_name_with_its_certificate) {
  const Files files;
  const auto context = server_context();
  ASSERT_TRUE(context) << context.error().describe();
  const auto client = client_context();
  ASSERT_TRUE(client) << client.error().describe();
  const Address at = free_address();
  Start<void> serving;
  serving.begin(serve(*context, at), [](StartCore&) noexcept {});
  for (const std::string host : {"shop.example", "mail.example"}) {
    const auto answer = run(ask_at(*client, host, at));
    EXPECT_TRUE(answer) << answer.error().describe();
  }
  serving.stop();
  ASSERT_TRUE(until([&] { return serving.has_ended(); }));
}

TEST_P(TlsPage, tests_with_certificates_of_its_own) {
  TestContexts contexts;
  const Address at = free_address();
  Start<void> serving;
  serving.begin(serve(contexts.server, at), [](StartCore&) noexcept {});
  const auto answer = run(ask_at(contexts.client, "server.test", at));
  EXPECT_TRUE(answer) << answer.error().describe();
  serving.stop();
  ASSERT_TRUE(until([&] { return serving.has_ended(); }));
}

// The shop's name leads nowhere here: they are compiled, and what they call is tested in stream_test.cc and
// blocking_stream_test.cc.
[[maybe_unused]] constexpr auto asks = &ask;
[[maybe_unused]] constexpr auto asks_and_waits = &ask_and_wait;

}  // namespace
}  // namespace keel::tls_doc_test
