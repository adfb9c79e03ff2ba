// What a connection takes from the heap once the pools have what it needs: nothing.

#include "keel/net/tls/internal/memory.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/pool.h"
#include "keel/base/sanitizers.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/net/tls/internal/context.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::tls::internal {

// OpenSSL's object of a context.
struct SslOf {
  template <class AnyContext>
  static SSL_CTX* in(const AnyContext& context) {
    return context.context_->ssl.get();
  }
};

}  // namespace keel::tls::internal

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

TEST_P(TlsMemory, of_clients_that_send_no_whole_record_is_little) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer replaces malloc";
  constexpr std::size_t count = 200;
  const ServerContext one = server(true);
  const std::size_t before = mallinfo2().uordblks;
  std::vector<std::unique_ptr<Records>> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<Records>(one));
    std::string_view byte("\x16");
    EXPECT_EQ(clients.back()->read(byte, {}).value(), 0u);
  }
  EXPECT_LE((mallinfo2().uordblks - before) / count, 2048u);
}

// What SSL_MODE_RELEASE_BUFFERS costs and saves: both ways, in turns.
class ReleasedBuffers : public TlsMemory {
 protected:
  struct Side {
    ClientContext client;
    ServerContext server;
    std::vector<std::unique_ptr<Pair>> pairs = {};
    std::size_t bytes = 0;                // Of one end of an idle connection.
    std::int64_t request_ns = INT64_MAX;  // Of both ends together.
  };
  Side make(bool releases) {
    const ClientOptions client = {.trust = {.pem = authority_.pem()}, .sessions_max = 0};
    Side side{.client = ClientContext::make(client).value(), .server = server(true)};
    for (SSL_CTX* const ssl : {internal::SslOf::in(side.client), internal::SslOf::in(side.server)}) {
      EXPECT_TRUE((SSL_CTX_get_mode(ssl) & SSL_MODE_RELEASE_BUFFERS) != 0) << "as contexts are made";
      if (!releases) SSL_CTX_clear_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    }
    return side;
  }
  static void ask(Pair& pair) {
    static const std::string request(200, 'r'), response(2000, 'a');
    EXPECT_TRUE(pair.client.write(request));
    pair.move(pair.client, pair.server);
    EXPECT_TRUE(pair.server.write(response));
    pair.move(pair.server, pair.client);
  }
  static std::unique_ptr<Pair> open(const Side& side) {
    auto pair = std::make_unique<Pair>(side.client, side.server);
    pair->exchange();
    EXPECT_TRUE(pair->is_established() && pair->is_good);
    ask(*pair);
    return pair;
  }
  static std::size_t used() {
    pool_trim();
    internal::trim_pools();
    return mallinfo2().uordblks;
  }
  static void measure_memory(Side& side) {
    constexpr std::size_t count = 200;
    side.pairs.reserve(count);
    open(side).reset();  // What the first one makes for all.
    const std::size_t before = used();
    while (side.pairs.size() < count) side.pairs.push_back(open(side));
    side.bytes = ((used() - before) / count - sizeof(Pair)) / 2;
    side.pairs.resize(1);
  }
  static void measure_time(Side& side) {
    constexpr int count = 1000;
    const auto cpu_ns = [] {
      timespec now{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    };
    const std::int64_t began = cpu_ns();
    for (int i = 0; i < count; ++i) ask(*side.pairs.front());
    side.request_ns = std::min(side.request_ns, (cpu_ns() - began) / count);
  }
};
INSTANTIATE_TEST_SUITE_P(, ReleasedBuffers, ::testing::Values(Version::Tls12, Version::Tls13),
                         [](const auto& version) { return version.param == Version::Tls12 ? "tls12" : "tls13"; });

TEST_P(ReleasedBuffers, save_most_of_an_idle_connection_and_cost_little_of_a_request) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer replaces malloc";
  Side released = make(true), kept = make(false);
  measure_memory(released);
  measure_memory(kept);
  for (int round = 0; round < 10; ++round) {
    measure_time(released);
    measure_time(kept);
  }
  const double times = static_cast<double>(released.request_ns) / static_cast<double>(kept.request_ns);
  std::printf(
      "buffers released: %zu bytes of an idle connection, kept: %zu; a request with both ends %.2f and %.2f us\n",
      released.bytes, kept.bytes, static_cast<double>(released.request_ns) / 1000,
      static_cast<double>(kept.request_ns) / 1000);
  RecordProperty("idle_bytes_released", static_cast<int>(released.bytes));
  RecordProperty("idle_bytes_kept", static_cast<int>(kept.bytes));
  EXPECT_GT(kept.bytes, released.bytes + 16 * 1024) << "at least one record's buffer";
  EXPECT_LT(times, 1.25);
}

