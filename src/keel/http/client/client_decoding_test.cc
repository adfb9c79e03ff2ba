// Responses in gzip, br and zstd: decoded while they are read, within the limits of a body, and left alone where they
// are to be.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/http/message/content_decoder.h"
#include "keel/http/middleware/compression.h"
#include "keel/http/middleware/content_coder.h"
#include "keel/http/testing/internal/client_testing.h"

namespace keel::http::client_decoding_test {
namespace {

using namespace internal;
using io::testing::Which;

std::string coded(std::string_view coding, std::string_view content) {
  ContentCoder coder;
  Buffer out;
  EXPECT_TRUE(coder.begin(coding) && coder.write(content, out) && coder.end(out));
  return std::string(out.view());
}
std::string field(std::string_view coding) { return "Content-Encoding: " + std::string(coding) + "\r\n"; }
std::string text_of(std::size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) text += "{\"id\":" + std::to_string(i * 7919) + ",\"name\":\"user\"},";
  return text.substr(0, size);
}
std::string chunked(std::string_view body, std::string_view fields, std::size_t piece) {
  std::string reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + std::string(fields) + "\r\n";
  for (; !body.empty(); body.remove_prefix(std::min(piece, body.size()))) {
    char size[16];
    std::snprintf(size, sizeof size, "%zx\r\n", std::min(piece, body.size()));
    reply += size + std::string(body.substr(0, piece)) + "\r\n";
  }
  return reply + "0\r\nX-Sum: 7\r\n\r\n";
}

class ClientDecoding : public ClientTest {
 protected:
  static ClientOptions one_attempt() {
    ClientOptions options{.retry = {.attempts_max = 1}};
    options.breaker.failure_ratio = 2;
    return options;
  }
  Result<ClientResponse> ask(ClientRequest request) { return run(client(one_attempt()).send(std::move(request))); }
  Result<ClientResponse> ask() { return ask({Method::Get, raw().url()}); }
  static Task<std::string> read_all_of(Client& client, std::string url) {
    ClientStream stream = co_await client.open({Method::Get, url});
    std::string text = co_await read_all(stream);
    text += stream.trailer("X-Sum").value_or("");
    co_return text;
  }
};
INSTANTIATE_TEST_SUITE_P(, ClientDecoding,
                         ::testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::SimWithFaults),
                         io::testing::name_of_engine);

TEST_P(ClientDecoding, asks_for_the_codings_that_are_built_in) {
  raw().plays = {{RawServer::ok("plain")}};
  ASSERT_TRUE(ask());
  EXPECT_NE(raw().requests[0].find("\r\nAccept-Encoding: " + std::string(ContentDecoder::accepted()) + "\r\n"),
            std::string::npos)
      << raw().requests[0];
}

TEST_P(ClientDecoding, gives_the_content_of_a_response_in_every_coding) {
  for (const std::string_view coding : ContentDecoder::codings()) {
    for (const std::size_t size : {0u, 1u, 5'000u, 300'000u}) {
      const std::string content = text_of(size);
      raw().plays = {{RawServer::ok(coded(coding, content), field(coding) + "ETag: \"7\"\r\n")},
                     {chunked(coded(coding, content), field(coding), 100)}};
      for (int i = 0; i < 2; ++i) {
        const auto answer = ask();
        ASSERT_TRUE(answer) << answer.error().describe();
        EXPECT_TRUE(answer->body() == content) << coding << " " << size;
        EXPECT_FALSE(answer->header("Content-Encoding"));
        EXPECT_FALSE(answer->header("Content-Length"));
        EXPECT_EQ(answer->header("ETag"), i == 0 ? std::optional<std::string_view>("\"7\"") : std::nullopt);
        EXPECT_EQ(answer->trailer("X-Sum"), i == 1 ? std::optional<std::string_view>("7") : std::nullopt);
      }
    }
  }
  EXPECT_EQ(raw().connections, 1);
}

TEST_P(ClientDecoding, gives_the_content_of_a_response_that_comes_byte_by_byte) {
  for (const std::string_view coding : ContentDecoder::codings()) {
    raw().plays = {{.reply = RawServer::ok(coded(coding, text_of(400)), field(coding)), .in_pieces = true}};
    const auto answer = ask();
    ASSERT_TRUE(answer) << answer.error().describe();
    EXPECT_EQ(answer->body(), text_of(400));
  }
}

