// What connections do with peers that take their responses slowly, with requests that are never whole, and with what
// trusted hops say of a request; on every engine.

#include "keel/http/server/internal/connection.h"

#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "keel/http/testing/internal/server_fixture.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/metric.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::connection_test {
namespace {

using namespace internal;

class Connections : public Servers {
 protected:
  // The lines of the log since the last call that begin with `message`: the fields by their names.
  std::vector<std::string> lines(std::string_view message) {
    std::vector<std::string> found;
    reader_.drain([&](const log::Record& record) {
      errors_ += record.level() >= Level::Error ? 1 : 0;
      if (record.message() != message) return;
      std::string line;
      record.for_each([&](const log::FieldView& field) {
        line += (line.empty() ? "" : " ") + std::string(field.name) + "=";
        line += field.kind == log::FieldKind::String ? std::string(field.text) : std::to_string(field.word);
      });
      found.push_back(line);
    });
    return found;
  }
  // Closes what is open and waits until the server knows.
  void end_all() {
    close_all();
    ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
  }
  std::uint64_t counted(std::string_view name, std::string_view label_value) {
    std::uint64_t value = 0;
    metrics::Reading reading;
    registry_.read(reading, [&](std::span<const metrics::Family> families) {
      for (const metrics::Family& family : families) {
        for (const metrics::Series& series : family.series) {
          const bool is_it = std::ranges::find(series.label_values, label_value) != series.label_values.end();
          if (family.name == name && is_it) value = reading.cell(series.cell);
        }
      }
    });
    return value;
  }
  int errors_ = 0;  // Lines of that level that lines() has seen.
  metrics::Registry registry_;
  log::Reader reader_{false};
  log::Ring ring_;
};
INSTANTIATE_TEST_SUITE_P(, Connections, io::testing::every_engine(), io::testing::name_of_engine);

// A client of the kernel's own: what it has been sent can be seen while the worker's turn lasts.
class Socket {
 public:
  explicit Socket(const Address& to) : fd_(socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(connect(fd_, to.system(), to.system_size()), 0);
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  void send(std::string_view text) { ASSERT_EQ(write(fd_, text.data(), text.size()), std::ssize(text)); }
  // How many segments with data have come.
  std::uint32_t segments() const {
    tcp_info info{};
    socklen_t size = sizeof info;
    EXPECT_EQ(getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    return info.tcpi_data_segs_in;
  }
  bool is_answered() const {
    pollfd wanted{fd_, POLLIN, 0};
    return poll(&wanted, 1, 0) == 1;
  }
  std::string received() {
    char text[4096];
    const ssize_t size = recv(fd_, text, sizeof text, MSG_DONTWAIT);
    return {text, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  int fd_;
};

// Sim shows nothing of a turn before its end.
class LongTurns : public Servers {};
INSTANTIATE_TEST_SUITE_P(, LongTurns, ::testing::Values(io::testing::Which::Uring, io::testing::Which::Epoll),
                         io::testing::name_of_engine);

TEST_P(LongTurns, keep_no_answer_that_is_ready) {
  std::vector<std::unique_ptr<Socket>> clients;
  const auto answered = [&] { return std::ranges::count_if(clients, [](auto& one) { return one->is_answered(); }); };
  std::vector<std::uint64_t> turns;
  std::vector<std::ptrdiff_t> seen;
  router_.get("/long", [&](Request&) {
    const Instant end = Host::system().now() + 1_ms;
    while (Host::system().now() < end) {
    }
    turns.push_back(loop_->turns());
    seen.push_back(answered());
    return Response::text(Status::Ok, "done");
  });
  start();
  for (int i = 0; i < 3; ++i) {
    Socket& client = *clients.emplace_back(std::make_unique<Socket>(server_->address()));
    client.send(get("/long"));
    ASSERT_TRUE(until([&] { return client.is_answered(); }));
    EXPECT_TRUE(client.received().ends_with("done"));
  }
  turns.clear();
  seen.clear();
  for (auto& client : clients) client->send(get("/long"));
  ASSERT_TRUE(until([&] { return answered() == 3; }));
  ASSERT_EQ(turns.size(), 3u);
  EXPECT_EQ(std::ranges::count(turns, turns[0]), 3) << "they were to come together";
  EXPECT_EQ(seen, (std::vector<std::ptrdiff_t>{0, 1, 2}));
}

// --- In how many pieces a response leaves.

Task<> copy_body(BodyWriter& out) {
  while (true) {
    const Chunk chunk = co_await out.read_body();
    if (chunk.empty()) co_return;
    co_await out.write(chunk);
  }
}

Task<Response> copy(Request&) { co_return Response::stream(Status::Ok, "text/plain", &copy_body); }

class Segments : public Servers {};
INSTANTIATE_TEST_SUITE_P(, Segments, ::testing::Values(io::testing::Which::Uring, io::testing::Which::Epoll),
                         io::testing::name_of_engine);

// HAProxy 2.6 loses the body of a request whose 100 (Continue) comes together with the head of its response.
TEST_P(Segments, have_100_continue_alone_and_the_head_of_a_response_that_streams_with_its_body) {
  router_.post("/copy", &copy, {.streams_body = true});
  start();
  Socket client(server_->address());

  client.send("POST /copy HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  std::string came;
  ASSERT_TRUE(until([&] { return (came += client.received()) == "HTTP/1.1 100 Continue\r\n\r\n"; })) << came;
  client.send("hello");
  ASSERT_TRUE(until([&] { return (came += client.received()).ends_with("hello\r\n0\r\n\r\n"); })) << came;

  EXPECT_TRUE(came.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")) << came;
  EXPECT_EQ(client.segments(), 3u) << "that, the head with the body, and the end";
}

// --- Who takes a response slowly.

TEST_P(Connections, cut_a_peer_that_takes_less_than_the_least_rate) {
  Limits limits;
  limits.send_rate_min = 50'000;
  limits.send_rate_grace = 100_ms;
  start(limits);
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  one.send(get("/large"));
  const Instant began = now();
  ASSERT_TRUE(until([&] { return server_->stats().accepted == 1 && server_->stats().connections == 0; }));

  EXPECT_GE((now() - began).count_ms(), 200) << "a stretch for what the kernels take, and one that counts";
  EXPECT_EQ(server_->stats().slow_readers, 1u);
  EXPECT_EQ(server_->stats().timeouts, 1u);
  EXPECT_EQ(server_->stats().aborted, 1u);
  one.resume();
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(one.error(), ECONNRESET) << "the kernel keeps nothing of the answer for it";
}

// The same peer, a rate below what it takes: 64 KiB, which a real kernel takes at a time, within each stretch.
TEST_P(Connections, leave_a_peer_alone_that_takes_more_than_the_least_rate) {
  Limits limits;
  limits.send_rate_min = 1000;
  limits.send_rate_grace = is_sim() ? 100_ms : 1_s;
  start(limits);
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.send(get("/large"));
  for (int i = 0; i < 4000 && one.all().empty() && !one.has_ended(); ++i) {
    one.pause();
    pass(is_sim() ? 20_ms : 1_ms);
    one.resume();
    pass(2_ms);
  }
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_TRUE(one.all()[0].body == large);
  EXPECT_EQ(server_->stats().slow_readers, 0u);
  EXPECT_FALSE(one.has_ended());
}

// In virtual time the rate is exact: a reader takes 64 KiB in each step of a second.
TEST_P(Connections, hold_peers_to_the_rate_that_was_set) {
  if (!is_sim()) GTEST_SKIP() << "real kernels tell of what was taken in large steps";
  for (const auto& [rate, is_cut] : {std::pair(30'000u, false), std::pair(200'000u, true)}) {
    Limits limits;
    limits.send_rate_min = rate;
    limits.send_rate_grace = 5_s;
    start(limits);
    Peer& one = peer();
    ASSERT_TRUE(until([&] { return one.is_connected(); }));
    one.pause();
    one.send(get("/large"));
    for (bool is_over = false; !is_over;) {
      pass(1_s);
      const std::size_t before = one.wire().size();
      const auto has_enough = [&] {
        return one.wire().size() - before >= 60'000 || one.wire().size() > large.size() ||
               server_->stats().slow_readers != 0;
      };
      one.resume();
      ASSERT_TRUE(until(has_enough));
      one.pause();
      is_over = one.wire().size() > large.size() || server_->stats().slow_readers != 0;
    }
    EXPECT_EQ(server_->stats().slow_readers, is_cut ? 1u : 0u) << rate;
    end_all();
    server_->begin_drain(Duration());
    ASSERT_TRUE(until([&] { return server_->is_drained(); }));
  }
}

TEST_P(Connections, ask_no_rate_when_none_is_set) {
  Limits limits;
  limits.send_rate_min = 0;
  limits.send_rate_grace = 20_ms;
  start(limits);
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  one.send(get("/large"));
  pass(200_ms);
  EXPECT_EQ(server_->stats().slow_readers, 0u);
  one.resume();
  ASSERT_TRUE(has_replies(one, 1));
}

// --- Requests that are never whole.

TEST_P(Connections, record_requests_that_were_cut_short_and_how_far_they_had_come) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  options_.metrics = &registry_;
  start();
  const auto cut = [&](const std::string& wire, auto&& is_there) {
    Peer& one = peer();
    one.send(wire);
    ASSERT_TRUE(until([&] { return one.is_sent() && is_there(); }));
    settle();
    end_all();
  };
  const auto at_once = [] { return true; };
  lines("request cut");

  cut("GET /n/1 HTTP/1.1\r\nHo", at_once);
  EXPECT_EQ(lines("request cut"), std::vector<std::string>{"during=head bytes=21"});
  cut("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf", at_once);
  EXPECT_EQ(lines("request cut"), std::vector<std::string>{"during=body method=POST path=/echo"});
  Peer& gone = peer();
  gone.send(get("/forever"));
  ASSERT_TRUE(until([&] { return handlers_running == 1; }));
  reset(gone);
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
  EXPECT_EQ(lines("request cut"), std::vector<std::string>{"during=handler method=GET path=/forever"});

  EXPECT_EQ(server_->stats().cut, 3u);
  EXPECT_EQ(server_->stats().requests, 0u);
  for (const char* during : {"head", "body", "handler"})
    EXPECT_EQ(counted("http_requests_cut_total", during), 1u) << during;
}

Task<> write_and_wait(BodyWriter& out, bool fails) {
  co_await out.write("first");
  if (fails) {
    co_await sleep_for(1_ms);
    co_await fail(Code::Upstream, "the rest is not there");
  }
  co_await sleep_for(1_h);
}

TEST_P(Connections, record_responses_that_were_cut_while_they_streamed) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  options_.metrics = &registry_;
  router_.get("/rows/{fails:uint}", [](Request& request) {
    return Response::stream(Status::Ok, "text/plain", &write_and_wait, request.path().ends_with('1'));
  });
  router_.post("/copy", &copy, {.streams_body = true});
  start();
  const auto one_line = [&](std::string_view begin) {
    const auto found = lines("request cut");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].starts_with(begin)) << found[0];
  };
  lines("request cut");
  errors_ = 0;

  Peer& gone = peer();
  gone.send(get("/rows/0"));
  ASSERT_TRUE(until([&] { return gone.wire().find("first") != std::string::npos; }));
  reset(gone);
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
  one_line("during=response method=GET path=/rows/0 status=200 bytes=5 duration=");

  Peer& half = peer();
  half.send("POST /copy HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
  ASSERT_TRUE(until([&] { return half.wire().ends_with("half\r\n"); }));
  half.finish_writing();
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
  one_line("during=response method=POST path=/copy status=200 bytes=4 duration=");
  EXPECT_EQ(errors_, 0) << "a client that goes away is no error of the server";

  Peer& told = peer();
  told.send(get("/rows/1"));
  ASSERT_TRUE(until([&] { return told.has_ended(); }));
  one_line("during=response method=GET path=/rows/1 status=200 bytes=5 duration=");
  EXPECT_EQ(errors_, 1) << "but one that the body had is";

  EXPECT_EQ(server_->stats().cut, 3u);
  EXPECT_EQ(server_->stats().requests, 0u);
  EXPECT_EQ(counted("http_requests_cut_total", "response"), 3u);
}

TEST_P(Connections, record_no_cut_where_nothing_had_begun) {
  start();
  Peer& silent = peer();
  Peer& answered = peer();
  answered.send(get("/n/1"));
  ASSERT_TRUE(has_replies(answered, 1));
  ASSERT_TRUE(until([&] { return silent.is_connected(); }));
  settle();
  end_all();
  ask(get("/n/1"));
  ask("GET /\x01 HTTP/1.1\r\n\r\n");
  EXPECT_EQ(server_->stats().cut, 0u);
  EXPECT_TRUE(lines("request cut").empty());
}

// --- The client that lines and responses name.

TEST_P(Connections, name_what_is_refused_as_what_is_answered) {
  options_.request_ids = options_.log_clients = true;
  router_.get("/split", [](Request&) { return Response::text(Status::Ok, "x").header("X-A", "a\r\nb"); });
  start();
  const std::tuple<std::string, int, const char*> asked[] = {
      {get("/n/1"), 200, "request"},
      {get("/split"), 500, "request"},
      {"GET /\x01 HTTP/1.1\r\n\r\n", 400, "request rejected"},
      {"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999\r\n\r\n", 413, "request rejected"},
  };
  for (const auto& [wire, status, message] : asked) {
    lines(message);
    const Reply reply = ask_one(wire);
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.field("X-Request-Id").size(), 32u) << status;
    if (!log::is_recorded) continue;
    const std::vector<std::string> found = lines(message);
    ASSERT_EQ(found.size(), 1u) << status;
    const std::string& line = found.front();
    EXPECT_NE(line.find(" client="), std::string::npos) << line;
    EXPECT_EQ(line.find(" client= "), std::string::npos) << line;
    EXPECT_TRUE(line.ends_with(" request_id=" + reply.field("X-Request-Id"))) << line;
  }
}

TEST_P(Connections, name_nobody_unless_they_are_to) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  start();
  const std::pair<std::string, const char*> asked[] = {{get("/n/1"), "request"},
                                                       {"GET /\x01 HTTP/1.1\r\n\r\n", "request rejected"}};
  for (const auto& [wire, message] : asked) {
    lines(message);
    EXPECT_EQ(ask_one(wire).field("X-Request-Id"), "");
    const std::vector<std::string> found = lines(message);
    ASSERT_EQ(found.size(), 1u) << message;
    EXPECT_EQ(found[0].find("client="), std::string::npos) << found[0];
    EXPECT_EQ(found[0].find("request_id="), std::string::npos) << found[0];
  }
}

TEST_P(Connections, name_the_client_that_a_trusted_hop_tells) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  options_.trusted_proxies.push_back(Network::parse("0.0.0.0/0").value());
  options_.log_clients = true;
  start();
  lines("request");
  ask_one(get("/n/1", "X-Forwarded-For: 203.0.113.9\r\n"));
  const std::vector<std::string> found = lines("request");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].ends_with(" client=203.0.113.9")) << found[0];
}

