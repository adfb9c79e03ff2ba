// The part of lint() that checks schemas.

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "openapi/instance.h"
#include "openapi/lint.h"

namespace keel::openapi {
namespace {

struct Keyword {
  std::string_view name;
  std::string_view type;
};
constexpr std::array<Keyword, 19> typed_keywords = {{{"additionalProperties", "object"},
                                                     {"exclusiveMaximum", "number"},
                                                     {"exclusiveMinimum", "number"},
                                                     {"items", "array"},
                                                     {"maxItems", "array"},
                                                     {"maxLength", "string"},
                                                     {"maxProperties", "object"},
                                                     {"maximum", "number"},
                                                     {"minItems", "array"},
                                                     {"minLength", "string"},
                                                     {"minProperties", "object"},
                                                     {"minimum", "number"},
                                                     {"multipleOf", "number"},
                                                     {"pattern", "string"},
                                                     {"patternProperties", "object"},
                                                     {"prefixItems", "array"},
                                                     {"properties", "object"},
                                                     {"required", "object"},
                                                     {"uniqueItems", "array"}}};

constexpr std::array<std::array<std::string_view, 2>, 5> bounds = {{{"minLength", "maxLength"},
                                                                    {"minItems", "maxItems"},
                                                                    {"minProperties", "maxProperties"},
                                                                    {"minContains", "maxContains"},
                                                                    {"minimum", "maximum"}}};

class SchemaCheck {
 public:
  SchemaCheck(const Document& document, Problems& problems)
      : document_(document), problems_(problems), instances_(document) {}

  void check(const Node& schema) {
    check_patterns(schema);
    check_bounds(schema);
    check_types(schema);
    check_required(schema);
    check_enum(schema);
    check_discriminator(schema);
    check_dialect(schema, "$schema");
    const Node* const read_only = schema.find("readOnly");
    const Node* const write_only = schema.find("writeOnly");
    if (read_only != nullptr && write_only != nullptr && read_only->is_true() && write_only->is_true()) {
      problems_.error(*write_only, "the schema is both readOnly and writeOnly: at most one of them may be true");
    }
  }
  // Call this function only if no schema contains itself; otherwise the check of a value would not end.
  void check_values(const Node& schema) {
    if (const Node* const value = schema.find("default")) {
      for (Misfit& misfit : instances_.misfits(schema, *value)) {
        if (value->is(Kind::Null)) {  // Many tools write `default: null` if there is no default.
          problems_.warning(*value, "the default null is ignored: its schema does not allow null");
          break;
        }
        problems_.error(*misfit.at, "the default does not fit its schema: " + std::move(misfit.text));
      }
    }
    if (const Node* const examples = schema.find("examples", Kind::List)) {
      for (const Node* const one : examples->children) warn_of(schema, *one);
    }
  }
  void warn_of(const Node& schema, const Node& value) {
    for (Misfit& misfit : instances_.misfits(schema, value)) {
      problems_.warning(*misfit.at, "the example does not fit its schema: " + std::move(misfit.text));
    }
  }
  void check_dialect(const Node& node, std::string_view name) {
    const Node* const dialect = node.find(name, Kind::String);
    if (dialect == nullptr || dialect->text.starts_with("https://json-schema.org/draft/2020-12/schema") ||
        dialect->text.starts_with("https://spec.openapis.org/oas/3.1/dialect/")) {
      return;
    }
    problems_.error(*dialect, "the dialect " + quoted(dialect->text) +
                                  " is not supported: expected https://json-schema.org/draft/2020-12/schema");
  }

