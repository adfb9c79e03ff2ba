// Bodies that a handler reads as they arrive, on every engine.

#include "keel/http/server/body_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/http/testing/internal/server_fixture.h"

namespace keel::http::body_reader_test {
namespace {

using namespace internal;

std::uint64_t bytes_read = 0;
bool reads_on = true;
Code error_seen = Code::Internal;
int errors_seen = 0;

Task<> wait_until(const bool& flag) {
  while (!flag) co_await sleep_for(1_ms);
}

// What it has read, as text.
Task<Response> whole(Request& request) {
  std::string all;
  while (true) {
    const Chunk chunk = co_await request.read_body();
    if (chunk.empty()) break;
    all += chunk;
  }
  co_return Response::text(Status::Ok, all);
}
Task<Response> count(Request& request) {
  ++handlers_begun;
  std::uint64_t sum = 0;
  bytes_read = 0;
  while (true) {
    const Chunk chunk = co_await request.read_body();
    if (chunk.empty()) break;
    bytes_read += chunk.size();
    for (const char c : chunk) sum = sum * 31 + static_cast<unsigned char>(c);
  }
  co_return Response::text(Status::Ok, std::to_string(bytes_read) + " " + std::to_string(sum));
}
// Reads a piece, and the others when the test says so. A piece is the same after the wait.
Task<Response> hesitant(Request& request) {
  ++handlers_begun;
  bytes_read = 0;
  while (true) {
    const Chunk chunk = co_await request.read_body();
    const std::string before(chunk);
    co_await wait_until(reads_on);
    EXPECT_EQ(before, chunk);
    if (chunk.empty()) break;
    bytes_read += chunk.size();
  }
  co_return Response::text(Status::Ok, std::to_string(bytes_read));
}
Task<Response> ignores(Request& request) {
  co_await sleep_for(1_ms);
  co_return Response::text(Status::Ok, request.path());
}
Task<Response> reads_one(Request& request) {
  const Chunk chunk = co_await request.read_body();
  co_return Response::text(Status::Ok, std::to_string(chunk.size()));
}
// Answers by itself, whatever happens, after it has asked twice.
Task<Response> forgives(Request& request) {
  Result<Chunk> chunk = Chunk("x");
  while (chunk && !chunk->empty()) chunk = co_await attempt(request.read_body());
  if (chunk) co_return Response::text(Status::Ok, "whole");
  error_seen = chunk.error().code();
  ++errors_seen;
  const Result<Chunk> again = co_await attempt(request.read_body());
  EXPECT_FALSE(again);
  co_return Response::text(Status::Accepted, "enough");
}
// Body, two trailers of it, and all of them; there are none before the end.
std::string told(const Request& request, std::string_view body) {
  return std::string(body) + '|' + std::string(request.trailer("x-SUM").value_or("none")) + '|' +
         std::string(request.trailer("Content-Length").value_or("none")) + '|' + std::string(request.trailers());
}
Response tells(Request& request) { return Response::text(Status::Ok, told(request, request.body())); }
Task<Response> tells_later(Request& request) {
  co_await sleep_for(1_ms);
  co_return Response::text(Status::Ok, told(request, request.body()));
}
Task<Response> tells_as_it_comes(Request& request) {
  std::string all;
  while (true) {
    EXPECT_EQ(request.trailers(), "");
    const Chunk chunk = co_await request.read_body();
    if (chunk.empty()) break;
    all += chunk;
  }
  co_return Response::text(Status::Ok, told(request, all));
}
// Tells what a failed read said, and ends with an error of its own.
Task<Response> complains(Request& request) {
  ++handlers_running;
  Result<Chunk> chunk = Chunk("x");
  while (chunk && !chunk->empty()) chunk = co_await attempt(request.read_body());
  --handlers_running;
  if (chunk) co_return Response::text(Status::Ok, "whole");
  error_seen = chunk.error().code();
  ++errors_seen;
  co_return fail(Code::Internal, "secret of the handler");
}
// Does not read for a while, then to the end; stopped meanwhile, it says so.
Task<Response> twice(Request& request) {
  const Chunk first = co_await request.read_body();
  const std::string one(first);
  const Chunk second = co_await request.read_body();
  co_return Response::text(Status::Ok, one + "|" + std::string(second) + "|");
}

class BodyReading : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    bytes_read = 0;
    reads_on = true;
    error_seen = Code::Internal;
    errors_seen = 0;
    const RouteOptions streams{.body_bytes_max = 256u << 20, .streams_body = true};
    const RouteOptions small{.body_bytes_max = 1000, .streams_body = true};
    router_.post("/whole", &whole, streams).post("/count", &count, streams).post("/hesitant", &hesitant, streams);
    router_.post("/ignores", &ignores, streams).post("/one", &reads_one, streams);
    router_.post("/small", &whole, small).post("/forgives", &forgives, small).post("/complains", &complains, small);
    router_.post("/twice", &twice).post("/ignores-small", &ignores, small);
    router_.post("/tells", tells).post("/tells-later", &tells_later).post("/tells-as", &tells_as_it_comes, streams);
    router_.get("/whole", &whole, streams);
  }
};

