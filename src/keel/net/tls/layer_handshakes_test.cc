// Handshakes of one thread that wait for each other (net/tls/layer.h), on every engine.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/member.h"
#include "keel/io/testing/loop_test.h"
#include "keel/net/tls/layer.h"
#include "keel/net/tls/testing/certificates.h"
#include "keel/net/tls/testing/seeded_randomness.h"

namespace keel::tls::layer_handshakes_test {
namespace {

using io::testing::Which;

// One end of a connection.
class Peer {
 public:
  Peer() = default;
  Peer(const Peer&) = delete;
  ~Peer() { EXPECT_FALSE(transport_.is_open()); }

  void open(const Endpoint& endpoint) {
    transport_.open(endpoint);
    transport_.receive();
  }
  void establish() {
    if (transport_.establish(establishing_)) established();
  }
  void say(std::string_view text) {
    send_.set(text.data(), text.size());
    static_cast<void>(transport_.send(send_));
  }
  void cancel_receive() { transport_.cancel_receive(); }
  // Whether it is closed, as soon as nothing is pending.
  bool close() {
    if (!transport_.is_open()) return true;
    transport_.cancel(send_);
    transport_.cancel(establishing_);
    transport_.cancel_receive();
    if (transport_.is_receiving() || !send_.is_idle() || !establishing_.is_idle()) return false;
    transport_.close();
    return true;
  }
  bool is_quiet() const { return send_.is_idle(); }
  bool is_established() const { return transport_.layer()->is_established(); }
  std::optional<std::int32_t> outcome() const { return outcome_; }
  const std::string& error() const { return error_; }
  std::optional<std::int32_t> establishing() const { return result_; }

 private:
  void received() {
    if (transport_.outcome() > 0) return;
    outcome_ = transport_.outcome();
    if (*outcome_ < 0) error_ = transport_.error("receive", *outcome_).message();
  }
  void established() { result_ = establishing_.result; }
  void sent() {}

  Member<Transport, Peer, &Peer::received> transport_{*this};
  Member<io::Send, Peer, &Peer::established> establishing_{*this};
  Member<io::SendPart, Peer, &Peer::sent> send_{*this};
  std::optional<std::int32_t> outcome_;
  std::optional<std::int32_t> result_;
  std::string error_;
};

class TlsHandshakes : public io::testing::LoopTest {
 protected:
  static constexpr int count = 8;

  void SetUp() override {
    LoopTest::SetUp();
    if (IsSkipped()) return;
    if (is_sim()) randomness_.emplace();
    authority_.emplace("Test Root");
    pair_ = authority_->issue({.names = {"server.test"}});
    servers_.emplace(ServerContext::make({.certificates = {pair_}}).value());
    clients_.emplace(ClientContext::make({.trust = {.pem = authority_->pem()}}).value());
  }
  void TearDown() override {
    if (loop_ != nullptr) {
      EXPECT_TRUE(until([&] {
        bool all = true;
        for (const auto& peer : peers_) all = peer->close() && all;
        return all;
      }));
      EXPECT_EQ(servers_->waiting_handshakes() + clients_->waiting_handshakes(), 0u);
    }
    LoopTest::TearDown();
  }
  // Pairs of a client and a server. The clients have no layer where they are `plain`.
  void open_pairs(bool plain) {
    std::vector<std::pair<int, int>> pairs;
    for (int i = 0; i < count; ++i) {
      pairs.push_back(connect());
    }
    for (const auto& [near, far] : pairs) {
      peers_.push_back(std::make_unique<Peer>());
      client_.push_back(peers_.back().get());
      const Endpoint end{&engine(), near};
      client_.back()->open(plain ? end : clients_->make(end, "server.test").value());
      peers_.push_back(std::make_unique<Peer>());
      server_.push_back(peers_.back().get());
      server_.back()->open(servers_->make({&engine(), far}, "").value());
    }
  }
  // Two connected descriptors.
  std::pair<int, int> connect() {
    const int listener = engine().open_listener(Address::parse("127.0.0.1:0").value(), {}).value();
    io::Connect connecting([](io::Op&) noexcept {});
    connecting.fd = engine().open_stream(AF_INET).value();
    connecting.address = engine().local_address(listener);
    engine().submit(connecting);
    int accepted = -1;
    EXPECT_TRUE(until([&] {
      if (accepted < 0) accepted = engine().try_accept(listener);
      return accepted >= 0 && connecting.is_idle();
    }));
    engine().close(listener);
    return {connecting.fd, accepted};
  }
  bool are_established(const std::vector<Peer*>& peers) const {
    return std::ranges::all_of(peers, [](const Peer* peer) { return peer->is_established(); });
  }

