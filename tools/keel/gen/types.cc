#include "gen/types.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "gen/checks.h"
#include "gen/cpp.h"
#include "gen/made.h"

namespace keel::gen {
namespace {

using openapi::Document;
using openapi::Kind;
using openapi::Node;

// Omits the file's folder, because the folder differs between machines.
std::string file_name(const Node& node) { return node.file->substr(node.file->rfind('/') + 1); }
constexpr std::string_view library = "keel::json::internal::";
constexpr std::size_t enumerators_max = 256;
constexpr std::size_t members_max = 1024;

bool is_flag(const Node* node, bool value) {
  return node != nullptr && node->is(Kind::Boolean) && node->is_true() == value;
}

struct Combination {
  const Node* source;
  const Node* list;
};

class Maker {
 public:
  explicit Maker(Types::State& state) : state_(state), document_(state.document) {}

  const Made* get(const Node& schema, std::string_view suggested) {
    const Node& core = core_of(document_, schema);
    if (says_nothing(core)) return scalar(Facets(), Shape::Any, "keel::json::Value", "any", nullptr);
    const auto known = state_.by_schema.find(&core);
    if (known != state_.by_schema.end()) {
      if (known->second != nullptr || state_.failed.contains(&core)) return known->second;
      return any(core);  // A list that contains itself without a struct in between has no C++ type.
    }
    constexpr int depth_max = 1000;
    if (depth_ == depth_max) {
      state_.problems.error(core, "schemas are nested more than 1,000 levels deep here");
      return nullptr;
    }
    state_.by_schema.emplace(&core, nullptr);
    ++depth_;
    const Made* const made = make(core, name_for(core, suggested));
    --depth_;
    state_.by_schema[&core] = made;
    if (made == nullptr) state_.failed.insert(&core);
    return made;
  }

 private:
  std::string name_for(const Node& core, std::string_view suggested) {
    const auto component = state_.component_names.find(&core);
    if (component != state_.component_names.end()) return component->second;
    // A named schema in another file keeps its name.
    const bool is_other = core.file != state_.document.root().file && is_named_place(core);
    return is_other ? pascal_of(core.key) : std::string(suggested);
  }
  static bool is_named_place(const Node& core) {
    return !core.key.empty() && core.parent != nullptr &&
           (core.parent->parent == nullptr || core.parent->key == "schemas");
  }

  Made& add(Shape shape, std::string spelling, std::string word) {
    Made& type = state_.types.emplace_back();
    type.shape = shape;
    type.spelling = std::move(spelling);
    type.word = std::move(word);
    return type;
  }
  Made& add_named(Shape shape, const Node& core, const std::string& name) {
    const bool is_component = state_.component_names.contains(&core);
    const std::string unique = is_component ? name : state_.names.type(name);
    Made& type = add(shape, unique, snake_of(unique));
    type.name = unique;
    type.schema = &core;
    type.read = std::string(library) + "read_itself<" + unique + '>';
    type.write = std::string(library) + "write_itself<" + unique + '>';
    state_.named.emplace(unique, &type);
    return type;
  }
  std::string ahead_of(const Node& schema) { return state_.name_schema(schema); }

