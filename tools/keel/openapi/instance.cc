#include "openapi/instance.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/contract/regex.h"
#include "keel/contract/schema.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_writer.h"

namespace keel::openapi {
namespace {

using contract::Limit;
using contract::Number;
using contract::Schema;
using json::Value;

constexpr std::size_t values_max = 10'000;
// The limit applies to the whole process, because no pattern is ever removed.
constexpr std::size_t patterns_max = 10'000;

bool is_named_type(std::string_view type, const Node& value) noexcept {
  switch (value.kind) {
    case Kind::Null:
      return type == "null";
    case Kind::Boolean:
      return type == "boolean";
    case Kind::String:
      return type == "string";
    case Kind::List:
      return type == "array";
    case Kind::Map:
      return type == "object";
    case Kind::Number:
      break;
  }
  if (type == "number") return true;
  if (type != "integer") return false;
  const double number = value.number().value_or(0.5);
  return std::trunc(number) == number;
}

std::uint8_t bits_of(std::string_view type) noexcept {
  return type == "null"      ? Schema::null_bit
         : type == "boolean" ? Schema::boolean_bit
         : type == "integer" ? Schema::integer_bit
         : type == "number"  ? Schema::integer_bit | Schema::number_bit
         : type == "string"  ? Schema::string_bit
         : type == "array"   ? Schema::list_bit
         : type == "object"  ? Schema::object_bit
                             : Schema::all_types;
}

// Calls f(number) with the number's value in C++; returns false if the value is not a number.
template <class F>
bool with_number(const Node& node, F f) {
  const char* const end = node.text.data() + node.text.size();
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(node.text.data(), end, whole); read.ec == std::errc() && read.ptr == end) {
    f(whole);
    return true;
  }
  std::uint64_t large = 0;
  if (const auto read = std::from_chars(node.text.data(), end, large); read.ec == std::errc() && read.ptr == end) {
    f(large);
    return true;
  }
  const std::optional<double> real = node.number();
  if (!real || !std::isfinite(*real)) return false;
  f(*real);
  return true;
}

// Writes the value as JSON. Returns false if C++ cannot express a number in the value, or if the value contains more
// than `left` values.
bool write(const Node& node, json::Writer& out, std::size_t& left) {
  if (left == 0) return false;
  --left;
  switch (node.kind) {
    case Kind::Null:
      out.null();
      return true;
    case Kind::Boolean:
      out.boolean(node.is_true());
      return true;
    case Kind::String:
      out.string(node.text);
      return true;
    case Kind::Number:
      return with_number(node, [&](auto number) {
        if constexpr (std::floating_point<decltype(number)>) {
          out.number(number);
        } else if constexpr (std::unsigned_integral<decltype(number)>) {
          out.unsigned_integer(number);
        } else {
          out.integer(number);
        }
      });
    case Kind::List:
      out.begin_array();
      for (const Node* const child : node.children) {
        if (!write(*child, out, left)) return false;
      }
      out.end_array();
      return true;
    case Kind::Map:
      break;
  }
  out.begin_object();
  for (const Node* const child : node.children) {
    out.key(child->key);
    if (!write(*child, out, left)) return false;
  }
  out.end_object();
  return true;
}
std::optional<Value> value_of(const Node& node) {
  Buffer text;
  json::Writer out(text);
  std::size_t left = values_max;
  if (!write(node, out, left)) return std::nullopt;
  Result<Value> value = json::parse<Value>(text.view());
  if (!value) return std::nullopt;
  return *std::move(value);
}

// Returns a pattern that lives until the process ends; equal texts share one pattern. Null if there are too many
// patterns.
const Pattern* lasting(const std::string& re2) {
  struct Patterns {
    std::mutex mutex;
    std::map<std::string, Pattern> all;
  };
  static Patterns& patterns = *new Patterns;
  const std::lock_guard lock(patterns.mutex);
  const auto known = patterns.all.find(re2);
  if (known != patterns.all.end()) return &known->second;
  if (patterns.all.size() == patterns_max) return nullptr;
  static std::deque<std::string>& texts = *new std::deque<std::string>;
  const std::string& text = texts.emplace_back(re2);
  return &patterns.all.emplace(text, Pattern::of_lasting(text)).first->second;
}

}  // namespace

// Makes in memory the tables that tools/keel/gen/schema_tables.h writes as C++.
class Instances::Tables {
 public:
  Tables(const Document& document, Instances& instances) : document_(document), instances_(instances) {}

