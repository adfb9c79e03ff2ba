// A server's stream with TLS on the simulated engine, and a client that does what the input says: writes, lets time
// pass, stops reading, leaves, and changes what it sends on the way: bits, losses, repetitions, bytes of its own. What
// must hold, whatever it does: the server gets nothing but what the client has written, in order, and the client
// nothing but what the server sends back; where nothing was changed both get all of it; and every connection ends.
// layer_test.cc runs the same function.
//
// The input: a seed, a byte of options, then commands of one byte with their argument.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/member.h"
#include "keel/io/testing/simulation.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/stream.h"
#include "keel/net/tls/testing/certificates.h"
#include "keel/net/tls/testing/seeded_randomness.h"
#include "keel/task/start.h"

namespace keel::tls {
namespace {

constexpr std::size_t input_bytes_max = 512;

// Made once, by the calendar of a simulation: each begins at the same time.
struct Contexts {
  const ServerContext& server(std::uint8_t options) {
    std::optional<ServerContext>& made = servers[options / 8 % 8];
    if (!made) {
      made = ServerContext::make({.certificates = {pair},
                                  .version_max = (options & 8) != 0 ? Version::Tls12 : Version::Tls13,
                                  .tickets = (options & 16) != 0,
                                  .records_per_key = (options & 32) != 0 ? 2u : 1u << 24})
                 .value();
    }
    return *made;
  }
  const ClientContext& client(std::uint8_t options) {
    std::optional<ClientContext>& made = clients[options / 64 % 2];
    if (!made) {
      made = ClientContext::make({.trust = {.pem = authority.pem()},
                                  .sessions_max = 0,
                                  .records_per_key = (options & 64) != 0 ? 2u : 1u << 24})
                 .value();
    }
    return *made;
  }

  testing::Authority authority{"Test Root"};
  KeyPair pair = authority.issue({.names = {"server.test"}});
  std::optional<ServerContext> servers[8];
  std::optional<ClientContext> clients[2];
};

std::string pattern(std::size_t from, std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((from + i) * 7 + (from + i) / 251);
  return text;
}

// --- The client.

class Client {
 public:
  Client(io::Loop& loop, const Address& to, const ClientContext& context)
      : engine_(loop.engine()), records_(context, "server.test") {
    connect_.fd = receive_.fd = send_.fd = engine_.open_stream(to.family()).value();
    connect_.address = to;
    if (engine_.submit(connect_)) connected();
  }

  void write(std::size_t size) {
    if (leaves_ || !records_.is_established() || has_finished_) return;
    const std::string bytes = pattern(written_, size);
    const Result<std::size_t> done = records_.write(bytes);
    if (done) written_ += *done;
    flush();
  }
  void finish() {
    if (leaves_ || !records_.is_established()) return;
    has_finished_ = true;
    records_.finish();
    flush();
  }
  // Of what it sends next: flips a bit, or loses what follows `at`.
  void change_next(std::uint8_t at, std::uint8_t bits) { changes_.push_back({at, bits}); }
  void lose_next(std::uint8_t at) { changes_.push_back({at, 0}); }
  void send_again() {
    is_changed_ = is_changed_ || !last_.empty();
    send(last_);
  }
  void send_own(std::string_view bytes) {
    is_changed_ = is_changed_ || !bytes.empty();
    send(std::string(bytes));
  }
  void finish_writing() {
    finishes_ = true;
    pump();
  }
  void pause() {
    if (!leaves_) engine_.pause(receive_);
  }
  void resume() {
    if (!leaves_) engine_.resume(receive_);
  }
  void leave(bool with_reset) {
    if (leaves_) return;
    leaves_ = true;
    if (with_reset) static_cast<void>(engine_.set_options(connect_.fd, {.reset_on_close = true}));
    engine_.cancel(connect_);
    engine_.cancel(receive_);
    engine_.cancel(send_);
    close_if_quiet();
  }

