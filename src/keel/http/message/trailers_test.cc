#include "keel/http/message/trailers.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/http/message/chunk.h"

namespace keel::http::trailers_test {
namespace {

TEST(Trailers, are_kept_as_they_come_however_they_are_cut) {
  const std::string section =
      "X-Sum: 12 \r\nContent-Length: 7\r\nEmpty:\r\nx-sum: 13\r\nTRANSFER-encoding: chunked\r\n";
  for (std::size_t piece = 1; piece <= section.size(); ++piece) {
    Trailers trailers;
    for (std::size_t at = 0; at < section.size(); at += piece) trailers.append(section.substr(at, piece));
    trailers.end();
    EXPECT_EQ(trailers.lines(), "X-Sum: 12 \r\nEmpty:\r\nx-sum: 13\r\n") << piece;
    EXPECT_EQ(trailers.find("X-SUM"), "12");
    EXPECT_EQ(trailers.find("empty"), "");
    EXPECT_EQ(trailers.find("Content-Length"), std::nullopt);
  }
}

TEST(Trailers, are_none_where_none_came) {
  Trailers trailers;
  trailers.end();
  EXPECT_EQ(trailers.lines(), "");
  EXPECT_EQ(trailers.find("X"), std::nullopt);
}

// RFC 9110 §6.5.1.
TEST(Trailers, are_no_fields_that_are_needed_before_a_body) {
  for (const char* name : {"Content-Length", "transfer-encoding", "HOST", "Authorization", "Cookie", "Set-Cookie",
                           "Content-Type", "Content-Encoding", "If-None-Match", "Cache-Control", "Location", "Vary",
                           "X-Forwarded-For", "Trailer", "TE", "Connection"}) {
    EXPECT_FALSE(may_be_trailer(name)) << name;
  }
  for (const char* name : {"Content-Digest", "ETag", "Server-Timing", "grpc-status", "X-Sum", "Content-LengthX", ""}) {
    EXPECT_TRUE(may_be_trailer(name)) << name;
  }
}

TEST(Trailers, are_written_as_they_are_read) {
  Trailers trailers;
  EXPECT_TRUE(trailers.add("X-Sum", "12"));
  EXPECT_TRUE(trailers.add("Content-Digest", ""));
  EXPECT_EQ(trailers.lines(), "X-Sum: 12\r\nContent-Digest: \r\n");
  for (const auto& [name, value] : {std::pair("Content-Length", "1"), std::pair("", "x"), std::pair("a b", "x"),
                                    std::pair("X", "a\r\nSet-Cookie: evil=1")}) {
    EXPECT_TRUE(trailers.add(name, value).error().is_bug()) << name;
  }
  EXPECT_EQ(trailers.lines(), "X-Sum: 12\r\nContent-Digest: \r\n");
}

TEST(Trailers, are_no_more_than_everybody_takes) {
  Trailers many;
  for (int i = 0; i < 32; ++i) ASSERT_TRUE(many.add("X", "y"));
  EXPECT_TRUE(many.add("X", "y").error().is_bug());
  Trailers large;
  EXPECT_TRUE(large.add("X", std::string(8 * 1024 - 4, 'x')).error().is_bug());
  EXPECT_TRUE(large.add("X", std::string(8 * 1024 - 5, 'x')));
  EXPECT_TRUE(large.add("X", "").error().is_bug());
  for (const Trailers* trailers : {&many, &large}) {
    ChunkDecoder decoder;
    EXPECT_EQ(decoder.feed("0\r\n" + std::string(trailers->lines()) + "\r\n").state, ChunkState::Done);
  }
}

}  // namespace
}  // namespace keel::http::trailers_test