  // Returns null if a pattern is not supported.
  const Schema* of_root(const Node& schema) {
    const Schema* const made = of(schema);
    while (!pending_.empty() && !has_bad_pattern_) {
      const auto [to, node] = pending_.back();
      pending_.pop_back();
      fill(*to, *node);
    }
    return has_bad_pattern_ ? nullptr : made;
  }

 private:
  template <class T>
  std::span<const T> keep(std::vector<T> list, std::deque<std::vector<T>>& all) {
    if (list.empty()) return {};
    return all.emplace_back(std::move(list));
  }

  // Returns a Schema that is filled later, because a chain of schemas may be longer than the stack.
  const Schema* of(const Node& schema) {
    if (schema.is(Kind::Boolean)) return schema.is_true() ? &contract::anything : &contract::nothing;
    if (!schema.is(Kind::Map) || schema.children.empty()) return &contract::anything;
    Schema*& known = known_[&schema];
    if (known == nullptr) {
      known = &schemas_.emplace_back();
      pending_.emplace_back(known, &schema);
    }
    return known;
  }
  const Schema* of(const Node& schema, std::string_view keyword) {
    const Node* const found = schema.find(keyword);
    return found == nullptr ? nullptr : of(*found);
  }
  std::vector<const Schema*> list_of(const Node& schema, std::string_view keyword) {
    std::vector<const Schema*> all;
    if (const Node* const list = schema.find(keyword, Kind::List)) {
      for (const Node* const one : list->children) all.push_back(of(*one));
    }
    return all;
  }
  static bool has_any(const Node& schema, std::initializer_list<std::string_view> keywords) {
    return std::ranges::any_of(keywords, [&](std::string_view one) { return schema.find(one) != nullptr; });
  }

  static void count(const Node& schema, std::string_view keyword, std::size_t& to) {
    const Node* const found = schema.find(keyword, Kind::Number);
    const auto whole = found == nullptr ? std::nullopt : found->whole();
    if (whole && *whole >= 0) to = static_cast<std::size_t>(*whole);
  }
  static std::optional<Number> number(const Node* node) {
    std::optional<Number> made;
    if (node != nullptr) with_number(*node, [&](auto value) { made = Number(value); });
    return made;
  }

  contract::Constant constant(const Node& node) {
    contract::Constant made;
    switch (node.kind) {
      case Kind::Null:
        break;
      case Kind::Boolean:
        made.kind = json::Kind::Boolean;
        made.boolean = node.is_true();
        break;
      case Kind::Number:
        made.kind = json::Kind::Number;
        // A number that is too large for a double becomes infinity, which is not equal to any number in a value.
        made.number = number(&node).value_or(Number(std::numeric_limits<double>::infinity()));
        break;
      case Kind::String:
        made.kind = json::Kind::String;
        made.text = node.text;
        break;
      case Kind::List:
      case Kind::Map: {
        made.kind = node.is(Kind::List) ? json::Kind::Array : json::Kind::Object;
        std::vector<contract::Constant> elements;
        std::vector<std::string_view> names;
        for (const Node* const child : node.children) {
          elements.push_back(constant(*child));
          if (node.is(Kind::Map)) names.push_back(child->key);
        }
        made.size = elements.size();
        made.elements = keep(std::move(elements), constants_).data();
        made.names = keep(std::move(names), names_).data();
        break;
      }
    }
    return made;
  }

  const Pattern* pattern(std::string_view text) {
    const Regex& regex = instances_.regex(text);
    const Pattern* const made = regex.problem().empty() ? lasting(regex.re2()) : nullptr;
    has_bad_pattern_ = has_bad_pattern_ || made == nullptr;
    return made;
  }
  std::span<const std::string_view> texts(const Node& list) {
    std::vector<std::string_view> all;
    for (const Node* const one : list.children) all.push_back(one->text);
    return keep(std::move(all), names_);
  }

