#include "keel/http/message/range.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::http::range_test {
namespace {

using Kind = RangeRequest::Kind;

struct Case {
  const char* value;
  std::vector<Range> ranges;  // Of 1,000 bytes, room for three.
  Kind kind = Kind::Satisfiable;
};

const Case cases[] = {
    {"bytes=0-0", {{0, 1}}},
    {"bytes=0-499", {{0, 500}}},
    {"bytes=500-", {{500, 500}}},
    {"bytes=-1", {{999, 1}}},
    {"bytes=-1000", {{0, 1000}}},
    {"bytes=-5000", {{0, 1000}}},
    {"bytes=990-5000", {{990, 10}}},
    {"bytes=999-999", {{999, 1}}},
    {"BYTES=0-1", {{0, 2}}},
    {"bytes= 0-1 ,\t3-4 ", {{0, 2}, {3, 2}}},
    {"bytes=,0-1,,", {{0, 2}}},
    {"bytes=5-6,0-1,2-4", {{5, 2}, {0, 2}, {2, 3}}},  // In the order asked for; neighbours do not overlap.
    {"bytes=0-1,2000-", {{0, 2}}},                    // What is outside is left out.
    {"bytes=0-999999999999999999", {{0, 1000}}},
    {"bytes=1000-", {}, Kind::Unsatisfiable},
    {"bytes=-0", {}, Kind::Unsatisfiable},
    {"bytes=1000-1001,5000-", {}, Kind::Unsatisfiable},
    {"bytes=0-1,1-2", {}, Kind::Ignored},  // Overlapping.
    {"bytes=0-,-1", {}, Kind::Ignored},
    {"bytes=0-1,3-4,6-7,9-9", {}, Kind::Ignored},  // One more than there is room for.
    {"bytes=2000-,3000-,4000-,5000-", {}, Kind::Ignored},
    {"bytes=0-1000000000000000000", {{0, 1000}}},  // 19 digits.
    {"bytes=10-18446744073709551614", {{10, 990}}},
    {"bytes=10-18446744073709551615", {{10, 990}}},
    {"bytes=10-18446744073709551616", {{10, 990}}},
    {"bytes=10-99999999999999999999999999999999", {{10, 990}}},
    {"bytes=-9223372036854775808", {{0, 1000}}},
    {"bytes=-99999999999999999999999999999999", {{0, 1000}}},
    {"bytes=00000000000000000000000000000010-00000000000000000000000000000019", {{10, 10}}},
    {"bytes=18446744073709551616-", {}, Kind::Unsatisfiable},
    {"bytes=99999999999999999999-99999999999999999999", {}, Kind::Unsatisfiable},
    {"bytes=99999999999999999999-5", {}, Kind::Ignored},
    {"bytes=0-9999999999999999999x", {}, Kind::Ignored},
    {"bytes=5-4", {}, Kind::Ignored},
    {"bytes=", {}, Kind::Ignored},
    {"bytes=,", {}, Kind::Ignored},
    {"bytes=-", {}, Kind::Ignored},
    {"bytes=a-b", {}, Kind::Ignored},
    {"bytes=0-1-2", {}, Kind::Ignored},
    {"bytes=--1", {}, Kind::Ignored},
    {"bytes=+0-1", {}, Kind::Ignored},
    {"bytes=0x0-1", {}, Kind::Ignored},
    {"bytes=0 -1", {}, Kind::Ignored},
    {"bytes 0-1", {}, Kind::Ignored},
    {"items=0-1", {}, Kind::Ignored},
    {"bytes", {}, Kind::Ignored},
    {"", {}, Kind::Ignored},
};

TEST(Ranges, are_what_the_field_says) {
  for (const Case& one : cases) {
    Range ranges[3];
    const RangeRequest asked = parse_ranges(one.value, 1000, ranges);
    EXPECT_EQ(asked.kind, one.kind) << one.value;
    EXPECT_EQ(std::vector<Range>(ranges, ranges + asked.count), one.ranges) << one.value;
  }
}

TEST(Ranges, of_nothing_are_unsatisfiable_but_for_its_last_bytes) {
  Range ranges[3];
  for (const char* value : {"bytes=0-", "bytes=0-0", "bytes=-0"}) {
    EXPECT_EQ(parse_ranges(value, 0, ranges).kind, Kind::Unsatisfiable) << value;
  }
  // RFC 9110 §14.1.2: satisfiable, and what it asks for is the whole.
  for (const char* value : {"bytes=-1", "bytes=-500", "bytes=0-,-1"}) {
    EXPECT_EQ(parse_ranges(value, 0, ranges).kind, Kind::Ignored) << value;
  }
}

TEST(Ranges, never_ask_for_more_than_there_is) {
  for (const Case& one : cases) {
    const std::string input = std::string(8, '\x7f') + one.value;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
}

}  // namespace
}  // namespace keel::http::range_test
