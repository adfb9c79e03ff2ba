// Answers whose body is written while it leaves, on every engine.

#include "keel/http/server/body_writer.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "keel/http/testing/internal/server_fixture.h"

namespace keel::http::body_writer_test {
namespace {

using namespace internal;
using namespace std::string_literals;

bool goes_on = true;
int writers_running = 0;
std::uint64_t written = 0;
Code error_seen = Code::Internal;

struct Running {
  Running() { ++writers_running; }
  ~Running() { --writers_running; }
};

Task<> write_large(BodyWriter& out) {
  const Running running;
  for (std::size_t at = 0; at < large.size(); at += 7001) {
    Result<> result = co_await attempt(out.write(std::string_view(large).substr(at, 7001)));
    if (!result) {
      error_seen = result.error().code();
      co_await std::move(result).error();
    }
    written = out.written();
  }
}
Task<> write_at_once(BodyWriter& out) { co_await out.write(large); }
Task<> write_a_little(BodyWriter& out) {
  co_await out.write("one,");
  co_await out.write("");
  co_await sleep_for(2_ms);
  co_await out.write("two,");
  co_await out.write("three");
}
Task<> write_nothing(BodyWriter&) { co_return; }
Task<> write_and_wait(BodyWriter& out) {
  const Running running;
  co_await out.write("first");
  while (!goes_on) co_await sleep_for(1_ms);
  co_await out.write("last");
}
Task<> wait_for_ever(BodyWriter& out) {
  const Running running;
  co_await out.write("first");
  Result<> slept = co_await attempt(sleep_for(1_h));
  if (!slept) error_seen = slept.error().code();
}
Task<> write_slowly(BodyWriter& out) {
  for (int i = 0; i < 5; ++i) {
    co_await sleep_for(60_ms);
    co_await out.write(std::to_string(i));
  }
}
Task<> write_and_fail(BodyWriter& out) {
  co_await out.write("half of ");
  co_await sleep_for(2_ms);
  co_await fail(Code::Unavailable, "the other half is not there");
}
Task<> write_too_much(BodyWriter& out) {
  co_await out.write("12345");
  Result<> result = co_await attempt(out.write("678901"));
  if (!result) error_seen = result.error().code();
  co_await out.write("67890");
}
Task<> fail_at_once(BodyWriter&) { co_await fail(Code::Internal, "secret of the handler"); }
Task<> write_and_fail_at_once(BodyWriter& out) {
  co_await out.write("half of ");
  co_await fail(Code::Internal, "secret of the handler");
}
Task<> have_no_room(BodyWriter&) { co_await fail(Code::ResourceExhausted, "secret of the handler"); }
Task<> fail_later(BodyWriter&) {
  co_await sleep_for(2_ms);
  co_await fail(Code::Internal, "secret of the handler");
}
Task<> fail_instead(BodyWriter&) { throw std::runtime_error("secret of the handler"); }
Task<> repeat(BodyWriter& out, std::string text) {
  for (int i = 0; i < 3; ++i) {
    co_await out.write(text);
    co_await sleep_for(1_ms);
  }
}

template <Task<> (*write)(BodyWriter&)>
Response streamed(Request&) {
  return Response::stream(Status::Ok, "text/plain", write);
}
template <Task<> (*write)(BodyWriter&)>
Task<Response> streamed_later(Request&) {
  co_await sleep_for(1_ms);
  co_return Response::stream(Status::Ok, "text/plain", write).header("X-Kind", "later");
}
template <Task<> (*write)(BodyWriter&), std::uint64_t length>
Response streamed_of(Request&) {
  return Response::stream(Status::Ok, "text/plain", write).length(length);
}
// What it is given, a body may use until its end.
Task<> write_thrice(BodyWriter& out, const std::string& text, std::unique_ptr<std::string> more, std::uint64_t& count) {
  for (int i = 0; i < 3; ++i) {
    co_await out.write(text);
    co_await sleep_for(1_ms);
    co_await out.write(*more);
    ++count;
  }
}
Response of_what_is_kept(Request& request) {
  return Response::stream(Status::Ok, "text/plain", &write_thrice, std::string(request.query()),
                          std::make_unique<std::string>(request.path()), std::ref(written));
}
struct Poem {
  Task<> write(BodyWriter& out, int lines) {
    for (int i = 0; i < lines; ++i) co_await out.write(line);
  }
  Task<> write_all(BodyWriter& out) const { co_await out.write(line); }
  std::string line = "rose\n";
} poem;
Task<> copy_body(BodyWriter& out) {
  const Running running;
  while (true) {
    const Chunk chunk = co_await out.read_body();
    if (chunk.empty()) co_return;
    co_await out.write(chunk);
    co_await sleep_for(1_ms);
  }
}
// Reads while it writes.
Task<Response> duplex(Request&) { co_return Response::stream(Status::Ok, "application/octet-stream", &copy_body); }
Response duplex_now(Request&) { return Response::stream(Status::Ok, "application/octet-stream", &copy_body); }

Task<> write_a_sum(BodyWriter& out, bool fails) {
  EXPECT_TRUE(out.trailer("X-Sum", "12"));
  co_await out.write("hello");
  co_await sleep_for(1_ms);
  EXPECT_TRUE(out.trailer("Server-Timing", "rows;dur=1"));
  EXPECT_TRUE(out.trailer("Content-Length", "5").error().is_bug());
  EXPECT_TRUE(out.trailer("X", "a\r\nb").error().is_bug());
  EXPECT_TRUE(out.trailer("X", std::string(9000, 'x')).error().is_bug());
  if (fails) co_await fail(Code::Unavailable, "the rest is not there");
}

struct Stamps {
  void after(Request& request, Response& response) {
    const bool* const kept = request.get<bool>();
    response.header("X-Stamp", std::to_string(number(response.status())) + (kept == nullptr ? "" : " kept"));
  }
};
// Keeps a value for what comes after it.
struct Keeps {
  std::optional<Response> before(Request& request) {
    request.set(true);
    return std::nullopt;
  }
};

class BodyWriting : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    goes_on = true;
    writers_running = 0;
    written = 0;
    error_seen = Code::Internal;
    router_.get("/stream/large", &streamed<&write_large>).get("/stream/little", &streamed<&write_a_little>);
    router_.get("/stream/at-once", &streamed<&write_at_once>).get("/stream/nothing", &streamed<&write_nothing>);
    router_.get("/stream/later", &streamed_later<&write_a_little>).get("/stream/wait", &streamed<&write_and_wait>);
    router_.get("/stream/for-ever", &streamed<&wait_for_ever>).get("/stream/fail", &streamed<&write_and_fail>);
    router_.get("/stream/fail-at-once", &streamed<&fail_at_once>).get("/stream/no-room", &streamed<&have_no_room>);
    router_.get("/stream/fail-half", &streamed<&write_and_fail_at_once>)
        .get("/stream/fail-later", &streamed<&fail_later>);
    router_.get("/stream/throw", &streamed<&fail_instead>).get("/stream/kept", of_what_is_kept);
    router_.get("/stream/slowly", &streamed<&write_slowly>).get("/stream/not", [](Request& request) {
      Response response = streamed<&write_a_little>(request);
      Buffer bytes;
      bytes.append("whole");
      response.replace_content(std::move(bytes));
      return response;
    });
    router_.get("/stream/13", &streamed_of<&write_a_little, 13>).get("/stream/10", &streamed_of<&write_too_much, 10>);
    router_.get("/stream/14", &streamed_of<&write_a_little, 14>).get("/stream/0", &streamed_of<&write_nothing, 0>);
    router_.get("/stream/empty", [](Request&) { return Response::stream(Status::NoContent, "", &write_a_little); });
    router_.get("/stream/split", [](Request&) {
      return Response::stream(Status::Ok, "text/plain", &write_a_little).header("X", "a\r\nb");
    });
    router_.post("/stream/duplex", &duplex, {.body_bytes_max = 64u << 20, .streams_body = true});
    router_.post("/stream/wait", &streamed_later<&write_and_wait>, {.streams_body = true});
    router_.post("/stream/echo", [](Request& request) {
      return Response::stream(Status::Ok, "text/plain", &repeat, std::string(request.body()));
    });
    router_.get("/stream/sum", [](Request&) {
      return Response::stream(Status::Ok, "", &write_a_sum, false)
          .header("Trailer", "X-Sum, Server-Timing")
          .header("X-Kind", "sum");
    });
    router_.get("/stream/sum-5", [](Request&) {
      Response response = Response::stream(Status::Ok, "", &write_a_sum, false).length(5);
      return std::move(response).header("X-Kind", "sum").header("Trailer", "X-Sum");
    });
    router_.get("/stream/sum-fails", [](Request&) { return Response::stream(Status::Ok, "", &write_a_sum, true); });
    router_.get("/stream/poem", [](Request&) { return Response::stream(Status::Ok, "", poem, &Poem::write, 2); });
    router_.get("/stream/line", [](Request&) { return Response::stream(Status::Ok, "", poem, &Poem::write_all); });
    router_.post("/stream/duplex-now", duplex_now);
    router_.get("/sixteen", [](Request&) { return Response::text(Status::Ok, std::string(16 * 1024, 's')); });
    router_.group("/stamped")
        .use(Stamps())
        .get("/now", &streamed<&fail_at_once>)
        .get("/later", &streamed_later<&fail_at_once>)
        .get("/good", &streamed<&write_a_little>);
    router_.group("/kept")
        .use(Stamps())
        .use(Keeps())
        .get("/now", &streamed<&fail_at_once>)
        .get("/later", &streamed_later<&fail_at_once>);
  }
};

