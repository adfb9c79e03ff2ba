#include "keel/config/version.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace keel::version_test {
namespace {

TEST(Version, has_three_numbers) {
  const std::string version(keel_version());
  EXPECT_EQ(std::ranges::count(version, '.'), 2) << version;
  EXPECT_EQ(version.find_first_not_of(".0123456789"), std::string::npos) << version;
}

TEST(Version, names_the_compiler) {
  const std::string compiler(keel_compiler());
  EXPECT_TRUE(compiler.starts_with("GCC 1") || compiler.starts_with("Clang 1")) << compiler;
  EXPECT_EQ(std::ranges::count(compiler, '.'), 2) << compiler;
}

}  // namespace
}  // namespace keel::version_test
