#include "gen/inheritance.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "gen/alternatives.h"
#include "gen/facets.h"
#include "gen/media_types.h"

namespace keel::gen {
namespace {

using openapi::Document;
using openapi::Kind;
using openapi::Node;
using openapi::Problems;

// Returns a Node* for a Document&, and a const Node* for a const Document&; null if the document has no map of schemas.
auto* schemas_of(auto& document) {
  auto* const components = document.root().find("components");
  auto* const schemas = components == nullptr ? nullptr : components->find("schemas");
  return schemas != nullptr && schemas->is(Kind::Map) ? schemas : nullptr;
}

// Returns the schema that has this list of schemas. If a `nullable` of OpenAPI 3.0 was turned into alternatives
// (structure.h), that schema is one of the alternatives, not the list's parent.
Node* owner_of(const Node& list) {
  Node* const parent = list.parent;
  if (parent == nullptr || parent->find(list.key) == &list) return parent;
  const Node* const alternatives = parent->find("anyOf", Kind::List);
  if (alternatives == nullptr) return nullptr;
  const auto has_it = [&](const Node* one) { return one->find(list.key) == &list; };
  const auto found = std::ranges::find_if(alternatives->children, has_it);
  return found == alternatives->children.end() ? nullptr : *found;
}
// The `allOf`, `oneOf` or `anyOf` that the node is an element of; or null.
const Node* list_of(const Node& node, std::string_view keyword) {
  return node.parent != nullptr && node.parent->is(Kind::List) && node.parent->key == keyword ? node.parent : nullptr;
}

bool is_named(const Document& document, const Node& schema) {
  if (schema.file == document.root().file) {
    const Node* const schemas = schemas_of(document);
    return schemas != nullptr && schemas->find(schema.key) == &schema;  // Selected, too.
  }
  return schema.parent == nullptr || schema.parent->key == "schemas" || schema.parent->parent == nullptr;
}

std::string name_of(const Document& document, const Node& schema) {
  if (schema.parent != nullptr) return std::string(schema.key);
  if (const Node* const schemas = schemas_of(document)) {
    for (const Node* const one : schemas->children) {
      if (document.resolve(*one) == &schema) return std::string(one->key);
    }
  }
  return std::filesystem::path(*schema.file).stem().string();
}

// The strings to which the schema restricts the discriminator's property; nothing if it lists no values, or if one of
// them is not a string.
std::optional<std::set<std::string>> constants_of(const Document& document, const Node& schema,
                                                  std::string_view property) {
  const Facets facets = facets_of(document, schema);
  const auto found = facets.properties.find(property);
  if (found == facets.properties.end()) return std::nullopt;
  std::optional<std::set<std::string>> values;
  for (const Node* const node : found->second) {
    const Facets of = facets_of(document, *node);
    if (!of.values) continue;
    std::set<std::string> some;
    for (const Node* const value : *of.values) {
      if (!value->is(Kind::String)) return std::nullopt;
      some.emplace(value->text);
    }
    if (values) std::erase_if(some, [&](const std::string& one) { return !values->contains(one); });
    values = std::move(some);
  }
  return values;
}

class Following {
 public:
  Following(Document& document, Problems& problems)
      : document_(document), problems_(problems), children_(children_of(document)) {}

  void run() {
    std::vector<const Node*> sorted;
    for (const auto& [parent, children] : children_) {
      if (!is_parent(*parent)) continue;
      sorted.push_back(parent);
      std::vector<Node*> descendants;
      descend(*parent, descendants);
      has_parent_.insert(descendants.begin(), descendants.end());
    }
    std::ranges::sort(sorted, [&](const Node* a, const Node* b) { return place_of(*a) < place_of(*b); });
    for (const Node* const one : sorted) decide(*one);
    warn_of_mappings_alone();
    if (plans_.empty()) return;
    std::vector<Node*> references = document_.references();
    std::erase_if(references, [&](Node* one) { return plan_of(document_.resolve(*one)) == nullptr; });
    look_at_combinations(references);
    for (Node* const one : references) prepare(*one);
    for (const auto& [schema, plan] : plans_) {
      for (const auto& [alternative, values] : plan.alternatives) distinguish(*alternative);
    }
    for (const auto& [reference, plan] : redirected_) document_.redirect(*reference, *plan->plain);
    for (auto& [schema, plan] : plans_) change(plan);
    for (auto& [schema, plan] : plans_) {
      if (plan.is_type) register_plain(plan);
    }
    check_combinations();
  }