INSTANTIATE_TEST_SUITE_P(, BodyWriting, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(BodyWriting, sends_chunks_and_goes_on_with_the_connection) {
  start();
  Peer& one = peer();
  one.send(get("/stream/little") + get("/stream/later") + get("/stream/nothing") + get("/n/4"));
  ASSERT_TRUE(has_replies(one, 4));
  const auto list = one.all();
  EXPECT_EQ(list[0].status, 200);
  EXPECT_EQ(list[0].body, "one,two,three");
  EXPECT_EQ(list[0].field("Transfer-Encoding"), "chunked");
  EXPECT_EQ(list[0].field("Content-Length"), "");
  EXPECT_EQ(list[0].field("Content-Type"), "text/plain");
  EXPECT_NE(one.wire().find("4\r\none,\r\n"), std::string::npos);
  EXPECT_EQ(list[1].body, "one,two,three");
  EXPECT_EQ(list[1].field("X-Kind"), "later");
  EXPECT_EQ(list[2].body, "");
  EXPECT_EQ(list[3].body, "n=4");
  EXPECT_FALSE(list[3].closes());
  EXPECT_EQ(server_->stats().requests, 4u);
}

TEST_P(BodyWriting, sends_bodies_of_any_length_whole_with_requests_behind_them) {
  start();
  const auto list = ask(get("/stream/large") + get("/n/2") + get("/stream/at-once") + get("/n/4"));
  ASSERT_EQ(list.size(), 4u);
  EXPECT_TRUE(list[0].body == large);
  EXPECT_EQ(list[1].body, "n=2");
  EXPECT_TRUE(list[2].body == large);
  EXPECT_EQ(list[3].body, "n=4");
}

TEST_P(BodyWriting, announces_a_length_that_is_known) {
  start();
  const auto list = ask(get("/stream/13") + get("/stream/0") + get("/n/3"));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].field("Content-Length"), "13");
  EXPECT_EQ(list[0].field("Transfer-Encoding"), "");
  EXPECT_EQ(list[0].body, "one,two,three");
  EXPECT_EQ(list[1].field("Content-Length"), "0");
  EXPECT_EQ(list[2].body, "n=3");
}