  void fill(Schema& to, const Node& schema) {
    if (const Node* const type = schema.find("type")) {
      to.types = type->is(Kind::String) ? bits_of(type->text) : 0;
      for (const Node* const one : type->children) to.types |= bits_of(one->text);
    }
    const Node* const constant_node = schema.find("const");
    const Node* const enumeration = schema.find("enum", Kind::List);
    if (constant_node != nullptr) {
      to.is_constant = to.has_values = true;
      to.values = keep(std::vector{constant(*constant_node)}, constants_);
    }
    if (enumeration != nullptr) {
      Schema& apart = constant_node == nullptr ? to : schemas_.emplace_back();
      std::vector<contract::Constant> values;
      for (const Node* const one : enumeration->children) values.push_back(constant(*one));
      apart.has_values = true;
      apart.values = keep(std::move(values), constants_);
      if (&apart != &to) fill_combination(to, schema, &apart);
    }
    if (has_any(schema, {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})) {
      fill_number(to, schema);
    }
    if (has_any(schema, {"minLength", "maxLength", "pattern"})) {
      contract::TextRules& rules = text_rules_.emplace_back();
      count(schema, "minLength", rules.length_min);
      count(schema, "maxLength", rules.length_max);
      if (const Node* const one = schema.find("pattern", Kind::String)) {
        rules.pattern = pattern(one->text);
        rules.pattern_text = one->text;
      }
      to.text = &rules;
    }
    if (has_any(schema,
                {"minItems", "maxItems", "uniqueItems", "prefixItems", "items", "contains", "unevaluatedItems"})) {
      fill_list(to, schema);
    }
    if (has_any(schema, {"minProperties", "maxProperties", "properties", "required", "patternProperties",
                         "additionalProperties", "propertyNames", "dependentRequired", "dependentSchemas",
                         "unevaluatedProperties"})) {
      fill_object(to, schema);
    }
    if (to.combination == nullptr && has_any(schema, {"$ref", "allOf", "anyOf", "oneOf", "not", "if"})) {
      fill_combination(to, schema, nullptr);
    }
  }

  void fill_number(Schema& to, const Node& schema) {
    contract::NumberRules& rules = number_rules_.emplace_back();
    const auto set = [&](Limit& limit, std::string_view inclusive, std::string_view exclusive, bool is_least) {
      const auto loose = number(schema.find(inclusive, Kind::Number));
      const auto tight = number(schema.find(exclusive, Kind::Number));
      if (loose) limit = {Limit::Kind::Inclusive, *loose};
      if (!tight) return;
      const double other = loose ? *schema.find(inclusive)->number() : 0;
      const double own = *schema.find(exclusive)->number();
      if (!loose || (is_least ? own >= other : own <= other)) limit = {Limit::Kind::Exclusive, *tight};
    };
    set(rules.least, "minimum", "exclusiveMinimum", true);
    set(rules.most, "maximum", "exclusiveMaximum", false);
    if (const auto step = number(schema.find("multipleOf", Kind::Number));
        step && *schema.find("multipleOf")->number() > 0) {
      rules.multiple_of = *step;
    }
    to.number = &rules;
  }

  void fill_list(Schema& to, const Node& schema) {
    contract::ListRules& rules = list_rules_.emplace_back();
    count(schema, "minItems", rules.count_min);
    count(schema, "maxItems", rules.count_max);
    const Node* const unique = schema.find("uniqueItems");
    rules.is_unique = unique != nullptr && unique->is_true();
    rules.prefix = keep(list_of(schema, "prefixItems"), lists_);
    rules.items = of(schema, "items");
    rules.contains = of(schema, "contains");
    count(schema, "minContains", rules.contains_min);
    count(schema, "maxContains", rules.contains_max);
    rules.unevaluated = of(schema, "unevaluatedItems");
    to.list = &rules;
  }

  void fill_object(Schema& to, const Node& schema) {
    contract::ObjectRules& rules = object_rules_.emplace_back();
    count(schema, "minProperties", rules.count_min);
    count(schema, "maxProperties", rules.count_max);
    std::vector<contract::Property> properties;
    if (const Node* const all = schema.find("properties", Kind::Map)) {
      for (const Node* const one : all->children) properties.push_back({one->key, of(*one)});
    }
    std::ranges::sort(properties, {}, &contract::Property::name);
    rules.properties = keep(std::move(properties), properties_);
    if (const Node* const required = schema.find("required", Kind::List)) rules.required = texts(*required);
    std::vector<contract::PatternProperty> by_pattern;
    if (const Node* const all = schema.find("patternProperties", Kind::Map)) {
      for (const Node* const one : all->children) by_pattern.push_back({pattern(one->key), of(*one)});
    }
    rules.patterns = keep(std::move(by_pattern), patterns_);
    rules.additional = of(schema, "additionalProperties");
    rules.names = of(schema, "propertyNames");
    std::vector<contract::Dependency> dependencies;
    if (const Node* const all = schema.find("dependentRequired", Kind::Map)) {
      for (const Node* const one : all->children) dependencies.push_back({.name = one->key, .required = texts(*one)});
    }
    if (const Node* const all = schema.find("dependentSchemas", Kind::Map)) {
      for (const Node* const one : all->children) dependencies.push_back({.name = one->key, .schema = of(*one)});
    }
    rules.dependencies = keep(std::move(dependencies), dependencies_);
    rules.unevaluated = of(schema, "unevaluatedProperties");
    to.object = &rules;
  }

