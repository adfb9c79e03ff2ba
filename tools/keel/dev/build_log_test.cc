#include "dev/build_log.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::dev::build_log_test {
namespace {

void expect(const std::string& log, const std::string& text, std::size_t count) {
  const BuildError error = first_error(log, "/src/shop");
  EXPECT_EQ(error.text, text);
  EXPECT_EQ(error.count, count);
}

TEST(BuildLog, has_the_compilers_first_error_with_its_line) {
  expect(
      "[1/3] Building CXX object a.o\n"
      "FAILED: a.o\n"
      "/usr/bin/c++ -o a.o -c /src/shop/src/notes.cc\n"
      "/src/shop/src/notes.cc: In function 'int f()':\n"
      "/src/shop/src/notes.cc:5:1: warning: no return statement\n"
      "/src/shop/src/notes.cc:41:32: error: 'nmae' was not declared in this scope\n"
      "   41 |   return nmae;\n"
      "      |          ^~~~\n"
      "/src/shop/src/notes.cc:44:1: error: expected ';'\n"
      "   44 | }\n"
      "ninja: build stopped: subcommand failed.\n",
      "src/notes.cc:41:32: error: 'nmae' was not declared in this scope\n"
      "   41 |   return nmae;\n"
      "      |          ^~~~\n",
      2);
  expect("src/notes.cc:1:10: fatal error: 'none.h' file not found\n    1 | #include \"none.h\"\n",
         "src/notes.cc:1:10: fatal error: 'none.h' file not found\n    1 | #include \"none.h\"\n", 1);
  expect("/src/shop/src/a.cc:3:2: error: warning is an error [-Werror=unused-variable]\r\n",
         "src/a.cc:3:2: error: warning is an error [-Werror=unused-variable]\n", 1);
}

TEST(BuildLog, has_the_linkers) {
  expect(
      "/usr/bin/ld: a.o: in function `main':\n"
      "/src/shop/src/main.cc:3: undefined reference to `Notes::list()'\n"
      "collect2: error: ld returned 1 exit status\n",
      "src/main.cc:3: undefined reference to `Notes::list()'\n", 1);
  expect("/usr/bin/ld: cannot find -lnone: No such file or directory\n",
         "/usr/bin/ld: cannot find -lnone: No such file or directory\n", 1);
}

TEST(BuildLog, has_cmakes_paragraph) {
  expect(
      "-- Configuring\n"
      "CMake Error at CMakeLists.txt:5 (find_package):\n"
      "  By not providing \"Findkeel.cmake\" in CMAKE_MODULE_PATH\n"
      "\n"
      "  Could not find a package\n"
      "\n"
      "\n"
      "-- Configuring incomplete, errors occurred!\n",
      "CMake Error at CMakeLists.txt:5 (find_package):\n"
      "  By not providing \"Findkeel.cmake\" in CMAKE_MODULE_PATH\n"
      "  Could not find a package\n",
      1);
}

TEST(BuildLog, has_a_mistake_in_sql) {
  expect(
      "src/notes.cc:41:32: error: no such column: txet; did you mean text?\n"
      "  select id, txet from notes\n"
      "             ^\n"
      "keel sql: 3 statements checked with 1 migration of db: 1 with mistakes, 0 not checked\n",
      "src/notes.cc:41:32: error: no such column: txet; did you mean text?\n"
      "  select id, txet from notes\n"
      "             ^\n",
      1);
  expect("keel sql: migrations: 0002_a.sql:1: near \"creat\": syntax error\n",
         "keel sql: migrations: 0002_a.sql:1: near \"creat\": syntax error\n", 1);
}

TEST(BuildLog, has_its_last_lines_where_nothing_is_known_to_be_an_error) {
  std::string log;
  for (int i = 1; i <= 20; ++i) log += "line " + std::to_string(i) + "\n\n";

  const BuildError error = first_error(log, "/src/shop");

  EXPECT_TRUE(error.text.starts_with("line 11\n") && error.text.ends_with("line 20\n")) << error.text;
  EXPECT_EQ(error.count, 0u);
  expect("", "", 0);
  expect("'error: ' is a word\n", "'error: ' is a word\n", 0);
}

}  // namespace
}  // namespace keel::dev::build_log_test