TEST_P(BodyWriting, sends_no_body_to_head_and_where_the_status_has_none) {
  start();
  const std::string wire = exchange("HEAD /stream/little HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(wire.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_TRUE(wire.ends_with("\r\n\r\n")) << wire;
  EXPECT_EQ(wire.find("one"), std::string::npos);
  const std::string known = exchange("HEAD /stream/13 HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(known.find("Content-Length: 13\r\n"), std::string::npos);
  EXPECT_TRUE(known.ends_with("\r\n\r\n")) << known;
  const auto list = ask(get("/stream/empty") + get("/n/2"));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].status, 204);
  EXPECT_EQ(list[0].field("Transfer-Encoding"), "");
  EXPECT_EQ(list[1].body, "n=2");
}

TEST_P(BodyWriting, ends_with_the_connection_for_http_1_0) {
  start();
  const std::string wire = exchange("GET /stream/little HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(wire.find("Transfer-Encoding"), std::string::npos);
  EXPECT_EQ(wire.find("Content-Length"), std::string::npos);
  EXPECT_NE(wire.find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(wire.ends_with("\r\n\r\none,two,three")) << wire;
  const auto list = ask("GET /stream/13 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + get("/n/1"));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].body, "one,two,three");
}

TEST_P(BodyWriting, waits_for_a_client_that_does_not_read) {
  start({}, {.send_buffer_bytes = 64 * 1024});
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  one.send(get("/stream/large") + get("/n/2"));
  ASSERT_TRUE(until([&] { return written != 0; }));
  for (std::uint64_t before = 0; std::exchange(before, written) != written;) pass(30_ms);
  EXPECT_EQ(writers_running, 1);
  EXPECT_LT(written, large.size());

  one.resume();
  ASSERT_TRUE(until([&] { return one.wire().ends_with("n=2"); }));
  ASSERT_EQ(one.all().size(), 2u);
  EXPECT_TRUE(one.all()[0].body == large);
  EXPECT_EQ(one.all()[1].body, "n=2");
}

TEST_P(BodyWriting, lets_a_client_see_that_the_body_failed) {
  start();
  for (const char* path : {"/stream/fail", "/stream/14", "/stream/fail-later"}) {
    Peer& one = peer();
    one.send(get(path) + get("/n/1"));
    ASSERT_TRUE(until([&] { return one.has_ended(); })) << path;
    EXPECT_TRUE(one.all().empty()) << path << one.wire();
    EXPECT_EQ(one.wire().find("secret"), std::string::npos);
    EXPECT_FALSE(one.wire().ends_with("0\r\n\r\n")) << one.wire();
    close(one);
  }
  EXPECT_EQ(server_->stats().aborted, 3u);
  // Without a length and without chunks only a reset says so.
  Peer& old = peer();
  old.send("GET /stream/fail HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(until([&] { return old.has_ended(); }));
  EXPECT_EQ(old.error(), ECONNRESET);
}

TEST_P(BodyWriting, becomes_an_error_when_its_task_fails_before_the_head_has_left) {
  start();
  for (const char* path : {"/stream/throw", "/stream/fail-at-once", "/stream/fail-half", "/stream/no-room"}) {
    const auto list = ask(get(path) + get("/n/1"));
    ASSERT_EQ(list.size(), 2u) << path;
    EXPECT_EQ(list[0].status, std::string_view(path) == "/stream/no-room" ? 503 : 500) << path;
    EXPECT_EQ(list[0].field("Content-Type"), "application/problem+json");
    EXPECT_EQ(list[0].body.find("secret"), std::string::npos) << list[0].body;
    EXPECT_EQ(list[0].body.find("half of"), std::string::npos) << list[0].body;
    EXPECT_EQ(list[1].body, "n=1");
  }
  EXPECT_EQ(server_->stats().aborted, 0u);
  EXPECT_EQ(server_->stats().cut, 0u);
}

TEST_P(BodyWriting, becomes_an_error_that_middleware_sees) {
  start();
  const auto list = ask(get("/stamped/now") + get("/stamped/later") + get("/stamped/good") + get("/kept/later"));
  ASSERT_EQ(list.size(), 4u);
  for (const Reply& reply : list) EXPECT_TRUE(reply.field("X-Stamp").starts_with(std::to_string(reply.status)));
  EXPECT_EQ(list[0].status, 500);
  EXPECT_EQ(list[1].status, 500);
  EXPECT_EQ(list[2].body, "one,two,three");
  EXPECT_EQ(list[3].field("X-Stamp"), "500 kept");
  // The values of a synchronous handler's request are gone by then: middleware is not called without them.
  const Reply now = ask_one(get("/kept/now"));
  EXPECT_EQ(now.status, 500);
  EXPECT_EQ(now.field("X-Stamp"), "");
}

TEST_P(BodyWriting, refuses_to_write_more_than_was_announced) {
  start();
  error_seen = Code::NotFound;
  const auto list = ask(get("/stream/10") + get("/n/2"));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].body, "1234567890");
  EXPECT_EQ(error_seen, Code::Internal) << "a bug of the handler";
}

// The request that is asked behind it takes the place of what a handler that answers immediately was given.
TEST_P(BodyWriting, keeps_what_it_is_given_until_the_task_has_ended) {
  start();
  const auto list = ask(get("/stream/kept?abc") + post("/stream/echo", "hey") + get("/n/3"));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].body, "abc/stream/keptabc/stream/keptabc/stream/kept");
  EXPECT_EQ(written, 3u);
  EXPECT_EQ(list[1].body, "heyheyhey");
  EXPECT_EQ(list[2].body, "n=3");
}

