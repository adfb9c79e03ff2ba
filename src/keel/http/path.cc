#include "keel/http/path.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "keel/base/scan.h"

namespace keel::http {
namespace {

constexpr std::size_t literal_bytes_max = 255;

std::unexpected<Error> refuse(Code code, std::string_view pattern, std::string_view why) {
  return fail_text(code, "path pattern \"" + std::string(pattern) + "\": " + std::string(why));
}

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

bool is_name(std::string_view name) noexcept {
  const auto inner = [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; };
  return !name.empty() && (is_letter(name[0]) || name[0] == '_') && std::all_of(name.begin(), name.end(), inner);
}

template <class T>
bool is_number(std::string_view text) noexcept {
  T value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_uuid(std::string_view text) noexcept {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : hex_value(text[i]) < 0) return false;
  }
  return true;
}

// What a segment means, in `room` when it has escapes; nullopt when it is longer than any literal or typed value, or an
// escape is broken.
std::optional<std::string_view> decode(std::string_view raw, char (&room)[literal_bytes_max]) noexcept {
  std::size_t size = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (size == sizeof room) return std::nullopt;
    if (raw[i] != '%') {
      room[size++] = raw[i];
      continue;
    }
    if (raw.size() - i < 3) return std::nullopt;
    const int high = hex_value(raw[i + 1]);
    const int low = hex_value(raw[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    room[size++] = static_cast<char>(high << 4 | low);
    i += 2;
  }
  return std::string_view(room, size);
}

// The first '/' in [at, end), or end. Segments are short: eight bytes a step, here, cost less than a call.
const char* find_slash(const char* at, const char* end) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101;
  for (; end - at >= 8; at += 8) {
    const std::uint64_t other = scan::load64(at) ^ ones * '/';
    // The lowest high bit that is set is that of the first byte which is zero.
    if (const std::uint64_t zero = (other - ones) & ~other & ones << 7; zero != 0)
      return at + std::countr_zero(zero) / 8;
  }
  while (at != end && *at != '/') ++at;
  return at;
}

}  // namespace

struct PathTree::Segment {
  enum Kind : std::uint8_t { Literal, Param, Rest } kind;
  Type type;
  std::string_view text;  // the literal or the name
};

// Takes the pattern apart, or says what is wrong with it.
const char* PathTree::read(std::string_view pattern, std::vector<Segment>& segments) {
  if (!pattern.starts_with('/')) return "begins with '/'";
  constexpr std::string_view types[] = {"uuid", "uint", "int", "slug"};
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
      segments.push_back({Segment::Literal, Type::Any, text});
      continue;
    }
    if (!text.ends_with('}')) return "a parameter is a whole segment: {name}";
    text = text.substr(1, text.size() - 2);
    const bool is_rest = text.ends_with("...");
    if (is_rest) text.remove_suffix(3);
    Type type = Type::Any;
    if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
      const auto* known = std::find(std::begin(types), std::end(types), text.substr(colon + 1));
      if (is_rest || known == std::end(types)) return "a parameter's type is int, uint, uuid or slug: {name:int}";
      type = static_cast<Type>(known - std::begin(types));
      text = text.substr(0, colon);
    }
    if (!is_name(text)) return "a parameter's name is letters, digits, '_' and '-', and begins with a letter or '_'";
    if (is_rest && end != pattern.size()) return "{name...} takes the rest of the path and comes last";
    if (++params > PathParams::capacity) return "at most 16 parameters";
    for (const Segment& other : segments) {
      if (other.kind != Segment::Literal && other.text == text) return "two parameters have the same name";
    }
    segments.push_back({is_rest ? Segment::Rest : Segment::Param, type, text});
  }
  return nullptr;
}

PathTree::PathTree() : nodes_(1) {}

std::unexpected<Error> PathTree::there_already(std::string_view pattern, std::uint32_t by, std::uint32_t* other) const {
  if (other != nullptr) *other = patterns_[by].id;
  return refuse(Code::AlreadyExists, pattern, "is there already, as \"" + patterns_[by].text + "\"");
}

