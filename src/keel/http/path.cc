#include "keel/http/path.h"

#include <algorithm>

#include "keel/base/scan.h"

namespace keel::http {
namespace {

constexpr std::size_t literal_bytes_max = 255;

// Eight bytes a step. Keys come from our own patterns, so nobody can make the table collide from outside.
std::uint64_t hash(std::uint32_t from, std::string_view text) noexcept {
  constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15;
  std::uint64_t value = (from + 1) * multiplier ^ text.size();
  const char* p = text.data();
  std::size_t left = text.size();
  const auto mix = [&](std::uint64_t word) {
    value = (value ^ word) * multiplier;
    value ^= value >> 32;
  };
  for (; left >= 8; p += 8, left -= 8) mix(scan::load64(p));
  std::uint64_t tail = 0;
  for (std::size_t i = 0; i < left; ++i) tail |= std::uint64_t{static_cast<unsigned char>(p[i])} << (8 * i);
  mix(tail);
  return value;
}

std::unexpected<Error> refuse(Code code, std::string_view pattern, std::string_view why) {
  return fail_text(code, "path pattern \"" + std::string(pattern) + "\": " + std::string(why));
}

struct Segment {
  enum Kind : std::uint8_t { Literal, Param, Rest } kind;
  std::string_view text;  // the literal or the name
};

bool is_name(std::string_view name) noexcept {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), inner);
}

// Takes the pattern apart, or says what is wrong with it.
const char* read_pattern(std::string_view pattern, std::vector<Segment>& segments) {
  if (!pattern.starts_with('/')) return "begins with '/'";
  unsigned params = 0;
  for (std::size_t at = 1; at <= pattern.size();) {
    const std::size_t end = std::min(pattern.find('/', at), pattern.size());
    std::string_view text = pattern.substr(at, end - at);
    at = end + 1;
    if (!text.starts_with('{')) {
      for (char c : text) {
        if (c == '{' || c == '}') return "a parameter is a whole segment: {name}";
        if (scan::QueryStop::has(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 0x80) {
          return "blanks, control bytes and '#' cannot stand in a path";
        }
        if (c == '?' || c == '%') return "literals are written decoded, without '%' and '?'";
      }
      if (text == "." || text == "..") return "dot segments never arrive from a well-behaved client";
      if (text.size() > literal_bytes_max) return "a literal segment has at most 255 bytes";
      segments.push_back({Segment::Literal, text});
      continue;
    }
    if (!text.ends_with('}')) return "a parameter is a whole segment: {name}";
    text = text.substr(1, text.size() - 2);
    const bool is_rest = text.ends_with("...");
    if (is_rest) text.remove_suffix(3);
    if (!is_name(text)) return "a parameter's name is letters, digits, '_' and '-', and begins with a letter or '_'";
    if (is_rest && end != pattern.size()) return "{name...} takes the rest of the path and comes last";
    if (++params > PathParams::capacity) return "at most 16 parameters";
    for (const Segment& other : segments) {
      if (other.kind != Segment::Literal && other.text == text) return "two parameters have the same name";
    }
    segments.push_back({is_rest ? Segment::Rest : Segment::Param, text});
  }
  return nullptr;
}

}  // namespace

PathTree::PathTree() : nodes_(1), slots_(16, none) {}

std::uint32_t PathTree::find_edge(std::uint32_t from, std::string_view text) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash(from, text) & mask;; slot = (slot + 1) & mask) {
    if (slots_[slot] == none) return none;
    const Edge& edge = edges_[slots_[slot]];
    if (edge.from == from && edge.text == text) return edge.to;
  }
}

void PathTree::add_edge(std::uint32_t from, std::string_view text, std::uint32_t to) {
  edges_.push_back({from, to, std::string(text)});
  if (edges_.size() * 2 > slots_.size()) slots_.resize(slots_.size() * 2);
  std::fill(slots_.begin(), slots_.end(), none);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t i = 0; i < edges_.size(); ++i) {
    std::size_t slot = hash(edges_[i].from, edges_[i].text) & mask;
    while (slots_[slot] != none) slot = (slot + 1) & mask;
    slots_[slot] = i;
  }
}

