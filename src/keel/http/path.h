// keel/http/path.h — which pattern a path matches.
//
//   PathTree tree;
//   KEEL_TRY_VOID(tree.add("/users/{id}", 7));
//   PathParams params;
//   if (auto id = tree.match("/users/42", params)) …            // 7, params.find("id") == "42"
//
// Patterns: literal segments; {name} for one segment of at least one byte; {name...} at the end for the rest, which
// may be empty and may hold slashes. A literal segment wins over {name}, which wins over {name...}; when the rest of
// the path then fails, the next is tried. "/a" and "/a/" are two paths.
//
// Literals are compared with what the path's escapes mean ("/%75sers" is "/users"), after it was cut at its slashes:
// "%2F" is never a separator. Dot segments are ordinary text here. Values are raw: decode them once, when used.
//
// Lifetime: `params` views the path and the tree.  Threads: match() from any number once adding is over.
// Cost: paths whose pattern has no parameter: one hash look-up when sent without escapes. Else one look-up per
//       segment, whatever the number of patterns; each choice between a literal and a parameter that turns out wrong
//       adds its way back. No allocation in match().

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/result.h"
#include "keel/http/fields.h"

namespace keel::http {

class PathParams {
 public:
  static constexpr unsigned capacity = 16;

  PathParams() noexcept {}

  unsigned size() const noexcept { return size_; }
  // In the order of the pattern; index < size().
  const Field& operator[](unsigned index) const noexcept { return items_[index]; }
  // The raw value.
  std::optional<std::string_view> find(std::string_view name) const noexcept {
    for (unsigned i = 0; i < size_; ++i) {
      if (items_[i].name == name) return items_[i].value;
    }
    return std::nullopt;
  }

 private:
  friend class PathTree;
  unsigned size_ = 0;
  union {
    Field items_[capacity];  // set up to size_; a match does not pay for the others
  };
};

class PathTree {
 public:
  PathTree();

  // InvalidArgument: the pattern is malformed (the message says how and shows it). AlreadyExists: it matches the same
  // paths as one that is there. Conflict: it names a parameter differently from a pattern with the same beginning.
  // A refused pattern leaves no match behind.
  Result<> add(std::string_view pattern, std::uint32_t id);

  // The id of the best pattern, or none; `params` is then unspecified. `path` begins with '/' and has valid escapes,
  // as RequestHead::path() gives it; anything else matches nothing.
  std::optional<std::uint32_t> match(std::string_view path, PathParams& params) const noexcept;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  struct Node {
    std::uint32_t id = none;          // a pattern ends here
    std::uint32_t param = none;       // node behind {name}
    std::uint32_t param_name = none;  // index into names_
    std::uint32_t rest_id = none;     // a pattern ends here with {name...}
    std::uint32_t rest_name = none;
    bool has_literals = false;
  };
  // From a node by a literal; or, from node `none`, by a whole path.
  struct Edge {
    std::uint32_t from;
    std::uint32_t to = none;  // node; id for a whole path
    std::string text;
  };

  std::uint32_t find_edge(std::uint32_t from, std::string_view text) const noexcept;
  void add_edge(std::uint32_t from, std::string_view text, std::uint32_t to);
  std::uint32_t literal_child(std::uint32_t node, std::string_view raw) const noexcept;
  std::optional<std::uint32_t> walk(std::uint32_t node, std::string_view rest, PathParams& params) const noexcept;

  std::vector<Node> nodes_;
  std::vector<std::string> names_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> slots_;  // open addressing into edges_; a power of two, at most half full
  bool has_params_ = false;
};

}  // namespace keel::http
