#include "openapi/diff.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "keel/base/ascii.h"
#include "openapi/diff_schemas.h"
#include "openapi/paths.h"
#include "openapi/structure.h"

namespace keel::openapi {
namespace {

using Severity = Change::Severity;
using Direction = SchemaDiff::Direction;

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = ascii::to_lower(c);
  return out;
}

using Named = std::map<std::string, const Node*>;

struct Side {
  const Document& document;

  const Node* member(const Node* node, std::string_view name) const {
    const Node* const child = node == nullptr ? nullptr : node->find(name);
    return child == nullptr ? nullptr : document.resolve(*child);
  }
  Named paths() const {
    Named all;
    const Node* const paths = document.root().find("paths", Kind::Map);
    if (paths == nullptr) return all;
    for (const Node* const item : paths->children) {
      if (item->key.starts_with('/')) all.emplace(shape_of(item->key), item);
    }
    return all;
  }
  // The parameters, with `in` and the name as the key; the key of a path parameter is `in` and the position in the
  // path.
  Named parameters(const Node& item, const Node& operation, std::string_view path) const {
    Named all;
    const std::vector<std::string_view> names = parse_template(path).names;
    for (const Node* const owner : {&item, &operation}) {
      const Node* const list = owner->find("parameters", Kind::List);
      if (list == nullptr) continue;
      for (const Node* const one : list->children) {
        const Node* const parameter = document.resolve(*one);
        if (parameter == nullptr) continue;
        const std::string_view in = parameter->string("in");
        std::string name(parameter->string("name"));
        if (in == "header") name = lowered(name);
        if (in == "path") name = std::to_string(std::find(names.begin(), names.end(), name) - names.begin());
        all.insert_or_assign(std::string(in) + ' ' + name, parameter);
      }
    }
    return all;
  }
  // The schemes of each alternative, with their scopes; if there is no requirement, the result is one alternative
  // without schemes.
  std::vector<std::map<std::string, std::vector<std::string>>> security(const Node& operation) const {
    const Node* requirements = operation.find("security", Kind::List);
    if (requirements == nullptr) requirements = document.root().find("security", Kind::List);
    std::vector<std::map<std::string, std::vector<std::string>>> all;
    if (requirements != nullptr) {
      for (const Node* const one : requirements->children) {
        auto& schemes = all.emplace_back();
        for (const Node* const scheme : one->children) {
          auto& scopes = schemes[std::string(scheme->key)];
          for (const Node* const scope : scheme->children) scopes.emplace_back(scope->text);
          std::sort(scopes.begin(), scopes.end());
        }
      }
    }
    if (all.empty()) all.emplace_back();
    return all;
  }
};

bool is_flag(const Node* node, std::string_view name) {
  const Node* const flag = node == nullptr ? nullptr : node->find(name);
  return flag != nullptr && flag->is_true();
}

const Node* place_in(const Node& node, std::string_view name) {
  const Node* const found = node.find(name);
  return found == nullptr ? &node : found;
}

class Comparison {
 public:
  Comparison(const Document& before, const Document& after)
      : before_{before}, after_{after}, schemas_(before, after, changes_) {}

  std::vector<Change> run() {
    compare_servers();
    compare_schemes();
    const Named old_paths = before_.paths();
    const Named new_paths = after_.paths();
    for (const auto& [shape, item] : old_paths) {
      const auto now = new_paths.find(shape);
      compare_items(item, now == new_paths.end() ? nullptr : now->second);
    }
    for (const auto& [shape, item] : new_paths) {
      if (!old_paths.contains(shape)) compare_items(nullptr, item);
    }
    compare_webhooks();
    schemas_.run();
    return std::move(changes_);
  }

 private:
  void note(Severity severity, std::string rule, std::string text, const Node* old_place, const Node* new_place) {
    changes_.push_back({.severity = severity,
                        .rule = std::move(rule),
                        .text = std::move(text),
                        .old_place = old_place,
                        .new_place = new_place});
  }

  void compare_servers() {
    const auto urls = [](const Document& document) {
      Named all;
      if (const Node* const servers = document.root().find("servers", Kind::List)) {
        for (const Node* const one : servers->children) {
          if (const Node* const url = one->find("url", Kind::String)) all.emplace(std::string(url->text), url);
        }
      }
      return all;
    };
    const Named old_urls = urls(before_.document);
    const Named new_urls = urls(after_.document);
    for (const auto& [url, place] : old_urls) {
      if (!new_urls.contains(url))
        note(Severity::Unclassified, "server-removed", "the server " + quoted(url) + " is gone", place, nullptr);
    }
    for (const auto& [url, place] : new_urls) {
      if (!old_urls.contains(url))
        note(Severity::NonBreaking, "server-added", "there is a new server " + quoted(url), nullptr, place);
    }
  }

