#include "gen/alternatives.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

namespace keel::gen {
namespace {

using openapi::Document;
using openapi::Kind;
using openapi::Node;
using openapi::Problems;

Kinds meant(const Document& document, const Node& schema, int depth) {
  const Facets facets = facets_of(document, core_of(document, schema));
  Kinds kinds = facets.meant();
  constexpr int depth_max = 16;
  if (depth > depth_max) return kinds;
  for (const Node* const source : facets.sources) {
    for (const std::string_view list : {"oneOf", "anyOf"}) {
      const Node* const all = source->find(list, Kind::List);
      if (all == nullptr) continue;
      Kinds together = 0;
      for (const Node* const one : all->children) together |= meant(document, *one, depth + 1);
      kinds &= together;
    }
  }
  return kinds;
}

constexpr std::array<Kinds, 5> groups = {boolean_kind, integer_kind | number_kind, string_kind, list_kind, object_kind};
// A part of the warning that the alternatives of a schema cannot be told apart.
constexpr const char* any_value = ", so the value is a json::Value: ";
constexpr std::array<std::string_view, 5> group_names = {"booleans", "numbers", "strings", "arrays", "objects"};

bool has_property(const Document& document, const Node& schema, std::string_view name, int depth) {
  const Node* const at = document.resolve(schema);
  constexpr int depth_max = 16;
  if (at == nullptr || depth > depth_max) return true;  // The alternative cannot be looked up.
  const Facets facets = facets_of(document, *at);
  if (facets.properties.contains(name)) return true;
  for (const Node* const source : facets.sources) {
    for (const std::string_view list : {"oneOf", "anyOf"}) {
      const Node* const parts = source->find(list, Kind::List);
      const auto has = [&](const Node* part) { return has_property(document, *part, name, depth + 1); };
      if (parts != nullptr && std::ranges::any_of(parts->children, has)) return true;
    }
  }
  return false;
}

class Chooser {
 public:
  Chooser(const Document& document, const std::vector<const Node*>& alternatives, const Node* discriminator,
          Problems& problems)
      : document_(document), alternatives_(alternatives), discriminator_(discriminator), problems_(problems) {}

