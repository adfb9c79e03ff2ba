// A whole server on the simulated engine, and up to four peers that do what the input says: send bytes in any pieces,
// let time pass, stop reading, finish writing, leave. What must hold, whatever they do: everything the server sends is
// answers, one for each request that it counts; each connection ends; and the server drains.
//
// The input: a seed, a byte of options, then commands of one byte (peer and what it does) with their argument.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/member.h"
#include "keel/http/message/response_reader.h"
#include "keel/http/server/router.h"
#include "keel/http/server/server.h"
#include "keel/io/testing/simulation.h"
#include "keel/net/stream.h"
#include "keel/task/timing.h"

namespace keel::http {
namespace {

constexpr std::size_t input_bytes_max = 4096;
constexpr std::size_t peers_max = 4;

// What a mutation would take long to find. Any of them may be cut by what comes next.
constexpr std::string_view phrases[] = {
    "GET /plain HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /later HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /stream HTTP/1.0\r\n\r\n",
    "GET /missing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "GET /throws HTTP/1.1\r\nHost: a\r\n\r\n",
    "HEAD /plain HTTP/1.1\r\nHost: a\r\n\r\n",
    "HEAD /nowhere HTTP/1.1\r\nHost: a\r\n\r\n",
    "HEAD / HTTP/1.1\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    "PUT /plain HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
    "POST /echo-later HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 700\r\nExpect: 100-continue\r\n\r\n",
    "POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n",
    "5\r\nhello\r\n",
    "0\r\n\r\n",
    "0\r\nX: y\r\n\r\n",
    "ffffffffffffffff\r\n",
    "GET /talk HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
    "GET /talk-later HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
    "POST /talk HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\nContent-Length: 3\r\n\r\nabc",
    "GET /talk HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "\r\n",
    "Host: a\r\n",
};

// --- What is served.

Response plain(Request&) { return Response::text(Status::Ok, "plain"); }
Task<Response> later(Request& request) {
  co_await sleep_for(50_ms);
  co_return Response::text(Status::Ok, request.path());
}
Response echo(Request& request) { return Response::text(Status::Ok, request.body()); }
Task<Response> echo_later(Request& request) {
  co_await sleep_for(5_ms);
  co_return Response::text(Status::Ok, request.body());
}
Task<Response> upload(Request& request) {
  std::size_t bytes = 0;
  while (true) {
    const Chunk chunk = co_await request.read_body();
    if (chunk.empty()) break;
    bytes += chunk.size();
  }
  co_return Response::text(Status::Ok, std::to_string(bytes));
}
Task<Response> unread(Request&) {
  co_await sleep_for(1_ms);
  co_return Response(Status::NoContent);
}
Task<> write_rows(BodyWriter& out) {
  const std::string row(700, 'r');
  for (int i = 0; i < 30; ++i) {
    co_await out.write(row);
    if (i % 8 == 0) co_await sleep_for(2_ms);
  }
}
Response stream_rows(Request&) { return Response::stream(Status::Ok, "text/plain", &write_rows); }
Result<Response> missing(Request&) { return fail(Code::NotFound, "it is not there"); }
Result<Response> throws(Request&) { throw std::string("nobody knows this type"); }
Task<> talk(Stream stream) {
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
    co_await stream.write(chunk);
  }
}
Response switch_now(Request&) { return Response::upgrade("echo", &talk); }
Task<Response> switch_later(Request&) {
  co_await sleep_for(5_ms);
  co_return Response::upgrade("echo", &talk);
}

// So that who reads the responses knows which of them have no body.
struct MarksHead {
  void after(Request& request, Response& response) {
    if (request.method() == Method::Head) response.header("X-Head", "1");
  }
};

void add_routes(Router& router) {
  router.use(MarksHead());
  router.get("/plain", plain).get("/later", &later).get("/stream", stream_rows);
  router.get("/missing", missing).get("/throws", throws);
  router.post("/echo", echo).post("/echo-later", &echo_later);
  router.post("/upload", &upload, {.streams_body = true}).post("/unread", &unread, {.streams_body = true});
  router.get("/talk", switch_now).post("/talk", switch_now).get("/talk-later", &switch_later);
}

// --- A peer.

class Peer {
 public:
  Peer(io::Loop& loop, const Address& to) : engine_(loop.engine()) {
    connect_.fd = receive_.fd = send_.fd = engine_.open_stream(to.family()).value();
    connect_.address = to;
    if (engine_.submit(connect_)) connected();
  }

