#include "keel/http/message/precondition.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "keel/http/message/date.h"

namespace keel::http::precondition_test {
namespace {

constexpr std::int64_t now = 1'700'000'000;
constexpr std::int64_t changed = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT
const std::string at_change = "Sun, 06 Nov 1994 08:49:37 GMT";
const std::string before = "Sun, 06 Nov 1994 08:49:36 GMT";
const std::string after = "Sun, 06 Nov 1994 08:49:38 GMT";

constexpr Validators page{.etag = "\"a,b\"", .modified_seconds = changed};
constexpr Validators weak{.etag = "W/\"a\"", .modified_seconds = changed};
constexpr Validators absent{.exists = false};

class Preconditions : public ::testing::Test {
 protected:
  const RequestHead& head(const std::string& method, const std::string& fields) {
    wire_ = method + " / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
    EXPECT_EQ(parse_head(wire_, HeadLimits(), head_).state, HeadState::Complete) << fields;
    return head_;
  }
  Precondition get(const std::string& field, const Validators& of) {
    return evaluate(head("GET", field + "\r\n"), of, now);
  }
  Precondition put(const std::string& field, const Validators& of) {
    return evaluate(head("PUT", field + "\r\n"), of, now);
  }
  std::string wire_;
  RequestHead head_;
};

TEST_F(Preconditions, hold_when_there_is_none) { EXPECT_EQ(get("X: y", page), Precondition::Holds); }

// RFC 9110 §13.1.2: weak comparison.
TEST_F(Preconditions, none_match_is_for_caches) {
  for (const char* value :
       {"\"a,b\"", "W/\"a,b\"", "*", "\"x\", \"a,b\"", ", \"x\",,\t\"a,b\" ", "W/\"x\",W/\"a,b\""}) {
    EXPECT_EQ(get(std::string("If-None-Match: ") + value, page), Precondition::NotModified) << value;
    EXPECT_EQ(put(std::string("If-None-Match: ") + value, page), Precondition::Failed) << value;
  }
  for (const char* value : {"\"x\"", "\"a\"", "a,b", "\"a,b", "w/\"a,b\"", "\"A,B\"", "\"x\" \"a,b\"", ""}) {
    EXPECT_EQ(get(std::string("If-None-Match: ") + value, page), Precondition::Holds) << value;
  }
  EXPECT_EQ(get("If-None-Match: \"a\"", weak), Precondition::NotModified);
  EXPECT_EQ(get("If-None-Match: \"x\"\r\nif-none-match: \"a\"", weak), Precondition::NotModified) << "two fields";
  EXPECT_EQ(evaluate(head("HEAD", "If-None-Match: *\r\n"), page, now), Precondition::NotModified);
}

// RFC 9110 §13.1.3, §13.1.4: of more than one member the field is ignored, in one line or in two.
TEST_F(Preconditions, ignore_two_dates) {
  for (const auto& [one, other] : {std::pair(before, after), {after, before}, {after, after}}) {
    EXPECT_EQ(get("If-Modified-Since: " + one + "\r\nif-modified-since: " + other, page), Precondition::Holds);
    EXPECT_EQ(put("If-Unmodified-Since: " + one + "\r\nIf-Unmodified-Since: " + other, page), Precondition::Holds);
    EXPECT_EQ(get("If-Modified-Since: " + one + ", " + other, page), Precondition::Holds);
  }
}

TEST_F(Preconditions, none_match_lets_a_new_thing_be_made_once) {
  EXPECT_EQ(put("If-None-Match: *", absent), Precondition::Holds);
  EXPECT_EQ(put("If-None-Match: *", page), Precondition::Failed);
}

// RFC 9110 §13.1.1: strong comparison.
TEST_F(Preconditions, match_keeps_updates_from_being_lost) {
  EXPECT_EQ(put("If-Match: \"a,b\"", page), Precondition::Holds);
  EXPECT_EQ(put("If-Match: *", page), Precondition::Holds);
  EXPECT_EQ(put("If-Match: \"x\"", page), Precondition::Failed);
  EXPECT_EQ(put("If-Match: W/\"a,b\"", page), Precondition::Failed);
  EXPECT_EQ(put("If-Match: W/\"a\"", weak), Precondition::Failed);
  EXPECT_EQ(put("If-Match: \"a\"", weak), Precondition::Failed);
  EXPECT_EQ(put("If-Match: *", absent), Precondition::Failed);
  EXPECT_EQ(get("If-Match: \"x\"", page), Precondition::Failed);
}

TEST_F(Preconditions, of_dates_compare_seconds) {
  EXPECT_EQ(get("If-Modified-Since: " + before, page), Precondition::Holds);
  EXPECT_EQ(get("If-Modified-Since: " + at_change, page), Precondition::NotModified);
  EXPECT_EQ(get("If-Modified-Since: " + after, page), Precondition::NotModified);
  EXPECT_EQ(put("If-Modified-Since: " + after, page), Precondition::Holds) << "for GET and HEAD only";
  EXPECT_EQ(get("If-Modified-Since: yesterday", page), Precondition::Holds) << "no date";
  EXPECT_EQ(get("If-Modified-Since: " + after, Validators{.etag = "\"a\""}), Precondition::Holds)
      << "nothing to compare";
  EXPECT_EQ(put("If-Unmodified-Since: " + before, page), Precondition::Failed);
  EXPECT_EQ(put("If-Unmodified-Since: " + at_change, page), Precondition::Holds);
  EXPECT_EQ(put("If-Unmodified-Since: " + after, page), Precondition::Holds);
  EXPECT_EQ(put("If-Unmodified-Since: yesterday", page), Precondition::Holds);
}

// RFC 9110 §13.2.2: a tag says more than a date, and failing comes before not modified.
TEST_F(Preconditions, have_an_order) {
  EXPECT_EQ(get("If-None-Match: \"x\"\r\nIf-Modified-Since: " + after, page), Precondition::Holds);
  EXPECT_EQ(put("If-Match: \"a,b\"\r\nIf-Unmodified-Since: " + before, page), Precondition::Holds);
  EXPECT_EQ(get("If-Match: \"x\"\r\nIf-None-Match: \"a,b\"", page), Precondition::Failed);
  EXPECT_EQ(get("If-Match: \"a,b\"\r\nIf-None-Match: \"a,b\"", page), Precondition::NotModified);
}

TEST_F(Preconditions, of_ranges_are_exact) {
  const auto applies = [&](const std::string& value, const Validators& of) {
    return range_applies(head("GET", value.empty() ? "" : "If-Range: " + value + "\r\n"), of, now);
  };
  EXPECT_TRUE(applies("", page));
  EXPECT_TRUE(applies("\"a,b\"", page));
  EXPECT_FALSE(applies("\"x\"", page));
  EXPECT_FALSE(applies("W/\"a,b\"", page));
  EXPECT_FALSE(applies("W/\"a\"", weak));
  EXPECT_TRUE(applies(at_change, page));
  EXPECT_FALSE(applies(before, page));
  EXPECT_FALSE(applies(after, page));
  EXPECT_FALSE(applies("yesterday", page));
  EXPECT_FALSE(applies(at_change, Validators{.etag = "\"a\""}));
  // A date is strong once its second is over.
  const auto applies_at = [&](std::int64_t seconds) {
    return range_applies(head("GET", "If-Range: " + at_change + "\r\n"), page, seconds);
  };
  EXPECT_FALSE(applies_at(changed - 1));
  EXPECT_FALSE(applies_at(changed));
  EXPECT_TRUE(applies_at(changed + 1));
}

}  // namespace
}  // namespace keel::http::precondition_test