INSTANTIATE_TEST_SUITE_P(, BodyReading, io::testing::every_engine(), io::testing::name_of_engine);

std::string of_bytes(std::string_view text) {
  std::uint64_t sum = 0;
  for (const char c : text) sum = sum * 31 + static_cast<unsigned char>(c);
  return std::to_string(text.size()) + " " + std::to_string(sum);
}

TEST_P(BodyReading, gives_bodies_that_are_larger_than_the_server_would_hold) {
  Limits limits;
  limits.body_bytes_max = 1000;
  limits.bodies_bytes_max = 1000;
  start(limits);
  const std::string expected = of_bytes(large);
  EXPECT_EQ(ask_one(post("/count", large)).body, expected);
  EXPECT_EQ(ask_one(post_chunked("/count", large, 10'000)).body, expected);
  EXPECT_EQ(server_->stats().body_bytes, 0u);
}

TEST_P(BodyReading, gives_the_same_however_a_body_is_cut) {
  start();
  const std::string next = get("/n/7");
  for (const std::string& wire :
       {post("/whole", "hello, streaming world"), post("/whole", ""),
        post_chunked("/whole", "hello, streaming world", 4, "", "X-Sum: 1\r\nContent-Length: 3\r\n"),
        post_chunked("/whole", "", 1), post_chunked("/whole", "a", 1)}) {
    const std::vector<Reply> expected = ask(wire + next);
    ASSERT_EQ(expected.size(), 2u) << wire;
    EXPECT_EQ(expected[1].body, "n=7");
    for (std::size_t cut = wire.find("\r\n\r\n"); cut <= wire.size() + 1; ++cut) {
      Peer& one = peer();
      one.send((wire + next).substr(0, cut));
      settle();
      one.send((wire + next).substr(cut));
      ASSERT_TRUE(has_replies(one, 2)) << wire << cut;
      EXPECT_EQ(one.all()[0].status, 200) << wire << cut;
      EXPECT_EQ(one.all()[0].body, expected[0].body) << wire << cut;
      EXPECT_EQ(one.all()[1].body, "n=7") << wire << cut;
      close(one);
    }
  }
}

TEST_P(BodyReading, begins_when_the_head_is_complete) {
  start();
  Peer& one = peer();
  one.send("POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
  ASSERT_TRUE(until([&] { return handlers_begun == 1; }));
  one.send("abc");
  ASSERT_TRUE(until([&] { return bytes_read == 3; }));
  EXPECT_TRUE(one.wire().empty());
  one.send("de");
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].body, of_bytes("abcde"));
}

TEST_P(BodyReading, gives_what_is_there_already_once_where_the_route_does_not_stream) {
  start();
  EXPECT_EQ(ask_one(post("/twice", "hello")).body, "hello||");
  EXPECT_EQ(ask_one(post("/twice", "")).body, "||");
  EXPECT_EQ(ask_one(get("/whole")).body, "");
}

TEST_P(BodyReading, does_not_receive_while_the_handler_does_not_read) {
  start({}, {.receive_buffer_bytes = 64 * 1024});
  reads_on = false;
  Peer& one = peer();
  const std::string body = io::testing::pattern(16 << 20);
  one.send(post("/hesitant", body));
  ASSERT_TRUE(until([&] { return handlers_begun == 1; }));
  pass(20_ms);
  EXPECT_FALSE(one.is_sent());
  EXPECT_EQ(bytes_read, 0u);

  reads_on = true;
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].body, std::to_string(body.size()));
}

