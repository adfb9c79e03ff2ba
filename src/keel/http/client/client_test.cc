// Calls that go well, and responses that are not what they should be, over real sockets and simulated ones. What is
// done about failures is in client_faults_test.cc.

#include "keel/http/client/client.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/http/message/content_decoder.h"
#include "keel/http/server/body_writer.h"
#include "keel/http/testing/internal/client_testing.h"
#include "keel/task/group.h"

namespace keel::http::client_test {
namespace {

using namespace internal;

class Clients : public ClientTest {};
INSTANTIATE_TEST_SUITE_P(, Clients, io::testing::every_engine(), io::testing::name_of_engine);

// The request as the handler saw it.
Response mirror(Request& request) {
  std::string text(request.head().method_text());
  text += ' ' + std::string(request.head().target()) + '\n';
  for (unsigned i = 0; i < request.head().field_count(); ++i) {
    const Field field = request.head().field(i);
    text += std::string(field.name) + ": " + std::string(field.value) + '\n';
  }
  return Response::text(Status::Ok, text + '\n' + std::string(request.body()));
}

// --- Calls.

TEST_P(Clients, get_gives_status_fields_and_body) {
  serve();
  const Result<ClientResponse> response = get("/plaintext");

  ASSERT_TRUE(response) << response.error().describe();
  EXPECT_EQ(response->status(), Status::Ok);
  EXPECT_EQ(response->body(), "Hello, World!");
  EXPECT_EQ(response->header("content-TYPE"), "text/plain; charset=utf-8");
  EXPECT_EQ(response->header("X-Nothing"), std::nullopt);
  EXPECT_EQ(response->url(), url("/plaintext"));
}

TEST_P(Clients, any_status_is_an_answer) {
  serve();
  EXPECT_EQ(get("/nowhere")->status(), Status::NotFound);
  EXPECT_EQ(get("/broken")->status(), Status::InternalServerError);
  EXPECT_EQ(run(client().del(url("/n/7")))->status(), Status::NoContent);
  EXPECT_EQ(get("/n/7?x=%20")->body(), "n=7");
}

TEST_P(Clients, head_reads_no_body_and_keeps_the_connection) {
  serve();
  const Result<ClientResponse> head = run(client().head(url("/kilobyte")));

  EXPECT_EQ(head->header("Content-Length"), "1024");
  EXPECT_EQ(head->body(), "");
  EXPECT_EQ(get("/kilobyte")->body(), kilobyte);
  EXPECT_EQ(server_->stats().accepted, 1u);
}

TEST_P(Clients, send_says_what_belongs_to_the_request_and_no_more) {
  router_.post("/mirror", mirror).get("/mirror", mirror).del("/mirror", mirror).patch("/mirror", mirror);
  serve();
  const std::string host = url("").substr(7) + "\nAccept-Encoding: " + std::string(ContentDecoder::accepted());

  EXPECT_EQ(get("/mirror?a=b")->body(), "GET /mirror?a=b\nHost: " + host + "\n\n");
  EXPECT_EQ(send(ClientRequest(Method::Post, url("/mirror")).header("X-A", "1").body("hello", "text/plain"))->body(),
            "POST /mirror\nHost: " + host + "\nX-A: 1\nContent-Type: text/plain\nContent-Length: 5\n\nhello");
  EXPECT_EQ(send(ClientRequest(Method::Post, url("/mirror")))->body(),
            "POST /mirror\nHost: " + host + "\nContent-Length: 0\n\n");
  EXPECT_EQ(send(ClientRequest(Method::Delete, url("/mirror")))->body(), "DELETE /mirror\nHost: " + host + "\n\n");
  EXPECT_EQ(send(ClientRequest(Method::Post, url("/mirror")).json(Point{3}))->body(),
            "POST /mirror\nHost: " + host + "\nContent-Type: application/json\nContent-Length: 7\n\n{\"x\":3}");
  EXPECT_EQ(run(client().patch(url("/mirror"), "p", "text/plain"))->body(),
            "PATCH /mirror\nHost: " + host + "\nContent-Type: text/plain\nContent-Length: 1\n\np");
}

TEST_P(Clients, bodies_of_every_size_go_and_come_back) {
  Limits limits;
  limits.body_bytes_max = 4 << 20;
  serve(limits);
  for (const std::size_t size : {0, 1, 1000, 65'536, 1'000'000}) {
    const std::string body = io::testing::pattern(size);
    const Result<ClientResponse> response = run(client().post(url("/echo-later"), body, "application/octet-stream"));
    ASSERT_TRUE(response) << response.error().describe();
    EXPECT_TRUE(response->body() == body) << size;
  }
  EXPECT_EQ(server_->stats().accepted, 1u);
}

TEST_P(Clients, a_name_is_looked_up) {
  serve();
  EXPECT_EQ(run(client().get(url("/plaintext", "users.internal")))->body(), "Hello, World!");

  const Result<ClientResponse> response = run(client().get(url("/plaintext", "nowhere.internal")));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::Upstream);
}

Task<> call_after_call(Client& client, std::string url, int calls, int& right) {
  for (int i = 0; i < calls; ++i) {
    const ClientResponse response = co_await client.get(url + std::to_string(i));
    if (response.body() == "t=" + std::to_string(i)) ++right;
  }
}
Task<> side_by_side(Client& client, std::string url, int callers, int calls, int& right) {
  Scope all;
  for (int i = 0; i < callers; ++i) all.spawn(call_after_call(client, url, calls, right));
  co_await all.join();
}

TEST_P(Clients, calls_side_by_side_get_their_own_answers_on_as_many_connections) {
  serve();
  int right = 0;
  ASSERT_TRUE(run(side_by_side(client(), url("/t/"), 8, 10, right)));

  EXPECT_EQ(right, 80);
  EXPECT_EQ(server_->stats().accepted, 8u);
  EXPECT_EQ(client().stats().idle_connections, 8u);
  EXPECT_EQ(client().stats().calls, 80u);
}

// --- Requests that are not sent.

TEST_P(Clients, nothing_can_be_smuggled_into_a_request) {
  raw().plays = {{RawServer::ok("")}};
  const std::string where = raw().url();
  std::vector<ClientRequest> requests;
  requests.push_back(ClientRequest(Method::Get, where).header("X", "a\r\nEvil: 1"));
  requests.push_back(ClientRequest(Method::Get, where).header("X", "a\nEvil: 1"));
  requests.push_back(ClientRequest(Method::Get, where).header("X", std::string("a\0b", 3)));
  requests.push_back(ClientRequest(Method::Get, where).header("X: a\r\nEvil", "1"));
  requests.push_back(ClientRequest(Method::Get, where).header("", "1"));
  requests.push_back(ClientRequest(Method::Get, where).header("X ", "1"));
  requests.push_back(ClientRequest(Method::Post, where).body("x", "text/plain\r\nEvil: 1"));
  requests.push_back(ClientRequest(Method::Post, where).idempotency_key("a\r\nEvil: 1"));
  requests.push_back(ClientRequest(Method::Get, where + "a b"));
  requests.push_back(ClientRequest(Method::Get, where + "a\r\nEvil: 1"));
  requests.push_back(ClientRequest(Method::Get, "http://user:password@127.0.0.1/"));
  requests.push_back(ClientRequest(Method::Connect, where));
  requests.push_back(ClientRequest(Method::Other, where));
  for (const char* name : {"Host", "content-length", "Transfer-Encoding", "Connection", "TE", "Upgrade", "Expect",
                           "Content-Type", "Trailer", "Keep-Alive"}) {
    requests.push_back(ClientRequest(Method::Post, where).header(name, "1"));
  }

  for (ClientRequest& request : requests) {
    const std::string text(request.url());
    const Result<ClientResponse> response = send(std::move(request));
    ASSERT_FALSE(response) << text;
    EXPECT_EQ(response.error().code(), Code::InvalidArgument) << response.error().describe();
  }
  EXPECT_EQ(raw().connections, 0);
}

TEST_P(Clients, a_scheme_that_is_not_http_is_rejected_before_anything_is_sent) {
  struct Vector {
    std::string_view url, says;
  };
  const Vector vectors[] = {
      {"https://127.0.0.1/secret?token=1", "https needs TLS, which this client does not have"},
      {"ws://127.0.0.1/secret?token=1", "ws:// and wss:// are URLs of WebSocket"},
      {"wss://127.0.0.1/secret?token=1", "ws:// and wss:// are URLs of WebSocket"},
  };
  for (const Vector& vector : vectors) {
    const Result<ClientResponse> response = run(client().get(vector.url));
    ASSERT_FALSE(response) << vector.url;
    EXPECT_EQ(response.error().code(), Code::Unsupported);
    EXPECT_NE(response.error().message().find(vector.says), std::string_view::npos) << response.error().message();
    EXPECT_EQ(response.error().message().find("token"), std::string_view::npos) << response.error().message();
  }
  EXPECT_EQ(client().stats().connections, 0u);
}

// Its text would be a handler's 400 or 501, which must not reveal the server and the user that it calls with.
TEST_P(Clients, an_error_of_the_request_does_not_say_whom_it_is_for) {
  for (const char* wrong :
       {"http://somebody:once@127.0.0.1/", "http://internal.host/a b", "https://internal.host/", "internal.host"}) {
    const Result<ClientResponse> response = run(client().get(wrong));
    ASSERT_FALSE(response) << wrong;
    for (const char* secret : {"somebody", "once", "internal.host"}) {
      EXPECT_EQ(problem(response.error()).content().find(secret), std::string_view::npos)
          << problem(response.error()).content();
    }
  }
}

// --- Streams.

TEST_P(Clients, a_streamed_answer_comes_piece_by_piece_and_gives_its_connection_back) {
  serve();
  Result<ClientStream> stream = run(client().open({Method::Get, url("/large")}));
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(stream->status(), Status::Ok);
  EXPECT_EQ(client().stats().idle_connections, 0u);

  EXPECT_TRUE(*run(read_all(*stream)) == large);

  EXPECT_EQ(client().stats().idle_connections, 1u);
  EXPECT_EQ(get("/plaintext")->body(), "Hello, World!");
  EXPECT_EQ(server_->stats().accepted, 1u);
}

TEST_P(Clients, a_streamed_answer_that_is_not_read_slows_the_server_and_costs_no_memory) {
  serve();
  Result<ClientStream> stream = run(client().open({Method::Get, url("/large")}));
  ASSERT_TRUE(stream);
  EXPECT_FALSE(run(stream->read())->empty());
  pass(20_ms);

  EXPECT_EQ(server_->stats().connections, 1u);
  EXPECT_EQ(server_->stats().aborted, 0u);
  {
    const ClientStream gone = *std::move(stream);
  }
  EXPECT_TRUE(until([&] { return server_->stats().connections == 0; }));
  EXPECT_EQ(client().stats().connections, 0u);
}

Task<> write_numbers(ClientBodyWriter& body, int count) {
  for (int i = 0; i < count; ++i) co_await body.write(std::to_string(i) + '\n');
}
std::string numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i) + '\n';
  return text;
}

