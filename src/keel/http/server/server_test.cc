// The server over real sockets (io_uring, epoll) and simulated ones: one suite for all.

#include "keel/http/server/server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "keel/http/middleware/compression.h"
#include "keel/http/middleware/rate_limit.h"
#include "keel/http/testing/internal/server_fixture.h"
#include "keel/task/event.h"

namespace keel::http::server_test {
namespace {

using namespace internal;

INSTANTIATE_TEST_SUITE_P(, Servers, io::testing::every_engine(), io::testing::name_of_engine);

// --- Middleware.

struct Counts {
  int before_calls = 0;
  int after_calls = 0;
  std::optional<Response> before(Request&) {
    ++before_calls;
    return std::nullopt;
  }
  void after(Request&, Response& response) {
    ++after_calls;
    response.header("X-After", std::to_string(number(response.status())));
  }
};

TEST_P(Servers, run_middleware_after_whatever_became_of_a_request) {
  Counts counts;
  Group group = router_.group("/m");
  group.use(counts).get("/now", plaintext).get("/later", &later).get("/missing", missing).get("/throw", throws);
  group.get("/throw-later", &throws_later).get("/throw-instead", &throws_instead).get("/interim", [](Request&) {
    return Response(Status::EarlyHints);
  });
  group.get("/forever", &forever).post("/echo", echo).post("/echo-later", &echo_later);
  Limits limits;
  limits.body_bytes_max = 10;
  limits.request_timeout = 50_ms;
  start(limits);

  for (const auto& [target, status] : std::map<std::string, std::string>{{"/m/now", "200"},
                                                                         {"/m/later", "200"},
                                                                         {"/m/missing", "404"},
                                                                         {"/m/throw", "500"},
                                                                         {"/m/throw-later", "500"},
                                                                         {"/m/throw-instead", "500"},
                                                                         {"/m/forever", "504"}}) {
    const Reply reply = ask_one(get(target));
    EXPECT_EQ(std::to_string(reply.status), status) << target;
    EXPECT_EQ(reply.field("X-After"), status) << target;
  }
  EXPECT_EQ(ask_one(post("/m/echo", "12345")).field("X-After"), "200");
  EXPECT_EQ(ask_one(post("/m/echo-later", "12345")).field("X-After"), "200");
  EXPECT_EQ(ask_one("DELETE /m/now HTTP/1.1\r\nHost: a\r\n\r\n").field("X-After"), "405");
  EXPECT_EQ(counts.before_calls, 10);
  EXPECT_EQ(counts.after_calls, 10);
  EXPECT_EQ(ask_one(post("/m/echo", "12345678901")).field("X-After"), "") << "refused before it is one of a route";
  EXPECT_EQ(ask_one(get("/m/interim")).status, 500);
  EXPECT_EQ(counts.after_calls, 11);
}

struct Remembers {
  std::optional<Response> before(Request& request) {
    request.set(request.peer());
    return std::nullopt;
  }
};

TEST_P(Servers, say_that_an_answer_varies_by_what_is_accepted) {
  router_.get("/types", plaintext, {.produces = {"text/plain", "text/csv"}});
  start();
  EXPECT_EQ(ask_one(get("/types", "Accept: text/plain\r\n")).field("Vary"), "Accept");
  EXPECT_EQ(ask_one(get("/types")).field("Vary"), "Accept");
  const Reply refused = ask_one(get("/types", "Accept: image/png\r\n"));
  EXPECT_EQ(refused.status, 406);
  EXPECT_EQ(refused.field("Vary"), "Accept");
  EXPECT_EQ(ask_one(get("/plaintext", "Accept: text/plain\r\n")).field("Vary"), "");
}

// --- Handlers that wake others.

Event* published = nullptr;

Task<Response> subscribe(Request& request) {
  ++handlers_begun;
  co_await published->wait();
  co_return Response::text(Status::Ok, request.path());
}
// What was asked is told after the others have been waked.
Response publish(Request& request) {
  published->set();
  return Response::text(Status::Ok, std::string(to_string(request.method())) + " " + std::string(request.path()) + "?" +
                                        std::string(request.query()));
}
struct Publishes {
  void after(Request& request, Response& response) {
    published->set();
    response.header("X-Path", request.path());
  }
};
struct PublishesBefore {
  std::optional<Response> before(Request&) {
    published->set();
    return std::nullopt;
  }
};

// The next request of a connection that is waked is read into the same memory.
TEST_P(Servers, answer_who_wakes_others_before_the_next_requests_of_those) {
  router_.get("/subscribe", &subscribe).post("/publish", publish).get("/publish", publish);
  router_.group("/after").use(Publishes()).get("/publish", plaintext).get("/later", &later);
  router_.group("/before").use(PublishesBefore()).get("/publish", plaintext).get("/later", &later);
  start();
  const std::string behind[] = {get("/n/7"), "HEAD /n/7 HTTP/1.1\r\nHost: a\r\n\r\n"};
  const std::tuple<std::string, std::string, std::string> asked[] = {
      {post("/publish?x=1", "body"), "POST /publish?x=1", ""},
      {get("/publish?x=22"), "GET /publish?x=22", ""},
      {post_chunked("/publish?x=1", "body", 2), "POST /publish?x=1", ""},
      {get("/after/publish"), "Hello, World!", "/after/publish"},
      {get("/after/later"), "/after/later", "/after/later"},
      {get("/before/publish"), "Hello, World!", ""},
      {get("/before/later"), "/before/later", ""}};
  for (const std::string& next : behind) {
    const bool is_head = next.starts_with("HEAD");
    for (const auto& [request, answer, path] : asked) {
      SCOPED_TRACE(request + next);
      Event event;
      published = &event;
      handlers_begun = 0;
      Peer& waiting = peer();
      waiting.send(get("/subscribe") + next);
      ASSERT_TRUE(until([] { return handlers_begun == 1; }));
      settle();
      const Reply reply = ask_one(request);
      EXPECT_EQ(reply.status, 200);
      EXPECT_EQ(reply.body, answer);
      EXPECT_EQ(reply.field("X-Path"), path);
      const std::string end = is_head ? "Content-Length: 3\r\n\r\n" : "\r\n\r\nn=7";
      ASSERT_TRUE(until([&] { return waiting.wire().ends_with(end); })) << waiting.wire();
      EXPECT_NE(waiting.wire().find("\r\n\r\n/subscribeHTTP/1.1 200"), std::string::npos) << waiting.wire();
      close(waiting);
    }
  }
}

Task<> write_when_published(BodyWriter& body) {
  co_await published->wait();
  co_await body.write("begun");
}
Response stream_when_published(Request&) { return Response::stream(Status::Ok, "text/plain", &write_when_published); }

TEST_P(Servers, count_the_requests_in_progress) {
  router_.get("/subscribe", &subscribe).get("/published", stream_when_published).post("/whole", echo);
  start();
  Event event;
  published = &event;
  handlers_begun = 0;
  EXPECT_EQ(ask_one(get("/plaintext")).status, 200);
  EXPECT_EQ(server_->stats().in_progress, 0u) << "an idle connection has none";

  peer().send(get("/subscribe"));
  ASSERT_TRUE(until([] { return handlers_begun == 1; }));
  EXPECT_EQ(server_->stats().in_progress, 1u) << "in a handler";
  peer().send(get("/published"));
  ASSERT_TRUE(until([&] { return server_->stats().in_progress == 2; })) << "a streamed response";
  Peer& sending = peer();
  sending.send("POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n1");
  ASSERT_TRUE(until([&] { return server_->stats().in_progress == 3; })) << "a body that has not arrived";

  close(sending);
  ASSERT_TRUE(until([&] { return server_->stats().in_progress == 2; }));
  event.set();
  ASSERT_TRUE(until([&] { return server_->stats().in_progress == 0; }));
}

TEST_P(Servers, do_not_start_with_a_limit_that_no_head_has_room_for) {
  ServerOptions options;
  options.address = Address::parse("127.0.0.1:0").value();
  options.limits.head.fields_max = RequestHead::fields_capacity + 1;
  Server server(router_, options);
  const auto started = server.start(*loop_);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), Code::InvalidArgument);
  EXPECT_NE(started.error().message().find("fields_max"), std::string_view::npos) << started.error().message();
}

