#include "keel/http/message/status.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::http::status_test {
namespace {

TEST(Status, has_a_ready_made_line) {
  EXPECT_EQ(status_line(Status::Ok), "HTTP/1.1 200 OK\r\n");
  EXPECT_EQ(status_line(Status::NotFound), "HTTP/1.1 404 Not Found\r\n");
  EXPECT_EQ(status_line(Status::RequestHeaderFieldsTooLarge), "HTTP/1.1 431 Request Header Fields Too Large\r\n");
}

TEST(Status, has_an_empty_phrase_when_it_is_not_registered) {
  EXPECT_EQ(reason(static_cast<Status>(299)), "");
  // RFC 9112 §4: the space before an absent phrase stays.
  EXPECT_EQ(status_line(static_cast<Status>(299)), "HTTP/1.1 299 \r\n");
}

TEST(Status, gives_every_number_a_line_of_its_own) {
  for (int code = 100; code < 600; ++code) {
    const auto status = static_cast<Status>(code);

    EXPECT_EQ(status_line(status), "HTTP/1.1 " + std::to_string(code) + " " + std::string(reason(status)) + "\r\n");
  }
}

TEST(Status, knows_which_answers_never_have_content) {
  EXPECT_TRUE(forbids_content(Status::SwitchingProtocols));
  EXPECT_TRUE(forbids_content(Status::NoContent));
  EXPECT_TRUE(forbids_content(Status::NotModified));
  EXPECT_FALSE(forbids_content(Status::Ok));
  EXPECT_FALSE(forbids_content(Status::NotFound));
}

TEST(Status, has_no_reason_outside_its_range) {
  EXPECT_EQ(reason(static_cast<Status>(99)), "");
  EXPECT_EQ(reason(static_cast<Status>(600)), "");
}

TEST(StatusDeathTest, refuses_numbers_outside_its_range) {
  EXPECT_DEATH(static_cast<void>(status_line(static_cast<Status>(600))), "100 to 599");
  EXPECT_DEATH(static_cast<void>(status_line(static_cast<Status>(99))), "100 to 599");
}

}  // namespace
}  // namespace keel::http::status_test