TEST_P(Clients, a_body_may_be_written_while_it_is_sent) {
  serve();
  const int count = 20'000;
  const auto writer = [](ClientBodyWriter& body) { return write_numbers(body, count); };
  const std::string expected = numbers(count);

  EXPECT_TRUE(send(ClientRequest(Method::Post, url("/echo")).stream("text/plain", writer))->body() == expected);
  EXPECT_TRUE(send(ClientRequest(Method::Post, url("/echo")).stream("text/plain", writer, expected.size()))->body() ==
              expected);
  EXPECT_EQ(server_->stats().accepted, 1u);
}

TEST_P(Clients, a_body_that_is_not_as_long_as_announced_ends_the_call_and_the_connection) {
  serve();
  const auto writer = [](ClientBodyWriter& body) { return write_numbers(body, 10); };
  for (const std::uint64_t length : {19, 21}) {
    const Result<ClientResponse> response =
        send(ClientRequest(Method::Post, url("/echo")).stream("text/plain", writer, length));
    ASSERT_FALSE(response) << length;
    EXPECT_EQ(response.error().code(), Code::InvalidArgument) << response.error().describe();
  }
  EXPECT_TRUE(until([&] { return server_->stats().connections == 0; }));
  EXPECT_EQ(send(ClientRequest(Method::Post, url("/echo")).stream("text/plain", writer, 20))->body(), numbers(10));
}