// --- What trusted hops say.

const std::string told = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

Response trace_of(Request& request) { return Response::text(Status::Ok, request.id()); }
Task<Response> trace_later(Request& request) {
  co_await sleep_for(1_ms);
  const Span* const span = current_span();
  if (span == nullptr || span->trace != request.trace()) co_return Response(Status::InternalServerError);
  co_return Response::text(Status::Ok, request.id());
}
Task<Response> time_left(Request&) {
  const TaskInfo task = co_await this_task();
  co_return Response::text(Status::Ok, std::to_string((task.deadline - Host::current().now()).count_ms()));
}

TEST_P(Connections, continue_the_trace_of_a_trusted_hop) {
  options_.trusted_proxies.push_back(Network::parse("0.0.0.0/0").value());
  router_.get("/trace", trace_of).get("/trace-later", &trace_later);
  start();
  for (const char* target : {"/trace", "/trace-later"}) {
    EXPECT_EQ(ask_one(get(target, "Traceparent: " + told + "\r\n")).body, told.substr(3, 32));
    // What is none, or is told twice, names nothing.
    EXPECT_NE(ask_one(get(target, "traceparent: 00-" + told + "\r\n")).body, told.substr(3, 32));
    EXPECT_NE(ask_one(get(target, "traceparent: " + told + "\r\ntraceparent: " + told + "\r\n")).body,
              told.substr(3, 32));
  }
}