  // Two schemas share an unnamed type if their values are read in the same way.
  const Made* scalar(const Facets& facets, Shape shape, std::string spelling, std::string word, const Node* ahead,
                     const Made* element = nullptr, std::string_view read = {}, std::string_view write = {}) {
    const Check check = ahead != nullptr ? Check() : check_of(facets, shape, spelling, word);
    const std::string plain_read(read.empty() ? std::string(library) + "read_value<" + spelling + '>' : read);
    const std::string suffix = ahead != nullptr     ? word + '_' + hash_of(file_name(*ahead) + pointer_of(*ahead))
                               : check.name.empty() ? std::string()
                                                    : check.name.substr(6);
    const std::string form = suffix + ' ' + word + ' ' + plain_read;
    if (const auto known = state_.by_form.find(form); known != state_.by_form.end()) return known->second;
    Made& type = add(shape, spelling, std::move(word));
    type.element = element;
    type.has_no_style = shape == Shape::Any && ahead != nullptr && has_no_style(document_, *ahead);
    type.read = plain_read;
    type.write = write.empty() ? std::string(library) + "write_value<" + spelling + '>' : std::string(write);
    if (!suffix.empty()) {
      const bool is_container = shape == Shape::List || shape == Shape::Map;
      // The word for an element's type does not say how the element is checked, so the name needs a hash.
      const bool is_element_checked = ahead == nullptr && plain_read.find(" internal::read_") != plain_read.npos;
      const std::string name = "read_" + suffix + (is_element_checked ? '_' + hash_of(plain_read) : "");
      type.read = "internal::" + name;
      const std::array<std::string, 3> parameters = {"keel::json::Reader& in", spelling + "& value",
                                                     "keel::Violations& wrong"};
      std::string body;
      if (ahead != nullptr) {
        type.ahead = ahead_of(*ahead);
        body = "  if (keel::contract::check_ahead(in, " + type.ahead + ", wrong)) {\n    " + plain_read +
               "(in, value, wrong);\n  } else {\n    in.skip();\n  }\n";
      } else {
        type.check = "internal::" + check.name;
        if (!check.limits.empty()) {
          type.limits = "internal::limits_" + suffix;
          state_.functions["limits_" + suffix] = {
              {}, call("constexpr of::Limits limits_" + suffix + " = ", check.limits, {}, ";")};
        }
        state_.functions[check.name] = {"keel::Complaint " + check.name + "(const " + spelling + "& value);\n",
                                        check.definition};
        body = "  " + plain_read + "(in, value, wrong);\n  judge" + (is_container ? "_container" : "") + "(in, " +
               check.name + "(value)" + (is_container ? ", wrong" : "") + ");\n";
      }
      state_.functions[name] = {call("void " + name, "(", parameters, ");"),
                                call("void " + name, "(", parameters, ") {") + body + "}\n"};
    }
    state_.by_form.emplace(form, &type);
    return &type;
  }
  const Made* any(const Node& core) { return scalar(Facets(), Shape::Any, "keel::json::Value", "any", &core); }
  const Made* nullable(const Made* inner) {
    if (inner == nullptr || inner->is_nullable || inner->shape == Shape::Any) return inner;
    const std::string form = "nullable " + inner->read + ' ' + inner->spelling;
    const auto known = state_.by_form.find(form);
    if (known != state_.by_form.end()) return known->second;
    Made& type = add(inner->shape, "std::optional<" + inner->spelling + '>', "nullable_" + inner->word);
    type.inner = inner;
    type.element = inner->element;
    type.is_nullable = true;
    type.check = inner->check;
    type.ahead = inner->ahead;
    const std::string arguments = '<' + inner->spelling + ", ";
    type.read = std::string(library) + "read_nullable" + arguments + inner->read + '>';
    type.write = std::string(library) + "write_nullable" + arguments + inner->write + '>';
    state_.by_form.emplace(form, &type);
    return &type;
  }

  const Made* make(const Node& core, const std::string& name) {
    if (!core.is(Kind::Map)) return any(core);
    Facets facets = facets_of(document_, core);
    if (facets.is_never) return any(core);
    std::vector<Combination> combinations;
    for (const Node* const source : facets.sources) {
      for (const std::string_view keyword : {"oneOf", "anyOf"}) {
        if (const Node* const list = source->find(keyword, Kind::List)) combinations.push_back({source, list});
      }
    }
    if (combinations.size() == 1) return combined(core, std::move(facets), combinations[0], name);
    return plain(core, facets, facets.meant(), !combinations.empty(), name);
  }

