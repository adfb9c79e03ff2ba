// The HTTP server, without a database, under simulation: seeded clients that are right, wrong, slow, cut short or gone,
// on a network that fails on purpose.
//
//   http_sim_test                 1,000 seeds, each run twice
//   http_sim_test --seed=7        that seed alone, with the end of its trace
//   http_sim_test --seeds=50000   more of them
//
// What must hold, whatever happens: answers come in order and belong to the request in whose place they stand; nothing
// is answered that was not sent; on a network that loses nothing everything is answered; a drained server has no
// connection left; and the same seed gives the same trace, byte for byte.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dice.h"
#include "keel/base/member.h"
#include "keel/http/message/chunk.h"
#include "keel/http/server/server.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/timing.h"
#include "seeds.h"

namespace keel::http_sim_test {
namespace {

// Mistakes that a checker worth its name finds.
enum class Mistake { None, AnswersAnother, SkipsOne, AsksTheRealWorld };

constexpr std::size_t large_bytes = 100 * 1024;
constexpr std::size_t body_bytes_max = 4096;

std::string large_body(int id) {
  std::string text = std::to_string(id) + ":";
  while (text.size() < large_bytes) text += static_cast<char>('a' + text.size() % 23);
  return text;
}

// --- What a client says, and what it must hear.

struct Expected {
  std::size_t begin = 0;  // Of the request, in the wire.
  std::size_t end = 0;
  int status = 200;
  std::string body;  // Empty with any_body: whatever it is.
  bool any_body = false;
  bool head_only = false;
  bool closes = false;  // It is the last one.
};

enum class Ending { Reads, FinishesWriting, Leaves, FallsSilent };

struct Script {
  std::string wire;
  std::vector<Expected> expected;
  Ending ending = Ending::Reads;
  Duration begins;
  Duration gap;           // At most, between two pieces.
  std::size_t piece = 1;  // At most.
  Duration leaves_after;
  Duration reads_after;     // A slow reader begins to read so late.
  bool is_refused = false;  // Bytes follow a response that closes.
};

void add_request(Dice& dice, Script& script, int id) {
  Expected expected;
  expected.begin = script.wire.size();
  const std::string token = std::to_string(id);
  const auto get = [&](const std::string& method, const std::string& target) {
    script.wire += method + " " + target + " HTTP/1.1\r\nHost: sim\r\n";
    if (dice.one_in(4)) script.wire += "X-Noise: " + std::string(dice.below(60), 'n') + "\r\n";
    script.wire += "\r\n";
  };
  const auto post = [&](const std::string& target, bool chunked) {
    std::string body = token + std::string(dice.below(3000), 'b');
    script.wire += "POST " + target + " HTTP/1.1\r\nHost: sim\r\n";
    if (dice.one_in(5)) script.wire += "Expect: 100-continue\r\n";
    expected.body = body;
    if (!chunked) {
      script.wire += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
      return;
    }
    script.wire += "Transfer-Encoding: chunked\r\n\r\n";
    while (!body.empty()) {
      const std::size_t size = 1 + dice.below(std::min<std::size_t>(body.size(), 700));
      char head[32];
      std::snprintf(head, sizeof head, "%zx\r\n", size);
      script.wire += head + body.substr(0, size) + "\r\n";
      body.erase(0, size);
    }
    script.wire += "0\r\n\r\n";
  };
  switch (dice.below(15)) {
    case 0:
    case 1:
      get("GET", "/n/" + token);
      expected.body = "n=" + token;
      break;
    case 2:
    case 3:
      get("GET", "/t/" + token);
      expected.body = "t=" + token;
      break;
    case 4:
      post("/echo", dice.one_in(2));
      break;
    case 5:
    case 6:
      post("/echo-later", dice.one_in(2));
      break;
    case 7:
      get("GET", "/large/" + token);
      expected.body = large_body(id);
      break;
    case 11:
      get("GET", "/stream/" + token);
      expected.body = large_body(id);
      break;
    case 12:
    case 13:
      post("/upload", dice.one_in(2));
      break;
    case 14:
      post("/unread", dice.one_in(2));
      expected.body = "unread";
      break;
    case 8:
      get("HEAD", "/n/" + token);
      expected.head_only = true;
      break;
    case 9:
      get("GET", "/nowhere/" + token);
      expected.status = 404;
      expected.any_body = true;
      break;
    default:
      get("PUT", "/n/" + token);
      expected.status = 405;
      expected.any_body = true;
      break;
  }
  expected.end = expected.body == "unread" ? expected.begin + 1 : script.wire.size();
  script.expected.push_back(std::move(expected));
}

void add_last_request(Dice& dice, Script& script, int id) {
  struct Refused {
    const char* wire;
    int status;
  };
  static constexpr Refused refused[] = {
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET /\x01 HTTP/1.1\r\nHost: sim\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: sim\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\nHost: sim\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400},
      {"POST /echo-later HTTP/1.1\r\nHost: sim\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nffffff\r\n", 413},
      {"POST /echo HTTP/1.1\r\nHost: sim\r\nContent-Length: 100000\r\n\r\nabcdef", 413},
      {"GET / HTTP/3.0\r\nHost: sim\r\n\r\n", 505},
      {"POST /echo HTTP/1.1\r\nHost: sim\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
  };
  Expected expected;
  expected.begin = script.wire.size();
  expected.closes = true;
  if (dice.one_in(3)) {
    script.wire += "GET /n/" + std::to_string(id) + " HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n";
    expected.body = "n=" + std::to_string(id);
    expected.end = script.wire.size();
  } else {
    const Refused& one = refused[dice.below(std::size(refused))];
    script.wire += one.wire;
    expected.status = one.status;
    expected.any_body = true;
    expected.end = expected.begin + 1;  // It may be rejected immediately.
    script.wire += "GET /n/1 HTTP/1.1\r\nHost: sim\r\n\r\n";
    script.is_refused = true;
  }
  script.expected.push_back(std::move(expected));
}

Script make_script(Dice& dice, int client) {
  Script script;
  const std::size_t requests = 1 + dice.below(12);
  for (std::size_t i = 0; i < requests; ++i) add_request(dice, script, client * 1000 + static_cast<int>(i));
  if (dice.one_in(4)) add_last_request(dice, script, client * 1000 + 999);
  constexpr Ending endings[] = {Ending::Reads, Ending::Reads, Ending::FinishesWriting, Ending::Leaves,
                                Ending::FallsSilent};
  script.ending = endings[dice.below(std::size(endings))];
  script.begins = dice.up_to(500_ms);
  script.gap = dice.one_in(2) ? dice.up_to(100_us) : dice.up_to(20_ms);
  constexpr std::size_t pieces[] = {3, 40, 1000, 1 << 20};
  script.piece = pieces[dice.below(std::size(pieces))];
  if (script.piece == 3 && script.wire.size() > 1500) script.piece = 40;
  script.leaves_after = dice.up_to(300_ms);
  script.reads_after = dice.one_in(4) ? dice.up_to(800_ms) : Duration();
  if (script.ending == Ending::FallsSilent) script.wire.resize(1 + dice.below(script.wire.size()));
  return script;
}

// --- A client.

class Client {
 public:
  Client(io::Loop& loop, const Address& to, int number, Script script)
      : loop_(loop),
        engine_(loop.engine()),
        to_(to),
        number_(number),
        script_(std::move(script)),
        dice_(static_cast<std::uint64_t>(number) * 7919) {
    loop_.start_timer(write_timer_, loop_.now() + script_.begins);
    loop_.start_timer(end_timer_,
                      loop_.now() + script_.begins + (script_.ending == Ending::Leaves ? script_.leaves_after : 100_s));
  }

