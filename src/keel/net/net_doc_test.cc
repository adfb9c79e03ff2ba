// docs/net.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "keel/base/member.h"
#include "keel/exec/thread_pool.h"
#include "keel/io/testing/shrink.h"
#include "keel/io/testing/simulation.h"
#include "keel/net.h"
#include "keel/net/blocking/listener.h"
#include "keel/net/blocking/stream.h"
#include "keel/net/internal/net_test.h"
#include "keel/net/resolver.h"
#include "keel/net/transport.h"
#include "keel/task/testing.h"

namespace keel::net_doc_test {
namespace {

// --- The page.

Task<> talk(Stream peer) {
  while (true) {
    const Chunk chunk = co_await peer.receive();  // borrowed until the next read; empty: the peer has finished
    if (chunk.empty()) co_return;
    co_await peer.write(chunk);  // all of it
  }
}

Task<> serve(Address at) {
  Listener listener = co_await Listener::bind(at);
  Scope connections;  // when serve() is stopped they are, and it waits for them
  while (true) {
    Stream peer = co_await listener.accept();
    connections.spawn(talk(std::move(peer)), OnError::Ignore);  // the error of one is nobody else's
  }
}

Task<std::string> ask(Address to, std::string question) {
  Stream stream = co_await with_timeout(2_s, Stream::connect(to));
  const std::string_view parts[] = {question, "\n"};
  co_await stream.write(parts);  // several pieces, in order
  stream.shutdown_write();       // we have finished; reading continues
  const Chunk line = co_await stream.read_until("\n", 1024);
  co_return std::string(line);
}

Task<std::string> read_frame(Stream& stream) {
  unsigned char size[2] = {};
  co_await stream.read_exact({reinterpret_cast<char*>(size), 2});
  std::string frame(size[0] * 256u + size[1], '\0');
  co_await stream.read_exact(frame);
  co_return frame;
}

Task<> send_page(Stream& stream, std::string path) {
  File page = co_await File::open(path, File::Mode::Read);
  const std::uint64_t size = co_await page.size();
  co_await stream.send_file(page, 0, size);
}

Task<> feed(Stream& stream, int lines) {
  Outbox outbox(stream, {.high_bytes = 64 * 1024, .low_bytes = 16 * 1024});
  Scope writing;
  writing.spawn(outbox.run());
  for (int i = 0; i < lines; ++i) {
    co_await outbox.push(std::to_string(i) + "\n");           // never waits; ResourceExhausted above bytes_max
    if (outbox.is_above_high()) co_await outbox.below_low();  // the peer is slow, and so are we
  }
  outbox.close();
  co_await writing.join();  // all of it has been written
}

Task<> respond(DatagramSocket socket) {
  while (true) {
    const Datagram datagram = co_await socket.receive();  // its bytes are borrowed until the next receive
    co_await socket.send(datagram.bytes, datagram.from);
  }
}

Task<std::string> ask_by_datagram(Address to, std::string question) {
  DatagramSocket socket = co_await DatagramSocket::connect(to);
  for (int sent = 0; sent < 3; ++sent) {
    co_await socket.send(question);
    const Result<Datagram> came = co_await attempt(with_timeout(100_ms, socket.receive()));
    if (came) co_return std::string(came->bytes);
  }
  co_return fail(Code::Unavailable, "no reply");
}

Task<Stream> dial(Resolver& resolver) { co_return co_await Stream::connect(resolver, "db.internal", 7000); }

Task<std::string> ask_either(Address one, Address other) {
  co_return co_await any(ask(one, "ping"), ask(other, "ping"));  // the first response; the other task is stopped
}

Task<std::size_t> ask_both(Address one, Address other) {
  auto both = co_await all(ask(one, "to one"), ask(other, "to the other"));  // the first error stops the other task
  auto& [from_one, from_other] = both;                                       // named first, bound second: GCC 12
  co_return from_one.size() + from_other.size();
}

Task<> produce(Channel<int>& jobs) {
  for (int job = 1; job <= 100; ++job) co_await jobs.send(job);  // waits while the channel is full
  jobs.close();
}

Task<int> consume(Channel<int>& jobs) {
  int sum = 0;
  while (auto job = co_await jobs.receive()) sum += *job;  // nothing: closed, and all was received
  co_return sum;
}

Task<int> work() {
  Channel<int> jobs(16);
  auto done = co_await all(produce(jobs), consume(jobs));
  co_return std::get<1>(done);
}

Task<> tick(int& ticks) {
  while (true) {
    co_await sleep_for(1_s);
    ++ticks;
  }
}

Task<Code> tick_for_a_while(int& ticks) {
  const Result<> ended = co_await attempt(with_timeout(10'500_ms, tick(ticks)));  // it was stopped, and has ended
  co_return ended.error().code();
}

Result<std::string> ask_and_wait(const Address& to, std::string_view question) {
  KEEL_TRY(auto stream, blocking::Stream::connect(to, 2_s));
  KEEL_TRY_VOID(stream.write(question, 1_s));
  KEEL_TRY(const Chunk line, stream.read_until("\n", 1024, 1_s));
  return std::string(line);
}

Task<> count_lines(Stream peer, int& total) {
  while (true) {
    const Chunk line = co_await peer.read_until("\n", 64);
    if (line.empty()) co_return;
    ++total;
    co_await peer.write("counted\n");
  }
}

Task<> serve_counter(Address at, int& total) {
  Listener listener = co_await Listener::bind(at);
  Scope connections;
  while (true) connections.spawn(count_lines(co_await listener.accept(), total), OnError::Ignore);
}

Task<> add_one(Address to) {
  for (int tries = 0; tries < 3; ++tries) {
    const Result<std::string> said = co_await attempt(with_timeout(1_s, ask(to, "+1")));
    if (said && *said == "counted\n") co_return;
  }
  co_await fail(Code::Unavailable, "the counter does not respond");
}

sim::Trial add_once(const sim::SimOptions& options) {
  sim::Simulation simulation(options);
  io::Loop& server = simulation.add_loop();
  io::Loop& client = simulation.add_loop();
  const auto in = [](io::Loop& loop, auto act) {
    const io::Loop::Entered entered(loop);
    act();
  };
  const auto ignore = [](StartCore&) noexcept {};
  const Address at = *Address::parse("10.0.0.1:7000");
  int total = 0;
  Start<void> serving;
  Start<void> adding;
  in(server, [&] { serving.begin(serve_counter(at, total), ignore); });
  in(client, [&] { adding.begin(add_one(at), ignore); });

  simulation.run_until([&] { return adding.has_ended(); }, 1_h);
  const Result<> added = adding.take();
  const bool failed = added && total != 1;  // what has to hold

  in(server, [&] { serving.stop(); });
  simulation.run_until([&] { return serving.has_ended(); }, 1_h);
  const Result<> served = serving.take();
  simulation.run_until([] { return false; }, 1_s);  // what was closed ends
  return {.failed = failed || served, .struck = simulation.struck()};
}

class Echo {
 public:
  explicit Echo(const Endpoint& endpoint) {
    transport_.open(endpoint);
    transport_.receive();
  }
  bool has_ended() const { return !transport_.is_open(); }

 private:
  void received() {
    if (transport_.outcome() <= 0) return transport_.close();  // 0: the peer has finished; < 0: an errno
    const std::string_view bytes = transport_.hold();          // without this they are borrowed during the call
    transport_.pause();
    send_.set(bytes.data(), bytes.size());
    if (transport_.send(send_)) sent();  // true: it is complete already, and sent() is not called
  }
  void sent() {
    transport_.release();
    if (send_.result < 0) return transport_.cancel_receive();
    transport_.resume();
  }
  Member<Transport, Echo, &Echo::received> transport_{*this};
  Member<io::SendPart, Echo, &Echo::sent> send_{*this};
};

Task<> serve_here(Worker& worker, Address at) {
  Listener listener = co_await worker.listen(at);
  Scope connections;
  while (auto peer = co_await until(worker.stopping(), listener.accept())) {
    connections.spawn(talk(*std::move(peer)), OnError::Ignore);
  }
  co_await connections.join();  // the program is to end: those who are there have 10 s
}

Result<> serve_everywhere(Address at) {
  return run({.workers = 4, .drain = 10_s}, [&](Worker& worker) { return serve_here(worker, at); });
}

// --- The tests.

// Where a test may listen at an address that it knows beforehand: in the simulation, and at paths.
class NetDoc : public internal::NetTest {
 protected:
  void SetUp() override {
    NetTest::SetUp();
    if (loop_ != nullptr && simulation_ == nullptr)
      lookups_ = std::make_unique<ThreadPool>(ThreadPoolOptions{"lookup"});
  }
  void TearDown() override {
    lookups_.reset();
    NetTest::TearDown();
  }
  Address address() { return is_unix() ? free_address() : *Address::parse("127.0.0.1:7000"); }
  Executor& lookups() { return simulation_ != nullptr ? simulation_->pool() : *lookups_; }
  static void ignore(StartCore&) noexcept {}
  // With a server that listens at `at` meanwhile.
  template <class T>
  Result<T> run_beside(Task<>&& server, Task<T>&& client) {
    Start<void> serving;
    serving.begin(std::move(server), ignore);
    Result<T> result = run(std::move(client));
    serving.stop();
    EXPECT_TRUE(until([&] { return serving.has_ended(); }));
    EXPECT_EQ(serving.take().error().code(), Code::Cancelled);
    settle();  // Then the address is free again.
    return result;
  }
  std::unique_ptr<ThreadPool> lookups_;
};
INSTANTIATE_TEST_SUITE_P(, NetDoc,
                         ::testing::Values(internal::Which::Sim, internal::Which::UringUnix,
                                           internal::Which::EpollUnix),
                         internal::name_of_engine);

TEST_P(NetDoc, echoes) {
  const Address at = address();
  EXPECT_EQ(run_beside(serve(at), ask(at, "hello")).value(), "hello\n");
  EXPECT_EQ(run(ask(address(), "hello")).error().code(), is_unix() ? Code::NotFound : Code::Unavailable);
}

Task<> write_frames(Stream& stream) {
  using namespace std::string_view_literals;
  co_await stream.write("\0\5hello\1\0"sv);
  const std::string long_one(256, 'x');
  co_await stream.write(long_one);
  co_await stream.write("\0\3a"sv);
  stream.shutdown_write();
}
TEST_P(NetDoc, reads_frames) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(write_frames(client)));
  EXPECT_EQ(run(read_frame(server)).value(), "hello");
  EXPECT_EQ(run(read_frame(server)).value(), std::string(256, 'x'));
  EXPECT_EQ(run(read_frame(server)).error().code(), Code::Unavailable);
}

Task<std::string> read_all(Stream& stream, std::size_t bytes) {
  std::string text(bytes, '\0');
  co_await stream.read_exact(text);
  co_return text;
}
Task<std::string> ask_again(Stream& stream, std::string question) {
  co_await stream.write(question);
  co_return co_await read_all(stream, question.size());
}
TEST_P(NetDoc, sends_files_and_lines) {
  const std::string path = is_sim() ? "page" : ::testing::TempDir() + "keel_net_doc_" + std::to_string(getpid());
  if (!is_sim()) paths_.push_back(path);
  ASSERT_TRUE(run(write_whole(path, "0123456789")));
  auto [client, server] = pair();
  ASSERT_TRUE(run(send_page(server, path)));
  EXPECT_EQ(run(read_all(client, 10)).value(), "0123456789");

  std::string expected;
  for (int i = 0; i < 100'000; ++i) expected += std::to_string(i) + "\n";
  Start<void> feeding;
  feeding.begin(feed(server, 100'000), ignore);
  EXPECT_EQ(run(read_all(client, expected.size())).value(), expected);
  ASSERT_TRUE(until([&] { return feeding.has_ended(); }));
  EXPECT_TRUE(feeding.take());
}

TEST_P(NetDoc, echoes_without_a_task) {
  auto [client, server] = pair();
  const Echo echo(server.detach());
  EXPECT_EQ(run(ask_again(client, "hello\n")).value(), "hello\n");
  client.close();
  EXPECT_TRUE(until([&] { return echo.has_ended(); }));
}

TEST_P(NetDoc, asks_by_datagrams) {
  DatagramSocket socket = DatagramSocket::bind(internal::any_port()).value();
  const Address at = socket.local_address();
  EXPECT_EQ(run_beside(respond(std::move(socket)), ask_by_datagram(at, "hello")).value(), "hello");
  const DatagramSocket deaf = DatagramSocket::bind(internal::any_port()).value();
  EXPECT_EQ(run(ask_by_datagram(deaf.local_address(), "hello")).error().code(), Code::Unavailable);
}

TEST_P(NetDoc, connects_by_name) {
  if (is_unix()) {
    Resolver none(lookups(), {}, [](const std::string&) -> Result<std::vector<Address>> {
      return fail(Code::NotFound, "no such host");
    });
    EXPECT_EQ(run(dial(none)).error().code(), Code::NotFound);
    return;
  }
  Resolver resolver(lookups(), {}, [](const std::string&) -> Result<std::vector<Address>> {
    return std::vector<Address>{*Address::ip("127.0.0.1", 0)};
  });
  EXPECT_TRUE(run_beside(serve(address()), dial(resolver)));
}

TEST_P(NetDoc, asks_several) {
  const Address at = address();
  EXPECT_EQ(run_beside(serve(at), ask_either(address(), at)).value(), "ping\n");
  const Address there = address();
  EXPECT_EQ(run_beside(serve(there), ask_both(there, there)).value(), 20u);
}

TEST(NetDocTasks, wait_for_each_other_and_for_time) {
  testing::TestLoop loop;
  EXPECT_EQ(loop.run(work()).value(), 5050);
  int ticks = 0;
  EXPECT_EQ(loop.run(tick_for_a_while(ticks)).value(), Code::DeadlineExceeded);
  EXPECT_EQ(ticks, 10);
}

TEST(NetDocWorkers, serve_until_they_are_asked_to_end) {
  const std::string path = ::testing::TempDir() + "keel_net_doc_" + std::to_string(getpid()) + ".sock";
  const Address at = Address::parse("unix:" + path).value();
  std::thread client([&] {
    Result<std::string> answer = fail(Code::Unavailable, "not asked yet");
    for (int i = 0; i < 1000 && !answer; ++i) {
      Host::system().sleep(10_ms);  // They may not listen yet.
      answer = ask_and_wait(at, "hello\n");
    }
    EXPECT_EQ(answer.value_or("none"), "hello\n");
    ::kill(::getpid(), SIGTERM);
  });
  EXPECT_TRUE(serve_everywhere(at));
  client.join();
  std::remove(path.c_str());
}

TEST(NetDocBlocking, asks_without_a_loop) {
  Result<blocking::Listener> listener = blocking::Listener::bind(internal::any_port());
  ASSERT_TRUE(listener);
  std::thread server([&] {
    Result<blocking::Stream> peer = listener->accept(10_s);
    if (!peer) return;
    const Result<blocking::Chunk> line = peer->read_until("\n", 64, 10_s);
    EXPECT_TRUE(line && peer->write(*line, 10_s));
  });
  EXPECT_EQ(ask_and_wait(listener->address(), "hello\n").value(), "hello\n");
  server.join();
}

TEST(NetDocSimulation, finds_what_is_wrong_and_what_it_takes) {
  std::vector<sim::Fault> needed;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const sim::SimOptions options = sim::SimOptions::faulty(seed);
    if (!add_once(options).failed) continue;
    const sim::Shrunk least = sim::shrink(options, &add_once);
    std::puts(least.options.to_string().c_str());
    needed = *least.options.only;
    break;
  }
  EXPECT_EQ(needed.size(), 1u);
  EXPECT_FALSE(add_once({}).failed) << "without faults";
}

}  // namespace
}  // namespace keel::net_doc_test
