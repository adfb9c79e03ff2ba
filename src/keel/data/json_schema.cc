#include "keel/data/json_schema.h"

#include <algorithm>
#include <charconv>

#include "keel/base/ascii.h"

namespace keel::json {
namespace {

// "from 1 to 100", "at least 1" or "at most 100"; the numbers are used in the form in which they are written.
struct Bounds {
  std::string_view least;
  std::string_view most;
};
Bounds bounds_in(std::string_view text) {
  if (text.starts_with("at least ")) return {text.substr(9), {}};
  if (text.starts_with("at most ")) return {{}, text.substr(8)};
  if (text.starts_with("from ")) text.remove_prefix(5);
  const std::size_t middle = text.find(" to ");
  if (middle == text.npos) return {text, text};
  return {text.substr(0, middle), text.substr(middle + 4)};
}

bool take(std::string_view& text, std::string_view begin) {
  if (!text.starts_with(begin)) return false;
  text.remove_prefix(begin.size());
  return true;
}

void add_new(std::vector<std::string>& words, std::string_view one) {
  if (std::find(words.begin(), words.end(), one) == words.end()) words.emplace_back(one);
}

}  // namespace

std::string Schemas::quoted(std::string_view text) { return json::write(text); }

void Schemas::Keywords::set(std::string_view keyword, std::string value) {
  for (auto& [name, old] : all) {
    if (name == keyword) {
      old = std::move(value);
      return;
    }
  }
  all.emplace_back(keyword, std::move(value));
}

void Schemas::Keywords::allow_null() {
  for (auto& [name, value] : all) {
    if (name == "type") {
      if (value[0] == '"') value = '[' + value + ",\"null\"]";
      // If the schema has `enum`, null is allowed only if the list of `enum` contains null.
      for (auto& [other, list] : all) {
        if (other == "enum") list.insert(list.size() - 1, ",null");
      }
      return;
    }
  }
  if (all.empty()) return;  // Anything is allowed.
  if (all[0].first == "anyOf" && all[0].second.ends_with(",{\"type\":\"null\"}]")) return;
  all = {{"anyOf", '[' + text() + ",{\"type\":\"null\"}]"}};
}

std::string Schemas::Keywords::text() const {
  std::string out = "{";
  for (const auto& [name, value] : all) out += (out.size() == 1 ? "" : ",") + quoted(name) + ':' + value;
  return out + '}';
}

Schemas::Keywords Schemas::reference(std::string_view name) {
  return {{"$ref", quoted("#/components/schemas/" + std::string(name))}};
}

Schemas::Keywords Schemas::text(std::string_view type) {
  Keywords schema = {{"type", "\"string\""}};
  if (type == "keel::Uuid") schema.set("format", "\"uuid\"");
  if (type == "keel::Timestamp") schema.set("format", "\"date-time\"");
  if (type == "keel::Date") schema.set("format", "\"date\"");
  if (type == "keel::Decimal") schema.set("format", "\"decimal\"");
  return schema;
}

Schemas::Keywords Schemas::integer(bool is_signed, int bits) {
  Keywords schema = {{"type", "\"integer\""}};
  if (is_signed && bits >= 32) {
    schema.set("format", bits == 32 ? "\"int32\"" : "\"int64\"");
  } else if (is_signed) {
    const std::int64_t most = (std::int64_t{1} << (bits - 1)) - 1;
    schema.set("minimum", std::to_string(-most - 1));
    schema.set("maximum", std::to_string(most));
  } else {
    schema.set("minimum", "0");
    if (bits < 64) schema.set("maximum", std::to_string((std::uint64_t{1} << bits) - 1));
  }
  return schema;
}

void Schemas::tell(void* context, std::string_view field, std::string_view words, std::string_view) {
  const internal::RuleCollector& collector = *static_cast<internal::RuleCollector*>(context);
  Rules& rules = (*static_cast<RulesByName*>(collector.rules))[std::string(field)];
  const bool is_of_element = collector.check->element().kind != Check::Element::Kind::None;
  add_new(is_of_element ? rules.element_words : rules.words, words);
}

void Schemas::apply(Keywords& schema, const std::vector<std::string>& words, std::string_view type) {
  Rules others;
  for (const std::string& one : words) {
    std::string_view text = one;
    const bool is_number = type == "integer" || type == "number";
    if (take(text, "must be one of ") && (is_number || type == "string")) {
      std::string list;
      while (!text.empty()) {
        const std::string_view choice = text.substr(0, text.find(", "));
        list += (list.empty() ? "" : ",") + (is_number ? std::string(choice) : quoted(choice));
        text.remove_prefix(std::min(text.size(), choice.size() + 2));
      }
      schema.set("enum", '[' + list + ']');
    } else if (take(text, "must match ") && type == "string") {
      schema.set("pattern", quoted("^(?:" + std::string(text) + ")$"));
    } else if (is_number && take(text, "must be ")) {
      const Bounds bounds = bounds_in(text);
      if (!bounds.least.empty()) schema.set("minimum", std::string(bounds.least));
      if (!bounds.most.empty()) schema.set("maximum", std::string(bounds.most));
    } else if (take(text, "must have ") && (text.ends_with(" characters") || text.ends_with(" character") ||
                                            text.ends_with(" elements") || text.ends_with(" element"))) {
      const std::string_view what = type == "string" ? "Length" : type == "array" ? "Items" : "Properties";
      const Bounds bounds = bounds_in(text.substr(0, text.rfind(' ')));
      if (!bounds.least.empty()) schema.set("min" + std::string(what), std::string(bounds.least));
      if (!bounds.most.empty()) schema.set("max" + std::string(what), std::string(bounds.most));
    } else {
      others.words.push_back(one);
    }
  }
  if (!others.words.empty()) describe(schema, others);
}

void Schemas::describe(Keywords& schema, const Rules& rules) {
  std::string text;
  for (const std::string& one : rules.words) text += (text.empty() ? "" : "; ") + one;
  if (!text.empty()) text[0] = ascii::to_upper(text[0]);
  schema.set("description", quoted(text + '.'));
}

}  // namespace keel::json