  bool is_gone() const { return is_closed_; }
  // Whether the server had to understand all that it has sent, to an end that was said.
  bool is_honest() const { return !is_changed_ && !has_left_early_ && has_finished_ && !finishes_; }
  void left_early() { has_left_early_ = true; }
  std::size_t written() const { return written_; }
  std::string_view text() const { return text_; }

 private:
  struct Change {
    std::uint8_t at;
    std::uint8_t bits;  // 0: what follows is lost.
  };

  void connected() {
    if (leaves_) return close_if_quiet();
    if (connect_.result < 0) return;
    is_connected_ = true;
    engine_.submit(receive_);
    std::string_view nothing;
    KEEL_CHECK(records_.read(nothing, {}).is_ok(), "a client begins");
    flush();
  }
  void received() {
    if (receive_.result <= 0) {
      if (leaves_) close_if_quiet();
      return;
    }
    wire_.append(receive_.data, static_cast<std::size_t>(receive_.result));
    char room[Records::plain_bytes_max];
    std::string_view left = wire_;
    while (!has_failed_) {
      const Result<std::size_t> got = records_.read(left, room);
      has_failed_ = !got;
      if (got) text_.append(room, *got);
      flush();
      if (!got || *got == 0) break;
    }
    wire_.erase(0, wire_.size() - left.size());
  }
  void flush() {
    if (records_.output().empty()) return;
    last_ = std::string(std::exchange(records_.output(), Buffer()).view());
    std::string out = last_;
    for (const Change change : std::exchange(changes_, {})) {
      if (out.empty()) break;
      is_changed_ = true;
      const std::size_t at = change.at % out.size();
      if (change.bits == 0) out.resize(at);
      else out[at] = static_cast<char>(out[at] ^ change.bits);
    }
    send(std::move(out));
  }
  void send(std::string bytes) {
    if (leaves_ || finishes_ || bytes.empty()) return;
    queue_.push_back(std::move(bytes));
    pump();
  }
  void sent() {
    if (leaves_) return close_if_quiet();
    if (send_.result < 0) queue_.clear();
    pump();
  }
  void pump() {
    while (is_connected_ && !leaves_ && send_.is_idle() && !queue_.empty()) {
      flying_ = std::move(queue_.front());
      queue_.pop_front();
      send_.set(flying_.data(), flying_.size());
      if (!engine_.submit(send_)) return;
      if (send_.result < 0) queue_.clear();
    }
    if (is_connected_ && !leaves_ && finishes_ && send_.is_idle()) engine_.shutdown_write(connect_.fd);
  }
  void close_if_quiet() {
    if (is_closed_ || !connect_.is_idle() || !receive_.is_idle() || !send_.is_idle()) return;
    is_closed_ = true;
    engine_.close(connect_.fd);
  }

  io::Engine& engine_;
  Records records_;
  Member<io::Connect, Client, &Client::connected> connect_{*this};
  Member<io::Receive, Client, &Client::received> receive_{*this};
  Member<io::SendPart, Client, &Client::sent> send_{*this};
  std::deque<std::string> queue_;
  std::deque<Change> changes_;
  std::string flying_;
  std::string last_;
  std::string wire_;
  std::string text_;
  std::size_t written_ = 0;
  bool is_connected_ = false;
  bool has_failed_ = false;
  bool is_changed_ = false;
  bool has_left_early_ = false;
  bool has_finished_ = false;
  bool finishes_ = false;
  bool leaves_ = false;
  bool is_closed_ = false;
};

// --- The server.

struct Served {
  std::string text;
  bool has_begun = false;
  bool has_ended = false;  // As the client has said.
};

Task<> echo(Listener& listener, Served& served) {
  Stream peer = co_await listener.accept();
  served.has_begun = true;
  while (true) {
    const Chunk chunk = co_await peer.receive();
    if (chunk.empty()) break;
    served.text += chunk;
    co_await peer.write(chunk);
  }
  served.has_ended = true;
}

// --- The whole.

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), std::min(size, input_bytes_max)) {}
  bool is_over() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::string_view bytes(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view rest_;
};