 private:
  struct Plan {
    Node* schema = nullptr;
    Node* plain = nullptr;
    bool is_type = false;  // Whether a reference uses the plain schema directly, not as a part of a child.
    std::vector<std::pair<Node*, std::set<std::string>>> alternatives;  // The alternatives, sorted by name.
  };
  // The key that orders nodes by their places in the documents, so that the output does not depend on addresses.
  static std::tuple<std::string, std::uint32_t, std::uint32_t> place_of(const Node& node) {
    return {*node.file, node.line, node.column};
  }
  Plan* plan_of(const Node* schema) {
    const auto found = schema == nullptr ? plans_.end() : plans_.find(schema);
    return found == plans_.end() ? nullptr : &found->second;
  }

  void warn(const Node& schema, const std::string& why) {
    problems_.warning(*schema.find("discriminator"), "the discriminator has no effect, and " +
                                                         openapi::quoted(name_of(document_, schema)) +
                                                         " is read without the members of its children: " + why);
  }

  void descend(const Node& schema, std::vector<Node*>& to) const {
    const auto found = children_.find(&schema);
    if (found == children_.end()) return;
    for (Node* const child : found->second) {
      if (std::ranges::find(to, child) != to.end()) continue;
      to.push_back(child);
      descend(*child, to);
    }
  }
  Node* mapped(const Node& entry) const {
    Node* const schemas = schemas_of(document_);
    Node* target = schemas == nullptr ? nullptr : schemas->find(entry.text);
    if (target == nullptr) target = document_.look_up(entry, entry.text);
    return target == nullptr ? nullptr : document_.resolve(*target);
  }

  // The values that lead to `schema` according to the plan of a descendant that is itself a parent.
  std::optional<std::set<std::string>> known_values(const std::vector<Node*>& descendants, const Node* schema) {
    for (const Node* const one : descendants) {
      const Plan* const plan = plan_of(one);
      if (plan == nullptr) continue;
      for (const auto& [alternative, values] : plan->alternatives) {
        if (alternative == schema) return values;
      }
    }
    return std::nullopt;
  }