// RFC 9110 §7.4: a server that has received it over a secure connection may pass it on.
TEST_P(Connections, take_an_https_target_from_a_trusted_hop_alone) {
  const std::string wire = "GET https://a/plaintext HTTP/1.1\r\nHost: a\r\n\r\n";
  options_.trusted_proxies.push_back(Network::parse("0.0.0.0/0").value());
  start();
  EXPECT_EQ(ask_one(wire).status, 200);
}

TEST_P(Connections, take_an_https_target_from_nobody_else) {
  const std::string wire = "GET https://a/plaintext HTTP/1.1\r\nHost: a\r\n\r\n";
  options_.trusted_proxies.push_back(Network::parse("192.0.2.0/24").value());
  start();
  const std::vector<Reply> replies = ask(wire + get("/plaintext"));
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].status, 421);
  EXPECT_EQ(replies[1].status, 200);
}

// RFC 9110 §15.5.2.
TEST_P(Connections, give_a_challenge_with_each_401) {
  options_.challenge = "Basic realm=\"a\"";
  router_.get("/error", [](Request&) -> Result<Response> { return fail(Code::Unauthenticated, "who are you?"); });
  router_.get("/refused", [](Request&) { return refuse(Status::Unauthorized, "log in first"); });
  router_.get("/own", [](Request&) { return Response(Status::Unauthorized).header("WWW-Authenticate", "Own"); });
  start();
  for (const char* path : {"/error", "/refused"}) {
    const Reply reply = ask_one(get(path));
    EXPECT_EQ(reply.status, 401);
    EXPECT_EQ(reply.field("WWW-Authenticate"), "Basic realm=\"a\"");
  }
  EXPECT_EQ(ask_one(get("/own")).field("WWW-Authenticate"), "Own");
}