  const Made* combined(const Node& core, Facets facets, const Combination& combination, const std::string& name) {
    int nulls = 0;  // The number of alternatives that accept null, even if they also accept other kinds.
    std::vector<const Node*> alternatives;
    for (const Node* const one : combination.list->children) {
      const Kinds kinds = kinds_meant(document_, *one);
      if (kinds != any_kind && (kinds & null_kind) != 0) ++nulls;
      if (kinds == null_kind) continue;
      const Node* const target = &core_of(document_, *one);
      const auto is_same = [&](const Node* other) { return &core_of(document_, *other) == target; };
      if (std::ranges::none_of(alternatives, is_same)) alternatives.push_back(one);
    }
    const bool has_null =
        (nulls == 1 || (nulls > 1 && combination.list->key == "anyOf")) && (facets.kinds & null_kind) != 0;
    const auto with_null = [&](const Made* made) {
      // The check that precedes the reading of a json::Value must know whether null is allowed.
      if (has_null && made != nullptr && made->shape == Shape::Any && !made->ahead.empty()) return any(core);
      return has_null ? nullable(made) : made;
    };

    Kinds together = 0;
    bool is_shapeless = alternatives.empty();
    for (const Node* const one : alternatives) {
      const Kinds kinds = kinds_meant(document_, *one);
      together |= kinds;
      is_shapeless = is_shapeless || kinds == any_kind;
    }
    if (is_shapeless) return plain(core, facets, facets.meant(), true, name);
    const auto values = alternatives.size() > 1 ? constants(alternatives) : std::nullopt;
    if (values) {
      facets.values = values;
      return with_null(plain(core, facets, string_kind, false, name));
    }
    if (alternatives.size() == 1 && facets.has_any({"unevaluatedProperties"})) return any(core);
    const Node* const base = base_of(facets, combination, alternatives);
    if (alternatives.size() == 1) {
      const Made* const one = get(base == nullptr ? *alternatives[0] : merge({base, alternatives[0]}), name);
      // If !has_null, null is invalid: two alternatives of a oneOf match it, or the surrounding schema excludes it.
      if (one == nullptr || has_null) return with_null(one);
      return one->shape != Shape::Any ? &value_type(*one) : nulls == 0 ? one : any(core);
    }
    together &= static_cast<Kinds>(~null_kind);
    for (const Kinds group : {boolean_kind, string_kind, static_cast<Kinds>(integer_kind | number_kind)}) {
      if ((together & ~group) != 0) continue;
      facets.values.reset();
      return plain(core, facets, static_cast<Kinds>(together | (has_null ? null_kind : 0)), true, name);
    }
    return with_null(variant(core, facets, combination, base, std::move(alternatives), name));
  }

  // Returns the constants of the alternatives, if all alternatives are constant texts.
  std::optional<Facets::Nodes> constants(const std::vector<const Node*>& alternatives) const {
    Facets::Nodes values;
    for (const Node* const one : alternatives) {
      const Facets facets = facets_of(document_, *one);
      if (!facets.values || facets.values->empty()) return std::nullopt;
      for (const Node* const value : *facets.values) {
        if (!value->is(Kind::String)) return std::nullopt;
        const bool is_known = std::ranges::any_of(values, [&](const Node* it) { return it->text == value->text; });
        if (!is_known) values.push_back(value);
      }
    }
    return values;
  }

  // Returns the schema that a value must match in addition to an alternative; null if there is none.
  const Node* base_of(const Facets& facets, const Combination& combination,
                      const std::vector<const Node*>& alternatives) {
    std::vector<const Node*> parts;
    for (const Node* const source : facets.sources) {
      Node& copy = document_.store().make_at(*source, Kind::Map);
      copy.parent = source->parent;
      copy.key = source->key;
      bool has_more = false;
      for (Node* const member : source->children) {
        if (member == combination.list || member->key == "$ref" || member->key == "allOf") continue;
        if (member->key == "unevaluatedProperties") continue;  // This keyword is checked with the alternatives.
        copy.children.push_back(member);
        has_more = has_more || member->key != "type";
      }
      if (says_nothing(copy)) continue;
      Node rest = copy;
      std::erase_if(rest.children, [](const Node* member) { return member->key == "type"; });
      const bool is_type_alone = !has_more || says_nothing(rest);
      const Facets of_copy = facets_of(document_, copy);
      const bool is_covered = std::all_of(alternatives.begin(), alternatives.end(), [&](const Node* one) {
        return (kinds_meant(document_, *one) & ~(of_copy.kinds | null_kind)) == 0;
      });
      if (is_type_alone && is_covered) continue;
      parts.push_back(&copy);
    }
    if (parts.empty()) return nullptr;
    return parts.size() == 1 ? parts[0] : &merge(parts);
  }

