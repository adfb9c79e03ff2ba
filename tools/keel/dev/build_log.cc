#include "dev/build_log.h"

#include <algorithm>
#include <vector>

namespace keel::dev {
namespace {

constexpr std::size_t following_lines_max = 6;
constexpr std::size_t last_lines = 10;

std::vector<std::string_view> lines_of(std::string_view log) {
  std::vector<std::string_view> lines;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return lines;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether a compiler reports an error in this line: "notes.cc:12:3: error: …", "notes.cc:12: fatal error: …".
bool is_compilers(std::string_view line) {
  for (const std::string_view kind : {": error: ", ": fatal error: "}) {
    std::size_t at = line.find(kind);
    if (at == std::string_view::npos) continue;
    const std::size_t end = at;
    while (at > 0 && is_digit(line[at - 1])) --at;
    if (at < end && at > 1 && line[at - 1] == ':') return true;  // "collect2: error: " is none.
  }
  return false;
}

bool is_linkers(std::string_view line) {
  for (const std::string_view words : {": undefined reference to ", ": multiple definition of ", "ld: cannot find ",
                                       "ld: error: ", "ld.lld: error: ", "undefined symbol: "}) {
    if (line.contains(words)) return true;
  }
  return false;
}

bool is_makers(std::string_view line) {
  return line.starts_with("CMake Error") || line.starts_with("ninja: error:") || line.starts_with("keel sql: ") ||
         (line.starts_with("make") && line.contains("*** No rule"));
}

// "keel sql: 3 statements checked …" is a summary, not an error.
bool is_error(std::string_view line) {
  if (line.starts_with("keel sql: ") && line.contains(" checked with ")) return false;
  return is_compilers(line) || is_linkers(line) || is_makers(line);
}

// Whether the line belongs to the error above it: a source line, a line with a caret, or a line of CMake's paragraph.
bool goes_on(std::string_view line, bool is_cmakes) { return line.starts_with(' ') || (is_cmakes && line.empty()); }

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

BuildError first_error(std::string_view log, std::string_view folder) {
  const std::vector<std::string_view> lines = lines_of(log);
  BuildError error;
  error.count = static_cast<std::size_t>(std::ranges::count_if(lines, is_error));
  const auto first = std::ranges::find_if(lines, is_error);
  std::vector<std::string_view> shown;
  if (first != lines.end()) {
    const bool is_cmakes = first->starts_with("CMake Error");
    shown.push_back(*first);
    for (auto line = first + 1; line != lines.end() && goes_on(*line, is_cmakes); ++line) {
      if (shown.size() > following_lines_max) break;
      if (!line->empty()) shown.push_back(*line);
    }
  } else {
    std::ranges::copy_if(lines, std::back_inserter(shown), [](std::string_view line) { return !line.empty(); });
    if (shown.size() > last_lines) shown.erase(shown.begin(), shown.end() - last_lines);
  }
  for (const std::string_view line : shown) error.text.append(line) += '\n';
  replace_all(error.text, std::string(folder) + "/", "");
  return error;
}

}  // namespace keel::dev
