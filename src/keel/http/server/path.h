// keel/http/server/path.h — matches paths with patterns.
//
//   PathTree tree;
//   KEEL_TRY_VOID(tree.add("/users/{id}", 7));
//   PathParams params;
//   if (auto id = tree.match("/users/42", params)) …            // 7, params.find("id") == "42"
//
// Patterns: a pattern may contain literal segments; {name}, which matches one segment of at least one byte; and
//           {name:type}, which matches one segment that fits the type. Text may stand before or after a parameter
//           within its segment, as in "/v{version}" and "/reports/{id}.csv". At the end, {name...} matches the rest of
//           the path, which may be empty and may contain slashes. A literal segment is tried before a parameter. Among
//           parameters, the one with the longest text before it is tried first, then the one with the longest text
//           after it; then {name:type}, with the types in the order below, then {name}, and last {name...}. If the rest
//           of the path does not match after one choice, the next choice is tried. "/a" and "/a/" are different paths.
//
//   uuid   8-4-4-4-12 hexadecimal digits, of either case (RFC 9562)
//   uint   digits, at most 18446744073709551615
//   int    digits, perhaps after a '-', in the range of 64 bits
//   slug   letters, digits, '-' and '_'; at most 255 bytes
//
// Escapes: the path is first divided at its slashes, while it is still encoded. Each segment is then decoded once, to
//          compare it with literals and types: "/%75sers/%37" matches like "/users/7"; "%2F" is a byte of a segment and
//          never a separator; "%2525" means "%25". The values of parameters are returned as sent; decode a value once,
//          when you use it. (The parser has already rejected "%00" and malformed escapes.)
//
// Dot segments: dot segments are not resolved. RFC 3986 §5.2.4 requires the client to remove dot segments before it
// sends the request. A dot segment that arrives is treated as an ordinary segment, so "/a/../b" is never "/b", and a
// value may be "..". Therefore code that opens files has to confine paths to a folder.
//
// Lifetime: `params` contains views into the path and the tree; if the path moves, call rebase().
// Threads:  any number of threads may call match() after the last pattern was added.
// Cost:     if a path has no escapes and its pattern has no parameter, matching takes one lookup in a perfect hash
//           table. Other paths need a walk through a radix tree: one comparison for each run of bytes that patterns
//           share, for any number of patterns, and a scan of eight bytes at a time for each parameter. Backtracking
//           from a literal to a parameter adds the steps of the abandoned attempt. match() allocates nothing.

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

// The parameters of a matched path; their values are views into the path.
class PathParams {
 public:
  static constexpr unsigned capacity = 16;

  PathParams() noexcept {}

  PathParams(const PathParams& other) noexcept { *this = other; }
  PathParams& operator=(const PathParams& other) noexcept {
    path_ = other.path_;
    size_ = other.size_;
    for (unsigned i = 0; i < size_; ++i) items_[i] = other.items_[i];
    return *this;
  }

  unsigned size() const noexcept { return size_; }
  // The parameters are in the order of the pattern; `index` must be less than size(). The value is as sent, without
  // decoding.
  Field operator[](unsigned index) const noexcept {
    const Item& item = items_[index];
    return {item.name, {path_ + item.at, item.size}};
  }
  // The raw value.
  std::optional<std::string_view> find(std::string_view name) const noexcept {
    for (unsigned i = 0; i < size_; ++i) {
      if (items_[i].name == name) return std::string_view(path_ + items_[i].at, items_[i].size);
    }
    return std::nullopt;
  }

  // Tells the object that the matched path is now at `path`: the path was copied, or its buffer has moved.
  void rebase(const char* path) noexcept { path_ = path; }

 private:
  friend class PathTree;
  struct Item {
    std::string_view name;
    std::uint32_t at;  // The position in the path at which the value begins.
    std::uint32_t size;
  };
  void add(std::string_view name, const char* begin, const char* end) noexcept {
    items_[size_++] = {name, static_cast<std::uint32_t>(begin - path_), static_cast<std::uint32_t>(end - begin)};
  }

  const char* path_ = nullptr;
  unsigned size_ = 0;
  union {
    // only the first size_ elements are initialized, because a match should not pay for unused elements
    Item items_[capacity];
  };
};

