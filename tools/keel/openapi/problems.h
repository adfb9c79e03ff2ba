// openapi/problems.h — the mistakes of a document, with their places.

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
  std::uint32_t line = 0;    // 0: the problem concerns the whole file.
  std::uint32_t column = 0;  // From 1.
  Severity severity = Severity::Error;
  std::string text;
  std::string pointer;  // "#/paths/~1pets"; empty where the text could not be read.

  // "pets.yaml:7:3: error: 'responses' is required (#/paths/~1pets/get)".
  std::string describe() const;
};

// Collects problems; the same problem at the same place is kept only once. All are counted, but only the first 10,000
// are kept.
class Problems {
 public:
  static constexpr std::size_t count_max = 10'000;

  void error(const Node& node, std::string text) { add(node, Problem::Severity::Error, std::move(text)); }
  void warning(const Node& node, std::string text) { add(node, Problem::Severity::Warning, std::move(text)); }
  void add(Problem problem);
  // Adds the problems of another document.
  void add_all(const Problems& others);

  // Sorted by file, in the order in which the files were first named, then by line and column.
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

// The name in single quotes, as messages show names.
std::string quoted(std::string_view text);
inline constexpr std::size_t candidates_max = 5000;
// The candidate of which a name is probably a misspelling; empty when no candidate is similar, or several are.
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);
// "; did you mean 'name'?", or "".
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace keel::openapi
