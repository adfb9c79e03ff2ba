#include "keel/http/message/body_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace keel::http::body_decoder_test {
namespace {

struct Outcome {
  std::string data;
  std::string trailers;
  ChunkState state = ChunkState::Need;
  Status status = Status::Ok;
  std::size_t used = 0;
};

// Feeds `wire` in pieces of at most `piece` bytes.
Outcome decode(BodyDecoder decoder, std::string_view wire, std::size_t piece) {
  Outcome outcome;
  while (outcome.state != ChunkState::Done && outcome.state != ChunkState::Refused) {
    const ChunkStep step = decoder.feed(wire.substr(outcome.used, piece));
    outcome.used += step.consumed;
    outcome.data += step.data;
    outcome.trailers += step.trailers;
    outcome.state = step.state;
    outcome.status = step.status;
    if (step.state == ChunkState::Need && outcome.used == wire.size()) break;
  }
  EXPECT_EQ(decoder.is_over(), outcome.state == ChunkState::Done);
  if (outcome.state != ChunkState::Refused) {
    EXPECT_EQ(decoder.delivered(), outcome.data.size());
  }
  return outcome;
}

void expect_at_any_cut(const BodyDecoder& decoder, std::string_view wire, const Outcome& expected) {
  for (std::size_t piece = 1; piece <= wire.size(); ++piece) {
    const Outcome outcome = decode(decoder, wire, piece);
    EXPECT_EQ(outcome.data, expected.data) << piece;
    EXPECT_EQ(outcome.state, expected.state) << piece;
    EXPECT_EQ(outcome.status, expected.status) << piece;
    if (expected.state == ChunkState::Done) {
      EXPECT_EQ(outcome.used, expected.used) << piece;
      EXPECT_EQ(outcome.trailers, expected.trailers) << piece;
    }
  }
}

TEST(BodyDecoder, is_over_at_once_where_there_is_no_body) {
  for (const BodyDecoder& decoder :
       {BodyDecoder(), BodyDecoder(BodyKind::None, 0, 10), BodyDecoder(BodyKind::Length, 0, 10)}) {
    EXPECT_TRUE(decoder.is_over());
    EXPECT_EQ(decoder.left(), 0u);
    EXPECT_EQ(decode(decoder, "GET / HTTP/1.1\r\n", 100).used, 0u);
    EXPECT_EQ(decoder.extent("GET / HTTP/1.1\r\n"), 0u);
  }
}

TEST(BodyDecoder, gives_a_body_with_a_length_and_leaves_what_follows) {
  const BodyDecoder decoder(BodyKind::Length, 5, 5);
  expect_at_any_cut(decoder, "helloGET /", {"hello", "", ChunkState::Done, Status::Ok, 5});
  expect_at_any_cut(decoder, "hell", {"hell", "", ChunkState::Need, Status::Ok, 4});
  EXPECT_EQ(decoder.left(), 5u);
}

TEST(BodyDecoder, gives_a_chunked_body_with_its_trailers_and_leaves_what_follows) {
  const BodyDecoder decoder(BodyKind::Chunked, 0, 8);
  const std::string wire = "3\r\nabc\r\n5;x=y\r\ndefgh\r\n0\r\nContent-Length: 7\r\nX-Check: 1\r\n\r\n";
  expect_at_any_cut(decoder, wire + "GET /",
                    {"abcdefgh", "Content-Length: 7\r\nX-Check: 1\r\n", ChunkState::Done, Status::Ok, wire.size()});
  EXPECT_EQ(decoder.left(), std::nullopt);
}

TEST(BodyDecoder, refuses_chunks_as_soon_as_their_sum_passes_the_limit) {
  const std::string_view wire = "3\r\nabc\r\n5\r\ndefgh\r\n0\r\n\r\n";
  expect_at_any_cut(BodyDecoder(BodyKind::Chunked, 0, 8), wire,
                    {"abcdefgh", "", ChunkState::Done, Status::Ok, wire.size()});
  expect_at_any_cut(BodyDecoder(BodyKind::Chunked, 0, 7), wire,
                    {"abc", "", ChunkState::Refused, Status::ContentTooLarge, 0});
  // Announced is enough: none of it has to come.
  EXPECT_EQ(decode(BodyDecoder(BodyKind::Chunked, 0, 7), "8\r\n", 10).status, Status::ContentTooLarge);
}

TEST(BodyDecoder, refuses_framing_that_is_wrong) {
  expect_at_any_cut(BodyDecoder(BodyKind::Chunked, 0, 100), "3\r\nabc\r\n-1\r\n",
                    {"abc", "", ChunkState::Refused, Status::BadRequest, 0});
  expect_at_any_cut(BodyDecoder(BodyKind::Chunked, 0, 100), "0\r\nBad Trailer\r\n\r\n",
                    {"", "", ChunkState::Refused, Status::BadRequest, 0});
}

TEST(BodyDecoder, knows_how_far_a_body_extends_without_taking_it) {
  const BodyDecoder fixed(BodyKind::Length, 5, 5);
  EXPECT_EQ(fixed.extent("helloGET /"), 5u);
  EXPECT_EQ(fixed.extent("hel"), 3u);
  const BodyDecoder chunked(BodyKind::Chunked, 0, 100);
  EXPECT_EQ(chunked.extent("3\r\nabc\r\n0\r\n\r\nGET /"), 13u);
  EXPECT_EQ(chunked.extent("3\r\nabc\r\n0\r\n"), 11u);
  EXPECT_EQ(chunked.extent("3\r\nabcX"), 7u);  // All of it: whoever decodes it rejects it.
  EXPECT_EQ(chunked.delivered(), 0u);
}

}  // namespace
}  // namespace keel::http::body_decoder_test
