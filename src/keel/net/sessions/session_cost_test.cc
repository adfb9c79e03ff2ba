// What idle sessions cost, by what a loaded machine does not change: frames, system calls, timers and allocations for a
// heartbeat, iterations of the loop, bytes of memory. bench/experiments/sessions-idle.yaml has the time.
// The last test is about a session for which there is no memory.

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/pool.h"
#include "keel/base/sanitizers.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/net/messages/metrics.h"
#include "keel/net/sessions/internal/sessions_test.h"
#include "keel/observe/metric.h"

namespace keel::sessions::session_cost_test {
namespace {

using testing::SessionsTest;

// The host of a loop, and how many timers were started.
class CountingHost final : public Host {
 public:
  explicit CountingHost(Host& of) : of_(of), before_(Host::set_current(this)) {}
  ~CountingHost() override { Host::set_current(before_); }
  Instant now() noexcept override { return of_.now(); }
  Instant precise_now() noexcept override { return of_.precise_now(); }
  std::int64_t wall_ns() noexcept override { return of_.wall_ns(); }
  std::uint64_t random() noexcept override { return of_.random(); }
  void secret(std::span<std::byte> out) noexcept override { of_.secret(out); }
  void start_timer(Timer& timer, Instant at) noexcept override {
    ++started;
    of_.start_timer(timer, at);
  }
  void stop_timer(Timer& timer) noexcept override { of_.stop_timer(timer); }
  std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) override {
    return of_.start_thread(name, std::move(body));
  }
  std::uint64_t started = 0;

 private:
  Host& of_;
  Host* const before_;
};

// Both sides of each session are on the loop of the test.
class Costs : public SessionsTest {
 protected:
  void TearDown() override {
    if (loop_ == nullptr) return SessionsTest::TearDown();
    for (auto& running : runs_) running->stop();
    EXPECT_TRUE(until([&] { return std::ranges::all_of(runs_, [](const auto& run) { return run->has_ended(); }); }));
    for (auto& running : runs_) static_cast<void>(running->take());
    runs_.clear();
    clients_.clear();
    SessionsTest::TearDown();
  }
  void configure(messages::ServerOptions& options) override {
    options.metrics = &frames_;
    options.peer.heartbeat = Duration();
  }
  void connect(int sessions, Duration heartbeat) {
    ServerOptions options;
    options.session.heartbeat = heartbeat;
    start_server(std::move(options));
    add(sessions);
  }
  void add(int sessions) {
    for (int i = 0; i < sessions; ++i) {
      ClientOptions options = client_options();
      options.name = std::to_string(clients_.size());
      clients_.push_back(std::make_unique<Client>(client_handlers_, std::move(options)));
      runs_.push_back(std::make_unique<Start<void>>());
      runs_.back()->begin(clients_.back()->run(), [](StartCore&) noexcept {});
    }
    ASSERT_TRUE(until([&] { return registry_->stats().connected == clients_.size(); }));
  }
  // Of both sides together.
  double system_calls_max() const { return is_epoll() ? 6.1 : 1.1; }
  // On io_uring with buffers that its connections share.
  double bytes_max() const { return is_epoll() ? 3100 : 11'000; }
  bool is_epoll() const { return GetParam() == keel::internal::Which::Epoll; }
  std::uint64_t heartbeats() const { return frames_.received.value(); }

  metrics::Registry counted_;
  const messages::MessageMetrics frames_{counted_, "costs"};
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Start<void>>> runs_;
};
INSTANTIATE_TEST_SUITE_P(, Costs, keel::internal::every_engine(), keel::internal::name_of_engine);

TEST_P(Costs, of_a_heartbeat_are_two_frames_few_system_calls_and_timers_and_no_memory) {
  constexpr int sessions = 40;
  constexpr int rounds = 8;
  ASSERT_NO_FATAL_FAILURE(connect(sessions, 100_ms));
  // The first ones make what is kept for the others.
  const std::uint64_t first = heartbeats();
  ASSERT_TRUE(until([&] { return heartbeats() >= first + 2 * sessions; }));
  CountingHost host(loop());
  const std::uint64_t came = heartbeats();
  const std::uint64_t sent = frames_.sent.value();
  const std::uint64_t calls = engine().system_calls();
  const std::uint64_t turns = loop().turns();
  const std::size_t allocated = keel::internal::allocations();

  ASSERT_TRUE(until([&] { return heartbeats() >= came + rounds * sessions; }));

  const auto beats = static_cast<double>(heartbeats() - came);
  const auto each = [beats](std::uint64_t count) { return static_cast<double>(count) / beats; };
  const double allocations = each(keel::internal::allocations() - allocated);
  const double turned = each(loop().turns() - turns);
  const double calls_each = each(engine().system_calls() - calls);
  const double timers = each(host.started);
  std::printf(
      "%.0f heartbeats, for each: %.2f replies, %.2f iterations, %.2f system calls, %.2f timers, %.3f allocations\n",
      beats, each(frames_.sent.value() - sent), turned, calls_each, timers, allocations);
  EXPECT_LE(each(frames_.sent.value() - sent), 1.05) << "usually only the client sends heartbeats";
  if (is_sim()) {  // It makes no system calls, allocates freely, and its loop has a host of its own.
    EXPECT_LE(turned, 15.1);
  } else {
    EXPECT_LE(calls_each, turned + system_calls_max()) << "an iteration waits once";
    EXPECT_LE(timers, 3.1) << "each side starts its timer once, and again where the machine was away";
    EXPECT_LE(allocations, KEEL_SANITIZED ? 1e9 : 0.02);
  }
  EXPECT_EQ(registry_->stats().sessions, static_cast<std::uint64_t>(sessions));
}

TEST_P(Costs, of_an_idle_session_are_few_bytes_and_two_timers_on_each_side) {
  constexpr int sessions = 200;
  const auto in_use = [] { return static_cast<std::size_t>(mallinfo2().uordblks); };
  ASSERT_NO_FATAL_FAILURE(connect(1, 1_h));
  const std::size_t before = in_use();
  const int timers = loop().timers();
  ASSERT_NO_FATAL_FAILURE(add(sessions));
  settle();

  const auto bytes = static_cast<double>(in_use() - before) / sessions;
  const double timers_each = static_cast<double>(loop().timers() - timers) / sessions;
  std::printf("%.0f bytes a session, %.2f timers, of both sides together\n", bytes, timers_each);
  if (is_sim()) return;
  EXPECT_LE(timers_each, 4.0);
  EXPECT_LE(bytes, KEEL_SANITIZED ? 1e9 : bytes_max());
}

// A session whose messages arrive when a test says so.
class Fed final : public Session {
 public:
  explicit Fed(const Handlers& handlers) : Session(handlers, SessionOptions{}, internal::Role::Server) {
    EXPECT_TRUE(core_.link(Host::current().now(), {}, {100, 1'000'000}, Duration()));
  }
  void feed(messages::Peer& peer, std::string_view packet) { EXPECT_TRUE(on_frame(peer, packet)); }
  std::uint64_t seen() const { return core_.point().seen; }