TEST_P(BodyWriting, is_done_by_a_member_function) {
  start();
  const auto list = ask(get("/stream/poem") + get("/stream/line"));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].body, "rose\nrose\n");
  EXPECT_EQ(list[1].body, "rose\n");
}

TEST_P(BodyWriting, stops_the_task_of_a_peer_that_is_gone) {
  start({}, {.send_buffer_bytes = 64 * 1024});
  for (const char* path : {"/stream/large", "/stream/for-ever"}) {
    Peer& one = peer();
    ASSERT_TRUE(until([&] { return one.is_connected(); }));
    one.send(get(path));
    ASSERT_TRUE(until([&] { return writers_running == 1; }));
    one.pause();
    settle();
    reset(one);
    ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
    EXPECT_EQ(writers_running, 0);
  }
  EXPECT_EQ(error_seen, Code::Cancelled);
}

TEST_P(BodyWriting, goes_on_for_a_peer_that_has_finished_writing) {
  start();
  goes_on = false;
  Peer& one = peer();
  one.send(get("/stream/wait"));
  one.finish_writing();
  ASSERT_TRUE(until([&] { return writers_running == 1; }));
  settle();
  goes_on = true;
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  ASSERT_EQ(one.all().size(), 1u);
  EXPECT_EQ(one.all()[0].body, "firstlast");
}

