// contract/testing.h — for tests: tables of schemas that are made in the process, and a validator to compare with.
//
//   Tables tables(R"({"type": "integer", "minimum": 1})");
//   check(value, tables.root(), wrong)
//
//   Book(schema).is_valid(value)                                      // what check() has to say
//
// References are "#" and "#/$defs/name". Patterns are those of `patterns`.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "keel/contract/schema.h"
#include "keel/data/json_parse.h"

namespace keel::contract::testing {

using json::Kind;
using json::Value;

inline constexpr std::array<Pattern, 3> patterns = {Pattern("^a"), Pattern("b$"), Pattern("^[0-9]+$")};

// Makes the tables that tools/keel/gen/schema_tables.h writes.
class Tables {
 public:
  template <std::same_as<Value> V>  // A text is no Value here, but JSON.
  explicit Tables(V schema) : document_(std::move(schema)), root_(of(document_)) {}
  explicit Tables(std::string_view text) : Tables(*json::parse<Value>(text)) {}
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  const Schema& root() const noexcept { return *root_; }

 private:
  template <class T>
  T* keep(std::deque<T>& all) {
    return &all.emplace_back();
  }
  template <class T>
  std::span<const T> keep(std::vector<T> list) {
    static_assert(std::is_trivially_destructible_v<T>);
    auto* const made = new T[list.size() + 1];
    std::copy(list.begin(), list.end(), made);
    arrays_.push_back({made, [](void* array) { delete[] static_cast<T*>(array); }});
    return {made, list.size()};
  }

  static Number number(const Value& value) {
    if (const auto whole = value.int64()) return Number(*whole);
    if (const auto whole = value.uint64()) return Number(*whole);
    return Number(*value.number());
  }

  Constant constant(const Value& value) {
    Constant made{.kind = value.kind()};
    if (const auto boolean = value.boolean()) made.boolean = *boolean;
    if (value.kind() == Kind::Number) made.number = number(value);
    if (const auto text = value.string()) made.text = *text;
    std::vector<Constant> elements;
    std::vector<std::string_view> names;
    for (const Value& element : value.elements()) elements.push_back(constant(element));
    for (const auto& [key, member] : value.members()) {
      names.push_back(key);
      elements.push_back(constant(member));
    }
    made.size = elements.size();
    made.elements = keep(std::move(elements)).data();
    made.names = keep(std::move(names)).data();
    return made;
  }

  const Schema* of(const Value& schema) {
    if (const auto boolean = schema.boolean()) return *boolean ? &anything : &nothing;
    if (schema.empty()) return &anything;
    Schema*& known = known_[&schema];
    if (known != nullptr) return known;
    known = keep(schemas_);
    fill(*known, schema);
    return known;
  }
  const Schema* of(const Value& schema, std::string_view keyword) {
    const Value* const found = schema.find(keyword);
    return found == nullptr ? nullptr : of(*found);
  }
  std::vector<const Schema*> all_of(const Value& schema, std::string_view keyword) {
    std::vector<const Schema*> all;
    if (const Value* const list = schema.find(keyword)) {
      for (const Value& one : list->elements()) all.push_back(of(one));
    }
    return all;
  }

  static void count(const Value& schema, std::string_view keyword, std::size_t& to) {
    if (const Value* const found = schema.find(keyword)) to = *found->uint64();
  }

  static std::uint8_t bits_of(std::string_view type) {
    return type == "null"      ? Schema::null_bit
           : type == "boolean" ? Schema::boolean_bit
           : type == "integer" ? Schema::integer_bit
           : type == "number"  ? Schema::integer_bit | Schema::number_bit
           : type == "string"  ? Schema::string_bit
           : type == "array"   ? Schema::list_bit
                               : Schema::object_bit;
  }

  static const Pattern* pattern_of(std::string_view text) {
    for (const Pattern& one : patterns) {
      if (one.text() == text) return &one;
    }
    std::abort();
  }

