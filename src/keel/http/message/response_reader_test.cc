#include "keel/http/message/response_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::response_reader_test {
namespace {

using namespace std::string_view_literals;

struct Read {
  ResponseState state = ResponseState::Need;
  int status = 0;
  std::string body;
  bool keep_alive = false;
  std::string rest;
  std::string reason;
};

// In one piece; response_reader_fuzz.cc's invariants repeat it in pieces of 1, 2, 3, 7 bytes.
Read read(std::string_view bytes, bool is_head = false) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  ResponseReader reader;
  HeadCache cache;
  reader.begin(is_head);
  Read read;
  for (;;) {
    const ResponseStep step = reader.feed(bytes, cache);
    bytes.remove_prefix(step.consumed);
    read.state = step.state;
    read.body += step.data;
    read.reason = step.reason;
    if (step.state != ResponseState::Data) break;
    if (bytes.empty()) {
      read.state = ResponseState::Need;
      break;
    }
  }
  read.status = reader.head().status;
  read.keep_alive = reader.head().keep_alive;
  read.rest = bytes;
  return read;
}

TEST(ResponseReader, is_read_in_every_valid_form) {
  struct Vector {
    std::string_view bytes;
    int status;
    std::string_view body;
    bool keep_alive = true;
    std::string_view rest = "";
    bool is_head = false;
  };
  const Vector vectors[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 404", 200, "hello", true, "HTTP/1.1 404"},
      {"HTTP/1.1 200 \r\ncontent-length:5 \r\nX: y\r\n\r\nhello", 200, "hello"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", 200, "ok", false},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: a, Close\r\n\r\nok", 200, "ok", false},
      {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false},
      {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", 200, "ok"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\nH", 200, "abc", true, "H"},
      {"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 ", 204, "", true, "HTTP/1.1 "},
      {"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 304, ""},
      {"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", 200, "", true, "", true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200, "", true, "", true},
      {"HTTP/1.1 200 OK\r\n\r\n", 200, "", true, "", true},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
       "1\r\n\r\nx",
       200, "x"},
      {"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 503, "", false},
  };
  for (const Vector& vector : vectors) {
    const Read got = read(vector.bytes, vector.is_head);
    EXPECT_EQ(got.state, ResponseState::Done) << vector.bytes << ": " << got.reason;
    EXPECT_EQ(got.status, vector.status) << vector.bytes;
    EXPECT_EQ(got.body, vector.body) << vector.bytes;
    EXPECT_EQ(got.keep_alive, vector.keep_alive) << vector.bytes;
    EXPECT_EQ(got.rest, vector.rest) << vector.bytes;
  }
}

TEST(ResponseReader, that_is_ambiguous_or_malformed_is_refused) {
  const std::string_view answers[] = {
      "hello\r\n"sv,
      "\r\nHTTP/1.1 200 OK\r\n\r\n"sv,
      "HTTP/2 200 OK\r\n\r\n"sv,
      "HTTP/1.10 200 OK\r\n\r\n"sv,
      "HTTP/1.x 200 OK\r\n\r\n"sv,
      "HTTP/1.1 200\r\n\r\n"sv,
      "HTTP/1.1  200 OK\r\n\r\n"sv,
      "HTTP/1.1 20 OK\r\n\r\n"sv,
      "HTTP/1.1 2000 OK\r\n\r\n"sv,
      "HTTP/1.1 099 OK\r\n\r\n"sv,
      "HTTP/1.1 600 OK\r\n\r\n"sv,
      "HTTP/1.1 101 Switching Protocols\r\n\r\n"sv,
      "HTTP/1.1 200 O\x01K\r\n\r\n"sv,
      "HTTP/1.1 200 OK\n\r\n"sv,
      "HTTP/1.1 200 OK\r\nA: b\n\r\n"sv,
      "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n"sv,
      "HTTP/1.1 200 OK\r\nA: \0\r\n\r\n"sv,
      "HTTP/1.1 200 OK\r\nA : b\r\n\r\n"sv,
      "HTTP/1.1 200 OK\r\nA\r\n\r\n"sv,
      "HTTP/1.1 200 OK\r\n: b\r\n\r\n"sv,
      "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"sv,
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx"sv,
      "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\nx"sv,
      "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx"sv,
      "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\nx"sv,
      "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\nx"sv,
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"sv,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"sv,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"sv,
      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"sv,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"sv,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc"sv,
  };
  for (const std::string_view answer : answers) {
    const Read got = read(answer);
    EXPECT_EQ(got.state, ResponseState::Refused) << answer;
    EXPECT_NE(got.reason, "") << answer;
  }
}

TEST(ResponseReader, gives_the_memory_of_a_head_back_when_it_is_told_to) {
  ResponseReader reader;
  reader.begin(false);
  reader.feed("HTTP/1.1 204 No Content\r\n");
  const ResponseStep step = reader.feed("A: b\r\n\r\n");
  EXPECT_EQ(step.head, "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n");
  EXPECT_GT(reader.held(), 0u);

  reader.release();

  EXPECT_EQ(reader.held(), 0u);
  EXPECT_TRUE(reader.head().keep_alive);
  reader.begin(false);
  EXPECT_EQ(reader.feed("HTTP/1.1 204 No Content\r\n\r\n").state, ResponseState::Done);
}

TEST(ResponseReader, waits_for_the_rest) {
  const std::string whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(read(std::string_view(whole).substr(0, size)).state, ResponseState::Need) << size;
  }
}

