#include "gen/selection.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "gen/inheritance.h"
#include "openapi/paths.h"

namespace keel::gen {

using openapi::Document;
using openapi::Node;
using openapi::Problems;

namespace {

// Finds the components that the rest of a document refers to.
class Search {
 public:
  explicit Search(Document& document) : document_(document), children_(children_of(document)) {}

  void add(const Node& node) { waiting_.push_back(&node); }
  void run() {
    while (!waiting_.empty()) {  // Iterative, because a chain of references may be longer than the stack.
      const Node& node = *waiting_.back();
      waiting_.pop_back();
      if (!found_.insert(&node).second) continue;
      for (const Node* const child : node.children) add(*child);
      if (const Node* const target = document_.target(node)) {
        add(component_of(*target));
        if (!is_of_child(document_, node)) add_children(node);
      }
      if (node.key == "mapping" && node.parent != nullptr && node.parent->key == "discriminator") add_mapping(node);
    }
  }
  bool has_found(const Node& node) const { return found_.contains(&node); }

 private:
  // A reference to a schema with a discriminator also allows the schemas that refer to that schema by `allOf`, so these
  // schemas are kept too.
  void add_children(const Node& reference) {
    const Node* const parent = document_.resolve(reference);
    const auto found = parent == nullptr || !is_parent(*parent) ? children_.end() : children_.find(parent);
    if (found == children_.end() || !expanded_.insert(parent).second) return;
    std::vector<const Node*> waiting(found->second.begin(), found->second.end());
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      add(component_of(*waiting[i]));
      const auto further = children_.find(waiting[i]);
      if (further == children_.end() || !expanded_.insert(waiting[i]).second) continue;
      waiting.insert(waiting.end(), further->second.begin(), further->second.end());
    }
  }
  void add_mapping(const Node& mapping) {
    const Node* const components = document_.root().find("components");
    const Node* const schemas = components == nullptr ? nullptr : components->find("schemas");
    for (const Node* const one : mapping.children) {
      const Node* schema = schemas == nullptr ? nullptr : schemas->find(one->text);
      if (schema == nullptr) schema = document_.look_up(*one, one->text);
      if (schema != nullptr) add(component_of(*schema));
    }
  }
  // The component that contains `node`, if there is one.
  const Node& component_of(const Node& node) const {
    for (const Node* at = &node; at->parent != nullptr && at->parent->parent != nullptr; at = at->parent) {
      const Node& components = *at->parent->parent;
      if (components.key == "components" && components.parent == &document_.root()) return *at;
    }
    return node;
  }

  const Document& document_;
  const Children children_;
  std::unordered_set<const Node*> expanded_;
  std::vector<const Node*> waiting_;
  std::unordered_set<const Node*> found_;
};

// Removes the components that nothing refers to.
void prune(Document& document) {
  Node* const components = document.root().find("components");
  if (components == nullptr || !components->is(openapi::Kind::Map)) return;
  Search search(document);
  for (const Node* const one : std::as_const(document).root().children) {
    if (one != components) search.add(*one);
  }
  search.run();
  for (Node* const kind : components->children) {
    if (kind->key == "securitySchemes" || !kind->is(openapi::Kind::Map)) continue;
    std::erase_if(kind->children, [&](const Node* one) { return !search.has_found(*one); });
    kind->index.reset();
  }
}

}  // namespace

void select(Document& document, const std::vector<std::string>& operations, Problems& problems) {
  Node* const paths = document.root().find("paths");
  if (operations.empty() || paths == nullptr || !paths->is(openapi::Kind::Map)) return;
  const bool is_without = operations[0].starts_with('-');
  std::set<std::string, std::less<>> named;
  for (const std::string& one : operations) {
    if (one.starts_with('-') != is_without) {
      problems.error(document.root(),
                     "name either the operations to generate or, with a '-' in front, those to leave out");
      return;
    }
    named.insert(one.substr(is_without ? 1 : 0));
  }
  std::set<std::string, std::less<>> met;
  std::set<const Node*> looked_at;
  const auto is_out = [&](const Node* operation) {
    if (std::ranges::find(openapi::methods, operation->key) == openapi::methods.end()) return false;
    const std::string_view id = operation->string("operationId");
    const bool is_named = named.contains(id);
    if (is_named) met.emplace(id);
    return is_named == is_without;
  };
  std::erase_if(paths->children, [&](Node* written) {
    Node* const item = document.resolve(*written);
    if (item == nullptr || !item->is(openapi::Kind::Map) || !written->key.starts_with('/')) return false;
    if (looked_at.insert(item).second) {
      std::erase_if(item->children, is_out);
      item->index.reset();
    }
    return std::ranges::none_of(openapi::methods,
                                [&](std::string_view method) { return item->find(method) != nullptr; });
  });
  paths->index.reset();
  prune(document);
  for (const std::string& one : named) {
    if (!met.contains(one)) problems.error(document.root(), "there is no operation " + openapi::quoted(one));
  }
}

void refuse_nul(const openapi::Node& node, openapi::Problems& problems) {
  if (node.key.contains('\0') || (node.is(openapi::Kind::String) && node.text.contains('\0'))) {
    problems.error(node, "a text with the character U+0000 is not supported");
  }
  for (const openapi::Node* const child : node.children) refuse_nul(*child, problems);
}

}  // namespace keel::gen
