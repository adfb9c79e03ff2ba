#include "markdown.h"

#include <algorithm>

namespace tidy {
namespace {

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

// The lines outside of code blocks.
std::vector<std::string> prose(const std::vector<std::string>& page) {
  std::vector<std::string> found;
  bool is_code = false;
  for (const std::string& line : page) {
    if (line.starts_with("```")) {
      is_code = !is_code;
    } else if (!is_code) {
      found.push_back(line);
    }
  }
  return found;
}

std::string without_code_spans(std::string_view line) {
  std::string made;
  bool is_code = false;
  for (const char c : line) {
    if (c == '`') is_code = !is_code;
    if (c != '`' && !is_code) made += c;
  }
  return made;
}

std::string anchor_of(std::string_view heading) {
  std::string made;
  for (const char c : heading) {
    if (c == ' ') {
      made += '-';
    } else if (c >= 'A' && c <= 'Z') {
      made += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') {
      made += c;
    }
  }
  return made;
}

}  // namespace

std::vector<std::string> between_quotes(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = text.find('`', at)) != std::string_view::npos;) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string_view::npos) break;
    found.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return found;
}

std::vector<std::string> cells(std::string_view row) {
  std::vector<std::string> found;
  for (std::size_t at = 1; at < row.size();) {
    const std::size_t end = std::min(row.find('|', at), row.size());
    found.push_back(trimmed(row.substr(at, end - at)));
    at = end + 1;
  }
  return found;
}

std::vector<std::vector<std::string>> table_rows(const std::vector<std::string>& page, std::string_view last_column) {
  std::vector<std::vector<std::string>> found;
  bool is_in_table = false;
  for (const std::string& line : prose(page)) {
    if (!line.starts_with('|')) {
      is_in_table = false;
      continue;
    }
    std::vector<std::string> row = cells(line);
    if (row.back() == last_column) {
      is_in_table = true;
    } else if (is_in_table && !line.starts_with("|--")) {
      found.push_back(std::move(row));
    }
  }
  return found;
}

std::vector<std::string> anchors(const std::vector<std::string>& page) {
  std::vector<std::string> found;
  for (const std::string& line : prose(page)) {
    const std::size_t text = line.find_first_not_of('#');
    if (text == 0 || text == std::string::npos || line[text] != ' ') continue;
    found.push_back(anchor_of(std::string_view(line).substr(text + 1)));
  }
  return found;
}

std::vector<std::string> local_links(const std::vector<std::string>& page) {
  std::vector<std::string> found;
  for (const std::string& line : prose(page)) {
    const std::string text = without_code_spans(line);
    for (std::size_t at = 0; (at = text.find("](", at)) != std::string::npos;) {
      at += 2;
      const std::string target = text.substr(at, text.find(')', at) - at);
      if (!target.empty() && !target.contains("://")) found.push_back(target);
    }
  }
  return found;
}

}  // namespace tidy
