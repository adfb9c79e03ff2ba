#include "gen/schema_tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "gen/cpp.h"
#include "gen/facets.h"
#include "keel/base/ascii.h"
#include "keel/contract/formats.h"
#include "keel/contract/regex.h"
#include "openapi/instance.h"

namespace keel::gen {
namespace {

using openapi::Kind;
using openapi::Node;

constexpr std::string_view prefix = "keel::contract::";

constexpr std::array<std::string_view, 9> unsupported = {"$dynamicRef",      "$dynamicAnchor",  "$recursiveRef",
                                                         "$recursiveAnchor", "$vocabulary",     "definitions",
                                                         "dependencies",     "additionalItems", "id"};
// Keywords that do not restrict a value.
constexpr std::array<std::string_view, 17> annotations = {
    "$id",      "$schema",   "$anchor", "$comment", "$defs",        "title", "description",   "default", "deprecated",
    "readOnly", "writeOnly", "example", "examples", "externalDocs", "xml",   "discriminator", "nullable"};
// Keywords whose schemas apply to the value itself, not to a part of the value.
constexpr std::array<std::string_view, 4> in_place = {"not", "if", "then", "else"};
constexpr std::array<std::string_view, 3> in_place_lists = {"allOf", "anyOf", "oneOf"};

template <std::size_t n>
bool has(const std::array<std::string_view, n>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool accepts_everything(const Node& schema) {
  if (schema.is(Kind::Boolean)) return schema.is_true();
  return std::all_of(schema.children.begin(), schema.children.end(),
                     [](const Node* child) { return has(annotations, child->key) || child->key.starts_with("x-"); });
}

bool is_reference_alone(const Node& schema) {
  if (schema.find("$ref", Kind::String) == nullptr) return false;
  return std::all_of(schema.children.begin(), schema.children.end(), [](const Node* child) {
    return child->key == "$ref" || has(annotations, child->key) || child->key.starts_with("x-");
  });
}

// "DateTime" for "date-time".
std::string enumerator_of(std::string_view format) {
  std::string name;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '-') name += i == 0 || format[i - 1] == '-' ? ascii::to_upper(format[i]) : format[i];
  }
  return name;
}

// If there are several limits, the tightest limit applies.
struct Limit {
  const Node* node = nullptr;
  bool is_exclusive = false;
  double number = 0;
};

}  // namespace

// Makes the text of one schema: the constants that only this schema uses, in an unnamed namespace, and then the schema
// itself.
class SchemaTables::Emitter {
 public:
  Emitter(SchemaTables& tables, const Node& schema, std::string name)
      : tables_(tables), schema_(schema), name_(std::move(name)) {}

  std::string text() {
    std::string fields;
    const auto add = [&](std::string_view field, const std::string& value) {
      if (value.empty()) return;
      if (!fields.empty()) fields += ", ";
      fields.append(".").append(field).append(" = ").append(value);
    };
    for (const Node* const child : schema_.children) {
      if (has(unsupported, child->key)) {
        tables_.problems_.error(*child, "the keyword '" + std::string(child->key) + "' is not supported");
      }
    }
    const std::string_view dialect = schema_.string("$schema");
    if (!dialect.empty() && !dialect.starts_with("https://json-schema.org/draft/2020-12/schema") &&
        !dialect.starts_with("https://spec.openapis.org/oas/3.1/dialect/")) {
      tables_.problems_.error(schema_, "the dialect '" + std::string(dialect) + "' is not supported");
    }
    add("types", types());
    std::string values;
    if (const Node* const one = schema_.find("const")) {
      values = array("Constant", "values", {constant(*one)});
      if (schema_.find("enum", Kind::List) != nullptr) extra_.push_back(enumeration_alone());
    } else if (const Node* const all = schema_.find("enum", Kind::List)) {
      values = array("Constant", "values", constants(*all));
      if (values.empty()) values = "{}";
    }
    if (!values.empty()) add("has_values", "true");
    if (schema_.find("const") != nullptr) add("is_constant", "true");
    add("values", values);
    add("number", table("NumberRules", "number", number()));
    add("text", table("TextRules", "text", text_rules()));
    add("list", table("ListRules", "list", list()));
    add("object", table("ObjectRules", "object", object()));
    add("combination", table("Combination", "combination", combination()));
    std::string all;
    if (!constants_.empty()) all = "namespace {\n" + constants_ + "}  // namespace\n";
    all.append("constinit const keel::contract::Schema ").append(name_).append(" = {").append(fields).append("};\n");
    return all;
  }

