#include "load/csv.h"

#include <algorithm>
#include <utility>

#include "load/text.h"

namespace keel::load {
namespace {

struct Line {
  std::vector<std::string> fields;
  const char* problem = nullptr;
};

// Removes one line from `rest`; a quoted field may span several lines.
Line take_line(std::string_view& rest, std::size_t& lines) {
  Line line;
  std::string field;
  std::size_t at = 0;
  for (;;) {
    if (at < rest.size() && rest[at] == '"') {
      ++at;
      for (;; ++at) {
        if (at == rest.size()) {
          line.problem = "a quotation mark is not closed";
          return line;
        }
        if (rest[at] == '\n') ++lines;
        if (rest[at] == '"') {
          if (at + 1 == rest.size() || rest[at + 1] != '"') break;
          ++at;
        }
        field += rest[at];
      }
      ++at;
      if (at < rest.size() && rest[at] != ',' && rest[at] != '\n' && rest[at] != '\r') {
        line.problem = "a quoted field must be followed by a comma or the end of the line";
        return line;
      }
    } else {
      while (at < rest.size() && rest[at] != ',' && rest[at] != '\n' && rest[at] != '\r') {
        if (rest[at] == '"') {
          line.problem = "a quotation mark within a field: quote the whole field and double the mark";
          return line;
        }
        field += rest[at++];
      }
    }
    line.fields.push_back(std::exchange(field, {}));
    if (at == rest.size() || rest[at] != ',') break;
    ++at;
  }
  if (at < rest.size() && rest[at] == '\r') ++at;
  if (at < rest.size() && rest[at] == '\n') {
    ++at;
  } else if (at < rest.size()) {
    line.problem = "CR without LF";
  }
  ++lines;
  rest.remove_prefix(at);
  return line;
}

}  // namespace

Result<Csv> Csv::read(const std::string& path) {
  KEEL_TRY(const std::string text, read_file(path, bytes_max));
  return parse(text, path);
}

Result<Csv> Csv::parse(std::string_view text, std::string_view name) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";  // Spreadsheets write it.
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  Csv csv;
  std::size_t lines = 0;
  const auto wrong = [&](std::size_t line, const std::string& what) {
    return Error::text(Code::InvalidArgument, std::string(name) + ':' + std::to_string(line) + ": " + what);
  };
  while (!text.empty()) {
    const std::size_t number = lines + 1;
    Line line = take_line(text, lines);
    if (line.problem != nullptr) return wrong(number, line.problem);
    if (csv.columns_.empty()) {
      for (const std::string& column : line.fields) {
        if (column.empty()) return wrong(number, "a column has no name; the first line names the columns");
        if (std::count(line.fields.begin(), line.fields.end(), column) > 1) {
          return wrong(number, "two columns are named '" + column + "'");
        }
      }
      csv.columns_ = std::move(line.fields);
      continue;
    }
    if (line.fields.size() != csv.columns_.size()) {
      return wrong(number, std::to_string(line.fields.size()) + " fields, but " + std::to_string(csv.columns_.size()) +
                               " columns");
    }
    for (std::string& field : line.fields) csv.values_.push_back(std::move(field));
  }
  if (csv.values_.empty())
    return wrong(1, "no values: the first line names the columns, and the lines after it have the values");
  return csv;
}

std::optional<std::size_t> Csv::column(std::string_view name) const noexcept {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

}  // namespace keel::load
