// For tests: makes random schemas and values, or makes them from the input of a fuzzer.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "keel/contract/testing.h"

namespace keel::contract::testing {

// Generates schemas and values from random numbers: next(n) returns a number below n.
template <class Next>
class Maker {
 public:
  explicit Maker(Next next) : next_(next) {}

  Value document() {
    Value made = schema(0, true);
    if (made.kind() != Kind::Object) made = Value::object();
    Value definitions = Value::object();
    definitions["a"] = schema(1, false);
    definitions["b"] = schema(1, false);
    made["$defs"] = std::move(definitions);
    return made;
  }

  Value value(int depth = 0) {
    switch (next_(depth > 2 ? 4 : 7)) {
      case 0:
        return Value(nullptr);
      case 1:
        return Value(next_(2) == 0);
      case 2:
        return number();
      case 3:
        return Value(text());
      case 4: {
        Value made = Value::array();
        for (std::uint32_t i = next_(4); i > 0; --i) made.push_back(value(depth + 1));
        return made;
      }
      default: {
        Value made = Value::object();
        for (std::uint32_t i = next_(4); i > 0; --i) made[name()] = value(depth + 1);
        return made;
      }
    }
  }

 private:
  std::string_view name() {
    constexpr std::array<std::string_view, 6> names = {"a", "b", "ab", "12", "/~", "kind"};
    return names[next_(names.size())];
  }
  std::string_view text() {
    constexpr std::array<std::string_view, 13> texts = {"",
                                                        "a",
                                                        "ab",
                                                        "b",
                                                        "12",
                                                        "éé",
                                                        "a longer text of more bytes",
                                                        "2024-02-29",
                                                        "2023-02-29",
                                                        "10.0.0.255",
                                                        "10.0.0.256",
                                                        "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f5b",
                                                        "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f5"};
    return texts[next_(texts.size())];
  }
  Value number() {
    constexpr std::array<double, 8> numbers = {0, 1, 2, -1, 0.5, 0.3, 1.5, 10};
    const double one = numbers[next_(numbers.size())];
    if (std::trunc(one) == one && next_(2) == 0) return Value(static_cast<std::int64_t>(one));
    return Value(one);
  }
  Value count() { return Value(next_(4)); }
  std::string_view pattern() { return patterns[next_(patterns.size())].text(); }

  Value names() {
    Value made = Value::array();
    for (std::uint32_t i = next_(3); i > 0; --i) {
      const Value one(name());
      if (std::find(made.elements().begin(), made.elements().end(), one) == made.elements().end()) made.push_back(one);
    }
    return made;
  }
  Value types() {
    constexpr std::array<std::string_view, 7> all = {"null",   "boolean", "integer", "number",
                                                     "string", "array",   "object"};
    if (next_(2) == 0) return Value(all[next_(all.size())]);
    Value made = Value::array();
    for (std::uint32_t i = 1 + next_(3); i > 0; --i) made.push_back(Value(all[next_(all.size())]));
    return made;
  }
  Value schemas(int depth, bool may_refer) {
    Value made = Value::array();
    for (std::uint32_t i = 1 + next_(3); i > 0; --i) made.push_back(schema(depth + 1, may_refer));
    return made;
  }
  Value by_name(int depth, bool may_refer, bool are_patterns) {
    Value made = Value::object();
    for (std::uint32_t i = 1 + next_(2); i > 0; --i) {
      made[are_patterns ? pattern() : name()] = schema(depth + 1, may_refer);
    }
    return made;
  }

  // A reference must not lead back to the same value; therefore, within definitions, a reference is generated only
  // below a keyword that selects a part of the value.
  Value schema(int depth, bool may_refer) {
    if (depth > 3 || next_(12) == 0) return Value(next_(4) != 0);
    Value made = Value::object();
    for (std::uint32_t i = 1 + next_(3); i > 0; --i) add(made, depth, may_refer);
    return made;
  }

  void add(Value& to, int depth, bool may_refer) {
    switch (next_(39)) {
      case 0:
      case 1:
        to["type"] = types();
        break;
      case 2:
        if (to.find("const") == nullptr && to.find("enum") == nullptr) to["const"] = value(2);
        break;
      case 3:
        if (to.find("const") == nullptr) {
          Value all = Value::array();
          for (std::uint32_t i = 1 + next_(4); i > 0; --i) all.push_back(value(2));
          to["enum"] = std::move(all);
        }
        break;
      case 4:
        if (to.find("exclusiveMinimum") == nullptr) to["minimum"] = number();
        break;
      case 5:
        if (to.find("exclusiveMaximum") == nullptr) to["maximum"] = number();
        break;
      case 6:
        if (to.find("minimum") == nullptr) to["exclusiveMinimum"] = number();
        break;
      case 7:
        if (to.find("maximum") == nullptr) to["exclusiveMaximum"] = number();
        break;
      case 8: {
        constexpr std::array<double, 4> steps = {1, 2, 0.5, 0.1};
        to["multipleOf"] = Value(steps[next_(steps.size())]);
        break;
      }
      case 9:
        to["minLength"] = count();
        break;
      case 10:
        to["maxLength"] = count();
        break;
      case 11:
        to["pattern"] = Value(pattern());
        break;
      case 12:
        to["minItems"] = count();
        break;
      case 13:
        to["maxItems"] = count();
        break;
      case 14:
        to["uniqueItems"] = Value(true);
        break;
      case 15:
        to["prefixItems"] = schemas(depth, true);
        break;
      case 16:
      case 17:
        to["items"] = schema(depth + 1, true);
        break;
      case 18:
      case 19:
        to["contains"] = schema(depth + 1, true);
        if (next_(2) == 0) to["minContains"] = count();
        if (next_(2) == 0) to["maxContains"] = count();
        break;
      case 20:
        to["minProperties"] = count();
        break;
      case 21:
        to["maxProperties"] = count();
        break;
      case 22:
      case 23:
        to["properties"] = by_name(depth, true, false);
        break;
      case 24:
        to["patternProperties"] = by_name(depth, true, true);
        break;
      case 25:
        to["additionalProperties"] = schema(depth + 1, true);
        break;
      case 26:
        to["propertyNames"] = schema(depth + 1, true);
        break;
      case 27:
        to["required"] = names();
        break;
      case 28: {
        Value all = Value::object();
        all[name()] = names();
        to["dependentRequired"] = std::move(all);
        break;
      }
      case 29:
        to["dependentSchemas"] = by_name(depth, may_refer, false);
        break;
      case 30:
        to["allOf"] = schemas(depth, may_refer);
        break;
      case 31:
        to["anyOf"] = schemas(depth, may_refer);
        break;
      case 32:
        to["oneOf"] = schemas(depth, may_refer);
        break;
      case 33:
        to["not"] = schema(depth + 1, may_refer);
        break;
      case 34:
        to["if"] = schema(depth + 1, may_refer);
        if (next_(3) != 0) to["then"] = schema(depth + 1, may_refer);
        if (next_(3) != 0) to["else"] = schema(depth + 1, may_refer);
        break;
      case 35:
        to["unevaluatedItems"] = schema(depth + 1, true);
        break;
      case 36:
        to["unevaluatedProperties"] = schema(depth + 1, true);
        break;
      case 37: {
        constexpr std::array<std::string_view, 3> formats = {"date", "uuid", "ipv4"};
        to["format"] = Value(formats[next_(formats.size())]);
        break;
      }
      default:
        if (may_refer) to["$ref"] = Value(next_(2) == 0 ? "#/$defs/a" : "#/$defs/b");
    }
  }

  Next next_;
};

}  // namespace keel::contract::testing
