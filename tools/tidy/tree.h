// The repository as the checks see it: the text of files, and paths that are relative to the top and separated by '/'.
//
// Errors: a file that cannot be read is a bug in the check, which then ends.

#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tidy {

// Every file of the repository, sorted, without build folders, version control and files that services leave behind.
const std::vector<std::string>& files();

std::string read(const std::string& path);
std::vector<std::string> lines(const std::string& path);

bool is_source(std::string_view path);      // Whether the path ends in .h, .cc or .c.
std::string stem(std::string_view path);    // Without the extension.
std::string folder(std::string_view path);  // Returns the path without its last part; empty for a file at the top.
bool exists(const std::string& path);
std::string absolute(const std::string& path);

struct Include {
  std::size_t line;
  std::string path;  // The path, as written between the quotes or angle brackets of the #include.
};
std::vector<Include> includes(const std::string& path);

// What a file includes, directly or through files of the repository: the paths of these files, and the names of others
// as they are written. An included path begins at src, or at a folder in which the file lies.
const std::set<std::string>& all_included(const std::string& path);

// A list of `path  text` lines; '#' begins a comment line.
struct Entry {
  std::string path;
  std::string text;
};
std::vector<Entry> entries(const std::string& path);

}  // namespace tidy