TEST_P(ClientDecoding, gives_a_stream_decoded_in_pieces) {
  for (const std::string_view coding : ContentDecoder::codings()) {
    raw().plays = {{chunked(coded(coding, text_of(300'000)), field(coding), 999)}};
    const auto text = run(read_all_of(client(), raw().url()));
    ASSERT_TRUE(text) << text.error().describe();
    EXPECT_TRUE(*text == text_of(300'000) + "7");
  }
  EXPECT_EQ(client().stats().idle_connections, 1u);
}

TEST_P(ClientDecoding, gives_the_content_of_a_response_that_ends_with_its_connection) {
  raw().plays = {
      {.reply = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + coded("gzip", text_of(9'000)), .closes = true}};
  const auto answer = ask();
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_TRUE(answer->body() == text_of(9'000));
}

TEST_P(ClientDecoding, refuses_a_body_that_ends_within_its_coding) {
  for (const std::string_view coding : ContentDecoder::codings()) {
    const std::string whole = coded(coding, text_of(600));
    for (std::size_t size = 1; size < whole.size(); size += 7) {
      raw().plays = {{RawServer::ok(whole.substr(0, size), field(coding))}};
      const auto answer = ask();
      ASSERT_FALSE(answer) << size;
      EXPECT_EQ(answer.error().code(), Code::Upstream);
      EXPECT_NE(std::string(answer.error().describe())
                    .find("the body of the response cannot be decoded: the " + std::string(coding) +
                          " content ends too early"),
                std::string::npos)
          << answer.error().describe();
      EXPECT_EQ(problem(answer.error()).status(), Status::BadGateway);
    }
  }
}

TEST_P(ClientDecoding, refuses_a_body_that_is_not_what_it_says) {
  for (const std::string_view coding : ContentDecoder::codings()) {
    raw().plays = {{RawServer::ok("<html>not compressed at all</html>", field(coding))}};
    const auto answer = ask();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::Upstream);
    EXPECT_NE(std::string(answer.error().describe()).find("content is broken"), std::string::npos)
        << answer.error().describe();
  }
  EXPECT_EQ(client().stats().connections, 0u) << "nobody knows what such a server says next";
}

TEST_P(ClientDecoding, gives_nothing_more_of_a_stream_that_was_broken) {
  const auto read_twice = [](Client& client, std::string url) -> Task<std::string> {
    ClientStream stream = co_await client.open({Method::Get, url});
    std::string errors;
    for (int i = 0; i < 3; ++i) {
      const Result<Chunk> chunk = co_await attempt(stream.read());
      errors += chunk ? "read " : std::string(to_string(chunk.error().code())) + " ";
    }
    co_return errors;
  };
  raw().plays = {{RawServer::ok("not compressed", field("gzip"))}};
  EXPECT_EQ(*run(read_twice(client(one_attempt()), raw().url())), std::string(to_string(Code::Upstream)) + " " +
                                                                      std::string(to_string(Code::Unavailable)) + " " +
                                                                      std::string(to_string(Code::Unavailable)) + " ");
}

TEST_P(ClientDecoding, counts_what_is_decoded_for_the_limit_of_a_body) {
  for (const std::string_view coding : ContentDecoder::codings()) {
    const std::string bomb = coded(coding, std::string(64 << 20, '\0'));
    ASSERT_LT(bomb.size(), 70'000u);
    raw().plays = {{.reply = RawServer::ok(bomb, field(coding)), .closes = true}};
    ClientOptions options = one_attempt();
    options.body_bytes_max = 1 << 20;
    client_.reset();
    const auto answer = run(client(options).get(raw().url()));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::Upstream);
    EXPECT_NE(std::string(answer.error().describe())
                  .find("the body of the response, decoded, has more than 1048576 bytes (body_bytes_max)"),
              std::string::npos)
        << answer.error().describe();
    raw().plays = {{RawServer::ok(coded(coding, std::string(1 << 20, '\0')), field(coding))}};
    EXPECT_TRUE(run(client().get(raw().url()))) << "as many as the limit";
  }
}

TEST_P(ClientDecoding, refuses_a_body_that_is_coded_more_than_once) {
  for (const char* fields : {"Content-Encoding: gzip, gzip\r\n", "Content-Encoding: gzip\r\nContent-Encoding: br\r\n",
                             "Content-Encoding: deflate, gzip\r\n"}) {
    raw().plays = {{RawServer::ok("body", fields)}};
    const auto answer = ask();
    ASSERT_FALSE(answer) << fields;
    EXPECT_EQ(answer.error().code(), Code::Upstream);
    EXPECT_NE(std::string(answer.error().describe()).find("has more than one content coding"), std::string::npos);
  }
}

TEST_P(ClientDecoding, knows_other_ways_to_write_a_coding) {
  for (const char* fields : {"content-encoding: GZIP\r\n", "Content-Encoding: x-gzip\r\n",
                             "Content-Encoding: identity, gzip\r\n", "Content-Encoding: , gzip ,\r\n"}) {
    raw().plays = {{RawServer::ok(coded("gzip", "content"), fields)}};
    const auto answer = ask();
    ASSERT_TRUE(answer) << fields << answer.error().describe();
    EXPECT_EQ(answer->body(), "content");
    EXPECT_FALSE(answer->header("Content-Encoding"));
  }
}

TEST_P(ClientDecoding, leaves_a_coding_that_it_does_not_know) {
  for (const char* coding : {"deflate", "compress", "identity", "utf-8"}) {
    raw().plays = {{RawServer::ok("as it came", field(coding))}};
    const auto answer = ask();
    ASSERT_TRUE(answer) << coding;
    EXPECT_EQ(answer->body(), "as it came");
    EXPECT_EQ(answer->header("Content-Encoding"), coding);
    EXPECT_EQ(answer->header("Content-Length"), "10");
  }
}

TEST_P(ClientDecoding, leaves_a_response_without_a_body) {
  raw().plays = {{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 70\r\n\r\n"},
                 {"HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n"},
                 {"HTTP/1.1 304 Not Modified\r\nContent-Encoding: gzip\r\nContent-Length: 70\r\n\r\n"}};
  const auto head = ask({Method::Head, raw().url()});
  ASSERT_TRUE(head) << head.error().describe();
  EXPECT_EQ(head->header("Content-Encoding"), "gzip");
  EXPECT_EQ(head->header("Content-Length"), "70");
  for (const Status status : {Status::NoContent, Status::NotModified}) {
    const auto answer = ask();
    ASSERT_TRUE(answer) << answer.error().describe();
    EXPECT_EQ(answer->status(), status);
    EXPECT_EQ(answer->header("Content-Encoding"), "gzip");
  }
}

TEST_P(ClientDecoding, leaves_what_the_request_has_asked_for_by_itself) {
  const std::string body = coded("gzip", "content");
  raw().plays = {{RawServer::ok(body, field("gzip"))}};
  for (const char* accepted : {"gzip", "identity"}) {
    ClientRequest request(Method::Get, raw().url());
    request.header("accept-encoding", accepted);
    const auto answer = ask(std::move(request));
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->body() == body);
    EXPECT_EQ(answer->header("Content-Encoding"), "gzip");
    EXPECT_EQ(raw().requests.back().find("Accept-Encoding: "), std::string::npos) << raw().requests.back();
  }
}

// A part of a coded body is not decoded by itself.
TEST_P(ClientDecoding, leaves_parts) {
  raw().plays = {{RawServer::answer("206 Partial Content", "part", field("gzip"))}};
  ClientRequest request(Method::Get, raw().url());
  request.header("Range", "bytes=2-5");
  for (int i = 0; i < 2; ++i) {
    const auto answer = i == 0 ? ask(std::move(request)) : ask();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body(), "part");
    EXPECT_EQ(raw().requests.back().find("Accept-Encoding") == std::string::npos, i == 0);
  }
}

TEST_P(ClientDecoding, may_be_turned_off) {
  const std::string body = coded("gzip", "content");
  raw().plays = {{RawServer::ok(body, field("gzip"))}};
  const auto answer = run(client({.decompresses = false}).get(raw().url()));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->body() == body);
  EXPECT_EQ(answer->header("Content-Encoding"), "gzip");
  EXPECT_EQ(raw().requests[0].find("Accept-Encoding"), std::string::npos) << raw().requests[0];
}

TEST_P(ClientDecoding, does_not_decode_what_is_not_read) {
  raw().plays = {{RawServer::answer("302 Found", "not compressed at all", field("gzip") + "Location: /next\r\n")},
                 {RawServer::ok("there")}};
  const auto answer = ask();
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_EQ(answer->body(), "there");
  EXPECT_EQ(raw().connections, 1);
}

TEST_P(ClientDecoding, takes_nothing_more_from_the_heap_than_a_response_that_is_not_coded) {
  if (KEEL_SANITIZED || simulation_ != nullptr) GTEST_SKIP() << "sanitizers and the simulation allocate";
  const std::string content = text_of(20'000);
  constexpr std::size_t calls = 50;
  // Of all these calls, our own server of tests included.
  const auto allocated = [&](std::string reply) {
    raw().plays = {{std::move(reply)}};
    std::size_t before = 0;
    for (std::size_t i = 0; i < 2 * calls; ++i) {
      if (i == calls) before = keel::internal::allocations();
      raw().requests.clear();
      EXPECT_EQ(ask()->body().size(), content.size());
    }
    return keel::internal::allocations() - before;
  };
  const std::size_t plain = allocated(RawServer::ok(content));
  for (const std::string_view coding : ContentDecoder::codings()) {
    EXPECT_LE(allocated(RawServer::ok(coded(coding, content), field(coding))), plain + calls / 10) << coding;
  }
}

TEST_P(ClientDecoding, reads_what_our_own_server_compresses) {
  const std::string content = text_of(100'000);
  router_.use(Compression());
  router_.get("/compressible", [content](Request&) { return Response::text(Status::Ok, content); });
  serve();
  const auto answer = get("/compressible");
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_TRUE(answer->body() == content);
  EXPECT_FALSE(answer->header("Content-Encoding"));
  EXPECT_EQ(answer->header("Vary"), "Accept-Encoding");
}

}  // namespace
}  // namespace keel::http::client_decoding_test
