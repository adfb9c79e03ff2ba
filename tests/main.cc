// main() of a program of tests. --files=PATH,PATH runs those that stand in these files, each as the end of its path;
// with a filter of GoogleTest's own, as the child of a death test has one, they are not looked at.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

namespace {

bool stands_in(std::string_view file, std::string_view list) {
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    if (file.ends_with(one)) return true;
  }
  return false;
}

// The suites in these files, as a filter. Each stands in one file: two of one name would run each other's tests.
std::string filter_of(std::string_view list) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    const std::string_view file = suite.GetTestInfo(0)->file();
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const char* other = suite.GetTestInfo(j)->file();
      if (file == other && file.ends_with("_test.cc")) continue;
      std::fprintf(stderr, "%s stands in %s: a suite stands in one file, which is called NOUN_test.cc\n", suite.name(),
                   other);
      return {};
    }
    if (stands_in(file, list)) filter.append(suite.name()).append(".*:");
  }
  if (filter.empty()) std::fprintf(stderr, "no test stands in %.*s\n", static_cast<int>(list.size()), list.data());
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view option = "--files=";
  if (argc == 2 && std::string_view(argv[1]).starts_with(option) && GTEST_FLAG_GET(filter) == "*") {
    const std::string filter = filter_of(std::string_view(argv[1]).substr(option.size()));
    if (filter.empty()) return 1;
    GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
