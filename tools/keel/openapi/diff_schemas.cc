#include "openapi/diff_schemas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace keel::openapi {
namespace {

constexpr std::size_t view_nodes_max = 1000;

// Two bits stand for numbers: Integer for integers, and Fraction for numbers with a fraction.
enum Types : unsigned {
  Null = 1,
  Boolean = 2,
  Integer = 4,
  Fraction = 8,
  String = 16,
  Array = 32,
  Object = 64,
  All = 127
};

unsigned type_of(std::string_view name) {
  if (name == "null") return Null;
  if (name == "boolean") return Boolean;
  if (name == "integer") return Integer;
  if (name == "number") return Integer | Fraction;
  if (name == "string") return String;
  if (name == "array") return Array;
  if (name == "object") return Object;
  return All;
}

unsigned types_of(const Node& type) {
  if (!type.is(Kind::List)) return type_of(type.text);
  unsigned types = 0;
  for (const Node* const one : type.children) types |= type_of(one->text);
  return types;
}

// If values are written as text, a type string also accepts every number and boolean.
unsigned types_of_text(unsigned types, bool is_text) {
  return is_text && (types & String) != 0 ? types | Integer | Fraction | Boolean : types;
}

std::string names_of(unsigned types) {
  if (types == All) return "any type";
  std::string names;
  const auto add = [&](unsigned bits, std::string_view name) {
    if ((types & bits) != bits) return false;
    names += (names.empty() ? "" : " or ") + std::string(name);
    return true;
  };
  if (!add(Integer | Fraction, "number")) add(Integer, "integer");
  add(String, "string");
  add(Boolean, "boolean");
  add(Array, "array");
  add(Object, "object");
  add(Null, "null");
  return names.empty() ? "none" : names;
}

bool rules_nothing_out(const Node& keyword) {
  if (keyword.key == "not") return keyword.is(Kind::Boolean) && !keyword.is_true();
  if (keyword.key == "contains" || keyword.key == "if") return false;
  return keyword.is_true() || (!keyword.is(Kind::Boolean) && keyword.children.empty());
}

// Of two `if`.
bool are_same_conditions(const Node& a, const Node& b) {
  return std::ranges::all_of(std::array<std::string_view, 3>{"if", "then", "else"}, [&](std::string_view name) {
    const Node* const old_one = a.parent->find(name);
    const Node* const new_one = b.parent->find(name);
    return (old_one == nullptr) == (new_one == nullptr) && (old_one == nullptr || are_equal(*old_one, *new_one));
  });
}

}  // namespace

struct View {
  const Node* schema = nullptr;  // Where it begins.
  std::vector<const Node*> parts;

  View(const Document& document, const Node* from) : schema(from) {
    std::vector<const Node*> open;
    std::unordered_set<const Node*> seen;
    if (from != nullptr) open.push_back(from);
    while (!open.empty() && parts.size() < view_nodes_max) {
      const Node* const node = open.back();
      open.pop_back();
      if (!seen.insert(node).second) continue;
      parts.push_back(node);
      if (const Node* const target = document.target(*node)) open.push_back(target);
      if (const Node* const all = node->find("allOf", Kind::List))
        open.insert(open.end(), all->children.rbegin(), all->children.rend());
    }
  }