 private:
  Result<> greet(std::string_view) override { return {}; }
  void unlinked(const Error&) noexcept override {}
  void ended() noexcept override {}
  Instant expires() const noexcept override { return Instant::never(); }
  void expire() noexcept override {}
};

template <class M>
std::string packet_of(std::uint64_t number, const M& message) {
  Buffer payload, out;
  messages::encode(payload, message);
  internal::write(out, internal::Packet{.kind = internal::Kind::Data,
                                        .number = number,
                                        .type = messages::type_of(message),
                                        .payload = payload.view()});
  return std::string(out.view());
}

class ShortOfMemory : public SessionsTest {};
INSTANTIATE_TEST_SUITE_P(, ShortOfMemory, keel::internal::every_engine(), keel::internal::name_of_engine);

TEST_P(ShortOfMemory, a_session_does_not_count_a_message_that_it_could_not_keep) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer replaces malloc";
  connect();
  messages::Peer& peer = *(*client_)->peer();
  Fed session(server_handlers_);
  session.feed(peer, packet_of(1, testing::Slow{1}));  // Its handler waits.
  const std::string second = packet_of(2, testing::Text{std::string(100'000, 'x')});

  {
    pool_trim();
    const keel::internal::WithoutMemory none;
    session.feed(peer, second);
  }

  EXPECT_EQ(session.seen(), 1u) << "the peer sends it again";
  EXPECT_EQ(session.stats().received, 1u);
  session.feed(peer, second);
  go_.set();
  ASSERT_TRUE(until([&] { return at_server_.size() == 2; }));
  EXPECT_EQ(at_server_.back().size(), 100'000u);
}

}  // namespace
}  // namespace keel::sessions::session_cost_test
