#include "gen/checks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "gen/cpp.h"
#include "keel/contract/regex.h"

namespace keel::gen {
namespace {

using openapi::Kind;
using openapi::Node;

// The formats of keel/contract/formats.h for which there is no separate C++ type.
constexpr std::array<std::string_view, 16> formats = {
    "date",          "duration",    "email",         "hostname", "idn-email", "ipv4",         "ipv6",
    "iri",           "regex",       "iri-reference", "time",     "uri",       "json-pointer", "relative-json-pointer",
    "uri-reference", "uri-template"};

struct Condition {
  std::string wrong;    // A C++ expression that is true for a wrong value.
  std::string message;  // The message for a wrong value.
  std::string keyword;  // The keyword of JSON Schema that the value violates.
  bool is_message_code = false;
  bool is_keyword_code = false;
  std::string limits = {};  // The bounds, such as "1, 200", if the check consists only of bounds.
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

// The whole number at or next to a bound: the least allowed number if `direction` is 1, the greatest allowed number if
// it is -1. Returns nothing if the bound allows every 64-bit number.
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

// The strictest value of the keyword in all sources: the greatest value of a `min…`, or the least value of a `max…`.
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
        values(Kind::Number);
        break;
      case Shape::Number:
        number();
        values(Kind::Number);
        break;
      case Shape::Boolean:
        values(Kind::Boolean);
        break;
      case Shape::String:
        length("minLength", "maxLength", "character", true);
        patterns();
        format();
        values(Kind::String);
        break;
      case Shape::File:
        length("minLength", "maxLength", "byte", false);
        // The limits are cleared because the tables of limits cannot hold a limit on the number of bytes.
        for (Condition& one : conditions_) one.limits.clear();
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
      const std::string end = ", " + (one.is_keyword_code ? one.keyword : literal(one.keyword)) + "};";
      if (one.is_message_code) {
        const std::string statement = "return {" + one.message + end + '\n';
        const bool is_short = begin.size() + statement.size() <= width + 1;
        body += is_short ? begin + statement : "  if (" + one.wrong + ")\n    " + statement;
        continue;
      }
      const std::string line = begin + "return {" + literal(one.message) + end;
      const bool is_short = line.size() <= width && one.message.find('\n') == std::string::npos;
      body += is_short ? line + '\n' : "  if (" + one.wrong + ")\n" + literal_line("    return {", one.message, end);
    }
    const bool is_used = std::ranges::any_of(conditions_, [](const Condition& one) { return one.wrong != "true"; });
    body += "  return {};\n}\n";
    const bool is_plain = rules_ == 1 && !suffix_.empty();
    Check check;
    check.name = "check_" + std::string(word) + '_' + (is_plain ? suffix_ : hash_of(body));
    if (rules_ == 1 && before_.empty() && !conditions_[0].limits.empty()) {
      check.limits = '{' + conditions_[0].limits + ", " + literal(conditions_[0].message) + '}';
    }
    check.definition = "keel::Complaint " + check.name + "(const " + std::string(spelling_) +
                       (is_used ? "& value) {\n" : "&) {\n") + body;
    return check;
  }

 private:
  void add(std::string wrong, std::string message, std::string keyword, std::string suffix = {}) {
    conditions_.push_back({std::move(wrong), std::move(message), std::move(keyword)});
    suffix_ = std::move(suffix);
    ++rules_;
  }
  // Adds a second condition, with the same message, to the previous rule.
  void add_half(std::string wrong, std::string keyword) {
    conditions_.push_back({std::move(wrong), conditions_.back().message, std::move(keyword)});
  }

