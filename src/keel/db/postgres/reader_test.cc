#include "keel/db/postgres/reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/db/postgres/pipeline.h"

namespace keel::db::postgres::reader_test {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

std::string message(char type, std::string_view body) {
  std::string bytes(1, type);
  const auto length = static_cast<std::uint32_t>(body.size() + 4);
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(length >> shift));
  return bytes.append(body);
}

// Each message as its type and body; or the error at the end.
std::vector<std::string> read_all(Reader& reader, std::string_view bytes, std::size_t piece, bool goes_short = false) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::string part(bytes.substr(at, piece));  // In memory of its own.
    std::string_view rest = part;
    while (true) {
      Message short_one{};
      if (goes_short && reader.next_whole(rest, short_one)) {
        all.push_back(static_cast<char>(short_one.type) + std::string(short_one.body));
        continue;
      }
      const Result<std::optional<Message>> next = reader.next(rest);
      if (!next) {
        all.emplace_back(next.error().message());
        return all;
      }
      if (!*next) break;
      all.push_back(static_cast<char>((*next)->type) + std::string((*next)->body));
    }
    EXPECT_TRUE(rest.empty());
  }
  return all;
}

const std::string some_messages = message('1', "") + message('D', "\0\x01\0\0\0\x01x"s) + message('C', "SELECT 1\0"s) +
                                  message('Z', "I") + message('D', std::string(70'000, 'y')) + message('N', "\0"s);

TEST(PostgresReader, gives_the_same_messages_however_the_bytes_are_cut) {
  Reader whole;
  const std::vector<std::string> expected = read_all(whole, some_messages, some_messages.size());
  ASSERT_EQ(expected.size(), 6u);
  EXPECT_EQ(expected[0], "1");
  EXPECT_EQ(expected[3], "ZI");

  for (const std::size_t piece : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 11u, 100u, 4096u, 69'999u}) {
    Reader reader;
    EXPECT_EQ(read_all(reader, some_messages, piece), expected) << piece;
    EXPECT_FALSE(reader.is_within_message()) << piece;
    Reader other;
    EXPECT_EQ(read_all(other, some_messages, piece, true), expected) << piece;
  }
}

TEST(PostgresReader, leaves_what_is_not_whole_or_not_right_to_the_long_way) {
  Reader reader({.message_bytes_max = 100});
  for (const std::string& bytes :
       {message('D', std::string(10, 'x')).substr(0, 14), "D\0\0\0"s, "D\0\0\0\3xx"s, "C\xff\xff\xff\xffxxxx"s,
        message('D', std::string(97, 'x')), message('2', "x"), message('Z', "I"), message('q', "")}) {
    std::string_view rest = bytes;
    Message one{};
    EXPECT_FALSE(reader.next_whole(rest, one)) << bytes;
    EXPECT_EQ(rest, bytes);
  }
  std::string_view longest;
  const std::string row = message('D', std::string(96, 'x'));
  longest = row;
  Message one{};
  EXPECT_TRUE(reader.next_whole(longest, one));
  EXPECT_EQ(one.body.size(), 96u);
}

TEST(PostgresReader, does_not_copy_a_message_that_came_whole) {
  const std::string bytes = message('Z', "T") + message('1', "");
  Reader reader;
  std::string_view rest = bytes;

  const std::optional<Message> first = *reader.next(rest);

  EXPECT_EQ(first->body.data(), bytes.data() + 5);
  EXPECT_EQ(rest.size(), 5u);
}

TEST(PostgresReader, says_whether_a_message_has_begun) {
  Reader reader;
  std::string_view bytes = "Z\0\0"sv;
  EXPECT_FALSE(reader.is_within_message());
  EXPECT_FALSE(reader.next(bytes)->has_value());
  EXPECT_TRUE(reader.is_within_message());
  bytes = "\0\x05I"sv;
  EXPECT_EQ(reader.next(bytes)->value().body, "I");
  EXPECT_FALSE(reader.is_within_message());
}

TEST(PostgresReader, rejects_lengths_that_cannot_be_and_says_so_again) {
  struct Case {
    std::string bytes;
    std::string error;
  };
  const Case cases[] = {
      {"D\0\0\0\x03"s, "DataRow of the server has a length of 3, less than the 4 bytes of the length itself"},
      {"D\0\0\0\0"s, "DataRow of the server has a length of 0, less than the 4 bytes of the length itself"},
      {"D\xff\xff\xff\xff"s, "DataRow of the server has a length of 4294967295, above 1000"},
      {"D\0\0\x03\xe9"s, "DataRow of the server has a length of 1001, above 1000"},
      {"Z\0\0\0\x06"s, "ReadyForQuery of the server has a length of 6, above 5"},
      {"1\0\0\0\x05"s, "ParseComplete of the server has a length of 5, above 4"},
      {"?\0\0\0\x04"s, "the server sent a message of type 0x3f, which does not exist in the protocol"},
      {"\0\0\0\0\x04"s, "the server sent a message of type 0x00, which does not exist in the protocol"},
  };
  for (const Case& one : cases) {
    for (const std::size_t piece : {1u, 5u}) {
      Reader reader({.message_bytes_max = 1000});
      EXPECT_EQ(read_all(reader, one.bytes, piece), std::vector<std::string>{one.error});
      std::string_view good = "1\0\0\0\x04"sv;
      const auto again = reader.next(good);
      EXPECT_EQ(again.error().message(), one.error);
      EXPECT_EQ(again.error().code(), Code::Protocol);
      EXPECT_TRUE(again.error().is_from_environment());
    }
  }
}

TEST(PostgresReader, bounds_what_carries_neither_data_nor_text) {
  Reader reader;
  std::string_view bytes = "K\0\x01\0\0"sv;
  EXPECT_EQ(reader.next(bytes).error().message(), "BackendKeyData of the server has a length of 65536, above 30000");
}

TEST(PostgresReader, takes_no_memory_for_a_length_that_was_only_announced) {
  Reader reader;
  std::string_view bytes = "D\x03\0\0\0..."sv;
  EXPECT_FALSE(reader.next(bytes)->has_value());
  EXPECT_TRUE(reader.is_within_message());
  // What is reserved is seen in the test of allocations; here, that more is taken as it comes.
  for (int i = 0; i < 100; ++i) {
    bytes = "0123456789";
    EXPECT_FALSE(reader.next(bytes)->has_value());
    EXPECT_TRUE(bytes.empty());
  }
}

TEST(PostgresReader, needs_no_heap_in_steady_state) {
  const std::string bytes = message('D', std::string(1'000, 'x')) + message('Z', "I");
  Reader reader;
  Pipeline pipeline;
  const auto read = [&](std::size_t piece) {
    int count = 0;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      std::string_view rest = std::string_view(bytes).substr(at, piece);
      while (reader.next(rest)->has_value()) ++count;
    }
    return count == 2 && pipeline.add(Step::Sync) && pipeline.receive(MessageType::ReadyForQuery);
  };
  ASSERT_TRUE(read(100));
  const std::size_t before = keel::internal::allocations();

  for (const std::size_t piece : {1u, 100u, 2'000u}) ASSERT_TRUE(read(piece));

  EXPECT_EQ(keel::internal::allocations(), before);
}

TEST(PostgresReader, reads_the_answer_to_a_request_for_tls) {
  std::string_view yes = "S";
  EXPECT_TRUE(Reader::encryption_response(yes).value());
  EXPECT_TRUE(yes.empty());
  std::string_view no = "N";
  EXPECT_FALSE(Reader::encryption_response(no).value());
  std::string_view error = "E\0\0";
  EXPECT_EQ(Reader::encryption_response(error).error().code(), Code::Protocol);
}

// CVE-2021-23222
TEST(PostgresReader, rejects_bytes_that_somebody_put_in_front_of_the_tls) {
  std::string_view bytes = "SZ\0\0\0\x05I"sv;
  EXPECT_EQ(Reader::encryption_response(bytes).error().code(), Code::Protocol);
}

}  // namespace
}  // namespace keel::db::postgres::reader_test
