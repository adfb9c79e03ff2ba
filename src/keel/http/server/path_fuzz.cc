// The tree against a list that is searched from end to end. Input: patterns, one per line, the last line is the path.
// path_test.cc runs the same function over tables of its own.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/ascii.h"
#include "keel/base/check.h"
#include "keel/http/server/path.h"

namespace keel::http {
namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<std::string> decode(std::string_view raw) {
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '%') {
      text += raw[i];
      continue;
    }
    if (raw.size() - i < 3 || ascii::hex_value(raw[i + 1]) < 0 || ascii::hex_value(raw[i + 2]) < 0) return std::nullopt;
    text += static_cast<char>(ascii::hex_value(raw[i + 1]) * 16 + ascii::hex_value(raw[i + 2]));
    i += 2;
  }
  return text;
}

// Written a second time, from the words of path.h.
bool fits(std::string_view type, const std::string& text) {
  const auto only = [&](const char* set) { return !text.empty() && text.find_first_not_of(set) == std::string::npos; };
  // Digits as a number, held against a bound of 19 or 20 digits without any arithmetic.
  const auto at_most = [](std::string digits, std::string_view bound) {
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
    return digits.size() < bound.size() || (digits.size() == bound.size() && digits <= bound);
  };
  if (text.size() > 255) return false;
  if (type == "uint") return only("0123456789") && at_most(text, "18446744073709551615");
  if (type == "int") {
    const bool negative = text.starts_with('-');
    const std::string digits = text.substr(negative ? 1 : 0);
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos &&
           at_most(digits, negative ? "9223372036854775808" : "9223372036854775807");
  }
  if (type == "slug") return only("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
  std::string shape = text;
  for (char& c : shape) {
    if (ascii::hex_value(c) >= 0) c = 'h';
  }
  return shape == "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
}

// A wanted segment: text, or a parameter with text around it.
struct Wanted {
  std::string_view prefix;
  std::string_view type;
  std::string_view suffix;
  bool is_param;
};

Wanted wanted_of(std::string_view segment) {
  const std::size_t open = segment.find('{');
  if (open == std::string_view::npos) return {segment, {}, {}, false};
  const std::size_t close = segment.find('}');
  const std::string_view name = segment.substr(open, close - open);
  const std::size_t colon = name.find(':');
  return {segment.substr(0, open), colon == std::string_view::npos ? "" : name.substr(colon + 1),
          segment.substr(close + 1), true};
}

// The part of the raw segment between `prefix` and `suffix`, which may be escaped in any way; none if it lacks one.
std::optional<std::string_view> between(std::string_view raw, std::string_view prefix, std::string_view suffix) {
  for (std::size_t from = 0; from <= raw.size(); ++from) {
    if (decode(raw.substr(0, from)) != prefix) continue;
    for (std::size_t to = raw.size() + 1; to-- > from;) {
      if (decode(raw.substr(to)) != suffix || !decode(raw.substr(from, to - from))) continue;
      return raw.substr(from, to - from);
    }
  }
  return std::nullopt;
}

// How well a pattern fits: three bytes for each segment, the bytes of text before the parameter, those after it (more
// are better, a literal is best), and 1 to 4 for a parameter with a type, 5 for one without, 6 for the rest; less is
// better. `values`: of the parameters. None: it does not fit.
std::optional<std::string> fit(std::string_view pattern, std::string_view path, std::vector<std::string_view>& values) {
  if (!path.starts_with('/')) return std::nullopt;
  const auto wanted = split(pattern);
  const auto given = split(path);
  constexpr std::string_view types[] = {"uuid", "uint", "int", "slug"};
  std::string how;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (i == given.size()) return std::nullopt;
    if (wanted[i].ends_with("...}")) {
      values.push_back(path.substr(static_cast<std::size_t>(given[i].data() - path.data())));
      return how + "\xff\xff" + '6';
    }
    const Wanted segment = wanted_of(wanted[i]);
    if (!segment.is_param) {
      if (decode(given[i]) != wanted[i]) return std::nullopt;
      how += std::string(3, '\0');
      continue;
    }
    const auto value = between(given[i], segment.prefix, segment.suffix);
    if (!value || value->empty()) return std::nullopt;
    if (!segment.type.empty() && !fits(segment.type, *decode(*value))) return std::nullopt;
    values.push_back(*value);
    how += static_cast<char>(255 - segment.prefix.size());
    how += static_cast<char>(255 - segment.suffix.size());
    how += segment.type.empty()
               ? '5'
               : static_cast<char>('1' + (std::find(std::begin(types), std::end(types), segment.type) - types));
  }
  if (wanted.size() != given.size()) return std::nullopt;
  return how;
}

}  // namespace
}  // namespace keel::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  using namespace keel::http;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  PathTree tree;
  std::vector<std::string_view> patterns;
  for (std::size_t line; (line = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(line + 1)) {
    const std::string_view pattern = rest.substr(0, line);
    if (tree.add(pattern, static_cast<std::uint32_t>(patterns.size()))) patterns.push_back(pattern);
  }
  const std::string_view path = rest;

  std::optional<std::uint32_t> best;
  std::string best_fit;
  std::vector<std::string_view> best_values;
  for (std::uint32_t id = 0; id < patterns.size(); ++id) {
    std::vector<std::string_view> values;
    const auto how = fit(patterns[id], path, values);
    if (how && (!best || *how < best_fit)) {
      best = id;
      best_fit = *how;
      best_values = values;
    }
  }
  PathParams params;
  const auto found = tree.match(path, params);
  if (!decode(path)) return 0;  // A server rejects broken escapes before; match() must only survive them.
  KEEL_CHECK(found == best, "the tree finds what the list finds");
  if (found) {
    KEEL_CHECK(params.size() == best_values.size(), "each parameter of the pattern has a value");
    for (unsigned i = 0; i < params.size(); ++i) {
      const std::string_view value = params[i].value;
      KEEL_CHECK(value.data() == best_values[i].data() && value.size() == best_values[i].size(),
                 "a value is the part of the path that the list finds");
      KEEL_CHECK(params.find(params[i].name) == value, "a parameter is found by its name");
    }
  }
  return 0;
}