Task<Response> sum_up(Request& request) {
  std::size_t bytes = 0;
  while (true) {
    const Chunk chunk = co_await request.read_body();
    if (chunk.empty()) break;
    bytes += chunk.size();
  }
  co_return Response::text(Status::Ok, std::to_string(bytes));
}
Task<> count_up(BodyWriter& out) {
  for (int i = 0; i < 20'000; ++i) co_await out.write(std::to_string(i) + '\n');
}

TEST_P(Clients, streams_meet_handlers_that_stream) {
  router_.put("/sum", &sum_up, {.body_bytes_max = 16 << 20, .streams_body = true});
  router_.get("/count", [](Request&) { return Response::stream(Status::Ok, "text/plain", &count_up); });
  serve();
  const std::string body(5 << 20, 'x');
  EXPECT_EQ(run(client().put(url("/sum"), body, "text/plain"))->body(), std::to_string(body.size()));

  Result<ClientStream> stream = run(client().open({Method::Get, url("/count")}));
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_TRUE(*run(read_all(*stream)) == numbers(20'000));
  EXPECT_EQ(server_->stats().accepted, 1u);
}

Task<> fail_after_some(ClientBodyWriter& body) {
  co_await body.write("some");
  co_await fail(Code::DataLoss, "the file is broken");
}

Task<> write_and_go_on(ClientBodyWriter& body, const std::string& block) {
  static_cast<void>(co_await attempt(body.write(block)));
}
// The second write would make the length right.
Task<> write_for_a_moment(ClientBodyWriter& body, const std::string& block) {
  static_cast<void>(co_await attempt(with_timeout(5_ms, body.write(block))));
  static_cast<void>(co_await attempt(body.write(block)));
}

TEST_P(Clients, an_error_of_the_one_who_writes_the_body_is_the_error_of_the_call) {
  serve();
  const Result<ClientResponse> response =
      send(ClientRequest(Method::Post, url("/echo")).stream("text/plain", fail_after_some));

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::DataLoss);
  EXPECT_EQ(client().stats().connections, 0u);
}

TEST_P(Clients, an_answer_that_comes_before_the_body_was_sent_ends_the_sending) {
  raw().plays = {{.reply = RawServer::answer("413 Content Too Large"), .reads_body = false}, {RawServer::ok("next")}};
  // More than all buffers on the way hold.
  const std::string body(24 << 20, 'x');
  const Result<ClientResponse> response = run(client().post(raw().url(), body, "text/plain"));

  ASSERT_TRUE(response) << response.error().describe();
  EXPECT_EQ(response->status(), Status::ContentTooLarge);
  EXPECT_EQ(client().stats().connections, 0u) << "the rest of the body never comes";
  EXPECT_EQ(run(client().get(raw().url()))->body(), "next");
}

// Whatever the function makes of the error: nobody knows where the body is.
TEST_P(Clients, a_body_whose_writer_passes_over_an_error_is_not_sent) {
  raw().plays = {{.reply = RawServer::answer("413 Content Too Large"), .reads_body = false}, {RawServer::ok("next")}};
  const std::string block(24 << 20, 'x');
  const auto passes_over = [&block](ClientBodyWriter& body) -> Task<> { return write_and_go_on(body, block); };
  const Result<ClientResponse> response =
      send(ClientRequest(Method::Post, raw().url()).stream("text/plain", passes_over, block.size()));
  ASSERT_TRUE(response) << response.error().describe();
  EXPECT_EQ(response->status(), Status::ContentTooLarge);
  EXPECT_EQ(client().stats().connections, 0u);
  EXPECT_EQ(run(client().get(raw().url()))->body(), "next");
}

TEST_P(Clients, a_body_whose_writer_gave_up_waiting_is_not_sent) {
  raw().plays = {{.reply = RawServer::ok("late"), .after = 1_h, .reads_body = false}, {RawServer::ok("next")}};
  const std::string block(24 << 20, 'x');
  for (const bool has_length : {true, false}) {
    const auto gives_up = [&block](ClientBodyWriter& body) -> Task<> { return write_for_a_moment(body, block); };
    ClientRequest request(Method::Post, raw().url());
    if (has_length) {
      request.stream("text/plain", gives_up, 2 * block.size());
    } else {
      request.stream("text/plain", gives_up);
    }
    raw().plays[0].after = 1_h;
    const Result<ClientResponse> response = send(std::move(request));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::Unavailable) << response.error().describe();
    EXPECT_EQ(client().stats().connections, 0u);
    raw().plays = {{.reply = RawServer::ok("late"), .reads_body = false}};
  }
  EXPECT_EQ(client().breaker(raw().url()), CircuitBreaker::State::Closed);
}

// --- Trailers.

TEST_P(Clients, trailers_are_there_when_the_body_was_read) {
  const std::string reply =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 12 \r\nSet-Cookie: a=b\r\n"
      "grpc-status: 0\r\n\r\n";
  raw().plays = {{reply}};
  const Result<ClientResponse> response = run(client().get(raw().url()));
  ASSERT_TRUE(response) << response.error().describe();
  EXPECT_EQ(response->body(), "abc");
  EXPECT_EQ(response->trailer("x-sum"), "12");
  EXPECT_EQ(response->trailer("Set-Cookie"), std::nullopt) << "RFC 9110 §6.5.1";
  EXPECT_EQ(response->header("X-Sum"), std::nullopt) << "they are no header";
  EXPECT_EQ(response->trailers(), "X-Sum: 12 \r\ngrpc-status: 0\r\n");

  Result<ClientStream> stream = run(client().open({Method::Get, raw().url()}));
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(*run(read_all(*stream)), "abc");
  EXPECT_EQ(stream->trailer("grpc-STATUS"), "0");
  EXPECT_EQ(stream->trailers(), "X-Sum: 12 \r\ngrpc-status: 0\r\n");
  raw().plays = {{RawServer::ok("fixed")}};
  EXPECT_EQ(run(client().get(raw().url()))->trailers(), "") << "of the answer before";
  EXPECT_EQ(raw().connections, 1);
}

// Each byte alone.
TEST_P(Clients, trailers_may_come_in_pieces) {
  raw().plays = {
      {.reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 12\r\nE:\r\n\r\n",
       .in_pieces = true}};
  const Result<ClientResponse> response = run(client().get(raw().url()));
  ASSERT_TRUE(response) << response.error().describe();
  EXPECT_EQ(response->body(), "a");
  EXPECT_EQ(response->trailers(), "X-Sum: 12\r\nE:\r\n");
}

Task<> write_with_a_sum(BodyWriter& out) {
  co_await out.write("body");
  co_await out.trailer("X-Sum", "4");
}

TEST_P(Clients, trailers_meet_handlers_that_send_them) {
  router_.get("/sum", [](Request&) { return Response::stream(Status::Ok, "text/plain", &write_with_a_sum); });
  serve();
  const Result<ClientResponse> response = get("/sum");
  ASSERT_TRUE(response) << response.error().describe();
  EXPECT_EQ(response->body(), "body");
  EXPECT_EQ(response->trailer("X-Sum"), "4");
}

// --- Answers.

TEST_P(Clients, read_answers_in_every_framing) {
  RawServer& server = raw();
  server.plays = {
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: u\r\n\r\n"},
      {"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde"},
      {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nabcde"},
      {.reply = "HTTP/1.1 200 OK\r\n\r\nabcde", .closes = true},
      {.reply = "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nabcde", .closes = true},
  };
  for (int i = 0; i < 5; ++i) {
    const Result<ClientResponse> response = run(client().get(server.url()));
    ASSERT_TRUE(response) << i << response.error().describe();
    EXPECT_EQ(response->body(), "abcde") << i;
  }
  EXPECT_EQ(server.connections, 2) << "only what says so ends a connection";
  EXPECT_EQ(client().stats().connections, 0u);
}

TEST_P(Clients, an_answer_that_cannot_be_understood_is_an_error_and_ends_its_connection) {
  RawServer& server = raw();
  const char* const answers[] = {
      "SSH-2.0-OpenSSH_9.2\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "HTTP/1.1 101 Switching Protocols\r\n\r\n",
  };
  for (const char* answer : answers) {
    server.plays = {{answer}};
    const Result<ClientResponse> response = run(client().get(server.url()));
    ASSERT_FALSE(response) << answer;
    EXPECT_EQ(response.error().code(), Code::Upstream) << response.error().describe();
    EXPECT_EQ(client().stats().connections, 0u);
  }
  EXPECT_EQ(client().stats().retries, 0u);
}

TEST_P(Clients, what_comes_behind_an_answer_is_not_taken_for_the_next_one) {
  RawServer& server = raw();
  server.plays = {{RawServer::ok("a") + RawServer::ok("evil")}, {RawServer::ok("b")}};

  EXPECT_EQ(run(client().get(server.url()))->body(), "a");
  settle();  // It has come, with the response or after it.
  EXPECT_EQ(run(client().get(server.url()))->body(), "b");
  EXPECT_EQ(server.connections, 2);
}

TEST_P(Clients, a_body_is_bounded_and_its_bound_is_inclusive) {
  serve();
  client({.body_bytes_max = 1024, .breaker = {.failure_ratio = 0.1, .calls_min = 2}});
  EXPECT_EQ(get("/kilobyte")->body(), kilobyte);

  const Result<ClientResponse> response = run(client().post(url("/echo"), kilobyte + "!", "text/plain"));

  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::Upstream) << response.error().describe();
  const Result<ClientResponse> next = get("/plaintext");
  ASSERT_TRUE(next) << "our own bound says nothing about the server: " << next.error().describe();
  EXPECT_EQ(next->status(), Status::Ok);
}

// --- Redirects.

TEST_P(Clients, redirects_change_the_method_as_the_standard_says) {
  struct Vector {
    int status;
    Method method;
    const char* becomes;  // The last request's first word.
    bool has_body;
  };
  const Vector vectors[] = {
      {301, Method::Get, "GET ", false},      {301, Method::Post, "GET ", false}, {302, Method::Post, "GET ", false},
      {301, Method::Put, "PUT ", true},       {303, Method::Post, "GET ", false}, {303, Method::Put, "GET ", false},
      {303, Method::Head, "HEAD ", false},    {307, Method::Post, "POST ", true}, {308, Method::Put, "PUT ", true},
      {308, Method::Delete, "DELETE ", true},
  };
  RawServer& server = raw();
  for (const Vector& vector : vectors) {
    server.requests.clear();
    const bool is_head = vector.method == Method::Head;
    server.plays = {{RawServer::answer(std::to_string(vector.status) + " Moved", is_head ? "" : "over there",
                                       "Location: ../b?c#d\r\n")},
                    {is_head ? "HTTP/1.1 204 No Content\r\n\r\n" : RawServer::ok("here")}};
    ClientRequest request(vector.method, server.url("/x/a"));
    const bool sends = vector.method != Method::Get && !is_head;
    if (sends) request.body("body", "text/plain").header("Content-Language", "en");
    const Result<ClientResponse> response = send(std::move(request));

    ASSERT_TRUE(response) << response.error().describe();
    EXPECT_EQ(response->url(), server.url("/b?c"));
    ASSERT_EQ(server.requests.size(), 2u);
    const std::string& last = server.requests[1];
    EXPECT_TRUE(last.starts_with(std::string(vector.becomes) + "/b?c HTTP/1.1\r\n")) << vector.status << last;
    EXPECT_EQ(last.ends_with("\r\n\r\nbody"), vector.has_body) << vector.status << last;
    EXPECT_EQ(last.find("Content-") != std::string::npos, vector.has_body) << vector.status << last;
  }
  EXPECT_EQ(server.connections, 1);
}

TEST_P(Clients, credentials_stay_with_the_server_they_are_for) {
  serve();
  RawServer& server = raw();
  server.plays = {{RawServer::answer("302 Found", "", "Location: /same\r\n")},
                  {RawServer::answer("302 Found", "",
                                     "Location: http://other.internal:" +
                                         server.url().substr(17, server.url().size() - 18) + "/other\r\n")},
                  {RawServer::ok("end")}};
  const Result<ClientResponse> response = send(ClientRequest(Method::Get, server.url())
                                                   .header("Authorization", "Bearer t")
                                                   .header("cookie", "a=b")
                                                   .header("Proxy-Authorization", "p")
                                                   .secret_header("X-Api-Key", "k")
                                                   .header("X-Kept", "1"));

  ASSERT_TRUE(response) << response.error().describe();
  ASSERT_EQ(server.requests.size(), 3u);
  for (const char* name : {"Authorization", "cookie", "Proxy-Authorization", "X-Api-Key"}) {
    EXPECT_NE(server.requests[1].find(name), std::string::npos) << name;
    EXPECT_EQ(server.requests[2].find(name), std::string::npos) << name;
  }
  EXPECT_NE(server.requests[2].find("X-Kept: 1"), std::string::npos);
  EXPECT_NE(server.requests[2].find("Host: other.internal:"), std::string::npos);
}

TEST_P(Clients, a_secret_that_a_redirect_has_lost_does_not_come_back_with_the_next) {
  RawServer& server = raw();
  const std::string elsewhere = "http://other.internal:" + server.url().substr(17);
  server.plays = {{RawServer::answer("307 Temporary Redirect", "", "Location: " + elsewhere + "\r\n")},
                  {RawServer::answer("307 Temporary Redirect", "", "Location: " + server.url() + "\r\n")},
                  {RawServer::ok("end")}};

  ASSERT_TRUE(send(ClientRequest(Method::Get, server.url()).secret_header("X-Api-Key", "k")));

  ASSERT_EQ(server.requests.size(), 3u);
  EXPECT_NE(server.requests[0].find("X-Api-Key: k"), std::string::npos);
  EXPECT_EQ(server.requests[1].find("X-Api-Key"), std::string::npos);
  EXPECT_EQ(server.requests[2].find("X-Api-Key"), std::string::npos);
}

// A redirect with this status would send it again: the one who was redirected decides whether another server reads it.
TEST_P(Clients, a_body_does_not_follow_a_redirect_to_another_origin) {
  RawServer& server = raw();
  const std::string elsewhere = "http://other.internal:" + server.url().substr(17);
  struct Vector {
    const char* status;
    Method method;
  };
  for (const auto& [status, method] : {Vector{"307 Temporary Redirect", Method::Post},
                                       {"308 Permanent Redirect", Method::Post},
                                       {"301 Moved Permanently", Method::Put}}) {
    server.requests.clear();
    server.plays = {{RawServer::answer(status, "over there", "Location: " + elsewhere + "\r\n")},
                    {RawServer::ok("stolen")}};
    const Result<ClientResponse> response =
        send(ClientRequest(method, server.url()).body("card=4000", "application/x-www-form-urlencoded"));

    ASSERT_TRUE(response) << response.error().describe();
    EXPECT_EQ(response->body(), "over there") << status;
    EXPECT_EQ(response->header("Location"), elsewhere);
    EXPECT_EQ(server.requests.size(), 1u) << status;
  }

  server.requests.clear();
  server.plays = {{RawServer::answer("307 Temporary Redirect", "", "Location: " + elsewhere + "\r\n")},
                  {RawServer::ok("no body")}};
  EXPECT_EQ(run(client().del(server.url()))->body(), "no body") << "there is nothing to keep back";
  EXPECT_EQ(server.requests.size(), 2u);
}

TEST_P(Clients, redirects_are_bounded) {
  RawServer& server = raw();
  server.plays = {{RawServer::answer("302 Found", "", "Location: /again\r\n")}};
  client({.redirects_max = 3});

  const Result<ClientResponse> response = run(client().get(server.url()));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::Upstream) << response.error().describe();
  EXPECT_EQ(server.requests.size(), 4u);

  server.requests.clear();
  server.plays = {{RawServer::answer("302 Found", "", "Location: /1\r\n")},
                  {RawServer::answer("302 Found", "", "Location: /2\r\n")},
                  {RawServer::answer("302 Found", "", "Location: /3\r\n")},
                  {RawServer::ok("there")}};
  EXPECT_EQ(run(client().get(server.url()))->body(), "there");
}

