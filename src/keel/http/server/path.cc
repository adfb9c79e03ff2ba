#include "keel/http/server/path.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/base/scan.h"

namespace keel::http {
namespace {

constexpr std::size_t literal_bytes_max = 255;

Error refuse(Code code, std::string_view pattern, std::string_view why) {
  return Error::text(code, "path pattern \"" + std::string(pattern) + "\": " + std::string(why));
}

bool is_name(std::string_view name) noexcept {
  const auto inner = [](char c) { return ascii::is_alphanumeric(c) || c == '_' || c == '-'; };
  return !name.empty() && (ascii::is_letter(name[0]) || name[0] == '_') && std::all_of(name.begin(), name.end(), inner);
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
    if (dash ? text[i] != '-' : ascii::hex_value(text[i]) < 0) return false;
  }
  return true;
}

// The decoded segment, which is in `room` if it has escapes; nullopt if the decoded segment is longer than any literal
// or typed value, or if an escape is malformed.
std::optional<std::string_view> decode(std::string_view raw, char (&room)[literal_bytes_max]) noexcept {
  std::size_t size = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (size == sizeof room) return std::nullopt;
    if (raw[i] != '%') {
      room[size++] = raw[i];
      continue;
    }
    if (raw.size() - i < 3) return std::nullopt;
    const int high = ascii::hex_value(raw[i + 1]);
    const int low = ascii::hex_value(raw[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    room[size++] = static_cast<char>(high << 4 | low);
    i += 2;
  }
  return std::string_view(room, size);
}

constexpr std::uint64_t ones = 0x0101010101010101;

// The index of the first zero byte in `word`; 8 if there is none.
int first_zero(std::uint64_t word) noexcept {
  // The lowest high bit that is set belongs to the first zero byte.
  return std::countr_zero((word - ones) & ~word & ones << 7) / 8;
}

// Whether `text` contains `byte`. The last load of eight bytes may overlap the one before.
template <char byte>
bool has(std::string_view text) noexcept {
  constexpr std::uint64_t wanted = ones * static_cast<unsigned char>(byte);
  const char* at = text.data();
  const char* const end = at + text.size();
  if (text.size() < 8) return std::find(at, end, byte) != end;
  for (; end - at > 8; at += 8) {
    if (first_zero(scan::load64(at) ^ wanted) != 8) return true;
  }
  return first_zero(scan::load64(end - 8) ^ wanted) != 8;
}

// The first `byte` in the range from `at` to `end`, or `end`. The search is inline and reads eight bytes per step,
// because segments are short, and a call would cost more.
template <char byte>
const char* find(const char* at, const char* end) noexcept {
  constexpr std::uint64_t wanted = ones * static_cast<unsigned char>(byte);
  for (; end - at >= 8; at += 8) {
    if (const int found = first_zero(scan::load64(at) ^ wanted); found != 8) return at + found;
  }
  while (at != end && *at != byte) ++at;
  return at;
}

constexpr int no_byte = -1;

// Returns the decoded byte at `at`, and moves `at` to the byte after it. Returns no_byte for a malformed escape, and
// for an escaped slash, because an escaped slash is not a separator, and no literal contains a slash.
template <bool escaped>
int next_byte(const char*& at, const char* end) noexcept {
  const unsigned char raw = static_cast<unsigned char>(*at++);
  if (!escaped || raw != '%') return raw;
  if (end - at < 2) return no_byte;
  const int high = ascii::hex_value(at[0]);
  const int low = ascii::hex_value(at[1]);
  at += 2;
  if (high < 0 || low < 0) return no_byte;
  const int byte = high << 4 | low;
  return byte == '/' ? no_byte : byte;
}

// The part of the segment before `suffix`, or an empty text if the segment does not end with `suffix`.
template <bool escaped>
std::string_view without_suffix(std::string_view segment, std::string_view suffix) noexcept {
  if constexpr (!escaped) {
    if (!segment.ends_with(suffix)) return {};
    segment.remove_suffix(suffix.size());
    return segment;
  }
  for (; !suffix.empty(); suffix.remove_suffix(1)) {
    // In a path, a '%' is always the first of three bytes.
    const std::size_t size = segment.size() >= 3 && segment[segment.size() - 3] == '%' ? 3 : 1;
    if (segment.size() < size) return {};
    const char* at = segment.data() + segment.size() - size;
    if (next_byte<true>(at, segment.data() + segment.size()) != static_cast<unsigned char>(suffix.back())) return {};
    segment.remove_suffix(size);
  }
  return segment;
}

// Returns null if `text` may be a literal of a pattern; otherwise returns the reason why it may not.
const char* check_literal(std::string_view text) {
  for (const char c : text) {
    if (c == '{' || c == '}') return "a segment can have at most one parameter: {name}";
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == '#') {
      return "blanks, control bytes and '#' are not allowed in a path";
    }
    if (c == '?' || c == '%') return "literals must be written decoded, without '%' and '?'";
  }
  return nullptr;
}

}  // namespace