  // Plans how a parent is converted; its descendants must already be planned.
  void decide(const Node& schema) {
    if (!decided_.insert(&schema).second) return;
    std::vector<Node*> descendants;
    descend(schema, descendants);
    for (const Node* const one : descendants) {
      if (is_parent(*one) && children_.contains(one)) decide(*one);
    }
    const std::string property(schema.find("discriminator")->string("propertyName"));
    const Node* const mapping = schema.find("discriminator")->find("mapping", Kind::Map);
    Node& itself = const_cast<Node&>(schema);
    std::map<Node*, std::set<std::string>> values;
    for (std::size_t i = 0; mapping != nullptr && i < mapping->children.size(); ++i) {
      const Node& entry = *mapping->children[i];
      Node* const target = mapped(entry);
      const bool is_family = target == &schema || std::ranges::find(descendants, target) != descendants.end();
      // For a child, the mapping counts only within its family, because a child often repeats the mapping of its
      // parent.
      if (target != nullptr && (is_family || !has_parent_.contains(&schema))) values[target].emplace(entry.key);
    }
    for (Node* const one : descendants) {
      if (values.contains(one)) continue;
      if (const auto known = known_values(descendants, one)) {
        values[one] = *known;
      } else if (!plans_.contains(one)) {
        const std::string name = name_of(document_, *one);
        const auto constants = constants_of(document_, *one, property);
        const bool is_by_name = !constants || constants->empty() || constants->contains(name);
        values[one] = is_by_name ? std::set<std::string>{name} : *constants;
      }
    }
    if (values.empty() || (values.size() == 1 && values.contains(&itself))) return;
    const Node* const abstract = schema.find("x-abstract", Kind::Boolean);
    if (mapping == nullptr && (abstract == nullptr || !abstract->is_true())) {
      const std::string name = name_of(document_, schema);
      const auto constants = constants_of(document_, schema, property);
      if (!constants || constants->contains(name)) values[&itself] = {name};
    }
    std::vector<std::pair<std::string, Node*>> sorted;
    for (const auto& [one, its] : values) sorted.emplace_back(name_of(document_, *one), one);
    std::ranges::sort(sorted, [](const auto& a, const auto& b) {
      return std::pair(a.first, place_of(*a.second)) < std::pair(b.first, place_of(*b.second));
    });
    std::map<std::string, std::string> taken;
    for (const auto& [name, one] : sorted) {
      if (kinds_meant(document_, *one) != object_kind)
        return warn(schema, openapi::quoted(name) + " allows values that are not objects");
      if (!facets_of(document_, *one).properties.contains(property)) {
        return warn(schema, openapi::quoted(property) + " is not a property of " + openapi::quoted(name));
      }
      for (const std::string& value : values[one]) {
        const auto [known, is_new] = taken.emplace(value, name);
        if (is_new) continue;
        return warn(schema, "the value " + openapi::quoted(value) + " leads to " + openapi::quoted(known->second) +
                                " and to " + openapi::quoted(name) + ": give the discriminator a mapping");
      }
    }
    Plan& plan = plans_[&schema];
    plan.schema = &itself;
    plan.plain = &document_.store().make_at(schema, Kind::Map);
    for (const auto& [name, one] : sorted) plan.alternatives.emplace_back(one, values[one]);
  }

  // Reports mappings without effect: many authors write a mapping of schemas that do not refer to the mapping's schema
  // by allOf.
  void warn_of_mappings_alone() {
    const Node* const schemas = schemas_of(document_);
    if (schemas == nullptr) return;
    for (const Node* const schema : schemas->children) {
      if (!is_parent(*schema) || children_.contains(schema) || has_parent_.contains(schema)) continue;
      const Node* const mapping = schema->find("discriminator")->find("mapping", Kind::Map);
      if (mapping == nullptr) continue;
      const auto is_other = [&](const Node* entry) { return mapped(*entry) != schema; };
      if (std::ranges::none_of(mapping->children, is_other)) continue;
      problems_.warning(*mapping, "the mapping has no effect: no schema has " + openapi::quoted(schema->key) +
                                      " in its allOf; write a oneOf of the mapped schemas next to the discriminator");
    }
  }

  void use_plain(const Node& reference, Plan& plan, bool is_type) {
    redirected_[&reference] = &plan;
    plan.is_type = plan.is_type || is_type;
  }

  // Decides whether a reference to a parent means the parent alone or also its children.
  void prepare(Node& reference) {
    Plan& plan = *plan_of(document_.resolve(reference));
    if (redirected_.contains(&reference)) return;
    const Node* const core = &core_of(document_, *plan.schema);
    if (const Node* const parts = list_of(reference, "allOf")) {
      const Node* const owner = owner_of(*parts);
      if (owner == nullptr) return;
      const bool is_part = list_of(*owner, "allOf") != nullptr;
      const bool is_whole = &core_of(document_, *owner) == core && !is_part && !is_named(document_, *owner);
      if (!is_whole) return use_plain(reference, plan, false);
      if (owner->find("default") != nullptr) return use_plain_with_warning(reference, plan, "a default");
      return;
    }
    if (&core_of(document_, reference) != core) return use_plain(reference, plan, false);
    if (reference.find("default") != nullptr) return use_plain_with_warning(reference, plan, "a default");
    const Node* const holder = reference.key == "schema" ? reference.parent : nullptr;
    if (holder == nullptr) return;
    if (holder->find("in") != nullptr && holder->find("name") != nullptr) {
      use_plain_with_warning(reference, plan, "a parameter");
    } else if (holder->parent != nullptr && holder->parent->key == "headers") {
      use_plain_with_warning(reference, plan, "a header");
    } else if (is_form(holder->key)) {
      use_plain_with_warning(reference, plan, "a form");
    }
  }
  void use_plain_with_warning(const Node& reference, Plan& plan, const std::string& where) {
    problems_.warning(reference,
                      openapi::quoted(name_of(document_, *plan.schema)) +
                          " is read without the members of its children: its discriminator has no effect in " + where);
    use_plain(reference, plan, true);
  }