// Whether such a peer is there is seen only when it is sent something.
TEST_P(BodyWriting, stops_the_task_of_a_peer_that_has_finished_writing_and_is_sent_nothing) {
  Limits limits;
  limits.idle_timeout = 50_ms;
  start(limits);
  for (const bool at_once : {true, false}) {
    Peer& one = peer();
    one.send(get("/stream/for-ever"));
    if (at_once) one.finish_writing();
    ASSERT_TRUE(until([&] { return writers_running == 1; }));
    if (!at_once) {
      pass(60_ms);
      EXPECT_EQ(writers_running, 1);
      one.finish_writing();
    }
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
    EXPECT_EQ(writers_running, 0);
    EXPECT_EQ(error_seen, Code::Cancelled);
    error_seen = Code::Internal;
  }
  EXPECT_EQ(server_->stats().timeouts, 2u);
}

TEST_P(BodyWriting, goes_on_for_a_peer_that_has_finished_writing_and_is_sent_something_in_time) {
  Limits limits;
  limits.idle_timeout = is_sim() ? 100_ms : 10_s;
  start(limits);
  EXPECT_EQ(ask_one(get("/stream/slowly")).body, "01234");
}

TEST_P(BodyWriting, stops_the_task_of_a_peer_that_takes_nothing) {
  Limits limits;
  limits.send_timeout = 100_ms;
  start(limits, {.send_buffer_bytes = 64 * 1024});
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  one.send(get("/stream/large"));
  ASSERT_TRUE(until([&] { return server_->stats().timeouts == 1; }));
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
  EXPECT_EQ(writers_running, 0);
  EXPECT_EQ(error_seen, Code::Cancelled);
}

