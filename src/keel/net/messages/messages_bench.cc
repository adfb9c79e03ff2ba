// A framed echo against an echo of as many bytes: CPU of the server's thread and system calls for each message, by
// engine, connections, messages in flight and payload. The client is a plain socket in another thread, the same for
// all.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "keel/io/loop.h"
#include "keel/net/listener.h"
#include "keel/net/messages/client.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/server.h"
#include "keel/net/stream.h"
#include "keel/task/scope.h"

namespace keel::messages {
namespace {

struct Numbers {  // As long as 64 bytes in CBOR.
  static constexpr std::uint16_t message_type = 2;
  std::uint64_t sequence = 0x123456789abcdef0;
  std::uint64_t device = 0x123456789abcdef0;
  double value = 1.0 / 3;
  std::string unit = "celsius";
};

struct Text {
  static constexpr std::uint16_t message_type = 3;
  std::uint64_t number = 0;
  std::string text;
};

// What the server does with 12 + n bytes.
enum class Kind : std::uint8_t {
  Bytes,    // Gives them back.
  Frames,   // Answers the request with its payload.
  Structs,  // The same by a struct that is read and written.
  Tasks,    // And by a task.
  OneWay,   // Reads messages, and answers only the last of a batch.
};

Task<> echo(Stream stream) {
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
    co_await stream.write(chunk);
  }
}
Task<> serve_bytes(Listener& listener) {
  Scope connections;
  while (true) connections.spawn(echo(co_await listener.accept()), OnError::Ignore);
}

void check(bool holds) {
  if (!holds) std::abort();
}

class Served {
 public:
  Served(Kind kind, io::EngineKind engine) {
    thread_ = std::thread([this, kind, engine] { run(kind, engine); });
    ready_.wait(false);
  }
  ~Served() {
    loop_->stop();
    thread_.join();
  }
  std::uint16_t port() const { return port_; }
  std::int64_t cpu_ns() {
    clockid_t clock;
    check(pthread_getcpuclockid(thread_.native_handle(), &clock) == 0);
    timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  }
  std::uint64_t system_calls() const { return loop_->engine().system_calls(); }

 private:
  void run(Kind kind, io::EngineKind engine) {
    io::Loop loop(io::make_engine(engine).value(), Host::system());
    const io::Loop::Entered entered(loop);
    loop_ = &loop;
    Listener listener = Listener::bind(Address::parse("127.0.0.1:0").value()).value();
    port_ = listener.address().port();
    Handlers handlers;
    handlers.on_raw(1, [](Peer&, std::string_view bytes) {
      Buffer reply;
      reply.append(bytes);
      return reply;
    });
    handlers.on<Text>([](Peer&, Text text) { return text; });
    if (kind == Kind::Tasks) {
      handlers.on<Numbers>([](Peer&, Numbers numbers) -> Task<Numbers> { co_return numbers; });
    } else {
      handlers.on<Numbers>([](Peer&, Numbers numbers) { return numbers; });
    }
    Server server(handlers);
    Event never;
    Start<void> serving;
    StopSource stop;
    serving.begin(kind == Kind::Bytes ? serve_bytes(listener) : server.serve(listener, never),
                  [](StartCore&) noexcept {}, {.stop = &stop});
    ready_.store(true);
    ready_.notify_one();
    loop.run();
    stop.request_stop();
    while (!serving.has_ended()) loop.turn(Host::system().now() + 1_ms);
    static_cast<void>(serving.take());
    loop.finish();
  }
  std::thread thread_;
  std::atomic<bool> ready_ = false;
  io::Loop* loop_ = nullptr;
  std::uint16_t port_ = 0;
};

int connect_to(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  check(connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}
void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), 0);
    check(sent > 0);
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}
void read_count(int fd, std::size_t bytes) {
  char room[65536];
  while (bytes != 0) {
    const ssize_t got = ::recv(fd, room, std::min(bytes, sizeof room), 0);
    check(got > 0);
    bytes -= static_cast<std::size_t>(got);
  }
}

std::string frame_of(const Frame& frame) {
  Buffer out;
  put_frame(out, frame);
  return std::string(out.view());
}

