// The part of lint() that checks paths, operations and their parameters.

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "keel/base/ascii.h"
#include "openapi/lint.h"
#include "openapi/paths.h"

namespace keel::openapi {
namespace {

constexpr std::size_t compared_paths_max = 3000;

// Whether some text matches both segments, neither of which has more than one parameter.
bool can_meet(const Segment& a, const Segment& b) {
  if (!a.is_parameter() && !b.is_parameter()) return a.before == b.before;
  const auto share = [](std::string_view one, std::string_view other, bool is_prefix) {
    if (one.size() > other.size()) std::swap(one, other);
    return is_prefix ? other.starts_with(one) : other.ends_with(one);
  };
  if (a.is_parameter() && b.is_parameter()) {
    return share(a.before, b.before, true) && share(a.after, b.after, false);
  }
  const Segment& parameter = a.is_parameter() ? a : b;
  const std::string_view text = a.is_parameter() ? b.before : a.before;
  return text.size() > parameter.before.size() + parameter.after.size() && text.starts_with(parameter.before) &&
         text.ends_with(parameter.after);
}
// The number of bytes of text around the parameter: the router tries segments with more bytes first.
std::size_t text_around(const Segment& segment) {
  return segment.is_parameter() ? segment.before.size() + segment.after.size() : std::string_view::npos;
}

class OperationCheck {
 public:
  OperationCheck(const Document& document, Problems& problems) : document_(document), problems_(problems) {}

  void check_paths(const Node& paths) {
    std::map<std::string, const Node*> shapes;
    std::vector<const Node*> good;
    for (const Node* const item : paths.children) {
      if (!item->key.starts_with('/')) continue;
      if (!check_path(*item)) continue;
      const auto [known, is_new] = shapes.emplace(shape_of(item->key), item);
      if (is_new) {
        good.push_back(item);
      } else if (known->second->key != item->key) {  // A repeated key has already been reported.
        const std::string what = "the path " + quoted(item->key) + " matches the same requests as " +
                                 quoted(known->second->key) + " in line " + std::to_string(known->second->line);
        if (has_common_method(*item, *known->second)) {
          problems_.error(*item, what);
        } else {
          problems_.warning(*item, what + ", which has other methods: combine them under one path");
        }
      }
    }
    if (good.size() <= compared_paths_max) check_ambiguous(good);
  }

  // `path` is the template of the item's path; null for webhooks and callbacks, which are not at a path of this
  // service.
  void check_item(const Node& item, const std::string_view* path) {
    const Node* const to = document_.resolve(item);
    if (to == nullptr || !to->is(Kind::Map)) return;
    const Node* const common = to->find("parameters", Kind::List);
    if (common != nullptr) check_twice(*common);
    if (path != nullptr) check_servers(*to, "a path");
    for (const std::string_view method : methods) {
      const Node* const operation = to->find(method, Kind::Map);
      if (operation == nullptr) continue;
      if (path != nullptr) check_servers(*operation, "an operation");
      const Node* const own = operation->find("parameters", Kind::List);
      if (own != nullptr) check_twice(*own);
      if (path != nullptr) check_parameters(*operation, *path, common, own);
    }
  }

  void check_operation(const Node& operation) {
    if (const Node* const id = operation.find("operationId", Kind::String)) {
      const auto [known, is_new] = ids_.emplace(id->text, id);
      if (!is_new)
        problems_.error(*id, "the operationId " + quoted(id->text) + " is taken: " + place_of(*known->second));
    } else if (!is_sent(operation)) {
      problems_.warning(operation, "the operation has no operationId: nothing can refer to it by a name");
    }
    if (const Node* const callbacks = operation.find("callbacks", Kind::Map); callbacks != nullptr) {
      problems_.warning(*callbacks, "no code is generated for 'callbacks': send their requests with an http::Client");
    }
    const Node* const body = operation.find("requestBody");
    if (body != nullptr &&
        (operation.key == "get" || operation.key == "head" || operation.key == "delete" || operation.key == "trace")) {
      problems_.warning(*body, "a request body has no meaning in " + std::string(operation.key) + " (RFC 9110 §9.3)");
    }
    const Node* const responses = operation.find("responses", Kind::Map);
    if (responses != nullptr && !responses->children.empty() &&
        std::none_of(responses->children.begin(), responses->children.end(), [](const Node* one) {
          return one->key == "default" || one->key.starts_with('1') || one->key.starts_with('2') ||
                 one->key.starts_with('3');
        })) {
      problems_.warning(*responses, "the operation declares no response for success");
    }
  }