Result<> PathTree::add(std::string_view pattern, std::uint32_t id, std::uint32_t* other) {
  std::vector<Segment> segments;
  if (const char* why = read(pattern, segments)) return refuse(Code::InvalidArgument, pattern, why);
  if (id == none) return refuse(Code::InvalidArgument, pattern, "the largest id means none");
  std::uint32_t node = 0;
  bool is_static = true;
  const auto by = static_cast<std::uint32_t>(patterns_.size());
  patterns_.push_back({std::string(pattern), id});
  for (const Segment& segment : segments) {
    if (segment.kind == Segment::Literal) {
      std::uint32_t next = edges_.find(node, segment.text);
      if (next == LiteralTable::none) {
        next = static_cast<std::uint32_t>(nodes_.size());
        nodes_.emplace_back();
        nodes_[node].has_literals = true;
        edges_.add(node, segment.text, next);
      }
      node = next;
      continue;
    }
    is_static = false;
    has_params_ = true;
    Param* param =
        segment.kind == Segment::Rest ? &nodes_[node].rest : &nodes_[node].params[static_cast<int>(segment.type)];
    if (param->name == none) {
      param->name = static_cast<std::uint32_t>(names_.size());
      param->by = by;
      names_.emplace_back(segment.text);
    } else if (names_[param->name] != segment.text) {
      const Pattern& first = patterns_[param->by];
      if (other != nullptr) *other = first.id;
      return refuse(
          Code::Conflict, pattern,
          "{" + std::string(segment.text) + "} stands where \"" + first.text + "\" has {" + names_[param->name] + "}");
    }
    if (segment.kind == Segment::Rest) {
      if (param->to != none) return there_already(pattern, param->by, other);
      param->to = id;
      return {};
    }
    if (param->to == none) {
      const auto next = static_cast<std::uint32_t>(nodes_.size());
      param->to = next;
      nodes_[node].types |= static_cast<std::uint8_t>(1u << static_cast<int>(segment.type));
      nodes_.emplace_back();
      node = next;
    } else {
      node = param->to;
    }
  }
  if (nodes_[node].id != none) return there_already(pattern, nodes_[node].by, other);
  nodes_[node].id = id;
  nodes_[node].by = by;
  if (is_static) whole_.add(0, pattern, id);
  return {};
}

std::optional<std::uint32_t> PathTree::match(std::string_view path, PathParams& params) const noexcept {
  params.size_ = 0;
  if (const std::uint32_t id = whole_.find(0, path); id != LiteralTable::none) return id;
  if (!path.starts_with('/')) return std::nullopt;
  const bool escaped = path.find('%') != std::string_view::npos;
  if (!has_params_ && !escaped) return std::nullopt;
  return walk(0, path.data() + 1, path.data() + path.size(), escaped, params);
}

bool PathTree::fits(Type type, std::string_view decoded) noexcept {
  switch (type) {
    case Type::Uuid:
      return is_uuid(decoded);
    case Type::Uint:
      return is_number<std::uint64_t>(decoded);
    case Type::Int:
      return is_number<std::int64_t>(decoded);
    case Type::Slug:
      return decoded.size() <= literal_bytes_max && std::all_of(decoded.begin(), decoded.end(), [](char c) {
               return is_letter(c) || is_digit(c) || c == '-' || c == '_';
             });
    case Type::Any:
      break;
  }
  return true;
}

// Recursion is as deep as the longest pattern, whatever the path: every step goes to an existing node further down.
std::optional<std::uint32_t> PathTree::walk(std::uint32_t node, const char* at, const char* end, bool escaped,
                                            PathParams& params) const noexcept {
  const Node& here = nodes_[node];
  const char* const stop = find_slash(at, end);
  const std::string_view segment(at, static_cast<std::size_t>(stop - at));
  const auto descend = [&](std::uint32_t next) -> std::optional<std::uint32_t> {
    if (stop != end) return walk(next, stop + 1, end, escaped, params);
    if (nodes_[next].id == none) return std::nullopt;
    return nodes_[next].id;
  };

  char room[literal_bytes_max];
  std::string_view meant = segment;
  bool is_clear = true;
  if (escaped && segment.find('%') != std::string_view::npos) {
    const auto decoded = decode(segment, room);
    is_clear = decoded.has_value();
    if (is_clear) meant = *decoded;
  }
  if (here.has_literals && is_clear) {
    if (const std::uint32_t next = edges_.find(node, meant); next != LiteralTable::none) {
      if (auto id = descend(next)) return id;
    }
  }
  const unsigned size = params.size_;
  if (here.types != 0 && !segment.empty()) {
    for (unsigned types = here.types; types != 0; types &= types - 1) {
      const int type = std::countr_zero(types);
      if (type != static_cast<int>(Type::Any) && !(is_clear && fits(static_cast<Type>(type), meant))) continue;
      params.items_[params.size_++] = {names_[here.params[type].name], segment};
      if (auto id = descend(here.params[type].to)) return id;
      params.size_ = size;
    }
  }
  if (here.rest.to != none) {
    params.items_[params.size_++] = {names_[here.rest.name], {at, static_cast<std::size_t>(end - at)}};
    return here.rest.to;
  }
  return std::nullopt;
}

}  // namespace keel::http