  void integer() {
    const Range range = range_of(facets_);
    auto least = whole_bound(range.least, range.is_least_exclusive, 1);
    auto most = whole_bound(range.most, range.is_most_exclusive, -1);
    narrow_to_format(least, most);
    const bool is_unsigned = spelling_.find("uint") != spelling_.npos;
    const bool is_small = spelling_.find("32") != spelling_.npos;
    // Conditions that no value of the type can violate are left out, because compilers would warn of such conditions.
    if (least && *least <= (is_unsigned ? 0 : is_small ? INT32_MIN : INT64_MIN)) least.reset();
    if (most && *most >= (is_unsigned && is_small ? std::int64_t{UINT32_MAX} : is_small ? INT32_MAX : INT64_MAX)) {
      most.reset();
    }
    // A bound outside the range of the C++ type gets no comparison, because the compiler would warn that the comparison
    // is always true.
    const std::int64_t type_min = is_unsigned ? 0 : is_small ? INT32_MIN : INT64_MIN;
    const std::int64_t type_max = !is_small ? INT64_MAX : is_unsigned ? std::int64_t{UINT32_MAX} : INT32_MAX;
    if (most && *most < type_min) {
      add("true", "must be at most " + std::to_string(*most), "maximum");
      most.reset();
    }
    if (least && *least > type_max) {
      add("true", "must be at least " + std::to_string(*least), "minimum");
      least.reset();
    }
    bounds(range, least ? "value < " + number_text(*least) : "", most ? "value > " + number_text(*most) : "",
           least ? std::to_string(*least) : "", most ? std::to_string(*most) : "");
    for (const Node* const source : facets_.sources) {
      const Node* const of = source->find("multipleOf", Kind::Number);
      if (of == nullptr) continue;
      const auto whole = of->whole();
      if (whole == 1) continue;
      if (whole) {
        add("value % " + std::to_string(*whole) + " != 0", "must be a multiple of " + std::to_string(*whole),
            "multipleOf");
      } else if (!divides_one(of->text)) {
        add("!keel::json::internal::is_multiple(value, " + double_text(of->text) + ")",
            "must be a multiple of " + std::string(of->text), "multipleOf");
      }
    }
  }
  // The check of a format that has no separate C++ type.
  void narrow_to_format(std::optional<std::int64_t>& least, std::optional<std::int64_t>& most) const {
    struct Width {
      std::string_view format;
      std::int64_t least;
      std::int64_t most;
    };
    constexpr std::array<Width, 4> widths = {{{"int8", INT8_MIN, INT8_MAX},
                                              {"int16", INT16_MIN, INT16_MAX},
                                              {"uint8", 0, UINT8_MAX},
                                              {"uint16", 0, UINT16_MAX}}};
    for (const Node* const source : facets_.sources) {
      for (const Width& width : widths) {
        if (source->string("format") != width.format) continue;
        least = std::max(least.value_or(width.least), width.least);
        most = std::min(most.value_or(width.most), width.most);
      }
    }
  }

  // Whether every whole number is a multiple of this decimal, such as 0.25 or 1e-8.
  static bool divides_one(std::string_view text) {
    const std::size_t end = std::min(text.find_first_of("eE"), text.size());
    int exponent = 0;
    if (end != text.size()) std::from_chars(text.data() + end + 1, text.data() + text.size(), exponent);
    std::uint64_t digits = 0;
    bool is_behind_point = false;
    for (const char c : text.substr(0, end)) {
      if (c == '.') is_behind_point = true;
      if (c < '0' || c > '9') continue;
      if (digits > UINT64_MAX / 10 - 1) return false;
      digits = digits * 10 + static_cast<std::uint64_t>(c - '0');
      exponent -= is_behind_point ? 1 : 0;
    }
    // True if 10^-exponent is a multiple of the digits.
    int twos = 0;
    int fives = 0;
    for (; digits != 0 && digits % 2 == 0; digits /= 2) ++twos;
    for (; digits != 0 && digits % 5 == 0; digits /= 5) ++fives;
    return digits == 1 && std::max(twos, fives) <= -exponent;
  }
  void number() {
    const Range range = range_of(facets_);
    const auto text = [](const Node* node) { return node == nullptr ? std::string() : std::string(node->text); };
    if (!range.is_least_exclusive && !range.is_most_exclusive) {
      bounds(range, range.least != nullptr ? "value < " + double_text(range.least->text) : "",
             range.most != nullptr ? "value > " + double_text(range.most->text) : "", text(range.least),
             text(range.most));
    } else {
      if (range.least != nullptr) {
        add(std::string("value ") + (range.is_least_exclusive ? "<= " : "< ") + double_text(range.least->text),
            (range.is_least_exclusive ? "must be greater than " : "must be at least ") + text(range.least),
            least_keyword(range));
      }
      if (range.most != nullptr) {
        add(std::string("value ") + (range.is_most_exclusive ? ">= " : "> ") + double_text(range.most->text),
            (range.is_most_exclusive ? "must be less than " : "must be at most ") + text(range.most),
            most_keyword(range));
      }
    }
    for (const Node* const source : facets_.sources) {
      if (const Node* const of = source->find("multipleOf", Kind::Number)) {
        add("!keel::json::internal::is_multiple(value, " + double_text(of->text) + ")",
            "must be a multiple of " + std::string(of->text), "multipleOf");
      }
    }
  }
  static std::string limits_of(const std::string& least, const std::string& most) {
    constexpr std::size_t digits_max = 15;  // A double represents every whole number of at most 15 digits exactly.
    const auto is_whole = [](std::string_view text) {
      if (text.starts_with('-')) text.remove_prefix(1);
      return text.size() <= digits_max && text.find_first_not_of("0123456789") == text.npos;
    };
    if (!is_whole(least) || !is_whole(most)) return {};
    return (least.empty() ? "of::no_least" : least) + ", " + (most.empty() ? "of::no_most" : most);
  }
  static const char* least_keyword(const Range& range) {
    return range.is_least_exclusive ? "exclusiveMinimum" : "minimum";
  }
  static const char* most_keyword(const Range& range) {
    return range.is_most_exclusive ? "exclusiveMaximum" : "maximum";
  }
  void bounds(const Range& range, const std::string& below, const std::string& above, const std::string& least,
              const std::string& most) {
    const std::size_t first = conditions_.size();
    const auto is_name = [](const std::string& text) { return text.find_first_not_of("0123456789") == text.npos; };
    if (!below.empty() && !above.empty()) {
      add(below, "must be from " + least + " to " + most, least_keyword(range),
          is_name(least + most) ? least + "_to_" + most : "");
      add_half(above, most_keyword(range));
    } else if (!below.empty()) {
      add(below, "must be at least " + least, least_keyword(range), is_name(least) ? "at_least_" + least : "");
    } else if (!above.empty()) {
      add(above, "must be at most " + most, most_keyword(range), is_name(most) ? "at_most_" + most : "");
    } else {
      return;
    }
    if (!range.is_least_exclusive && !range.is_most_exclusive) conditions_[first].limits = limits_of(least, most);
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
    const std::string limits =
        std::to_string(least.value_or(0)) + ", " + (most ? std::to_string(*most) : "of::no_most");
    if (is_text) {
      add("!keel::json::internal::has_length(value, " + std::to_string(least.value_or(0)) + ", " +
              (most ? std::to_string(*most) : "SIZE_MAX") + ")",
          words, std::string(least ? min : max), suffix);
      if (least && most) {
        conditions_.back().keyword = "keel::json::internal::length_keyword(value, " + std::to_string(*most) + ')';
        conditions_.back().is_keyword_code = true;
      }
      conditions_.back().limits = limits;
      return;
    }
    const std::string few = !least ? "" : *least == 1 ? "value.empty()" : "value.size() < " + std::to_string(*least);
    const std::string many = most ? "value.size() > " + std::to_string(*most) : "";
    add(least ? few : many, words, std::string(least ? min : max), suffix);
    conditions_.back().limits = limits;
    if (least && most) add_half(many, std::string(max));
  }
  void unique() {
    for (const Node* const source : facets_.sources) {
      const Node* const flag = source->find("uniqueItems", Kind::Boolean);
      if (flag == nullptr || !flag->is_true()) continue;
      add("!keel::json::internal::are_different(value)", "must not have two equal elements", "uniqueItems", "unique");
      return;
    }
  }