 private:
  // Adds ".a = b" for each member whose value is not the default.
  class Fields {
   public:
    void add(std::string_view field, std::string_view value) {
      if (value.empty()) return;
      if (!text_.empty()) text_ += ", ";
      text_.append(".").append(field).append(" = ").append(value);
    }
    std::string take() { return std::move(text_); }

   private:
    std::string text_;
  };

  std::string define(std::string_view type, std::string_view suffix, std::string_view value, bool is_array = false) {
    std::string name = name_ + "_" + std::string(suffix);
    constants_.append("constexpr ").append(type).append(" ").append(name);
    constants_.append(is_array ? "[] = {" : " = {").append(value).append("};\n");
    return name;
  }

  // Returns "" if there are no fields; else the address of a table.
  std::string table(std::string_view type, std::string_view suffix, const std::string& fields) {
    if (fields.empty()) return "";
    return "&" + define(std::string(prefix) + std::string(type), suffix, fields);
  }

  std::string array(std::string_view type, std::string_view suffix, const std::vector<std::string>& elements) {
    if (elements.empty()) return "";
    std::string all;
    for (const std::string& element : elements) all += (all.empty() ? "" : ", ") + element;
    const bool is_own = type.find(' ') == type.npos && type.find(':') == type.npos;
    return define(is_own ? std::string(prefix) + std::string(type) : std::string(type), suffix, all, true);
  }

  std::string schema(const Node& node) { return "&" + tables_.constant_of(node); }
  std::string schema(std::string_view keyword) {
    const Node* const node = schema_.find(keyword);
    return node == nullptr ? "" : schema(*node);
  }
  // Returns the address of the schema as C++; "nullptr" if every value is valid.
  std::string schema_or_null(const Node& node) {
    const std::string name = tables_.constant_of(node);
    return name == "keel::contract::anything" ? "nullptr" : "&" + name;
  }

  std::string schemas(std::string_view suffix, const std::vector<std::string>& all) {
    return array("const keel::contract::Schema*", suffix, all);
  }

  std::string types() const {
    if (schema_.is(Kind::Boolean)) return schema_.is_true() ? "" : "0";
    const Node* const type = schema_.find("type");
    if (type == nullptr) return "";
    const auto bit_of = [](std::string_view name) {
      return name == "null"      ? 1
             : name == "boolean" ? 2
             : name == "integer" ? 4
             : name == "number"  ? 12
             : name == "string"  ? 16
             : name == "array"   ? 32
             : name == "object"  ? 64
                                 : 0;
    };
    int bits = 0;
    if (type->is(Kind::String)) bits = bit_of(type->text);
    for (const Node* const one : type->children) bits |= bit_of(one->text);
    return std::to_string(bits);
  }

  std::string number_literal(const Node& node) {
    const std::string_view text = node.text.starts_with('+') ? node.text.substr(1) : node.text;
    const char* const end = text.data() + text.size();
    std::int64_t whole = 0;
    if (const auto read = std::from_chars(text.data(), end, whole); read.ec == std::errc() && read.ptr == end) {
      if (whole == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807 - 1)";
      return std::to_string(whole);
    }
    std::uint64_t large = 0;
    if (const auto read = std::from_chars(text.data(), end, large); read.ec == std::errc() && read.ptr == end) {
      return std::to_string(large) + "u";
    }
    const double real = node.number().value_or(HUGE_VAL);
    if (!std::isfinite(real)) {
      tables_.problems_.error(node, "the number " + std::string(node.text) + " is too large for a double");
      return "0";
    }
    char digits[32];
    std::string written(digits, std::to_chars(digits, digits + sizeof digits, real).ptr);
    if (written.find_first_of(".e") == written.npos) written += ".0";
    return written;
  }

  std::string constant(const Node& node) {
    switch (node.kind) {
      case Kind::Null:
        return "{}";
      case Kind::Boolean:
        return "{.kind = keel::json::Kind::Boolean, .boolean = " + std::string(node.text) + "}";
      case Kind::Number:
        return "{.kind = keel::json::Kind::Number, .number = " + number_literal(node) + "}";
      case Kind::String:
        return "{.kind = keel::json::Kind::String, .text = " + view(node.text) + "}";
      case Kind::List:
      case Kind::Map:
        break;
    }
    const bool is_list = node.is(Kind::List);
    std::string made = "{.kind = keel::json::Kind::" + std::string(is_list ? "Array" : "Object");
    if (!node.children.empty()) {
      const std::string number = std::to_string(++arrays_);
      made += ", .elements = " + array("Constant", "elements_" + number, constants(node));
      if (!is_list) made += ", .names = " + names("names_" + number, node, true);
      made += ", .size = " + std::to_string(node.children.size());
    }
    return made += "}";
  }

