// openapi/node.h — a value of an OpenAPI document, with its place in the source.
//
// Lifetime: nodes, and the texts in them, live as long as their Store.
// Threads:  values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace keel::openapi {

enum class Kind : std::uint8_t { Null, Boolean, Number, String, List, Map };

// Returns the kind's name for messages: "an object", "a string", …
std::string_view to_string(Kind kind) noexcept;

struct Node {
  Kind kind = Kind::Null;
  std::uint32_t line = 0;    // The line, from 1, of the value's key if it is in a map, else of the value's beginning.
  std::uint32_t column = 0;  // The column, which counts characters from 1.
  const std::string* file = nullptr;
  Node* parent = nullptr;  // Null if the node is the root of its file.
  std::string_view key;    // The key of a member of a map; "" for any other node.
  // The text of a scalar: the content of a string; a number as written or, if it has a notation that only YAML has,
  // such as "+1" or ".5", as JSON writes it; "true" or "false".
  std::string_view text;
  std::vector<Node*> children;  // The elements of a list or a map, in the order written.

  // An index of the members of a large map, which find() creates. Reset the index after every change of `children`.
  mutable std::shared_ptr<const std::unordered_map<std::string_view, Node*>> index;

  bool is(Kind wanted) const noexcept { return kind == wanted; }
  bool is_true() const noexcept { return kind == Kind::Boolean && text == "true"; }
  // The member of a map; null if there is no such member.
  const Node* find(std::string_view name) const noexcept;
  Node* find(std::string_view name) noexcept { return const_cast<Node*>(static_cast<const Node*>(this)->find(name)); }
  // The member if it has the kind `wanted`; else null.
  const Node* find(std::string_view name, Kind wanted) const noexcept;
  // The text of a member that is a string; else "".
  std::string_view string(std::string_view name) const noexcept;
  // The value of a number, as the nearest double.
  std::optional<double> number() const noexcept;
  // The value of a whole number below 2^53, which may be written as 5.0.
  std::optional<std::int64_t> whole() const noexcept;
};

// The JSON Pointer of a node in its file, as a URI fragment: "#/paths/~1pets/get".
std::string pointer_of(const Node& node);
// "pets.yaml:7:3".
std::string place_of(const Node& node);
// The value as JSON, truncated after about 60 bytes.
std::string shown(const Node& node);
// Whether two nodes are equal as JSON values: 1 equals 1.0, and the order of members does not matter.
bool are_equal(const Node& a, const Node& b);

// Owns the nodes and texts of a document.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  Node& make(Kind kind) {
    Node& node = nodes_.emplace_back();
    node.kind = kind;
    return node;
  }
  // Makes a node that has the place of another node; normalised schemas need it.
  Node& make_at(const Node& place, Kind kind, std::string_view text = {});
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }
  const std::string& name(std::string text) { return texts_.emplace_back(std::move(text)); }
  std::size_t size() const noexcept { return nodes_.size(); }

 private:
  std::deque<Node> nodes_;
  std::deque<std::string> texts_;
};

}  // namespace keel::openapi
