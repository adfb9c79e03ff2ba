// openapi/instance.h — whether a value that stands in a document fits a schema of it: examples and defaults.
//
// The schema becomes the tables of contract/schema.h, and the value is checked as one that a client sends. Formats are
// not looked at: what a default has to be as C++ is the generator's affair.
//
// Lifetime: the document outlives it, and is not changed meanwhile. Patterns are kept until the process ends.
// Cost:     of contract::check(), and the tables of each schema once. A value of more than 10,000 values, and what
//           takes too long to be checked, count as fitting; so does everything once a pattern is none of RE2's.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "openapi/document.h"

namespace keel::openapi {

// A regular expression of RE2 for a pattern of JSON Schema (keel/contract/regex.h), or why there is none.
class Regex {
 public:
  explicit Regex(std::string_view pattern);

  // "" for a good one; else what is wrong: "uses look-around, …".
  const std::string& problem() const noexcept { return problem_; }
  const std::string& re2() const noexcept { return re2_; }

 private:
  std::string re2_;
  std::string problem_;
};

// Why a value does not fit.
struct Misfit {
  const Node* at;    // The value, or a part of it.
  std::string text;  // "0 must be at least 1", "'id' is required".
};

class Instances {
 public:
  explicit Instances(const Document& document);
  ~Instances();
  Instances(const Instances&) = delete;
  Instances& operator=(const Instances&) = delete;

  // All that is wrong with the value, by the normalised schema (structure.h).
  std::vector<Misfit> misfits(const Node& schema, const Node& value);
  const Regex& regex(std::string_view pattern);

 private:
  class Tables;

  std::unordered_map<std::string, Regex> regexes_;
  std::unique_ptr<Tables> tables_;
};

// Whether the schema of this `type`, a name or a list of names, takes the value.
bool is_of_type(const Node& type, const Node& value) noexcept;

}  // namespace keel::openapi