  void send(std::string_view bytes) {
    if (leaves_ || finishes_) return;
    queue_.emplace_back(bytes);
    pump();
  }
  void finish_writing() {
    if (leaves_) return;
    finishes_ = true;
    pump();
  }
  void pause() {
    if (leaves_) return;
    is_clean_ = false;
    engine_.pause(receive_);
  }
  void resume() {
    if (!leaves_) engine_.resume(receive_);
  }
  void leave(bool with_reset) {
    if (leaves_) return;
    if (!ended_) is_clean_ = false;
    leaves_ = true;
    if (with_reset) static_cast<void>(engine_.set_options(connect_.fd, {.reset_on_close = true}));
    engine_.cancel(connect_);
    engine_.cancel(receive_);
    engine_.cancel(send_);
    close_if_quiet();
  }

  bool is_gone() const { return is_closed_; }
  // It has read to the end all that was sent to it.
  bool is_clean() const { return is_clean_ && ended_; }
  std::string_view wire() const { return wire_; }

 private:
  void connected() {
    if (leaves_) return close_if_quiet();
    if (connect_.result < 0) {
      is_clean_ = false;
      return;
    }
    is_connected_ = true;
    engine_.submit(receive_);
    pump();
  }
  void received() {
    if (receive_.result > 0) {
      wire_.append(receive_.data, static_cast<std::size_t>(receive_.result));
      return;
    }
    if (leaves_) return close_if_quiet();
    ended_ = true;
    if (receive_.result < 0) is_clean_ = false;
  }
  void sent() {
    if (leaves_) return close_if_quiet();
    send_.result >= 0 ? pump() : lose();
  }
  void pump() {
    while (is_connected_ && send_.is_idle() && !queue_.empty()) {
      flying_ = std::move(queue_.front());
      queue_.pop_front();
      send_.set(flying_.data(), flying_.size());
      if (!engine_.submit(send_)) return;
      if (send_.result < 0) lose();
    }
    if (is_connected_ && finishes_ && send_.is_idle() && queue_.empty()) engine_.shutdown_write(connect_.fd);
  }
  // A reset is told once, to who sends or to who reads, who then sees the end of the stream.
  void lose() {
    is_clean_ = false;
    queue_.clear();
  }
  void close_if_quiet() {
    if (is_closed_ || !connect_.is_idle() || !receive_.is_idle() || !send_.is_idle()) return;
    is_closed_ = true;
    engine_.close(connect_.fd);
  }

