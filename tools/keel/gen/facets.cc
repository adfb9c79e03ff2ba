#include "gen/facets.h"

#include <algorithm>
#include <array>

namespace keel::gen {
namespace {

using openapi::Document;
using openapi::Kind;
using openapi::Node;

constexpr std::array<std::string_view, 21> annotations = {
    "$anchor",       "$comment",         "$defs",    "$id",          "$schema",     "contentEncoding",
    "contentSchema", "contentMediaType", "default",  "deprecated",   "description", "discriminator",
    "else",          "example",          "examples", "externalDocs", "nullable",    "readOnly",
    "title",         "writeOnly",        "xml"};

bool is_annotation(const Node& member, const Node& schema) noexcept {
  if (member.key.starts_with("x-")) return true;
  if (member.key == "else" || member.key == "then") return schema.find("if") == nullptr;
  return std::find(annotations.begin(), annotations.end(), member.key) != annotations.end();
}

Kinds kinds_named(std::string_view type) noexcept {
  if (type == "null") return null_kind;
  if (type == "boolean") return boolean_kind;
  if (type == "integer") return integer_kind;
  if (type == "number") return integer_kind | number_kind;
  if (type == "string") return string_kind;
  if (type == "array") return list_kind;
  return type == "object" ? object_kind : any_kind;
}
Kinds kinds_of_type(const Node& type) noexcept {
  if (type.is(Kind::String)) return kinds_named(type.text);
  Kinds kinds = 0;
  for (const Node* const one : type.children) kinds |= kinds_named(one->text);
  return kinds;
}

void narrow(std::optional<Facets::Nodes>& values, const Facets::Nodes& to) {
  if (!values) {
    values = to;
    return;
  }
  std::erase_if(*values, [&](const Node* value) {
    return std::none_of(to.begin(), to.end(), [&](const Node* other) { return are_equal(*value, *other); });
  });
}

void gather(const Document& document, const Node& schema, Facets& facets) {
  if (schema.is(Kind::Boolean)) facets.is_never = facets.is_never || !schema.is_true();
  if (!schema.is(Kind::Map)) return;
  if (std::find(facets.sources.begin(), facets.sources.end(), &schema) != facets.sources.end()) return;
  facets.sources.push_back(&schema);
  if (const Node* const type = schema.find("type")) facets.kinds &= kinds_of_type(*type);
  if (const Node* const properties = schema.find("properties", Kind::Map)) {
    for (const Node* const one : properties->children) facets.properties[one->key].push_back(one);
  }
  if (const Node* const required = schema.find("required", Kind::List)) {
    for (const Node* const one : required->children) facets.required.insert(one->text);
  }
  if (const Node* const all = schema.find("enum", Kind::List)) {
    narrow(facets.values, Facets::Nodes(all->children.begin(), all->children.end()));
  }
  if (const Node* const value = schema.find("const")) narrow(facets.values, {value});
  if (const Node* const target = document.target(schema)) gather(document, *target, facets);
  if (const Node* const parts = schema.find("allOf", Kind::List)) {
    for (const Node* const part : parts->children) gather(document, *part, facets);
  }
}

}  // namespace

const Node* Facets::find(std::string_view keyword) const noexcept {
  for (const Node* const source : sources) {
    if (const Node* const found = source->find(keyword)) return found;
  }
  return nullptr;
}

bool Facets::has_any(std::span<const std::string_view> keywords) const noexcept {
  return std::any_of(keywords.begin(), keywords.end(),
                     [&](std::string_view keyword) { return find(keyword) != nullptr; });
}

Kinds Facets::meant() const noexcept {
  Kinds found = kinds;
  if (values) {
    Kinds of_values = 0;
    for (const Node* const value : *values) of_values |= kind_of(*value);
    found &= of_values;
  }
  if (found != any_kind) return found;
  if (!properties.empty() || has_any({"additionalProperties", "patternProperties"})) return object_kind;
  if (has_any({"items", "prefixItems"})) return list_kind;
  return any_kind;
}

Facets facets_of(const Document& document, const Node& schema) {
  Facets facets;
  gather(document, schema, facets);
  return facets;
}

bool says_nothing(const Node& schema) noexcept {
  if (!schema.is(Kind::Map)) return schema.is_true();
  return std::all_of(schema.children.begin(), schema.children.end(),
                     [&](const Node* member) { return is_annotation(*member, schema); });
}

const Node& core_of(const Document& document, const Node& schema) {
  const Node* node = &schema;
  constexpr int steps_max = 64;
  for (int step = 0; step < steps_max && node->is(Kind::Map); ++step) {
    Facets::Nodes parts;
    if (node->find("$ref") != nullptr) {
      const Node* const target = document.target(*node);
      if (target == nullptr) return *node;
      if (!says_nothing(*target)) parts.push_back(target);
    }
    if (const Node* const all = node->find("allOf", Kind::List)) {
      for (const Node* const part : all->children) {
        if (!says_nothing(*part)) parts.push_back(part);
      }
    }
    if (parts.size() != 1) return *node;
    for (const Node* const member : node->children) {
      if (member->key == "$ref" || member->key == "allOf" || is_annotation(*member, *node)) continue;
      if (member->key != "type") return *node;
      const Facets facets = facets_of(document, *parts[0]);
      if ((facets.kinds & ~kinds_of_type(*member)) != 0) return *node;
    }
    node = parts[0];
  }
  return *node;
}

Kinds kind_of(const Node& value) noexcept {
  switch (value.kind) {
    case Kind::Null:
      return null_kind;
    case Kind::Boolean:
      return boolean_kind;
    case Kind::Number:
      return value.whole() ? integer_kind : number_kind;
    case Kind::String:
      return string_kind;
    case Kind::List:
      return list_kind;
    case Kind::Map:
      break;
  }
  return object_kind;
}

}  // namespace keel::gen
