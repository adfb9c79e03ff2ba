// Checks that a source which uses a common name of the standard library includes its header, directly or through our
// headers. Most builds precompile these headers, so the compiler does not notice a missing one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tree.h"

namespace {

using namespace tidy;

// Names after std:: or std::ranges::, and the headers of which one suffices; the first is recommended.
struct Names {
  std::vector<std::string> headers;
  std::vector<std::string> names;
};

const std::map<std::string, std::vector<std::string>>& headers_of_names() {
  static const std::map<std::string, std::vector<std::string>> known = [] {
    const Names table[] = {
        {{"algorithm"},
         {"adjacent_find", "all_of",      "any_of",   "binary_search", "clamp",       "copy",        "copy_if",
          "copy_n",        "count_if",    "equal",    "equal_range",   "fill",        "fill_n",      "find",
          "find_if",       "find_if_not", "for_each", "generate",      "is_sorted",   "lower_bound", "max",
          "max_element",   "merge",       "min",      "min_element",   "minmax",      "mismatch",    "none_of",
          "nth_element",   "partition",   "pop_heap", "push_heap",     "remove_if",   "replace",     "reverse",
          "rotate",        "search",      "shuffle",  "sort",          "stable_sort", "transform",   "unique",
          "upper_bound"}},
        {{"array"}, {"array", "to_array"}},
        {{"atomic"}, {"atomic", "atomic_ref", "memory_order", "memory_order_relaxed"}},
        {{"bit"},
         {"bit_cast", "bit_ceil", "bit_width", "countl_zero", "countr_zero", "endian", "has_single_bit", "popcount",
          "rotl"}},
        {{"charconv"}, {"from_chars", "to_chars"}},
        {{"condition_variable"}, {"condition_variable", "condition_variable_any"}},
        {{"coroutine"}, {"coroutine_handle", "noop_coroutine", "suspend_always", "suspend_never"}},
        {{"cstring"}, {"memchr", "memcmp", "memcpy", "memmove", "memset", "strcmp", "strlen"}},
        {{"expected"}, {"expected", "unexpected"}},
        {{"limits"}, {"numeric_limits"}},
        {{"memory"}, {"make_shared", "make_unique", "shared_ptr", "unique_ptr", "weak_ptr"}},
        {{"mutex"}, {"call_once", "lock_guard", "mutex", "once_flag", "scoped_lock", "unique_lock"}},
        {{"optional"}, {"nullopt", "optional"}},
        {{"source_location"}, {"source_location"}},
        {{"span"}, {"span"}},
        {{"string"}, {"string", "to_string"}},
        {{"string_view", "string"}, {"string_view"}},
        {{"utility", "algorithm", "array", "expected", "functional", "map", "memory", "mutex", "optional", "span",
          "string", "tuple", "unordered_map", "variant", "vector"},
         {"exchange", "forward", "in_place", "move", "pair", "swap"}},
        {{"vector"}, {"vector"}},
    };
    std::map<std::string, std::vector<std::string>> found;
    for (const Names& row : table) {
      for (const std::string& name : row.names) found[name] = row.headers;
    }
    return found;
  }();
  return known;
}

// Removes comments and the contents of literals; raw strings end at `)"` with their delimiter.
std::string code_of(std::string_view text) {
  std::string code;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (rest.starts_with("/*")) {
      const std::size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 2;
    } else if (rest.starts_with("R\"") && (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0)) {
      const std::size_t open = std::min(text.find('(', i), text.size());
      const std::size_t end = text.find(")" + std::string(text.substr(i + 2, open - i - 2)) + "\"", open);
      i = end == std::string_view::npos ? text.size() : text.find('"', end) + 1;
    } else if (text[i] == '"' ||
               (text[i] == '\'' && (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0))) {
      const char quote = text[i++];
      while (i < text.size() && text[i] != quote && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
      ++i;
      code += ' ';
    } else {
      code += text[i++];
    }
  }
  return code;
}

std::string name_at(std::string_view code, std::size_t from) {
  std::size_t end = from;
  while (end < code.size() && (std::isalnum(static_cast<unsigned char>(code[end])) != 0 || code[end] == '_')) ++end;
  return std::string(code.substr(from, end - from));
}

std::set<std::string> standard_names(std::string_view code) {
  constexpr std::string_view prefix = "std::", ranges = "ranges::";
  std::set<std::string> found;
  for (std::size_t at = code.find(prefix); at != std::string_view::npos; at = code.find(prefix, at + 1)) {
    std::size_t from = at + prefix.size();
    if (code.substr(from).starts_with(ranges)) from += ranges.size();
    found.insert(name_at(code, from));
  }
  return found;
}

// The missing header of each name, as "NAME needs <HEADER>".
std::vector<std::string> missing(const std::set<std::string>& names, const std::set<std::string>& included) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const auto row = headers_of_names().find(name);
    if (row == headers_of_names().end()) continue;
    const auto is_there = [&](const std::string& header) { return included.contains(header); };
    if (!std::ranges::any_of(row->second, is_there))
      found.push_back("std::" + name + " needs <" + row->second[0] + ">");
  }
  return found;
}

bool is_ours(const std::string& path) {
  return path.starts_with("src/") || path.starts_with("tools/") || path.starts_with("examples/");
}

TEST(Includes, of_the_standard_library_are_there) {
  std::size_t read_files = 0;
  for (const std::string& file : files()) {
    if (!is_source(file) || !is_ours(file) || file.find("testdata/") != std::string::npos) continue;
    ++read_files;
    for (const std::string& problem : missing(standard_names(code_of(read(file))), all_included(file)))
      ADD_FAILURE() << file << ": " << problem;
  }
  EXPECT_GT(read_files, 500u);
}

TEST(Includes, are_looked_up_by_the_names_in_the_code) {
  const std::string text = R"(
// std::optional in a comment
const char* a = "std::vector"; /* std::span */ char b = '"';
int c = std::min(1'000, std::ranges::max(2, 3)) + sizeof(std::string_view);
)";
  const std::set<std::string> names = standard_names(code_of(text));
  EXPECT_EQ(names, (std::set<std::string>{"max", "min", "string_view"}));
  EXPECT_EQ(missing(names, {"string"}),
            (std::vector<std::string>{"std::max needs <algorithm>", "std::min needs <algorithm>"}));
  EXPECT_EQ(missing(names, {"algorithm"}), std::vector<std::string>{"std::string_view needs <string_view>"});
  EXPECT_EQ(missing(names, {"algorithm", "string_view"}), std::vector<std::string>());
}

}  // namespace