  // The value of the keyword in the first part that has it.
  const Node* find(std::string_view name) const {
    for (const Node* const part : parts) {
      if (const Node* const found = part->find(name)) return found;
    }
    return nullptr;
  }
  // The values of the keyword in all parts, except those that restrict nothing.
  std::vector<const Node*> all(std::string_view name) const {
    std::vector<const Node*> found;
    for (const Node* const part : parts) {
      const Node* const one = part->find(name);
      if (one == nullptr || rules_nothing_out(*one)) continue;
      if (name == "if" && part->find("then") == nullptr && part->find("else") == nullptr) continue;
      found.push_back(one);
    }
    return found;
  }
  bool is_true(std::string_view name) const {
    const Node* const found = find(name);
    return found != nullptr && found->is_true();
  }
  // The place of the keyword or, if there is none, of the schema.
  const Node* place(std::string_view name) const {
    const Node* const found = find(name);
    return found == nullptr ? schema : found;
  }
  unsigned types() const {
    unsigned types = All;
    for (const Node* const part : parts) {
      if (part->is(Kind::Boolean) && !part->is_true()) types = 0;
      if (const Node* const type = part->find("type")) types &= types_of(*type);
    }
    return types;
  }
  // The values that `enum` and `const` allow; nothing if any value is allowed.
  std::optional<std::vector<const Node*>> values() const {
    std::optional<std::vector<const Node*>> values;
    for (const Node* const part : parts) {
      std::vector<const Node*> own;
      if (const Node* const one = part->find("const")) {
        own = {one};
      } else if (const Node* const all = part->find("enum", Kind::List)) {
        own.assign(all->children.begin(), all->children.end());
      } else {
        continue;
      }
      if (values) {
        std::erase_if(*values, [&](const Node* value) {
          return std::none_of(own.begin(), own.end(), [&](const Node* other) { return are_equal(*value, *other); });
        });
      } else {
        values = std::move(own);
      }
    }
    return values;
  }
  // Returns the strictest value that any of the parts has for the keyword `name`, which is a bound.
  std::optional<double> bound(std::string_view name, bool is_least) const {
    std::optional<double> bound;
    for (const Node* const part : parts) {
      const Node* const found = part->find(name, Kind::Number);
      const std::optional<double> number = found == nullptr ? std::nullopt : found->number();
      if (number) bound = !bound ? *number : is_least ? std::max(*bound, *number) : std::min(*bound, *number);
    }
    return bound;
  }
  std::unordered_set<std::string_view> required() const {
    std::unordered_set<std::string_view> names;
    for (const Node* const part : parts) {
      const Node* const required = part->find("required", Kind::List);
      if (required == nullptr) continue;
      for (const Node* const name : required->children) names.insert(name->text);
    }
    return names;
  }
  // The first declaration of each property, in the order of the declarations.
  std::vector<const Node*> properties() const {
    std::vector<const Node*> all;
    std::unordered_set<std::string_view> names;
    for (const Node* const part : parts) {
      const Node* const properties = part->find("properties", Kind::Map);
      if (properties == nullptr) continue;
      for (const Node* const property : properties->children) {
        if (names.insert(property->key).second) all.push_back(property);
      }
    }
    return all;
  }
  bool is_closed() const {
    const Node* const others = find("additionalProperties");
    return others != nullptr && others->is(Kind::Boolean) && !others->is_true();
  }
};

void SchemaDiff::compare(const Node* before, const Node* after, Direction direction) {
  if (before == nullptr && after == nullptr) return;
  if (seen_.emplace(before, after, direction).second) waiting_.push_back({before, after, direction});
}

void SchemaDiff::run() {
  while (!waiting_.empty()) {  // Iterative, because a chain of schemas may be longer than the stack.
    current_ = waiting_.back();
    waiting_.pop_back();
    compare(current_);
  }
}

void SchemaDiff::note(Change::Severity severity, std::string_view what, std::string text, const Node* old_place,
                      const Node* new_place) {
  struct Words {
    std::string_view rule;
    std::string_view text;
  };
  constexpr std::array<Words, 6> words = {{{"request-", "in requests, "},
                                           {"request-", "in requests, "},
                                           {"response-", "in responses, "},
                                           {"response-", "in responses, "},
                                           {"webhook-request-", "in requests of a webhook, "},
                                           {"webhook-response-", "in responses to a webhook, "}}};
  const auto [rule, begin] = words[static_cast<std::size_t>(current_.direction)];
  changes_.push_back({.severity = severity,
                      .rule = std::string(rule) + std::string(what),
                      .text = std::string(begin) + std::move(text),
                      .old_place = old_place,
                      .new_place = new_place});
}
void SchemaDiff::narrowed(std::string_view what, std::string text, const Node* old_place, const Node* new_place) {
  note(is_sent_by_client() ? Change::Severity::Breaking : Change::Severity::NonBreaking, what, std::move(text),
       old_place, new_place);
}
void SchemaDiff::widened(std::string_view what, std::string text, const Node* old_place, const Node* new_place) {
  note(!is_sent_by_client() ? Change::Severity::Breaking : Change::Severity::NonBreaking, what, std::move(text),
       old_place, new_place);
}

