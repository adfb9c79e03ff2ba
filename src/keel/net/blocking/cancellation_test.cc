// What ends a blocking call, one table for all of them: each row is a call, each test asks all rows one question, over
// TCP and UDP and over Unix sockets. docs/cancellation.md has the answers. Crosses threads: run under ThreadSanitizer.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "keel/base/host.h"
#include "keel/net/blocking/datagram.h"
#include "keel/net/blocking/internal/blocking_test.h"

namespace keel::blocking::blocking_cancellation_test {
namespace {

using internal::pattern;

class BlockingCalls : public internal::BlockingTest {};
INSTANTIATE_TEST_SUITE_P(, BlockingCalls, internal::tcp_and_unix(), internal::name_of_kind);

// One call and what is around it. Made anew for each question.
class Scene {
 public:
  Scene() = default;
  virtual ~Scene() = default;
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  // The call. When it is repeated it continues where it was.
  virtual Result<> act(Duration timeout) = 0;
  // It gets part of its way.
  virtual void advance() {}
  // It may complete.
  virtual void finish() = 0;
  // Who it waits for goes away.
  virtual void lose() {}
  // Its own object is shut down.
  virtual void shut_down() = 0;
  // After it has ended well, or met its limit after it had begun: what holds then.
  virtual void check_done() {}
  virtual void check_late() {}
};

struct Row {
  const char* name;
  std::function<std::unique_ptr<Scene>(BlockingCalls&)> make;
  bool repeats = true;  // After its limit it may be called again.
  // After lose() and after shut_down(). Without a code: it ends well.
  bool has_peer = true;
  std::optional<Code> gone = {};
  std::optional<Code> shut = {};
};

struct Accepting : Scene {
  explicit Accepting(BlockingCalls& of) : listener(Listener::bind(of.free_address()).value()) {}
  Result<> act(Duration timeout) override {
    KEEL_TRY(Stream accepted, listener.accept(timeout));
    KEEL_TRY(const Chunk chunk, accepted.receive(10_s));
    got = chunk;
    return {};
  }
  void finish() override {
    Stream client = Stream::connect(listener.address(), 10_s).value();
    EXPECT_TRUE(client.write("h"));
  }
  // It connects, writes and closes before it is accepted.
  void lose() override { finish(); }
  void shut_down() override { listener.shutdown(); }
  void check_done() override { EXPECT_EQ(got, "h"); }
  Listener listener;
  std::string got;
};

struct Reading : Scene {
  explicit Reading(BlockingCalls& of) : streams(of.pair()) {}
  void say(std::string_view text) { EXPECT_TRUE(streams.client.write(text)); }
  void finish() override { say("w"); }  // More might come in pieces.
  void lose() override { streams.client.close(); }
  void shut_down() override { streams.server.shutdown(); }
  void check_done() override { EXPECT_EQ(got, "w"); }
  BlockingCalls::Pair streams;
  std::string got;
};
struct Receiving : Reading {
  using Reading::Reading;
  Result<> act(Duration timeout) override {
    KEEL_TRY(const Chunk chunk, streams.server.receive(timeout));
    got = chunk;
    return {};
  }
};
struct ReadingSome : Reading {
  using Reading::Reading;
  Result<> act(Duration timeout) override {
    char into[16];
    KEEL_TRY(const std::size_t size, streams.server.read(into, timeout));
    got.assign(into, size);
    return {};
  }
};
// Half of it has come; nothing of it is lost.
struct ReadingExactly : Reading {
  using Reading::Reading;
  Result<> act(Duration timeout) override {
    char into[8];
    KEEL_TRY_VOID(streams.server.read_exact(into, timeout));
    got.assign(into, sizeof into);
    return {};
  }
  void advance() override {
    say("half");
    said_half = true;
  }
  void finish() override { say(said_half ? "full" : "halffull"); }
  void check_done() override { EXPECT_EQ(got, "halffull"); }
  bool said_half = false;
};
struct ReadingUntil : ReadingExactly {
  using ReadingExactly::ReadingExactly;
  Result<> act(Duration timeout) override {
    KEEL_TRY(const Chunk line, streams.server.read_until("ll", 100, timeout));
    got = line;
    return {};
  }
};

// More than fits into the buffers between them.
struct Writing : Scene {
  explicit Writing(BlockingCalls& of) : streams(of.pair()) {}
  ~Writing() override { join(); }
  Result<> act(Duration timeout) override { return streams.server.write(text(), timeout); }
  void finish() override {
    reader = std::thread([this] { got = internal::rest(streams.client); });
  }
  void join() {
    if (!reader.joinable()) return;
    streams.server.close();
    reader.join();
  }
  void lose() override { streams.client.close(); }
  void shut_down() override { streams.server.shutdown(); }
  void check_done() override {
    join();
    EXPECT_TRUE(got == text());
  }
  // The peer gets what had left, in order, and then the end: not the whole.
  void check_late() override {
    finish();
    join();
    EXPECT_LT(got.size(), text().size());
    EXPECT_TRUE(text().starts_with(got));
  }
  static const std::string& text() {
    static const std::string bytes = pattern(8 * 1024 * 1024);
    return bytes;
  }
  BlockingCalls::Pair streams;
  std::string got;
  std::thread reader;
};
struct WritingParts : Writing {
  using Writing::Writing;
  Result<> act(Duration timeout) override {
    const std::string_view all = text();
    const std::string_view parts[] = {all.substr(0, 100), all.substr(100, 1'000'000), all.substr(1'000'100)};
    return streams.server.write(parts, timeout);
  }
};
struct SendingFile : Writing {
  explicit SendingFile(BlockingCalls& of) : Writing(of) {
    std::string path = ::testing::TempDir() + "keel_blocking_file_XXXXXX";
    file = ::mkstemp(path.data());
    EXPECT_GE(file, 0);
    std::remove(path.c_str());
    EXPECT_EQ(::pwrite(file, text().data(), text().size(), 0), static_cast<ssize_t>(text().size()));
  }
  ~SendingFile() override { ::close(file); }
  Result<> act(Duration timeout) override { return streams.server.send_file(file, 0, text().size(), timeout); }
  int file = -1;
};

struct ReceivingDatagram : Scene {
  explicit ReceivingDatagram(BlockingCalls& of)
      : mine(DatagramSocket::bind(of.free_address()).value()),
        peer(DatagramSocket::connect(mine.local_address()).value()) {}
  Result<> act(Duration timeout) override {
    KEEL_TRY(const Datagram datagram, mine.receive(timeout));
    got = datagram.bytes;
    return {};
  }
  void finish() override { EXPECT_TRUE(peer.send("word")); }
  void shut_down() override { mine.shutdown(); }
  void check_done() override { EXPECT_EQ(got, "word"); }
  DatagramSocket mine;
  DatagramSocket peer;
  std::string got;
};

template <class S>
std::unique_ptr<Scene> make(BlockingCalls& of) {
  return std::make_unique<S>(of);
}

const std::vector<Row>& rows() {
  static const std::vector<Row> list = {
      {.name = "Listener::accept", .make = make<Accepting>, .shut = Code::Cancelled},
      {.name = "Stream::receive", .make = make<Receiving>},
      {.name = "Stream::read", .make = make<ReadingSome>},
      {.name = "Stream::read_exact",
       .make = make<ReadingExactly>,
       .gone = Code::Unavailable,
       .shut = Code::Unavailable},
      {.name = "Stream::read_until", .make = make<ReadingUntil>, .gone = Code::Unavailable, .shut = Code::Unavailable},
      {.name = "Stream::write",
       .make = make<Writing>,
       .repeats = false,
       .gone = Code::Unavailable,
       .shut = Code::Unavailable},
      {.name = "Stream::write of parts",
       .make = make<WritingParts>,
       .repeats = false,
       .gone = Code::Unavailable,
       .shut = Code::Unavailable},
      {.name = "Stream::send_file",
       .make = make<SendingFile>,
       .repeats = false,
       .gone = Code::Unavailable,
       .shut = Code::Unavailable},
      {.name = "DatagramSocket::receive", .make = make<ReceivingDatagram>, .has_peer = false, .shut = Code::Cancelled},
  };
  return list;
}

template <class Ask>
void ask_each(BlockingCalls& test, Ask ask) {
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.name);
    const auto scene = row.make(test);
    ask(row, *scene);
    if (::testing::Test::HasFailure()) return;
  }
}