  // Returns the schema {allOf: parts}; the same parts always give the same schema.
  const Node& merge(const std::vector<const Node*>& parts) {
    const Node*& known = state_.merged[parts];
    if (known != nullptr) return *known;
    Node& list = document_.store().make_at(*parts[0], Kind::List);
    for (const Node* const part : parts) list.children.push_back(const_cast<Node*>(part));
    list.key = "allOf";
    Node& all = document_.store().make_at(*parts.back(), Kind::Map);
    all.parent = parts.back()->parent;
    all.key = parts.back()->key;
    all.children = {&list};
    list.parent = &all;
    return *(known = &all);
  }

  const Made* variant(const Node& core, const Facets& facets, const Combination& combination, const Node* base,
                      std::vector<const Node*> alternatives, const std::string& name) {
    bool is_ahead =
        facets.has_any(keywords_ahead) || facets.has_any({"unevaluatedProperties"}) || facets.values.has_value();
    const std::size_t count = alternatives.size();
    for (const Kinds group : {string_kind, static_cast<Kinds>(integer_kind | number_kind)}) {
      is_ahead = join(alternatives, group) || is_ahead;
    }
    const std::vector<const Node*> alone = alternatives;
    if (base != nullptr && alternatives.size() == count) {
      for (const Node*& one : alternatives) one = &merge({base, one});
    } else if (base != nullptr) {
      is_ahead = true;
    }
    const Node* discriminator = nullptr;
    for (const Node* const source : facets.sources) {
      if (discriminator == nullptr) discriminator = source->find("discriminator", Kind::Map);
    }
    if (discriminator != nullptr && !have_property(document_, alternatives, alone, *discriminator, state_.problems)) {
      return any(core);
    }
    if (discriminator != nullptr && base != nullptr) {
      // The discriminator's mapping refers to the alternatives as written, not as merged with `base`.
      std::vector<const Node*> written;
      for (const Node* const one : alternatives) {
        written.push_back(one->find("allOf", Kind::List) != nullptr ? one->find("allOf")->children.back() : one);
      }
      const auto choice = choose(document_, written, discriminator, state_.problems);
      return choice ? variant_of(core, alternatives, *choice, is_ahead, name) : any(core);
    }
    const bool is_any = combination.list->key == "anyOf" && discriminator == nullptr;
    openapi::Problems ignored;
    const auto choice = choose(document_, alternatives, discriminator, is_any ? ignored : state_.problems);
    // If no kind of value leads to any alternative, the type is Any.
    if (choice && std::ranges::all_of(choice->by_kind, [](int i) { return i == -1; })) return any(core);
    // If true, an object may have the required members of two alternatives.
    const bool is_by_name = choice && choice->way == Choice::Way::Name && choice->otherwise == -1;
    if (!choice) return any(core);
    const Made* const made = variant_of(core, alternatives, *choice, is_ahead, name);
    if (made != nullptr && is_by_name && combination.list->key == "oneOf" && !is_ahead) {
      state_.named.at(made->name)->ahead_of_several = ahead_of(core);
    }
    // An object may have the member of one alternative but match a later alternative.
    if (made != nullptr && is_any && choice->way == Choice::Way::Name) {
      for (std::size_t i = 0; i < alone.size(); ++i) {
        if ((kinds_meant(document_, *alone[i]) & object_kind) == 0) continue;
        state_.named.at(made->name)->ahead_of_each.emplace_back(i, ahead_of(core_of(document_, *alone[i])));
      }
    }
    return made;
  }
  // Merges several alternatives that are all strings, or all numbers. Returns whether it merged any alternatives.
  bool join(std::vector<const Node*>& alternatives, Kinds group) {
    const auto is_of_group = [&](const Node* one) { return (kinds_meant(document_, *one) & ~group) == 0; };
    if (std::count_if(alternatives.begin(), alternatives.end(), is_of_group) < 2) return false;
    const auto first = std::find_if(alternatives.begin(), alternatives.end(), is_of_group);
    const bool is_whole = std::all_of(alternatives.begin(), alternatives.end(), [&](const Node* one) {
      return !is_of_group(one) || (kinds_meant(document_, *one) & number_kind) == 0;
    });
    Node& type = document_.store().make_at(**first, Kind::String,
                                           group == string_kind ? "string"
                                           : is_whole           ? "integer"
                                                                : "number");
    type.key = "type";
    Node& schema = document_.store().make_at(**first, Kind::Map);
    schema.parent = (*first)->parent;
    schema.key = (*first)->key;
    schema.children = {&type};
    type.parent = &schema;
    *first = &schema;
    alternatives.erase(std::remove_if(first + 1, alternatives.end(), is_of_group), alternatives.end());
    return true;
  }
  const Made* variant_of(const Node& core, const std::vector<const Node*>& alternatives, const Choice& choice,
                         bool is_ahead, const std::string& name) {
    Made& type = add_named(Shape::Variant, core, name);
    state_.by_schema[&core] = &type;
    type.choice = choice;
    if (is_ahead) type.ahead = ahead_of(core);
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      const std::string_view title = alternatives[i]->string("title");
      const Made* const one =
          get(*alternatives[i], type.name + (title.empty() ? "Option" + std::to_string(i + 1) : pascal_of(title)));
      if (one == nullptr) return nullptr;
      type.alternatives.push_back(&value_type(*one));
    }
    return &type;
  }

