// The part of Types that writes default values as C++.

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gen/cpp.h"
#include "gen/made.h"
#include "keel/data/date.h"
#include "keel/data/decimal.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::gen {
namespace {

using openapi::Kind;
using openapi::Node;

bool fits(std::string_view text, std::string_view spelling) {
  const auto reads = [&]<class T>(T number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
  };
  if (spelling == "std::int32_t") return reads(std::int32_t{});
  if (spelling == "std::uint32_t") return reads(std::uint32_t{});
  if (spelling == "std::uint64_t") return reads(std::uint64_t{});
  return reads(std::int64_t{});
}

// Returns the number in C++ notation; "" for a number larger than a double can hold.
std::string real_text(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return {};
  return std::string(text) + (text.find_first_of(".eE") == text.npos ? ".0" : "");
}

// The text of a json::Value; if a number in the value is too large for C++, `larger` is set to that number.
std::string value_text(const Node& value, const Node*& larger) {
  std::string text;
  switch (value.kind) {
    case Kind::Null:
      return "nullptr";
    case Kind::Boolean:
      return std::string(value.text);
    case Kind::Number: {
      if (value.text == "-9223372036854775808") return "INT64_MIN";
      if (fits(value.text, "std::int64_t") || fits(value.text, "std::uint64_t")) return std::string(value.text);
      text = real_text(value.text);
      if (value.text.find_first_of(".eE") == std::string_view::npos || text.empty()) larger = &value;
      return text;
    }
    case Kind::String:
      return literal(value.text);
    case Kind::List:
      for (const Node* const one : value.children) text += (text.empty() ? "" : ", ") + value_text(*one, larger);
      return "keel::json::Value::array({" + text + "})";
    case Kind::Map:
      for (const Node* const one : value.children) {
        text += (text.empty() ? "{" : ", {") + literal(one->key) + ", " + value_text(*one, larger) + '}';
      }
      break;
  }
  return "keel::json::Value::object({" + text + "})";
}

}  // namespace

std::string Types::State::literal_of(const Type& type, const Node& value) {
  const auto wrong = [&] {
    problems.error(value, "the default " + shown(value) + " cannot be written as a " + type.spelling + " of C++");
    return std::string();
  };
  if (type.is_nullable) return value.is(Kind::Null) ? "{}" : literal_of(*type.inner, value);
  switch (type.shape) {
    case Shape::Boolean:
      return value.is(Kind::Boolean) ? std::string(value.text) : wrong();
    case Shape::Integer: {
      if (!value.is(Kind::Number)) return wrong();
      const auto whole = value.whole();
      const std::string text = whole ? std::to_string(*whole) : std::string(value.text);
      if (!fits(text, type.spelling)) return wrong();
      return text == "-9223372036854775808" ? "INT64_MIN" : text;
    }
    case Shape::Number:
      if (const std::string text = value.is(Kind::Number) ? real_text(value.text) : ""; !text.empty()) {
        const bool is_float = type.spelling == "float";
        if (!is_float || std::abs(value.number().value_or(0)) <= std::numeric_limits<float>::max()) {
          return text + (is_float ? "f" : "");
        }
      }
      return wrong();
    case Shape::String:
      return value.is(Kind::String) ? literal(value.text) : wrong();
    case Shape::Enum:
      for (std::size_t i = 0; i < made(type).wire_names.size(); ++i) {
        if (value.is(Kind::String) && made(type).wire_names[i] == value.text) {
          return made(type).name + "::" + made(type).enumerators[i];
        }
      }
      return wrong();
    case Shape::Text: {
      const bool is_right =
          value.is(Kind::String) && (type.spelling == "keel::Uuid"      ? Uuid::parse(value.text).has_value()
                                     : type.spelling == "keel::Date"    ? Date::parse(value.text).has_value()
                                     : type.spelling == "keel::Decimal" ? Decimal::parse(value.text).has_value()
                                                                        : Timestamp::parse(value.text).has_value());
      return is_right ? '*' + type.spelling + "::parse(" + literal(value.text) + ')' : wrong();
    }
    case Shape::List:
    case Shape::Map: {
      const bool is_map = type.shape == Shape::Map;
      if (!value.is(is_map ? Kind::Map : Kind::List)) return wrong();
      std::string text;
      for (const Node* const one : value.children) {
        const std::string element = literal_of(*type.element, *one);
        if (element.empty()) return {};
        text += text.empty() ? "" : ", ";
        text += is_map ? '{' + literal(one->key) + ", " + element + '}' : element;
      }
      // The type is written before the braces, because the compiler could read {{"a", "b"}} as the two iterators of a
      // range.
      return (text.empty() ? "{" : type.spelling + '{') + text + '}';
    }
    case Shape::Struct: {
      if (!value.is(Kind::Map)) return wrong();
      std::string text;
      for (const Member& member : type.members) {
        const Node* const given = value.find(member.json);
        if (given == nullptr) continue;
        const std::string element = literal_of(*member.type, *given);
        if (element.empty()) return {};
        text += (text.empty() ? "." : ", .") + member.name + " = " + element;
      }
      return text.empty() ? "{}" : made(type).name + '{' + text + '}';
    }
    case Shape::Any: {
      const Node* larger = nullptr;
      std::string text = value_text(value, larger);
      if (larger == nullptr) return text;
      problems.error(*larger,
                     "the number " + shown(*larger) +
                         " of a default fits no C++ type: an integer must fit into 64 bits, any other number " +
                         "into a double");
      return {};
    }
    case Shape::Bytes:
    case Shape::File:
    case Shape::Variant:
      break;
  }
  return wrong();
}

}  // namespace keel::gen