void SchemaDiff::compare(const Pair& pair) {
  const View before(before_, pair.before);
  const View after(after_, pair.after);
  compare_types(before, after);
  const unsigned old_types = types_of_text(before.types(), is_text());
  const unsigned new_types = types_of_text(after.types(), is_text());
  // If no type is in both schemas, other differences do not matter.
  if ((old_types & new_types) == 0 && old_types != 0 && new_types != 0) return;
  compare_enums(before, after);
  compare_bounds(before, after);
  compare_texts(before, after);
  compare_properties(before, after);
  compare_items(before, after);
  compare_alternatives(before, after, "oneOf");
  compare_alternatives(before, after, "anyOf");
  compare_rest(before, after);
}

void SchemaDiff::compare_types(const View& before, const View& after) {
  const unsigned old_types = before.types();
  const unsigned new_types = after.types();
  if (old_types == new_types) return;
  const Node* const old_place = before.place("type");
  const Node* const new_place = after.place("type");
  const std::string text = "the type was " + names_of(old_types) + " and is " + names_of(new_types) + " now";
  const bool is_narrowed = (old_types & ~types_of_text(new_types, is_text())) != 0;
  const bool is_widened = (new_types & ~types_of_text(old_types, is_text())) != 0;
  if (is_narrowed && is_widened) return note(Change::Severity::Breaking, "type-changed", text, old_place, new_place);
  if (is_narrowed) return narrowed("type-narrowed", text, old_place, new_place);
  widened("type-widened", text, old_place, new_place);
}

void SchemaDiff::compare_enums(const View& before, const View& after) {
  const auto old_values = before.values();
  const auto new_values = after.values();
  const auto place = [](const View& view) {
    return view.find("const") != nullptr ? view.find("const") : view.place("enum");
  };
  if (!old_values && !new_values) return;
  if (!old_values) return narrowed("enum-added", "only some values are allowed now", place(before), place(after));
  if (!new_values)
    return widened("enum-removed", "any value is allowed now, not only those of the enum", place(before), place(after));
  const auto listed = [](const std::vector<const Node*>& values, const std::vector<const Node*>& others) {
    std::string text;
    for (const Node* const value : values) {
      if (std::any_of(others.begin(), others.end(), [&](const Node* other) { return are_equal(*value, *other); }))
        continue;
      text += (text.empty() ? "" : ", ") + shown(*value);
    }
    return text;
  };
  if (const std::string gone = listed(*old_values, *new_values); !gone.empty()) {
    narrowed("enum-value-removed", "the enum no longer has " + gone, place(before), place(after));
  }
  if (const std::string added = listed(*new_values, *old_values); !added.empty()) {
    widened("enum-value-added", "the enum has " + added + " now", place(before), place(after));
  }
}

