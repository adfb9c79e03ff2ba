#include "keel/config/command_line.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "keel/config/version.h"

namespace keel::config::command_line_test {
namespace {

struct Store {
  unsigned shelves = 3;
  void fields(Schema& v) { field(v, "shelves", shelves, "how many there are", {1, 9}); }
};

Reloadable<Store> load(std::vector<const char*> words) {
  words.insert(words.begin(), "store");
  return load_or_exit<Store>("store", static_cast<int>(words.size()), const_cast<char**>(words.data()));
}

TEST(Action, is_the_first_word_that_asks_for_one) {
  const char* const run[] = {"--config", "--help", "--name=x"};
  const char* const check[] = {"--config", "x.yaml", "--check-config", "--help"};
  const char* const print[] = {"--print-config"};
  const char* const help[] = {"-h"};
  const char* const version[] = {"--version", "--help"};

  EXPECT_EQ(action(run), Action::Run);
  EXPECT_EQ(action(check), Action::CheckConfig);
  EXPECT_EQ(action(print), Action::PrintConfig);
  EXPECT_EQ(action(help), Action::Help);
  EXPECT_EQ(action(version), Action::Version);
}

TEST(CommandLine, loads_what_it_says) {
  EXPECT_EQ(load({"--shelves=5"})->shelves, 5u);
  EXPECT_EQ(load({})->shelves, 3u);
}

TEST(CommandLine, ends_the_process_with_the_text_it_asks_for) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT((void)load({"--help"}), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT((void)load({"--print-config", "--shelves=5"}), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT((void)load({"--check-config"}), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        (void)::freopen("/dev/full", "w", stdout);
        (void)load({"--help"});
      },
      ::testing::ExitedWithCode(1), "store: standard output");
}

TEST(CommandLine, tells_the_versions_of_the_program_and_of_keel) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string keel = "(Keel " + std::string(keel_version()) + ", " + std::string(keel_compiler()) + ")\n";
  EXPECT_EQ(internal::version_line("store", "1.4.2"), "store 1.4.2 " + keel);
  EXPECT_EQ(internal::version_line("store", ""), "store " + keel);
  EXPECT_EXIT((void)load({"--shelves=many", "--version"}), ::testing::ExitedWithCode(0), "");
}

TEST(CommandLine, ends_the_process_with_2_and_a_line_for_each_mistake) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT((void)load({"--shelves=0", "--shelfs=2"}), ::testing::ExitedWithCode(2),
              "store: --shelves: 0 is out of range.*\nstore: --shelfs: unknown key");
  EXPECT_EXIT((void)load({"--check-config", "--shelves=10"}), ::testing::ExitedWithCode(2), "store: --shelves: 10");
}

}  // namespace
}  // namespace keel::config::command_line_test
