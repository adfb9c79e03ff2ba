// contract/testing.h — for tests: tables of schemas that are made in the process.
//
//   Tables tables(R"({"type": "integer", "minimum": 1})");
//   check(value, tables.root(), wrong)
//
// References are "#" and "#/$defs/name". Patterns are those of `patterns`.

#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <span>
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
      for (const auto& [name, one] : all->members()) properties.push_back({name, of(one)});
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

}  // namespace keel::contract::testing