TEST_P(BodyReading, keeps_a_chunk_until_the_next_read) {
  start();
  reads_on = false;
  Peer& one = peer();
  one.send("POST /hesitant HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n");
  ASSERT_TRUE(until([&] { return handlers_begun == 1; }));
  for (int i = 0; i < 5; ++i) {
    one.send(std::string(1000, static_cast<char>('a' + i)));
    settle();
  }
  reads_on = true;
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].body, "5000");
}

TEST_P(BodyReading, says_continue_when_the_handler_reads) {
  start();
  Peer& one = peer();
  one.send("POST /whole HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  ASSERT_TRUE(until([&] { return one.wire() == "HTTP/1.1 100 Continue\r\n\r\n"; })) << one.wire();
  one.send("hello" + get("/n/1"));
  ASSERT_TRUE(has_replies(one, 2));
  EXPECT_EQ(one.all()[0].body, "hello");
  EXPECT_FALSE(one.all()[0].closes());
}

TEST_P(BodyReading, says_continue_once_however_often_the_handler_reads) {
  start();
  Peer& one = peer();
  one.send("POST /whole HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n");
  ASSERT_TRUE(until([&] { return one.wire() == "HTTP/1.1 100 Continue\r\n\r\n"; })) << one.wire();
  for (const char* piece : {"ab", "cd", "ef"}) {
    one.send(piece);
    pass(5_ms);
  }
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].body, "abcdef");
  EXPECT_EQ(one.wire().find("100 Continue"), one.wire().rfind("100 Continue")) << one.wire();
}

