// The repository as the checks see it: paths relative to its top, with '/', and the text of files.
//
// Errors: a file that cannot be read is a bug of the check and ends it.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tidy {

// Every file of the repository, sorted, without build folders, version control and files that services leave behind.
const std::vector<std::string>& files();

std::string read(const std::string& path);
std::vector<std::string> lines(const std::string& path);

bool is_source(std::string_view path);      // .h, .cc and .c
std::string stem(std::string_view path);    // Without the extension.
std::string folder(std::string_view path);  // Returns the path without its last part; empty at the top.
bool exists(const std::string& path);
std::string absolute(const std::string& path);

struct Include {
  std::size_t line;
  std::string path;  // The path as written between the quotes or brackets.
};
std::vector<Include> includes(const std::string& path);

// A list of `path  text` lines; '#' begins a comment line.
struct Entry {
  std::string path;
  std::string text;
};
std::vector<Entry> entries(const std::string& path);

}  // namespace tidy
