#include "keel/http/message/chunk.h"

#include <gtest/gtest.h>

#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::chunk_test {
namespace {

using namespace std::string_view_literals;

struct Decoded {
  ChunkState state = ChunkState::Need;
  int status = 200;
  std::string reason;
  std::string body;
  std::string trailers;
  std::string rest;
};

// In one piece; the invariants of chunk_fuzz.cc repeat it in pieces of 1, 2, 3, 7 bytes.
Decoded decode(std::string_view bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  ChunkDecoder decoder;
  Decoded decoded;
  for (;;) {
    const ChunkStep step = decoder.feed(bytes);
    bytes.remove_prefix(step.consumed);
    decoded.state = step.state;
    decoded.status = number(step.status);
    decoded.reason = step.reason;
    decoded.body += step.data;
    decoded.trailers += step.trailers;
    if (step.state != ChunkState::Data) break;
  }
  decoded.rest = bytes;
  return decoded;
}

TEST(Chunk, decodes_every_valid_form) {
  struct Vector {
    std::string_view bytes;
    std::string_view body;
    std::string_view rest = "";
  };
  const Vector vectors[] = {
      {"0\r\n\r\n", ""},
      {"000\r\n\r\n", ""},
      {"5\r\nhello\r\n0\r\n\r\n", "hello"},
      {"5\r\nhello\r\n0\r\n\r\nGET /", "hello", "GET /"},
      {"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"},
      {"a\r\n0123456789\r\n0\r\n\r\n", "0123456789"},
      {"A\r\n0123456789\r\n0\r\n\r\n", "0123456789"},
      {"0000000000000001\r\nx\r\n0\r\n\r\n", "x"},
      {"2\r\n\r\n\r\n0\r\n\r\n", "\r\n"},
      {"1;a\r\nx\r\n0\r\n\r\n", "x"},
      {"1;a=b\r\nx\r\n0;c\r\n\r\n", "x"},
      {"1;a=b;c=d;e\r\nx\r\n0\r\n\r\n", "x"},
      {"1; a = b\r\nx\r\n0\r\n\r\n", "x"},
      {"1;a=\"b ;\\\" c\"\r\nx\r\n0\r\n\r\n", "x"},
      {"1;a=\"\";b\r\nx\r\n0\r\n\r\n", "x"},
      {"1;a ;b=c ; d=\"e\"\t ;f\r\nx\r\n0\r\n\r\n", "x"},
      {"1\r\nx\r\n0\r\nX: y\r\n\r\n", "x"},
      {"1\r\nx\r\n0\r\nX:\r\nY: a\tb\xff\r\n\r\nrest", "x", "rest"},
      // Framing fields in trailers are dropped like all others (RFC 9110 §6.5.1).
      {"1\r\nx\r\n0\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\nHost: b\r\n\r\n", "x"},
  };
  for (const Vector& vector : vectors) {
    const Decoded decoded = decode(vector.bytes);

    EXPECT_EQ(decoded.state, ChunkState::Done) << vector.bytes << ": " << decoded.reason;
    EXPECT_EQ(decoded.body, vector.body) << vector.bytes;
    EXPECT_EQ(decoded.rest, vector.rest) << vector.bytes;
    for (std::size_t size = 0; size < vector.bytes.size() - vector.rest.size(); ++size) {
      EXPECT_EQ(decode(vector.bytes.substr(0, size)).state, ChunkState::Need) << vector.bytes << " cut at " << size;
    }
  }
}

TEST(Chunk, refuses_what_two_readers_could_understand_differently) {
  struct Vector {
    std::string_view bytes;
    std::string_view reason;
    int status = 400;
  };
  const Vector vectors[] = {
      {"\r\n", "chunk size is missing"},
      {";a\r\n", "chunk size is missing"},
      {"g\r\n", "chunk size is missing"},
      {" 5\r\nhello\r\n", "chunk size is missing"},
      {"-2\r\nhello\r\n", "chunk size is missing"},
      {"+5\r\nhello\r\n", "chunk size is missing"},
      {"0x5\r\nhello\r\n", "chunk size is not hexadecimal"},
      {"5_0\r\n", "chunk size is not hexadecimal"},
      {"5 \r\nhello\r\n", "chunk size is not hexadecimal"},
      {"5\t\r\nhello\r\n", "chunk size is not hexadecimal"},
      {"5 ;a\r\nhello\r\n", "chunk size is not hexadecimal"},
      {"5,5\r\nhello\r\n", "chunk size is not hexadecimal"},
      {"5\nhello\r\n", "chunk size is not hexadecimal"},
      {"5\0\r\nhello\r\n"sv, "chunk size is not hexadecimal"},
      {"5\rhello\r\n", "CR without LF"},
      {"00000000000000001\r\nx\r\n", "chunk size has more than 16 digits"},
      {"10000000000000005\r\nhello\r\n", "chunk size has more than 16 digits"},
      {"1\r\nx\r\nffffffffffffffff\r\nx", "chunk sizes overflow"},
      {"5;\r\nhello\r\n", "control byte in a chunk extension"},
      {"5;a=\r\nhello\r\n", "control byte in a chunk extension"},
      {"5;a;\r\nhello\r\n", "control byte in a chunk extension"},
      {"5;a \r\nhello\r\n", "control byte in a chunk extension"},
      {"5;a=b \r\nhello\r\n", "control byte in a chunk extension"},
      {"5;a=\"b\" \r\nhello\r\n", "control byte in a chunk extension"},
      {"5;a\nhello\r\n", "control byte in a chunk extension"},
      {"5;a=\"b\n\"\r\nhello\r\n", "control byte in a chunk extension"},
      {"5;a=\"b\r\n\"\r\nhello\r\n", "control byte in a chunk extension"},
      {"5;a=\"b\\\r\n\"\r\nhello\r\n", "control byte in a chunk extension"},
      {"5;a\rb\r\nhello\r\n", "CR without LF"},
      {"5;=b\r\nhello\r\n", "chunk extension has no name"},
      {"5;a b\r\nhello\r\n", "chunk extension is malformed"},
      {"5;a=b c\r\nhello\r\n", "chunk extension is malformed"},
      {"5;a=\"b\" c\r\nhello\r\n", "chunk extension is malformed"},
      {"5;a=b =c\r\nhello\r\n", "chunk extension is malformed"},
      {"5;a=\"b\"c\r\nhello\r\n", "chunk extension is malformed"},
      {"5;a=@\r\nhello\r\n", "chunk extension has no value"},
      {"5\r\nhelloo\r\n", "chunk is longer than its size"},
      {"5\r\nhello\n", "chunk is longer than its size"},
      {"5\r\nhello0\r\n\r\n", "chunk is longer than its size"},
      {"5\r\nhello\r0\r\n\r\n", "CR without LF"},
      {"5\r\nhell\r\n0\r\n\r\n", "chunk is longer than its size"},
      {"0\r\n\n", "trailer has no name"},
      {"0\r\n: x\r\n\r\n", "trailer has no name"},
      {"0\r\n X: y\r\n\r\n", "trailer has no name"},
      {"0\r\nX: y\r\n z\r\n\r\n", "trailer has no name"},
      {"0\r\nX : y\r\n\r\n", "byte that is not allowed in a trailer name"},
      {"0\r\nX\r\n\r\n", "byte that is not allowed in a trailer name"},
      {"0\r\nGET / HTTP/1.1\r\n\r\n", "byte that is not allowed in a trailer name"},
      {"0\r\nX: y\n\r\n", "control byte in a trailer"},
      {"0\r\nX: y\0\r\n\r\n"sv, "control byte in a trailer"},
      {"0\r\nX: y\rZ: a\r\n\r\n", "CR without LF"},
      {"0\r\n\rX", "CR without LF"},
  };
  for (const Vector& vector : vectors) {
    const Decoded decoded = decode(vector.bytes);

    EXPECT_EQ(decoded.state, ChunkState::Refused) << vector.bytes;
    EXPECT_EQ(decoded.reason, vector.reason) << vector.bytes;
    EXPECT_EQ(decoded.status, vector.status) << vector.bytes;
  }
}

TEST(Chunk, bounds_the_extensions_of_one_chunk) {
  const std::string fits = "1;" + std::string(1024, 'a') + "\r\nx\r\n0\r\n\r\n";
  const std::string longer = "1;" + std::string(1025, 'a') + "\r\nx\r\n0\r\n\r\n";

  EXPECT_EQ(decode(fits).state, ChunkState::Done);
  EXPECT_EQ(decode(longer).status, 413);
}

TEST(Chunk, bounds_framing_in_proportion_to_the_data) {
  const std::string wasteful = "1;" + std::string(1000, 'a') + "\r\nx\r\n";
  std::string few;
  for (int i = 0; i < 16; ++i) few += wasteful;
  std::string tiny;
  for (int i = 0; i < 20'000; ++i) tiny += "1\r\nx\r\n";

  EXPECT_EQ(decode(few + "0\r\n\r\n").state, ChunkState::Done);
  EXPECT_EQ(decode(few + wasteful).status, 413);
  EXPECT_EQ(decode(tiny + "0\r\n\r\n").state, ChunkState::Done) << "one byte at a time is slow, not an attack";
}

// All of them, whether they may be trailers or not: that is Trailers' business.
TEST(Chunk, gives_the_trailers_as_they_came) {
  EXPECT_EQ(decode("0\r\n\r\n").trailers, "");
  EXPECT_EQ(decode("1;a=b\r\nx\r\n0;c\r\n\r\nGET /").trailers, "");
  EXPECT_EQ(decode("0\r\nX-Sum: 1\r\nHost:b \r\n\r\nGET /").trailers, "X-Sum: 1\r\nHost:b \r\n");
  EXPECT_EQ(decode("1\r\nx\r\n0\r\nE:\r\n\r\n").trailers, "E:\r\n");
  EXPECT_EQ(decode("0\r\nX: y\r\n z").trailers, "") << "refused";

  const std::string_view wire = "1\r\nx\r\n0\r\nX-Sum: 1\r\nE:\r\n\r\n";
  ChunkDecoder decoder;
  std::string given;
  for (const char& c : wire) {
    std::string_view rest(&c, 1);
    const ChunkStep step = decoder.feed(rest);
    if (!step.trailers.empty()) {
      EXPECT_EQ(step.trailers.data(), &c) << "a view of what was received";
    }
    given += step.trailers;
  }
  EXPECT_EQ(given, "X-Sum: 1\r\nE:\r\n");
  EXPECT_EQ(decoder.feed("X: y\r\n").trailers, "") << "of the next request";
}

TEST(Chunk, bounds_the_trailers) {
  std::string many = "0\r\n";
  for (int i = 0; i < 32; ++i) many += "X: y\r\n";

  EXPECT_EQ(decode(many + "\r\n").state, ChunkState::Done);
  EXPECT_EQ(decode(many + "X: y\r\n\r\n").status, 431);
  EXPECT_EQ(decode("0\r\nX: " + std::string(8 * 1024, 'a')).status, 431);
}

TEST(Chunk, announces_data_before_it_arrives) {
  ChunkDecoder decoder;

  EXPECT_EQ(decoder.feed("5\r\nhe").data, "he");
  EXPECT_EQ(decoder.announced(), 5u);
  EXPECT_EQ(decoder.delivered(), 2u);
  EXPECT_EQ(decoder.feed("llo\r\nffffffff\r\n").data, "llo");
  EXPECT_EQ(decoder.feed("\r\nffffffff\r\n").state, ChunkState::Need);
  EXPECT_EQ(decoder.announced(), 5u + std::uint64_t{0xffffffff});
  EXPECT_EQ(decoder.delivered(), 5u);
}

TEST(Chunk, stays_done) {
  ChunkDecoder decoder;
  ASSERT_EQ(decoder.feed("0\r\n\r\n").state, ChunkState::Done);

  EXPECT_EQ(decoder.feed("GET").state, ChunkState::Done);
  EXPECT_EQ(decoder.feed("GET").consumed, 0u);
}

TEST(Chunk, writes_sizes_as_they_are_read) {
  const auto written = [](std::uint64_t size) {
    char head[chunk_head_bytes_max];
    return std::string(head, format_chunk_head(size, head));
  };
  EXPECT_EQ(written(1), "1\r\n");
  EXPECT_EQ(written(16), "10\r\n");
  EXPECT_EQ(written(0xdeadbeef), "deadbeef\r\n");
  EXPECT_EQ(written(UINT64_MAX), "ffffffffffffffff\r\n");
}

}  // namespace
}  // namespace keel::http::chunk_test