void expect_late(const Row& row, Scene& scene, const Result<>& ended) {
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), Code::DeadlineExceeded) << ended.error().describe();
  if (!row.repeats) return scene.check_late();
  scene.finish();
  const Result<> again = scene.act(20_s);
  ASSERT_TRUE(again) << again.error().describe();
  scene.check_done();
}

// Begins the call on another thread, does `what` when it is about to wait or does so already, and gives its answer.
Result<> while_it_waits(Scene& scene, Duration timeout, void (Scene::*what)()) {
  std::atomic<bool> is_calling = false;
  Result<> answer;
  std::thread caller([&] {
    is_calling = true;
    answer = scene.act(timeout);
  });
  while (!is_calling) std::this_thread::yield();
  (scene.*what)();
  caller.join();
  return answer;
}

void expect(const Result<>& ended, const std::optional<Code>& code) {
  if (!code) {
    EXPECT_TRUE(ended) << ended.error().describe();
    return;
  }
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), *code) << ended.error().describe();
}

TEST_P(BlockingCalls, without_any_time_do_not_wait) {
  ask_each(*this, [&](const Row& row, Scene& scene) { expect_late(row, scene, scene.act(Duration())); });
}

TEST_P(BlockingCalls, midway_end_at_their_limit_and_not_before) {
  ask_each(*this, [&](const Row& row, Scene& scene) {
    scene.advance();
    const Instant began = Host::system().now();
    const Result<> ended = scene.act(20_ms);
    EXPECT_GE((Host::system().now() - began).count_ms(), 20);
    expect_late(row, scene, ended);
  });
}

TEST_P(BlockingCalls, keep_their_result_when_they_complete_in_time) {
  for (const Duration limit : {20_s, Duration::forever()}) {
    ask_each(*this, [&](const Row&, Scene& scene) {
      expect(while_it_waits(scene, limit, &Scene::finish), std::nullopt);
      scene.check_done();
    });
  }
}

TEST_P(BlockingCalls, end_when_their_peer_goes) {
  for (const Duration limit : {20_s, Duration::forever()}) {
    ask_each(*this, [&](const Row& row, Scene& scene) {
      if (!row.has_peer) return;
      scene.advance();
      expect(while_it_waits(scene, limit, &Scene::lose), row.gone);
    });
  }
}

// Whether it comes before the call or while it waits.
TEST_P(BlockingCalls, end_when_another_thread_shuts_down_what_they_wait_for) {
  for (const Duration limit : {20_s, Duration::forever()}) {
    ask_each(*this, [&](const Row& row, Scene& scene) {
      scene.advance();
      expect(while_it_waits(scene, limit, &Scene::shut_down), row.shut);
      expect(scene.act(limit), row.shut);
    });
  }
}

}  // namespace
}  // namespace keel::blocking::blocking_cancellation_test
