#include "openapi/structure.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>
#include <utility>

#include "keel/base/ascii.h"

namespace keel::openapi {
namespace {

constexpr std::array<std::string_view, 7> type_names = {"array",  "boolean", "integer", "null",
                                                        "number", "object",  "string"};

class Walk {
 public:
  Walk(Document& document, Problems& problems) : document_(document), problems_(problems) {}

  std::vector<Object> run() {
    later_.push_back({&document_.root(), Role::OpenApi});
    // Targets of references are queued, because a chain of references may be longer than the stack.
    while (!later_.empty()) {
      const Object next = later_.back();
      later_.pop_back();
      visit(*next.node, next.role);
    }
    return std::move(objects_);
  }

 private:
  bool is_30() const { return document_.version() == Version::V30; }
  std::string in_version() const { return is_30() ? "OpenAPI 3.0" : "OpenAPI 3.1"; }

  void visit(Node& node, Role role) {
    if (!seen_[static_cast<std::size_t>(role)].insert(&node).second) return;
    if (role == Role::Schema && node.is(Kind::Boolean)) {
      if (is_30()) problems_.error(node, "a schema is a boolean: expected an object; booleans are part of OpenAPI 3.1");
      return;
    }
    if (!node.is(Kind::Map)) {
      problems_.error(node, "expected " + std::string(to_string(role)) + ", which is an object, instead of " +
                                std::string(to_string(node.kind)));
      return;
    }
    const bool has_reference = may_be_reference(role) && node.find("$ref", Kind::String) != nullptr;
    if (has_reference) {
      follow(node, role);
      check_siblings(node, role);
      const bool has_fields = role == Role::PathItem || (role == Role::Schema && !is_30());
      if (!has_fields) return;
    }
    objects_.push_back({&node, role});
    switch (role) {
      case Role::Paths:
        return visit_paths(node);
      case Role::Responses:
        return visit_responses(node);
      case Role::Callback:
        return visit_map(node, Role::PathItem);
      case Role::SecurityRequirement:
        return visit_requirement(node);
      default:
        break;
    }
    for (Node* const child : node.children) visit_field(node, *child, role);
    for (const Field& field : fields_of(role)) {
      if ((field.flags & Field::Required) != 0 && node.find(field.name) == nullptr) {
        problems_.error(node, quoted(field.name) + " is required in " + std::string(to_string(role)));
      }
    }
    check_presence(node, role);
    if (role == Role::Schema) normalise(node);
  }

  void follow(Node& node, Role role) {
    Node* const target = document_.target(node);
    if (target == nullptr) return;  // A reference without a target was already reported.
    const Node* const map = target->parent;
    const bool is_component = map != nullptr && map->parent != nullptr && map->parent->key == "components" &&
                              map->parent->parent != nullptr && map->parent->parent->parent == nullptr;
    const Field* const component = is_component ? find_field(Role::Components, map->key) : nullptr;
    if (component != nullptr && component->role != role) {
      problems_.error(*node.find("$ref"), "refers to " + std::string(to_string(component->role)) + ", where " +
                                              std::string(to_string(role)) + " is expected");
      return;
    }
    later_.push_back({target, role});
  }

  void check_siblings(Node& node, Role role) {
    if (role == Role::Schema && !is_30()) return;
    for (const Node* const child : node.children) {
      if (role == Role::PathItem) {
        check_beside_path(*child);
        continue;
      }
      const bool is_allowed =
          child->key == "$ref" || (!is_30() && (child->key == "summary" || child->key == "description"));
      if (!is_allowed && !child->key.starts_with("x-")) {
        problems_.warning(*child, quoted(child->key) + " is ignored: in " + in_version() +
                                      (is_30() ? " a $ref replaces all other members"
                                               : " only summary and description have an effect beside a $ref"));
      }
    }
    node.index.reset();
    if (role == Role::Schema) std::erase_if(node.children, [](const Node* child) { return child->key != "$ref"; });
  }
  // OpenAPI allows other fields next to the $ref of a path item, but Keel does not merge them with the target.
  void check_beside_path(const Node& child) {
    const bool is_text = child.key == "summary" || child.key == "description" || child.key.starts_with("x-");
    if (child.key == "$ref" || is_text) return;
    problems_.error(
        child, quoted(child.key) +
                   " beside the $ref of a path is not supported: write it in the path item that the $ref leads to");
  }

