#include "keel/contract/internal/words.h"

#include <array>
#include <charconv>

namespace keel::contract::internal {
namespace {

constexpr std::size_t shown_max = 60;    // The largest number of bytes of a constant that a message shows.
constexpr std::size_t listed_max = 500;  // The number of bytes after which a list of constants is truncated.

void append(std::string& text, const Number& number) {
  char digits[32];
  char* end = digits;
  switch (number.kind) {
    case Number::Kind::Signed:
      end = std::to_chars(digits, digits + sizeof digits, static_cast<std::int64_t>(number.whole)).ptr;
      break;
    case Number::Kind::Unsigned:
      end = std::to_chars(digits, digits + sizeof digits, number.whole).ptr;
      break;
    case Number::Kind::Real:
      end = std::to_chars(digits, digits + sizeof digits, number.real).ptr;
  }
  text.append(digits, end);
}

// A text is quoted if it is within a list or an object.
void append(std::string& text, const Constant& value, bool is_inner) {
  switch (value.kind) {
    case json::Kind::Boolean:
      text += value.boolean ? "true" : "false";
      break;
    case json::Kind::Number:
      append(text, value.number);
      break;
    case json::Kind::String:
      if (is_inner || value.text.empty()) {
        text.append("\"").append(value.text).append("\"");
      } else {
        text += value.text;
      }
      break;
    case json::Kind::Array:
    case json::Kind::Object: {
      const bool is_list = value.kind == json::Kind::Array;
      text += is_list ? '[' : '{';
      for (std::size_t i = 0; i < value.size && text.size() < listed_max; ++i) {
        if (i != 0) text += ',';
        if (!is_list) text.append("\"").append(value.names[i]).append("\":");
        append(text, value.elements[i], true);
      }
      text += is_list ? ']' : '}';
      break;
    }
    default:
      text += "null";
  }
}

std::string shown(const Constant& value) {
  std::string text;
  append(text, value, false);
  if (text.size() <= shown_max) return text;
  std::size_t size = shown_max;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  text.resize(size);
  return text += "…";
}

}  // namespace

std::string words_of_types(std::uint8_t types) {
  struct Name {
    std::uint8_t bit;
    std::string_view text;
  };
  constexpr std::array<Name, 7> names = {{{Schema::object_bit, "an object"},
                                          {Schema::list_bit, "an array"},
                                          {Schema::string_bit, "a string"},
                                          {Schema::number_bit, "a number"},
                                          {Schema::integer_bit, "an integer"},
                                          {Schema::boolean_bit, "true or false"},
                                          {Schema::null_bit, "null"}}};
  if (types == 0) return not_allowed;
  if ((types & Schema::number_bit) != 0) types &= static_cast<std::uint8_t>(~Schema::integer_bit);
  std::string text = "expected ";
  bool is_first = true;
  for (const Name& name : names) {
    if ((types & name.bit) == 0) continue;
    types &= static_cast<std::uint8_t>(~name.bit);
    if (!is_first) text += types == 0 ? " or " : ", ";
    is_first = false;
    // Within a list of types, boolean is written as "true, false".
    text += name.bit == Schema::boolean_bit && types != 0 ? "true, false" : name.text;
  }
  return text;
}

std::string words_of_values(std::span<const Constant> values) {
  std::string text = values.size() == 1 ? "must be " : "must be one of ";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) text += ", ";
    if (text.size() > listed_max) return text += "…";
    text += shown(values[i]);
  }
  return text;
}

std::string words_of_bounds(const NumberRules& rules) {
  std::string text = "must be ";
  const bool has_least = rules.least.kind != Limit::Kind::None;
  const bool has_most = rules.most.kind != Limit::Kind::None;
  if (rules.least.kind == Limit::Kind::Inclusive && rules.most.kind == Limit::Kind::Inclusive) {
    text += "from ";
    append(text, rules.least.number);
    text += " to ";
    append(text, rules.most.number);
    return text;
  }
  if (has_least) {
    text += rules.least.kind == Limit::Kind::Inclusive ? "at least " : "greater than ";
    append(text, rules.least.number);
  }
  if (has_least && has_most) text += " and ";
  if (has_most) {
    text += rules.most.kind == Limit::Kind::Inclusive ? "at most " : "less than ";
    append(text, rules.most.number);
  }
  return text;
}

std::string words_of_step(const Number& step) {
  std::string text = "must be a multiple of ";
  append(text, step);
  return text;
}

std::string words_of_count(std::size_t least, std::size_t most, std::string_view of_what) {
  std::string text = "must have ";
  std::size_t last = most;
  if (most == SIZE_MAX) {
    text += "at least " + std::to_string(least);
    last = least;
  } else if (least == most) {
    text += std::to_string(least);
  } else if (least == 0) {
    text += "at most " + std::to_string(most);
  } else {
    text += std::to_string(least) + " to " + std::to_string(most);
  }
  text += ' ';
  text += of_what;
  if (last != 1) text += 's';
  return text;
}

std::string words_of_contains(const ListRules& rules) {
  const bool is_text = rules.contains != nullptr && rules.contains->has_values && rules.contains->values.size() == 1;
  std::string text = words_of_count(rules.contains_min, rules.contains_max, "element");
  return text += is_text ? " equal to " + shown(rules.contains->values[0]) : " matching the schema in 'contains'";
}

}  // namespace keel::contract::internal
