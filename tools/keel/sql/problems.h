// Mistakes in files, each with its place.

#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "sql/statements.h"

namespace keel::sql {

class Problems {
 public:
  struct Problem {
    Place place;
    std::string text;
  };

  // Adds a file; returns its number.
  std::size_t add_file(std::string path, std::string text);
  std::string_view text(std::size_t file) const noexcept { return files_[file].text; }
  const std::string& path(std::size_t file) const noexcept { return files_[file].path; }

  void add(Place place, std::string text) { problems_.push_back({place, std::move(text)}); }
  bool has_any() const noexcept { return !problems_.empty(); }

  // The place as "users.sql:12:30". The line and the column are counted from 1; the column is counted in bytes.
  std::string describe(Place place) const;
  std::size_t line(Place place) const noexcept;
  // All problems, sorted by place, in this form: "users.sql:12:30: error: …", and the line with a caret below it.
  std::string describe() const;

 private:
  struct File {
    std::string path;
    std::string text;
  };
  std::deque<File> files_;
  std::vector<Problem> problems_;
};

// The line of `text` that contains the byte, with a caret below the byte.
std::string shown_with_caret(std::string_view text, std::size_t byte);

}  // namespace keel::sql