  // The type of a schema without alternatives, or of a schema whose alternatives are checked before reading.
  const Made* plain(const Node& core, const Facets& facets, Kinds kinds, bool is_ahead, const std::string& name) {
    is_ahead = is_ahead || facets.has_any(keywords_ahead);
    const bool has_null = kinds != any_kind && (kinds & null_kind) != 0;
    kinds &= static_cast<Kinds>(~null_kind);
    const Made* made = nullptr;
    if (kinds == boolean_kind) {
      made = scalar(facets, Shape::Boolean, "bool", "boolean", is_ahead ? &core : nullptr);
    } else if (kinds == integer_kind) {
      const auto [spelling, word] = integer_of(facets);
      made = scalar(facets, Shape::Integer, spelling, word, is_ahead ? &core : nullptr);
    } else if (kinds != 0 && (kinds & ~(integer_kind | number_kind)) == 0) {
      const bool is_float = format_of(facets) == "float";
      made = scalar(facets, Shape::Number, is_float ? "float" : "double", is_float ? "float" : "double",
                    is_ahead ? &core : nullptr);
    } else if (kinds == string_kind) {
      made = text(core, facets, is_ahead, name);
    } else if (kinds == list_kind) {
      made = list(core, facets, is_ahead, name);
    } else if (kinds == object_kind) {
      return object(core, facets, is_ahead, has_null, name);
    } else {
      return any(core);
    }
    return has_null ? nullable(made) : made;
  }

  std::string_view format_of(const Facets& facets) const {
    const Node* const format = facets.find("format");
    return format == nullptr ? std::string_view() : format->text;
  }
  std::pair<std::string, std::string> integer_of(const Facets& facets) const {
    const std::string_view format = format_of(facets);
    for (const std::string_view known : {"int32", "uint32", "uint64"}) {
      if (format == known) return {"std::" + std::string(known) + "_t", std::string(known)};
    }
    return {"std::int64_t", "int64"};
  }