  bool is_done() const { return done_ && !is_open_; }
  // What is wrong, or nothing.
  const std::string& complaint() const { return complaint_; }
  // Every request was answered that should be.
  bool is_complete() const { return next_ == script_.expected.size() || was_told_to_close_; }
  const Script& script() const { return script_; }
  std::string outcome() const {
    return std::to_string(number_) + ": " + std::to_string(next_) + "/" + std::to_string(script_.expected.size()) +
           (timed_out_ ? " 408" : "") + " error " + std::to_string(error_) + "\n";
  }

 private:
  void write_next() {
    if (done_) return;
    if (!is_open_) {
      connect_.fd = engine_.open_stream(to_.family()).value();
      connect_.address = to_;
      is_open_ = true;
      if (engine_.submit(connect_)) connected();
      return;
    }
    if (!send_.is_idle()) return;
    if (written_ == script_.wire.size()) {
      if (script_.ending == Ending::FinishesWriting) engine_.shutdown_write(connect_.fd);
      return;
    }
    const std::size_t size = std::min(1 + dice_.below(script_.piece), script_.wire.size() - written_);
    send_.set(script_.wire.data() + written_, size);
    written_ += size;
    if (engine_.submit(send_)) sent();
  }
  void connected() {
    if (connect_.result < 0) {
      error_ = -connect_.result;
      return end();
    }
    receive_.fd = send_.fd = connect_.fd;
    engine_.submit(receive_);
    if (script_.reads_after > Duration()) {
      engine_.pause(receive_);
      loop_.start_timer(read_timer_, loop_.now() + script_.reads_after);
    }
    write_next();
  }
  void sent() {
    if (done_) return close_if_quiet();
    if (send_.result < 0) {
      send_failed_ = true;  // What was answered before may still be read.
      return;
    }
    loop_.start_timer(write_timer_, loop_.now() + dice_.up_to(script_.gap));
  }
  void read_now() { engine_.resume(receive_); }
  void received() {
    if (done_) return close_if_quiet();
    if (receive_.result <= 0) {
      error_ = -receive_.result;
      // A reset is told once; when the send has heard of it, or is about to, the stream just ends.
      if (receive_.result == 0 && !text_.empty() && !send_failed_ && send_.is_idle())
        complain("the stream ended inside of an answer");
      return end();
    }
    text_.append(receive_.data, static_cast<std::size_t>(receive_.result));
    check();
    const bool has_all = next_ == script_.expected.size() && script_.ending != Ending::FallsSilent;
    if (has_all && script_.ending == Ending::Reads && !script_.expected.back().closes) end();
  }
  // Takes whole responses off the front of text_.
  void check() {
    for (;;) {
      if (ends_with_head_) return text_.clear();
      const auto head_end = text_.find("\r\n\r\n");
      if (head_end == std::string::npos || !complaint_.empty()) return;
      const std::string_view head = std::string_view(text_).substr(0, head_end + 2);
      if (head == "HTTP/1.1 100 Continue\r\n") {
        text_.erase(0, head_end + 4);
        continue;
      }
      if (!head.starts_with("HTTP/1.1 ")) return complain("not an answer: " + text_.substr(0, 60));
      if (was_told_to_close_ || timed_out_) return complain("an answer behind the last one");
      const int status = std::atoi(text_.c_str() + 9);
      const auto length_at = head.find("\r\nContent-Length: ");
      const std::size_t length = length_at == head.npos ? 0 : std::strtoul(text_.c_str() + length_at + 18, nullptr, 10);
      const bool closes = head.find("\r\nConnection: close\r\n") != head.npos;
      const bool late = status == 408;
      if (!late && next_ == script_.expected.size()) return complain("an answer to nothing");
      static const Expected anything;
      const Expected& expected = late ? anything : script_.expected[next_];
      // A HEAD that was cut short has no content in its 408, unless not even its method had arrived.
      ends_with_head_ = late && next_ < script_.expected.size() && script_.expected[next_].head_only;
      std::size_t size = expected.head_only || ends_with_head_ ? 0 : length;
      if (text_.size() < head_end + 4 + size) return;
      std::string body = text_.substr(head_end + 4, size);
      if (head.find("\r\nTransfer-Encoding: chunked\r\n") != head.npos) {
        http::ChunkStep step;
        for (http::ChunkDecoder chunks; step.state != http::ChunkState::Done; size += step.consumed) {
          step = chunks.feed(std::string_view(text_).substr(head_end + 4 + size));
          if (step.state == http::ChunkState::Need) return;
          if (step.state == http::ChunkState::Refused) return complain("chunks that are malformed");
          body += step.data;
        }
      }
      if (!late) {
        if (written_ < expected.end) return complain("an answer to a request that was not sent");
        if (status != expected.status) {
          return complain("status " + std::to_string(status) + " instead of " + std::to_string(expected.status));
        }
        if (!expected.any_body && !expected.head_only && body != expected.body) {
          return complain("another body: " + body.substr(0, 40));
        }
        if (expected.closes && !closes) return complain("no close where it is due");
        ++next_;
      } else if (!closes) {
        return complain("a 408 that does not close");
      }
      timed_out_ = late;
      was_told_to_close_ = closes;
      text_.erase(0, head_end + 4 + size);
    }
  }
  void complain(std::string what) {
    if (complaint_.empty())
      complaint_ = "client " + std::to_string(number_) + ", answer " + std::to_string(next_) + ": " + what;
  }
  void end() {
    if (done_) return;
    done_ = true;
    for (Timer* timer :
         {static_cast<Timer*>(&write_timer_), static_cast<Timer*>(&end_timer_), static_cast<Timer*>(&read_timer_)}) {
      loop_.stop_timer(*timer);
    }
    for (io::Op* op :
         {static_cast<io::Op*>(&connect_), static_cast<io::Op*>(&receive_), static_cast<io::Op*>(&send_)}) {
      engine_.cancel(*op);
    }
    close_if_quiet();
  }
  void close_if_quiet() {
    if (!is_open_ || !connect_.is_idle() || !receive_.is_idle() || !send_.is_idle()) return;
    engine_.close(connect_.fd);
    is_open_ = false;
  }
  void connect_done() { done_ ? close_if_quiet() : connected(); }