  std::optional<testing::SeededRandomness> randomness_;
  std::optional<testing::Authority> authority_;
  KeyPair pair_;
  std::optional<Layers> servers_;
  std::optional<Layers> clients_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<Peer*> client_, server_;
};

INSTANTIATE_TEST_SUITE_P(, TlsHandshakes,
                         ::testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::SimWithFaults,
                                           Which::UringWithTinyRings),
                         io::testing::name_of_engine);

TEST_P(TlsHandshakes, are_counted_while_they_wait) {
  open_pairs(false);
  EXPECT_EQ(servers_->waiting_handshakes(), 0u);
  std::uint64_t most = 0;
  ASSERT_TRUE(until([&] {
    most = std::max(most, servers_->waiting_handshakes());
    return are_established(client_) && are_established(server_);
  }));
  EXPECT_GE(most, 1u);
  EXPECT_LE(most, static_cast<std::uint64_t>(count));
  EXPECT_EQ(servers_->waiting_handshakes(), 0u);
}

TEST_P(TlsHandshakes, continue_for_a_send_after_the_receiving_was_cancelled) {
  open_pairs(false);
  ASSERT_TRUE(until([&] { return servers_->waiting_handshakes() != 0; }));
  for (Peer* const server : server_) {
    server->establish();
    server->cancel_receive();
  }
  EXPECT_TRUE(
      until([&] { return std::ranges::all_of(server_, [](Peer* peer) { return peer->establishing().has_value(); }); }));
  for (const Peer* const server : server_) {
    EXPECT_EQ(server->outcome(), -ECANCELED);
    EXPECT_EQ(server->establishing(), 0);
  }
}

// In the simulation any step of a handshake takes the share of all. In reality a part of a record takes almost nothing
// of it, but would wait for others.
TEST_P(TlsHandshakes, do_not_wait_before_their_first_record_has_come_as_a_whole) {
  servers_.emplace(ServerContext::make({.certificates = {pair_}, .handshake_timeout = 1_s}).value());
  open_pairs(true);
  std::uint64_t most = 0;
  for (const std::string_view part : {"\x16\x03\x01", "\x02", "half"}) {
    for (Peer* const client : client_) client->say(part);
    ASSERT_TRUE(until([&] {
      most = std::max(most, servers_->waiting_handshakes());
      return std::ranges::all_of(client_, [](Peer* peer) { return peer->is_quiet(); });
    }));
  }
  ASSERT_TRUE(until([&] {
    most = std::max(most, servers_->waiting_handshakes());
    return std::ranges::all_of(server_, [](Peer* peer) { return peer->outcome().has_value(); });
  }));
  EXPECT_EQ(most, 0u);
  for (const Peer* const server : server_) EXPECT_EQ(server->error(), "the TLS handshake did not end within 1000 ms");
}

// --- in a simulation

struct Story {
  std::string trace;
  std::uint64_t most = 0;  // Handshakes that waited together.
};

// Clients on a loop of their own that connect in the same moment.
Story story_of(std::uint64_t seed) {
  sim::SimOptions options;
  options.seed = seed;
  options.trace_bytes_max = 1 << 20;
  options.short_delivery = 0.1;
  sim::Simulation simulation(options);
  io::Loop& near = simulation.add_loop();
  io::Loop& far = simulation.add_loop();
  const auto until = [&](auto done) { return simulation.run_until(done, 100_s); };
  const testing::SeededRandomness randomness;
  std::optional<Layers> servers, clients;
  std::vector<std::unique_ptr<Peer>> peers;
  Story story;
  {
    const io::Loop::Entered entered(far);
    testing::Authority authority("Test Root");
    servers.emplace(ServerContext::make({.certificates = {authority.issue({.names = {"server.test"}})}}).value());
    clients.emplace(ClientContext::make({.trust = {.pem = authority.pem()}}).value());
  }
  for (int i = 0; i < 6; ++i) {
    int listener = -1, accepted = -1;
    io::Connect connect([](io::Op&) noexcept {});
    {
      const io::Loop::Entered entered(far);
      listener = far.engine().open_listener(Address::parse("127.0.0.1:0").value(), {}).value();
    }
    {
      const io::Loop::Entered entered(near);
      connect.fd = near.engine().open_stream(AF_INET).value();
      connect.address = far.engine().local_address(listener);
      near.engine().submit(connect);
    }
    EXPECT_TRUE(until([&] {
      if (accepted < 0) accepted = far.engine().try_accept(listener);
      return accepted >= 0 && connect.is_idle();
    }));
    const auto open = [&](io::Loop& loop, Layers& layers, int fd, std::string_view host) {
      const io::Loop::Entered entered(loop);
      peers.push_back(std::make_unique<Peer>());
      peers.back()->open(layers.make({&loop.engine(), fd}, host).value());
    };
    open(far, *servers, accepted, "");
    open(near, *clients, connect.fd, "server.test");
    const io::Loop::Entered entered(far);
    far.engine().close(listener);
  }
  EXPECT_TRUE(until([&] {
    story.most = std::max(story.most, servers->waiting_handshakes());
    return std::ranges::all_of(peers, [](const auto& peer) { return peer->is_established(); });
  }));
  EXPECT_TRUE(until([&] {
    bool all = true;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const io::Loop::Entered entered(i % 2 == 0 ? far : near);
      all = peers[i]->close() && all;
    }
    return all;
  }));
  simulation.run_until([] { return false; }, 1_min);
  story.trace = simulation.trace_text();
  return story;
}

TEST(TlsHandshakesOfASeed, wait_and_are_the_same_each_time) {
  int waited = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Story first = story_of(seed);
    waited += first.most >= 1;
    const Story second = story_of(seed);
    EXPECT_TRUE(second.trace == first.trace) << seed;
    EXPECT_EQ(second.most, first.most) << seed;
  }
  EXPECT_GE(waited, 5) << "the simulation reaches the queue";
}

}  // namespace
}  // namespace keel::tls::layer_handshakes_test