TEST_P(Clients, redirects_to_nowhere_good_are_errors) {
  RawServer& server = raw();
  for (const char* const location :
       {"https://127.0.0.1/", "ws://127.0.0.1/", "http://", "javascript:alert(1)", "/a b"}) {
    server.plays = {{RawServer::answer("302 Found", "", "Location: " + std::string(location) + "\r\n")}};
    const Result<ClientResponse> response = run(client().get(server.url()));
    ASSERT_FALSE(response) << location;
    EXPECT_EQ(response.error().code(), Code::Upstream) << response.error().describe();
  }
}

// --- In a handler.

struct Gateway {
  Client& client;
  std::string url;
  Task<Response> ask(Request&) {
    static_cast<void>(co_await client.get(url));
    co_return Response(Status::Ok);
  }
};

TEST_P(Clients, what_another_server_did_wrong_is_502_and_its_url_stays_inside) {
  RawServer& server = raw();
  Gateway gateway{client({.body_bytes_max = 1024, .redirects_max = 3, .retry = {.attempts_max = 1}}), ""};
  router_.get("/gateway", gateway, &Gateway::ask);
  serve();
  const std::pair<std::string, std::string> cases[] = {
      {"http://nowhere.internal/secret", ""},
      {server.url("/secret"), "SSH-2.0-OpenSSH_9.2\r\n"},
      {server.url("/secret"), RawServer::ok(std::string(1025, 'x'))},
      {server.url("/secret"), RawServer::answer("302 Found", "", "Location: /secret\r\n")},
      {server.url("/secret"), RawServer::answer("302 Found", "", "Location: https://127.0.0.1/secret\r\n")},
      {server.url("/secret"), RawServer::answer("302 Found", "", "Location: /secret here\r\n")},
  };
  for (const auto& [at, answer] : cases) {
    gateway.url = at;
    server.plays = {{answer}};

    const Result<ClientResponse> response = get("/gateway");

    ASSERT_TRUE(response) << response.error().describe();
    EXPECT_EQ(response->status(), Status::BadGateway) << answer;
    EXPECT_EQ(response->body().find("secret"), std::string_view::npos) << response->body();
  }
}

