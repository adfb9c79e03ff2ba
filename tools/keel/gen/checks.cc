#include "gen/checks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "gen/cpp.h"

namespace keel::gen {
namespace {

using openapi::Kind;
using openapi::Node;

// Those of keel/contract/formats.h that are no types of their own.
constexpr std::array<std::string_view, 16> formats = {
    "date",          "duration",    "email",         "hostname", "idn-email", "ipv4",         "ipv6",
    "iri",           "regex",       "iri-reference", "time",     "uri",       "json-pointer", "relative-json-pointer",
    "uri-reference", "uri-template"};

struct Condition {
  std::string wrong;    // An expression.
  std::string message;  // What is said when it is true.
  bool is_code = false;
};

struct Range {
  const Node* least = nullptr;
  const Node* most = nullptr;
  bool is_least_exclusive = false;
  bool is_most_exclusive = false;
};

Range range_of(const Facets& facets) {
  Range range;
  for (const Node* const source : facets.sources) {
    for (const bool is_exclusive : {false, true}) {
      const Node* const least = source->find(is_exclusive ? "exclusiveMinimum" : "minimum", Kind::Number);
      const Node* const most = source->find(is_exclusive ? "exclusiveMaximum" : "maximum", Kind::Number);
      if (least != nullptr && (range.least == nullptr || least->number() > range.least->number() ||
                               (is_exclusive && least->number() == range.least->number()))) {
        range.least = least;
        range.is_least_exclusive = is_exclusive;
      }
      if (most != nullptr && (range.most == nullptr || most->number() < range.most->number() ||
                              (is_exclusive && most->number() == range.most->number()))) {
        range.most = most;
        range.is_most_exclusive = is_exclusive;
      }
    }
  }
  return range;
}

// The whole number at or beside a bound: the least that is allowed for a `direction` of 1, the greatest for -1. Nothing
// when every 64-bit number is allowed.
std::optional<std::int64_t> whole_bound(const Node* node, bool is_exclusive, int direction) {
  if (node == nullptr) return std::nullopt;
  std::int64_t whole = 0;
  const auto [end, error] = std::from_chars(node->text.data(), node->text.data() + node->text.size(), whole);
  if (error == std::errc() && end == node->text.data() + node->text.size()) {
    if (!is_exclusive) return whole;
    if (whole == (direction > 0 ? INT64_MAX : INT64_MIN)) return whole;
    return whole + direction;
  }
  const double number = node->number().value_or(0);
  const double rounded = direction > 0 ? std::ceil(number) : std::floor(number);
  if (std::abs(rounded) >= 9.2e18) return std::nullopt;
  return static_cast<std::int64_t>(rounded) + (is_exclusive && rounded == number ? direction : 0);
}

std::string number_text(std::int64_t number) {
  if (number == INT64_MIN) return "INT64_MIN";
  return std::to_string(number);
}
std::string double_text(std::string_view text) {
  return std::string(text) + (text.find_first_of(".eE") == text.npos ? ".0" : "");
}

// The strongest of the counts: the greatest `min…`, the least `max…`.
std::optional<std::uint64_t> count_of(const Facets& facets, std::string_view keyword, bool is_least) {
  std::optional<std::uint64_t> found;
  for (const Node* const source : facets.sources) {
    const Node* const node = source->find(keyword, Kind::Number);
    if (node == nullptr) continue;
    const double number = node->number().value_or(0);
    if (number < 0 || number > 9e15) continue;
    const auto count = static_cast<std::uint64_t>(number);
    found = !found ? count : is_least ? std::max(*found, count) : std::min(*found, count);
  }
  if (found && is_least && *found == 0) found.reset();
  return found;
}

class Maker {
 public:
  Maker(const Facets& facets, Shape shape, std::string_view spelling) : facets_(facets), spelling_(spelling) {
    switch (shape) {
      case Shape::Integer:
        integer();
        values();
        break;
      case Shape::Number:
        number();
        values();
        break;
      case Shape::Boolean:
        values();
        break;
      case Shape::String:
        length("minLength", "maxLength", "character", true);
        patterns();
        format();
        values();
        break;
      case Shape::List:
        length("minItems", "maxItems", "element", false);
        unique();
        break;
      case Shape::Map:
        length("minProperties", "maxProperties", "element", false);
        break;
      default:
        break;
    }
  }