  // JSON Schema searches for an ECMA-262 pattern anywhere in the text; keel::Pattern is an RE2 pattern for the whole
  // text.
  void patterns() {
    std::vector<std::string_view> seen;
    for (const Node* const source : facets_.sources) {
      const Node* const pattern = source->find("pattern", Kind::String);
      if (pattern == nullptr || std::find(seen.begin(), seen.end(), pattern->text) != seen.end()) continue;
      seen.push_back(pattern->text);
      const std::string name = seen.size() == 1 ? "pattern" : "pattern_" + std::to_string(seen.size());
      before_.push_back(literal_line("  static constexpr keel::Pattern " + name + " = ",
                                     whole_pattern(contract::Regex(pattern->text).re2), ";"));
      add("!" + name + ".matches(value)", "must match " + std::string(pattern->text), "pattern");
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
      add("!keel::contract::is_valid(" + format + ", value)", "keel::contract::expected(" + format + ")", "format",
          snake_of(name));
      conditions_.back().is_message_code = true;
    }
  }

  // Allowed values of another kind are left out, because no value of the type can equal them; lint() warns of such
  // values.
  void values(Kind kind) {
    if (!facets_.values) return;
    std::string wrong;
    std::string words;
    std::set<std::string> seen;
    constexpr std::size_t words_max = 1000;
    for (const Node* const value : *facets_.values) {
      if (!value->is(kind)) continue;
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
      if (text.empty() || !seen.insert(text).second) continue;
      wrong += (wrong.empty() ? "value != " : " && value != ") + text;
      if (words.size() < words_max) words += (words.empty() ? "" : ", ") + std::string(value->text);
    }
    if (words.size() >= words_max) words += ", …";
    if (wrong.empty()) wrong = "true";
    const bool is_one = seen.size() == 1;
    add(std::move(wrong), (is_one ? "must be " : "must be one of ") + words,
        facets_.find("const") != nullptr ? "const" : "enum");
  }

  const Facets& facets_;
  std::string_view spelling_;
  std::vector<std::string> before_;
  std::vector<Condition> conditions_;
  std::string suffix_;
  std::size_t rules_ = 0;
};

}  // namespace

Check check_of(const Facets& facets, Shape shape, std::string_view spelling, std::string_view word) {
  return Maker(facets, shape, spelling).made(word);
}

bool is_checked_format(std::string_view format) noexcept {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

}  // namespace keel::gen