  std::vector<std::string> constants(const Node& list) {
    std::vector<std::string> all;
    for (const Node* const child : list.children) all.push_back(constant(*child));
    return all;
  }

  static std::string view(std::string_view text) {
    if (text.find('\0') == text.npos) return literal(text);
    return "std::string_view(" + literal(text) + ", " + std::to_string(text.size()) + ")";
  }

  // The texts of a list, or the keys of a map.
  std::string names(std::string_view suffix, const Node& node, bool are_keys) {
    std::vector<std::string> all;
    for (const Node* const child : node.children) all.push_back(view(are_keys ? child->key : child->text));
    return array("std::string_view", suffix, all);
  }

  std::string count(std::string_view keyword) {
    const Node* const node = schema_.find(keyword, Kind::Number);
    const auto whole = node == nullptr ? std::nullopt : node->whole();
    return whole && *whole >= 0 ? std::to_string(*whole) : "";
  }

  void tighten(Limit& limit, std::string_view keyword, bool is_exclusive, bool is_least) const {
    const Node* const node = schema_.find(keyword, Kind::Number);
    if (node == nullptr) return;
    const double number = node->number().value_or(0);
    const bool is_tighter = is_least ? number > limit.number : number < limit.number;
    if (limit.node != nullptr && !is_tighter && number != limit.number) return;
    limit = {.node = node, .is_exclusive = is_exclusive, .number = number};
  }

  std::string limit_text(const Limit& limit) {
    return "{" + std::string(prefix) + "Limit::Kind::" + (limit.is_exclusive ? "Exclusive" : "Inclusive") + ", " +
           number_literal(*limit.node) + "}";
  }

  std::string number() {
    Fields fields;
    Limit least;
    Limit most;
    tighten(least, "minimum", false, true);
    tighten(least, "exclusiveMinimum", true, true);
    tighten(most, "maximum", false, false);
    tighten(most, "exclusiveMaximum", true, false);
    struct Range {
      std::string_view format;
      std::string_view least;
      std::string_view most;
      double lowest;
      double highest;
    };
    constexpr std::array<Range, 9> ranges = {{
        {"int8", "-128", "127", -128, 127},
        {"int16", "-32768", "32767", -32768, 32767},
        {"int32", "-2147483648", "2147483647", -2147483648.0, 2147483647},
        {"int64", "(-9223372036854775807 - 1)", "9223372036854775807", -0x1p63, 0x1p63},
        {"uint8", "0", "255", 0, 255},
        {"uint16", "0", "65535", 0, 65535},
        {"uint32", "0", "4294967295", 0, 4294967295},
        {"uint64", "0", "18446744073709551615u", 0, 0x1p64},
        {"float", "-3.4028234663852886e+38", "3.4028234663852886e+38", -3.4028234663852886e+38, 3.4028234663852886e+38},
    }};
    const auto range = std::find_if(ranges.begin(), ranges.end(),
                                    [&](const Range& one) { return one.format == schema_.string("format"); });
    const bool has_range = range != ranges.end();
    const auto inclusive = [](std::string_view number) {
      return std::string("{keel::contract::Limit::Kind::Inclusive, ").append(number).append("}");
    };
    if (least.node != nullptr && !(has_range && range->lowest > least.number)) {
      fields.add("least", limit_text(least));
    } else if (has_range) {
      fields.add("least", inclusive(range->least));
    }
    if (most.node != nullptr && !(has_range && range->highest < most.number)) {
      fields.add("most", limit_text(most));
    } else if (has_range) {
      fields.add("most", inclusive(range->most));
    }
    if (const Node* const step = schema_.find("multipleOf", Kind::Number); step != nullptr && step->number() > 0.0) {
      fields.add("multiple_of", number_literal(*step));
    }
    return fields.take();
  }

  std::string pattern_of(std::string_view suffix, const Node& at, std::string_view text) {
    const openapi::Regex compiled(text);
    if (!compiled.problem().empty()) {
      tables_.problems_.error(at, "the pattern '" + std::string(text) + "' " + compiled.problem());
      return "";
    }
    return "&" + define("keel::Pattern", suffix, literal(contract::Regex(text).re2));
  }