TEST_P(BodyReading, closes_when_nobody_wanted_the_body_that_a_client_was_ready_to_send) {
  start();
  Peer& one = peer();
  one.send("POST /ignores HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_TRUE(one.all()[0].closes());
  EXPECT_EQ(one.wire().find("100 Continue"), std::string::npos);
  one.send(get("/n/1"));
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(one.all().size(), 1u);
}

TEST_P(BodyReading, throws_away_what_a_handler_has_not_read) {
  start();
  const std::string body(200'000, 'b');
  for (const std::string& request : {post("/ignores", body), post_chunked("/ignores", body, 5000), post("/one", body),
                                     post_chunked("/one", body, 5000)}) {
    const auto list = ask(request + get("/n/5"));
    ASSERT_EQ(list.size(), 2u) << request.substr(0, 100);
    EXPECT_EQ(list[0].status, 200);
    EXPECT_FALSE(list[0].closes());
    EXPECT_EQ(list[1].body, "n=5");
  }
}

TEST_P(BodyReading, ends_the_connection_when_too_much_has_not_been_read_and_lets_the_answer_arrive) {
  start();
  for (const std::string fields : {"", "Connection: close\r\n"}) {
    for (const bool chunked : {false, true}) {
      Peer& one = peer();
      const std::string body(900'000, 'b');
      one.send((chunked ? post_chunked("/ignores", body, 5000, fields) : post("/ignores", body, fields)) + get("/n/1"));
      one.finish_writing();
      ASSERT_TRUE(until([&] { return one.has_ended(); }));
      EXPECT_EQ(one.error(), 0);
      ASSERT_EQ(one.all().size(), 1u);
      EXPECT_EQ(one.all()[0].body, "/ignores");
      EXPECT_TRUE(chunked || one.all()[0].closes());
      close(one);
    }
  }
}

TEST_P(BodyReading, ends_the_connection_when_what_is_thrown_away_is_malformed) {
  start();
  Peer& one = peer();
  one.send("POST /one HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  ASSERT_TRUE(has_replies(one, 1));
  one.send("-1\r\n\r\n" + get("/n/1"));
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(one.all().size(), 1u);
}

TEST_P(BodyReading, ends_the_connection_when_what_came_with_the_head_is_malformed_and_thrown_away) {
  start();
  const std::string head = "POST /ignores HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string too_large = post_chunked("/ignores-small", std::string(1001, 'x'), 501);
  for (const std::string& wire : {head + "5\r\nhello\r\nZZ\r\n", too_large}) {
    Peer& one = peer();
    one.send(wire + get("/n/1"));
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    ASSERT_EQ(one.all().size(), 1u);
    EXPECT_EQ(one.all()[0].status, 200);
  }
}

TEST(BodyReader, holds_nothing_once_what_it_discards_is_malformed) {
  const std::string_view body = "5\r\nhello\r\nZZ\r\n";
  BodyReader reader;
  reader.begin(BodyDecoder(BodyKind::Chunked, 0, 100), body, [](BodyReader&) noexcept {});
  EXPECT_LE(reader.discard_held(), body.size());
  EXPECT_EQ(reader.refusal(), Status::BadRequest);
  EXPECT_TRUE(reader.has_used_all());
}

TEST_P(BodyReading, is_refused_with_413_above_the_limit_of_the_route) {
  start();
  const std::string fits(1000, 'x');
  EXPECT_EQ(ask_one(post("/small", fits)).body, fits);
  EXPECT_EQ(ask_one(post_chunked("/small", fits, 100)).body, fits);

  for (const std::string& wire : {post("/small", fits + "y"), post_chunked("/small", fits + "y", 100)}) {
    const auto list = ask(wire + get("/n/1"));
    ASSERT_EQ(list.size(), 1u);
    EXPECT_EQ(list[0].status, 413);
    EXPECT_TRUE(list[0].closes());
  }
}

TEST_P(BodyReading, answers_a_handler_that_failed_because_of_its_body_with_what_was_wrong_with_it) {
  start();
  struct {
    std::string wire;
    int status;
    Code code;
  } const cases[] = {
      {post_chunked("/complains", std::string(1001, 'x'), 1001), 413, Code::OutOfRange},
      {"POST /complains HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\naX", 400, Code::Protocol},
      {"POST /complains HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + std::string(9000, 'x'),
       431, Code::Protocol},
  };
  for (const auto& each : cases) {
    Peer& one = peer();
    one.send(each.wire);
    ASSERT_TRUE(has_replies(one, 1));
    EXPECT_EQ(one.all()[0].status, each.status);
    EXPECT_TRUE(one.all()[0].closes());
    EXPECT_EQ(one.wire().find("secret"), std::string::npos);
    EXPECT_EQ(error_seen, each.code);
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
  }
}

TEST_P(BodyReading, sends_the_answer_of_a_handler_that_goes_on_without_its_body) {
  start();
  const auto list = ask(post_chunked("/forgives", std::string(2000, 'x'), 100) + get("/n/1"));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].status, 202);
  EXPECT_TRUE(list[0].closes());
  EXPECT_EQ(error_seen, Code::OutOfRange);
  EXPECT_EQ(errors_seen, 1);
}

TEST_P(BodyReading, stops_the_handler_when_the_peer_finishes_before_the_end_of_the_body) {
  start();
  for (const bool resets : {false, true}) {
    errors_seen = 0;
    Peer& one = peer();
    one.send("POST /complains HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\nabc");
    ASSERT_TRUE(until([&] { return handlers_running == 1; }));
    settle();
    if (resets) {
      reset(one);
    } else {
      one.finish_writing();
      ASSERT_TRUE(until([&] { return one.has_ended(); }));
      EXPECT_EQ(one.wire(), "");
      close(one);
    }
    ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
    EXPECT_EQ(handlers_running, 0);
    EXPECT_EQ(errors_seen, 1);
    EXPECT_EQ(error_seen, resets ? Code::Cancelled : Code::Unavailable);
  }
}

TEST_P(BodyReading, does_not_begin_with_a_body_that_will_never_be_whole) {
  start();
  Peer& one = peer();
  one.send(get("/slow") + "POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\nabc");
  one.finish_writing();
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(one.all().size(), 1u);
  EXPECT_EQ(handlers_begun, 1);  // The slow one.
}

TEST_P(BodyReading, is_refused_with_408_when_one_read_takes_too_long) {
  Limits limits;
  limits.body_timeout = 60_ms;
  start(limits);
  Peer& silent = peer();
  Peer& slow_one = peer();
  silent.send("POST /complains HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n");
  slow_one.send("POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
  // Longer than the limit in all, and a little at a time.
  for (int i = 0; i < 10; ++i) {
    pass(is_sim() ? 20_ms : 10_ms);
    slow_one.send("x");
  }
  ASSERT_TRUE(has_replies(silent, 1));
  EXPECT_EQ(silent.all()[0].status, 408);
  EXPECT_TRUE(silent.all()[0].closes());
  EXPECT_EQ(error_seen, Code::DeadlineExceeded);
  ASSERT_TRUE(until([&] { return silent.has_ended(); }));
  if (is_sim()) {
    ASSERT_TRUE(has_replies(slow_one, 1));
    EXPECT_EQ(slow_one.all()[0].body, of_bytes("xxxxxxxxxx"));
  }
}

TEST_P(BodyReading, is_refused_with_408_below_the_least_rate_and_not_above_it) {
  Limits limits;
  limits.body_rate_min = 1000;
  limits.body_rate_grace = 50_ms;
  start(limits);
  for (const char* path : {"/count", "/echo"}) {
    const std::string head = "POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nContent-Length: 600\r\n\r\n";
    Peer& below = peer();
    below.send(head);
    for (int i = 0; i < 400 && below.wire().empty(); ++i) {
      below.send("x");
      pass(5_ms);
    }
    ASSERT_TRUE(has_replies(below, 1)) << path;
    EXPECT_EQ(below.all()[0].status, 408) << path;
    EXPECT_TRUE(below.all()[0].closes());

    if (!is_sim()) continue;  // A loaded machine may be slower than any rate.
    Peer& above = peer();
    above.send(head);
    for (int i = 0; i < 60; ++i) {
      above.send("0123456789");
      pass(5_ms);
    }
    ASSERT_TRUE(has_replies(above, 1)) << path;
    EXPECT_EQ(above.all()[0].status, 200) << path;
  }
}

TEST_P(BodyReading, counts_only_the_time_in_which_the_body_is_waited_for) {
  Limits limits;
  const Duration limit = is_sim() ? 150_ms : 1_s;
  limits.body_timeout = limit;
  limits.body_rate_min = 1'000'000;
  limits.body_rate_grace = limit;
  start(limits);
  reads_on = false;
  Peer& one = peer();
  one.send("POST /hesitant HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na");
  ASSERT_TRUE(until([&] { return handlers_begun == 1; }));
  pass(limit + 50_ms);  // The handler is slow, not the client.
  one.send("b");
  reads_on = true;
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].body, "2");
}

TEST_P(BodyReading, is_answered_before_a_drain_ends) {
  start();
  Peer& one = peer();
  one.send("POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
  ASSERT_TRUE(until([&] { return server_->stats().connections == 1; }));
  settle();
  server_->begin_drain(Duration());
  settle();
  one.send("cde");
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].body, "abcde");
  EXPECT_TRUE(one.all()[0].closes());
  close(one);
  ASSERT_TRUE(until([&] { return server_->is_drained(); }));
}