  const Made* text(const Node& core, const Facets& facets, bool is_ahead, const std::string& name) {
    // An enumerator needs a name, so an enum that contains the value "" becomes a text.
    const bool has_names =
        facets.values && std::ranges::none_of(*facets.values, [](const Node* one) { return one->text.empty(); });
    if (has_names && !is_ahead && facets.values->size() <= enumerators_max && facets.find("enum") != nullptr &&
        !facets.has_any({"pattern", "minLength", "maxLength"})) {
      Facets::Nodes values = *facets.values;
      std::erase_if(values, [](const Node* value) { return !value->is(Kind::String); });
      if (!values.empty()) return enumeration(core, values, name);
    }
    if (has_names && facets.find("enum") == nullptr && facets.find("const") == nullptr) {
      return enumeration(core, *facets.values, name);  // A oneOf of constants is an enum, too.
    }
    const std::string_view format = format_of(facets);
    const bool is_checked = facets.values || facets.has_any({"pattern", "minLength", "maxLength"});
    const Node* const ahead = is_ahead || is_checked ? &core : nullptr;
    if (format == "uuid") return scalar(facets, Shape::Text, "keel::Uuid", "uuid", ahead);
    if (format == "date-time") return scalar(facets, Shape::Text, "keel::Timestamp", "timestamp", ahead);
    if (format == "date") return scalar(facets, Shape::Text, "keel::Date", "date", ahead);
    if (format == "decimal") return scalar(facets, Shape::Text, "keel::Decimal", "decimal", ahead);
    if (format == "byte") return scalar(facets, Shape::Bytes, "std::vector<std::byte>", "bytes", ahead);
    if (format == "binary") {
      if (is_ahead || facets.values || facets.find("pattern") != nullptr) {
        state_.problems.error(core, "a string of the format binary is bytes: only the number of bytes can be limited");
        return nullptr;
      }
      return scalar(facets, Shape::File, "std::vector<std::byte>", "file", nullptr);
    }
    return scalar(facets, Shape::String, "std::string", "string", is_ahead ? &core : nullptr);
  }
  const Made* enumeration(const Node& core, const Facets::Nodes& values, const std::string& name) {
    Made& type = add_named(Shape::Enum, core, name);
    for (const Node* const value : values) {
      if (std::ranges::find(type.wire_names, value->text) != type.wire_names.end()) continue;
      type.wire_names.push_back(value->text);
    }
    type.enumerators = distinct(type.wire_names, pascal_of);
    type.read = std::string(library) + "read_value<" + type.name + '>';
    type.write = std::string(library) + "write_value<" + type.name + '>';
    return &type;
  }

  const Made* list(const Node& core, const Facets& facets, bool is_ahead, const std::string& name) {
    std::vector<const Node*> items;
    for (const Node* const source : facets.sources) {
      const Node* const one = source->find("items");
      if (one != nullptr && !says_nothing(*one)) items.push_back(one);
    }
    const bool is_tuple = facets.find("prefixItems") != nullptr;
    const Made* const element = is_tuple || items.empty()
                                    ? scalar(Facets(), Shape::Any, "keel::json::Value", "any", nullptr)
                                    : get(items.size() == 1 ? *items[0] : merge(items), name + "Item");
    if (element == nullptr) return nullptr;
    const bool is_unique_known = element->spelling == "std::string" || element->spelling == "std::int32_t" ||
                                 element->spelling == "std::int64_t" || element->spelling == "double" ||
                                 (element->shape == Shape::Enum && !element->is_nullable);
    is_ahead = is_ahead || facets.values || (facets.find("uniqueItems") != nullptr && !is_unique_known);
    const std::string arguments = '<' + element->spelling + ", ";
    return scalar(facets, Shape::List, "std::vector<" + element->spelling + '>', "list_of_" + element->word,
                  is_ahead ? &core : nullptr, element,
                  std::string(library) + "read_list" + arguments + element->read + '>',
                  std::string(library) + "write_list" + arguments + element->write + '>');
  }

