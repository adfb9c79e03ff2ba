// What sessions that flood, never read or send garbage cost the other sessions: counted, as in
// messages/neighbours_test.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/net/messages/frame.h"
#include "keel/net/sessions/internal/packet.h"
#include "keel/net/sessions/internal/sessions_test.h"

namespace keel::sessions::neighbours_test {
namespace {

struct Ping {
  static constexpr std::uint16_t message_type = 20;
  std::int64_t number = 0;
};
struct Flood {
  static constexpr std::uint16_t message_type = 21;
  std::string text;
};

class SessionNeighbours : public testing::SessionsTest {
 protected:
  static constexpr std::size_t ring_bytes_max = 256 * 1024;

  void SetUp() override {
    SessionsTest::SetUp();
    if (loop_ == nullptr) return;
    server_handlers_.on<Ping>([](Session& from, const Ping& ping) { EXPECT_TRUE(from.send(ping)); })
        .on_raw(Flood::message_type, [this](Session&, std::string_view) { ++flooded_; });
    client_handlers_.on<Ping>([this](Session&, const Ping& ping) { answered_ = ping.number; });
    ServerOptions options;
    options.session.ring_bytes = ring_bytes_max;
    start_server(std::move(options));
    start_client();
    ASSERT_TRUE(until([&] { return is_connected(); }));
  }
  void TearDown() override {
    if (loop_ != nullptr) {
      if (flooder_) {
        flooding_->stop();
        EXPECT_TRUE(until([&] { return flooding_->has_ended(); }));
        static_cast<void>(flooding_->take());
        flooder_.reset();
      }
      mute_.reset();
    }
    SessionsTest::TearDown();
  }
  void begin_flood() {
    ClientOptions options = client_options();
    options.name = "flooder";
    flooder_.emplace(client_handlers2_, std::move(options));
    flooding_.emplace();
    flooding_->begin(flooder_->run(), [](StartCore&) noexcept {});
    ASSERT_TRUE(until([&] { return (*flooder_)->is_connected(); }));
  }
  void flood() {
    if (!flooder_) return;
    while ((*flooder_)->send(Flood{text_})) continue;
  }
  // Begins a session, and reads nothing of what is sent to it.
  void begin_mute() {
    const std::size_t before = sessions_->sessions();
    mute_.emplace(*run(Stream::connect(listener_->address())));
    Buffer bytes;
    Buffer hello;
    messages::put_hello(hello, {.frame_bytes_max = 1 << 20});
    messages::put_frame(bytes, {.kind = messages::FrameKind::Hello, .payload = hello.view()});
    Buffer greeting;
    internal::write(greeting, internal::Hello{.heartbeat = 15_s, .window = {1 << 30, 1 << 30}, .name = "mute"});
    messages::put_frame(bytes, {.kind = messages::FrameKind::Session, .payload = greeting.view()});
    ASSERT_TRUE(run(keel::internal::write(*mute_, std::string(bytes.view()))));
    ASSERT_TRUE(until([&] { return sessions_->sessions() > before; }));
  }
  void send_to_mute() {
    sessions_->each([&](Session& session) {
      if (session.name() != "mute") return;
      EXPECT_TRUE(session.send(Flood{std::string(10'000, 'x')}, {.when_full = WhenFull::DropOldest}));
      held_most_ = std::max(held_most_, session.ring_bytes());
      dropped_ = session.stats().dropped;
    });
  }
  // What a message costs until its answer has come: turns of the loop, in a simulation microseconds.
  std::int64_t ask_once(Session& session) {
    const std::int64_t number = ++asked_;
    EXPECT_TRUE(session.send(Ping{number}, {.when_full = WhenFull::DropOldest}));
    const Instant began = simulation_ != nullptr ? simulation_->now() : Instant();
    std::int64_t turns = 0;
    while (answered_ != number && turns < 100'000) {
      flood();
      if (mute_) send_to_mute();
      simulation_ != nullptr ? static_cast<void>(simulation_->step())
                             : static_cast<void>(loop_->turn(Host::system().now() + 1_ms));
      ++turns;
    }
    EXPECT_EQ(answered_, number);
    return simulation_ != nullptr ? (simulation_->now() - began).count_ns() / 1000 : turns;
  }
  std::int64_t p99_of_messages() {
    std::vector<std::int64_t> all;
    for (int i = 0; i < 200; ++i) all.push_back(ask_once(**client_));
    std::ranges::sort(all);
    return all[all.size() * 99 / 100];
  }

  const std::string text_ = std::string(200, 'x');
  std::uint64_t flooded_ = 0;
  std::uint64_t dropped_ = 0;
  std::size_t held_most_ = 0;
  std::int64_t asked_ = 0;
  std::int64_t answered_ = 0;
  std::optional<Client> flooder_;
  std::optional<Start<void>> flooding_;
  std::optional<Stream> mute_;
};
INSTANTIATE_TEST_SUITE_P(, SessionNeighbours, keel::internal::every_engine(), keel::internal::name_of_engine);

TEST_P(SessionNeighbours, of_one_that_floods_and_one_that_never_reads_wait_no_longer) {
  const std::int64_t alone = p99_of_messages();
  ASSERT_NO_FATAL_FAILURE(begin_flood());
  ASSERT_NO_FATAL_FAILURE(begin_mute());

  const std::int64_t beside = p99_of_messages();

  RecordProperty("alone", std::to_string(alone));
  RecordProperty("beside", std::to_string(beside));
  RecordProperty("flooded", std::to_string(flooded_));
  EXPECT_GT(flooded_, 5'000u) << "the flood is one";
  EXPECT_GT(dropped_, 0u) << "the other one does not read";
  EXPECT_LE(held_most_, ring_bytes_max);
  EXPECT_LE(beside * 2, alone * 3) << "p99 beside them, in turns (sim: us); alone " << alone;
}

TEST_P(SessionNeighbours, of_one_that_sends_garbage_wait_no_longer_and_it_is_closed) {
  const std::int64_t alone = p99_of_messages();
  std::vector<std::int64_t> all;
  for (int i = 0; i < 100; ++i) {
    const std::unique_ptr<RawClient> raw = connect_raw();
    ASSERT_TRUE((*raw->client)->try_send_session("garbage"));
    all.push_back(ask_once(**client_));
    ASSERT_TRUE(until([&] { return !raw->reason.empty(); }));
    EXPECT_TRUE(raw->reason.ends_with("a packet of the session is of an unexpected kind")) << raw->reason;
  }
  std::ranges::sort(all);

  EXPECT_LE(all[all.size() * 99 / 100] * 2, alone * 3) << "p99 beside them, in turns (sim: us); alone " << alone;
  EXPECT_EQ(registry_->stats().sessions, 1u) << "garbage begins no session";
}

// The negative control: in the session of the flood a message waits behind what is queued, and that is seen.
TEST_P(SessionNeighbours, in_the_session_of_the_flood_do_wait_longer) {
  const std::int64_t alone = p99_of_messages();
  std::vector<std::int64_t> all;
  for (int i = 0; i < 100; ++i) {
    while ((*client_)->send(Flood{std::string(4000, 'x')})) continue;
    all.push_back(ask_once(**client_));
  }
  std::ranges::sort(all);

  EXPECT_GT(all[all.size() * 99 / 100] * 2, alone * 3) << "p99 behind the flood; alone " << alone;
}

}  // namespace
}  // namespace keel::sessions::neighbours_test