void SchemaDiff::compare_bounds(const View& before, const View& after) {
  struct Bound {
    std::string_view name;
    bool is_least;
  };
  constexpr std::array<Bound, 12> names = {{{"minimum", true},
                                            {"maximum", false},
                                            {"exclusiveMinimum", true},
                                            {"exclusiveMaximum", false},
                                            {"minLength", true},
                                            {"maxLength", false},
                                            {"minItems", true},
                                            {"maxItems", false},
                                            {"minProperties", true},
                                            {"maxProperties", false},
                                            {"minContains", true},
                                            {"maxContains", false}}};
  const auto text_of = [](std::string_view name, const View& old_view, const View& new_view) {
    const Node* const old_bound = old_view.find(name);
    const Node* const new_bound = new_view.find(name);
    if (old_bound == nullptr) return std::string(name) + " is " + shown(*new_bound) + " now";
    if (new_bound == nullptr) return std::string(name) + ", which was " + shown(*old_bound) + ", is gone";
    return std::string(name) + " was " + shown(*old_bound) + " and is " + shown(*new_bound) + " now";
  };
  // Both kinds of bound are compared together, so that a minimum that became an exclusiveMinimum is one change.
  const auto edge = [](const View& view, bool is_least) {
    const auto inner = view.bound(is_least ? "minimum" : "maximum", is_least);
    const auto outer = view.bound(is_least ? "exclusiveMinimum" : "exclusiveMaximum", is_least);
    const double none = is_least ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    const double a = inner.value_or(none);
    const double b = outer.value_or(none);
    const bool is_exclusive = outer && (is_least ? b >= a : b <= a);
    return std::pair(is_exclusive ? b : a, is_exclusive);
  };
  for (const bool is_least : {true, false}) {
    const auto [old_value, old_exclusive] = edge(before, is_least);
    const auto [new_value, new_exclusive] = edge(after, is_least);
    if (old_value == new_value && old_exclusive == new_exclusive) continue;
    const auto name = [&](bool is_exclusive) {
      return std::string(is_exclusive ? (is_least ? "exclusiveMinimum" : "exclusiveMaximum")
                                      : (is_least ? "minimum" : "maximum"));
    };
    const std::string old_name = name(std::isfinite(old_value) ? old_exclusive : new_exclusive);
    const std::string new_name = name(std::isfinite(new_value) ? new_exclusive : old_exclusive);
    const bool is_narrowed = old_value == new_value ? new_exclusive
                             : is_least             ? new_value > old_value
                                                    : new_value < old_value;
    const std::string text = old_name == new_name ? text_of(new_name, before, after)
                                                  : old_name + ": " + shown(*before.find(old_name)) + " has become " +
                                                        new_name + ": " + shown(*after.find(new_name));
    if (is_narrowed) {
      narrowed(is_least ? "minimum-increased" : "maximum-decreased", text, before.place(old_name),
               after.place(new_name));
    } else {
      widened(is_least ? "minimum-decreased" : "maximum-increased", text, before.place(old_name),
              after.place(new_name));
    }
  }
  for (std::size_t i = 4; i < names.size(); ++i) {
    const auto [name, is_least] = names[i];
    // A minimum count of 0 is the same as no minimum.
    const double none = is_least ? 0 : std::numeric_limits<double>::infinity();
    const double old_bound = before.bound(name, is_least).value_or(none);
    const double new_bound = after.bound(name, is_least).value_or(none);
    if (old_bound == new_bound) continue;
    const bool is_narrowed = is_least ? new_bound > old_bound : new_bound < old_bound;
    const std::string text = text_of(name, before, after);
    if (is_narrowed) {
      narrowed(std::string(name) + (is_least ? "-increased" : "-decreased"), text, before.place(name),
               after.place(name));
    } else {
      widened(std::string(name) + (is_least ? "-decreased" : "-increased"), text, before.place(name),
              after.place(name));
    }
  }
  const auto old_step = before.bound("multipleOf", false);
  const auto new_step = after.bound("multipleOf", false);
  if (old_step == new_step) return;
  const std::string text = text_of("multipleOf", before, after);
  const auto is_multiple = [](double a, double b) { return b > 0 && std::abs(a / b - std::round(a / b)) < 1e-9; };
  const Node* const old_place = before.place("multipleOf");
  const Node* const new_place = after.place("multipleOf");
  if (!old_step || (new_step && is_multiple(*new_step, *old_step))) {
    narrowed("multiple-of-narrowed", text, old_place, new_place);
  } else if (!new_step || is_multiple(*old_step, *new_step)) {
    widened("multiple-of-widened", text, old_place, new_place);
  } else {
    note(Change::Severity::Breaking, "multiple-of-changed", text, old_place, new_place);
  }
}