TEST_P(Clients, what_cannot_be_followed_is_the_answer) {
  RawServer& server = raw();
  server.plays = {{RawServer::answer("302 Found", "no location")}};
  EXPECT_EQ(run(client().get(server.url()))->body(), "no location");

  server.plays = {{RawServer::answer("307 Temporary Redirect", "again", "Location: /b\r\n")}};
  const auto writer = [](ClientBodyWriter& body) { return write_numbers(body, 3); };
  EXPECT_EQ(send(ClientRequest(Method::Post, server.url()).stream("text/plain", writer))->status(),
            Status::TemporaryRedirect)
      << "a streamed body is gone";

  client_.reset();
  client({.redirects_max = 0});
  server.plays = {{RawServer::answer("302 Found", "as it came", "Location: /b\r\n")}};
  EXPECT_EQ(run(client().get(server.url()))->body(), "as it came");
}

TEST_P(Clients, a_streamed_body_is_written_once_wherever_a_redirect_points) {
  struct Vector {
    int status;
    Method method;
    bool is_followed;  // With GET, which has no body.
  };
  const Vector vectors[] = {
      {301, Method::Put, false},   {302, Method::Put, false},    {301, Method::Patch, false},
      {302, Method::Patch, false}, {301, Method::Delete, false}, {302, Method::Delete, false},
      {307, Method::Put, false},   {308, Method::Post, false},   {301, Method::Post, true},
      {302, Method::Post, true},   {303, Method::Put, true},     {303, Method::Patch, true},
  };
  RawServer& server = raw();
  for (const Vector& vector : vectors) {
    server.requests.clear();
    server.plays = {{RawServer::answer(std::to_string(vector.status) + " Moved", "", "Location: /b\r\n")},
                    {RawServer::ok("here")}};
    int runs = 0;
    const auto writer = [&runs](ClientBodyWriter& body) {
      ++runs;
      return write_numbers(body, 3);
    };
    const Result<ClientResponse> response =
        send(ClientRequest(vector.method, server.url()).stream("text/plain", writer));

    ASSERT_TRUE(response) << response.error().describe();
    EXPECT_EQ(number(response->status()), vector.is_followed ? 200 : vector.status) << to_string(vector.method);
    EXPECT_EQ(server.requests.size(), vector.is_followed ? 2u : 1u) << vector.status << to_string(vector.method);
    EXPECT_EQ(runs, 1) << vector.status << to_string(vector.method);
    EXPECT_EQ(server.requests.back().starts_with("GET /b "), vector.is_followed) << server.requests.back();
  }
}