  Check made(std::string_view word) const {
    if (conditions_.empty()) return {};
    std::string body;
    for (const std::string& one : before_) body += one;
    for (const Condition& one : conditions_) {
      const std::string begin = "  if (" + one.wrong + ") ";
      if (one.is_code) {
        const std::string line = begin + "return " + one.message + ";\n";
        body += line.size() <= width + 1 ? line : "  if (" + one.wrong + ")\n    return " + one.message + ";\n";
        continue;
      }
      const std::string line = begin + "return " + literal(one.message) + ";";
      const bool is_short = line.size() <= width && one.message.find('\n') == std::string::npos;
      body += is_short ? line + '\n' : "  if (" + one.wrong + ")\n" + literal_line("    return ", one.message, ";");
    }
    body += "  return nullptr;\n}\n";
    const bool is_plain = conditions_.size() == 1 && !suffix_.empty();
    Check check;
    check.name = "check_" + std::string(word) + '_' + (is_plain ? suffix_ : hash_of(body));
    check.definition = "const char* " + check.name + "(const " + std::string(spelling_) + "& value) {\n" + body;
    return check;
  }

 private:
  void add(std::string wrong, std::string message, std::string suffix = {}) {
    conditions_.push_back({std::move(wrong), std::move(message)});
    suffix_ = std::move(suffix);
  }

  void integer() {
    const Range range = range_of(facets_);
    auto least = whole_bound(range.least, range.is_least_exclusive, 1);
    auto most = whole_bound(range.most, range.is_most_exclusive, -1);
    const bool is_unsigned = spelling_.find("uint") != spelling_.npos;
    const bool is_small = spelling_.find("32") != spelling_.npos;
    // What no value of the type can break is not asked for: compilers warn of it.
    if (least && *least <= (is_unsigned ? 0 : is_small ? INT32_MIN : INT64_MIN)) least.reset();
    if (most && *most >= (is_unsigned && is_small ? std::int64_t{UINT32_MAX} : is_small ? INT32_MAX : INT64_MAX)) {
      most.reset();
    }
    if (is_unsigned && most && *most < 0) {
      add("true", "must be at most " + std::to_string(*most));
      most.reset();
    }
    bounds(least ? "value < " + number_text(*least) : "", most ? "value > " + number_text(*most) : "",
           least ? std::to_string(*least) : "", most ? std::to_string(*most) : "");
    for (const Node* const source : facets_.sources) {
      const Node* const of = source->find("multipleOf", Kind::Number);
      if (of == nullptr) continue;
      const auto whole = of->whole();
      if (whole == 1) continue;
      if (whole) {
        add("value % " + std::to_string(*whole) + " != 0", "must be a multiple of " + std::to_string(*whole));
      } else {
        add("!keel::json::internal::is_multiple(static_cast<double>(value), " + double_text(of->text) + ")",
            "must be a multiple of " + std::string(of->text));
      }
    }
  }
  void number() {
    const Range range = range_of(facets_);
    const auto text = [](const Node* node) { return node == nullptr ? std::string() : std::string(node->text); };
    if (!range.is_least_exclusive && !range.is_most_exclusive) {
      bounds(range.least != nullptr ? "value < " + double_text(range.least->text) : "",
             range.most != nullptr ? "value > " + double_text(range.most->text) : "", text(range.least),
             text(range.most));
    } else {
      if (range.least != nullptr) {
        add(std::string("value ") + (range.is_least_exclusive ? "<= " : "< ") + double_text(range.least->text),
            (range.is_least_exclusive ? "must be more than " : "must be at least ") + text(range.least));
      }
      if (range.most != nullptr) {
        add(std::string("value ") + (range.is_most_exclusive ? ">= " : "> ") + double_text(range.most->text),
            (range.is_most_exclusive ? "must be less than " : "must be at most ") + text(range.most));
      }
    }
    for (const Node* const source : facets_.sources) {
      if (const Node* const of = source->find("multipleOf", Kind::Number)) {
        add("!keel::json::internal::is_multiple(value, " + double_text(of->text) + ")",
            "must be a multiple of " + std::string(of->text));
      }
    }
  }
  void bounds(const std::string& below, const std::string& above, const std::string& least, const std::string& most) {
    const auto is_name = [](const std::string& text) { return text.find_first_not_of("0123456789") == text.npos; };
    if (!below.empty() && !above.empty()) {
      add(below + " || " + above, "must be from " + least + " to " + most,
          is_name(least + most) ? least + "_to_" + most : "");
    } else if (!below.empty()) {
      add(below, "must be at least " + least, is_name(least) ? "at_least_" + least : "");
    } else if (!above.empty()) {
      add(above, "must be at most " + most, is_name(most) ? "at_most_" + most : "");
    }
  }

