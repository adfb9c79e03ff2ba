#include "dev/watcher.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "keel/db/testing/folder.h"

namespace keel::dev::watcher_test {
namespace {

using Files = std::vector<std::string>;

class WatcherTest : public ::testing::Test {
 protected:
  WatcherTest() {
    for (const char* one : {"src", "src/deep", "build", "data", ".git"})
      std::filesystem::create_directory(folder_ / one);
    folder_.write("src/notes.cc", "");
    watcher_ = Watcher::make(folder_.path(), Ignored({"/build*", "/data", "*~", "*.swp"})).value();
  }
  Files changes() { return watcher_->changes().value(); }
  void run(const std::string& script) { ASSERT_EQ(std::system(("cd " + folder_.path() + " && " + script).c_str()), 0); }
  bool is_readable() const {
    pollfd readable{.fd = watcher_->fd(), .events = POLLIN, .revents = 0};
    return ::poll(&readable, 1, 0) == 1;
  }

  db::testing::Folder folder_;
  std::unique_ptr<Watcher> watcher_;
};

TEST_F(WatcherTest, names_what_is_saved_once) {
  EXPECT_EQ(changes(), Files()) << "what was there before has not changed";
  EXPECT_FALSE(is_readable());

  run("echo a > src/notes.cc; echo b > src/notes.cc; echo c > src/deep/new.h");

  EXPECT_TRUE(is_readable());
  EXPECT_EQ(changes(), (Files{"src/deep/new.h", "src/notes.cc"}));
  EXPECT_EQ(changes(), Files());
}

TEST_F(WatcherTest, sees_a_file_that_an_editor_writes_beside_and_renames) {
  run("echo a > src/.notes.cc.swp; echo a > src/notes.cc~; echo a > src/4913; mv src/4913 src/notes.cc");

  EXPECT_EQ(changes(), (Files{"src/4913", "src/notes.cc"}));
}

TEST_F(WatcherTest, sees_what_is_deleted_and_moved_away) {
  run("mv src/notes.cc src/deep/notes.cc; rm src/deep/notes.cc");

  EXPECT_EQ(changes(), (Files{"src/deep/notes.cc", "src/notes.cc"}));
}

TEST_F(WatcherTest, watches_a_folder_that_is_made_later_with_what_it_has) {
  run("mkdir -p src/a/b && echo a > src/a/b/new.cc");
  EXPECT_EQ(changes(), Files{"src/a/b/new.cc"}) << "it was there before anybody could watch";

  run("echo a > src/a/b/other.cc");
  EXPECT_EQ(changes(), Files{"src/a/b/other.cc"});

  run("mv src/a src/c && echo a > src/c/b/other.cc");
  EXPECT_EQ(changes(), (Files{"src/a", "src/c/b/new.cc", "src/c/b/other.cc"}));
  run("rm -r src/c");
  EXPECT_FALSE(changes().empty());
  EXPECT_EQ(changes(), Files());
}

TEST_F(WatcherTest, passes_over_build_folders_hidden_ones_and_what_is_ignored) {
  run("echo a > build/a.o; echo a > data/app.db; echo a > .git/index; echo a > .hidden; mkdir build2 .cache");
  EXPECT_EQ(changes(), Files());

  run("mkdir src/data; echo a > src/data/rows.cc");
  EXPECT_EQ(changes(), Files{"src/data/rows.cc"}) << "/data is one at the top";
}

TEST_F(WatcherTest, does_not_follow_symbolic_links) {
  run("mkdir -p build/out; ln -s ../build/out src/link");
  EXPECT_EQ(changes(), Files{"src/link"});

  run("echo a > build/out/made.cc");
  EXPECT_EQ(changes(), Files());
}

TEST_F(WatcherTest, says_when_the_folder_is_gone) {
  std::filesystem::remove_all(folder_.path());

  const auto changed = watcher_->changes();
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code(), Code::NotFound);
}

TEST(Watcher, wants_a_folder_that_is_there) {
  const auto watcher = Watcher::make("/there/is/none", Ignored({}));
  ASSERT_FALSE(watcher);
  EXPECT_EQ(watcher.error().code(), Code::NotFound);
}

}  // namespace
}  // namespace keel::dev::watcher_test