TEST_P(Servers, know_the_other_end_of_a_connection) {
  const auto peer_of = [](Request& request) {
    return Response::text(Status::Ok, request.get<Address>()->to_string() + " " + request.peer().to_string());
  };
  Group group = router_.group("/peer");
  group.use(Remembers()).get("/now", peer_of).get("/later", [](Request& request) -> Task<Response> {
    co_await sleep_for(1_ms);
    co_return Response::text(Status::Ok, request.get<Address>()->to_string() + " " + request.peer().to_string());
  });
  start();

  for (const char* target : {"/peer/now", "/peer/later"}) {
    const std::string body = ask_one(get(target)).body;
    const std::string first = body.substr(0, body.find(' '));
    EXPECT_TRUE(first.starts_with("127.0.0.1:")) << body;
    EXPECT_EQ(body, first + " " + first);
  }
}

TEST_P(Servers, limit_the_rate_of_one_client_over_its_connections) {
  router_.group("/limited").use(RateLimit({.requests = 3, .per = 1_h})).get("/now", plaintext).get("/later", &later);
  start();

  // Seconds, as they are when all is asked at the same time: a loaded machine may take a few.
  const auto is_about = [this](const std::string& text, int seconds) {
    const int given = std::stoi("0" + text);
    return given <= seconds && given >= seconds - (is_sim() ? 0 : 60);
  };
  const std::string first = ask_one(get("/limited/now")).field("RateLimit");
  EXPECT_TRUE(first.starts_with("\"default\";r=2;t=") && is_about(first.substr(16), 1200)) << first;
  const std::string second = ask_one(get("/limited/later")).field("RateLimit");
  EXPECT_TRUE(second.starts_with("\"default\";r=1;t=") && is_about(second.substr(16), 2400)) << second;
  EXPECT_EQ(ask_one(get("/limited/now")).status, 200);
  for (const char* target : {"/limited/now", "/limited/later"}) {
    const Reply refused = ask_one(get(target));
    EXPECT_EQ(refused.status, 429) << target;
    EXPECT_TRUE(is_about(refused.field("Retry-After"), 1200)) << refused.field("Retry-After");
  }
  EXPECT_EQ(ask_one(get("/plaintext")).status, 200);
}

