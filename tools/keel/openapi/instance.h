// openapi/instance.h — checks whether a value in a document (an example or a default) matches a schema of the document.
//
// The schema is converted to the tables of contract/schema.h, and the value is checked like a value that a client
// sends. Formats are not checked, because the generator decides how it writes a default in C++.
//
// Lifetime: the document must outlive the checker, and must not change during that time. Patterns are kept until the
//           process ends.
// Cost:     that of contract::check(); the tables of each schema are made only once. A value that contains more than
//           10,000 values, or that takes too long to be checked, counts as valid. Every value counts as valid for a
//           schema with a pattern that RE2 does not support.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "openapi/document.h"

namespace keel::openapi {

// The RE2 expression for a JSON Schema pattern (keel/contract/regex.h), or the reason why there is none.
class Regex {
 public:
  explicit Regex(std::string_view pattern);

  // "" for a valid value; otherwise the text of the violations: "uses look-around, …".
  const std::string& problem() const noexcept { return problem_; }
  const std::string& re2() const noexcept { return re2_; }

 private:
  std::string re2_;
  std::string problem_;
};

// A reason why a value does not match its schema.
struct Misfit {
  const Node* at;    // The value, or the part of the value that does not match.
  std::string text;  // "0 must be at least 1", "'id' is required".
};

class Instances {
 public:
  explicit Instances(const Document& document);
  ~Instances();
  Instances(const Instances&) = delete;
  Instances& operator=(const Instances&) = delete;

  // Checks the value against the normalised schema (structure.h), and returns all violations.
  std::vector<Misfit> misfits(const Node& schema, const Node& value);
  const Regex& regex(std::string_view pattern);

 private:
  class Tables;

  std::unordered_map<std::string, Regex> regexes_;
  std::unique_ptr<Tables> tables_;
};

// Whether a schema whose `type` is this name or list of names accepts the value.
bool is_of_type(const Node& type, const Node& value) noexcept;

}  // namespace keel::openapi