// Arguments: payload, connections, in flight on each.
void run(benchmark::State& state, Kind kind, io::EngineKind engine) {
  const auto payload = static_cast<std::size_t>(state.range(0));
  const auto in_flight = static_cast<std::uint32_t>(state.range(2));
  Served served(kind, engine);
  std::string batch;
  const std::string raw(payload, 'x');
  std::string numbers;
  if (kind == Kind::Structs || kind == Kind::Tasks) numbers = cbor::write(Numbers());
  for (std::uint32_t i = 0; i < in_flight; ++i) {
    Frame frame{.kind = FrameKind::Request, .type = 1, .id = i, .payload = raw};
    if (!numbers.empty()) frame = {.kind = FrameKind::Request, .type = 2, .id = i, .payload = numbers};
    if (kind == Kind::OneWay && i + 1 != in_flight) frame.kind = FrameKind::Message;
    batch += frame_of(frame);
  }
  const std::size_t answer = kind == Kind::OneWay ? batch.size() / in_flight : batch.size();
  Buffer hello;
  put_hello(hello, {.requests_max = 64, .streams_max = 1, .frame_bytes_max = 1 << 20, .stream_bytes = 65536});
  std::vector<int> peers;
  for (int i = 0; i < state.range(1); ++i) {
    const int fd = connect_to(served.port());
    if (kind != Kind::Bytes) {
      const std::string bytes = frame_of({.kind = FrameKind::Hello, .payload = hello.view()});
      write_all(fd, bytes);
      read_count(fd, bytes.size());
    }
    peers.push_back(fd);
  }
  const auto round = [&] {
    for (const int fd : peers) write_all(fd, batch);
    for (const int fd : peers) read_count(fd, answer);
  };
  for (int i = 0; i < 200; ++i) round();
  const std::int64_t cpu = served.cpu_ns();
  const std::uint64_t calls = served.system_calls();
  std::int64_t messages = 0;
  for (auto _ : state) {
    round();
    messages += static_cast<std::int64_t>(peers.size()) * in_flight;
  }
  const auto count = static_cast<double>(messages);
  state.counters["cpu_ns"] = static_cast<double>(served.cpu_ns() - cpu) / count;
  state.counters["calls"] = static_cast<double>(served.system_calls() - calls) / count;
  state.SetItemsProcessed(messages);
  for (const int fd : peers) ::close(fd);
}

// Both sides of Keel, each on a loop of its own: a struct is encoded, framed, sent, decoded and checked, and so is its
// reply. Arguments: bytes of text in the struct, connections.
struct Asking {
  std::vector<Client> clients;
  std::vector<std::int64_t> took_ns;
  std::uint64_t number = 0;

  static Task<> connect(Asking& self, std::uint16_t port, std::int64_t count) {
    const Address address = co_await Address::ip("127.0.0.1", port);
    for (std::int64_t i = 0; i < count; ++i) self.clients.push_back(co_await Client::connect(address));
  }
  static Task<> ask(Asking& self, Peer& peer, std::size_t bytes, int count) {
    Text message{0, std::string(bytes, 'x')};
    for (int i = 0; i < count; ++i) {
      message.number = ++self.number;
      const Instant began = Host::system().now();
      const Text reply = co_await peer.request<Text>(message);
      check(reply.number == message.number && reply.text.size() == bytes);
      self.took_ns.push_back((Host::system().now() - began).count_ns());
    }
  }
  static Task<> ask_all(Asking& self, std::size_t bytes, int count) {
    Scope scope;
    for (Client& client : self.clients) scope.spawn(ask(self, *client, bytes, count));
    co_await scope.join();
  }
  static Task<> tell(Asking& self, std::size_t bytes, int count) {
    const Text message{1, std::string(bytes, 'x')};
    for (int i = 0; i < count; ++i) {
      for (Client& client : self.clients) co_await client->send(message);
    }
    // The last of them were handled when this is answered.
    for (Client& client : self.clients) static_cast<void>(co_await client->request<Text>(message));
  }
  static Task<> close(Asking& self) {
    for (Client& client : self.clients) co_await client.close();
    self.clients.clear();
  }
};

template <class Make>
void drive(io::Loop& loop, Make make) {
  Start<void> start;
  if (!start.begin(make(), [](StartCore&) noexcept {})) {
    while (!start.has_ended()) loop.turn(Host::system().now() + 10_ms);
  }
  check(start.take().has_value());
}

