#include "tree.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

namespace tidy {
namespace {

// The file of the repository that `included` names in a source below `from`; empty if it is not one.
std::string resolved(const std::string& from, const std::string& included) {
  if (!is_source(included)) return {};  // <new> is not the folder tools/keel/new.
  if (exists("src/" + included)) return "src/" + included;
  for (std::string at = folder(from);; at = folder(at)) {
    const std::string path = at.empty() ? included : at + "/" + included;
    if (exists(path)) return path;
    if (at.empty()) return {};
  }
}

bool is_left_out(const std::string& name) {
  return name == ".git" || name == "install" || name == "data" || name == "__pycache__" || name == ".venv" ||
         name == ".cache" || name.starts_with("build");
}

}  // namespace

const std::vector<std::string>& files() {
  static const std::vector<std::string> found = [] {
    std::vector<std::string> paths;
    const std::filesystem::path top = KEEL_SOURCE_DIR;
    for (auto at = std::filesystem::recursive_directory_iterator(top); at != std::filesystem::end(at); ++at) {
      // A name is left out only in the top folder: in a folder below, the same name may be a module, as in
      // src/keel/data.
      if (at.depth() == 0 && is_left_out(at->path().filename().string())) {
        if (at->is_directory()) at.disable_recursion_pending();
        continue;
      }
      if (at->path().filename() == "__pycache__") at.disable_recursion_pending();
      if (at->is_regular_file()) paths.push_back(at->path().lexically_relative(top).generic_string());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }();
  return found;
}

std::string absolute(const std::string& path) { return std::string(KEEL_SOURCE_DIR "/") + path; }

bool exists(const std::string& path) { return std::filesystem::exists(absolute(path)); }

std::string read(const std::string& path) {
  std::ifstream file(absolute(path), std::ios::binary);
  if (!file) {
    std::cerr << "tidy: cannot read " << path << '\n';
    std::abort();
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> lines(const std::string& path) {
  std::vector<std::string> found;
  const std::string text = read(path);
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    found.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return found;
}

bool is_source(std::string_view path) { return path.ends_with(".h") || path.ends_with(".cc") || path.ends_with(".c"); }

std::string stem(std::string_view path) { return std::string(path.substr(0, path.rfind('.'))); }

std::string folder(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

std::vector<Include> includes(const std::string& path) {
  std::vector<Include> found;
  std::size_t number = 0;
  for (const std::string& line : lines(path)) {
    ++number;
    const std::size_t hash = line.find_first_not_of(' ');
    if (hash == std::string::npos || !line.substr(hash).starts_with("#include ")) continue;
    const std::size_t from = line.find_first_of("\"<", hash);
    const std::size_t to = from == std::string::npos ? from : line.find_first_of("\">", from + 1);
    if (to != std::string::npos) found.push_back({number, line.substr(from + 1, to - from - 1)});
  }
  return found;
}

const std::set<std::string>& all_included(const std::string& path) {
  static std::map<std::string, std::set<std::string>> known;
  const auto [at, is_new] = known.try_emplace(path);
  if (!is_new) return at->second;
  std::set<std::string> found;
  for (const Include& include : includes(path)) {
    const std::string ours = resolved(path, include.path);
    found.insert(ours.empty() ? include.path : ours);
    if (ours.empty()) continue;
    const std::set<std::string>& further = all_included(ours);
    found.insert(further.begin(), further.end());
  }
  return known[path] = found;
}

std::vector<Entry> entries(const std::string& path) {
  std::vector<Entry> found;
  for (const std::string& line : lines(path)) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::size_t text = std::min(line.find_first_not_of(' ', space), line.size());
    found.push_back({line.substr(0, space), line.substr(text)});
  }
  return found;
}

}  // namespace tidy