struct PathTree::Segment {
  enum Kind : std::uint8_t { Literal, Param, Rest } kind;
  Type type;
  std::string_view text;  // The text of the literal, or the name of the parameter.
  std::string_view prefix = {};
  std::string_view suffix = {};
};

// Parses a pattern; returns null, or the rule that the pattern violates.
const char* PathTree::read(std::string_view pattern, std::vector<Segment>& segments) {
  if (!pattern.starts_with('/')) return "a pattern must begin with '/'";
  constexpr std::string_view types[] = {"uuid", "uint", "int", "slug"};
  unsigned params = 0;
  for (std::size_t at = 1; at <= pattern.size();) {
    const std::size_t end = std::min(pattern.find('/', at), pattern.size());
    std::string_view text = pattern.substr(at, end - at);
    at = end + 1;
    const std::size_t open = text.find('{');
    const std::string_view prefix = text.substr(0, open);
    if (const char* why = check_literal(prefix)) return why;
    if (open == text.npos) {
      if (text == "." || text == "..")
        return "a path must not contain the dot segments '.' and '..', because clients remove them before they send a "
               "request";
      if (text.size() > literal_bytes_max) return "a literal segment must have at most 255 bytes";
      segments.push_back({Segment::Literal, Type::Any, text});
      continue;
    }
    const std::size_t close = text.find('}');
    if (close == text.npos) return "a parameter must be written {name}";
    const std::string_view suffix = text.substr(close + 1);
    if (const char* why = check_literal(suffix)) return why;
    if (prefix.size() + suffix.size() > literal_bytes_max) return "the text of a segment must have at most 255 bytes";
    text = text.substr(open + 1, close - open - 1);
    const bool is_rest = text.ends_with("...");
    if (is_rest) text.remove_suffix(3);
    Type type = Type::Any;
    if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
      const auto* known = std::find(std::begin(types), std::end(types), text.substr(colon + 1));
      if (is_rest || known == std::end(types)) return "a parameter's type must be int, uint, uuid or slug: {name:int}";
      type = static_cast<Type>(known - std::begin(types));
      text = text.substr(0, colon);
    }
    if (!is_name(text))
      return "a parameter's name must consist of letters, digits, '_' and '-', and begin with a letter or '_'";
    if (is_rest && !(prefix.empty() && suffix.empty())) return "{name...} must be a whole segment";
    if (is_rest && end != pattern.size()) return "{name...} takes the rest of the path and must come last";
    if (++params > PathParams::capacity) return "a pattern can have at most 16 parameters";
    for (const Segment& other : segments) {
      if (other.kind != Segment::Literal && other.text == text) return "two parameters have the same name";
    }
    segments.push_back({is_rest ? Segment::Rest : Segment::Param, type, text, prefix, suffix});
  }
  return nullptr;
}

// Finds the parameter for `segment` among those at `place`, or makes it.
PathTree::Param& PathTree::param_of(std::uint32_t place, const Segment& segment) {
  Params& params = params_[place];
  if (segment.kind == Segment::Rest) return params.rest;
  if (segment.suffix.empty()) return params.by_type[static_cast<int>(segment.type)];
  // A longer suffix comes before a shorter one; with equal suffixes, the order is that of the types.
  const auto at = std::find_if(params.suffixed.begin(), params.suffixed.end(), [&](const Suffixed& one) {
    if (one.suffix.size() != segment.suffix.size()) return one.suffix.size() < segment.suffix.size();
    return one.type > segment.type || (one.type == segment.type && one.suffix == segment.suffix);
  });
  const bool is_known = at != params.suffixed.end() && at->type == segment.type && at->suffix == segment.suffix;
  return (is_known ? at : params.suffixed.insert(at, {std::string(segment.suffix), segment.type, {}}))->param;
}

Error PathTree::there_already(std::string_view pattern, std::uint32_t by, std::uint32_t* other) const {
  if (other != nullptr) *other = patterns_[by].id;
  return refuse(Code::AlreadyExists, pattern, "exists already, as \"" + patterns_[by].text + "\"");
}

