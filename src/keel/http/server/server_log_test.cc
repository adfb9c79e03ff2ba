// What the log says of what clients do: no line that one client decides is louder than info, and a state that many of
// them cause is said once.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "keel/http/server/body_writer.h"
#include "keel/http/testing/internal/server_fixture.h"
#include "keel/observe/log.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/repeated_state.h"

namespace keel::http::server_log_test {
namespace {

using namespace internal;

Task<Response> read_all(Request& request) {
  while (true) {
    const Chunk chunk = co_await request.read_body();
    if (chunk.empty()) co_return Response(Status::NoContent);
  }
}
// Streams its response while it reads.
Task<> copy_body(BodyWriter& out) {
  while (true) {
    const Chunk chunk = co_await out.read_body();
    if (chunk.empty()) co_return;
    co_await out.write(chunk);
    co_await sleep_for(1_ms);
  }
}
Task<Response> copy(Request&) { co_return Response::stream(Status::Ok, "text/plain", &copy_body); }
Task<> write_long(BodyWriter& out) {
  for (int i = 0; i < 400; ++i) co_await out.write(std::string(64 * 1024, 'x'));
}
Response long_answer(Request&) { return Response::stream(Status::Ok, "text/plain", &write_long); }
Result<Response> number_in_query(Request& request) {
  KEEL_TRY(const std::optional<int> n, request.query_param<int>("n"));
  return Response::text(Status::Ok, std::to_string(n.value_or(0)));
}

class Logs : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    router_.post("/copy", &copy, {.streams_body = true});
    router_.post("/read", &read_all, {.streams_body = true}).get("/long", long_answer).get("/number", number_in_query);
    lines();
  }
  // "warn: message", since the last call.
  std::vector<std::string> lines() {
    std::vector<std::string> found;
    log_.drain([&](const log::Record& record) {
      found.push_back(std::string(log::to_string(record.level())) + ": " + std::string(record.message()));
    });
    return found;
  }
  static int count(const std::vector<std::string>& lines, std::string_view what) {
    return static_cast<int>(
        std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return line.contains(what); }));
  }

 private:
  log::Reader log_{false};
  const log::Ring ring_;
};
INSTANTIATE_TEST_SUITE_P(, Logs, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(Logs, have_nothing_louder_than_info_that_a_client_decides) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  options_.access_log = true;
  Limits limits;
  limits.header_timeout = 100_ms;
  limits.body_timeout = 100_ms;
  limits.send_timeout = 200_ms;
  limits.linger_timeout = 50_ms;
  limits.body_bytes_max = 1000;
  limits.bodies_bytes_max = 1500;
  start(limits);
  const std::string post = "POST /echo HTTP/1.1\r\nHost: a\r\n";
  const std::string reads = "POST /read HTTP/1.1\r\nHost: a\r\n";
  const std::string copies = "POST /copy HTTP/1.1\r\nHost: a\r\n";
  const struct {
    const char* what;
    std::string wire;
  } wires[] = {
      {"nothing", ""},
      {"garbage", std::string(3000, '\x01')},
      {"TLS", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(506, 'x')},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
      {"HTTP/9.9", "GET / HTTP/9.9\r\n\r\n"},
      {"a head without a Host", "GET /plaintext HTTP/1.1\r\n\r\n"},
      {"a head that is cut", "GET /plaintext HTTP/1.1\r\nHo"},
      {"a huge head", "GET /plaintext HTTP/1.1\r\nHost: a\r\nX: " + std::string(200'000, 'x') + "\r\n\r\n"},
      {"a huge target", get("/" + std::string(100'000, 'x'))},
      {"many fields", "GET /plaintext HTTP/1.1\r\nHost: a\r\n" + std::string(1000, 'x') + ": y\r\n\r\n"},
      {"bad escapes", get("/%zz%00%2e%2e")},
      {"an unknown path", get("/nowhere\x7f")},
      {"an unknown method", "BREW /plaintext HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"a wrong method", "DELETE /plaintext HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"a parameter that is no number", get("/n/x") + get("/t/99999999999999999999") + get("/number?n=x")},
      {"what is not there", get("/missing")},
      {"two lengths", post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"},
      {"length and chunks", post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"a strange coding", post + "Transfer-Encoding: gzip\r\n\r\n"},
      {"a strange expectation", post + "Expect: cake\r\nContent-Length: 1\r\n\r\na"},
      {"a large body", post + "Content-Length: 5000\r\n\r\n" + std::string(5000, 'x')},
      {"a large chunked body", post_chunked("/echo", std::string(5000, 'x'), 500)},
      {"a large streamed body", post_chunked("/read", std::string(500'000, 'x'), 5000)},
      {"bad chunks", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"},
      {"bad streamed chunks", reads + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"},
      {"a body that is cut", post + "Content-Length: 500\r\n\r\nabc"},
      {"a streamed body that is cut", reads + "Content-Length: 500\r\n\r\nabc"},
      {"bad chunks after the response has begun", copies + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n"},
      {"a body that becomes too large after the response has begun",
       post_chunked("/copy", std::string(5000, 'x'), 500)},
      {"a body that stops after the response has begun", copies + "Content-Length: 10\r\n\r\nhalf"},
      {"an upgrade that nobody wants", get("/plaintext", "Connection: upgrade\r\nUpgrade: nonsense\r\n")},
  };
  std::vector<std::string> told;
  const auto check = [&](const std::string& what) {
    for (std::string& line : lines()) {
      EXPECT_TRUE(line.starts_with("info: ") || line.starts_with("debug: ")) << what << ": " << line;
      told.push_back(std::move(line));
    }
  };

  for (const auto& [what, wire] : wires) {
    for (const char* end : {"close", "reset", "wait"}) {
      if (*end == 'w' && wire.empty()) continue;
      Peer& one = peer();
      ASSERT_TRUE(until([&] { return one.is_connected(); }));
      one.send(wire);
      if (*end == 'w') {
        until([&] { return one.has_ended(); }, 1_s);
      } else {
        settle();
      }
      if (*end == 'r') {
        reset(one);
      } else {
        close(one);
      }
      EXPECT_TRUE(until([&] { return server_->stats().connections == 0; })) << what << ", " << end;
      check(std::string(what) + ", then " + end);
    }
  }
  // Answers that are not taken, and two bodies where there is room for one.
  for (const char* target : {"/large", "/long"}) {
    for (const bool resets : {false, true}) {
      Peer& one = peer();
      ASSERT_TRUE(until([&] { return one.is_connected(); }));
      one.pause();
      one.send(get(target));
      if (resets) pass(20_ms), reset(one);
      EXPECT_TRUE(until([&] { return server_->stats().connections == 0; })) << target;
      if (!resets) close(one);
      check(std::string("a slow reader of ") + target);
    }
  }
  std::vector<Peer*> crowd;
  for (int i = 0; i < 4; ++i) {
    crowd.push_back(&peer());
    crowd.back()->send(post + "Content-Length: 900\r\n\r\n" + std::string(800, 'x'));
  }
  EXPECT_TRUE(until([&] { return server_->stats().bodies_refused > 0; }));
  close_all();
  EXPECT_TRUE(until([&] { return server_->stats().connections == 0; }));
  check("a crowd of bodies");

  // And the control: there was something to be loud about.
  EXPECT_GT(count(told, "info: request rejected"), 20);
  EXPECT_GT(count(told, "info: request cut"), 5);
  EXPECT_GT(count(told, "info: request"), 60);
}

TEST_P(Logs, say_once_that_descriptors_have_run_out) {
  if (is_sim()) GTEST_SKIP() << "the simulation has no descriptors to run out of";
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = ::dup(0);
  ::close(next);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next) + 20;
  setrlimit(RLIMIT_NOFILE, &tight);
  start();
  Peer& one = peer();
  std::vector<int> others;
  for (int fd; (fd = ::dup(0)) >= 0;) others.push_back(fd);
  one.send(get("/n/2"));
  EXPECT_TRUE(until([&] { return server_->stats().paused_descriptors >= 10; }));

  const std::vector<std::string> told = lines();

  EXPECT_EQ(count(told, "warn: cannot accept connections; trying again"), 1);
  EXPECT_EQ(told.size(), 1u);
  for (const int fd : others) ::close(fd);
  EXPECT_TRUE(has_replies(one, 1));
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_P(Logs, say_once_that_the_limit_of_connections_is_met_however_often) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  Limits limits;
  limits.connections_max = 2;
  start(limits);
  Peer& first = peer();
  ASSERT_TRUE(until([&] { return first.is_connected(); }));
  std::vector<std::string> told;
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t paused = server_->stats().paused_full;
    Peer& second = peer();
    second.send(get("/plaintext"));
    EXPECT_TRUE(has_replies(second, 1));
    EXPECT_GT(server_->stats().paused_full, paused);
    close(second);
    EXPECT_TRUE(until([&] { return server_->stats().connections == 1; }));
    for (std::string& line : lines()) told.push_back(std::move(line));
  }

  EXPECT_EQ(count(told, "warn: the connection limit is reached; accepting is paused"), 1);
  if (!is_sim()) return;  // Real time is not worth it: it is over once it has not been met for seconds.
  pass(log::RepeatedState::calm * 2);
  for (std::string& line : lines()) told.push_back(std::move(line));
  EXPECT_EQ(count(told, "info: the number of connections is below the limit again"), 1);
  EXPECT_EQ(count(told, "warn: "), 1);
}

Task<Response> needs_a_database(Request&) { co_return fail(Code::Unavailable, "the database cannot be reached"); }
Task<> breaks_off(BodyWriter& out) {
  co_await out.write(std::string(64 * 1024, 'x'));
  co_await sleep_for(1_ms);
  co_await fail(Code::Unavailable, "the database cannot be reached");
}
Response exports(Request&) { return Response::stream(Status::Ok, "text/plain", &breaks_off); }

TEST_P(Logs, say_once_that_requests_fail_for_the_same_reason_however_often) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  router_.get("/orders", &needs_a_database).get("/products", &needs_a_database).get("/export", exports);
  options_.access_log = true;
  start();
  std::vector<std::string> told;
  const auto ask = [&](int times) {
    Peer& one = peer();
    for (int i = 0; i < times; ++i) {
      one.send(get("/orders"));
      one.send(get("/products"));
      EXPECT_TRUE(has_replies(one, 2 * (i + 1)));
    }
    close(one);
    Peer& reader = peer();
    reader.send(get("/export"));
    EXPECT_TRUE(until([&] { return reader.has_ended(); }));
    close(reader);
    EXPECT_TRUE(until([&] { return server_->stats().connections == 0; }));
    for (std::string& line : lines()) told.push_back(std::move(line));
  };
  ask(10);
  ask(10);

  EXPECT_EQ(count(told, "warn: request failed"), 2) << "once for each route";
  EXPECT_EQ(count(told, "error: the body of a response failed; its connection was reset"), 1);
  EXPECT_EQ(count(told, "info: request"), 42) << "the access log has each";
  if (is_sim()) {  // Real time is not worth it.
    told.clear();
    pass(log::RepeatedState::calm * 3);
    told = lines();
    EXPECT_EQ(count(told, "info: requests no longer fail for this reason"), 3);
    EXPECT_EQ(told.size(), 3u);
    ask(10);
    EXPECT_EQ(count(told, "warn: request failed"), 2) << "in full again";
  }
  server_->begin_drain(Duration());
  EXPECT_TRUE(until([&] { return server_->is_drained(); }));
  EXPECT_EQ(count(lines(), "requests still fail for the same reason"), is_sim() ? 2 : 3) << "the counts are not lost";
}

}  // namespace
}  // namespace keel::http::server_log_test