Result<> PathTree::add(std::string_view pattern, std::uint32_t id) {
  std::vector<Segment> segments;
  if (const char* why = read_pattern(pattern, segments)) return refuse(Code::InvalidArgument, pattern, why);
  if (id == none) return refuse(Code::InvalidArgument, pattern, "the largest id means none");
  std::uint32_t node = 0;
  const auto same_name = [&](std::uint32_t name, std::string_view text) {
    return name == none || names_[name] == text;
  };
  bool is_static = true;
  for (const Segment& segment : segments) {
    if (segment.kind == Segment::Literal) {
      std::uint32_t next = find_edge(node, segment.text);
      if (next == none) {
        next = static_cast<std::uint32_t>(nodes_.size());
        nodes_.emplace_back();
        nodes_[node].has_literals = true;
        add_edge(node, segment.text, next);
      }
      node = next;
      continue;
    }
    is_static = false;
    std::uint32_t& name = segment.kind == Segment::Param ? nodes_[node].param_name : nodes_[node].rest_name;
    if (!same_name(name, segment.text)) {
      std::string why = "{";
      why.append(segment.text).append("} stands where another pattern has {").append(names_[name]).append("}");
      return refuse(Code::Conflict, pattern, why);
    }
    if (name == none) {
      name = static_cast<std::uint32_t>(names_.size());
      names_.emplace_back(segment.text);
    }
    if (segment.kind == Segment::Rest) {
      if (nodes_[node].rest_id != none) return refuse(Code::AlreadyExists, pattern, "is there already");
      nodes_[node].rest_id = id;
      has_params_ = true;
      return {};
    }
    std::uint32_t next = nodes_[node].param;
    if (next == none) {
      next = static_cast<std::uint32_t>(nodes_.size());
      nodes_[node].param = next;
      nodes_.emplace_back();
    }
    node = next;
  }
  if (nodes_[node].id != none) return refuse(Code::AlreadyExists, pattern, "is there already");
  nodes_[node].id = id;
  if (is_static) add_edge(none, pattern, id);
  else has_params_ = true;
  return {};
}

std::optional<std::uint32_t> PathTree::match(std::string_view path, PathParams& params) const noexcept {
  params.size_ = 0;
  if (const std::uint32_t id = find_edge(none, path); id != none) return id;
  if (!path.starts_with('/')) return std::nullopt;
  if (!has_params_ && path.find('%') == std::string_view::npos) return std::nullopt;
  return walk(0, path.substr(1), params);
}

// The child by the literal that `raw` means once decoded.
std::uint32_t PathTree::literal_child(std::uint32_t node, std::string_view raw) const noexcept {
  if (!nodes_[node].has_literals) return none;
  const std::size_t escape = raw.find('%');
  if (escape == std::string_view::npos) return find_edge(node, raw);
  char decoded[literal_bytes_max];
  std::size_t size = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (size == sizeof decoded) return none;
    if (raw[i] != '%') {
      decoded[size++] = raw[i];
      continue;
    }
    if (raw.size() - i < 3) return none;
    const int high = hex_value(raw[i + 1]);
    const int low = hex_value(raw[i + 2]);
    if (high < 0 || low < 0) return none;
    decoded[size++] = static_cast<char>(high << 4 | low);
    i += 2;
  }
  return find_edge(node, {decoded, size});
}

// Recursion is as deep as the longest pattern, whatever the path: every step goes to an existing node further down.
std::optional<std::uint32_t> PathTree::walk(std::uint32_t node, std::string_view rest,
                                            PathParams& params) const noexcept {
  const Node& here = nodes_[node];
  const std::size_t slash = rest.find('/');
  const bool is_last = slash == std::string_view::npos;
  const std::string_view segment = is_last ? rest : rest.substr(0, slash);
  const auto descend = [&](std::uint32_t next) -> std::optional<std::uint32_t> {
    if (!is_last) return walk(next, rest.substr(slash + 1), params);
    if (nodes_[next].id == none) return std::nullopt;
    return nodes_[next].id;
  };

  if (const std::uint32_t next = literal_child(node, segment); next != none) {
    if (auto id = descend(next)) return id;
  }
  const unsigned size = params.size_;
  if (here.param != none && !segment.empty()) {
    params.items_[params.size_++] = {names_[here.param_name], segment};
    if (auto id = descend(here.param)) return id;
    params.size_ = size;
  }
  if (here.rest_id != none) {
    params.items_[params.size_++] = {names_[here.rest_name], rest};
    return here.rest_id;
  }
  return std::nullopt;
}

}  // namespace keel::http