  void check_tags(const Node& operation) {
    const Node* const declared = document_.root().find("tags", Kind::List);
    const Node* const tags = operation.find("tags", Kind::List);
    if (declared == nullptr || tags == nullptr) return;
    std::vector<std::string_view> names;
    for (const Node* const one : declared->children) names.push_back(one->string("name"));
    for (const Node* const tag : tags->children) {
      if (!tag->is(Kind::String) || std::find(names.begin(), names.end(), tag->text) != names.end()) continue;
      problems_.warning(
          *tag, "the tag " + quoted(tag->text) + " is not in 'tags' of the document" + suggestion(tag->text, names));
    }
  }

  // Call this function after all operations have been checked.
  void check_link(const Node& link) {
    const Node* const id = link.find("operationId", Kind::String);
    const Node* const reference = link.find("operationRef", Kind::String);
    if ((id == nullptr) == (reference == nullptr)) {
      problems_.error(
          link, std::string("a link needs 'operationId' or 'operationRef'") + (id == nullptr ? "" : ", not both"));
    }
    if (id != nullptr && !ids_.contains(id->text)) {
      std::vector<std::string_view> names;
      for (const auto& [name, node] : ids_) names.push_back(name);
      std::sort(names.begin(), names.end());
      problems_.error(*id, "there is no operation " + quoted(id->text) + suggestion(id->text, names));
    }
    std::string why;
    if (reference != nullptr && reference->text.starts_with('#') &&
        document_.look_up(*reference, reference->text, &why) == nullptr && !why.empty()) {
      problems_.error(*reference, why);
    }
  }

 private:
  void check_servers(const Node& node, const std::string& what) {
    const Node* const servers = node.find("servers", Kind::List);
    if (servers == nullptr || servers->children.empty()) return;
    const Node* const all = document_.root().find("servers", Kind::List);
    if (all != nullptr && are_equal(*all, *servers)) return;
    problems_.warning(*servers, "'servers' of " + what +
                                    " has no effect: routes begin with the path of the document's first server, and a "
                                    "client sends requests to its base_url");
  }
  // True if the operation is in 'webhooks' or 'callbacks': the service then sends the request.
  static bool is_sent(const Node& operation) {
    for (const Node* node = operation.parent; node != nullptr; node = node->parent) {
      if (node->key == "callbacks" || node->key == "webhooks") return true;
    }
    return false;
  }

  bool check_path(const Node& item) {
    const Template parsed = parse_template(item.key);
    if (!parsed.problem.empty()) {
      problems_.error(item, "the path " + quoted(item.key) + ' ' + parsed.problem);
      return false;
    }
    if (item.key.find_first_of("?#") != std::string_view::npos) {
      problems_.error(item, "the path " + quoted(item.key) +
                                " has a '?' or '#': parameters of the query are declared with in: query");
      return false;
    }
    for (const Segment& segment : segments_of(item.key)) {
      if (!segment.has_more) continue;
      problems_.error(item, "the path " + quoted(item.key) +
                                " cannot be routed: a segment has at most one parameter, and the segment of " +
                                quoted(segment.name) + " has more");
      return false;
    }
    return true;
  }
  bool has_common_method(const Node& a, const Node& b) const {
    const Node* const one = document_.resolve(a);
    const Node* const other = document_.resolve(b);
    if (one == nullptr || other == nullptr) return false;
    return std::ranges::any_of(methods, [&](std::string_view method) {
      return one->find(method) != nullptr && other->find(method) != nullptr;
    });
  }
  void check_ambiguous(const std::vector<const Node*>& items) {
    std::map<std::size_t, std::vector<std::pair<const Node*, std::vector<Segment>>>> by_size;
    for (const Node* const item : items) {
      auto segments = segments_of(item->key);
      auto& group = by_size[segments.size()];
      for (const auto& [other, theirs] : group) {
        bool is_narrower = false;
        bool is_wider = false;
        bool is_apart = false;
        for (std::size_t i = 0; i < segments.size() && !is_apart; ++i) {
          is_wider = is_wider || text_around(segments[i]) < text_around(theirs[i]);
          is_narrower = is_narrower || text_around(segments[i]) > text_around(theirs[i]);
          is_apart = !can_meet(segments[i], theirs[i]);
        }
        if (!is_apart && is_narrower && is_wider) {
          problems_.warning(*item, "some paths match " + quoted(item->key) + " and " + quoted(other->key) +
                                       " in line " + std::to_string(other->line) +
                                       ": precedence is given to the path that has text where the other path has a "
                                       "parameter");
        }
      }
      group.emplace_back(item, std::move(segments));
    }
  }