  void compare_schemes() {
    const auto schemes = [](const Side& side) {
      return side.member(side.member(&side.document.root(), "components"), "securitySchemes");
    };
    const Node* const old_schemes = schemes(before_);
    const Node* const new_schemes = schemes(after_);
    if (old_schemes == nullptr || new_schemes == nullptr) return;
    for (const Node* const one : old_schemes->children) {
      const Node* const was = before_.document.resolve(*one);
      const Node* const is = after_.member(new_schemes, one->key);
      if (was == nullptr || is == nullptr) continue;
      for (const std::string_view name : {"type", "scheme", "in", "name", "openIdConnectUrl", "flows"}) {
        const Node* const old_one = was->find(name);
        const Node* const new_one = is->find(name);
        if (old_one == nullptr && new_one == nullptr) continue;
        if (old_one != nullptr && new_one != nullptr &&
            (name == "scheme" ? lowered(old_one->text) == lowered(new_one->text) : are_equal(*old_one, *new_one))) {
          continue;
        }
        const bool is_place = name == "openIdConnectUrl" || name == "flows";
        note(is_place ? Severity::Unclassified : Severity::Breaking, "security-scheme-changed",
             "the security scheme " + quoted(one->key) + " has another " + quoted(name), place_in(*was, name),
             place_in(*is, name));
      }
    }
  }

  void compare_items(const Node* old_item, const Node* new_item) {
    const Node* const was = old_item == nullptr ? nullptr : before_.document.resolve(*old_item);
    const Node* const is = new_item == nullptr ? nullptr : after_.document.resolve(*new_item);
    for (const std::string_view method : methods) {
      const Node* const old_one = was == nullptr ? nullptr : was->find(method, Kind::Map);
      const Node* const new_one = is == nullptr ? nullptr : is->find(method, Kind::Map);
      std::string name(method);
      for (char& c : name) c = ascii::to_upper(c);
      name += ' ' + std::string((old_item == nullptr ? new_item : old_item)->key);
      if (old_one != nullptr && new_one == nullptr) {
        note(Severity::Breaking, "operation-removed",
             name + " is gone" + (is_flag(old_one, "deprecated") ? "; it was deprecated" : ""), old_one, new_item);
      } else if (old_one == nullptr && new_one != nullptr) {
        note(Severity::NonBreaking, "operation-added", name + " is new", nullptr, new_one);
      } else if (old_one != nullptr) {
        compare_operations({*old_one, *was, old_item->key}, {*new_one, *is, new_item->key});
      }
    }
  }

  // The service sends the requests of webhooks, so the rules for responses apply to these requests. The parameters,
  // statuses and security of webhooks are not compared, because a webhook describes these parts from the side of the
  // client.
  void compare_webhooks() {
    const Node* const old_hooks = before_.document.root().find("webhooks", Kind::Map);
    const Node* const new_hooks = after_.document.root().find("webhooks", Kind::Map);
    for (const Node* const hook : old_hooks == nullptr ? std::vector<Node*>() : old_hooks->children) {
      const Node* const was = before_.document.resolve(*hook);
      const Node* const is = after_.member(new_hooks, hook->key);
      for (const std::string_view method : methods) {
        const Node* const old_one = was == nullptr ? nullptr : was->find(method, Kind::Map);
        const Node* const new_one = is == nullptr ? nullptr : is->find(method, Kind::Map);
        if (old_one != nullptr && new_one == nullptr) {
          note(Severity::Breaking, "webhook-removed", "the webhook " + quoted(hook->key) + " is gone", old_one, is);
        } else if (old_one == nullptr && new_one != nullptr) {
          note(Severity::NonBreaking, "webhook-added", "the webhook " + quoted(hook->key) + " has another method", was,
               new_one);
        } else if (old_one != nullptr) {
          compare_webhook(*old_one, *new_one);
        }
      }
    }
    for (const Node* const hook : new_hooks == nullptr ? std::vector<Node*>() : new_hooks->children) {
      if (hook->key.starts_with("x-") || (old_hooks != nullptr && old_hooks->find(hook->key) != nullptr)) continue;
      note(Severity::NonBreaking, "webhook-added", "there is a new webhook " + quoted(hook->key), old_hooks, hook);
    }
  }