Result<> PathTree::add(std::string_view pattern, std::uint32_t id, std::uint32_t* other) {
  std::vector<Segment> segments;
  if (const char* why = read(pattern, segments)) return refuse(Code::InvalidArgument, pattern, why);
  if (id == none) return refuse(Code::InvalidArgument, pattern, "the largest id is reserved for \"none\"");
  const auto by = static_cast<std::uint32_t>(patterns_.size());
  patterns_.push_back({std::string(pattern), id});

  std::string run;  // Literals and slashes since the last parameter.
  // The index in params_ of the last parameter so far; none: there is no parameter so far.
  std::uint32_t place = none;
  const Segment* last = nullptr;  // That parameter.
  // Returns the node at which `run` ends.
  const auto pass_run = [&] {
    std::uint32_t& first = place == none ? root_ : param_of(place, *last).to;
    const std::uint32_t ends = first == none ? make(run) : follow(first, run);
    if (first == none) first = ends;
    run.clear();
    return ends;
  };
  for (const Segment& segment : segments) {
    run += '/';
    if (segment.kind == Segment::Literal) {
      run += segment.text;
      continue;
    }
    run += segment.prefix;
    Node& node = nodes_[pass_run()];
    if (node.params == none) {
      node.params = static_cast<std::uint32_t>(params_.size());
      params_.emplace_back();
    }
    place = node.params;
    last = &segment;
    Param& param = param_of(place, segment);
    if (param.name == none) {
      param.name = static_cast<std::uint32_t>(names_.size());
      param.by = by;
      names_.emplace_back(segment.text);
    } else if (names_[param.name] != segment.text) {
      const Pattern& first = patterns_[param.by];
      if (other != nullptr) *other = first.id;
      return refuse(
          Code::Conflict, pattern,
          "{" + std::string(segment.text) + "} stands where \"" + first.text + "\" has {" + names_[param.name] + "}");
    }
    if (segment.kind == Segment::Rest) {
      if (param.to != none) return there_already(pattern, param.by, other);
      param.to = id;
      return {};
    }
    if (segment.suffix.empty()) params_[place].types |= 1u << static_cast<int>(segment.type);
  }
  Node& node = nodes_[pass_run()];
  if (node.id != none) return there_already(pattern, node.by, other);
  node.id = id;
  node.by = by;
  if (place == none) whole_.add(pattern, id);
  return {};
}