enum class Talk : std::uint8_t { Ask, Tell };
void talk(benchmark::State& state, Talk how) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const int each = static_cast<int>(1000 / state.range(1));
  Served served(Kind::Structs, io::EngineKind::Auto);
  io::Loop loop(io::make_engine(io::EngineKind::Auto).value(), Host::system());
  const io::Loop::Entered entered(loop);
  Asking asking;
  drive(loop, [&] { return Asking::connect(asking, served.port(), state.range(1)); });
  std::int64_t messages = 0;
  const std::int64_t cpu = served.cpu_ns();
  asking.took_ns.reserve(1 << 22);
  for (auto _ : state) {
    if (how == Talk::Ask) {
      drive(loop, [&] { return Asking::ask_all(asking, bytes, each); });
    } else {
      drive(loop, [&] { return Asking::tell(asking, bytes, each); });
    }
    messages += each * state.range(1);
  }
  state.counters["server_cpu_ns"] = static_cast<double>(served.cpu_ns() - cpu) / static_cast<double>(messages);
  state.counters["ns"] = benchmark::Counter(static_cast<double>(messages) / 1e9,
                                            benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  std::vector<std::int64_t>& took = asking.took_ns;
  if (!took.empty()) {
    std::ranges::sort(took);
    double sum_ns = 0;
    for (const std::int64_t ns : took) sum_ns += static_cast<double>(ns);
    state.counters["mean_ns"] = sum_ns / static_cast<double>(took.size());
    state.counters["p50_ns"] = static_cast<double>(took[took.size() / 2]);
    state.counters["p95_ns"] = static_cast<double>(took[took.size() * 95 / 100]);
    state.counters["p99_ns"] = static_cast<double>(took[took.size() * 99 / 100]);
  }
  state.SetItemsProcessed(messages);
  drive(loop, [&] { return Asking::close(asking); });
  loop.finish();
}

// Connecting, both hellos, and closing.
void set_up(benchmark::State& state) {
  Served served(Kind::Structs, io::EngineKind::Auto);
  io::Loop loop(io::make_engine(io::EngineKind::Auto).value(), Host::system());
  const io::Loop::Entered entered(loop);
  Asking asking;
  for (auto _ : state) {
    drive(loop, [&] { return Asking::connect(asking, served.port(), 1); });
    drive(loop, [&] { return Asking::close(asking); });
  }
  loop.finish();
}

void sizes(benchmark::internal::Benchmark* one) {
  one->ArgNames({"bytes", "connections"})->UseRealTime();
  for (const int bytes : {64, 256, 1024, 8192}) one->Args({bytes, 1})->Args({bytes, 50});
}

void shapes(benchmark::internal::Benchmark* one) {
  one->ArgNames({"bytes", "connections", "in_flight"})->UseRealTime();
  for (const int bytes : {64, 256, 1024, 8192}) one->Args({bytes, 1, 1})->Args({bytes, 50, 1});
  one->Args({64, 1, 16})->Args({64, 50, 16});
}
void few_shapes(benchmark::internal::Benchmark* one) {
  one->ArgNames({"bytes", "connections", "in_flight"})->UseRealTime();
  one->Args({64, 1, 1})->Args({64, 50, 1})->Args({64, 50, 16});
}
void batches(benchmark::internal::Benchmark* one) {
  one->ArgNames({"bytes", "connections", "in_flight"})->UseRealTime();
  for (const int bytes : {64, 256, 1024, 8192}) one->Args({bytes, 1, 16})->Args({bytes, 50, 16});
}

BENCHMARK_CAPTURE(run, bytes_uring, Kind::Bytes, io::EngineKind::Uring)->Apply(shapes);
BENCHMARK_CAPTURE(run, frames_uring, Kind::Frames, io::EngineKind::Uring)->Apply(shapes);
BENCHMARK_CAPTURE(run, structs_uring, Kind::Structs, io::EngineKind::Uring)->Apply(few_shapes);
BENCHMARK_CAPTURE(run, tasks_uring, Kind::Tasks, io::EngineKind::Uring)->Apply(few_shapes);
BENCHMARK_CAPTURE(run, one_way_uring, Kind::OneWay, io::EngineKind::Uring)->Apply(batches);
BENCHMARK_CAPTURE(talk, ask, Talk::Ask)->Apply(sizes);
BENCHMARK_CAPTURE(talk, tell, Talk::Tell)->Apply(sizes);
BENCHMARK(set_up)->UseRealTime();
BENCHMARK_CAPTURE(run, bytes_epoll, Kind::Bytes, io::EngineKind::Epoll)->Apply(shapes);
BENCHMARK_CAPTURE(run, frames_epoll, Kind::Frames, io::EngineKind::Epoll)->Apply(shapes);

}  // namespace
}  // namespace keel::messages