void SchemaDiff::compare_texts(const View& before, const View& after) {
  for (const std::string_view name : {"pattern", "format"}) {
    const Node* const old_text = before.find(name);
    const Node* const new_text = after.find(name);
    if (old_text == nullptr && new_text == nullptr) continue;
    const std::string rule(name);
    if (old_text == nullptr) {
      narrowed(rule + "-added", "the " + rule + " is " + shown(*new_text) + " now", before.schema, new_text);
    } else if (new_text == nullptr) {
      widened(rule + "-removed", "the " + rule + " " + shown(*old_text) + " is gone", old_text, after.schema);
    } else if (!are_equal(*old_text, *new_text)) {
      const std::string text = "the " + rule + " was " + shown(*old_text) + " and is " + shown(*new_text) + " now";
      const auto is_from_to = [&](std::string_view from, std::string_view to) {
        return old_text->text == from && new_text->text == to;
      };
      if (name == "pattern") {
        note(Change::Severity::Unclassified, "pattern-changed", text, old_text, new_text);
      } else if (is_from_to("int64", "int32") || is_from_to("double", "float")) {
        narrowed("format-narrowed", text, old_text, new_text);
      } else if (is_from_to("int32", "int64") || is_from_to("float", "double")) {
        widened("format-widened", text, old_text, new_text);
      } else {
        note(Change::Severity::Breaking, "format-changed", text, old_text, new_text);
      }
    }
  }
}

void SchemaDiff::compare_properties(const View& before, const View& after) {
  const bool is_request = is_sent_by_client();
  const auto is_left_out = [&](const Document& document, const Node* property) {
    return View(document, property).is_true(is_request ? "readOnly" : "writeOnly");
  };
  const std::vector<const Node*> old_properties = before.properties();
  const std::vector<const Node*> new_properties = after.properties();
  const auto named = [](const std::vector<const Node*>& properties) {
    std::unordered_map<std::string_view, const Node*> names;
    for (const Node* const property : properties) names.emplace(property->key, property);
    return names;
  };
  const auto old_names = named(old_properties);
  const auto new_names = named(new_properties);
  const auto old_required = before.required();
  const auto new_required = after.required();
  for (const Node* const property : old_properties) {
    const std::string name = "the property " + quoted(property->key);
    const auto found = new_names.find(property->key);
    const Node* const now = found == new_names.end() ? nullptr : found->second;
    const bool was_required = old_required.contains(property->key);
    if (is_left_out(before_, property)) continue;
    if (now == nullptr) {
      if (is_request) {
        note(after.is_closed() ? Change::Severity::Breaking : Change::Severity::Unclassified, "property-removed",
             name + " is gone" + (after.is_closed() ? ", and undeclared properties are not allowed" : ""), property,
             after.place("properties"));
      } else {
        note(was_required ? Change::Severity::Breaking : Change::Severity::Unclassified,
             was_required ? "required-property-removed" : "optional-property-removed",
             name + (was_required ? ", which was required, is gone" : " is gone"), property, after.place("properties"));
      }
      continue;
    }
    if (is_left_out(after_, now)) {
      note(Change::Severity::Unclassified, is_request ? "property-became-read-only" : "property-became-write-only",
           name + (is_request ? " is readOnly now" : " is writeOnly now"), property, now);
      continue;
    }
    compare(property, now, current_.direction);
    const bool is_required = new_required.contains(property->key);
    if (is_required && !was_required) {
      narrowed("property-became-required", name + " is required now", property, now);
    } else if (!is_required && was_required) {
      widened("property-became-optional", name + " is optional now", property, now);
    }
  }
  for (const Node* const property : new_properties) {
    if (old_names.contains(property->key) || is_left_out(after_, property)) continue;
    const bool is_required = new_required.contains(property->key);
    const std::string text =
        "there is a new " + std::string(is_required ? "required" : "optional") + " property " + quoted(property->key);
    if (is_request) {
      const bool was_required = old_required.contains(property->key);
      note(is_required && !was_required ? Change::Severity::Breaking : Change::Severity::NonBreaking,
           is_required ? "required-property-added" : "optional-property-added", text, before.place("properties"),
           property);
    } else {
      note(before.is_closed() ? Change::Severity::Unclassified : Change::Severity::NonBreaking, "property-added",
           text + (before.is_closed() ? ", and undeclared properties were not allowed" : ""),
           before.place("properties"), property);
    }
  }
  // A required property need not be declared. The result is sorted, because the input sets have no order.
  const auto undeclared = [](const auto& required, const auto& names, const auto& others) {
    std::set<std::string_view> found;
    for (const std::string_view name : required) {
      if (!names.contains(name) && !others.contains(name)) found.insert(name);
    }
    return found;
  };
  for (const std::string_view name : undeclared(new_required, new_names, old_required)) {
    narrowed("property-became-required", "the property " + quoted(name) + ", which is not declared, is required now",
             before.place("required"), after.place("required"));
  }
  for (const std::string_view name : undeclared(old_required, old_names, new_required)) {
    widened("property-became-optional", "the property " + quoted(name) + ", which was not declared, is optional now",
            before.place("required"), after.place("required"));
  }
  const Node* const old_others = before.find("additionalProperties");
  const Node* const new_others = after.find("additionalProperties");
  if (before.is_closed() != after.is_closed()) {
    if (after.is_closed()) {
      narrowed("additional-properties-forbidden", "properties that are not declared are no longer allowed",
               before.place("additionalProperties"), new_others);
    } else {
      widened("additional-properties-allowed", "properties that are not declared are allowed now", old_others,
              after.place("additionalProperties"));
    }
  } else if (!before.is_closed()) {
    const auto schema = [](const Node* others) {
      return others != nullptr && others->is(Kind::Map) ? others : nullptr;
    };
    if (schema(old_others) != nullptr || schema(new_others) != nullptr)
      compare(schema(old_others), schema(new_others), current_.direction);
  }
}