  void compare_webhook(const Node& old_hook, const Node& new_hook) {
    const Node* const was = before_.member(&old_hook, "requestBody");
    const Node* const is = after_.member(&new_hook, "requestBody");
    if (was != nullptr && is == nullptr) {
      note(Severity::Breaking, "webhook-body-removed", "the webhook no longer has a body", was, &new_hook);
    } else if (was == nullptr && is != nullptr) {
      note(Severity::NonBreaking, "webhook-body-added", "the webhook has a body now", &old_hook, is);
    } else if (was != nullptr) {
      if (is_flag(was, "required") && !is_flag(is, "required"))
        note(Severity::Breaking, "webhook-body-became-optional", "the body is optional now", was, is);
      compare_content(*was, *is, Direction::WebhookRequest);
    }
    const Node* const old_responses = old_hook.find("responses", Kind::Map);
    const Node* const new_responses = new_hook.find("responses", Kind::Map);
    for (const Node* const one : old_responses == nullptr ? std::vector<Node*>() : old_responses->children) {
      const Node* const old_response = before_.document.resolve(*one);
      const Node* const new_response = after_.member(new_responses, one->key);
      if (old_response != nullptr && new_response != nullptr)
        compare_content(*old_response, *new_response, Direction::WebhookResponse);
    }
  }

  struct Operation {
    const Node& node;
    const Node& item;
    std::string_view path;
  };

  void compare_operations(const Operation& was, const Operation& is) {
    const std::string_view old_id = was.node.string("operationId");
    const std::string_view new_id = is.node.string("operationId");
    if (old_id != new_id && !old_id.empty()) {
      note(Severity::Unclassified, "operation-id-changed",
           "the operationId was " + quoted(old_id) +
               (new_id.empty() ? " and is gone" : " and is " + quoted(new_id) + " now"),
           was.node.find("operationId"), place_in(is.node, "operationId"));
    }
    if (is_flag(&is.node, "deprecated") && !is_flag(&was.node, "deprecated")) {
      note(Severity::NonBreaking, "operation-deprecated", "the operation is deprecated now", &was.node,
           is.node.find("deprecated"));
    }
    const Named old_parameters = before_.parameters(was.item, was.node, was.path);
    const Named new_parameters = after_.parameters(is.item, is.node, is.path);
    for (const auto& [key, parameter] : old_parameters) {
      const auto now = new_parameters.find(key);
      if (now != new_parameters.end()) {
        compare_parameters(*parameter, *now->second);
      } else {
        note(Severity::Unclassified, "request-parameter-removed", "the " + name_of(*parameter) + " is gone", parameter,
             &is.node);
      }
    }
    for (const auto& [key, parameter] : new_parameters) {
      if (old_parameters.contains(key)) continue;
      const bool is_required = is_flag(parameter, "required");
      note(is_required ? Severity::Breaking : Severity::NonBreaking,
           is_required ? "request-required-parameter-added" : "request-optional-parameter-added",
           "there is a new " + std::string(is_required ? "required " : "optional ") + name_of(*parameter), &was.node,
           parameter);
    }
    compare_bodies(was.node, is.node);
    compare_responses(was.node, is.node);
    compare_security(was.node, is.node);
  }

  static std::string name_of(const Node& parameter) {
    return std::string(parameter.string("in")) + " parameter " + quoted(parameter.string("name"));
  }

  void compare_parameters(const Node& was, const Node& is) {
    if (!seen_.emplace(&was, &is).second) return;
    const std::string name = "the " + name_of(is);
    if (is_flag(&is, "required") != is_flag(&was, "required")) {
      const bool is_required = is_flag(&is, "required");
      note(is_required ? Severity::Breaking : Severity::NonBreaking,
           is_required ? "request-parameter-became-required" : "request-parameter-became-optional",
           name + (is_required ? " is required now" : " is optional now"), place_in(was, "required"),
           place_in(is, "required"));
    }
    compare_written(was, is, name, Direction::Parameter);
  }