  void visit_field(Node& node, Node& child, Role role) {
    if (child.key.starts_with("x-")) return;
    const Field* const field = find_field(role, child.key);
    if (field == nullptr) {
      std::vector<std::string_view> names;
      for (const Field& other : fields_of(role)) names.push_back(other.name);
      const bool is_schema = role == Role::Schema;
      problems_.error(
          child, quoted(child.key) + (is_schema ? " is not a keyword of " : " is not a field of ") +
                     std::string(to_string(role)) + " in " + in_version() +
                     (document_.is_32() ? "; only those parts of OpenAPI 3.2 that 3.1 also has are supported" : "") +
                     suggestion(child.key, names));
    } else if ((field->flags & Field::Unsupported) != 0) {
      problems_.error(child, quoted(child.key) + " is not supported");
    } else if (role == Role::Schema && child.key == "nullable" && !is_30()) {
      warn_of_nullable(node, child);
    } else if (!field->is_in(document_.version())) {
      problems_.error(child, quoted(child.key) + " is part of " + (is_30() ? "OpenAPI 3.1" : "OpenAPI 3.0") +
                                 ", but this document is " + std::string(document_.version_text()) +
                                 (child.key == "const" ? ": write an enum with one value" : ""));
    } else {
      check_form(node, child, *field);
    }
  }
  // JSON Schema 2020-12 ignores `nullable` like any keyword that it does not know. Many documents of OpenAPI 3.1 still
  // use `nullable`.
  void warn_of_nullable(const Node& node, const Node& child) {
    const Node* const type = node.find("type");
    const bool is_in_type =
        type != nullptr && std::any_of(type->children.begin(), type->children.end(),
                                       [](const Node* one) { return one->is(Kind::String) && one->text == "null"; });
    std::string todo = "remove it";
    if (child.is_true() && !is_in_type && type != nullptr && type->is(Kind::String)) {
      todo = "to allow null, write type: [" + std::string(type->text) + ", \"null\"]";
    } else if (child.is_true() && !is_in_type) {
      todo = "to allow null, add \"null\" to the types";
    }
    problems_.warning(child, "'nullable' is ignored: it is part of OpenAPI 3.0, but this document is " +
                                 std::string(document_.version_text()) + ": " + todo);
  }

  bool expect(const Node& child, bool is_right, std::string_view what) {
    if (!is_right) {
      problems_.error(child, quoted(child.key) + " is " + std::string(to_string(child.kind)) + ": expected " +
                                 std::string(what) +
                                 (what == "a string" && child.is(Kind::Number) ? "; put it in quotes" : ""));
    }
    return is_right;
  }

  void check_form(Node& node, Node& child, const Field& field) {
    switch (field.form) {
      case Form::Any:
        return;
      case Form::Text:
        expect(child, child.is(Kind::String), "a string");
        return;
      case Form::Flag:
        expect(child, child.is(Kind::Boolean), "true or false");
        return;
      case Form::Number:
        if (expect(child, child.is(Kind::Number), "a number") && child.key == "multipleOf" && !(child.number() > 0)) {
          problems_.error(child, "'multipleOf' is " + shown(child) + ": expected more than 0");
        }
        return;
      case Form::NumberOrFlag:
        expect(child, child.is(is_30() ? Kind::Boolean : Kind::Number),
               is_30() ? "true or false in OpenAPI 3.0" : "a number in OpenAPI 3.1");
        return;
      case Form::Count:
        if (expect(child, child.is(Kind::Number), "a whole number") && child.whole().value_or(-1) < 0) {
          problems_.error(child, quoted(child.key) + " is " + shown(child) + ": expected a whole number from 0");
        }
        return;
      case Form::AnyList:
        if (child.key == "examples" && !child.is(Kind::List)) {
          problems_.warning(child, "'examples' is ignored: it is " + std::string(to_string(child.kind)) +
                                       ", but a schema has an array of examples");
          return;
        }
        if (expect(child, child.is(Kind::List), "an array") && child.key == "enum" && child.children.empty()) {
          problems_.error(child, "'enum' is empty, so no value is valid");
        }
        return;
      case Form::Texts:
        check_texts(child);
        return;
      case Form::TextMap:
      case Form::TextsMap:
        if (!expect(child, child.is(Kind::Map), "an object")) return;
        for (const Node* const one : child.children) {
          if (field.form == Form::TextsMap) {
            check_texts(*one);
          } else {
            expect(*one, one->is(Kind::String), "a string");
          }
        }
        return;
      case Form::Types:
        check_types(child);
        return;
      case Form::SchemaOrFlag:
        if (!child.is(Kind::Boolean)) visit(child, Role::Schema);
        return;
      case Form::One:
        visit(child, field.role);
        return;
      case Form::List:
        if (!expect(child, child.is(Kind::List), "an array")) return;
        if (field.role == Role::Schema && child.children.empty()) {
          problems_.error(child, quoted(child.key) + " is empty: expected at least one schema");
        }
        for (Node* const one : child.children) visit(*one, field.role);
        return;
      case Form::Map:
        if (expect(child, child.is(Kind::Map), "an object")) visit_map(child, field.role);
        if (node.key == "components" && node.parent == &document_.root()) check_component_names(child);
        return;
    }
  }