void SchemaDiff::compare_items(const View& before, const View& after) {
  const Node* const old_items = before.find("items");
  const Node* const new_items = after.find("items");
  compare(old_items, new_items, current_.direction);
  if (before.is_true("uniqueItems") == after.is_true("uniqueItems")) return;
  if (after.is_true("uniqueItems")) {
    narrowed("unique-items-added", "elements have to be unique now", before.schema, after.place("uniqueItems"));
  } else {
    widened("unique-items-removed", "elements need not be unique now", before.place("uniqueItems"),
            after.place("uniqueItems"));
  }
}

void SchemaDiff::compare_alternatives(const View& before, const View& after, std::string_view name) {
  const Node* const old_list = before.find(name);
  const Node* const new_list = after.find(name);
  if (old_list == nullptr && new_list == nullptr) return;
  const auto name_of = [](const Node* schema) {
    const std::string_view reference = schema->string("$ref");
    return reference.empty() ? std::string("the alternative ") + shown(*schema)
                             : "the alternative " + std::string(reference.substr(reference.rfind('/') + 1));
  };
  const auto is_same = [](const Node* a, const Node* b) {
    const std::string_view reference = a->string("$ref");
    if (reference.empty() || b->string("$ref").empty()) return are_equal(*a, *b);
    return reference.substr(reference.rfind('/') + 1) == b->string("$ref").substr(b->string("$ref").rfind('/') + 1);
  };
  const std::string list_name(name);
  if (old_list == nullptr || new_list == nullptr) {
    // A single schema became one of several alternatives, or one of several alternatives became the only schema.
    const Node* const list = old_list == nullptr ? new_list : old_list;
    const Node* const single = old_list == nullptr ? before.schema : after.schema;
    const bool is_there = single != nullptr && std::any_of(list->children.begin(), list->children.end(),
                                                           [&](const Node* one) { return is_same(one, single); });
    const Node* const old_place = before.place(name);
    const Node* const new_place = after.place(name);
    if (is_there && old_list == nullptr)
      return widened(list_name + "-added", "there are alternatives now: " + list_name, old_place, new_place);
    if (is_there)
      return narrowed(list_name + "-removed", "only one of the alternatives is left: " + list_name, old_place,
                      new_place);
    return note(Change::Severity::Unclassified, list_name + (old_list == nullptr ? "-added" : "-removed"),
                list_name + (old_list == nullptr ? " is new" : " is gone"), old_place, new_place);
  }
  std::vector<const Node*> old_left(old_list->children.begin(), old_list->children.end());
  std::vector<const Node*> new_left(new_list->children.begin(), new_list->children.end());
  std::erase_if(old_left, [&](const Node* one) {
    const auto same =
        std::find_if(new_left.begin(), new_left.end(), [&](const Node* other) { return is_same(one, other); });
    if (same == new_left.end()) return false;
    compare(one, *same, current_.direction);
    new_left.erase(same);
    return true;
  });
  if (old_left.size() == 1 && new_left.size() == 1 && old_left[0]->string("$ref").empty() &&
      new_left[0]->string("$ref").empty()) {
    return compare(old_left[0], new_left[0], current_.direction);
  }
  for (const Node* const one : old_left)
    narrowed(list_name + "-alternative-removed", name_of(one) + " is gone", one, new_list);
  for (const Node* const one : new_left)
    widened(list_name + "-alternative-added", name_of(one) + " is new", old_list, one);
}

