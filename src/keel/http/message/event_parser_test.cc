// Server-sent events, as HTML Living Standard §9.2.6 says, whole and byte by byte.

#include "keel/http/message/event_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::event_parser_test {
namespace {

using namespace std::string_literals;
using Lines = std::vector<std::string>;

// "type|id|data" of each event.
Lines events_of(const std::string& stream) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(stream.data()), stream.size());
  EventParser parser;
  Lines found;
  std::string_view rest = stream;
  while (true) {
    const auto event = parser.next(rest);
    if (!event || !*event) return found;
    found.push_back(std::string((*event)->type) + '|' + std::string((*event)->id) + '|' + std::string((*event)->data));
  }
}

TEST(Events, end_with_an_empty_line) {
  EXPECT_EQ(events_of("data: one\n\ndata: two\n\n"), (Lines{"message||one", "message||two"}));
  EXPECT_EQ(events_of("data: one\n"), Lines()) << "it is not complete";
  EXPECT_EQ(events_of(""), Lines());
  EXPECT_EQ(events_of("\n\n\n"), Lines());
}

TEST(Events, have_lines_that_end_in_each_of_three_ways) {
  EXPECT_EQ(events_of("data: a\r\ndata: b\r\n\r\n"), Lines{"message||a\nb"});
  EXPECT_EQ(events_of("data: a\rdata: b\r\r"), Lines{"message||a\nb"});
  EXPECT_EQ(events_of("data: a\n\rdata: b\r\n\n"), (Lines{"message||a", "message||b"}));
}

TEST(Events, have_a_type_and_an_id_that_lasts) {
  EXPECT_EQ(events_of("event: price\nid: 7\ndata: 1\n\ndata: 2\n\nid\ndata: 3\n\n"),
            (Lines{"price|7|1", "message|7|2", "message||3"}));
  EXPECT_EQ(events_of("event: price\n\ndata: 1\n\n"), Lines{"message||1"}) << "a type without data is forgotten";
  EXPECT_EQ(events_of("id: a\0b\ndata: 1\n\n"s), Lines{"message||1"});
}

TEST(Events, count_with_their_id_once_they_are_complete) {
  EventParser parser;
  std::string_view stream = "id: 1\ndata: a\n\nid: 2\ndata: b\n";
  EXPECT_EQ((*parser.next(stream))->id, "1");
  EXPECT_EQ(*parser.next(stream), std::nullopt);
  EXPECT_EQ(parser.last_id(), "1") << "a client that connects again now gets the event 2";
  stream = "\nid: 5\n\n";
  EXPECT_EQ((*parser.next(stream))->id, "2");
  EXPECT_EQ(parser.last_id(), "2");
  EXPECT_EQ(*parser.next(stream), std::nullopt);
  EXPECT_EQ(parser.last_id(), "5") << "also without data";
}

TEST(Events, lose_one_space_after_the_colon) {
  EXPECT_EQ(events_of("data:a\n\ndata:  a\n\ndata\n\ndata:\n\ndata: a:b \n\n"),
            (Lines{"message||a", "message|| a", "message||", "message||", "message||a:b "}));
}

TEST(Events, do_not_see_comments_and_fields_of_others) {
  EXPECT_EQ(events_of(":\n\n: beat\ndata: a\nother: b\n data: c\nDATA: d\n\n"), Lines{"message||a"});
}

TEST(Events, may_begin_with_a_byte_order_mark) {
  EXPECT_EQ(events_of("\xef\xbb\xbf"
                      "data: a\n\n\xef\xbb\xbf"
                      "data: b\n\n"),
            Lines{"message||a"});
}

TEST(Events, say_when_to_connect_again) {
  const auto retry = [](std::string_view stream) {
    EventParser parser;
    EXPECT_TRUE(parser.next(stream));
    return parser.retry();
  };
  EXPECT_EQ(retry("retry: 2500\n"), 2500_ms);
  EXPECT_EQ(retry("retry: 0\n"), 0_ms);
  EXPECT_EQ(retry("retry: 99999999999999999999\n"), 24_h);
  for (const char* none : {"retry: -1\n", "retry: 1.5\n", "retry:\n", "retry: 5 s\n", "retry: 5"}) {
    EXPECT_EQ(retry(none), std::nullopt) << none;
  }
}

TEST(Events, are_bounded) {
  const auto is_read = [](std::string_view stream) {
    EventParser parser(20);
    return parser.next(stream).has_value();
  };
  EXPECT_TRUE(is_read("data: 12345678901234\n\n"));
  EXPECT_FALSE(is_read("data: 123456789012345\n\n"));
  EXPECT_FALSE(is_read("data: 123456789\ndata: 123456789\n\n"));
  EXPECT_FALSE(is_read(std::string(21, ':')));

  std::string_view long_line = "data: 123456789012345\n\n";
  const auto event = EventParser(20).next(long_line);
  EXPECT_EQ(event.error().code(), Code::OutOfRange);
  EXPECT_EQ(event.error().message(), "a server-sent event is longer than 20 bytes");
}

}  // namespace
}  // namespace keel::http::event_parser_test