// A tree of path patterns, which finds the best pattern for a path.
class PathTree {
 public:
  // InvalidArgument: the pattern is malformed; the message contains the pattern and the rule that it violates.
  // AlreadyExists: the pattern matches the same paths as an existing pattern. Conflict: an existing pattern with the
  // same beginning has another name for the same parameter. For AlreadyExists and Conflict, the message contains the
  // existing pattern, and `*other` is set to the id of that pattern. After a rejection, the tree matches as before.
  Result<> add(std::string_view pattern, std::uint32_t id, std::uint32_t* other = nullptr);

  // Returns the id of the best pattern; nullopt if no pattern matches, and the content of `params` is then unspecified.
  // `path` must begin with '/' and have valid escapes, like RequestHead::path(); any other text matches nothing.
  std::optional<std::uint32_t> match(std::string_view path, PathParams& params) const noexcept {
    params.path_ = path.data();
    params.size_ = 0;
    const std::uint32_t id = whole_.find(path);
    if (id == LiteralTable::none) return match_tree(path, params);
    return id;
  }

 private:
  std::optional<std::uint32_t> match_tree(std::string_view path, PathParams& params) const noexcept;

  static constexpr std::uint32_t none = UINT32_MAX;
  // The types in the order in which they are tried.
  enum class Type : std::uint8_t { Uuid, Uint, Int, Slug, Any };
  static constexpr int type_count = 5;
  struct Segment;

  // A parameter, and what follows it.
  struct Param {
    std::uint32_t to = none;    // The index of the node that follows; for {name...}, the id of the pattern.
    std::uint32_t name = none;  // Index into names_.
    std::uint32_t by = none;    // The index in patterns_ of the pattern that first named the parameter.
  };
  // A parameter that is followed by text in its segment.
  struct Suffixed {
    std::string suffix;
    Type type;
    Param param;
  };
  // The parameters that are possible at one place of the path.
  struct Params {
    unsigned types = 0;  // Bit by Type.
    Param by_type[type_count];
    Param rest;
    // The parameters with a suffix, in the order in which they are tried; they are tried before the parameters without
    // a suffix.
    std::vector<Suffixed> suffixed;
  };
  // A run of literal bytes, which may include slashes, and the nodes that follow it. A node fits into one cache line.
  struct alignas(64) Node {
    static constexpr std::uint32_t few = 8;
    std::uint32_t text = 0;  // Offset in text_.
    std::uint32_t size = 0;
    std::uint32_t id = none;      // The id of the pattern that ends here.
    std::uint32_t by = none;      // The index in patterns_ of the pattern that ends here.
    std::uint32_t params = none;  // Index into params_.
    std::uint32_t child_count = 0;
    char bytes[few] = {};  // The first byte of each child; zero for an unused place.
    std::uint32_t children[few] = {none, none, none, none, none, none, none, none};  // The node of each child.
    // If there are more than `few` children, children[0] is the index of their table.
  };
  // The child for each possible first byte; none: there is no such child.
  using Table = std::array<std::uint32_t, 256>;
  struct Pattern {
    std::string text;
    std::uint32_t id;
  };

  static const char* read(std::string_view pattern, std::vector<Segment>& segments);
  Param& param_of(std::uint32_t place, const Segment& segment);
  template <bool escaped>
  static bool fits(Type type, std::string_view segment) noexcept;
  Error there_already(std::string_view pattern, std::uint32_t by, std::uint32_t* other) const;
  std::uint32_t make(std::string_view run);
  std::uint32_t follow(std::uint32_t node, std::string_view run);
  void split(std::uint32_t node, std::uint32_t at);
  void add_child(std::uint32_t node, char byte, std::uint32_t child);
  std::uint32_t child_of(const Node& node, char byte) const noexcept;
  template <bool escaped>
  const char* pass(const Node& node, const char* at, const char* end) const noexcept;
  template <bool escaped>
  std::uint32_t walk_suffixed(const Params& here, std::string_view segment, const char* end,
                              PathParams& params) const noexcept;
  template <bool escaped>
  std::uint32_t walk(std::uint32_t node, const char* at, const char* end, PathParams& params) const noexcept;

  std::uint32_t root_ = none;
  std::vector<Node> nodes_;
  std::vector<Params> params_;
  std::vector<Table> tables_;
  std::string text_;
  std::vector<std::string> names_;
  std::vector<Pattern> patterns_;
  LiteralTable whole_;  // Maps each pattern without parameters to its id.
};

}  // namespace keel::http