  std::string text_rules() {
    Fields fields;
    // For the format binary, the limits count bytes, but the text at this point is base64, so the reader of the text
    // checks these limits.
    if (schema_.string("format") != "binary") {
      fields.add("length_min", count("minLength"));
      fields.add("length_max", count("maxLength"));
    }
    if (const Node* const pattern = schema_.find("pattern", Kind::String)) {
      fields.add("pattern", pattern_of("pattern", *pattern, pattern->text));
      fields.add("pattern_text", view(pattern->text));
    }
    if (const std::string_view name = schema_.string("format"); contract::format_of(name) != contract::Format::None) {
      fields.add("format", "keel::contract::Format::" + enumerator_of(name));
    }
    return fields.take();
  }

  std::string list() {
    Fields fields;
    fields.add("count_min", count("minItems"));
    fields.add("count_max", count("maxItems"));
    const Node* const unique = schema_.find("uniqueItems");
    if (unique != nullptr && unique->is_true()) fields.add("is_unique", "true");
    if (const Node* const first = schema_.find("prefixItems", Kind::List)) {
      std::vector<std::string> all;
      for (const Node* const one : first->children) all.push_back(schema_or_null(*one));
      fields.add("prefix", schemas("prefix", all));
    }
    fields.add("items", schema("items"));
    if (schema_.find("contains") != nullptr) {
      fields.add("contains", schema("contains"));
      fields.add("contains_min", count("minContains"));
      fields.add("contains_max", count("maxContains"));
    }
    fields.add("unevaluated", schema("unevaluatedItems"));
    return fields.take();
  }

  // Returns the excuse for the absence of a property that is readOnly or writeOnly.
  std::string excuse_of(const Node& property) const {
    const Facets facets = facets_of(tables_.document_, property);
    for (const auto& [keyword, excuse] : {std::pair("readOnly", "ReadOnly"), std::pair("writeOnly", "WriteOnly")}) {
      const Node* const flag = facets.find(keyword);
      if (flag != nullptr && flag->is(Kind::Boolean) && flag->is_true()) {
        return std::string(", keel::contract::Excuse::") + excuse;
      }
    }
    return "";
  }

  std::string object() {
    Fields fields;
    fields.add("count_min", count("minProperties"));
    fields.add("count_max", count("maxProperties"));
    if (const Node* const properties = schema_.find("properties", Kind::Map)) {
      std::vector<const Node*> sorted(properties->children.begin(), properties->children.end());
      std::sort(sorted.begin(), sorted.end(), [](const Node* a, const Node* b) { return a->key < b->key; });
      std::vector<std::string> all;
      for (const Node* const one : sorted) {
        all.push_back("{" + view(one->key) + ", " + schema_or_null(*one) + excuse_of(*one) + "}");
      }
      fields.add("properties", array("Property", "properties", all));
    }
    if (const Node* const required = schema_.find("required", Kind::List)) {
      fields.add("required", names("required", *required, false));
    }
    if (const Node* const patterns = schema_.find("patternProperties", Kind::Map)) {
      std::vector<std::string> all;
      for (const Node* const one : patterns->children) {
        const std::string pattern = pattern_of("pattern_" + std::to_string(all.size() + 1), *one, one->key);
        all.push_back("{" + (pattern.empty() ? "nullptr" : pattern) + ", " + schema_or_null(*one) + "}");
      }
      fields.add("patterns", array("PatternProperty", "patterns", all));
    }
    fields.add("additional", schema("additionalProperties"));
    fields.add("names", schema("propertyNames"));
    std::vector<std::string> dependencies;
    if (const Node* const all = schema_.find("dependentRequired", Kind::Map)) {
      for (const Node* const one : all->children) {
        const std::string suffix = "needs_" + std::to_string(dependencies.size() + 1);
        const std::string needed = names(suffix, *one, false);
        if (!needed.empty()) dependencies.push_back("{.name = " + view(one->key) + ", .required = " + needed + "}");
      }
    }
    if (const Node* const all = schema_.find("dependentSchemas", Kind::Map)) {
      for (const Node* const one : all->children) {
        dependencies.push_back("{.name = " + view(one->key) + ", .schema = " + schema(*one) + "}");
      }
    }
    fields.add("dependencies", array("Dependency", "dependencies", dependencies));
    fields.add("unevaluated", schema("unevaluatedProperties"));
    return fields.take();
  }

  // Makes a schema with only the `enum`, for a schema that has both `enum` and `const`.
  std::string enumeration_alone() {
    const std::string values = array("Constant", "enum_values", constants(*schema_.find("enum", Kind::List)));
    return "&" + define("keel::contract::Schema", "enum",
                        ".has_values = true, .values = " + (values.empty() ? "{}" : values));
  }