  void check_component_names(const Node& map) {
    for (const Node* const one : map.children) {
      const bool is_name = !one->key.empty() && std::all_of(one->key.begin(), one->key.end(), [](char c) {
        return ascii::is_alphanumeric(c) || c == '.' || c == '-' || c == '_';
      });
      if (!is_name) {
        problems_.error(
            *one, quoted(one->key) + " is not the name of a component: expected letters, digits, '.', '-' and '_'");
      }
    }
  }

  void check_texts(const Node& child) {
    if (!expect(child, child.is(Kind::List), "an array of strings")) return;
    std::unordered_set<std::string_view> seen;
    for (const Node* const one : child.children) {
      if (!one->is(Kind::String)) {
        problems_.error(*one, shown(*one) + " in " + quoted(child.key) + " is " + std::string(to_string(one->kind)) +
                                  ": expected a string" + (one->is(Kind::Number) ? "; put it in quotes" : ""));
      } else if (!seen.insert(one->text).second) {
        problems_.warning(*one, quoted(one->text) + " is in " + quoted(child.key) + " twice");
      }
    }
  }

  void check_types(const Node& child) {
    const auto check_name = [&](const Node& one) {
      const bool is_known =
          one.is(Kind::String) && std::find(type_names.begin(), type_names.end(), one.text) != type_names.end();
      if (is_known && (one.text != "null" || !is_30())) return;
      const std::string expected = is_30() ? ": expected array, boolean, integer, number, object or string"
                                           : ": expected array, boolean, integer, null, number, object or string";
      const std::string note = one.is(Kind::Null) ? ": put null in quotes"
                               : is_known         ? ", but this document is OpenAPI 3.0: write nullable: true"
                                          : expected + (one.is(Kind::String) ? suggestion(one.text, type_names) : "");
      problems_.error(one, shown(one) + (is_known ? " is a type of OpenAPI 3.1" : " is not a type") + note);
    };
    if (!child.is(Kind::List)) return check_name(child);
    if (is_30()) {
      problems_.error(child, "'type' is an array: lists of types are part of OpenAPI 3.1, but this document is " +
                                 std::string(document_.version_text()));
      return;
    }
    if (child.children.empty()) problems_.error(child, "'type' is empty, so no value is valid");
    std::unordered_set<std::string_view> seen;
    for (const Node* const one : child.children) {
      check_name(*one);
      if (!seen.insert(one->text).second) problems_.error(*one, quoted(one->text) + " is in 'type' twice");
    }
  }

  void visit_map(Node& map, Role role) {
    for (Node* const child : map.children) {
      if (role == Role::PathItem && child->key.starts_with("x-")) continue;
      visit(*child, role);
    }
  }
  void visit_paths(Node& node) {
    for (Node* const child : node.children) {
      if (child->key.starts_with("x-")) continue;
      if (!child->key.starts_with('/'))
        problems_.error(*child, quoted(child->key) + " is not a path: expected '/' at its beginning");
      visit(*child, Role::PathItem);
    }
  }
  void visit_responses(Node& node) {
    std::size_t count = 0;
    for (Node* const child : node.children) {
      const std::string_view key = child->key;
      if (key.starts_with("x-")) continue;
      ++count;
      const bool is_code = key.size() == 3 && key[0] >= '1' && key[0] <= '5' &&
                           (key.substr(1) == "XX" || (key.find_first_not_of("0123456789") == key.npos));
      if (key != "default" && !is_code) {
        problems_.error(*child, quoted(key) + " is not a status: expected 100 to 599, 1XX to 5XX, or default");
      }
      visit(*child, Role::Response);
    }
    if (count == 0) problems_.error(node, "there is no response: expected at least one");
  }
  void visit_requirement(Node& node) {
    for (const Node* const child : node.children) check_texts(*child);
  }

  // Checks fields that are required conditionally.
  void check_presence(const Node& node, Role role) {
    const auto has = [&](std::string_view name) { return node.find(name) != nullptr; };
    if (role == Role::OpenApi && is_30() && !has("paths")) problems_.error(node, "'paths' is required in OpenAPI 3.0");
    if (role == Role::OpenApi && !is_30() && !has("paths") && !has("components") && !has("webhooks")) {
      problems_.error(node, "one of 'paths', 'components' and 'webhooks' is required");
    }
    if (role == Role::Operation && !has("responses")) {
      if (is_30()) {
        problems_.error(node, "'responses' is required in an operation of OpenAPI 3.0");
      } else {
        problems_.warning(node, "the operation has no 'responses': no response may be sent");
      }
    }
    if (role == Role::Schema && is_30() && node.string("type") == "array" && !has("items")) {
      problems_.error(node, "'items' is required beside type: array in OpenAPI 3.0");
    }
  }