  const Made* object(const Node& core, const Facets& facets, bool is_ahead, bool has_null, const std::string& name) {
    // If several schemas of an allOf restrict additional members, each schema considers only its own properties.
    std::size_t closed = 0;
    std::size_t open = 0;
    const Node* additional = nullptr;
    for (const Node* const source : facets.sources) {
      const Node* const one = source->find("additionalProperties");
      if (one != nullptr && !is_flag(one, true)) {
        ++closed;
        additional = one;
      } else if (source->find("properties") != nullptr || source->find("required") != nullptr) {
        ++open;
      }
    }
    is_ahead = is_ahead || closed > 1 || (closed == 1 && open != 0) || facets.values.has_value();
    // A required member that no property describes counts as an additional member.
    is_ahead =
        is_ahead ||
        ((closed != 0 || facets.find("unevaluatedProperties") != nullptr) &&
         std::ranges::any_of(facets.required, [&](std::string_view one) { return !facets.properties.contains(one); }));
    bool is_strict = is_flag(additional, false);
    // On the schema itself, unevaluatedProperties sees all merged properties; on a part, it sees only some of them.
    const auto unevaluated = [](const Node* source) { return source->find("unevaluatedProperties"); };
    const bool sees_all =
        std::ranges::count_if(facets.sources, [&](const Node* one) { return unevaluated(one) != nullptr; }) == 1 &&
        facets.find("additionalProperties") == nullptr;
    if (is_flag(unevaluated(&core), false) && sees_all && !is_ahead) {
      is_strict = true;
    } else if (std::ranges::any_of(facets.sources, [&](const Node* one) {
                 return unevaluated(one) != nullptr && !is_flag(unevaluated(one), true);
               })) {
      is_ahead = true;
    }
    if (is_ahead) is_strict = false;
    // Members whose names match a pattern may have different types, so they are checked as a part of the value.
    const bool has_patterns = facets.has_any({"patternProperties"});
    const auto any_value = [&] { return scalar(Facets(), Shape::Any, "keel::json::Value", "any", nullptr); };
    const bool is_map =
        facets.properties.empty() && facets.required.empty() && (has_patterns || !is_flag(additional, false));
    if (is_map) {
      const bool is_typed = additional != nullptr && closed == 1 && !has_patterns;
      const Made* const element = is_typed ? get(*additional, name + "Value") : any_value();
      if (element == nullptr) return nullptr;
      const std::string arguments = '<' + element->spelling + ", ";
      const Made* const map = scalar(facets, Shape::Map, "std::map<std::string, " + element->spelling + '>',
                                     "map_of_" + element->word, is_ahead ? &core : nullptr, element,
                                     std::string(library) + "read_map" + arguments + element->read + '>',
                                     std::string(library) + "write_map" + arguments + element->write + '>');
      return has_null ? nullable(map) : map;
    }
    is_ahead = is_ahead || facets.has_any({"minProperties", "maxProperties"});

    Made& type = add_named(Shape::Struct, core, name);
    const Made* const result = has_null ? nullable(&type) : &type;
    state_.by_schema[&core] = result;
    type.is_strict = is_strict && !is_ahead;
    if (is_ahead) type.ahead = ahead_of(core);
    // The names of functions that the struct's functions call.
    std::vector<std::string_view> taken = {
        "read_empty_object",  "read_json",   "read_object",     "read_wide_object", "write_json",
        "write_list",         "write_map",   "write_members",   "write_object",     "write_nullable",
        "write_nullable_box", "write_patch", "write_patch_box", "write_value"};
    if (has_patterns || (additional != nullptr && closed == 1 && additional->is(Kind::Map))) {
      type.additional = has_patterns ? any_value() : get(*additional, type.name + "Additional");
      if (type.additional == nullptr) return nullptr;
      type.others = type.additional;
      type.additional_name = "additional";
      taken.push_back(type.additional_name);
    }
    return members(type, facets, taken) ? result : nullptr;
  }