  // The names of headers are case-insensitive.
  static std::pair<std::string_view, std::string> key_of(const Node& parameter) {
    const std::string_view in = parameter.string("in");
    std::string name(parameter.string("name"));
    if (in == "header") {
      for (char& c : name) c = ascii::to_lower(c);
    }
    return {in, std::move(name)};
  }
  void check_twice(const Node& list) {
    std::map<std::pair<std::string_view, std::string>, const Node*> seen;
    for (const Node* const one : list.children) {
      const Node* const parameter = document_.resolve(*one);
      if (parameter == nullptr || key_of(*parameter).second.empty()) continue;
      const auto [known, is_new] = seen.emplace(key_of(*parameter), one);
      if (!is_new) {
        problems_.error(*one, "the " + std::string(key_of(*parameter).first) + " parameter " +
                                  quoted(parameter->string("name")) + " is declared twice: first in line " +
                                  std::to_string(known->second->line));
      }
    }
  }
  void check_parameters(const Node& operation, std::string_view path, const Node* common, const Node* own) {
    const std::vector<std::string_view> names = parse_template(path).names;
    std::unordered_set<std::string_view> declared;
    for (const Node* const list : {common, own}) {
      if (list == nullptr) continue;
      for (const Node* const one : list->children) {
        const Node* const parameter = document_.resolve(*one);
        if (parameter == nullptr || parameter->string("in") != "path") continue;
        const std::string_view name = parameter->string("name");
        declared.insert(name);
        if (std::find(names.begin(), names.end(), name) == names.end()) {
          problems_.error(*one, "the path parameter " + quoted(name) + " is not in the path " + quoted(path) +
                                    suggestion(name, names));
        }
      }
    }
    for (const std::string_view name : names) {
      if (declared.contains(name)) continue;
      problems_.error(operation, "the parameter " + quoted(name) + " of the path " + quoted(path) +
                                     " is not declared: expected one with in: path");
    }
  }

  const Document& document_;
  Problems& problems_;
  std::unordered_map<std::string_view, const Node*> ids_;
};

}  // namespace

void check_operations(const Document& document, const std::vector<Object>& objects, Problems& problems) {
  OperationCheck check(document, problems);
  if (const Node* const paths = document.root().find("paths", Kind::Map)) {
    check.check_paths(*paths);
    for (const Node* const item : paths->children) {
      if (item->key.starts_with('/')) check.check_item(*item, &item->key);
    }
  }
  std::vector<const Node*> operations;
  for (const auto& [node, role] : objects) {
    if (role == Role::Operation) operations.push_back(node);
    const bool is_of_paths = node->parent != nullptr && node->parent->key == "paths";
    if (role == Role::PathItem && !is_of_paths) check.check_item(*node, nullptr);
  }
  const Node* const webhooks = document.root().find("webhooks", Kind::Map);
  if (webhooks != nullptr && !webhooks->children.empty()) {
    problems.warning(*webhooks, "no code is generated for 'webhooks': send their requests with an http::Client");
  }
  for (const Node* const operation : operations) {
    check.check_operation(*operation);
    check.check_tags(*operation);
  }
  for (const auto& [node, role] : objects) {
    if (role == Role::Link) check.check_link(*node);
  }
}

}  // namespace keel::openapi