std::uint32_t PathTree::make(std::string_view run) {
  Node made;
  made.text = static_cast<std::uint32_t>(text_.size());
  made.size = static_cast<std::uint32_t>(run.size());
  text_ += run;
  nodes_.push_back(made);
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

// Returns the node at which `run` ends; `run` begins at the same place as the text of `node`.
std::uint32_t PathTree::follow(std::uint32_t node, std::string_view run) {
  while (true) {
    const std::string_view text = std::string_view(text_).substr(nodes_[node].text, nodes_[node].size);
    const auto shared =
        static_cast<std::size_t>(std::mismatch(text.begin(), text.end(), run.begin(), run.end()).first - text.begin());
    if (shared < text.size()) split(node, static_cast<std::uint32_t>(shared));
    run.remove_prefix(shared);
    if (run.empty()) return node;
    const std::uint32_t next = child_of(nodes_[node], run.front());
    if (next == none) {
      const std::uint32_t made = make(run);
      add_child(node, run.front(), made);
      return made;
    }
    node = next;
  }
}

// Splits `node`: the node keeps the first `at` bytes of its text; a new child gets the remaining text, and the nodes
// that follow.
void PathTree::split(std::uint32_t node, std::uint32_t at) {
  Node behind = nodes_[node];
  nodes_[node] = Node();
  nodes_[node].text = behind.text;
  nodes_[node].size = at;
  behind.text += at;
  behind.size -= at;
  nodes_.push_back(behind);
  add_child(node, text_[behind.text], static_cast<std::uint32_t>(nodes_.size() - 1));
}

void PathTree::add_child(std::uint32_t node, char byte, std::uint32_t child) {
  Node& parent = nodes_[node];
  if (parent.child_count < Node::few) {
    parent.bytes[parent.child_count] = byte;
    parent.children[parent.child_count] = child;
  } else {
    if (parent.child_count == Node::few) {
      Table table;
      table.fill(none);
      for (std::uint32_t i = 0; i < Node::few; ++i) {
        table[static_cast<unsigned char>(parent.bytes[i])] = parent.children[i];
      }
      parent.children[0] = static_cast<std::uint32_t>(tables_.size());
      tables_.push_back(table);
    }
    tables_[parent.children[0]][static_cast<unsigned char>(byte)] = child;
  }
  ++parent.child_count;
}

std::uint32_t PathTree::child_of(const Node& node, char byte) const noexcept {
  const auto wanted = static_cast<unsigned char>(byte);
  if (node.child_count > Node::few) return tables_[node.children[0]][wanted];
  // Most nodes have only one child, so the processor can continue with this child while it still compares the byte.
  if (node.bytes[0] == byte) return node.children[0];
  const int found = first_zero(scan::load64(node.bytes) ^ ones * wanted);
  return found < static_cast<int>(Node::few) ? node.children[found] : none;
}

std::optional<std::uint32_t> PathTree::match_tree(std::string_view path, PathParams& params) const noexcept {
  if (root_ == none) return std::nullopt;
  const char* const end = path.data() + path.size();
  const bool is_escaped = has<'%'>(path);
  if (params_.empty() && !is_escaped) return std::nullopt;
  const std::uint32_t id =
      is_escaped ? walk<true>(root_, path.data(), end, params) : walk<false>(root_, path.data(), end, params);
  if (id == none) return std::nullopt;
  return id;
}

template <bool escaped>
bool PathTree::fits(Type type, std::string_view segment) noexcept {
  if constexpr (escaped) {
    char room[literal_bytes_max];
    const auto decoded = decode(segment, room);
    return decoded && fits<false>(type, *decoded);
  }
  switch (type) {
    case Type::Uuid:
      return is_uuid(segment);
    case Type::Uint:
      return is_number<std::uint64_t>(segment);
    case Type::Int:
      return is_number<std::int64_t>(segment);
    case Type::Slug:
      return segment.size() <= literal_bytes_max && std::all_of(segment.begin(), segment.end(), [](char c) {
               return ascii::is_alphanumeric(c) || c == '-' || c == '_';
             });
    case Type::Any:
      break;
  }
  return true;
}

// Compares the node's text with the path. Returns the position in the path after the text, or null if the path differs
// from the text.
template <bool escaped>
const char* PathTree::pass(const Node& node, const char* at, const char* end) const noexcept {
  const char* const text = text_.data() + node.text;
  if constexpr (escaped) {
    for (std::uint32_t i = 0; i < node.size; ++i) {
      if (at == end || next_byte<true>(at, end) != static_cast<unsigned char>(text[i])) return nullptr;
    }
    return at;
  } else {
    if (static_cast<std::size_t>(end - at) < node.size || !scan::is_same(at, text, node.size)) return nullptr;
    return at + node.size;
  }
}

// Does the same as walk() for the parameters that are followed by text in their segment. `segment` is the current
// segment of the path, and `end` is the end of the path.
template <bool escaped>
std::uint32_t PathTree::walk_suffixed(const Params& here, std::string_view segment, const char* end,
                                      PathParams& params) const noexcept {
  const unsigned size = params.size_;
  for (const Suffixed& one : here.suffixed) {
    const std::string_view value = without_suffix<escaped>(segment, one.suffix);
    if (value.empty() || (one.type != Type::Any && !fits<escaped>(one.type, value))) continue;
    params.add(names_[one.param.name], value.data(), value.data() + value.size());
    const std::uint32_t id = walk<escaped>(one.param.to, segment.data() + segment.size(), end, params);
    if (id != none) return id;
    params.size_ = size;
  }
  return none;
}

// Returns the id of the pattern, or `none` if no pattern matches; `params` may then contain values of an abandoned
// attempt. Backtracking needs recursion, which is at most as deep as the longest pattern, whatever the path is, because
// each call continues at a deeper node.
template <bool escaped>
std::uint32_t PathTree::walk(std::uint32_t index, const char* at, const char* end, PathParams& params) const noexcept {
  while (true) {
    const Node& node = nodes_[index];
    at = pass<escaped>(node, at, end);
    if (at == nullptr) return none;
    if (at == end && node.id != none) return node.id;
    std::uint32_t child = none;
    if (at != end) {
      const char* behind = at;
      const int byte = next_byte<escaped>(behind, end);
      if (byte != no_byte) child = child_of(node, static_cast<char>(byte));
    }
    if (node.params == none) {
      if (child == none) return none;
      index = child;
      continue;
    }
    const unsigned size = params.size_;
    if (child != none) {
      if (const std::uint32_t id = walk<escaped>(child, at, end, params); id != none) return id;
      params.size_ = size;
    }

    const Params& here = params_[node.params];
    const char* const stop = find<'/'>(at, end);
    const std::string_view segment(at, static_cast<std::size_t>(stop - at));
    if (!here.suffixed.empty()) [[unlikely]] {
      if (const std::uint32_t id = walk_suffixed<escaped>(here, segment, end, params); id != none) return id;
      params.size_ = size;
    }
    std::uint32_t last = none;
    for (unsigned types = segment.empty() ? 0 : here.types; types != 0; types &= types - 1) {
      const int type = std::countr_zero(types);
      if (type != static_cast<int>(Type::Any) && !fits<escaped>(static_cast<Type>(type), segment)) continue;
      const Param& param = here.by_type[type];
      params.add(names_[param.name], segment.data(), segment.data() + segment.size());
      if ((types & (types - 1)) == 0 && here.rest.to == none) {
        last = param.to;
        break;
      }
      if (const std::uint32_t id = walk<escaped>(param.to, stop, end, params); id != none) return id;
      params.size_ = size;
    }
    if (last != none) {
      index = last;
      at = stop;
      continue;
    }
    if (here.rest.to == none) return none;
    params.add(names_[here.rest.name], at, end);
    return here.rest.to;
  }
}

}  // namespace keel::http
