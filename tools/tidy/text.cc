// Checks for text that must not occur in the repository.

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tree.h"

namespace {

using namespace tidy;

// No byte of a snapshot or a seed may be changed.
bool is_prose_or_code(const std::string& path) {
  if (path.find("/testdata/") != std::string::npos || path.starts_with("bench/results/")) return false;
  return read(path).find('\0') == std::string::npos;
}

template <class Check>
void on_every_line(Check check) {
  for (const std::string& file : files()) {
    if (!is_prose_or_code(file)) continue;
    std::size_t number = 0;
    for (const std::string& line : lines(file)) check(line, file, file + ':' + std::to_string(++number) + ": ");
  }
}

TEST(Text, no_line_ends_in_blanks_or_has_tabs) {
  on_every_line([](const std::string& line, const std::string& file, const std::string& where) {
    EXPECT_FALSE(line.ends_with(' ') || line.ends_with('\t') || line.ends_with('\r'))
        << where << "a line must not end with a blank";
    EXPECT_TRUE(file == "Makefile" || file.ends_with(".go") || line.find('\t') == std::string::npos)
        << where << "a line must not contain a tab";
  });
}

TEST(Text, every_file_ends_with_one_line_feed) {
  for (const std::string& file : files()) {
    const std::string text = is_prose_or_code(file) ? read(file) : "";
    if (text.empty()) continue;
    EXPECT_TRUE(text.ends_with('\n') && !text.ends_with("\n\n")) << file;
  }
}

TEST(Text, work_left_to_do_is_typed) {
  // The words are written in two parts, so that this file passes its own check.
  const std::string todo = std::string("TO") + "DO";
  const std::string fixme = std::string("FIX") + "ME";
  const std::regex typed(todo + R"(\((perf|cleanup|port|test|later)\): .{10,})");

  on_every_line([&](const std::string& line, const std::string& file, const std::string& where) {
    if (!is_source(file)) return;
    EXPECT_EQ(line.find(fixme), std::string::npos) << where << "this word must not be committed";
    if (line.find(todo) != std::string::npos) {
      EXPECT_TRUE(std::regex_search(line, typed)) << where << "write " << todo << "(perf|cleanup|port|test|later): why";
    }
  });
}

// If a line is one word too long, the formatter puts that word on a separate line, before the rest of the paragraph.
TEST(Text, no_comment_is_torn_by_the_formatter) {
  constexpr std::size_t columns = 120;
  const auto indent = [](const std::string& line) { return line.find_first_not_of(' ', 2); };
  std::string before, torn;
  on_every_line([&](const std::string& line, const std::string& file, const std::string& where) {
    if (!is_source(file) || !line.starts_with("// ")) {
      torn.clear();
    } else {
      const bool is_deeper = line.starts_with("//     ");
      EXPECT_FALSE(!torn.empty() && is_deeper)
          << where << "shorten the lines above: the formatter has moved a word to a separate line";
      const std::size_t first_word = line.find(' ', 3);
      const bool follows = before.starts_with("// ") && indent(line) == 3 &&
                           before.size() + std::min(first_word, line.size()) - 2 > columns;
      torn = follows && line.size() < columns / 2 ? line : "";
    }
    before = line;
  });
}

// If a row of a header's contract is too long, the formatter joins it with the next row.
TEST(Text, each_row_of_a_contract_begins_a_line) {
  const std::regex joined(R"(^// .*[.;] +(Result|Errors|Ownership|Lifetime|Threads|Cancel|Cost): +\S)");
  EXPECT_TRUE(std::regex_search(std::string("// nothing. Cost:      no heap"), joined));

  on_every_line([&](const std::string& line, const std::string& file, const std::string& where) {
    if (!is_source(file) || !line.starts_with("// ")) return;
    EXPECT_FALSE(std::regex_search(line, joined)) << where << "begin a line with each row of the contract";
  });
}

// Each of the network examples must fit on one screen; the code that they share is in flags.h.
TEST(Text, network_examples_have_fewer_than_60_lines) {
  for (const std::string folder : {"examples/chat/", "examples/echo/", "examples/forwarder/"}) {
    std::ptrdiff_t count = 0;
    for (const std::string& file : files()) {
      if (!is_source(file) || !file.starts_with(folder)) continue;
      const std::vector<std::string> all = lines(file);
      count += std::ranges::count_if(all, [](const std::string& line) { return !line.empty(); });
    }
    EXPECT_GT(count, 0) << folder;
    EXPECT_LT(count, 60) << folder << " must have fewer than 60 lines that are not blank";
  }
}

TEST(Text, nothing_depends_on_one_machine) {
  // No file may contain a path of somebody's checkout; the paths of a service are relative.
  const std::vector<std::string> places = {std::string("/wo") + "rk/", std::string("/ho") + "me/",
                                           std::string("/ro") + "ot/"};

  on_every_line([&](const std::string& line, const std::string&, const std::string& where) {
    for (const std::string& place : places) {
      const std::size_t at = line.find(place);
      const bool is_absolute = at != std::string::npos &&
                               (at == 0 || std::string_view(" \"'=(`").find(line[at - 1]) != std::string_view::npos);
      EXPECT_FALSE(is_absolute) << where << "names " << place;
    }
  });
}

}  // namespace