  void fill(Schema& to, const Value& schema) {
    if (const Value* const type = schema.find("type")) {
      to.types = 0;
      if (const auto name = type->string()) to.types = bits_of(*name);
      for (const Value& one : type->elements()) to.types |= bits_of(*one.string());
    }
    std::vector<Constant> values;
    if (const Value* const one = schema.find("const")) values.push_back(constant(*one));
    if (const Value* const all = schema.find("enum")) {
      for (const Value& one : all->elements()) values.push_back(constant(one));
    }
    to.has_values = schema.find("const") != nullptr || schema.find("enum") != nullptr;
    to.is_constant = schema.find("const") != nullptr;
    to.values = keep(std::move(values));

    NumberRules& numbers = *keep(numbers_);
    const auto limit = [&](std::string_view inclusive, std::string_view exclusive, Limit& to_limit) {
      if (const Value* const found = schema.find(inclusive)) to_limit = {Limit::Kind::Inclusive, number(*found)};
      if (const Value* const found = schema.find(exclusive)) to_limit = {Limit::Kind::Exclusive, number(*found)};
    };
    limit("minimum", "exclusiveMinimum", numbers.least);
    limit("maximum", "exclusiveMaximum", numbers.most);
    if (const Value* const step = schema.find("multipleOf")) numbers.multiple_of = number(*step);
    to.number = &numbers;

    TextRules& texts = *keep(texts_);
    count(schema, "minLength", texts.length_min);
    count(schema, "maxLength", texts.length_max);
    if (const Value* const pattern = schema.find("pattern")) {
      texts.pattern = pattern_of(*pattern->string());
      texts.pattern_text = texts.pattern->text();
    }
    if (const Value* const format = schema.find("format")) texts.format = format_of(*format->string());
    to.text = &texts;
    fill_list(to, schema);
    fill_object(to, schema);

    Combination& combination = *keep(combinations_);
    std::vector<const Schema*> all = all_of(schema, "allOf");
    if (const Value* const reference = schema.find("$ref"))
      all.push_back(of(*document_.at(reference->string()->substr(1))));
    combination.all_of = keep(std::move(all));
    combination.any_of = keep(all_of(schema, "anyOf"));
    combination.one_of = keep(all_of(schema, "oneOf"));
    combination.none_of = of(schema, "not");
    combination.condition = of(schema, "if");
    combination.then = of(schema, "then");
    combination.otherwise = of(schema, "else");
    to.combination = &combination;
  }

  void fill_list(Schema& to, const Value& schema) {
    ListRules& rules = *keep(lists_);
    count(schema, "minItems", rules.count_min);
    count(schema, "maxItems", rules.count_max);
    rules.is_unique = schema.find("uniqueItems") != nullptr && *schema.find("uniqueItems")->boolean();
    rules.prefix = keep(all_of(schema, "prefixItems"));
    rules.items = of(schema, "items");
    rules.contains = of(schema, "contains");
    count(schema, "minContains", rules.contains_min);
    count(schema, "maxContains", rules.contains_max);
    rules.unevaluated = of(schema, "unevaluatedItems");
    to.list = &rules;
  }

  void fill_object(Schema& to, const Value& schema) {
    ObjectRules& rules = *keep(objects_);
    count(schema, "minProperties", rules.count_min);
    count(schema, "maxProperties", rules.count_max);
    std::vector<Property> properties;
    if (const Value* const all = schema.find("properties")) {
      for (const auto& [name, one] : all->members()) {
        const auto is_set = [&](std::string_view keyword) {
          const Value* const flag = one.find(keyword);
          return flag != nullptr && flag->boolean().value_or(false);
        };
        properties.push_back({name, of(one),
                              is_set("readOnly")    ? Excuse::ReadOnly
                              : is_set("writeOnly") ? Excuse::WriteOnly
                                                    : Excuse::None});
      }
    }
    std::sort(properties.begin(), properties.end(),
              [](const Property& a, const Property& b) { return a.name < b.name; });
    rules.properties = keep(std::move(properties));
    const auto names_of = [&](const Value& list) {
      std::vector<std::string_view> names;
      for (const Value& name : list.elements()) names.push_back(*name.string());
      return keep(std::move(names));
    };
    if (const Value* const required = schema.find("required")) rules.required = names_of(*required);
    std::vector<PatternProperty> by_pattern;
    if (const Value* const all = schema.find("patternProperties")) {
      for (const auto& [pattern, one] : all->members()) by_pattern.push_back({pattern_of(pattern), of(one)});
    }
    rules.patterns = keep(std::move(by_pattern));
    rules.additional = of(schema, "additionalProperties");
    rules.names = of(schema, "propertyNames");
    std::vector<Dependency> dependencies;
    if (const Value* const all = schema.find("dependentRequired")) {
      for (const auto& [name, list] : all->members())
        dependencies.push_back({.name = name, .required = names_of(list)});
    }
    if (const Value* const all = schema.find("dependentSchemas")) {
      for (const auto& [name, one] : all->members())
        dependencies.push_back({.name = name, .required = {}, .schema = of(one)});
    }
    rules.dependencies = keep(std::move(dependencies));
    rules.unevaluated = of(schema, "unevaluatedProperties");
    to.object = &rules;
  }