// A crowd of connections, both ends of each in this thread.
class Crowds : public TlsMemory {
 protected:
  static constexpr std::size_t count = 2000;
  static constexpr std::size_t mebibyte = 1 << 20;

  // What malloc has given to others than the pools of base/pool.h.
  static std::size_t used() {
    pool_trim();
    return mallinfo2().uordblks;
  }
  std::unique_ptr<Pair> open(const ServerContext& to) {
    auto pair = std::make_unique<Pair>(client_, to);
    pair->exchange();
    EXPECT_TRUE(pair->is_established() && pair->is_good);
    return pair;
  }
};
INSTANTIATE_TEST_SUITE_P(, Crowds, ::testing::Values(Version::Tls12, Version::Tls13),
                         [](const auto& version) { return version.param == Version::Tls12 ? "tls12" : "tls13"; });

TEST_P(Crowds, give_their_memory_back_when_all_are_closed) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer replaces malloc";
  const ServerContext to = server(true);
  open(to).reset();
  internal::trim_pools();
  std::vector<std::unique_ptr<Pair>> all;
  all.reserve(count);
  const std::size_t before = used();

  while (all.size() < count) all.push_back(open(to));
  const std::size_t full = used() - before;
  all.clear();

  const std::size_t left = used() - before;
  std::printf("%zu KiB with %zu connections, %zu KiB after them\n", full / 1024, count, left / 1024);
  EXPECT_GT(full, 32 * mebibyte) << "is OpenSSL's memory counted?";
  EXPECT_LE(left, 3 * mebibyte);
  // The remaining blocks are enough for a single connection at a time. The first one fills the pools of base/pool.h.
  open(to).reset();
  const auto allocations = keel::internal::allocations();
  open(to).reset();
  EXPECT_LE(keel::internal::allocations() - allocations, 1u) << "the Pair";
}

TEST_P(Crowds, give_most_of_their_memory_back_while_others_stay) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer replaces malloc";
  const ServerContext to = server(true);
  internal::trim_pools();
  std::vector<std::unique_ptr<Pair>> all;
  all.reserve(count);
  const auto stays = open(to);
  const std::size_t before = used();

  while (all.size() < count) all.push_back(open(to));
  all.clear();

  const std::size_t left = used() - before;
  std::printf("%zu KiB after %zu connections\n", left / 1024, count);
  EXPECT_LE(left, 10 * mebibyte) << "8 MiB, and what malloc has beside it";
  // Blocks of sizes that are no longer requested make room for those that are.
  for (int i = 0; i < 200; ++i) open(to).reset();
  pool_trim();
  for (int i = 0; i < 20; ++i) open(to).reset();
  const auto allocations = keel::internal::allocations();
  for (int i = 0; i < 20; ++i) {
    auto pair = std::make_unique<Pair>(client_, to);
    pair->exchange();
  }
  EXPECT_LE(keel::internal::allocations() - allocations, 20u) << "that of each Pair itself";
}

}  // namespace
}  // namespace keel::tls::memory_test
