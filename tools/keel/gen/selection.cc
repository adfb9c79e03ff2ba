#include "gen/selection.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

#include "openapi/paths.h"

namespace keel::gen {

using openapi::Document;
using openapi::Node;
using openapi::Problems;

void select(Document& document, const std::vector<std::string>& operations, Problems& problems) {
  Node* const paths = document.root().find("paths");
  if (operations.empty() || paths == nullptr || !paths->is(openapi::Kind::Map)) return;
  const bool is_without = operations[0].starts_with('-');
  std::set<std::string, std::less<>> named;
  for (const std::string& one : operations) {
    if (one.starts_with('-') != is_without) {
      problems.error(document.root(), "operations are named, or left out with a '-' in front, not both");
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
  for (const std::string& one : named) {
    if (!met.contains(one)) problems.error(document.root(), "there is no operation " + openapi::quoted(one));
  }
}

}  // namespace keel::gen