  struct Array {
    void* memory;
    void (*free)(void*);
  };
  struct Arrays : std::vector<Array> {
    Arrays() = default;
    Arrays(const Arrays&) = delete;
    Arrays& operator=(const Arrays&) = delete;
    ~Arrays() {
      for (const Array& one : *this) one.free(one.memory);
    }
  };

  Value document_;
  std::map<const Value*, Schema*> known_;
  std::deque<Schema> schemas_;
  std::deque<NumberRules> numbers_;
  std::deque<TextRules> texts_;
  std::deque<ListRules> lists_;
  std::deque<ObjectRules> objects_;
  std::deque<Combination> combinations_;
  Arrays arrays_;
  const Schema* root_;  // Last: it is made of the others.
};

// The validator by the book: JSON Schema 2020-12, keyword by keyword, with annotations as sets, slow and obvious.
// Numbers have at most three digits behind the point, and are small; patterns are those of `patterns`, formats date,
// uuid, ipv4, int8, int32 and uint32.
class Book {
 public:
  explicit Book(const Value& document) : document_(document) {}

  bool is_valid(const Value& value) const { return is_valid(value, document_); }
  // A schema of the document.
  bool is_valid(const Value& value, const Value& schema) const { return evaluate(schema, value).is_valid; }

 private:
  struct Outcome {
    bool is_valid = true;
    std::set<std::string> members;  // Evaluated ones; of a list their indices.

    void add(const Outcome& other) { members.insert(other.members.begin(), other.members.end()); }
  };

  static long thousandths(const Value& value) { return std::lround(*value.number() * 1000); }

  static bool has_type(const Value& value, std::string_view type) {
    switch (value.kind()) {
      case Kind::Null:
        return type == "null";
      case Kind::Boolean:
        return type == "boolean";
      case Kind::Number:
        return type == "number" || (type == "integer" && thousandths(value) % 1000 == 0);
      case Kind::String:
        return type == "string";
      case Kind::Array:
        return type == "array";
      default:
        return type == "object";
    }
  }

  static bool matches(std::string_view pattern, std::string_view text) {
    if (pattern == "^a") return text.starts_with("a");
    if (pattern == "b$") return text.ends_with("b");
    return are_digits(text);
  }

  static bool are_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  }
  static int whole(std::string_view digits) { return std::atoi(std::string(digits).c_str()); }

