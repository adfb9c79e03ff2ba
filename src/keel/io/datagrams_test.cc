// Datagrams as engines have them: joined ones, and a system that has no room. What sockets make of them:
// ../net/datagram_test.cc.

#include "keel/io/datagrams.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "keel/io/internal/engine_testing.h"
#include "keel/io/internal/own_network.h"

namespace keel::io::datagrams_test {
namespace {

using testing::pattern;

// What has come, in order.
struct Arrivals : ReceiveDatagrams {
  Arrivals() : ReceiveDatagrams(&on_done) {}
  static void on_done(Op& op) noexcept {
    auto& self = static_cast<Arrivals&>(op);
    if (!op.more) return;
    self.got.emplace_back(self.data, static_cast<std::size_t>(self.result));
    self.any_cut |= self.cut;
    if (self.segment_bytes == 0) return;
    ++self.joined;
    EXPECT_EQ(self.segment_bytes, 1000u);
  }
  std::string text() const {
    std::string all;
    for (const std::string& each : got) all += each;
    return all;
  }
  std::vector<std::string> got;
  int joined = 0;
  bool any_cut = false;
};

class DatagramOps : public testing::EngineTest {
 protected:
  int open(Arrivals& in, const DatagramOptions& options) {
    in.fd = engine().open_datagram(options).value();
    in.bytes_max = options.bytes_max;
    in.join = options.join;
    submit(in);
    return in.fd;
  }
};
INSTANTIATE_TEST_SUITE_P(, DatagramOps, testing::every_engine(), testing::name_of_engine);

TEST_P(DatagramOps, that_may_be_joined_come_several_in_one_and_are_not_cut) {
  Arrivals in;
  const int to = open(in, {.bind = *Address::parse("127.0.0.1:0"), .bytes_max = 100, .join = true});
  const int from = engine().open_datagram({.connect = engine().local_address(to)}).value();
  const std::string bytes = pattern(10'500);
  const OutgoingDatagram segments{bytes, {}, 1000};
  std::string sent;
  for (int round = 0; round < 20; ++round) {
    SendDatagrams out([](Op&) noexcept {});
    out.fd = from;
    out.datagrams = &segments;
    out.count = 1;
    const bool at_once = submit(out);
    ASSERT_TRUE(at_once || until([&] { return out.is_idle(); }));
    EXPECT_EQ(out.result, 1);
    sent += bytes;
    ASSERT_TRUE(until([&] { return in.text().size() == sent.size(); }));
  }
  EXPECT_TRUE(in.text() == sent);
  EXPECT_GT(in.joined, 0);
  EXPECT_FALSE(in.any_cut);
  engine().close(from);
  end_and_close(in);
}

struct Outgoing : testing::Once<SendDatagrams> {
  Outgoing(int from, std::span<const OutgoingDatagram> all) {
    fd = from;
    datagrams = all.data();
    count = static_cast<std::uint32_t>(all.size());
  }
};

// Many that wait when they are looked at, and nothing comes behind them that would say so.
TEST_P(DatagramOps, that_wait_are_all_received_however_many_one_read_takes) {
  Arrivals in;
  const int to = open(in, {.bind = *Address::parse("127.0.0.1:0"), .bytes_max = 100});
  const int from = engine().open_datagram({.connect = engine().local_address(to)}).value();
  const std::vector<OutgoingDatagram> many(3 * datagrams_read_max + 1, OutgoingDatagram{"k"});
  Outgoing out(from, many);
  begin(out);
  ASSERT_TRUE(until([&] { return out.is_idle(); }));

  EXPECT_TRUE(until([&] { return in.got.size() == many.size(); }, 2_s)) << in.got.size();

  engine().close(from);
  end_and_close(in);
}

// As a task that sends all the time, one, a few or segments in an operation.
TEST_P(DatagramOps, who_only_sends_leaves_the_others_their_turn) {
  Arrivals in;
  const int to = open(in, {.bind = *Address::parse("127.0.0.1:0"), .bytes_max = 100});
  const int from = engine().open_datagram({.connect = engine().local_address(to)}).value();
  const OutgoingDatagram one{"k"};
  const OutgoingDatagram two[] = {{"k"}, {"k"}};
  const OutgoingDatagram segments{"kkkk", {}, 1};
  using All = std::span<const OutgoingDatagram>;
  for (const All all : {All(&one, 1), All(two), All(&segments, 1)}) {
    for (const bool is_cancelled : {false, true}) {
      Outgoing out(from, all);
      int at_once = 0;
      do begin(out);
      while (out.is_idle() && ++at_once < 100'000);
      EXPECT_LT(at_once, 1000);
      ASSERT_FALSE(out.is_idle());

      if (is_cancelled) engine().cancel(out);
      ASSERT_TRUE(until([&] { return out.is_idle(); }));

      const int sent = static_cast<int>(all.size());
      EXPECT_TRUE(out.final == sent || (is_cancelled && out.final == -ECANCELED)) << out.final;
    }
  }
  engine().close(from);
  end_and_close(in);
}

TEST_P(DatagramOps, of_many_at_once_some_leave_in_a_turn) {
  Arrivals in;
  const int to = open(in, {.bind = *Address::parse("127.0.0.1:0"), .bytes_max = 100});
  const int from = engine().open_datagram({.connect = engine().local_address(to)}).value();
  const std::vector<OutgoingDatagram> many(10'000, OutgoingDatagram{"k"});
  const std::string large(60'000, 'l');
  const std::vector<OutgoingDatagram> long_ones(300, OutgoingDatagram{large, {}, 1000});
  for (const auto* const each : {&many, &long_ones}) {
    const std::span<const OutgoingDatagram> all(*each);
    Outgoing out(from, all);
    const std::uint64_t turns_before = loop().turns();
    begin(out);
    EXPECT_TRUE(is_sim() || !out.is_idle());
    ASSERT_TRUE(until([&] { return out.is_idle(); }));
    EXPECT_EQ(out.final, static_cast<int>(all.size()));
    EXPECT_TRUE(is_sim() || loop().turns() - turns_before >= 10);

    begin(out);
    if (out.is_idle()) continue;
    engine().cancel(out);
    ASSERT_TRUE(until([&] { return out.is_idle(); }));
    const bool is_part = out.final > 0 && out.final < static_cast<int>(all.size());
    EXPECT_TRUE(is_part || (is_sim() && out.final == -ECANCELED)) << out.final;
  }
  engine().close(from);
  end_and_close(in);
}

// --- ENOBUFS. Of itself Linux keeps it from senders of UDP, and throws away; with IP_RECVERR it says so (ip(7)).

constexpr std::uint32_t little = 200;  // Bytes that may leave at a time.
constexpr std::uint32_t plenty = 1 << 20;

class NoRoom {
 public:
  explicit NoRoom(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  template <class Holds>
  bool turn_until(Holds holds) {
    const Instant end = Host::system().now() + 20_s;
    while (!holds()) {
      if (Host::system().now() >= end) return false;
      engine_->wait(Host::system().now() + 5_ms);
      engine_->dispatch();
    }
    return true;
  }
  int run(Op& op) {
    const bool at_once = engine_->submit(op);
    EXPECT_TRUE(at_once || turn_until([&] { return op.is_idle(); }));
    return op.result;
  }
  int send(int from, std::span<const OutgoingDatagram> datagrams) {
    SendDatagrams out([](Op&) noexcept {});
    out.fd = from;
    out.datagrams = datagrams.data();
    out.count = static_cast<std::uint32_t>(datagrams.size());
    return run(out);
  }
  void end(Op& op) {
    engine_->cancel(op);
    EXPECT_TRUE(turn_until([&] { return op.is_idle(); }));
  }

  void datagrams_are_refused_and_later_are_not() {
    Arrivals in;
    in.fd = engine_->open_datagram({.bind = *Address::parse("127.0.0.1:0")}).value();
    in.bytes_max = 9216;
    engine_->submit(in);
    const int from = engine_->open_datagram({.connect = engine_->local_address(in.fd)}).value();
    const int on = 1;
    ASSERT_EQ(setsockopt(from, IPPROTO_IP, IP_RECVERR, &on, sizeof on), 0);
    const std::string large = pattern(1000);
    const std::vector<OutgoingDatagram> mixed = {{"one", {}, 0}, {large, {}, 0}, {"three", {}, 0}};
    const std::span<const OutgoingDatagram> all(mixed);
    ASSERT_TRUE(testing::limit_loopback(little));

    // Alone, and with several in one system call.
    EXPECT_EQ(send(from, all.first(1)), 1);
    EXPECT_EQ(send(from, all.subspan(1, 1)), -ENOBUFS);
    EXPECT_EQ(send(from, all), 1);
    EXPECT_EQ(send(from, all.subspan(1)), -ENOBUFS);
    EXPECT_TRUE(is_exhaustion(ENOBUFS));
    EXPECT_EQ(Error::from_errno("send", ENOBUFS).code(), Code::ResourceExhausted);
    EXPECT_TRUE(turn_until([&] { return in.got.size() == 2; }));

    ASSERT_TRUE(testing::limit_loopback(plenty));
    EXPECT_EQ(send(from, all.subspan(1)), 2);
    EXPECT_TRUE(turn_until([&] { return in.got.size() == 4; }));
    EXPECT_EQ(in.got, (std::vector<std::string>{"one", "one", large, "three"}));
    end(in);
    engine_->close(in.fd);
    engine_->close(from);
  }

  // TCP sends it again by itself: its sender is not told.
  void bytes_of_a_stream_wait_until_there_is_room() {
    const auto nothing = [](Op&) noexcept {};
    const int listener = engine_->open_listener(*Address::parse("127.0.0.1:0"), {}).value();
    Connect connect(nothing);
    connect.fd = engine_->open_stream(AF_INET).value();
    connect.address = engine_->local_address(listener);
    ASSERT_EQ(run(connect), 0);
    int accepted = -EAGAIN;
    ASSERT_TRUE(turn_until([&] { return (accepted = engine_->try_accept(listener)) >= 0; }));
    struct Bytes : Receive {
      Bytes()
          : Receive([](Op& op) noexcept {
              auto& self = static_cast<Bytes&>(op);
              if (op.result > 0) self.got.append(self.data, static_cast<std::size_t>(op.result));
            }) {}
      std::string got;
    } in;
    in.fd = accepted;
    engine_->submit(in);
    const std::string text = pattern(1000);
    ASSERT_TRUE(testing::limit_loopback(little));

    SendPart send(nothing);
    send.fd = connect.fd;
    send.set(text.data(), text.size());
    EXPECT_EQ(run(send), 1000);
    engine_->wait(Host::system().now() + 20_ms);
    engine_->dispatch();
    EXPECT_EQ(in.got, "");

    ASSERT_TRUE(testing::limit_loopback(plenty));
    EXPECT_TRUE(turn_until([&] { return in.got.size() == text.size(); }));
    EXPECT_TRUE(in.got == text);
    end(in);
    for (const int fd : {accepted, connect.fd, listener}) engine_->close(fd);
  }
  // What was closed in the last turn.
  void flush() { engine_->wait(Instant()); }

 private:
  std::unique_ptr<Engine> engine_;
};

class WithoutRoom : public ::testing::TestWithParam<EngineKind> {
 protected:
  void run(void (NoRoom::*what)()) {
    const bool done = testing::in_own_network([&] {
      auto engine = make_engine(GetParam());
      if (!engine || !testing::limit_loopback(plenty)) return false;
      NoRoom network(*std::move(engine));
      (network.*what)();
      network.flush();
      return true;
    });
    if (!done) GTEST_SKIP() << "needs the engine, root for a network of its own, and queues in the kernel";
  }
};
INSTANTIATE_TEST_SUITE_P(, WithoutRoom, ::testing::Values(EngineKind::Uring, EngineKind::Epoll),
                         [](const auto& kind) { return kind.param == EngineKind::Uring ? "uring" : "epoll"; });

TEST_P(WithoutRoom, datagrams_are_refused_with_enobufs_and_the_socket_goes_on) {
  run(&NoRoom::datagrams_are_refused_and_later_are_not);
}
TEST_P(WithoutRoom, bytes_of_a_stream_wait_and_arrive) { run(&NoRoom::bytes_of_a_stream_wait_until_there_is_room); }

}  // namespace
}  // namespace keel::io::datagrams_test