  std::optional<Choice> run() {
    std::vector<int> objects;
    for (std::size_t i = 0; i < alternatives_.size(); ++i) {
      const Kinds kinds = kinds_meant(document_, *alternatives_[i]);
      for (std::size_t group = 0; group < groups.size(); ++group) {
        if ((kinds & groups[group]) == 0) continue;
        if (groups[group] == object_kind) {
          objects.push_back(static_cast<int>(i));
          continue;
        }
        int& taken = choice_.by_kind[group];
        if (taken != -1) return conflict(taken, static_cast<int>(i), group_names[group]);
        taken = static_cast<int>(i);
      }
    }
    if (objects.empty()) return choice_;
    choice_.by_kind[4] = objects[0];
    if (discriminator_ != nullptr) return by_discriminator(objects);
    if (objects.size() == 1) return choice_;
    for (const int i : objects) facets_[i] = facets_of(document_, core_of(document_, *alternatives_[at(i)]));
    if (by_value(objects)) return choice_;
    return by_name(objects);
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::optional<Choice> conflict(int first, int second, std::string_view what) {
    const Node& a = *alternatives_[at(first)];
    const Node& b = *alternatives_[at(second)];
    const std::string cure = what == "objects"
                                 ? "give them a discriminator or a required property with different constants, or give "
                                   "each a required property that the other does not have"
                                 : "combine them into one schema, or make them objects with a discriminator";
    return fail(b, "this alternative and the one at " + place_of(a) + " (" + pointer_of(a) +
                       ") cannot be told apart: both are " + std::string(what) + any_value + cure);
  }
  std::optional<Choice> fail(const Node& node, std::string text) {
    problems_.warning(node, std::move(text));
    return std::nullopt;
  }

  std::optional<Choice> by_discriminator(const std::vector<int>& objects) {
    choice_.way = Choice::Way::Value;
    choice_.property = std::string(discriminator_->string("propertyName"));
    std::map<std::string, int> cases;
    std::set<int> mapped;
    if (const Node* const mapping = discriminator_->find("mapping", Kind::Map)) {
      for (const Node* const one : mapping->children) {
        const int i = alternative_of(*one);
        if (i < 0) {
          return fail(*one, "the mapping of " + openapi::quoted(one->key) + " leads to none of the alternatives" +
                                any_value + "name one of them");
        }
        cases.emplace(std::string(one->key), i);
        mapped.insert(i);
      }
    }
    for (const int i : objects) {
      if (mapped.contains(i)) continue;
      const Node& alternative = *alternatives_[at(i)];
      const auto values = implied_values(alternative);
      if (values.empty()) {
        return fail(alternative, "nothing says which values of the discriminator " + openapi::quoted(choice_.property) +
                                     " lead to this alternative" + any_value +
                                     "write the alternative as a $ref, or give the property a const or an enum");
      }
      for (const std::string& value : values) {
        const auto [taken, is_new] = cases.emplace(value, i);
        if (is_new) continue;
        const Node& other = *alternatives_[at(taken->second)];
        return fail(alternative, "the value " + openapi::quoted(value) + " of the discriminator leads here and to " +
                                     place_of(other) + " (" + pointer_of(other) + ')' + any_value +
                                     "give the discriminator a mapping");
      }
    }
    choice_.cases.assign(cases.begin(), cases.end());
    return choice_;
  }
  // The values of the discriminator that lead to an alternative without a mapping: the alternative's name or,
  // if its schema allows only other values, those values.
  std::vector<std::string> implied_values(const Node& alternative) const {
    const auto constants = constants_of(facets_of(document_, core_of(document_, alternative)), choice_.property);
    const Node* const target = document_.target(alternative);
    if (target == nullptr) return constants.value_or(std::vector<std::string>());
    const std::string name(target->key);
    if (!constants || constants->empty() || std::ranges::find(*constants, name) != constants->end()) return {name};
    return *constants;
  }
  // The values to which the schema restricts a property, if all of them are strings.
  std::optional<std::vector<std::string>> constants_of(const Facets& facets, std::string_view name) const {
    const auto property = facets.properties.find(name);
    if (property == facets.properties.end()) return std::nullopt;
    std::optional<std::vector<std::string>> values;
    for (const Node* const node : property->second) {
      const Facets of = facets_of(document_, *node);
      if (!of.values) continue;
      values.emplace();
      for (const Node* const value : *of.values) {
        if (!value->is(Kind::String)) return std::nullopt;
        values->emplace_back(value->text);
      }
    }
    return values;
  }
  int alternative_of(const Node& mapped) const {
    const Node* target = document_.target(mapped);  // Not null if inheritance.h added the discriminator.
    const Node* const schemas = [&]() -> const Node* {
      const Node* const components = document_.root().find("components");
      return components == nullptr ? nullptr : components->find("schemas");
    }();
    if (target == nullptr && schemas != nullptr) target = schemas->find(mapped.text);
    if (target == nullptr) target = document_.look_up(mapped, mapped.text);
    for (std::size_t i = 0; target != nullptr && i < alternatives_.size(); ++i) {
      if (document_.target(*alternatives_[i]) == target || alternatives_[i] == target) return static_cast<int>(i);
    }
    return -1;
  }

  // Distinguishes the alternatives by a property that all of them require and whose constants differ.
  bool by_value(const std::vector<int>& objects) {
    for (const std::string_view name : names_of(*alternatives_[at(objects[0])], 0)) {
      std::map<std::string, int> cases;
      bool is_good = true;
      for (const int i : objects) {
        const auto values = required_constants(*alternatives_[at(i)], name, 0);
        is_good = is_good && values;
        if (!is_good) break;
        for (const std::string& value : *values) is_good = is_good && cases.emplace(value, i).second;
      }
      if (!is_good) continue;
      choice_.way = Choice::Way::Value;
      choice_.property = std::string(name);
      choice_.cases.assign(cases.begin(), cases.end());
      return true;
    }
    return false;
  }
  // If an alternative is itself a oneOf or an anyOf without properties, the list of its own alternatives; otherwise
  // null.
  const Node* inner_of(const Facets& facets, int depth) const {
    constexpr int depth_max = 16;
    if (depth > depth_max || !facets.properties.empty()) return nullptr;
    const Node* const one = facets.find("oneOf");
    const Node* const all = one != nullptr ? one : facets.find("anyOf");
    return all != nullptr && all->is(Kind::List) && !all->children.empty() ? all : nullptr;
  }
  // The names of the properties of an object; if the object has alternatives, those of the first alternative.
  std::vector<std::string_view> names_of(const Node& schema, int depth) const {
    const Facets facets = facets_of(document_, core_of(document_, schema));
    if (const Node* const inner = inner_of(facets, depth)) return names_of(*inner->children[0], depth + 1);
    std::vector<std::string_view> names;
    for (const auto& [name, nodes] : facets.properties) names.push_back(name);
    return names;
  }
  // The constants to which the schema restricts a required property.
  std::optional<std::vector<std::string>> required_constants(const Node& schema, std::string_view name,
                                                             int depth) const {
    const Facets facets = facets_of(document_, core_of(document_, schema));
    const Node* const inner = inner_of(facets, depth);
    if (inner == nullptr) return facets.required.contains(name) ? constants_of(facets, name) : std::nullopt;
    std::set<std::string> all;  // A set, because the inner alternatives may share values.
    for (const Node* const one : inner->children) {
      const auto values = required_constants(*one, name, depth + 1);
      if (!values) return std::nullopt;
      all.insert(values->begin(), values->end());
    }
    return std::vector<std::string>(all.begin(), all.end());
  }

  bool is_directed(const Facets& facets, std::string_view name) const {
    const auto property = facets.properties.find(name);
    return property != facets.properties.end() && std::ranges::any_of(property->second, [&](const Node* node) {
             const Facets of = facets_of(document_, *node);
             const auto is_set = [&](std::string_view keyword) {
               const Node* const flag = of.find(keyword);
               return flag != nullptr && flag->is(Kind::Boolean) && flag->is_true();
             };
             return is_set("readOnly") || is_set("writeOnly");
           });
  }

  // Distinguishes the alternatives by required properties that the other alternatives do not have; at most one
  // alternative may lack such a property.
  std::optional<Choice> by_name(const std::vector<int>& objects) {
    choice_.way = Choice::Way::Name;
    for (const int i : objects) {
      std::string_view found;
      for (const std::string_view name : facets_[i].required) {
        const bool is_own = std::none_of(objects.begin(), objects.end(), [&](int other) {
          return other != i && facets_[other].properties.contains(name);
        });
        // A request has no readOnly properties, and a response has no writeOnly properties.
        if (is_own && (found.empty() || is_directed(facets_[i], found))) found = name;
      }
      if (!found.empty()) {
        choice_.cases.emplace_back(std::string(found), i);
      } else if (choice_.otherwise != -1) {
        return conflict(choice_.otherwise, i, "objects");
      } else {
        choice_.otherwise = i;
      }
    }
    return choice_;
  }

  const Document& document_;
  const std::vector<const Node*>& alternatives_;
  const Node* discriminator_;
  Problems& problems_;
  Choice choice_;
  std::map<int, Facets> facets_;
};

}  // namespace

std::optional<Choice> choose(const Document& document, const std::vector<const Node*>& alternatives,
                             const Node* discriminator, Problems& problems) {
  return Chooser(document, alternatives, discriminator, problems).run();
}

bool have_property(const Document& document, const std::vector<const Node*>& alternatives,
                   const std::vector<const Node*>& places, const Node& discriminator, Problems& problems) {
  const std::string_view name = discriminator.string("propertyName");
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if ((kinds_meant(document, *alternatives[i]) & object_kind) == 0) continue;
    if (has_property(document, *alternatives[i], name, 0)) continue;
    problems.warning(*places[i], "the discriminator " + openapi::quoted(name) +
                                     " is not a property of this alternative" + any_value +
                                     "add the property to the alternative");
    return false;
  }
  return true;
}

bool has_no_style(const Document& document, const Node& schema) {
  const Kinds kinds = kinds_meant(document, schema);
  const int structured = kinds & (list_kind | object_kind);
  if (kinds == any_kind || structured == 0) return false;
  return (kinds & ~null_kind) == structured || facets_of(document, schema).find("oneOf") != nullptr;
}

Kinds kinds_meant(const Document& document, const Node& schema) { return meant(document, schema, 0); }

}  // namespace keel::gen