TEST(ResponseReader, that_is_not_http_is_refused_at_its_first_byte) {
  EXPECT_EQ(read("h").state, ResponseState::Refused);
  EXPECT_EQ(read("HTTP/2").state, ResponseState::Refused);
}

TEST(ResponseReader, heads_have_bounds) {
  const std::string begin = "HTTP/1.1 200 OK\r\n";
  const std::string long_line = begin + "A: " + std::string(ResponseReader::line_bytes_max, 'x');
  EXPECT_EQ(read(long_line).state, ResponseState::Refused);

  std::string many = begin;
  for (unsigned i = 0; i <= ResponseReader::fields_max; ++i) many += "A: b\r\n";
  EXPECT_EQ(read(many).state, ResponseState::Refused);

  std::string large = begin;
  while (large.size() <= ResponseReader::head_bytes_max) large += "A: " + std::string(8000, 'x') + "\r\n";
  EXPECT_EQ(read(large).state, ResponseState::Refused);
}

// RFC 9112 §6.3: without a length the body ends with the connection; with one, the end comes too early.
TEST(ResponseReader, ends_with_the_connection_only_where_nothing_else_ends_it) {
  struct Vector {
    std::string_view bytes;
    ResponseState state;
  };
  const Vector vectors[] = {
      {"HTTP/1.1 200 OK\r\n\r\n", ResponseState::Done},
      {"HTTP/1.1 200 OK\r\n\r\nhello", ResponseState::Done},
      {"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", ResponseState::Refused},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", ResponseState::Refused},
      {"HTTP/1.1 200 OK\r\nA: b\r\n", ResponseState::Refused},
  };
  for (const Vector& vector : vectors) {
    ResponseReader reader;
    HeadCache cache;
    reader.begin(false);
    EXPECT_FALSE(reader.has_begun());
    for (std::string_view rest = vector.bytes; !rest.empty();) {
      rest.remove_prefix(reader.feed(rest, cache).consumed);
    }
    EXPECT_TRUE(reader.has_begun());
    EXPECT_EQ(reader.finish().state, vector.state) << vector.bytes;
  }
}

TEST(ResponseReader, follows_another_on_one_connection) {
  const std::string one = "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Length: 2\r\n\r\nok";
  std::string wire;
  for (int i = 0; i < 5; ++i) wire += one;
  ResponseReader reader;
  HeadCache cache;
  int answers = 0;

  for (std::string_view rest = wire; !rest.empty(); ++answers) {
    reader.begin(false);
    const ResponseStep step = reader.feed(rest, cache);
    ASSERT_EQ(step.state, ResponseState::Done);
    EXPECT_EQ(step.data, "ok");
    EXPECT_EQ(reader.head().status, 200);
    rest.remove_prefix(step.consumed);
  }

  EXPECT_EQ(answers, 5);
}

// The same bytes mean another thing after HEAD.
TEST(ResponseReader, a_remembered_head_belongs_to_its_kind_of_request) {
  const std::string_view head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
  ResponseReader reader;
  HeadCache cache;
  reader.begin(true);
  EXPECT_EQ(reader.feed(head, cache).state, ResponseState::Done);

  reader.begin(false);
  EXPECT_EQ(reader.feed(head, cache).state, ResponseState::Need);
  const ResponseStep step = reader.feed("ok", cache);

  EXPECT_EQ(step.state, ResponseState::Done);
  EXPECT_EQ(step.data, "ok");
}

TEST(ResponseReader, gives_the_head_with_the_step_that_ends_it) {
  const std::string_view head = "HTTP/1.1 200 OK: fine\r\nA: 1\r\nContent-Length: 2\r\nb:\t2 \r\n\r\n";
  const std::string wire = std::string(head) + "ok";
  for (std::size_t piece = 1; piece <= wire.size(); ++piece) {
    ResponseReader reader;
    reader.begin(false);
    std::string got;
    std::string body;
    for (std::string_view rest = wire; !rest.empty();) {
      const ResponseStep step = reader.feed(rest.substr(0, piece));
      got += step.head;
      body += step.data;
      rest.remove_prefix(step.consumed);
    }
    EXPECT_EQ(got, head) << piece;
    EXPECT_EQ(body, "ok") << piece;
  }

  std::string fields;
  Field field;
  for (std::string_view rest = head; next_field(rest, field);) {
    fields += std::string(field.name) + "=" + std::string(field.value) + ";";
  }
  EXPECT_EQ(fields, "A=1;Content-Length=2;b=2;");
}

// RFC 9110 §15.2: any number of interim responses may come; no client has to wait for ever.
TEST(ResponseReader, passes_over_sixteen_interim_answers_and_no_more) {
  std::string interims;
  for (unsigned i = 0; i < ResponseReader::interims_max; ++i) interims += "HTTP/1.1 103 Early Hints\r\n\r\n";
  const std::string last = "HTTP/1.1 204 No Content\r\n\r\n";

  EXPECT_EQ(read(interims + last).state, ResponseState::Done);
  EXPECT_EQ(read(interims + "HTTP/1.1 100 Continue\r\n\r\n" + last).state, ResponseState::Refused);
}

}  // namespace
}  // namespace keel::http::response_reader_test
