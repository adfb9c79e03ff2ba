#include "keel/base/error_code.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <ios>
#include <system_error>

namespace keel::error_code_test {
namespace {

TEST(ErrorCode, of_an_errno_is_the_error_of_that_errno) {
  const Error missing = error_of("rename", std::make_error_code(std::errc::no_such_file_or_directory));
  const Error refused = error_of("connect", std::error_code(ECONNREFUSED, std::system_category()));

  EXPECT_EQ(missing.code(), Code::NotFound);
  EXPECT_EQ(missing.describe(), "rename: No such file or directory");
  EXPECT_EQ(refused.code(), Code::Unavailable);
  EXPECT_EQ(refused.errno_value(), ECONNREFUSED);
}

TEST(ErrorCode, of_another_category_names_it_and_what_it_says) {
  const Error other = error_of("read", std::make_error_code(std::io_errc::stream));

  EXPECT_EQ(other.code(), Code::Internal);
  EXPECT_EQ(other.errno_value(), 0);
  EXPECT_EQ(other.message(), "read: iostream: iostream error");
}

TEST(ErrorCode, is_an_errno_only_when_it_is_one_that_there_can_be) {
  EXPECT_EQ(errno_of(std::error_code(EPERM, std::generic_category())), EPERM);
  EXPECT_EQ(errno_of(std::error_code(255, std::system_category())), 255);
  EXPECT_EQ(errno_of(std::error_code(256, std::system_category())), 0);
  EXPECT_EQ(errno_of(std::error_code()), 0);
  EXPECT_EQ(errno_of(std::make_error_code(std::io_errc::stream)), 0);
}

}  // namespace
}  // namespace keel::error_code_test