  void length(std::string_view min, std::string_view max, std::string_view of, bool is_text) {
    const auto least = count_of(facets_, min, true);
    const auto most = count_of(facets_, max, false);
    if (!least && !most) return;
    std::string words = "must have ";
    std::string suffix;
    if (!most) {
      suffix = "at_least_" + std::to_string(*least);
      words += "at least " + std::to_string(*least);
    } else if (!least) {
      suffix = "at_most_" + std::to_string(*most);
      words += "at most " + std::to_string(*most);
    } else if (*least == *most) {
      suffix = "of_" + std::to_string(*least);
      words += std::to_string(*least);
    } else {
      suffix = std::to_string(*least) + "_to_" + std::to_string(*most);
      words += std::to_string(*least) + " to " + std::to_string(*most);
    }
    words += ' ' + std::string(of) + (most.value_or(least.value_or(0)) == 1 ? "" : "s");
    if (is_text) {
      add("!keel::json::internal::has_length(value, " + std::to_string(least.value_or(0)) + ", " +
              (most ? std::to_string(*most) : "SIZE_MAX") + ")",
          words, suffix);
      return;
    }
    std::string wrong;
    if (least) wrong = *least == 1 ? "value.empty()" : "value.size() < " + std::to_string(*least);
    if (most) wrong += (wrong.empty() ? "" : " || ") + ("value.size() > " + std::to_string(*most));
    add(wrong, words, suffix);
  }
  void unique() {
    for (const Node* const source : facets_.sources) {
      const Node* const flag = source->find("uniqueItems", Kind::Boolean);
      if (flag == nullptr || !flag->is_true()) continue;
      add("!keel::json::internal::are_different(value)", "must not have two equal elements", "unique");
      return;
    }
  }

  // JSON Schema looks for a pattern anywhere in the text; keel::Pattern is for the whole of it.
  void patterns() {
    std::vector<std::string_view> seen;
    for (const Node* const source : facets_.sources) {
      const Node* const pattern = source->find("pattern", Kind::String);
      if (pattern == nullptr || std::find(seen.begin(), seen.end(), pattern->text) != seen.end()) continue;
      seen.push_back(pattern->text);
      const std::string name = seen.size() == 1 ? "pattern" : "pattern_" + std::to_string(seen.size());
      before_.push_back(
          literal_line("  static constexpr keel::Pattern " + name + " = ", whole_pattern(pattern->text), ";"));
      add("!" + name + ".matches(value)", "must match " + std::string(pattern->text));
    }
  }
  static std::string whole_pattern(std::string_view text) {
    std::size_t escapes = 0;
    while (text.size() > escapes + 2 && text[text.size() - 2 - escapes] == '\\') ++escapes;
    const bool is_anchored = text.size() >= 2 && text.front() == '^' && text.back() == '$' && escapes % 2 == 0 &&
                             text.find('|') == text.npos && text.find("(?") == text.npos;
    if (is_anchored) return std::string(text.substr(1, text.size() - 2));
    return "(?s:.*)(?:" + std::string(text) + ")(?s:.*)";
  }
  void format() {
    std::string_view last;
    for (const Node* const source : facets_.sources) {
      const std::string_view name = source->string("format");
      if (!is_checked_format(name) || name == last) continue;
      last = name;
      const std::string format = "keel::contract::Format::" + pascal_of(name);
      add("!keel::contract::is_valid(" + format + ", value)", "keel::contract::expected(" + format + ")",
          snake_of(name));
      conditions_.back().is_code = true;
    }
  }

  void values() {
    if (!facets_.values) return;
    std::string wrong;
    std::string words;
    constexpr std::size_t words_max = 1000;
    for (const Node* const value : *facets_.values) {
      std::string text;
      if (value->is(Kind::String)) {
        text = literal(value->text);
      } else if (value->is(Kind::Number)) {
        const auto whole = value->whole();
        text = spelling_.find("int") == spelling_.npos ? double_text(value->text)
               : whole                                 ? number_text(*whole)
                                                       : std::string();
      } else if (value->is(Kind::Boolean)) {
        text = std::string(value->text);
      }
      if (text.empty()) continue;
      wrong += (wrong.empty() ? "value != " : " && value != ") + text;
      if (words.size() < words_max) words += (words.empty() ? "" : ", ") + std::string(value->text);
    }
    if (words.size() >= words_max) words += ", …";
    if (wrong.empty()) wrong = "true";
    const bool is_one = facets_.values->size() == 1;
    add(std::move(wrong), (is_one ? "must be " : "must be one of ") + words);
  }

  const Facets& facets_;
  std::string_view spelling_;
  std::vector<std::string> before_;
  std::vector<Condition> conditions_;
  std::string suffix_;
};

}  // namespace

Check check_of(const Facets& facets, Shape shape, std::string_view spelling, std::string_view word) {
  return Maker(facets, shape, spelling).made(word);
}

bool is_checked_format(std::string_view format) noexcept {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

}  // namespace keel::gen