  std::string combination() {
    Fields fields;
    std::vector<std::string> all = extra_;
    if (schema_.find("$ref", Kind::String) != nullptr) {
      if (const Node* const target = tables_.target_of(schema_)) all.push_back(schema(*target));
    }
    const auto also = [&](std::string_view keyword, std::vector<std::string>& to) {
      const Node* const list = schema_.find(keyword, Kind::List);
      if (list == nullptr) return;
      for (const Node* const one : list->children) to.push_back(schema(*one));
    };
    also("allOf", all);
    fields.add("all_of", schemas("all_of", all));
    std::vector<std::string> any;
    also("anyOf", any);
    fields.add("any_of", schemas("any_of", any));
    std::vector<std::string> one;
    also("oneOf", one);
    fields.add("one_of", schemas("one_of", one));
    fields.add("none_of", schema("not"));
    if (schema_.find("if") != nullptr) {
      fields.add("condition", schema("if"));
      fields.add("then", schema("then"));
      fields.add("otherwise", schema("else"));
    }
    return fields.take();
  }

  SchemaTables& tables_;
  const Node& schema_;
  std::string name_;
  std::string constants_;
  std::vector<std::string> extra_;  // Further schemas that a value must match, in addition to those of allOf.
  int arrays_ = 0;
};

// The target of `$ref`; null after a problem.
const Node* SchemaTables::target_of(const Node& schema) {
  const Node* const target = document_.target(schema);
  if (target == nullptr) problems_.error(schema, "the reference leads to no schema");
  return target;
}

std::string SchemaTables::constant_of(const Node& schema) {
  const Node* at = &schema;
  for (int hops = 0; hops < 64 && is_reference_alone(*at); ++hops) {
    at = target_of(*at);
    if (at == nullptr) return "keel::contract::anything";
  }
  if (at->is(Kind::Boolean) && !at->is_true()) return "keel::contract::nothing";
  if (accepts_everything(*at)) return "keel::contract::anything";
  std::string& name = names_[at];
  if (!name.empty()) return name;

  const std::string pointer = openapi::pointer_of(*at);
  std::string_view rest = pointer;
  rest.remove_prefix(std::min<std::size_t>(rest.size(), rest.starts_with("#/components/schemas/") ? 21 : 2));
  std::string readable;
  for (const char c : rest) {
    if (readable.size() == 60) break;
    if (ascii::is_alphanumeric(c)) {
      readable += c;
    } else if (!readable.empty() && readable.back() != '_') {
      readable += '_';
    }
  }
  while (!readable.empty() && readable.back() == '_') readable.pop_back();
  // A schema in another file is identified by the file's name without its folder, so that the place of the folder does
  // not matter.
  const bool is_root = at->file == document_.root().file;
  const std::string_view file = is_root ? std::string_view() : std::string_view(*at->file);
  const std::string text = "schema_" + readable + (readable.empty() ? "" : "_") +
                           hash_of(std::string(file.substr(file.rfind('/') + 1)) + pointer);
  name = text;
  for (int i = 2; !taken_.insert(name).second; ++i) name = text + "_" + std::to_string(i);
  pending_.push_back(at);
  return name;
}

// Reports schemas that refer to each other for the same value, because checking such a value would never end.
void SchemaTables::find_circle(const Node& schema) {
  const auto [found, is_new] = walked_.try_emplace(&schema, false);
  if (!is_new) {
    if (!found->second)
      problems_.error(schema,
                      "the schema refers to itself for the same value, so checking the value "
                      "would never end");
    return;
  }
  for (const Node* const child : schema.children) {
    if (child->key == "$ref" && child->is(Kind::String)) {
      if (const Node* const target = document_.target(schema)) find_circle(*target);
    } else if (has(in_place, child->key)) {
      find_circle(*child);
    } else if (has(in_place_lists, child->key) || child->key == "dependentSchemas") {
      for (const Node* const one : child->children) find_circle(*one);
    }
  }
  walked_[&schema] = true;
}

std::string SchemaTables::name_of(const Node& schema) {
  std::string name = constant_of(schema);
  while (!pending_.empty()) {
    const Node& next = *pending_.back();
    pending_.pop_back();
    find_circle(next);
    const std::string& own = names_[&next];
    std::string text = Emitter(*this, next, own).text();
    texts_.emplace(names_[&next], std::move(text));
  }
  return name;
}

std::string SchemaTables::declarations() const {
  std::string all;
  for (const auto& [name, text] : texts_) all.append("extern const keel::contract::Schema ").append(name).append(";\n");
  return all;
}

std::string SchemaTables::definitions() const {
  std::string all;
  for (const auto& [name, text] : texts_) all += text;
  return all;
}

}  // namespace keel::gen