void SchemaDiff::compare_rest(const View& before, const View& after) {
  // In an allOf, each part may have each of the following keywords. Each occurrence is a separate assertion, so an
  // additional occurrence is a further restriction.
  for (const std::string_view name :
       {"not", "if", "contains", "prefixItems", "propertyNames", "patternProperties", "dependentRequired",
        "dependentSchemas", "unevaluatedItems", "unevaluatedProperties"}) {
    std::vector<const Node*> old_ones = before.all(name);
    std::vector<const Node*> new_ones = after.all(name);
    std::erase_if(old_ones, [&](const Node* one) {
      const auto same = std::ranges::find_if(new_ones, [&](const Node* other) {
        return name == "if" ? are_same_conditions(*one, *other) : are_equal(*one, *other);
      });
      if (same == new_ones.end()) return false;
      new_ones.erase(same);
      return true;
    });
    if (old_ones.empty() && new_ones.empty()) continue;
    // A property that patternProperties describes is exempt from additionalProperties, and an element that prefixItems
    // describes is exempt from items. Without the exemption, the property or element may have been rejected.
    const bool may_allow_more =
        (name == "patternProperties" && (before.is_closed() || after.is_closed())) ||
        (name == "prefixItems" && (before.find("items") != nullptr || after.find("items") != nullptr));
    const std::string rule = std::string(name) + "-changed";
    if (old_ones.empty() && !may_allow_more) {
      narrowed(rule, std::string(name) + " is new", before.schema, new_ones[0]);
    } else if (new_ones.empty() && !may_allow_more) {
      widened(rule, std::string(name) + " is gone", old_ones[0], after.schema);
    } else {
      note(Change::Severity::Unclassified, rule,
           std::string(name) + (old_ones.empty()   ? " is new"
                                : new_ones.empty() ? " is gone"
                                                   : " has changed"),
           old_ones.empty() ? before.schema : old_ones[0], new_ones.empty() ? after.schema : new_ones[0]);
    }
  }
  for (const std::string_view name : {"contentEncoding", "contentMediaType", "discriminator"}) {
    const Node* const old_one = before.find(name);
    const Node* const new_one = after.find(name);
    if (old_one == nullptr && new_one == nullptr) continue;
    if (old_one != nullptr && new_one != nullptr && are_equal(*old_one, *new_one)) continue;
    note(Change::Severity::Unclassified, std::string(name) + "-changed",
         std::string(name) + (old_one == nullptr   ? " is new"
                              : new_one == nullptr ? " is gone"
                                                   : " has changed"),
         before.place(name), after.place(name));
  }
  if (!is_sent_by_client()) return;
  const Node* const old_default = before.find("default");
  const Node* const new_default = after.find("default");
  if (old_default == nullptr && new_default == nullptr) return;
  if (old_default != nullptr && new_default != nullptr && are_equal(*old_default, *new_default)) return;
  const std::string text = old_default == nullptr ? "the default is " + shown(*new_default) + " now"
                           : new_default == nullptr
                               ? "the default " + shown(*old_default) + " is gone"
                               : "the default was " + shown(*old_default) + " and is " + shown(*new_default) + " now";
  note(Change::Severity::Unclassified, "default-changed", text, before.place("default"), after.place("default"));
}

}  // namespace keel::openapi
