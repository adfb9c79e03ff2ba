// keel/http/server/path.h — which pattern a path matches.
//
//   PathTree tree;
//   KEEL_TRY_VOID(tree.add("/users/{id}", 7));
//   PathParams params;
//   if (auto id = tree.match("/users/42", params)) …            // 7, params.find("id") == "42"
//
// Patterns: literal segments; {name} for one segment of at least one byte; {name:type} for one that fits the type;
// {name...} at the end for the rest, which may be empty and may hold slashes. A literal segment wins over {name:type},
// in the order below, that over {name}, and {name} over {name...}; when the rest of the path then fails, the next is
// tried. "/a" and "/a/" are two paths.
//
//   uuid   8-4-4-4-12 hexadecimal digits, of either case (RFC 9562)
//   uint   digits, at most 18446744073709551615
//   int    digits, perhaps behind a '-', in the range of 64 bits
//   slug   letters, digits, '-' and '_'; at most 255 bytes
//
// Escapes: the path is cut at its slashes first. Then each segment is decoded once, to compare it with literals and
// types: "/%75sers/%37" is "/users/7", "%2F" is a byte of a segment and never a separator, "%2525" means "%25". Values
// are handed out raw: decode them once, when used. ("%00" and broken escapes have been refused by the parser.)
//
// Dot segments: nothing is resolved. RFC 3986 §5.2.4 has the client remove them before it sends; one that arrives is a
// segment like another, so "/a/../b" is never "/b", and a value may be "..": what opens files has to confine itself.
//
// Lifetime: `params` views the path and the tree.  Threads: match() from any number once adding is over.
// Cost: paths whose pattern has no parameter: one look-up in a perfect hash when sent without escapes. Else a radix
//       tree: one comparison for each run of bytes that patterns share, whatever their number, and one step over eight
//       bytes at a time for each parameter; a choice between a literal and a parameter that turns out wrong adds its
//       way back. No allocation in match().

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/result.h"
#include "keel/http/message/fields.h"
#include "keel/http/server/literal_table.h"

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
  // InvalidArgument: the pattern is malformed (the message says how and shows it). AlreadyExists: it matches the same
  // paths as one that is there. Conflict: it names a parameter differently from a pattern with the same beginning.
  // These two name the other pattern, and `*other` becomes its id. A refused pattern leaves no match behind.
  Result<> add(std::string_view pattern, std::uint32_t id, std::uint32_t* other = nullptr);

  // The id of the best pattern, or none; `params` is then unspecified. `path` begins with '/' and has valid escapes,
  // as RequestHead::path() gives it; anything else matches nothing.
  std::optional<std::uint32_t> match(std::string_view path, PathParams& params) const noexcept {
    params.size_ = 0;
    const std::uint32_t id = whole_.find(path);
    if (id == LiteralTable::none) return match_tree(path, params);
    return id;
  }

 private:
  std::optional<std::uint32_t> match_tree(std::string_view path, PathParams& params) const noexcept;

  static constexpr std::uint32_t none = UINT32_MAX;
  // In the order in which they are tried.
  enum class Type : std::uint8_t { Uuid, Uint, Int, Slug, Any };
  static constexpr int type_count = 5;
  struct Segment;

  // Where a parameter leads.
  struct Param {
    std::uint32_t to = none;    // Node; or the id, behind {name...}.
    std::uint32_t name = none;  // Index into names_.
    std::uint32_t by = none;    // Index into patterns_: who named it first.
  };
  // The parameters that stand at one place.
  struct Params {
    unsigned types = 0;  // Bit by Type.
    Param by_type[type_count];
    Param rest;
  };
  // A run of literal bytes, slashes among them, and what comes behind it. A line of the cache.
  struct alignas(64) Node {
    static constexpr std::uint32_t few = 8;
    std::uint32_t text = 0;  // In text_.
    std::uint32_t size = 0;
    std::uint32_t id = none;      // A pattern ends here,
    std::uint32_t by = none;      // this one.
    std::uint32_t params = none;  // Index into params_; only behind a slash.
    std::uint32_t child_count = 0;
    char bytes[few] = {};  // The first byte of each child, zero where there is none,
    std::uint32_t children[few] = {none, none, none, none, none, none, none, none};  // and its node.
    // With more than a few: children[0] is the index of their table.
  };
  using Table = std::array<std::uint32_t, 256>;  // Node by first byte, or none.
  struct Pattern {
    std::string text;
    std::uint32_t id;
  };

  static const char* read(std::string_view pattern, std::vector<Segment>& segments);
  template <bool escaped>
  static bool fits(Type type, std::string_view segment) noexcept;
  std::unexpected<Error> there_already(std::string_view pattern, std::uint32_t by, std::uint32_t* other) const;
  std::uint32_t make(std::string_view run);
  std::uint32_t follow(std::uint32_t node, std::string_view run);
  void split(std::uint32_t node, std::uint32_t at);
  void add_child(std::uint32_t node, char byte, std::uint32_t child);
  std::uint32_t child_of(const Node& node, char byte) const noexcept;
  template <bool escaped>
  const char* pass(const Node& node, const char* at, const char* end) const noexcept;
  template <bool escaped>
  std::uint32_t walk(std::uint32_t node, const char* at, const char* end, PathParams& params) const noexcept;

  std::uint32_t root_ = none;
  std::vector<Node> nodes_;
  std::vector<Params> params_;
  std::vector<Table> tables_;
  std::string text_;
  std::vector<std::string> names_;
  std::vector<Pattern> patterns_;
  LiteralTable whole_;  // From a path without parameters to its id.
};

}  // namespace keel::http