 private:
  void check_patterns(const Node& schema) {
    if (const Node* const pattern = schema.find("pattern", Kind::String)) {
      const std::string& problem = instances_.regex(pattern->text).problem();
      if (!problem.empty()) problems_.error(*pattern, "the pattern " + quoted(pattern->text) + ' ' + problem);
    }
    if (const Node* const patterns = schema.find("patternProperties", Kind::Map)) {
      for (const Node* const one : patterns->children) {
        const std::string& problem = instances_.regex(one->key).problem();
        if (!problem.empty()) problems_.error(*one, "the pattern " + quoted(one->key) + ' ' + problem);
      }
    }
  }
  void check_bounds(const Node& schema) {
    for (const auto& [least_name, most_name] : bounds) {
      const Node* const least = schema.find(least_name, Kind::Number);
      const Node* const most = schema.find(most_name, Kind::Number);
      if (least == nullptr || most == nullptr || !(least->number() > most->number())) continue;
      problems_.warning(*least, quoted(least_name) + " is more than " + quoted(most_name) + ": no value can fit");
    }
  }
  void check_types(const Node& schema) {
    const Node* const type = schema.find("type");
    if (type == nullptr) return;
    const auto has_type = [&](std::string_view name) {
      return type->is(Kind::String) ? type->text == name
                                    : std::any_of(type->children.begin(), type->children.end(),
                                                  [&](const Node* one) { return one->text == name; });
    };
    for (const Keyword& keyword : typed_keywords) {
      const Node* const found = schema.find(keyword.name);
      if (found == nullptr || has_type(keyword.type) || (keyword.type == "number" && has_type("integer"))) continue;
      problems_.warning(*found, quoted(keyword.name) + " has no effect: the type is " + shown(*type) + ", not " +
                                    std::string(keyword.type));
    }
  }
  static bool is_part(const Node& schema) {
    constexpr std::array<std::string_view, 7> parts = {"allOf", "anyOf", "oneOf", "not", "if", "then", "else"};
    const Node* const at = schema.parent != nullptr && schema.parent->is(Kind::List) ? schema.parent : &schema;
    return std::find(parts.begin(), parts.end(), at->key) != parts.end();
  }
  void check_required(const Node& schema) {
    const Node* const required = schema.find("required", Kind::List);
    const Node* const properties = schema.find("properties", Kind::Map);
    if (required == nullptr || properties == nullptr || is_part(schema)) return;
    for (const std::string_view other : {"$ref", "allOf", "anyOf", "oneOf", "patternProperties"}) {
      if (schema.find(other) != nullptr) return;
    }
    std::vector<std::string_view> names;
    for (const Node* const property : properties->children) names.push_back(property->key);
    for (const Node* const name : required->children) {
      if (!name->is(Kind::String) || properties->find(name->text) != nullptr) continue;
      problems_.warning(*name, "the required property " + quoted(name->text) + " is not in 'properties'" +
                                   suggestion(name->text, names));
    }
  }
  void check_enum(const Node& schema) {
    const Node* const all = schema.find("enum", Kind::List);
    if (all == nullptr) return;
    const Node* const type = schema.find("type");
    std::unordered_set<std::string> seen;
    for (const Node* const one : all->children) {
      if (type != nullptr && !is_of_type(*type, *one)) {
        problems_.warning(*one,
                          shown(*one) + " in 'enum' is not of the type " + shown(*type) + ": no value can equal it");
      }
      const bool is_scalar = !one->is(Kind::List) && !one->is(Kind::Map);
      if (is_scalar && !seen.insert(std::to_string(static_cast<int>(one->kind)) + std::string(one->text)).second) {
        problems_.warning(*one, shown(*one) + " is in 'enum' twice");
      }
    }
  }

  void check_discriminator(const Node& schema) {
    const Node* const discriminator = schema.find("discriminator", Kind::Map);
    const Node* const mapping = discriminator == nullptr ? nullptr : discriminator->find("mapping", Kind::Map);
    if (mapping == nullptr) return;
    for (const Node* const one : mapping->children) {
      if (!one->is(Kind::String)) continue;
      const Node* const components = document_.root().find("components");
      const Node* const schemas = components == nullptr ? nullptr : components->find("schemas");
      if (schemas != nullptr && schemas->find(one->text) != nullptr) continue;
      std::string why;
      if (document_.look_up(*one, one->text, &why) != nullptr) continue;
      const bool is_name = one->text.find('#') == std::string_view::npos || why.empty();
      problems_.error(*one, "the mapping of " + quoted(one->key) + ": " +
                                (is_name ? "there is no schema " + quoted(one->text) : why));
    }
  }

  const Document& document_;
  Problems& problems_;
  Instances instances_;
};

// Finds schemas that contain themselves without a property or an element in between: no value can be checked against
// such a schema.
class Circles {
 public:
  Circles(const Document& document, Problems& problems) : document_(document), problems_(problems) {}