TEST_P(BodyWriting, has_no_deadline_of_its_own) {
  Limits limits;
  limits.request_timeout = 20_ms;
  limits.idle_timeout = 20_ms;
  start(limits);
  goes_on = false;
  Peer& one = peer();
  one.send(get("/stream/wait"));
  ASSERT_TRUE(until([&] { return writers_running == 1; }));
  pass(60_ms);
  goes_on = true;
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].body, "firstlast");
}

TEST_P(BodyWriting, may_read_the_request_meanwhile) {
  start();
  const std::string body = io::testing::pattern(2 << 20);
  const auto list = ask(post("/stream/duplex", body) + post_chunked("/stream/duplex", body, 3000) + get("/n/3"));
  ASSERT_GE(list.size(), 1u);
  EXPECT_TRUE(list[0].body == body);
  const auto chunked = ask(post_chunked("/stream/duplex", body, 3000) + get("/n/3"));
  ASSERT_EQ(chunked.size(), 2u);
  EXPECT_TRUE(chunked[0].body == body);
  EXPECT_EQ(chunked[1].body, "n=3");
}

TEST_P(BodyWriting, may_read_the_request_of_a_handler_that_has_answered_at_once) {
  start();
  const std::string path = "/stream/duplex-now";
  const std::string body = io::testing::pattern(200'000);
  const auto list = ask(post(path, "small") + post_chunked(path, body, 3000) + post(path, body) + get("/n/3"));
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].body, "small");
  EXPECT_TRUE(list[1].body == body);
  EXPECT_TRUE(list[2].body == body);
  EXPECT_EQ(list[3].body, "n=3");
  EXPECT_EQ(server_->stats().body_bytes, 0u);
}

