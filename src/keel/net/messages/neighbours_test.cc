// What peers that flood, never read or send garbage cost the others: counted, so that the machine's mood does not
// matter. sessions/neighbours_test.cc has the same for sessions.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keel/net/messages/frame.h"
#include "keel/net/messages/internal/messages_test.h"

namespace keel::messages::neighbours_test {
namespace {

using namespace testing;

constexpr std::uint16_t flood_type = 40;
constexpr std::uint16_t large_type = 41;

class Neighbours : public MessagesTest {
 protected:
  static constexpr std::size_t high_bytes = 64 * 1024;
  static constexpr std::size_t queued_bytes_max = 512 * 1024;

  void SetUp() override {
    MessagesTest::SetUp();
    if (loop_ == nullptr) return;
    handlers_.on_raw(flood_type, [this](Peer&, std::string_view) { ++flooded_; });
    handlers_.on_raw(large_type, [](Peer&, std::string_view) { return std::string(100'000, 'x'); });
    connect({.peer = {.high_bytes = high_bytes, .low_bytes = 16 * 1024, .queued_bytes_max = queued_bytes_max}});
  }
  void TearDown() override {
    flooder_.reset();
    mute_.reset();
    garbage_.clear();
    MessagesTest::TearDown();
  }
  // Peers that the server takes beside client().
  Client another() {
    auto [one, other] = pair();
    server_->add(std::move(other));
    return *run(over(std::move(one), {}));
  }
  // Says hello and asks for more than it may be sent, and reads nothing.
  void begin_mute() {
    auto [one, other] = pair();
    server_->add(std::move(other));
    mute_.emplace(std::move(one));
    Buffer hello;
    put_hello(hello, Hello{.frame_bytes_max = 1 << 20});
    std::string bytes;
    const auto put = [&bytes](const Frame& frame) {
      const FrameHead head(frame, false);
      bytes.append(head.bytes()).append(frame.payload).append(head.tail());
    };
    put({.kind = FrameKind::Hello, .payload = hello.view()});
    for (std::uint32_t id = 0; id < 200; ++id) put({.kind = FrameKind::Request, .type = large_type, .id = id});
    ASSERT_TRUE(run(keel::internal::write(*mute_, bytes)));
  }
  void flood() {
    if (!flooder_) return;
    while ((*flooder_)->try_send(Raw{flood_type, payload_})) continue;
  }
  // What a request costs until it is answered: turns of the loop, in a simulation microseconds.
  std::int64_t ask_once(Peer& peer) {
    Start<Sum> asking;
    if (asking.begin(asked<Sum>(peer, Add{2, 3}), ignore)) return 0;
    const Instant began = simulation_ != nullptr ? simulation_->now() : Instant();
    std::int64_t turns = 0;
    while (!asking.has_ended()) {
      flood();
      const std::uint64_t before = flooded_;
      simulation_ != nullptr ? static_cast<void>(simulation_->step())
                             : static_cast<void>(loop_->turn(Host::system().now() + 1_ms));
      flooded_at_once_ = std::max(flooded_at_once_, flooded_ - before);
      ++turns;
    }
    EXPECT_EQ(asking.take()->value, 5);
    return simulation_ != nullptr ? (simulation_->now() - began).count_ns() / 1000 : turns;
  }
  std::int64_t p99_of_requests(Peer& peer, int requests = 400) {
    std::vector<std::int64_t> all;
    for (int i = 0; i < requests; ++i) {
      if (has_garbage_) send_garbage();
      all.push_back(ask_once(peer));
    }
    std::ranges::sort(all);
    return all[all.size() * 99 / 100];
  }

  // From one peer more, which says no hello.
  void send_garbage() {
    auto [one, other] = pair();
    server_->add(std::move(other));
    ASSERT_TRUE(run(keel::internal::write(one, std::string(1000, '\x7f'))));
    garbage_.push_back(std::move(one));
  }

  const std::string payload_ = std::string(200, 'x');
  bool has_garbage_ = false;
  std::vector<Stream> garbage_;
  std::uint64_t flooded_ = 0;
  std::uint64_t flooded_at_once_ = 0;  // Messages of the flooder that were handled in one turn.
  std::optional<Client> flooder_;
  std::optional<Stream> mute_;
};
INSTANTIATE_TEST_SUITE_P(, Neighbours, keel::internal::every_engine(), keel::internal::name_of_engine);

TEST_P(Neighbours, of_one_that_floods_and_one_that_never_reads_wait_no_longer) {
  const std::int64_t alone = p99_of_requests(client());
  flooder_.emplace(another());
  begin_mute();

  const std::int64_t beside = p99_of_requests(client());

  RecordProperty("alone", std::to_string(alone));
  RecordProperty("beside", std::to_string(beside));
  RecordProperty("flooded_at_once", std::to_string(flooded_at_once_));
  EXPECT_GT(flooded_, 10'000u) << "the flood is one";
  std::size_t queued = 0;
  server_->each([&](Peer& peer) { queued = std::max(queued, peer.queued_bytes()); });
  EXPECT_GT(queued, high_bytes) << "the other one does not read";
  EXPECT_LE(beside * 2, alone * 3) << "p99 beside them, in turns (sim: us); alone " << alone;
  // A turn handles what was received by then: some buffers of the engine, whatever the flooder has queued.
  EXPECT_LE(flooded_at_once_, 4'000u);
}

TEST_P(Neighbours, of_those_that_send_garbage_wait_no_longer) {
  const std::int64_t alone = p99_of_requests(client());
  has_garbage_ = true;

  const std::int64_t beside = p99_of_requests(client());

  RecordProperty("alone", std::to_string(alone));
  RecordProperty("beside", std::to_string(beside));
  EXPECT_LE(beside * 2, alone * 3) << "p99 beside them, in turns (sim: us); alone " << alone;
  garbage_.clear();
  ASSERT_TRUE(until([&] { return server_->connections() == 1; })) << "each was closed";
  ASSERT_EQ(closed_.size(), 400u);
  for (const Error& reason : closed_) {
    EXPECT_EQ(reason.message(), "the peer does not speak Keel messages: its first bytes are not a frame");
  }
}

// The negative control: over the connection of the flood a request waits behind what is queued, and that is seen.
TEST_P(Neighbours, over_the_connection_of_the_flood_do_wait_longer) {
  const std::int64_t alone = p99_of_requests(client());
  flooder_.emplace(another());

  const std::int64_t behind = p99_of_requests(**flooder_, 10);

  EXPECT_GT(behind * 2, alone * 3) << "p99 behind the flood, in turns (sim: us); alone " << alone;
}

TEST_P(Neighbours, hold_at_most_what_may_be_queued_for_one_that_never_reads) {
  begin_mute();
  std::size_t most = 0;
  for (int i = 0; i < 400; ++i) {
    ask_once(client());
    server_->each([&](Peer& peer) { most = std::max(most, peer.queued_bytes()); });
  }
  EXPECT_GT(most, high_bytes) << "it has not read";
  EXPECT_LE(most, queued_bytes_max);
  EXPECT_EQ(ask<Sum>(client(), Add{2, 3})->value, 5);
}

}  // namespace
}  // namespace keel::messages::neighbours_test