  bool members(Made& type, const Facets& facets, std::vector<std::string_view>& taken) {
    std::map<std::string_view, Facets::Nodes> properties = facets.properties;
    for (const std::string_view name : facets.required) properties.try_emplace(name);
    if (properties.size() > members_max) {
      state_.problems.error(*type.schema, "the object has " + std::to_string(properties.size()) +
                                              " properties: at most 1,024 are supported");
      return false;
    }
    if (properties.size() > 40) taken.push_back("fields");
    std::vector<std::string_view> json;
    for (const auto& [name, nodes] : properties) json.push_back(name);
    const std::vector<std::string> names = distinct(json, snake_of, taken);
    bool is_good = true;
    std::vector<Member> made;
    std::size_t i = 0;
    for (const auto& [name, nodes] : properties) {
      Member member;
      member.name = names[i++];
      member.json = std::string(name);
      is_good = describe(type, member, nodes, facets.required.contains(name)) && is_good;
      made.push_back(std::move(member));
    }
    type.members = std::move(made);
    return is_good;
  }
  bool describe(const Made& owner, Member& member, const Facets::Nodes& nodes, bool is_required) {
    Facets::Nodes telling;
    for (const Node* const node : nodes) {
      const Node* const core = &core_of(document_, *node);
      const auto is_same = [&](const Node* other) { return &core_of(document_, *other) == core; };
      if (!says_nothing(*core) && std::ranges::none_of(telling, is_same)) telling.push_back(node);
    }
    if (telling.empty() && !nodes.empty()) telling.push_back(nodes[0]);
    member.schema = telling.empty() ? owner.schema : nodes[0];
    const Made* const type =
        telling.empty() ? scalar(Facets(), Shape::Any, "keel::json::Value", "any", nullptr)
                        : get(telling.size() == 1 ? *telling[0] : merge(telling), owner.name + pascal_of(member.json));
    if (type == nullptr) return false;
    member.type = type;
    const Node* initial = nullptr;
    std::optional<Facets::Nodes> values;
    for (const Node* const node : nodes) {
      const Facets facets = facets_of(document_, *node);
      if (initial == nullptr) initial = facets.find("default");
      member.is_read_only = member.is_read_only || is_flag(facets.find("readOnly"), true);
      member.is_write_only = member.is_write_only || is_flag(facets.find("writeOnly"), true);
      if (facets.values) values = facets.values;
    }
    member.must_come = is_required;
    if (initial != nullptr && (!initial->is(Kind::Null) || type->is_nullable || type->shape == Shape::Any)) {
      member.presence = Presence::Default;
      member.initialiser = state_.literal_of(*type, *initial);
      return !member.initialiser.empty();
    }
    if (!is_required || member.is_write_only) {
      member.presence = type->is_nullable ? Presence::Patch : Presence::Optional;
      if (type->is_nullable) member.type = type->inner;
    } else if (type->is_nullable) {
      member.presence = Presence::Nullable;
    } else if (member.is_read_only) {
      member.presence = Presence::Default;
      member.initialiser = "{}";
    } else if (values && values->size() == 1 && type->shape != Shape::Enum && !(*values)[0]->is(Kind::Null)) {
      member.initialiser = state_.literal_of(*type, *(*values)[0]);
    }
    return true;
  }

  Types::State& state_;
  Document& document_;
  int depth_ = 0;
};

}  // namespace

Types::Types(openapi::Document& document, openapi::Problems& problems, Names& names)
    : state_(new State(document, problems, names)) {
  const Node* const components = std::as_const(document).root().find("components");
  const Node* const schemas = components == nullptr ? nullptr : components->find("schemas", Kind::Map);
  if (schemas != nullptr) {
    std::vector<std::string_view> keys;
    for (const Node* const one : schemas->children) keys.push_back(one->key);
    // Names of functions that the definitions call.
    static constexpr std::string_view taken[] = {"Members", "ReadField", "ReadTable", "WideMembers", "WideTable"};
    const std::vector<std::string> spelled = distinct(keys, pascal_of, taken);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      names.take(spelled[i]);
      state_->component_names.emplace(schemas->children[i], spelled[i]);
    }
  }
  state_->name_schema = [](const Node& schema) { return "schema_" + hash_of(file_name(schema) + pointer_of(schema)); };
}
Types::~Types() = default;

void Types::set_name_schema(NameSchema name_schema) { state_->name_schema = std::move(name_schema); }

const Type* Types::type_of(const Node& schema, std::string_view suggested) {
  const std::size_t errors = state_->problems.errors();
  const Type* const type = Maker(*state_).get(schema, suggested);
  return state_->problems.errors() == errors ? type : nullptr;
}

std::string Types::literal_of(const Type& type, const Node& value) { return state_->literal_of(type, value); }

}  // namespace keel::gen
