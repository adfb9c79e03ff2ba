// lint() itself, and the part of it that checks security, servers and tags.

#include <algorithm>
#include <string>
#include <unordered_map>

#include "openapi/lint.h"
#include "openapi/paths.h"

namespace keel::openapi {
namespace {

void check_requirement(const Document& document, const Node& requirement, Problems& problems) {
  const Node* const components = document.root().find("components", Kind::Map);
  const Node* const schemes = components == nullptr ? nullptr : components->find("securitySchemes", Kind::Map);
  for (const Node* const one : requirement.children) {
    const Node* const named = schemes == nullptr ? nullptr : schemes->find(one->key);
    if (named == nullptr) {
      std::vector<std::string_view> names;
      if (schemes != nullptr) {
        for (const Node* const scheme : schemes->children) names.push_back(scheme->key);
      }
      problems.error(
          *one, "there is no security scheme " + quoted(one->key) + " in 'components'" + suggestion(one->key, names));
      continue;
    }
    const Node* const scheme = document.resolve(*named);
    if (scheme == nullptr || !one->is(Kind::List)) continue;
    const std::string_view type = scheme->string("type");
    if (type == "oauth2") {
      const Node* const flows = scheme->find("flows", Kind::Map);
      if (flows == nullptr) continue;
      for (const Node* const scope : one->children) {
        bool is_known = false;
        std::vector<std::string_view> names;
        for (const Node* const flow : flows->children) {
          const Node* const scopes = flow->find("scopes", Kind::Map);
          if (scopes == nullptr) continue;
          is_known = is_known || scopes->find(scope->text) != nullptr;
          for (const Node* const other : scopes->children) names.push_back(other->key);
        }
        if (!is_known) {
          problems.error(*scope, "the scope " + quoted(scope->text) + " is in no flow of " + quoted(one->key) +
                                     suggestion(scope->text, names));
        }
      }
    } else if (type != "openIdConnect" && document.version() == Version::V30 && !one->children.empty()) {
      problems.warning(
          *one, "scopes of " + quoted(one->key) + ", which is of the type " + quoted(type) +
                    ": in OpenAPI 3.0 only oauth2 and openIdConnect have scopes; the scopes are passed on as in 3.1");
    }
  }
}

void check_scheme(const Document& document, const Node& scheme, Problems& problems) {
  const Node* const type = scheme.find("type", Kind::String);
  if (type == nullptr) return;
  const auto need = [&](std::string_view name) {
    if (scheme.find(name) == nullptr) {
      problems.error(scheme, quoted(name) + " is required in a security scheme of the type " + quoted(type->text));
    }
  };
  const bool is_31 = document.version() == Version::V31;
  if (type->text == "apiKey") {
    need("name");
    need("in");
    const Node* const in = scheme.find("in", Kind::String);
    if (in != nullptr && in->text != "query" && in->text != "header" && in->text != "cookie") {
      problems.error(*in, "'in' is " + shown(*in) + ": expected query, header or cookie");
    }
  } else if (type->text == "http") {
    need("scheme");
  } else if (type->text == "oauth2") {
    need("flows");
  } else if (type->text == "openIdConnect") {
    need("openIdConnectUrl");
  } else if (type->text != "mutualTLS" || !is_31) {
    problems.error(*type, shown(*type) + " is not a type of security scheme: expected apiKey, http, " +
                              (is_31 ? "mutualTLS, " : "") + "oauth2 or openIdConnect");
  }
}

void check_flow(const Node& flow, Problems& problems) {
  const auto need = [&](std::string_view name) {
    if (flow.find(name) == nullptr) problems.error(flow, quoted(name) + " is required in the flow " + quoted(flow.key));
  };
  if (flow.key == "implicit" || flow.key == "authorizationCode") need("authorizationUrl");
  if (flow.key != "implicit") need("tokenUrl");
}

void check_server(const Node& server, Problems& problems) {
  const Node* const url = server.find("url", Kind::String);
  if (url == nullptr) return;
  const Node* const variables = server.find("variables", Kind::Map);
  const Template parsed = parse_template(url->text);
  if (!parsed.problem.empty()) {
    problems.error(*url, "the URL " + quoted(url->text) + ' ' + parsed.problem);
    return;
  }
  if (url->text.find_first_of("?#") != std::string_view::npos) {
    problems.error(*url,
                   "the URL " + quoted(url->text) + " has a query or a fragment, but paths are appended to the URL");
  } else if (url->text.size() > 1 && url->text.ends_with('/')) {
    problems.warning(*url, "the URL " + quoted(url->text) + " ends in '/', but every path begins with '/'");
  }
  for (const std::string_view name : parsed.names) {
    if (variables == nullptr || variables->find(name) == nullptr) {
      problems.error(*url, "the variable " + quoted(name) + " of the URL is not in 'variables'");
    }
  }
  for (const Node* const one : variables == nullptr ? std::vector<Node*>() : variables->children) {
    if (std::find(parsed.names.begin(), parsed.names.end(), one->key) == parsed.names.end()) {
      problems.warning(*one,
                       "the variable " + quoted(one->key) + " is not in the URL" + suggestion(one->key, parsed.names));
    }
    const Node* const values = one->find("enum", Kind::List);
    const Node* const value = one->find("default", Kind::String);
    if (values == nullptr) continue;
    if (values->children.empty()) problems.error(*values, "'enum' is empty, so no value is valid");
    if (value != nullptr && std::none_of(values->children.begin(), values->children.end(),
                                         [&](const Node* other) { return other->text == value->text; })) {
      problems.error(*value, "the default " + shown(*value) + " is not one of " + shown(*values));
    }
  }
}

}  // namespace

void check_security(const Document& document, const std::vector<Object>& objects, Problems& problems) {
  std::unordered_map<std::string_view, const Node*> tags;
  for (const auto& [node, role] : objects) {
    switch (role) {
      case Role::SecurityRequirement:
        check_requirement(document, *node, problems);
        break;
      case Role::SecurityScheme:
        check_scheme(document, *node, problems);
        break;
      case Role::Flow:
        check_flow(*node, problems);
        break;
      case Role::Server:
        check_server(*node, problems);
        break;
      case Role::Tag: {
        const Node* const name = node->find("name", Kind::String);
        if (name == nullptr) break;
        const auto [known, is_new] = tags.emplace(name->text, name);
        if (!is_new)
          problems.error(*name, "the tag " + quoted(name->text) + " is declared twice: first in line " +
                                    std::to_string(known->second->line));
        break;
      }
      default:
        break;
    }
  }
}

void lint(Document& document, Problems& problems) {
  const std::vector<Object> objects = check_structure(document, problems);
  check_schemas(document, objects, problems);
  check_content(document, objects, problems);
  check_operations(document, objects, problems);
  check_security(document, objects, problems);
}

}  // namespace keel::openapi
