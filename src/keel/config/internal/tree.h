// keel/config/internal/tree.h — YAML text as a small tree whose nodes know their line.
//
// One document, bounded: text up to 1 MiB, 32 levels, 20,000 nodes and 4 MiB of scalars after aliases were expanded.
// Rejected: a second document, keys that are not text, duplicate keys, tags, an alias inside its own anchor.
//
// Threads: values.  Cost: start-up only.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::config {

struct Node {
  enum class Kind { Null, Scalar, List, Map };

  Kind kind = Kind::Null;
  bool quoted = false;         // A scalar in quotes, or a block scalar: text, never a number or a boolean.
  int line = 0;                // From 1: of its key inside a map, else of its own beginning.
  std::string key;             // Inside a map.
  std::string text;            // Of a scalar.
  std::vector<Node> children;  // Of a list or a map, in the order written.
};

struct ParseProblem {
  int line = 0;      // 0: the text as a whole.
  std::string path;  // Dotted; empty where none is known.
  std::string text;
};

// The tree of `text`. What is wrong with it is appended to `problems`; the tree is then usable only when nothing was.
Node parse_tree(std::string_view text, std::vector<ParseProblem>& problems);

}  // namespace keel::config