// --- Trailers, RFC 9110 §6.5.

TEST_P(BodyReading, gives_the_trailers_behind_the_body_however_they_are_cut) {
  start();
  const std::string trailers = "X-Sum: 12\r\nContent-Length: 7\r\nTransfer-Encoding: gzip\r\nETag: \"a\"\r\n";
  for (const std::string target : {"/tells", "/tells-later", "/tells-as"}) {
    const std::string wire = post_chunked(target, "hello", 2, "Trailer: X-Sum\r\n", trailers) +
                             post_chunked(target, "again", 9) + post(target, "fixed");
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, wire.size()}) {
      Peer& one = peer();
      for (std::size_t at = 0; at < wire.size(); at += piece) one.send(wire.substr(at, piece));
      ASSERT_TRUE(has_replies(one, 3)) << target << piece;
      const auto list = one.all();
      EXPECT_EQ(list[0].body, "hello|12|none|X-Sum: 12\r\nETag: \"a\"\r\n") << target << piece;
      EXPECT_EQ(list[1].body, "again|none|none|") << "of its own body alone";
      EXPECT_EQ(list[2].body, "fixed|none|none|");
      close(one);
    }
  }
}

TEST_P(BodyReading, refuses_trailers_that_are_too_many_or_malformed_as_ever) {
  start();
  for (const std::string target : {"/tells", "/tells-later", "/tells-as"}) {
    std::string many;
    for (int i = 0; i < 33; ++i) many += "X: y\r\n";
    EXPECT_EQ(ask_one(post_chunked(target, "hello", 2, "", many)).status, 431) << target;
    EXPECT_EQ(ask_one(post_chunked(target, "hello", 2, "", "X: " + std::string(9000, 'x') + "\r\n")).status, 431);
    EXPECT_EQ(ask_one(post_chunked(target, "hello", 2, "", "X : y\r\n")).status, 400) << target;
  }
}

}  // namespace
}  // namespace keel::http::body_reader_test
