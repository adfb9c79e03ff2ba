// The tree against a list that is searched from end to end. Input: patterns, one per line, the last line is the path.
// path_test.cc runs the same function over tables of its own.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
    if (raw.size() - i < 3 || hex_value(raw[i + 1]) < 0 || hex_value(raw[i + 2]) < 0) return std::nullopt;
    text += static_cast<char>(hex_value(raw[i + 1]) * 16 + hex_value(raw[i + 2]));
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
    if (hex_value(c) >= 0) c = 'h';
  }
  return shape == "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
}

// How well a pattern fits: a digit per segment, 0 literal, 1 to 4 a parameter with a type, 5 one without, 6 rest; less
// is better. None: it does not.
std::optional<std::string> fit(std::string_view pattern, std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  const auto wanted = split(pattern);
  const auto given = split(path);
  constexpr std::string_view types[] = {"uuid", "uint", "int", "slug"};
  std::string how;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (i == given.size()) return std::nullopt;
    if (wanted[i].ends_with("...}")) return how + "6";
    if (const std::size_t colon = wanted[i].find(':'); wanted[i].starts_with('{') && colon != std::string_view::npos) {
      const std::string_view type = wanted[i].substr(colon + 1, wanted[i].size() - colon - 2);
      const auto meant = decode(given[i]);
      if (given[i].empty() || !meant || !fits(type, *meant)) return std::nullopt;
      how += static_cast<char>('1' + (std::find(std::begin(types), std::end(types), type) - std::begin(types)));
    } else if (wanted[i].starts_with('{')) {
      if (given[i].empty()) return std::nullopt;
      how += '5';
    } else {
      if (decode(given[i]) != wanted[i]) return std::nullopt;
      how += '0';
    }
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
  std::optional<std::string> best_fit;
  for (std::uint32_t id = 0; id < patterns.size(); ++id) {
    const auto how = fit(patterns[id], path);
    if (how && (!best || *how < *best_fit)) {
      best = id;
      best_fit = how;
    }
  }
  PathParams params;
  const auto found = tree.match(path, params);
  KEEL_CHECK(found == best, "the tree finds what the list finds");
  if (found) {
    unsigned wanted = 0;
    for (char kind : *best_fit) wanted += kind != '0';
    KEEL_CHECK(params.size() == wanted, "each parameter of the pattern has a value");
    for (unsigned i = 0; i < params.size(); ++i) {
      const std::string_view value = params[i].value;
      KEEL_CHECK(value.data() >= path.data() && value.data() + value.size() <= path.data() + path.size(),
                 "values lie inside the path");
      KEEL_CHECK(params.find(params[i].name) == value, "a parameter is found by its name");
    }
  }
  return 0;
}