  // A oneOf or an anyOf that has a parent as an alternative.
  struct Combination {
    Node* schema;
    const Node* list;
    std::vector<Node*> references;
  };
  bool can_choose(const Combination& one) const {
    Problems ignored;
    const std::vector<const Node*> all(one.list->children.begin(), one.list->children.end());
    return choose(document_, all, one.schema->find("discriminator", Kind::Map), ignored).has_value();
  }
  void look_at_combinations(const std::vector<Node*>& references) {
    std::vector<Combination> all;
    for (Node* const reference : references) {
      for (const std::string_view keyword : {"oneOf", "anyOf"}) {
        const Node* const list = list_of(*reference, keyword);
        Node* const owner = list == nullptr ? nullptr : owner_of(*list);
        if (owner == nullptr) continue;
        const auto known = std::ranges::find(all, list, &Combination::list);
        if (known != all.end()) {
          known->references.push_back(reference);
        } else {
          all.push_back({owner, list, {reference}});
        }
      }
    }
    for (Combination& one : all) {
      if (!can_choose(one)) continue;
      if (Node* const discriminator = one.schema->find("discriminator"); discriminator != nullptr) {
        for (Node* const reference : one.references) name_alternative(*discriminator, *reference);
      } else {
        combinations_.push_back(std::move(one));
      }
    }
  }
  // Makes this discriminator lead to the parent without its children: each value that leads to the parent is mapped to
  // the parent's plain schema.
  void name_alternative(Node& discriminator, const Node& reference) {
    Plan& plan = *plan_of(document_.resolve(reference));
    Node* mapping = discriminator.find("mapping");
    bool is_mapped = false;
    for (std::size_t i = 0; mapping != nullptr && i < mapping->children.size(); ++i) {
      const Node& entry = *mapping->children[i];
      if (mapped(entry) != plan.schema) continue;
      use_plain(entry, plan, true);
      is_mapped = true;
    }
    if (!is_mapped) {
      if (mapping == nullptr) mapping = &add(discriminator, "mapping", Kind::Map);
      const Node* const target = document_.target(reference);
      const std::string name(target->key);
      const auto constants = constants_of(document_, *plan.schema, discriminator.string("propertyName"));
      const bool is_by_name = !constants || constants->empty() || constants->contains(name);
      for (const std::string& value : is_by_name ? std::set<std::string>{name} : *constants) {
        use_plain(add(*mapping, document_.store().keep(value), Kind::String), plan, true);
      }
    }
    use_plain(reference, plan, true);
  }
  void check_combinations() {
    for (const Combination& one : combinations_) {
      if (can_choose(one)) continue;
      for (const Node* const reference : one.references) {
        Plan& plan = *plan_of(document_.resolve(*reference));
        use_plain_with_warning(*reference, plan, "a " + std::string(one.list->key) + " without a discriminator");
        document_.redirect(*reference, *plan.plain);
        register_plain(plan);
      }
    }
  }

  Node& add(Node& to, std::string_view key, Kind kind) {
    Node& made = document_.store().make_at(to, kind);
    made.key = key;
    made.parent = &to;
    to.children.push_back(&made);
    to.index.reset();
    return made;
  }
  // A child that adds no members must still get a different type than its parent.
  void distinguish(Node& schema) {
    if (&core_of(document_, schema) != &schema && schema.find("properties") == nullptr) {
      add(schema, "properties", Kind::Map);
    }
  }

