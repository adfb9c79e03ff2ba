#include "api/yaml.h"

#include <algorithm>

#include "keel/base/ascii.h"
#include "keel/data/json_write.h"

namespace keel::api {
namespace {

bool is_scalar(const json::Value& value) {
  return value.kind() != json::Kind::Object && value.kind() != json::Kind::Array;
}

std::string scalar(const json::Value& value) {
  if (const auto text = value.string()) return yaml_text(*text);
  return json::write(value);
}

}  // namespace

std::string yaml_text(std::string_view text) {
  const auto is_plain = [](char c) {
    return ascii::is_alphanumeric(c) || c == ' ' || c == '_' || c == '-' || c == '.' || c == '/' || c == '+' ||
           c == '(' || c == ')' || c == ';' || c == '$';
  };
  constexpr std::string_view words[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"};
  std::string lower(text);
  for (char& c : lower) c = ascii::to_lower(c);
  const bool begins_well = !text.empty() && (ascii::is_letter(text[0]) || text[0] == '/' || text[0] == '$');
  if (begins_well && text.back() != ' ' && std::ranges::all_of(text, is_plain) &&
      std::ranges::find(words, lower) == std::end(words)) {
    return std::string(text);
  }
  const bool is_printable = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
  if (!is_printable) return json::write(text);  // Escapes of JSON are also valid in YAML.
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + '\'';
}

void append_yaml(std::string& out, const json::Value& value, int indent) {
  const std::string begin(static_cast<std::size_t>(indent), ' ');
  if (value.kind() == json::Kind::Object) {
    if (value.empty()) {
      out += " {}\n";
      return;
    }
    out += '\n';
    for (const auto& [key, member] : value.members()) {
      out += begin + yaml_text(key) + ':';
      append_yaml(out, member, indent + 2);
    }
  } else if (value.kind() == json::Kind::Array) {
    if (std::ranges::all_of(value.elements(), is_scalar)) {
      out += " [";
      bool is_first = true;
      for (const json::Value& element : value.elements()) {
        out += (is_first ? "" : ", ") + scalar(element);
        is_first = false;
      }
      out += "]\n";
      return;
    }
    out += '\n';
    for (const json::Value& element : value.elements()) {
      std::string block;
      append_yaml(block, element, indent + 2);
      // In a list, the first member of a map is on the line of the dash.
      if (block.starts_with('\n')) block.erase(0, 1 + static_cast<std::size_t>(indent + 2));
      if (block.starts_with(' ')) block.erase(0, 1);
      out += begin + "- " + block;
    }
  } else {
    out += ' ' + scalar(value) + '\n';
  }
}

}  // namespace keel::api
