// Reads a table from a file whose first line names the columns (RFC 4180).
//
// Errors:   InvalidArgument with the file and the line if there are no columns, two columns have the same name, a line
//           has more or fewer fields than there are columns, a quotation mark is out of place, or there is no line
//           after the first. NotFound and other codes if the file cannot be read.
// Lifetime: a Csv owns its text.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/result.h"

namespace keel::load {

class Csv {
 public:
  static constexpr std::size_t bytes_max = 256u << 20;

  static Result<Csv> read(const std::string& path);
  // `name` is the name of the file, for messages.
  static Result<Csv> parse(std::string_view text, std::string_view name);

  std::optional<std::size_t> column(std::string_view name) const noexcept;
  const std::vector<std::string>& columns() const noexcept { return columns_; }
  std::size_t rows() const noexcept { return values_.size() / columns_.size(); }
  std::string_view value(std::size_t row, std::size_t column) const noexcept {
    return values_[row * columns_.size() + column];
  }

 private:
  std::vector<std::string> columns_;
  std::vector<std::string> values_;
};

}  // namespace keel::load