  void register_plain(Plan& plan) {
    Node* const schemas = schemas_of(document_);
    if (schemas == nullptr || plan.plain->parent != schemas || schemas->find(plan.plain->key) != nullptr) return;
    schemas->children.push_back(plan.plain);
    schemas->index.reset();
  }
  void change(Plan& plan) {
    Node& schema = *plan.schema;
    Node& plain = *plan.plain;
    Node* const schemas = schemas_of(document_);
    std::string name = "Plain" + name_of(document_, schema);
    while (schemas != nullptr && schemas->find(name) != nullptr) name += '_';
    plain.key = document_.store().keep(name);
    plain.parent = schemas != nullptr ? schemas : schema.parent;
    std::vector<Node*> kept;
    Node* discriminator = nullptr;
    for (Node* const child : schema.children) {
      if (child->key == "discriminator") {
        discriminator = child;
        continue;
      }
      constexpr std::string_view of_both[] = {"title", "description", "deprecated", "externalDocs",
                                              "xml",   "readOnly",    "writeOnly",  "examples"};
      const bool is_annotation =
          child->key.starts_with("x-") || std::ranges::find(of_both, child->key) != std::end(of_both);
      if (is_annotation) kept.push_back(child);
      // The moved keywords keep the JSON Pointers of their places in the document.
      if (child->key != "readOnly" && child->key != "writeOnly") plain.children.push_back(child);
    }
    schema.children = std::move(kept);
    schema.index.reset();
    Node& alternatives = add(schema, "anyOf", Kind::List);
    Node& chosen = add(schema, "discriminator", Kind::Map);
    chosen.children.push_back(discriminator->find("propertyName"));
    Node& mapping = add(chosen, "mapping", Kind::Map);
    for (const auto& [alternative, values] : plan.alternatives) {
      Plan* const its = plan_of(alternative);
      Node& target = its == nullptr ? *alternative : *its->plain;
      if (its != nullptr) its->is_type = true;
      Node& reference = document_.store().make_at(schema, Kind::Map);
      reference.parent = &alternatives;
      alternatives.children.push_back(&reference);
      add(reference, "$ref", Kind::String).text = target.key;
      document_.redirect(reference, target);
      for (const std::string& value : values) {
        document_.redirect(add(mapping, document_.store().keep(value), Kind::String), target);
      }
    }
  }

  Document& document_;
  Problems& problems_;
  Children children_;
  std::set<const Node*> has_parent_;  // The descendants of a schema with a discriminator.
  std::set<const Node*> decided_;
  std::map<const Node*, Plan> plans_;
  std::map<const Node*, Plan*> redirected_;
  std::vector<Combination> combinations_;
};

}  // namespace

bool is_parent(const Node& schema) noexcept {
  return schema.find("discriminator", Kind::Map) != nullptr && schema.find("oneOf") == nullptr &&
         schema.find("anyOf") == nullptr;
}

bool is_of_child(const Document& document, const Node& reference) {
  const Node* const parts = list_of(reference, "allOf");
  const Node* const owner = parts == nullptr ? nullptr : owner_of(*parts);
  return owner != nullptr && is_named(document, *owner);
}

Children children_of(Document& document) {
  Children children;
  for (Node* const reference : document.references()) {
    if (!is_of_child(document, *reference)) continue;
    const Node* const parent = document.resolve(*reference);
    Node* const child = owner_of(*reference->parent);
    if (parent == nullptr || parent == child) continue;
    std::vector<Node*>& all = children[parent];
    if (std::ranges::find(all, child) == all.end()) all.push_back(child);
  }
  for (auto& [parent, all] : children) {
    std::ranges::sort(all, [&](const Node* a, const Node* b) {
      return std::pair(name_of(document, *a), *a->file) < std::pair(name_of(document, *b), *b->file);
    });
  }
  return children;
}

void follow_discriminators(Document& document, Problems& problems) {
  Following following(document, problems);
  following.run();
}

}  // namespace keel::gen
