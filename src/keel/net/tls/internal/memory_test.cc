// What a connection takes from the heap once the pools have what it needs: nothing.

#include "keel/net/tls/internal/memory.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "keel/base/sanitizers.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::tls::memory_test {
namespace {

class TlsMemory : public ::testing::TestWithParam<Version> {
 protected:
  ServerContext server(bool tickets) {
    const ServerOptions options = {.certificates = {pair_}, .version_max = GetParam(), .tickets = tickets};
    return ServerContext::make(options).value();
  }

  testing::Authority authority_{"Test Root"};
  KeyPair pair_ = authority_.issue({.names = {"server.test"}});
  ClientContext client_ = ClientContext::make({.trust = {.pem = authority_.pem()}, .sessions_max = 0}).value();
};
INSTANTIATE_TEST_SUITE_P(, TlsMemory, ::testing::Values(Version::Tls12, Version::Tls13),
                         [](const auto& version) { return version.param == Version::Tls12 ? "tls12" : "tls13"; });

// Both ends of a connection, in memory.
struct Pair {
  Pair(const ClientContext& a, const ServerContext& b) : client(a, "server.test"), server(b) {}

  // Brings what each has to say to the other.
  void exchange() {
    for (int i = 0; i < 6; ++i) {
      move(client, server);
      move(server, client);
    }
  }
  void move(Records& from, Records& to) {
    std::string_view wire;
    if (!from.is_established()) static_cast<void>(from.read(wire, room));
    const Buffer bytes = std::exchange(from.output(), Buffer());
    wire = bytes.view();
    do {
      const Result<std::size_t> got = to.read(wire, room);
      is_good = is_good && got;
      received += got ? *got : 0;
      if (!got || *got == 0) break;
    } while (true);
  }
  bool is_established() const { return client.is_established() && server.is_established(); }

  Records client, server;
  char room[Records::plain_bytes_max];
  std::size_t received = 0;
  bool is_good = true;
};

TEST_P(TlsMemory, of_requests_and_responses_is_the_pools) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer replaces malloc";
  ASSERT_TRUE(internal::uses_pools());
  Pair pair(client_, server(true));
  pair.exchange();
  ASSERT_TRUE(pair.is_established() && pair.is_good);
  const std::string request(200, 'r');
  const std::string response(40'000, 'a');
  const auto ask = [&] {
    EXPECT_TRUE(pair.client.write(request));
    pair.move(pair.client, pair.server);
    EXPECT_TRUE(pair.server.write(response));
    pair.move(pair.server, pair.client);
  };
  for (int i = 0; i < 10; ++i) ask();
  pair.received = 0;
  const auto before = keel::internal::allocations();

  for (int i = 0; i < 100; ++i) ask();

  EXPECT_EQ(keel::internal::allocations() - before, 0u);
  EXPECT_EQ(pair.received, 100 * (request.size() + response.size()));
}

TEST_P(TlsMemory, of_handshakes_is_the_pools) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer replaces malloc";
  const ServerContext one = server(true);
  const auto shake = [&] {
    Pair pair(client_, one);
    pair.exchange();
    EXPECT_TRUE(pair.is_established() && pair.is_good);
  };
  for (int i = 0; i < 20; ++i) shake();
  const auto before = keel::internal::allocations();

  for (int i = 0; i < 100; ++i) shake();

  EXPECT_EQ(keel::internal::allocations() - before, 0u);
}

}  // namespace
}  // namespace keel::tls::memory_test