void act(Input& input, Client& client, unsigned what) {
  switch (what) {
    case 2: {
      const std::uint8_t at = input.byte();
      return client.change_next(at, static_cast<std::uint8_t>(1u << input.byte() % 8));
    }
    case 3:
      return client.lose_next(input.byte());
    case 4:
      return client.send_again();
    case 5:
      return client.send_own(input.bytes(input.byte() % 64));
    case 6:
      return input.byte() % 2 == 0 ? client.pause() : client.resume();
    case 7:
      return client.finish();
    case 8:
      return client.finish_writing();
    case 9:
      client.left_early();
      return client.leave(input.byte() % 2 == 0);
    default:
      return client.write(std::size_t{1} << input.byte() % 14);
  }
}

// From some microseconds, in which a handshake does not end, to half a minute, in which it must.
void pass(std::uint8_t time, sim::Simulation& simulation) {
  simulation.run_until([] { return false; }, 1_us * (std::int64_t{1 + time % 16} << time / 16 * 3 / 2));
}

void run(Input input) {
  const testing::SeededRandomness randomness;
  sim::SimOptions faults;
  faults.seed = input.byte() + 1u;
  const std::uint8_t options = input.byte();
  if ((options & 1) != 0) faults.short_delivery = 0.2;
  if ((options & 2) != 0) faults.stall = 0.01;
  if ((options & 4) != 0) faults.buffer_bytes = 1024;
  sim::Simulation simulation(faults);
  io::Loop& loop = simulation.add_loop();
  io::Loop& clients = simulation.add_loop();
  const ServerContext* server = nullptr;
  const ClientContext* client_context = nullptr;
  std::optional<Listener> listener;
  Served served;
  Start<void> serving;
  {
    const io::Loop::Entered entered(loop);
    static Contexts contexts;
    server = &contexts.server(options);
    client_context = &contexts.client(options);
    listener.emplace(Listener::bind(*server, Address::parse("10.0.0.1:443").value()).value());
    serving.begin(echo(*listener, served), [](StartCore&) noexcept {});
  }
  std::optional<Client> client;
  {
    const io::Loop::Entered entered(clients);
    client.emplace(clients, listener->address(), *client_context);
  }

  while (!input.is_over()) {
    const unsigned what = input.byte() % 12;
    if (what >= 10) {
      pass(input.byte(), simulation);
      continue;
    }
    const io::Loop::Entered entered(clients);
    act(input, *client, what);
  }
  client->resume();
  simulation.run_until([] { return false; }, 20_min);  // Longer than a handshake, and than all that stalls.
  client->leave(false);
  KEEL_CHECK(simulation.run_until([&] { return client->is_gone(); }, 1_min), "a client can leave");
  if (!served.has_begun) {  // It has left before it was connected.
    const io::Loop::Entered entered(loop);
    serving.stop();
  }
  KEEL_CHECK(simulation.run_until([&] { return serving.has_ended(); }, 1_min), "each connection ends");
  const std::string all = pattern(0, client->written());
  KEEL_CHECK(all.starts_with(served.text), "a server gets what its client has written");
  KEEL_CHECK(served.text.starts_with(client->text()), "a client gets what its server has sent");
  if (served.has_ended) KEEL_CHECK(served.text == all, "what has ended has come as a whole");
  if (client->is_honest()) {
    KEEL_CHECK(served.has_ended && client->text() == all, "where nothing is changed all comes back");
  }
  client.reset();
  {
    const io::Loop::Entered entered(loop);
    static_cast<void>(serving.take());  // And with it the stream.
    listener.reset();
  }
  simulation.run_until([] { return false; }, 1_min);
  KEEL_CHECK(server->use_count() == 1 && client_context->use_count() == 1, "no connection is left behind");
}

}  // namespace
}  // namespace keel::tls

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  keel::tls::run({data, size});
  return 0;
}