TEST_P(Connections, send_a_refused_head_no_content) {
  start();
  for (const char* wire : {"HEAD / HTTP/1.1\r\n\r\n", "\r\nHEAD / HTTP/1.1\r\n\r\n"}) {
    const std::string answer = exchange(wire);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
  }
}

TEST_P(Connections, continue_the_trace_of_nobody_else) {
  options_.trusted_proxies.push_back(Network::parse("192.0.2.0/24").value());
  router_.get("/trace", trace_of);
  start();
  const Reply reply = ask_one(get("/trace", "traceparent: " + told + "\r\n"));
  EXPECT_EQ(reply.body.size(), 32u);
  EXPECT_NE(reply.body, told.substr(3, 32));
}

TEST_P(Connections, give_a_handler_no_more_time_than_a_trusted_hop_has) {
  options_.trusted_proxies.push_back(Network::parse("0.0.0.0/0").value());
  router_.get("/left", &time_left).post("/left", &time_left);
  start();
  const auto left = [&](const std::string& value) {
    return std::stol(ask_one(get("/left", "X-Request-Deadline-Ms: " + value + "\r\n")).body);
  };
  EXPECT_LE(left("20000"), 20'000);
  EXPECT_GT(left("20000"), 10'000);
  EXPECT_LE(left("90000"), 30'000) << "never more than the server gives";
  for (const char* none : {"", "-1", "1.5", "1e3", "99999999999", "5000 ms"}) EXPECT_GT(left(none), 25'000) << none;
  // The time of the body counts.
  Peer& slow = peer();
  slow.send("POST /left HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nX-Request-Deadline-Ms: 25000\r\n\r\nhe");
  pass(60_ms);
  slow.send("ad");
  ASSERT_TRUE(has_replies(slow, 1));
  EXPECT_LE(std::stol(slow.all()[0].body), 24'950);

  EXPECT_EQ(ask_one(get("/forever", "X-Request-Deadline-Ms: 30\r\n")).status, 504);
  EXPECT_EQ(ask_one(get("/forever", "X-Request-Deadline-Ms: 0\r\n")).status, 504);
  EXPECT_EQ(handlers_running.load(), 0);
}

TEST_P(Connections, let_nobody_else_shorten_the_time_of_a_handler) {
  options_.trusted_proxies.push_back(Network::parse("192.0.2.0/24").value());
  router_.get("/left", &time_left);
  start();
  EXPECT_GT(std::stol(ask_one(get("/left", "X-Request-Deadline-Ms: 10\r\n")).body), 25'000);
}

TEST_P(Connections, take_trace_and_deadline_from_everybody_where_they_are_told_to) {
  options_.believed = {.trace = TrustedPeers::Everybody, .deadline = TrustedPeers::Everybody};
  router_.get("/trace", trace_of).get("/left", &time_left);
  start();
  EXPECT_EQ(ask_one(get("/trace", "traceparent: " + told + "\r\n")).body, told.substr(3, 32));
  EXPECT_LE(std::stol(ask_one(get("/left", "X-Request-Deadline-Ms: 10000\r\n")).body), 10'000);
}

TEST_P(Connections, take_trace_and_deadline_from_no_proxy_where_they_are_told_so) {
  options_.trusted_proxies.push_back(Network::parse("0.0.0.0/0").value());
  options_.believed = {.trace = TrustedPeers::Nobody, .deadline = TrustedPeers::Nobody};
  router_.get("/trace", trace_of).get("/left", &time_left);
  start();
  EXPECT_NE(ask_one(get("/trace", "traceparent: " + told + "\r\n")).body, told.substr(3, 32));
  EXPECT_GT(std::stol(ask_one(get("/left", "X-Request-Deadline-Ms: 10\r\n")).body), 25'000);
}

// --- Whatever peers do: what the fuzzer of the whole server asks, over inputs made by chance.

TEST(ServerFuzz, holds_over_inputs_made_by_chance) {
  std::uint64_t state = 0x9e3779b97f4a7c15;
  const auto below = [&state](std::uint64_t n) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % n;
  };
  // Phrases most of all, time between them, and now and then bytes, an end, a pause or a leave.
  constexpr std::uint8_t actions[] = {2, 2, 2, 3, 3, 4, 4, 0, 5, 6, 6, 7};
  for (int round = 0; round < 150; ++round) {
    std::string input{static_cast<char>(below(256)), static_cast<char>(below(32))};
    for (std::uint64_t left = 5 + below(60); left != 0; --left) {
      const std::uint8_t what = actions[below(std::size(actions))];
      input += static_cast<char>(what * 4 + below(4));
      input += static_cast<char>(what == 0 ? 20 : below(256));
      if (what == 0) input.append(20, static_cast<char>(below(256)));
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
}

}  // namespace
}  // namespace keel::http::connection_test