  void search(const Node& schema) {
    if (!enter(schema)) return;
    while (!path_.empty()) {  // Iterative, because a chain of schemas may be longer than the stack.
      Step& top = path_.back();
      if (top.next == top.edges.size()) {
        states_[top.schema] = State::Done;
        path_.pop_back();
        continue;
      }
      const Edge edge = top.edges[top.next++];
      const auto known = states_.find(edge.to);
      if (known == states_.end()) {
        enter(*edge.to);
      } else if (known->second == State::Open) {
        report(edge);
      }
    }
  }

 private:
  enum class State : std::uint8_t { Open, Done };
  struct Edge {
    const Node* to;
    const Node* place;  // The place at which a circle is reported.
    std::string_view keyword;
  };
  struct Step {
    const Node* schema;
    std::vector<Edge> edges;
    std::size_t next = 0;
  };

  bool enter(const Node& schema) {
    if (!states_.emplace(&schema, State::Open).second) return false;
    Step step{.schema = &schema, .edges = {}};
    if (const Node* const target = document_.target(schema))
      step.edges.push_back({target, schema.find("$ref"), "$ref"});
    for (const std::string_view list : {"allOf", "anyOf", "oneOf"}) {
      const Node* const parts = schema.find(list, Kind::List);
      if (parts == nullptr) continue;
      for (const Node* const part : parts->children) step.edges.push_back({part, part, list});
    }
    for (const std::string_view name : {"not", "if", "then", "else"}) {
      if (const Node* const part = schema.find(name)) step.edges.push_back({part, part, name});
    }
    path_.push_back(std::move(step));
    return true;
  }
  void report(const Edge& last) {
    std::string_view through = last.keyword;
    std::string chain;
    bool is_inside = false;
    constexpr std::size_t named_max = 8;
    std::size_t named = 0;
    for (const Step& step : path_) {
      is_inside = is_inside || step.schema == last.to;
      if (!is_inside) continue;
      const std::string_view taken = step.edges[step.next - 1].keyword;
      if (through == "$ref" || (through == "allOf" && taken != "$ref")) through = taken;
      if (step.schema->parent != nullptr && step.schema->parent->is(Kind::List)) continue;
      if (++named > named_max) continue;
      chain += pointer_of(*step.schema) + " → ";
    }
    const bool is_only_references = through == "$ref";
    // A circle that consists only of references is reported where references are resolved.
    if (is_only_references) return;
    problems_.error(*last.place, "circular " + std::string(through) +
                                     ": the schema contains itself, so no value can be checked: " + chain +
                                     (named > named_max ? "… → " : "") + pointer_of(*last.to));
  }

  const Document& document_;
  Problems& problems_;
  std::unordered_map<const Node*, State> states_;
  std::vector<Step> path_;
};

}  // namespace

void check_schemas(const Document& document, const std::vector<Object>& objects, Problems& problems) {
  SchemaCheck check(document, problems);
  check.check_dialect(document.root(), "jsonSchemaDialect");
  Circles circles(document, problems);
  for (const Object& object : objects) {
    if (object.role != Role::Schema) continue;
    check.check(*object.node);
    circles.search(*object.node);
  }
  const auto check_examples = [&](const Node& node, const Node& schema) {
    if (const Node* const example = node.find("example")) check.warn_of(schema, *example);
    const Node* const examples = node.find("examples", Kind::Map);
    if (examples == nullptr) return;
    for (const Node* const one : examples->children) {
      const Node* const example = document.resolve(*one);
      const Node* const value = example == nullptr ? nullptr : example->find("value");
      if (value != nullptr) check.warn_of(schema, *value);
    }
  };
  for (const Object& object : objects) {
    const Node& node = *object.node;
    if (object.role == Role::Schema) check.check_values(node);
    const bool is_json = object.role == Role::MediaType && node.key.find("json") != std::string_view::npos;
    if (!is_json && object.role != Role::Parameter && object.role != Role::Header) continue;
    if (const Node* const schema = node.find("schema")) check_examples(node, *schema);
  }
}

}  // namespace keel::openapi