  // Compares the members that parameters and headers have in common: the style of a value, and its schema.
  void compare_written(const Node& was, const Node& is, const std::string& name, Direction direction) {
    const auto style = [](const Node& node) {
      const std::string_view in = node.string("in");
      const std::string_view given = node.string("style");
      return given.empty() ? std::string_view(in == "query" || in == "cookie" ? "form" : "simple") : given;
    };
    const auto explode = [&](const Node& node) {
      const Node* const given = node.find("explode");
      return given == nullptr ? style(node) == "form" : given->is_true();
    };
    if (style(was) != style(is)) {
      note(Severity::Breaking, "parameter-style-changed",
           name + " had the style " + std::string(style(was)) + " and has " + std::string(style(is)) + " now",
           place_in(was, "style"), place_in(is, "style"));
    } else if (explode(was) != explode(is)) {
      note(Severity::Breaking, "parameter-explode-changed",
           name + (explode(is) ? " is exploded now" : " is no longer exploded"), place_in(was, "explode"),
           place_in(is, "explode"));
    }
    const Node* const old_content = was.find("content");
    const Node* const new_content = is.find("content");
    if ((old_content == nullptr) != (new_content == nullptr)) {
      note(Severity::Breaking, "parameter-content-changed",
           name + (new_content == nullptr ? " has a schema instead of content now"
                                          : " has content instead of a schema now"),
           place_in(was, "content"), place_in(is, "content"));
    } else if (old_content != nullptr) {
      compare_content(was, is, direction == Direction::Parameter ? Direction::Request : Direction::Response);
    } else {
      schemas_.compare(was.find("schema"), is.find("schema"), direction);
    }
  }

  void compare_content(const Node& was, const Node& is, Direction direction) {
    const std::string prefix = direction == Direction::Request    ? "request-"
                               : direction == Direction::Response ? "response-"
                                                                  : "webhook-";
    const auto types = [](const Node& owner) {
      Named all;
      if (const Node* const content = owner.find("content", Kind::Map)) {
        for (const Node* const one : content->children) all.emplace(lowered(one->key), one);
      }
      return all;
    };
    const Named old_types = types(was);
    const Named new_types = types(is);
    for (const auto& [type, node] : old_types) {
      const auto now = new_types.find(type);
      if (now == new_types.end()) {
        note(Severity::Breaking, prefix + "media-type-removed", "the media type " + quoted(type) + " is gone", node,
             place_in(is, "content"));
      } else {
        schemas_.compare(node->find("schema"), now->second->find("schema"), direction);
      }
    }
    for (const auto& [type, node] : new_types) {
      if (old_types.contains(type)) continue;
      note(Severity::NonBreaking, prefix + "media-type-added", "there is a new media type " + quoted(type),
           place_in(was, "content"), node);
    }
  }

  void compare_bodies(const Node& old_operation, const Node& new_operation) {
    const Node* const was = before_.member(&old_operation, "requestBody");
    const Node* const is = after_.member(&new_operation, "requestBody");
    if (was == nullptr && is == nullptr) return;
    if (is == nullptr)
      return note(Severity::Breaking, "request-body-removed", "the operation no longer takes a body", was,
                  &new_operation);
    const bool is_required = is_flag(is, "required");
    if (was == nullptr) {
      return note(is_required ? Severity::Breaking : Severity::NonBreaking,
                  is_required ? "request-required-body-added" : "request-optional-body-added",
                  is_required ? "the operation needs a body now" : "the operation takes a body now", &old_operation,
                  is);
    }
    if (!seen_.emplace(was, is).second) return;
    if (is_required != is_flag(was, "required")) {
      note(is_required ? Severity::Breaking : Severity::NonBreaking,
           is_required ? "request-body-became-required" : "request-body-became-optional",
           is_required ? "the body is required now" : "the body is optional now", place_in(*was, "required"),
           place_in(*is, "required"));
    }
    compare_content(*was, *is, Direction::Request);
  }

  void compare_responses(const Node& old_operation, const Node& new_operation) {
    const Node* const old_responses = old_operation.find("responses", Kind::Map);
    const Node* const new_responses = new_operation.find("responses", Kind::Map);
    const auto is_success = [](std::string_view status) { return status.starts_with('2'); };
    for (const Node* const response : old_responses == nullptr ? std::vector<Node*>() : old_responses->children) {
      if (response->key.starts_with("x-")) continue;
      const Node* const now = after_.member(new_responses, response->key);
      const Node* const was = before_.document.resolve(*response);
      if (now == nullptr) {
        note(is_success(response->key) ? Severity::Breaking : Severity::NonBreaking, "response-status-removed",
             "there is no response " + std::string(response->key) + " any more", response,
             new_responses == nullptr ? &new_operation : new_responses);
      } else if (was != nullptr && seen_.emplace(was, now).second) {
        compare_content(*was, *now, Direction::Response);
        compare_headers(*was, *now);
      }
    }
    for (const Node* const response : new_responses == nullptr ? std::vector<Node*>() : new_responses->children) {
      if (response->key.starts_with("x-") ||
          (old_responses != nullptr && old_responses->find(response->key) != nullptr))
        continue;
      note(is_success(response->key) ? Severity::Unclassified : Severity::NonBreaking, "response-status-added",
           "there is a new response " + std::string(response->key),
           old_responses == nullptr ? &old_operation : old_responses, response);
    }
  }