// --- What is passed on.

TEST_P(Clients, the_trace_and_the_deadline_are_passed_on) {
  RawServer& server = raw();
  server.plays = {{RawServer::ok("")}};
  client({.timeout = 60_s, .sends_deadline = true});
  ASSERT_TRUE(send(ClientRequest(Method::Get, server.url()).trace({0x0123456789abcdef, 0xfedcba9876543210})));
  const Span span{{1, 2}};
  Start<ClientResponse> handling;
  handling.begin(client().get(server.url()), [](StartCore&) noexcept {}, {.span = &span});
  ASSERT_TRUE(until([&] { return handling.has_ended(); }));
  ASSERT_TRUE(handling.take());
  ASSERT_TRUE(send(ClientRequest(Method::Get, server.url()).timeout(30_s)));

  const std::string& first = server.requests[0];
  const auto at = first.find("\r\ntraceparent: 00-0123456789abcdeffedcba9876543210-");
  ASSERT_NE(at, std::string::npos) << first;
  EXPECT_EQ(first.substr(at + 67, 5), "-01\r\n") << first;
  EXPECT_EQ(first.substr(at + 51, 16).find_first_not_of("0123456789abcdef"), std::string::npos) << first;
  EXPECT_NE(server.requests[1].find("traceparent: 00-00000000000000010000000000000002-"), std::string::npos);
  EXPECT_EQ(server.requests[2].find("traceparent"), std::string::npos) << "there is no trace to be a part of";
  const auto deadline_of = [](const std::string& request) {
    return std::stol(request.substr(request.find("\r\nX-Request-Deadline-Ms: ") + 25));
  };
  // In the simulation no time passes before it is sent; a loaded machine may stand still for seconds.
  EXPECT_GT(deadline_of(first), is_sim() ? 59'000 : 0);
  EXPECT_LE(deadline_of(first), 60'000);
  EXPECT_GT(deadline_of(server.requests[2]), is_sim() ? 29'000 : 0);
  EXPECT_LE(deadline_of(server.requests[2]), 30'000);
}

TEST_P(Clients, no_deadline_is_sent_unless_asked_for) {
  RawServer& server = raw();
  server.plays = {{RawServer::ok("")}};
  ASSERT_TRUE(run(client().get(server.url())));
  EXPECT_EQ(server.requests[0].find("Deadline"), std::string::npos);
}

TEST_P(Clients, calls_are_counted_by_the_class_of_their_status) {
  serve();
  metrics::Registry registry;
  client({.name = "orders", .metrics = &registry});
  get("/plaintext").value();
  get("/plaintext").value();
  get("/nowhere").value();
  get("/broken").value();
  EXPECT_FALSE(run(client().get("http://")));
  registry.sample();

  const auto outcome = [&](std::string_view what) {
    return registry
        .counter("http_client_requests_total", "Completed calls, by result",
                 {{"client", "orders"}, {"status_class", what}})
        .value();
  };
  EXPECT_EQ(outcome("2xx"), metrics::is_recorded ? 2u : 0u);
  EXPECT_EQ(outcome("4xx"), metrics::is_recorded ? 1u : 0u);
  EXPECT_EQ(outcome("5xx"), metrics::is_recorded ? 1u : 0u);
  EXPECT_EQ(outcome("error"), metrics::is_recorded ? 1u : 0u);
  std::string gauges;
  metrics::Reading reading;
  registry.read(reading, [&](std::span<const metrics::Family> families) {
    for (const metrics::Family& family : families) {
      if (family.name != "http_client_connections") continue;
      for (const metrics::Series& series : family.series) {
        gauges += series.label_values.back() + "=" + std::to_string(static_cast<int>(series.function_value)) + " ";
      }
    }
  });
  EXPECT_EQ(gauges, "idle=1 used=0 ");
  client_.reset();
}

}  // namespace
}  // namespace keel::http::client_test