  io::Loop& loop_;
  io::Engine& engine_;
  const Address to_;
  const int number_;
  Script script_;
  Dice dice_;
  Member<io::Connect, Client, &Client::connect_done> connect_{*this};
  Member<io::Receive, Client, &Client::received> receive_{*this};
  Member<io::SendPart, Client, &Client::sent> send_{*this};
  Member<Timer, Client, &Client::write_next> write_timer_{*this};
  Member<Timer, Client, &Client::read_now> read_timer_{*this};
  Member<Timer, Client, &Client::end> end_timer_{*this};
  std::string text_;
  std::string complaint_;
  std::size_t written_ = 0;
  std::size_t next_ = 0;  // The response that comes next.
  int error_ = 0;
  bool is_open_ = false;
  bool done_ = false;
  bool send_failed_ = false;
  bool ends_with_head_ = false;
  bool timed_out_ = false;
  bool was_told_to_close_ = false;
};

// --- The handlers.

struct Service {
  Mistake mistake = Mistake::None;
  int last_id = 0;

  Result<http::Response> number(http::Request& request) {
    KEEL_TRY(int id, request.path_param<int>("id"));
    const int before = std::exchange(last_id, id);
    if (mistake == Mistake::AnswersAnother && before != 0) id = before;
    if (mistake == Mistake::SkipsOne && id % 5 == 3) return http::Response(http::Status::NoContent);
    http::Response response = http::Response::text(http::Status::Ok, "n=" + std::to_string(id));
    if (mistake == Mistake::AsksTheRealWorld) response.header("X-Entropy", std::to_string(Host::system().random()));
    return response;
  }
  Task<http::Response> number_later(http::Request& request) {
    const int id = co_await request.path_param<int>("id");
    co_await sleep_for(1_ms * (id % 7));
    co_return http::Response::text(http::Status::Ok, "t=" + std::to_string(id));
  }
  http::Response echo(http::Request& request) { return http::Response::text(http::Status::Ok, request.body()); }
  Task<http::Response> echo_later(http::Request& request) {
    co_await sleep_for(1_ms);
    co_return http::Response::text(http::Status::Ok, request.body());
  }
  Result<http::Response> large(http::Request& request) {
    KEEL_TRY(int id, request.path_param<int>("id"));
    return http::Response::text(http::Status::Ok, large_body(id));
  }
  // Read as it arrives, with pauses.
  Task<http::Response> upload(http::Request& request) {
    std::string body;
    while (true) {
      const Chunk chunk = co_await request.read_body();
      if (chunk.empty()) break;
      body += chunk;
      co_await sleep_for(1_ms * (body.size() % 3));
    }
    co_return http::Response::text(http::Status::Ok, body);
  }
  Task<http::Response> unread(http::Request&) {
    co_await sleep_for(2_ms);
    co_return http::Response::text(http::Status::Ok, "unread");
  }
  // Written as it leaves, with pauses.
  static Task<> write_large(http::BodyWriter& out, int id) {
    const std::string body = large_body(id);
    for (std::size_t at = 0; at < body.size(); at += 9000) {
      co_await out.write(std::string_view(body).substr(at, 9000));
      if (at % 4 == 0) co_await sleep_for(1_ms);
    }
  }
  Result<http::Response> stream(http::Request& request) {
    KEEL_TRY(int id, request.path_param<int>("id"));
    return http::Response::stream(http::Status::Ok, "text/plain", &write_large, id);
  }
};

// --- One run of one seed.

struct Outcome {
  std::string complaint;  // Empty: all that must hold has held.
  std::string told;       // How each client fared.
  std::string trace;      // Its end.
  std::uint64_t hash = 0;
  sim::FaultCounts faults;
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t aborted = 0;
};

Outcome run(std::uint64_t seed, Mistake mistake = Mistake::None) {
  Dice dice(seed * 1'000'003);
  // Each fourth seed has a network without faults: there everything must be answered.
  sim::SimOptions options = seed % 4 == 0 ? sim::SimOptions{.seed = seed} : sim::SimOptions::faulty(seed);
  options.trace_bytes_max = 16 * 1024;
  options.only = seeds.only;
  sim::Simulation simulation(options);

  Service service{.mistake = mistake};
  http::Router router;
  router.get("/n/{id}", service, &Service::number).get("/t/{id}", service, &Service::number_later);
  router.post("/echo", service, &Service::echo).post("/echo-later", service, &Service::echo_later);
  router.get("/large/{id}", service, &Service::large).get("/stream/{id}", service, &Service::stream);
  router.post("/upload", service, &Service::upload, {.streams_body = true});
  router.post("/unread", service, &Service::unread, {.streams_body = true});

  http::ServerOptions server_options;
  server_options.address = Address::parse("10.0.0.1:80").value();
  server_options.limits.body_bytes_max = body_bytes_max;
  server_options.limits.idle_timeout = 5_s;
  server_options.limits.pipeline_bytes_max = dice.one_in(2) ? 256 * 1024 : 1000;
  if (dice.one_in(4)) server_options.limits.connections_max = 2;
  server_options.listen.reuse_port = true;
  const std::size_t workers = 1 + dice.below(3);
  std::vector<io::Loop*> loops;
  std::vector<std::unique_ptr<http::Server>> servers;
  for (std::size_t i = 0; i < workers; ++i) {
    loops.push_back(&simulation.add_loop());
    io::Loop::Entered entered(*loops.back());
    servers.push_back(std::make_unique<http::Server>(router, server_options));
    EXPECT_TRUE(servers.back()->start(*loops.back()));
  }
  io::Loop& client_loop = simulation.add_loop();
  std::vector<std::unique_ptr<Client>> clients;
  {
    io::Loop::Entered entered(client_loop);
    const std::size_t count = 1 + dice.below(16);
    for (std::size_t i = 0; i < count; ++i) {
      const int number = static_cast<int>(i) + 1;
      clients.push_back(
          std::make_unique<Client>(client_loop, server_options.address, number, make_script(dice, number)));
    }
  }
  const auto clients_done = [&] {
    return std::ranges::all_of(clients, [](const auto& client) { return client->is_done(); });
  };
  const auto begin_drain = [&] {
    for (std::size_t i = 0; i < workers; ++i) {
      io::Loop::Entered entered(*loops[i]);
      servers[i]->begin_drain();
    }
  };
  const bool drains_early = dice.one_in(3);
  if (drains_early) {
    simulation.run_until(clients_done, dice.up_to(700_ms));
    begin_drain();
  }
  const bool all_done = simulation.run_until(clients_done, 300_s);
  if (!drains_early) begin_drain();
  const bool drained = simulation.run_until(
      [&] { return std::ranges::all_of(servers, [](const auto& server) { return server->is_drained(); }); }, 120_s);

  Outcome outcome;
  // A head whose rest is late gives way to others when there are as many connections as there may be.
  const bool is_late = options.long_delay > 0 || options.stall > 0;
  const bool gives_way =
      is_late && std::ranges::any_of(servers, [](const auto& server) { return server->stats().idle_closed != 0; });
  for (const auto& client : clients) {
    outcome.told += client->outcome();
    if (outcome.complaint.empty()) outcome.complaint = client->complaint();
    const Script& script = client->script();
    const bool may_lose =
        options.reset > 0 || options.vanish > 0 || drains_early || gives_way || (script.is_refused && is_late);
    const bool stays = script.ending == Ending::Reads || script.ending == Ending::FinishesWriting;
    if (outcome.complaint.empty() && stays && !may_lose && !client->is_complete()) {
      outcome.complaint = "not everything was answered: client " + client->outcome();
    }
  }
  for (const auto& server : servers) {
    const http::Server::Stats stats = server->stats();
    outcome.requests += stats.requests;
    outcome.refused += stats.refused;
    outcome.timeouts += stats.timeouts;
    outcome.aborted += stats.aborted;
    if (outcome.complaint.empty() && stats.connections != 0) {
      outcome.complaint = std::to_string(stats.connections) + " connections are left after the drain";
    }
  }
  if (!all_done) outcome.complaint = "a client waits for ever";
  if (!drained) outcome.complaint = "the drain does not end";
  outcome.hash = simulation.trace_hash();
  outcome.trace = simulation.trace_text();
  outcome.faults = simulation.faults();
  if (!outcome.complaint.empty()) outcome.complaint += "\n" + simulation.replay();
  if (!all_done || !drained) {
    // The rest cannot be taken apart in order: say so and stop here.
    std::fprintf(stderr, "%s\n%s\n", outcome.complaint.c_str(), seeds.replay(seed).c_str());
    std::abort();
  }
  return outcome;
}

// Runs a seed twice; what is wrong, or nothing.
std::string check(std::uint64_t seed, Outcome& first, Mistake mistake = Mistake::None) {
  first = run(seed, mistake);
  if (!first.complaint.empty()) return first.complaint;
  const Outcome second = run(seed, mistake);
  if (first.hash != second.hash || first.trace != second.trace || first.told != second.told) {
    return "two runs of this seed differ";
  }
  return "";
}

TEST(HttpSimulation, holds_its_promises_on_every_seed_and_repeats_each_run) {
  sim::FaultCounts faults;
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t aborted = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Outcome outcome;
    const std::string complaint = check(seed, outcome);
    if (seeds.is_one()) std::printf("%s\n%s", outcome.trace.c_str(), outcome.told.c_str());
    ASSERT_EQ(complaint, "") << seeds.replay(seed) << "\n" << outcome.told;
    requests += outcome.requests;
    refused += outcome.refused;
    timeouts += outcome.timeouts;
    aborted += outcome.aborted;
    faults.resets += outcome.faults.resets;
    faults.vanished += outcome.faults.vanished;
    faults.accept_failures += outcome.faults.accept_failures;
    faults.short_deliveries += outcome.faults.short_deliveries;
    faults.stalls += outcome.faults.stalls;
  }
  std::printf(
      "%llu seeds: %llu requests, %llu refused, %llu time-outs, %llu aborted; %llu resets, %llu vanished, "
      "%llu failed accepts, %llu short deliveries, %llu stalls\n",
      static_cast<unsigned long long>(seeds.count), static_cast<unsigned long long>(requests),
      static_cast<unsigned long long>(refused), static_cast<unsigned long long>(timeouts),
      static_cast<unsigned long long>(aborted), static_cast<unsigned long long>(faults.resets),
      static_cast<unsigned long long>(faults.vanished), static_cast<unsigned long long>(faults.accept_failures),
      static_cast<unsigned long long>(faults.short_deliveries), static_cast<unsigned long long>(faults.stalls));
  if (seeds.is_less()) return;
  // A run in which nothing happens proves nothing.
  EXPECT_GT(requests, seeds.count * 5);
  for (const std::uint64_t count : {refused, timeouts, aborted, faults.resets, faults.vanished, faults.accept_failures,
                                    faults.short_deliveries, faults.stalls}) {
    EXPECT_GT(count, 0u);
  }
}

// The checker itself: a server that is wrong does not pass.
int seeds_that_complain(Mistake mistake) {
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Outcome outcome;
    if (!check(seed, outcome, mistake).empty()) ++count;
  }
  return count;
}

TEST(HttpSimulation, finds_a_server_that_answers_another_request) {
  EXPECT_GE(seeds_that_complain(Mistake::AnswersAnother), 3);
}
TEST(HttpSimulation, finds_a_server_that_leaves_a_body_out) { EXPECT_GE(seeds_that_complain(Mistake::SkipsOne), 3); }
TEST(HttpSimulation, finds_a_handler_that_asks_the_real_world) {
  EXPECT_GE(seeds_that_complain(Mistake::AsksTheRealWorld), 3);
}

}  // namespace
}  // namespace keel::http_sim_test

int main(int argc, char** argv) { return keel::run_seeds(argc, argv, 1000); }