  // `more` is null, or a further schema that the value must match.
  void fill_combination(Schema& to, const Node& schema, const Schema* more) {
    contract::Combination& rules = combinations_.emplace_back();
    std::vector<const Schema*> all = list_of(schema, "allOf");
    if (const Node* const target = document_.target(schema)) all.push_back(of(*target));
    if (more != nullptr) all.push_back(more);
    rules.all_of = keep(std::move(all), lists_);
    rules.any_of = keep(list_of(schema, "anyOf"), lists_);
    rules.one_of = keep(list_of(schema, "oneOf"), lists_);
    rules.none_of = of(schema, "not");
    rules.condition = of(schema, "if");
    rules.then = of(schema, "then");
    rules.otherwise = of(schema, "else");
    to.combination = &rules;
  }

  const Document& document_;
  Instances& instances_;
  bool has_bad_pattern_ = false;
  std::unordered_map<const Node*, Schema*> known_;
  std::vector<std::pair<Schema*, const Node*>> pending_;
  std::deque<Schema> schemas_;
  std::deque<contract::NumberRules> number_rules_;
  std::deque<contract::TextRules> text_rules_;
  std::deque<contract::ListRules> list_rules_;
  std::deque<contract::ObjectRules> object_rules_;
  std::deque<contract::Combination> combinations_;
  std::deque<std::vector<const Schema*>> lists_;
  std::deque<std::vector<contract::Property>> properties_;
  std::deque<std::vector<contract::PatternProperty>> patterns_;
  std::deque<std::vector<contract::Dependency>> dependencies_;
  std::deque<std::vector<contract::Constant>> constants_;
  std::deque<std::vector<std::string_view>> names_;
};

Regex::Regex(std::string_view pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  const contract::Regex translated(pattern);
  re2_ = translated.re2;
  const RE2 compiled(re2_, options);
  if (compiled.ok()) return;
  problem_ =
      translated.has_look_around ? "uses look-around, which RE2 does not support because it needs more than linear time"
      : compiled.error_code() == RE2::ErrorBadEscape ? "uses " + compiled.error_arg() + ", which RE2 does not support"
                                                     : "is not a regular expression of RE2: " + compiled.error();
}

bool is_of_type(const Node& type, const Node& value) noexcept {
  if (type.is(Kind::String)) return is_named_type(type.text, value);
  return !type.is(Kind::List) || std::any_of(type.children.begin(), type.children.end(),
                                             [&](const Node* one) { return is_named_type(one->text, value); });
}

Instances::Instances(const Document& document) : tables_(std::make_unique<Tables>(document, *this)) {}
Instances::~Instances() = default;

const Regex& Instances::regex(std::string_view pattern) {
  return regexes_.try_emplace(std::string(pattern), pattern).first->second;
}

namespace {

// Converts a violation in the value to a Misfit.
Misfit misfit_of(const Node& value, const Violation& one) {
  const Node* at = &value;
  std::string_view rest = one.pointer;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view token = rest.substr(0, rest.find('/'));
    rest.remove_prefix(token.size());
    std::string name;
    for (std::size_t i = 0; i < token.size(); ++i) {
      const bool is_escape = token[i] == '~' && i + 1 < token.size();
      name += is_escape ? (token[++i] == '1' ? '/' : '~') : token[i];
    }
    const Node* next = nullptr;
    if (at->is(Kind::Map)) next = at->find(name);
    if (at->is(Kind::List)) {
      std::size_t index = SIZE_MAX;
      std::from_chars(name.data(), name.data() + name.size(), index);
      if (index < at->children.size()) next = at->children[index];
    }
    if (next == nullptr) return {at, quoted(name) + ' ' + one.message};  // The violation is that a member is missing.
    at = next;
  }
  if (one.keyword == "additionalProperties" || one.keyword == "unevaluatedProperties" ||
      one.keyword == "propertyNames") {
    return {at, quoted(at->key) + ' ' + one.message};
  }
  const bool continues = one.message.starts_with("must ") || one.message.starts_with("is ");
  return {at, shown(*at) + (continues ? " " : ": ") + one.message};
}

}  // namespace

std::vector<Misfit> Instances::misfits(const Node& schema, const Node& value) {
  std::vector<Misfit> all;
  const contract::Schema* const table = tables_->of_root(schema);
  const std::optional<Value> read = table == nullptr ? std::nullopt : value_of(value);
  if (!read) return all;
  Violations wrong;
  if (contract::check(*read, *table, wrong)) return all;
  for (const Violation& one : wrong) {
    // A violation without a keyword means that the check took too long.
    if (!one.keyword.empty()) all.push_back(misfit_of(value, one));
  }
  return all;
}

}  // namespace keel::openapi