TEST_P(Servers, compress_what_a_client_accepts) {
  router_.group("").use(Compression()).get("/compressed", [](Request&) {
    return Response::text(Status::Ok, kilobyte);
  });
  start();

  const Reply coded = ask_one(get("/compressed", "Accept-Encoding: gzip\r\n"));
  EXPECT_EQ(coded.field("Content-Encoding"), "gzip");
  EXPECT_LT(coded.body.size(), kilobyte.size());
  EXPECT_EQ(coded.field("Content-Length"), std::to_string(coded.body.size()));
  EXPECT_EQ(ask_one(get("/compressed")).body, kilobyte);
  const std::string head = exchange("HEAD /compressed HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
  EXPECT_NE(head.find("\r\nContent-Length: " + std::to_string(coded.body.size()) + "\r\n"), std::string::npos) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

// --- Answers.

TEST_P(Servers, answer_a_request_with_length_date_and_type) {
  start();
  const Reply reply = ask_one(get("/plaintext"));

  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "Hello, World!");
  EXPECT_TRUE(reply.head.starts_with("HTTP/1.1 200 OK\r\n")) << reply.head;
  EXPECT_EQ(reply.field("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(reply.field("Content-Length"), "13");
  EXPECT_TRUE(reply.field("Date").ends_with(" GMT")) << reply.head;
  EXPECT_FALSE(reply.closes());
  EXPECT_EQ(ask_one(get("/json")).body, "{\"x\":7}");
}

TEST_P(Servers, keep_connections_open_between_requests) {
  start();
  Peer& one = peer();
  for (std::size_t i = 1; i <= 5; ++i) {
    one.send(get(i % 2 == 0 ? "/plaintext" : "/later"));
    ASSERT_TRUE(has_replies(one, i));
  }
  EXPECT_FALSE(one.has_ended());
  EXPECT_EQ(server_->stats().accepted, 1u);
  EXPECT_EQ(server_->stats().requests, 5u);
}

TEST_P(Servers, answer_pipelined_requests_in_order_whatever_answers_them) {
  start();
  std::string wire;
  std::vector<std::string> expected;
  for (int i = 0; i < 60; ++i) {
    const std::string id = std::to_string(i);
    switch (i % 4) {
      case 0:
        wire += get("/n/" + id);
        expected.push_back("n=" + id);
        break;
      case 1:
        wire += get("/t/" + id);
        expected.push_back("t=" + id);
        break;
      case 2:
        wire += post("/echo", "now" + id);
        expected.push_back("now" + id);
        break;
      default:
        wire += post("/echo-later", "later" + id);
        expected.push_back("later" + id);
        break;
    }
  }
  const auto list = ask(wire);

  ASSERT_EQ(list.size(), expected.size());
  for (std::size_t i = 0; i < list.size(); ++i) EXPECT_EQ(list[i].body, expected[i]) << i;
}

TEST_P(Servers, answer_hundreds_of_pipelined_requests_in_shares_also_when_the_peer_has_finished) {
  start();
  std::string wire;
  for (int i = 0; i < 500; ++i) wire += get("/n/" + std::to_string(i));
  Peer& many = peer();
  many.send(wire);
  many.finish_writing();
  Peer& few = peer();
  few.send(get("/n/7"));

  ASSERT_TRUE(has_replies(few, 1));
  ASSERT_TRUE(has_replies(many, 500));
  const auto list = many.all();
  for (std::size_t i = 0; i < list.size(); ++i) ASSERT_EQ(list[i].body, "n=" + std::to_string(i));
  EXPECT_TRUE(until([&] { return many.has_ended(); }));
}

TEST_P(Servers, answer_a_request_that_arrives_with_the_end_of_a_body_for_a_task) {
  start();
  Peer& one = peer();
  const std::string first = post("/echo-later", "abcdef");
  one.send(first.substr(0, first.size() - 3));
  settle();
  one.send(first.substr(first.size() - 3) + get("/n/2"));

  ASSERT_TRUE(has_replies(one, 2));
  EXPECT_EQ(one.all()[0].body, "abcdef");
  EXPECT_EQ(one.all()[1].body, "n=2");
}

TEST_P(Servers, answer_head_like_get_without_the_body) {
  start();
  const std::string wire = exchange("HEAD /plaintext HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(wire.find("Content-Length: 13\r\n"), std::string::npos);
  EXPECT_TRUE(wire.ends_with("\r\n\r\n")) << wire;
  const std::string of_large = exchange("HEAD /large HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(of_large.find("Content-Length: 10485760\r\n"), std::string::npos);
  EXPECT_TRUE(of_large.ends_with("\r\n\r\n"));
}

// RFC 9110 §8.6: a Content-Length of HEAD is that of GET, which a handler of HEAD alone need not know.
TEST_P(Servers, say_no_length_for_a_handler_of_head_that_gave_no_content) {
  const auto own = [](std::string_view text) {
    return Handler{[text](Request&) -> Result<Response> { return Response::text(Status::Ok, text).header("X", "own"); },
                   {}};
  };
  router_.get("/own", plaintext).add(Method::Head, "/own", own(""));
  router_.get("/told", plaintext).add(Method::Head, "/told", own("Hello, World!"));
  router_.get("/empty", [](Request&) { return Response::text(Status::Ok, ""); });
  start();
  const auto head = [&](const std::string& target) {
    return exchange("HEAD " + target + " HTTP/1.1\r\nHost: a\r\n\r\n" + get("/n/1"));
  };

  EXPECT_EQ(head("/own").find("Content-Length: 0"), std::string::npos) << head("/own");
  EXPECT_NE(head("/own").find("X: own\r\n\r\nHTTP/1.1 200 OK\r\n"), std::string::npos) << head("/own");
  EXPECT_TRUE(head("/own").ends_with("n=1"));
  EXPECT_NE(head("/told").find("Content-Length: 13\r\n"), std::string::npos);
  EXPECT_NE(head("/empty").find("Content-Length: 0\r\n"), std::string::npos) << "that of GET";
}

Task<> write_nor_this(BodyWriter& out) { co_await out.write("nor this"); }

TEST_P(Servers, send_no_content_with_205) {
  router_.get("/reset", [](Request&) { return Response::text(Status::ResetContent, "none of this"); });
  router_.get("/reset-large",
              [](Request&) { return Response::text(Status::ResetContent, std::string(std::size_t{1} << 20, 'x')); });
  router_.get("/reset-streamed",
              [](Request&) { return Response::stream(Status::ResetContent, "text/plain", &write_nor_this); });
  start();
  for (const char* const path : {"/reset", "/reset-large", "/reset-streamed"}) {
    for (const std::string method : {"GET ", "HEAD "}) {
      const std::string wire = exchange(method + path + " HTTP/1.1\r\nHost: a\r\n\r\n" + get("/n/2"));
      const std::string reset = wire.substr(0, wire.find("\r\n\r\n") + 4);
      // RFC 9110 §15.3.6.
      EXPECT_TRUE(reset.starts_with("HTTP/1.1 205 Reset Content\r\n")) << reset;
      EXPECT_NE(reset.find("\r\nContent-Length: 0\r\n"), std::string::npos) << reset;
      EXPECT_EQ(reset.find("Content-Type"), std::string::npos) << reset;
      EXPECT_EQ(reset.find("Transfer-Encoding"), std::string::npos) << reset;
      EXPECT_TRUE(wire.substr(reset.size()).starts_with("HTTP/1.1 200 OK\r\n")) << wire.substr(0, 400);
    }
  }
}

TEST_P(Servers, name_the_methods_of_a_path) {
  start();
  const Reply options = ask_one("OPTIONS /n/1 HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.field("Content-Length"), "");  // RFC 9110 §8.6: none in a 204.
  EXPECT_EQ(ask_one("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").status, 204);
  const Reply refused = ask_one("PUT /n/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(refused.status, 405);
  for (const char* method : {"GET", "HEAD", "DELETE", "OPTIONS"}) {
    EXPECT_NE(options.field("Allow").find(method), std::string::npos) << options.head;
    EXPECT_NE(refused.field("Allow").find(method), std::string::npos) << refused.head;
  }
  EXPECT_EQ(refused.field("Allow").find("PUT"), std::string::npos);
  EXPECT_EQ(refused.field("Content-Type"), "application/problem+json");
}

TEST_P(Servers, answer_unknown_paths_with_404_and_unknown_methods_with_501) {
  start();
  const Reply reply = ask_one(get("/nowhere"));
  EXPECT_EQ(reply.status, 404);
  EXPECT_NE(reply.body.find("\"status\":404"), std::string::npos) << reply.body;
  EXPECT_EQ(ask_one("BREW /plaintext HTTP/1.1\r\nHost: a\r\n\r\n").status, 501);
  EXPECT_EQ(ask_one("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n").status, 501);
}

TEST_P(Servers, speak_http_1_0_and_keep_alive_only_when_asked) {
  start();
  Peer& one = peer();
  one.send("GET /plaintext HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  ASSERT_EQ(one.all().size(), 1u);
  EXPECT_TRUE(one.all()[0].closes());
  const auto kept = ask("GET /plaintext HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + get("/n/1"));
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].field("Connection"), "keep-alive");
}

TEST_P(Servers, turn_errors_and_exceptions_into_problems_that_tell_no_secrets) {
  start();
  EXPECT_EQ(ask_one(get("/missing")).status, 404);
  EXPECT_NE(ask_one(get("/missing")).body.find("no such thing"), std::string::npos);
  EXPECT_EQ(ask_one(get("/n/seven")).status, 400);
  for (const char* path : {"/broken", "/throw", "/throw-later", "/throw-instead"}) {
    const auto list = ask(get(path) + get("/n/1"));
    ASSERT_EQ(list.size(), 2u) << path;
    EXPECT_EQ(list[0].status, 500) << path;
    EXPECT_EQ(list[0].field("Content-Type"), "application/problem+json");
    EXPECT_EQ(list[0].body.find("secret"), std::string::npos) << list[0].body;
    EXPECT_EQ(list[1].body, "n=1");
  }
}

TEST_P(Servers, answer_500_when_a_response_would_be_split) {
  start();
  const std::string wire = exchange(get("/inject"));
  EXPECT_EQ(wire.find("Set-Cookie"), std::string::npos);
  EXPECT_EQ(replies(wire).at(0).status, 500);
}

TEST_P(Servers, answer_500_when_a_handler_gives_no_final_status) {
  router_.get("/beyond", [](Request&) { return Response(static_cast<Status>(600)); });
  start();
  const auto list = ask(get("/interim") + get("/beyond") + get("/n/1"));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].status, 500);
  EXPECT_EQ(list[1].status, 500);
  EXPECT_EQ(list[2].body, "n=1");
}

TEST_P(Servers, indent_json_for_people_when_asked_to) {
  options_.indent_json = true;
  router_.get("/point", point).get("/as-text", [](Request&) { return Response::text(Status::Ok, R"({"x":7})"); });
  start();

  EXPECT_EQ(ask_one(get("/point")).body, "{\n  \"x\": 7\n}");
  EXPECT_EQ(ask_one(get("/as-text")).body, R"({"x":7})") << "of another type";
}

TEST_P(Servers, send_one_type) {
  router_.get("/typed", [](Request&) { return Response::text(Status::Ok, "{}").header("Content-Type", "text/json"); });
  start();
  const std::string wire = exchange(get("/typed"));
  EXPECT_NE(wire.find("Content-Type: text/json\r\n"), std::string::npos) << wire;
  EXPECT_EQ(wire.find("text/plain"), std::string::npos) << wire;
}

// --- Bodies.

TEST_P(Servers, take_bodies_up_to_the_limit_and_refuse_larger_ones_before_reading) {
  Limits limits;
  limits.body_bytes_max = 200'000;
  start(limits);
  const std::string body(200'000, 'b');
  EXPECT_EQ(ask_one(post("/echo", body)).body, body);
  EXPECT_EQ(ask_one(post("/echo-later", body)).body, body);

  Peer& one = peer();
  one.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 200001\r\n\r\n");
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].status, 413);
  EXPECT_TRUE(one.all()[0].closes());
}

TEST_P(Servers, let_a_refusal_arrive_although_the_body_is_still_coming) {
  Limits limits;
  limits.body_bytes_max = 1000;
  start(limits);
  for (const char* fields : {"", "Connection: close\r\n"}) {
    Peer& one = peer();
    one.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n" + std::string(fields) + "\r\n");
    for (int i = 0; i < 30; ++i) one.send(std::string(10'000, 'b'));
    one.finish_writing();
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    ASSERT_EQ(one.all().size(), 1u) << fields;
    EXPECT_EQ(one.all()[0].status, 413);
    EXPECT_EQ(one.error(), 0);
  }
}

TEST_P(Servers, refuse_a_chunked_body_as_soon_as_its_sum_passes_the_limit) {
  Limits limits;
  limits.body_bytes_max = 1000;
  start(limits);
  Peer& one = peer();
  one.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 10; ++i) one.send("64\r\n" + std::string(100, 'c') + "\r\n");
  settle();
  EXPECT_EQ(one.all().size(), 0u);
  one.send("1\r\n");
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_EQ(one.all()[0].status, 413);
}

TEST_P(Servers, say_continue_when_the_body_waits_for_it) {
  start();
  for (const char* path : {"/echo", "/echo-later"}) {
    Peer& one = peer();
    one.send("POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    ASSERT_TRUE(until([&] { return one.wire() == "HTTP/1.1 100 Continue\r\n\r\n"; })) << one.wire();
    one.send("hello");
    ASSERT_TRUE(has_replies(one, 1));
    EXPECT_EQ(one.all()[0].body, "hello");
    EXPECT_FALSE(one.all()[0].closes());
  }
}

TEST_P(Servers, close_when_the_final_answer_comes_before_the_expected_body) {
  start();
  for (const char* request :
       {"POST /nowhere HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9999999\r\n\r\n"}) {
    Peer& one = peer();
    one.send(request);
    ASSERT_TRUE(has_replies(one, 1));
    EXPECT_TRUE(one.all()[0].closes());
    one.send(get("/n/1"));  // The client sends a body that looks like a request.
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    EXPECT_EQ(one.all().size(), 1u);
    EXPECT_EQ(one.wire().find("100 Continue"), std::string::npos);
  }
}

TEST_P(Servers, refuse_head_without_content) {
  Limits limits;
  limits.head.fields_max = 4;
  limits.body_bytes_max = 10;
  limits.header_timeout = limits.body_timeout = 50_ms;
  start(limits);
  const std::string head = "HEAD /n/1 HTTP/1.1\r\nHost: a\r\n";
  for (const auto& [request, status] :
       {std::pair(head + "Content-Length: 11\r\n\r\n", "413"), std::pair(head + "a:\r\nb:\r\nc:\r\nd:\r\n\r\n", "431"),
        std::pair(head + "Transfer-Encoding: chunked\r\n\r\nx", "400"),
        std::pair(head + "Content-Length: 9\r\n\r\nx", "408"), std::pair(head + "a: b", "408")}) {
    Peer& one = peer();
    one.send(request);
    ASSERT_TRUE(until([&] { return one.has_ended(); })) << request;
    EXPECT_TRUE(one.wire().starts_with("HTTP/1.1 " + std::string(status))) << one.wire();
    EXPECT_TRUE(one.wire().find("\r\n\r\n") == one.wire().size() - 4) << one.wire();
  }
}

Task<> write_word(BodyWriter& out) { co_await out.write("word"); }

struct AnswersFirst {
  std::optional<Response> before(Request& request) {
    if (request.path() == "/throw-first") throw std::runtime_error("secret of the middleware");
    if (request.path() == "/stream-first") return Response::stream(Status::Ok, "text/plain", &write_word);
    return std::nullopt;
  }
};

TEST_P(Servers, answer_whatever_middleware_does_in_place_of_their_own_answer_to_an_expected_body) {
  router_.use(AnswersFirst());
  start();
  for (const auto& [target, status, body] :
       {std::tuple("/throw-first", 500, ""), std::tuple("/stream-first", 200, "word")}) {
    Peer& one = peer();
    one.send("POST " + std::string(target) +
             " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n");
    ASSERT_TRUE(has_replies(one, 1)) << target;
    one.send(get("/n/1"));
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    ASSERT_EQ(one.all().size(), 1u);
    const Reply reply = one.all()[0];
    EXPECT_EQ(reply.status, status);
    EXPECT_TRUE(reply.closes());
    EXPECT_EQ(reply.head.find("secret"), std::string::npos);
    if (status == 200) {
      EXPECT_EQ(reply.body, body);
    }
  }
}

// --- Peers that go.

TEST_P(Servers, answer_a_peer_that_has_finished_writing) {
  start();
  const auto list = ask(get("/slow") + get("/slow"));
  EXPECT_EQ(list.size(), 2u);
}

TEST_P(Servers, answer_what_came_before_a_body_that_was_cut_short) {
  start();
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  one.send(get("/n/1") + get("/large") + "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  one.finish_writing();
  settle();
  one.resume();
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  ASSERT_EQ(one.all().size(), 2u);
  EXPECT_TRUE(one.all()[1].body == large);
}

TEST_P(Servers, survive_a_peer_that_leaves_during_a_handler) {
  start();
  Peer& one = peer();
  one.send(get("/slow") + get("/n/1"));
  ASSERT_TRUE(until([&] { return handlers_running == 1; }));
  close(one);
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
  EXPECT_EQ(handlers_running.load(), 0);
}

TEST_P(Servers, stop_the_task_of_a_client_that_resets_its_connection) {
  start();
  Peer& one = peer();
  one.send(get("/forever") + get("/n/1"));
  ASSERT_TRUE(until([&] { return handlers_running == 1; }));
  settle();
  reset(one);
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
  EXPECT_EQ(handlers_running.load(), 0);
  EXPECT_EQ(server_->stats().aborted, 1u);
}

TEST_P(Servers, read_what_follows_a_request_in_progress_up_to_a_bound) {
  start({}, {.receive_buffer_bytes = 64 * 1024});
  held_back = true;
  Peer& one = peer();
  one.send(get("/held"));
  ASSERT_TRUE(until([&] { return handlers_running == 1; }));
  std::string wire;
  while (wire.size() < (8u << 20)) wire += get("/n/1", "X-Pad: " + std::string(2000, 'x') + "\r\n");
  one.send(wire);
  pass(20_ms);
  EXPECT_FALSE(one.is_sent());
  EXPECT_TRUE(one.all().empty());
  held_back = false;
  ASSERT_TRUE(until([&] { return one.is_sent(); }));
}

// --- Where requests come from.

Response origin_of_request(Request& request) {
  Address client = request.client_address();
  client.set_port(0);
  return Response::text(Status::Ok, client.to_string() + " " + std::string(request.scheme()) + " " +
                                        std::string(request.host()) + " " + std::string(request.id()));
}
Task<Response> origin_later(Request& request) {
  co_await sleep_for(1_ms);
  co_return origin_of_request(request);
}
constexpr const char* forwarded =
    "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example:443\r\n"
    "X-Request-Id: req-7\r\n";

TEST_P(Servers, limit_the_clients_of_trusted_proxies_one_by_one) {
  options_.trusted_proxies.push_back(Network::parse("0.0.0.0/0").value());
  router_.use(RateLimit({.requests = 1, .per = 1_h})).get("/limited", plaintext);
  start();
  EXPECT_EQ(ask_one(get("/limited", "X-Forwarded-For: 203.0.113.9\r\n")).status, 200);
  EXPECT_EQ(ask_one(get("/limited", "X-Forwarded-For: 203.0.113.8\r\n")).status, 200);
  EXPECT_EQ(ask_one(get("/limited", "X-Forwarded-For: 203.0.113.9\r\n")).status, 429);
}

TEST_P(Servers, limit_clients_by_a_field_and_by_address_without_mistaking_one_for_the_other) {
  options_.trusted_proxies.push_back(Network::parse("0.0.0.0/0").value());
  router_.use(RateLimit({.requests = 1, .per = 1_h, .header = "X-Api-Key"})).get("/limited", plaintext);
  start();
  // The address in bytes is the text of the key.
  EXPECT_EQ(ask_one(get("/limited", "X-Api-Key: ABCD\r\n")).status, 200);
  EXPECT_EQ(ask_one(get("/limited", "X-Forwarded-For: 65.66.67.68\r\n")).status, 200);
  EXPECT_EQ(ask_one(get("/limited", "X-Forwarded-For: 65.66.67.68\r\n")).status, 429);
  EXPECT_EQ(ask_one(get("/limited", "X-Api-Key: ABCD\r\n")).status, 429);
}

TEST_P(Servers, believe_proxies_that_are_trusted) {
  options_.trusted_proxies.push_back(Network::parse("0.0.0.0/0").value());
  options_.request_ids = true;
  router_.get("/origin", origin_of_request).get("/origin-later", &origin_later);
  start();
  for (const char* path : {"/origin", "/origin-later"}) {
    const Reply reply = ask_one(get(path, forwarded));
    EXPECT_EQ(reply.body, "203.0.113.9:0 https a req-7") << "the host is that of Host";
    EXPECT_EQ(reply.field("X-Request-Id"), "req-7");
  }
  // What is no token, or too long, is not taken.
  for (const std::string& id : {std::string("a b"), std::string("<x>{}"), std::string(129, 'x'), std::string()}) {
    const Reply reply = ask_one(get("/origin", "X-Request-Id: " + id + "\r\n"));
    EXPECT_EQ(reply.field("X-Request-Id").size(), 32u) << id;
  }
  EXPECT_EQ(ask_one(get("/origin", "X-Request-Id: " + std::string(128, 'x') + "\r\n")).field("X-Request-Id"),
            std::string(128, 'x'));
}

TEST_P(Servers, do_not_believe_anybody_else) {
  if (server_layers != nullptr) GTEST_SKIP() << "of another scheme";
  options_.request_ids = true;
  router_.get("/origin", origin_of_request).get("/origin-later", &origin_later);
  start();
  std::string before;
  for (const char* path : {"/origin", "/origin-later"}) {
    const Reply reply = ask_one(get(path, forwarded));
    const std::string id = reply.field("X-Request-Id");
    EXPECT_EQ(id.size(), 32u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
    EXPECT_NE(id, std::exchange(before, id));
    EXPECT_TRUE(reply.body.ends_with(":0 http a " + id)) << reply.body;
    EXPECT_EQ(reply.body.find("203.0.113.9"), std::string::npos);
  }
}

TEST_P(Servers, believe_in_each_thing_whom_they_are_told_to) {
  if (server_layers != nullptr) GTEST_SKIP() << "of another scheme";
  options_.request_ids = true;
  options_.trusted_proxies.push_back(Network::parse("0.0.0.0/0").value());
  options_.believed = {
      .proto = TrustedPeers::Nobody, .host = TrustedPeers::TrustedProxies, .request_id = TrustedPeers::Nobody};
  router_.get("/origin", origin_of_request);
  start();
  const Reply reply = ask_one(get("/origin", forwarded));
  EXPECT_EQ(reply.field("X-Request-Id").size(), 32u);
  EXPECT_EQ(reply.body, "203.0.113.9:0 http shop.example " + reply.field("X-Request-Id"));
}

TEST_P(Servers, believe_everybody_where_they_are_told_to) {
  if (server_layers != nullptr) GTEST_SKIP() << "of another scheme";
  options_.request_ids = true;
  options_.believed = {.host = TrustedPeers::Everybody, .request_id = TrustedPeers::Everybody};
  router_.get("/origin", origin_of_request);
  start();
  const Reply reply = ask_one(get("/origin", forwarded));
  EXPECT_EQ(reply.field("X-Request-Id"), "req-7");
  EXPECT_TRUE(reply.body.ends_with(":0 http shop.example req-7")) << reply.body;
  EXPECT_EQ(reply.body.find("203.0.113.9"), std::string::npos) << "but about who it is";
}

TEST_P(Servers, tell_no_request_id_unless_they_are_to) {
  start();
  EXPECT_EQ(ask_one(get("/plaintext", "X-Request-Id: req-7\r\n")).field("X-Request-Id"), "");
}

TEST_P(Servers, survive_peers_that_leave_at_any_byte) {
  start();
  const std::string wire = post("/echo-later", "hello") + get("/t/1");
  for (std::size_t cut = 0; cut <= wire.size(); ++cut) peer().send(wire.substr(0, cut));
  settle();
  close_all();
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
}

}  // namespace
}  // namespace keel::http::server_test
