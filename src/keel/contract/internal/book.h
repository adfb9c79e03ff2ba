// For tests: a validator that is slow and obvious.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#include "keel/data/json_value.h"

namespace keel::contract::testing {

using json::Kind;
using json::Value;

// The validator by the book: JSON Schema 2020-12, keyword by keyword, with annotations as sets. Numbers have at most
// three digits behind the point, and are small.
class Book {
 public:
  explicit Book(const Value& document) : document_(document) {}

  bool is_valid(const Value& value) const { return evaluate(document_, value).is_valid; }

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
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
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
    }
    if (const auto text = value.string()) {
      const auto length = static_cast<std::uint64_t>(
          std::count_if(text->begin(), text->end(), [](char c) { return static_cast<signed char>(c) >= -64; }));
      if (const Value* const bound = has("minLength")) require(length >= *bound->uint64());
      if (const Value* const bound = has("maxLength")) require(length <= *bound->uint64());
      if (const Value* const pattern = has("pattern")) require(matches(*pattern->string(), *text));
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
