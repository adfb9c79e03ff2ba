#include "sql/problems.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace keel::sql {

std::size_t Problems::add_file(std::string path, std::string text) {
  files_.push_back({std::move(path), std::move(text)});
  return files_.size() - 1;
}

std::size_t Problems::line(Place place) const noexcept {
  const std::string_view before = std::string_view(files_[place.source].text).substr(0, place.offset);
  return 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
}

std::string Problems::describe(Place place) const {
  const std::string_view before = std::string_view(files_[place.source].text).substr(0, place.offset);
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return files_[place.source].path + ':' + std::to_string(line(place)) + ':' + std::to_string(column);
}

std::string Problems::describe() const {
  std::vector<const Problem*> sorted;
  for (const Problem& problem : problems_) sorted.push_back(&problem);
  // Problems at the same place keep the order in which they were added; this is also the order of their addresses.
  std::ranges::sort(sorted, {},
                    [](const Problem* one) { return std::tuple(one->place.source, one->place.offset, one); });
  std::string text;
  for (const Problem* problem : sorted) {
    text += describe(problem->place) + ": error: " + problem->text + '\n' +
            shown_with_caret(files_[problem->place.source].text, problem->place.offset);
  }
  return text;
}

std::string shown_with_caret(std::string_view text, std::size_t byte) {
  const std::size_t offset = std::min(byte, text.size());
  const std::size_t begin = text.substr(0, offset).rfind('\n') + 1;
  const std::size_t end = std::min(text.find('\n', offset), text.size());
  std::string shown = "  " + std::string(text.substr(begin, end - begin)) + "\n  ";
  for (const char c : text.substr(begin, offset - begin)) {
    if (c == '\t') {
      shown += c;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      shown += ' ';  // One blank for each UTF-8 character.
    }
  }
  return shown + "^\n";
}

}  // namespace keel::sql
