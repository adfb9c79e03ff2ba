#include "openapi/node.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "keel/base/ascii.h"

namespace keel::openapi {
namespace {

constexpr std::size_t shown_bytes_max = 60;
constexpr std::size_t searched_members_max = 32;

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  out += '"';
}

void append_shown(std::string& out, const Node& node) {
  if (out.size() > shown_bytes_max) return;
  switch (node.kind) {
    case Kind::Null:
      out += "null";
      return;
    case Kind::String:
      append_quoted(out, node.text);
      return;
    case Kind::Boolean:
    case Kind::Number:
      out += node.text;
      return;
    case Kind::List:
    case Kind::Map:
      break;
  }
  const bool is_map = node.is(Kind::Map);
  out += is_map ? '{' : '[';
  for (const Node* child : node.children) {
    if (child != node.children.front()) out += ", ";
    if (is_map) {
      append_quoted(out, child->key);
      out += ": ";
    }
    append_shown(out, *child);
  }
  out += is_map ? '}' : ']';
}

}  // namespace

std::string_view to_string(Kind kind) noexcept {
  switch (kind) {
    case Kind::Null:
      return "null";
    case Kind::Boolean:
      return "a boolean";
    case Kind::Number:
      return "a number";
    case Kind::String:
      return "a string";
    case Kind::List:
      return "an array";
    case Kind::Map:
      return "an object";
  }
  return "";
}

const Node* Node::find(std::string_view name) const noexcept {
  if (kind != Kind::Map) return nullptr;
  if (children.size() > searched_members_max) {
    if (index == nullptr) {
      auto made = std::make_shared<std::unordered_map<std::string_view, Node*>>();
      // If several children have the same key, the index keeps the first child.
      for (Node* const child : children) made->emplace(child->key, child);
      index = std::move(made);
    }
    const auto found = index->find(name);
    return found == index->end() ? nullptr : found->second;
  }
  for (const Node* child : children) {
    if (child->key == name) return child;
  }
  return nullptr;
}

const Node* Node::find(std::string_view name, Kind wanted) const noexcept {
  const Node* const found = find(name);
  return found != nullptr && found->kind == wanted ? found : nullptr;
}

std::string_view Node::string(std::string_view name) const noexcept {
  const Node* const found = find(name, Kind::String);
  return found == nullptr ? std::string_view() : found->text;
}

std::optional<double> Node::number() const noexcept {
  if (kind != Kind::Number) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return text.find("e-") == text.npos ? HUGE_VAL : 0;
  return end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> Node::whole() const noexcept {
  const std::optional<double> value = number();
  constexpr double most = 9007199254740992;
  if (!value || std::trunc(*value) != *value || std::abs(*value) > most) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::string pointer_of(const Node& node) {
  std::vector<std::string> parts;
  for (const Node* at = &node; at->parent != nullptr; at = at->parent) {
    std::string part = "/";
    if (at->parent->is(Kind::List)) {
      const auto& all = at->parent->children;
      part += std::to_string(std::find(all.begin(), all.end(), at) - all.begin());
    } else {
      for (const char c : at->key) {
        if (c == '~') {
          part += "~0";
        } else if (c == '/') {
          part += "~1";
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          part += {'%', ascii::hex_upper[static_cast<unsigned char>(c) >> 4], ascii::hex_upper[c & 15]};
        } else {
          part += c;
        }
      }
    }
    parts.push_back(std::move(part));
  }
  std::string pointer = "#";
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) pointer += *part;
  return pointer;
}

std::string place_of(const Node& node) {
  return *node.file + ':' + std::to_string(node.line) + ':' + std::to_string(node.column);
}

std::string shown(const Node& node) {
  std::string text;
  append_shown(text, node);
  if (text.size() <= shown_bytes_max) return text;
  std::size_t end = shown_bytes_max;
  // Moves back to the beginning of a character, which must not be split.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

bool are_equal(const Node& a, const Node& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::Null:
      return true;
    case Kind::Number:
      return a.text == b.text || a.number() == b.number();
    case Kind::Boolean:
    case Kind::String:
      return a.text == b.text;
    case Kind::List:
      return std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                        [](const Node* x, const Node* y) { return are_equal(*x, *y); });
    case Kind::Map:
      break;
  }
  return a.children.size() == b.children.size() &&
         std::all_of(a.children.begin(), a.children.end(), [&](const Node* x) {
           const Node* const y = b.find(x->key);
           return y != nullptr && are_equal(*x, *y);
         });
}

Node& Store::make_at(const Node& place, Kind kind, std::string_view text) {
  Node& node = make(kind);
  node.line = place.line;
  node.column = place.column;
  node.file = place.file;
  node.text = text;
  return node;
}

}  // namespace keel::openapi