  void compare_headers(const Node& old_response, const Node& new_response) {
    const auto headers = [](const Side& side, const Node& response) {
      Named all;
      if (const Node* const map = response.find("headers", Kind::Map)) {
        for (const Node* const one : map->children) {
          if (const Node* const header = side.document.resolve(*one)) all.emplace(lowered(one->key), header);
        }
      }
      return all;
    };
    const Named old_headers = headers(before_, old_response);
    const Named new_headers = headers(after_, new_response);
    for (const auto& [name, header] : old_headers) {
      const auto now = new_headers.find(name);
      const bool was_required = is_flag(header, "required");
      if (now == new_headers.end()) {
        note(was_required ? Severity::Breaking : Severity::Unclassified, "response-header-removed",
             "the header " + quoted(name) + " is gone", header, place_in(new_response, "headers"));
        continue;
      }
      if (was_required && !is_flag(now->second, "required")) {
        note(Severity::Breaking, "response-header-became-optional", "the header " + quoted(name) + " is optional now",
             header, now->second);
      }
      if (seen_.emplace(header, now->second).second)
        compare_written(*header, *now->second, "the header " + quoted(name), Direction::Header);
    }
    for (const auto& [name, header] : new_headers) {
      if (!old_headers.contains(name)) {
        note(Severity::NonBreaking, "response-header-added", "there is a new header " + quoted(name),
             place_in(old_response, "headers"), header);
      }
    }
  }

  void compare_security(const Node& was, const Node& is) {
    const auto old_ways = before_.security(was);
    const auto new_ways = after_.security(is);
    // Whether credentials that satisfy the alternative `stronger` also satisfy `weaker`.
    const auto covers = [](const auto& stronger, const auto& weaker) {
      return std::all_of(weaker.begin(), weaker.end(), [&](const auto& scheme) {
        const auto found = stronger.find(scheme.first);
        return found != stronger.end() &&
               std::includes(found->second.begin(), found->second.end(), scheme.second.begin(), scheme.second.end());
      });
    };
    const auto are_covered = [&](const auto& all, const auto& by) {
      return std::all_of(all.begin(), all.end(), [&](const auto& way) {
        return std::any_of(by.begin(), by.end(), [&](const auto& other) { return covers(way, other); });
      });
    };
    const Node* const old_place = place_in(was, "security");
    const Node* const new_place = place_in(is, "security");
    if (!are_covered(old_ways, new_ways)) {
      note(Severity::Breaking, "security-narrowed", "the previous authorization of a request is no longer enough",
           old_place, new_place);
    } else if (!are_covered(new_ways, old_ways)) {
      note(Severity::NonBreaking, "security-widened",
           "a request needs less authorization, or can also be authorized in another way", old_place, new_place);
    }
  }

  Side before_;
  Side after_;
  std::vector<Change> changes_;
  SchemaDiff schemas_;
  // The pairs of components that have been compared, so that a component that several operations share is compared
  // once.
  std::set<std::pair<const Node*, const Node*>> seen_;
};

}  // namespace

std::string Change::describe() const {
  const Node& place = new_place == nullptr ? *old_place : *new_place;
  const std::string_view kind = severity == Severity::Breaking       ? "breaking"
                                : severity == Severity::Unclassified ? "unclassified"
                                                                     : "non-breaking";
  std::string out = place_of(place) + ": " + std::string(kind) + ": " + text + " (" + pointer_of(place) + ")";
  if (new_place != nullptr && old_place != nullptr) out += ", before " + place_of(*old_place);
  return out + " [" + rule + ']';
}

std::vector<Change> diff(Document& before, Document& after) {
  Problems ignored;  // The problems of a loaded document are ignored here: lint() reports them.
  check_structure(before, ignored);
  check_structure(after, ignored);
  std::vector<Change> changes = Comparison(before, after).run();
  const auto key = [](const Change& change) {
    const Node& place = change.new_place == nullptr ? *change.old_place : *change.new_place;
    return std::tuple(change.severity, std::string_view(*place.file), place.line, place.column,
                      std::string_view(change.rule), std::string_view(change.text));
  };
  std::sort(changes.begin(), changes.end(), [&](const Change& a, const Change& b) { return key(a) < key(b); });
  return changes;
}

}  // namespace keel::openapi
