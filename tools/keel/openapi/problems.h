// openapi/problems.h — the mistakes in a document, with their places.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "openapi/node.h"

namespace keel::openapi {

struct Problem {
  enum class Severity : std::uint8_t { Error, Warning };

  std::string file;
  std::uint32_t line = 0;    // The line; 0 if the problem concerns the whole file.
  std::uint32_t column = 0;  // From 1.
  Severity severity = Severity::Error;
  std::string text;
  std::string pointer;  // The JSON Pointer, such as "#/paths/~1pets"; empty if the text could not be read.

  // "pets.yaml:7:3: error: 'responses' is required (#/paths/~1pets/get)".
  std::string describe() const;
};

// Collects problems; the same problem at the same place is kept only once. All problems are counted, but only the first
// 10,000 are kept.
class Problems {
 public:
  static constexpr std::size_t count_max = 10'000;

  void error(const Node& node, std::string text) { add(node, Problem::Severity::Error, std::move(text)); }
  void warning(const Node& node, std::string text) { add(node, Problem::Severity::Warning, std::move(text)); }
  void add(Problem problem);
  // Adds the problems of another document.
  void add_all(const Problems& others);

  // The problems, sorted by file (in the order in which the files were first named), line and column.
  std::vector<Problem> sorted() const;
  std::size_t errors() const noexcept { return errors_; }
  std::size_t warnings() const noexcept { return warnings_; }

 private:
  void add(const Node& node, Problem::Severity severity, std::string text);

  std::vector<Problem> all_;
  std::unordered_set<std::string> known_;
  std::vector<std::string> files_;
  std::size_t errors_ = 0;
  std::size_t warnings_ = 0;
};

// Returns the name in single quotes, as messages show names.
std::string quoted(std::string_view text);
inline constexpr std::size_t candidates_max = 5000;
// The candidate that the author of a misspelled name probably meant; empty unless exactly one candidate is similar.
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);
// Returns "; did you mean 'name'?", or "".
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace keel::openapi
