// The part of Types that writes default values as C++.

#include <charconv>
#include <cstdint>
#include <limits>

#include "gen/cpp.h"
#include "gen/made.h"
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

// json::Value; "" for what it does not take.
std::string value_text(const Node& value) {
  std::string text;
  switch (value.kind) {
    case Kind::Null:
      return "nullptr";
    case Kind::Boolean:
    case Kind::Number:
      return std::string(value.text);
    case Kind::String:
      return literal(value.text);
    case Kind::List:
      for (const Node* const one : value.children) text += (text.empty() ? "" : ", ") + value_text(*one);
      return "keel::json::Value::array({" + text + "})";
    case Kind::Map:
      for (const Node* const one : value.children) {
        text += (text.empty() ? "{" : ", {") + literal(one->key) + ", " + value_text(*one) + '}';
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
      if (!value.is(Kind::Number)) return wrong();
      return std::string(value.text) + (value.text.find_first_of(".eE") == value.text.npos ? ".0" : "") +
             (type.spelling == "float" ? "f" : "");
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
      const bool is_uuid = type.spelling == "keel::Uuid";
      const bool is_right = value.is(Kind::String) &&
                            (is_uuid ? Uuid::parse(value.text).has_value() : Timestamp::parse(value.text).has_value());
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
      // {{"a", "b"}} could be the two ends of a range.
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
    case Shape::Any:
      return value_text(value);
    case Shape::Bytes:
    case Shape::File:
    case Shape::Variant:
      break;
  }
  return wrong();
}

}  // namespace keel::gen
