#include "keel/http/middleware/compression.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "keel/http/testing/internal/decode_testing.h"
#include "keel/http/testing/internal/request_test.h"

namespace keel::http::compression_test {
namespace {

const std::string text = [] {
  std::string made;
  while (made.size() < 3'000) made += "Text that says the same again and again. ";
  return made.substr(0, 3'000);
}();

Response plain(Request&) { return Response::text(Status::Ok, text); }

struct Answer {
  Status status;
  std::string fields;
  std::string body;
};
Answer ask(const CompressionOptions& options, Response (*handler)(Request&), std::string_view accept,
           std::string_view method = "GET") {
  Router router;
  router.use(Compression(options)).get("/", handler);
  std::string fields;
  if (!accept.empty()) fields = "Accept-Encoding: " + std::string(accept) + "\r\n";
  TestRequest request(router, method, "/", fields);
  const Response response = request.finished(request.answer());
  return {response.status(), std::string(response.fields()), std::string(response.content())};
}
Answer ask_gzip(Response (*handler)(Request&), const CompressionOptions& options = {}) {
  return ask(options, handler, "gzip");
}

TEST(Compression, sends_the_coding_that_the_client_likes_best) {
  for (const std::string_view coding : ContentCoder::codings()) {
    const Answer got = ask({}, plain, coding);
    EXPECT_EQ(got.fields, "Vary: Accept-Encoding\r\nContent-Encoding: " + std::string(coding) + "\r\n");
    EXPECT_LT(got.body.size(), text.size() / 2);
    EXPECT_EQ(internal::decode(coding, got.body), text) << coding;
  }
  EXPECT_NE(ask({}, plain, "br;q=0.1, zstd;q=0.1, gzip;q=0.2").fields.find("Content-Encoding: gzip"),
            std::string::npos);
  EXPECT_NE(ask({.codings = {"gzip"}}, plain, "*").fields.find("Content-Encoding: gzip"), std::string::npos);
}

std::string_view type_asked;
Response of_type(Request&) { return Response::text(Status::Ok, text, type_asked); }

TEST(Compression, knows_the_types_of_text) {
  for (const char* type : {"text/plain", "application/json", "application/x-ndjson", "application/ndjson",
                           "application/jsonl", "application/json-seq", "application/xml", "application/yaml",
                           "application/problem+json", "application/ld+json", "Application/VND.example.v2+JSON; a=b",
                           "application/atom+xml", "application/xhtml+xml;charset=utf-8", "image/svg+xml"}) {
    type_asked = type;
    EXPECT_NE(ask_gzip(of_type).fields.find("Content-Encoding: gzip"), std::string::npos) << type;
  }
  for (const char* type : {"image/png", "application/zip", "application/octet-stream", "application/+json",
                           "application/vnd.json", "video/x+json", "application/jsonx"}) {
    type_asked = type;
    EXPECT_EQ(ask_gzip(of_type).fields.find("Content-Encoding"), std::string::npos) << type;
  }
}

TEST(Compression, prefers_what_the_options_name_first) {
  const auto codings = ContentCoder::codings();
  std::vector<std::string> turned(codings.rbegin(), codings.rend());
  EXPECT_NE(ask({.codings = turned}, plain, "zstd, br, gzip").fields.find("Content-Encoding: gzip"), std::string::npos);
  EXPECT_NE(ask({}, plain, "zstd, br, gzip").fields.find("Content-Encoding: " + std::string(codings[0])),
            std::string::npos);
}

TEST(Compression, leaves_the_body_to_those_who_do_not_accept_a_coding_and_says_that_it_varies) {
  for (const char* accept : {"", "identity", "deflate", "gzip;q=0, br;q=0, zstd;q=0", "*;q=0"}) {
    const Answer got = ask({}, plain, accept);
    EXPECT_EQ(got.fields, "Vary: Accept-Encoding\r\n") << accept;
    EXPECT_EQ(got.body, text) << accept;
  }
}

TEST(Compression, confirms_what_it_had_compressed) {
  Router router;
  router.use(Compression(CompressionOptions())).get("/", [](Request&) {
    return Response(Status::NotModified).header("ETag", "\"a\"");
  });
  const auto fields = [&](std::string_view asked) {
    TestRequest request(router, "GET", "/", asked);
    return std::string(request.finished(request.answer()).fields());
  };
  EXPECT_EQ(fields("Accept-Encoding: gzip\r\nIf-None-Match: \"b\", W/\"a\"\r\n"),
            "Vary: Accept-Encoding\r\nETag: W/\"a\"\r\n");
  EXPECT_EQ(fields("Accept-Encoding: gzip\r\nIf-None-Match: \"a\"\r\n"), "ETag: \"a\"\r\nVary: Accept-Encoding\r\n");
  // RFC 9110 §15.4.5: Vary of the 200, which has it for those who accept no coding as well.
  EXPECT_EQ(fields("If-None-Match: \"a\"\r\n"), "ETag: \"a\"\r\nVary: Accept-Encoding\r\n");
}

TEST(Compression, keeps_between_its_bounds) {
  EXPECT_NE(ask_gzip(plain, {.bytes_min = 3'000}).body, text);
  EXPECT_EQ(ask_gzip(plain, {.bytes_min = 3'001}).fields, "");
  EXPECT_NE(ask_gzip(plain, {.bytes_max = 3'000}).body, text);
  EXPECT_EQ(ask_gzip(plain, {.bytes_max = 2'999}).fields, "");
}

TEST(Compression, is_for_the_types_that_it_is_told) {
  const auto image = [](Request&) { return Response::text(Status::Ok, text, "image/png"); };
  const auto json = [](Request&) { return Response::text(Status::Ok, text, "application/json"); };
  EXPECT_EQ(ask_gzip(+image).fields, "");
  EXPECT_NE(ask_gzip(+json).body, text);
  EXPECT_EQ(ask_gzip(plain, {.types = {"image/*"}}).fields, "");
  EXPECT_NE(ask_gzip(+image, {.types = {"image/*"}}).body, text);
}

TEST(Compression, leaves_what_is_not_its_to_change) {
  const auto encoded = [](Request&) { return Response::text(Status::Ok, text).header("Content-Encoding", "br"); };
  const auto range = [](Request&) { return Response::text(Status::Ok, text).header("Content-Range", "bytes 0-1/2"); };
  const auto kept = [](Request&) {
    return Response::text(Status::Ok, text).header("Cache-Control", "public, No-Transform");
  };
  const auto no_content = [](Request&) { return Response::text(Status::NoContent, text); };
  const auto reset = [](Request&) { return Response::text(Status::ResetContent, text); };
  for (Response (*handler)(Request&) : {+encoded, +range, +kept, +no_content, +reset}) {
    const Answer got = ask_gzip(handler);
    EXPECT_EQ(got.body, text) << got.fields;
    EXPECT_EQ(got.fields.find("Vary"), std::string::npos) << got.fields;
  }
}

TEST(Compression, tells_caches_of_a_part_what_it_tells_of_the_whole) {
  const auto part = [](Request&) {
    return Response::text(Status::PartialContent, text.substr(0, 10)).header("Content-Range", "bytes 0-9/5000");
  };
  const auto picture = [](Request&) { return Response::text(Status::PartialContent, text, "image/png"); };
  for (const std::string_view accept : {"gzip", ""}) {
    const Answer got = ask({}, +part, accept);
    EXPECT_EQ(got.fields, "Content-Range: bytes 0-9/5000\r\nVary: Accept-Encoding\r\n");
    EXPECT_EQ(got.body, text.substr(0, 10));
  }
  EXPECT_EQ(ask_gzip(+picture).fields, "");
}

TEST(Compression, weakens_an_entity_tag) {
  const auto strong = [](Request&) { return Response::text(Status::Ok, text).header("ETag", "\"v1\""); };
  const auto weak = [](Request&) { return Response::text(Status::Ok, text).header("ETag", "W/\"v1\""); };
  for (Response (*handler)(Request&) : {+strong, +weak}) {
    EXPECT_NE(ask_gzip(handler).fields.find("ETag: W/\"v1\"\r\n"), std::string::npos);
  }
  EXPECT_NE(ask({}, +strong, "").fields.find("ETag: \"v1\"\r\n"), std::string::npos)
      << "not compressed: the same bytes";
}

TEST(Compression, answers_head_as_get) {
  const Answer head = ask({}, plain, "gzip", "HEAD");
  const Answer get = ask({}, plain, "gzip", "GET");
  EXPECT_EQ(head.fields, get.fields);
  EXPECT_EQ(head.body.size(), get.body.size()) << "what Content-Length says";
}

TEST(Compression, compresses_errors_as_well) {
  Router router;
  router.use(Compression({.bytes_min = 10})).get("/", [](Request&) -> Result<Response> {
    return Error::text(Code::NotFound, text);
  });
  TestRequest request(router, "GET", "/", "Accept-Encoding: gzip\r\n");
  const Response response = request.finished(request.answer());
  EXPECT_EQ(response.status(), Status::NotFound);
  EXPECT_EQ(response.field("Content-Encoding"), "gzip");
}

TEST(Compression, works_on_several_threads_at_once) {
  Router router;
  router.use(Compression()).get("/", plain);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n) {
        TestRequest request(router, "GET", "/", "Accept-Encoding: gzip\r\n");
        const Response response = request.finished(request.answer());
        EXPECT_EQ(internal::decode("gzip", response.content()), text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CompressionDeathTest, refuses_options_out_of_range) {
  EXPECT_DEATH(Compression({.bytes_min = 10, .bytes_max = 9}), "bytes_min must not be above bytes_max");
  EXPECT_DEATH(Compression({.types = {"json"}}), "type/subtype");
  EXPECT_DEATH(Compression({.codings = {"deflate"}}), "gzip, br or zstd");
  EXPECT_DEATH(Compression({.levels = {.gzip = 10}}), "1 to 9");
}

}  // namespace
}  // namespace keel::http::compression_test