  static bool is_date(std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-' || !are_digits(text.substr(0, 4)) ||
        !are_digits(text.substr(5, 2)) || !are_digits(text.substr(8))) {
      return false;
    }
    const int year = whole(text.substr(0, 4));
    const int month = whole(text.substr(5, 2));
    const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    const int days = month == 2 ? (is_leap ? 29 : 28) : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
    const int day = whole(text.substr(8));
    return month >= 1 && month <= 12 && day >= 1 && day <= days;
  }
  static bool is_uuid(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
      if (is_dash ? text[i] != '-' : std::string_view("0123456789abcdefABCDEF").find(text[i]) == text.npos)
        return false;
    }
    return text.size() == 36;
  }
  static bool is_ipv4(std::string_view text) {
    int parts = 0;
    for (;;) {
      const std::string_view part = text.substr(0, text.find('.'));
      if (!are_digits(part) || part.size() > 3 || whole(part) > 255 || (part.size() > 1 && part[0] == '0'))
        return false;
      ++parts;
      if (part.size() == text.size()) return parts == 4;
      text.remove_prefix(part.size() + 1);
    }
  }
  // Formats that are not here are of the other kind of value, or annotations.
  static bool has_format(std::string_view format, std::string_view text) {
    return format == "date" ? is_date(text) : format == "uuid" ? is_uuid(text) : format != "ipv4" || is_ipv4(text);
  }
  static bool has_format(std::string_view format, long number) {
    const long least = format == "int8" ? -128 : format == "int32" ? -2147483648L : 0;
    const long most = format == "int8" ? 127 : format == "int32" ? 2147483647L : 4294967295L;
    if (format != "int8" && format != "int32" && format != "uint32") return true;
    return number % 1000 == 0 && number / 1000 >= least && number / 1000 <= most;
  }

  Outcome evaluate(const Value& schema, const Value& value) const {
    Outcome out;
    if (schema.kind() == Kind::Boolean) {
      out.is_valid = *schema.boolean();
      return out;
    }
    const auto has = [&](std::string_view keyword) { return schema.find(keyword); };
    const auto require = [&](bool holds) { out.is_valid = out.is_valid && holds; };
    if (const Value* const type = has("type")) {
      bool fits = type->string() && has_type(value, *type->string());
      for (const Value& one : type->elements()) fits = fits || has_type(value, *one.string());
      require(fits);
    }
    if (const Value* const one = has("const")) require(*one == value);
    if (const Value* const all = has("enum")) {
      require(
          std::any_of(all->elements().begin(), all->elements().end(), [&](const Value& one) { return one == value; }));
    }
    if (value.kind() == Kind::Number) {
      const long number = thousandths(value);
      if (const Value* const bound = has("minimum")) require(number >= thousandths(*bound));
      if (const Value* const bound = has("maximum")) require(number <= thousandths(*bound));
      if (const Value* const bound = has("exclusiveMinimum")) require(number > thousandths(*bound));
      if (const Value* const bound = has("exclusiveMaximum")) require(number < thousandths(*bound));
      if (const Value* const step = has("multipleOf")) require(number % thousandths(*step) == 0);
      if (const Value* const format = has("format")) require(has_format(*format->string(), number));
    }
    if (const auto text = value.string()) {
      const auto length = static_cast<std::uint64_t>(
          std::count_if(text->begin(), text->end(), [](char c) { return static_cast<signed char>(c) >= -64; }));
      if (const Value* const bound = has("minLength")) require(length >= *bound->uint64());
      if (const Value* const bound = has("maxLength")) require(length <= *bound->uint64());
      if (const Value* const pattern = has("pattern")) require(matches(*pattern->string(), *text));
      if (const Value* const format = has("format")) require(has_format(*format->string(), *text));
    }
    evaluate_list(schema, value, out);
    evaluate_object(schema, value, out);
    evaluate_others(schema, value, out);
    if (value.kind() == Kind::Array && has("unevaluatedItems") != nullptr) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (out.members.contains(std::to_string(i))) continue;
        require(evaluate(*has("unevaluatedItems"), value.elements()[i]).is_valid);
        out.members.insert(std::to_string(i));
      }
    }
    if (value.kind() == Kind::Object && has("unevaluatedProperties") != nullptr) {
      for (const auto& [key, member] : value.members()) {
        if (out.members.contains(std::string(key))) continue;
        require(evaluate(*has("unevaluatedProperties"), member).is_valid);
        out.members.insert(std::string(key));
      }
    }
    if (!out.is_valid) out.members.clear();
    return out;
  }

  void evaluate_list(const Value& schema, const Value& value, Outcome& out) const {
    if (value.kind() != Kind::Array) return;
    const auto has = [&](std::string_view keyword) { return schema.find(keyword); };
    const auto require = [&](bool holds) { out.is_valid = out.is_valid && holds; };
    if (const Value* const bound = has("minItems")) require(value.size() >= *bound->uint64());
    if (const Value* const bound = has("maxItems")) require(value.size() <= *bound->uint64());
    if (const Value* const unique = has("uniqueItems"); unique != nullptr && *unique->boolean()) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) require(!(value.elements()[i] == value.elements()[j]));
      }
    }
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Value& element = value.elements()[i];
      const Value* const prefix = has("prefixItems");
      const bool is_in_prefix = prefix != nullptr && i < prefix->size();
      const Value* const one = is_in_prefix ? &prefix->elements()[i] : has("items");
      if (one != nullptr) {
        require(evaluate(*one, element).is_valid);
        out.members.insert(std::to_string(i));
      }
      if (has("contains") != nullptr && evaluate(*has("contains"), element).is_valid) {
        ++found;
        out.members.insert(std::to_string(i));
      }
    }
    if (has("contains") == nullptr) return;
    require(found >= (has("minContains") != nullptr ? *has("minContains")->uint64() : 1));
    if (const Value* const most = has("maxContains")) require(found <= *most->uint64());
  }

  void evaluate_object(const Value& schema, const Value& value, Outcome& out) const {
    if (value.kind() != Kind::Object) return;
    const auto has = [&](std::string_view keyword) { return schema.find(keyword); };
    const auto require = [&](bool holds) { out.is_valid = out.is_valid && holds; };
    if (const Value* const bound = has("minProperties")) require(value.size() >= *bound->uint64());
    if (const Value* const bound = has("maxProperties")) require(value.size() <= *bound->uint64());
    if (const Value* const required = has("required")) {
      for (const Value& name : required->elements()) require(value.find(*name.string()) != nullptr);
    }
    for (const auto& [key, member] : value.members()) {
      bool is_known = false;
      const auto apply = [&](const Value& one) {
        is_known = true;
        require(evaluate(one, member).is_valid);
      };
      if (const Value* const properties = has("properties");
          properties != nullptr && properties->find(key) != nullptr) {
        apply(*properties->find(key));
      }
      if (const Value* const all = has("patternProperties")) {
        for (const auto& [pattern, one] : all->members()) {
          if (matches(pattern, key)) apply(one);
        }
      }
      if (!is_known && has("additionalProperties") != nullptr) apply(*has("additionalProperties"));
      if (is_known) out.members.insert(std::string(key));
      if (const Value* const names = has("propertyNames")) require(evaluate(*names, Value(key)).is_valid);
    }
    if (const Value* const all = has("dependentRequired")) {
      for (const auto& [name, list] : all->members()) {
        if (value.find(name) == nullptr) continue;
        for (const Value& other : list.elements()) require(value.find(*other.string()) != nullptr);
      }
    }
    if (const Value* const all = has("dependentSchemas")) {
      for (const auto& [name, one] : all->members()) {
        if (value.find(name) != nullptr) also(one, value, out);
      }
    }
  }

  void also(const Value& schema, const Value& value, Outcome& out) const {
    const Outcome other = evaluate(schema, value);
    out.is_valid = out.is_valid && other.is_valid;
    out.add(other);
  }

  void evaluate_others(const Value& schema, const Value& value, Outcome& out) const {
    if (const Value* const reference = schema.find("$ref"))
      also(*document_.at(reference->string()->substr(1)), value, out);
    if (const Value* const all = schema.find("allOf")) {
      for (const Value& one : all->elements()) also(one, value, out);
    }
    for (const std::string_view keyword : {"anyOf", "oneOf"}) {
      const Value* const all = schema.find(keyword);
      if (all == nullptr) continue;
      int valid = 0;
      for (const Value& one : all->elements()) {
        const Outcome other = evaluate(one, value);
        if (!other.is_valid) continue;
        ++valid;
        out.add(other);
      }
      out.is_valid = out.is_valid && (keyword == "anyOf" ? valid > 0 : valid == 1);
    }
    if (const Value* const other = schema.find("not")) out.is_valid = !evaluate(*other, value).is_valid && out.is_valid;
    if (const Value* const condition = schema.find("if")) {
      const Outcome holds = evaluate(*condition, value);
      if (holds.is_valid) out.add(holds);
      const Value* const next = schema.find(holds.is_valid ? "then" : "else");
      if (next != nullptr) also(*next, value, out);
    }
  }

  const Value& document_;
};

}  // namespace keel::contract::testing