  io::Engine& engine_;
  Member<io::Connect, Peer, &Peer::connected> connect_{*this};
  Member<io::Receive, Peer, &Peer::received> receive_{*this};
  Member<io::SendPart, Peer, &Peer::sent> send_{*this};
  std::deque<std::string> queue_;
  std::string flying_;
  std::string wire_;
  bool is_connected_ = false;
  bool is_clean_ = true;
  bool finishes_ = false;
  bool leaves_ = false;
  bool ended_ = false;
  bool is_closed_ = false;
};

struct Answers {
  std::uint64_t count = 0;
  bool is_whole = true;  // The last one is.
};

// What a server has sent on one connection.
Answers read_answers(std::string_view wire, bool is_clean) {
  Answers found;
  ResponseReader reader;
  while (!wire.empty()) {
    // Interim answers belong to the one behind them.
    std::size_t at = 0;
    std::size_t end = 0;
    const auto is_status = [&](std::string_view line) { return wire.substr(at).starts_with(line); };
    while ((end = wire.find("\r\n\r\n", at)) != std::string_view::npos && is_status("HTTP/1.1 100 ")) at = end + 4;
    if (at == wire.size()) return found;
    if (end == std::string_view::npos) {
      found.is_whole = false;
      return found;
    }
    const std::string_view head = wire.substr(at, end + 2 - at);
    if (is_status("HTTP/1.1 101 ")) {
      KEEL_CHECK(head.find("\r\nUpgrade: echo\r\nConnection: Upgrade\r\n") != std::string_view::npos,
                 "a 101 names the protocol");
      ++found.count;
      return found;
    }
    reader.begin(head.find("\r\nX-Head: 1\r\n") != std::string_view::npos);
    std::size_t body_bytes = 0;
    ResponseStep step;
    do {
      step = reader.feed(wire);
      wire.remove_prefix(step.consumed);
      body_bytes += step.data.size();
    } while (step.state == ResponseState::Data);
    KEEL_CHECK(step.state != ResponseState::Refused, "what a server sends is answers");
    if (step.state == ResponseState::Need) {
      // The end of the connection, and the refusal of what began as HEAD: that one has no mark.
      const bool is_over =
          reader.head().body == ResponseHead::Body::UntilClose || (!reader.head().keep_alive && body_bytes == 0);
      found.is_whole = is_over;
      found.count += is_over && is_clean;  // Who left may have missed the end, which is what the server counts.
      return found;
    }
    ++found.count;
    KEEL_CHECK(reader.head().keep_alive || wire.empty(), "nothing follows an answer that closes");
  }
  return found;
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

void act(Input& input, Peer& peer, unsigned what, sim::Simulation& simulation) {
  switch (what) {
    case 0:
    case 1:
      return peer.send(input.bytes(input.byte()));
    case 2:
    case 3:
      return peer.send(phrases[input.byte() % std::size(phrases)]);
    case 4: {
      // From a microsecond to more than a minute.
      const std::uint8_t time = input.byte();
      simulation.run_until([] { return false; }, 1_us * (std::int64_t{1 + time % 16} << time / 16 * 3 / 2));
      return;
    }
    case 5:
      return peer.finish_writing();
    case 6:
      return input.byte() % 2 == 0 ? peer.pause() : peer.resume();
    default:
      return peer.leave(input.byte() % 2 == 0);
  }
}

void run(Input input) {
  sim::SimOptions faults;
  faults.seed = input.byte() + 1u;
  const std::uint8_t options = input.byte();
  if ((options & 1) != 0) faults.short_delivery = 0.2;
  if ((options & 2) != 0) faults.stall = 0.01;
  if ((options & 4) != 0) faults.buffer_bytes = 1024;
  sim::Simulation simulation(faults);
  io::Loop& loop = simulation.add_loop();
  io::Loop& clients = simulation.add_loop();
  Router router;
  add_routes(router);
  ServerOptions serve;
  serve.address = Address::parse("10.0.0.1:80").value();
  serve.limits.body_bytes_max = 1000;
  serve.limits.requests_per_connection_max = 50;
  serve.limits.queue_delay_max = Duration::forever();
  if ((options & 8) != 0) serve.limits.head = {.request_line_bytes_max = 60, .head_bytes_max = 200, .fields_max = 5};
  if ((options & 16) != 0) serve.limits.connections_max = 2;
  auto server = std::make_unique<Server>(router, std::move(serve));
  {
    const io::Loop::Entered entered(loop);
    KEEL_CHECK(server->start(loop).is_ok(), "the only server of a simulation must have the simulation's address");
  }

  std::vector<std::unique_ptr<Peer>> peers(peers_max);
  while (!input.is_over()) {
    const std::uint8_t command = input.byte();
    auto& peer = peers[command % peers_max];
    if (peer == nullptr) {
      const io::Loop::Entered entered(clients);
      peer = std::make_unique<Peer>(clients, server->address());
    }
    act(input, *peer, command / peers_max % 8, simulation);
  }

  // Longer than every limit together.
  simulation.run_until([] { return false; }, 20_min);
  KEEL_CHECK(server->stats().connections == server->stats().upgraded, "each connection that speaks HTTP ends");
  {
    const io::Loop::Entered entered(loop);
    server->begin_drain(Duration());
  }
  KEEL_CHECK(simulation.run_until([&] { return server->is_drained(); }, 1_min), "a server drains");
  KEEL_CHECK(server->stats().connections == 0 && server->stats().upgraded == 0, "no connection is left");
  KEEL_CHECK(server->stats().body_bytes == 0, "no body is left");
  simulation.run_until([] { return false; }, 1_s);

  const std::uint64_t requests = server->stats().requests;
  std::uint64_t answers = 0;
  bool are_clean = true;
  for (const auto& peer : peers) {
    if (peer == nullptr) continue;
    const Answers read = read_answers(peer->wire(), peer->is_clean());
    KEEL_CHECK(!peer->is_clean() || read.is_whole, "who reads to the end gets whole answers");
    answers += read.count;
    are_clean = are_clean && peer->is_clean();
  }
  KEEL_CHECK(answers <= requests, "no answer without a request");
  KEEL_CHECK(!are_clean || answers == requests, "each request that is counted is answered");

  for (const auto& peer : peers) {
    if (peer != nullptr) peer->leave(false);
  }
  const auto is_gone = [](const auto& peer) { return peer == nullptr || peer->is_gone(); };
  KEEL_CHECK(simulation.run_until([&] { return std::ranges::all_of(peers, is_gone); }, 1_min), "peers can leave");
  server.reset();
}

}  // namespace
}  // namespace keel::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  keel::http::run({data, size});
  return 0;
}
