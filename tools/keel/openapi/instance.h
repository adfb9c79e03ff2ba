// openapi/instance.h — whether a value that stands in a document fits a schema of it.
//
// For examples and defaults, and slow: each value is read anew. Formats are not looked at.
//
// Lifetime: the document outlives it.
// Cost:     at most 10,000 steps for a value; what would take more counts as fitting.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "openapi/document.h"

namespace keel::openapi {

// A regular expression of RE2 for a pattern of JSON Schema (keel/contract/regex.h), or why there is none.
class Regex {
 public:
  explicit Regex(std::string_view pattern);
  ~Regex();
  Regex(Regex&& other) noexcept;
  Regex& operator=(Regex&&) = delete;

  // "" for a good one; else what is wrong: "uses look-around, …".
  const std::string& problem() const noexcept { return problem_; }
  // Whether it matches a part of the text. Only of a good one.
  bool matches(std::string_view text) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
  std::string problem_;
};

// Why a value does not fit.
struct Misfit {
  const Node* at;  // The value, or a part of it.
  std::string text;
};

class Instances {
 public:
  explicit Instances(const Document& document) : document_(document) {}

  // Nothing when the value fits the normalised schema (structure.h), or when that cannot be found out.
  std::optional<Misfit> misfit(const Node& schema, const Node& value);
  const Regex& regex(std::string_view pattern);

 private:
  enum class Verdict : std::uint8_t { Fits, Unknown, Refused };

  Verdict check(const Node& schema, const Node& value, int depth);
  Verdict check_scalar(const Node& schema, const Node& value);
  Verdict check_list(const Node& schema, const Node& value, int depth);
  Verdict check_map(const Node& schema, const Node& value, int depth);
  Verdict check_combined(const Node& schema, const Node& value, int depth);
  Verdict refuse(const Node& at, std::string text);

  const Document& document_;
  std::unordered_map<std::string, Regex> regexes_;
  std::optional<Misfit> misfit_;  // The last one.
  int steps_ = 0;
};

// Whether the schema of this `type`, a name or a list of names, takes the value.
bool is_of_type(const Node& type, const Node& value) noexcept;

}  // namespace keel::openapi