  Node& add(Node& node, const Node& place, std::string_view name, Kind kind) {
    Node& made = document_.store().make_at(place, kind);
    made.key = name;
    made.parent = &node;
    node.children.push_back(&made);
    node.index.reset();
    return made;
  }
  void remove(Node& node, const Node* child) {
    std::erase(node.children, child);
    node.index.reset();
  }

  void normalise(Node& node) {
    if (is_30()) {
      normalise_nullable(node);
      normalise_bound(node, "minimum", "exclusiveMinimum");
      normalise_bound(node, "maximum", "exclusiveMaximum");
    } else if (const Node* const nullable = std::as_const(node).find("nullable")) {
      remove(node, nullable);
    }
    if (Node* const example = node.find("example"); example != nullptr && node.find("examples") == nullptr) {
      Node& examples = add(node, *example, "examples", Kind::List);
      remove(node, example);
      // The moved example keeps the JSON Pointer of its original place in the document.
      examples.children.push_back(example);
    }
  }
  void normalise_nullable(Node& node) {
    const Node* const nullable = std::as_const(node).find("nullable", Kind::Boolean);
    if (nullable == nullptr) return;
    Node* const type = node.find("type");
    const bool has_parts =
        node.find("allOf") != nullptr || node.find("anyOf") != nullptr || node.find("oneOf") != nullptr;
    if (nullable->is_true() && has_parts) {
      allow_null(node, *nullable);
    } else if (nullable->is_true() && type == nullptr) {
      problems_.warning(*nullable, "'nullable' has no effect without 'type' beside it");
    } else if (nullable->is_true() && type->is(Kind::String)) {
      const Node* const values = node.find("enum", Kind::List);
      if (values != nullptr &&
          std::ranges::none_of(values->children, [](const Node* one) { return one->is(Kind::Null); })) {
        problems_.warning(*nullable, "'nullable' has no effect: null is not in the 'enum' beside it");
      }
      Node& null = document_.store().make_at(*nullable, Kind::String, "null");
      null.key = nullable->key;
      null.parent = &node;
      Node& types = add(node, *type, "type", Kind::List);
      remove(node, type);
      types.children = {type, &null};  // `type` and `null` keep the JSON Pointers of their original places.
    }
    remove(node, nullable);
  }
  // {allOf: […], nullable: true} becomes {anyOf: [{allOf: […]}, {type: "null"}]}. Strictly, OpenAPI 3.0.3 also requires
  // each part of the allOf to allow null. But tools write an allOf with `nullable: true` for a `$ref` that may be null,
  // because nothing may stand beside a `$ref`.
  void allow_null(Node& node, const Node& nullable) {
    Node& value = document_.store().make_at(nullable, Kind::Map);
    value.key = nullable.key;
    value.parent = &node;
    std::vector<Node*> kept;
    for (Node* const child : node.children) {
      constexpr std::array<std::string_view, 10> outside = {"title",        "description", "default",  "deprecated",
                                                            "example",      "examples",    "readOnly", "writeOnly",
                                                            "externalDocs", "xml"};
      const bool is_outside = child->key.starts_with("x-") || std::ranges::find(outside, child->key) != outside.end();
      if (child != &nullable) (is_outside ? kept : value.children).push_back(child);
    }
    node.children = std::move(kept);
    Node& alternatives = add(node, nullable, "anyOf", Kind::List);
    Node& null = document_.store().make_at(nullable, Kind::Map);
    null.parent = &alternatives;
    add(null, nullable, "type", Kind::String).text = "null";
    alternatives.children = {&value, &null};
  }
  void normalise_bound(Node& node, std::string_view bound, std::string_view exclusive) {
    const Node* const flag = node.find(exclusive, Kind::Boolean);
    if (flag == nullptr) return;
    Node* const number = node.find(bound);
    if (flag->is_true() && number == nullptr) {
      problems_.warning(*flag, quoted(exclusive) + " has no effect without " + quoted(bound) + " beside it");
    } else if (flag->is_true() && number->is(Kind::Number)) {
      number->key = exclusive;
      node.index.reset();
    }
    remove(node, flag);
  }

  Document& document_;
  Problems& problems_;
  std::array<std::unordered_set<const Node*>, static_cast<std::size_t>(Role::None)> seen_;
  std::vector<Object> later_;
  std::vector<Object> objects_;
};

}  // namespace

std::vector<Object> check_structure(Document& document, Problems& problems) { return Walk(document, problems).run(); }

}  // namespace keel::openapi
