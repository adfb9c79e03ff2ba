// keel/config/internal/tree.h — YAML text as a small tree whose nodes know their line.
//
// Limits:   one document, text up to 1 MiB, 32 levels, 20,000 nodes and 4 MiB of scalars after aliases are expanded.
// Rejected: a second document, keys that are not text, duplicate keys, tags, an alias inside its own anchor.
//
// Threads:  values.
// Cost:     start-up only.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::config {

struct Node {
  enum class Kind { Null, Scalar, List, Map };

  Kind kind = Kind::Null;
  bool quoted = false;         // A scalar in quotes or a block scalar: text, never a number or a boolean.
  int line = 0;                // The line of the key or, if there is no key, of the value; counted from 1.
  std::string key;             // The key of an element of a map.
  std::string text;            // The text of a scalar.
  std::vector<Node> children;  // The elements of a list or a map, in the order of the text.
};

struct ParseProblem {
  int line = 0;      // The line of the mistake; 0: the mistake is not in one line.
  std::string path;  // The dotted path; empty if unknown.
  std::string text;
};

// The tree of `text`. Errors are appended to `problems`; the tree is usable only if there are no errors.
Node parse_tree(std::string_view text, std::vector<ParseProblem>& problems);

}  // namespace keel::config