// RFC 9112 §7.1.2.
TEST_P(BodyWriting, ends_with_its_trailers_where_it_is_sent_in_chunks) {
  start();
  const std::string wire = exchange(get("/stream/sum") + get("/n/3"));
  const std::string body =
      "\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 12\r\nServer-Timing: rows;dur=1\r\n\r\nHTTP/1.1 200 OK\r\n";
  EXPECT_NE(wire.find("\r\nTrailer: X-Sum, Server-Timing\r\n"), std::string::npos) << wire;
  EXPECT_NE(wire.find(body), std::string::npos) << wire;
  for (const std::string& without : {get("/stream/sum-5"), "GET /stream/sum HTTP/1.0\r\nHost: a\r\n\r\n"s}) {
    const std::string whole = exchange(without);
    EXPECT_TRUE(whole.ends_with("\r\n\r\nhello")) << whole;
    EXPECT_EQ(whole.find("Trailer"), std::string::npos) << "what is not sent is not announced: " << whole;
    EXPECT_NE(whole.find("\r\nX-Kind: sum\r\n"), std::string::npos) << whole;
  }
  const std::string head = exchange("HEAD /stream/sum HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
  EXPECT_EQ(head.find("X-Sum: "), std::string::npos) << head;
  Peer& cut = peer();
  cut.send(get("/stream/sum-fails"));
  ASSERT_TRUE(until([&] { return cut.has_ended(); }));
  EXPECT_TRUE(cut.wire().ends_with("5\r\nhello\r\n")) << "what has failed has no end";
}

TEST_P(BodyWriting, says_continue_and_its_head_when_the_body_comes) {
  start();
  Peer& one = peer();
  one.send("POST /stream/duplex HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  const std::string begin = "HTTP/1.1 100 Continue\r\n\r\n";
  ASSERT_TRUE(until([&] { return one.wire().size() >= begin.size(); }));
  pass(50_ms);
  EXPECT_EQ(one.wire(), begin) << "a proxy that finds the head there too may lose the body";
  one.send("hello" + get("/n/3"));
  ASSERT_TRUE(has_replies(one, 2)) << one.wire();
  EXPECT_EQ(one.all()[0].body, "hello");
  EXPECT_EQ(one.all()[1].body, "n=3");
}

TEST_P(BodyWriting, says_continue_and_what_was_asked_before_it_when_the_client_reads_late) {
  Limits limits;
  limits.pipeline_bytes_max = 64 << 20;
  start(limits, {.send_buffer_bytes = 64 * 1024});
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  constexpr std::size_t before = 400;
  std::string wire;
  for (std::size_t i = 0; i < before; ++i) wire += get("/sixteen");
  one.send(wire + "POST /stream/duplex HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  ASSERT_TRUE(until([&] { return writers_running == 1; }));
  one.resume();
  ASSERT_TRUE(until([&] { return one.wire().size() > before * 16 * 1024 && one.wire().contains(" 100 Continue"); }));
  one.send("hello" + get("/n/3"));
  ASSERT_TRUE(until([&] { return one.wire().ends_with("n=3"); }));
  const auto list = one.all();
  ASSERT_EQ(list.size(), before + 2);
  EXPECT_EQ(list[before].body, "hello");
}

TEST_P(BodyWriting, begins_behind_continue_though_the_body_that_nobody_reads_does_not_come) {
  start();
  goes_on = false;
  Peer& one = peer();
  one.send("POST /stream/wait HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  ASSERT_TRUE(until([&] { return one.wire().find("first") != std::string::npos; })) << one.wire();
  EXPECT_TRUE(one.wire().starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ")) << one.wire();
  goes_on = true;
  ASSERT_TRUE(until([&] { return one.wire().find("last") != std::string::npos; })) << one.wire();
}

TEST_P(BodyWriting, is_not_begun_when_another_body_takes_its_place) {
  start();
  const auto list = ask(get("/stream/not") + get("/n/3"));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].field("Transfer-Encoding"), "");
  EXPECT_EQ(list[0].body, "whole");
  EXPECT_EQ(list[1].body, "n=3");
}

TEST_P(BodyWriting, is_sent_to_its_end_by_a_server_that_drains) {
  start();
  goes_on = false;
  Peer& one = peer();
  one.send(get("/stream/wait"));
  ASSERT_TRUE(until([&] { return writers_running == 1; }));
  server_->begin_drain(Duration());
  pass(150_ms);
  EXPECT_FALSE(server_->is_drained());
  goes_on = true;
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].body, "firstlast");
  ASSERT_TRUE(until([&] { return server_->is_drained(); }));
  EXPECT_TRUE(until([&] { return one.has_ended(); }));
}

TEST_P(BodyWriting, answers_500_when_its_head_would_be_split) {
  start();
  const auto list = ask(get("/stream/split") + get("/n/2"));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].status, 500);
  EXPECT_EQ(list[1].body, "n=2");
}

}  // namespace
}  // namespace keel::http::body_writer_test
