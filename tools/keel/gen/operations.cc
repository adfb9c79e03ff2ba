#include "gen/operations.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "gen/alternatives.h"
#include "gen/made.h"
#include "gen/media_types.h"
#include "keel/contract/security.h"
#include "keel/http/message/fields.h"
#include "openapi/lint.h"
#include "openapi/paths.h"

namespace keel::gen {
namespace {

using openapi::Document;
using openapi::Kind;
using openapi::Node;
using openapi::Problems;
using openapi::quoted;

std::string optional_of(const Type& type) {
  return type.is_nullable ? type.spelling : "std::optional<" + type.spelling + '>';
}

class Reading {
 public:
  Reading(Document& document, Types& types, Names& names, Problems& problems)
      : document_(document), types_(types), names_(names), problems_(problems) {}

  Contract read() {
    collect();
    name_path_parameters();
    read_schemes();
    for (Found& one : found_) read_operation(one);
    for (Scheme& scheme : contract_.schemes) scheme.node = schemes_.at(std::string(scheme.wire));
    read_base();
    look_for_documentation();
    return std::move(contract_);
  }

 private:
  struct Found {
    const Node* item;
    const Node* operation;
    std::string_view path;
    std::string name;
    std::string_view tag;
  };

  // The operations, sorted by tag and path, so that their order in the document does not matter.
  void collect() {
    const Node* const paths = document_.root().find("paths", Kind::Map);
    if (paths != nullptr) {
      for (const Node* const written : paths->children) {
        const Node* const item = document_.resolve(*written);
        if (item == nullptr || !written->key.starts_with('/')) continue;
        for (const std::string_view method : openapi::methods) {
          const Node* const operation = item->find(method, Kind::Map);
          if (operation == nullptr) continue;
          if (const std::string why = unroutable(written->key); !why.empty()) {
            problems_.error(*written, "the path " + quoted(written->key) + " cannot be routed: " + why);
            break;
          }
          if (method == "trace") {
            problems_.error(*operation, "an operation with the method TRACE is not served");
            continue;
          }
          const Node* const tags = operation->find("tags", Kind::List);
          const std::string_view tag =
              tags == nullptr || tags->children.empty() ? std::string_view() : tags->children[0]->text;
          found_.push_back({item, operation, written->key, {}, tag});
        }
      }
    }
    std::ranges::sort(found_, [](const Found& a, const Found& b) {
      return std::tie(a.tag, a.path, a.operation->key) < std::tie(b.tag, b.path, b.operation->key);
    });
    std::vector<std::string> ids;
    for (const Found& one : found_) {
      std::string id(one.operation->string("operationId"));
      if (id.empty()) id = std::string(one.operation->key) + ' ' + std::string(one.path);
      ids.push_back(std::move(id));
    }
    const std::vector<std::string_view> views(ids.begin(), ids.end());
    static constexpr std::string_view taken[] = {"add_routes", "other"};
    const std::vector<std::string> names = distinct(views, &snake_of, taken);
    for (std::size_t i = 0; i < found_.size(); ++i) found_[i].name = names[i];
  }

  // The reason why the router would reject a path; "" if it would accept the path.
  static std::string unroutable(std::string_view path) {
    for (const openapi::Segment& segment : openapi::segments_of(path)) {
      const bool is_dots = segment.before == "." || segment.before == "..";
      if (is_dots && !segment.is_parameter()) return "clients resolve its dot segments before they send it";
      for (const std::string_view text : {segment.before, segment.after}) {
        for (const char c : text) {
          const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
          if (!is_plain && std::string_view("-._~!$&'()*+,;=:@").find(c) == std::string_view::npos) {
            return "it has a character that must be escaped in a URL";
          }
        }
      }
    }
    return "";
  }

  // The router needs the same name for the parameter at a given place in all patterns, even if different segments
  // follow it.
  void name_path_parameters() {
    std::vector<std::string_view> paths;
    for (const Found& one : found_) paths.push_back(one.path);
    std::ranges::sort(paths);
    for (const std::string_view path : paths) pattern_of(path, nullptr);
  }
  // Determines the name of each path parameter in the pattern.
  std::string pattern_of(std::string_view path, std::unordered_map<std::string_view, std::string>* names) {
    std::string pattern;
    std::string shape;
    std::set<std::string> used;
    for (const openapi::Segment& segment : openapi::segments_of(path)) {
      pattern += '/';
      shape += '/';
      pattern += segment.before;
      shape += segment.before;
      if (!segment.is_parameter()) continue;
      shape += "{}";
      shape += segment.after;
      auto [known, is_new] = pattern_names_.emplace(shape, snake_of(segment.name));
      if (is_new) {
        while (used.contains(known->second)) known->second += '_';
      }
      used.insert(known->second);
      pattern += '{' + known->second + '}';
      pattern += segment.after;
      if (names != nullptr) names->emplace(segment.name, known->second);
    }
    return pattern;
  }

  Tag& tag_of(std::string_view name) {
    if (!contract_.tags.empty() && contract_.tags.back().name == name) return contract_.tags.back();
    Tag& tag = contract_.tags.emplace_back();
    tag.name = name;
    const std::string_view called = name.empty() ? "operations" : name;
    tag.file = snake_of(called);
    const auto is_taken = [&](const std::string& file) {
      // The file name of a tag must differ from the headers of the generated code, and from the names that mount()
      // itself uses.
      constexpr std::string_view own[] = {"types",  "api",     "schemas", "security", "client",
                                          "routes", "options", "all",     "document"};
      return std::ranges::find(own, file) != std::end(own) ||
             std::any_of(contract_.tags.begin(), contract_.tags.end() - 1,
                         [&](const Tag& other) { return other.file == file; });
    };
    while (is_taken(tag.file)) tag.file += '_';
    tag.handler = names_.type(pascal_of(called) + "Handler");
    if (const Node* const declared = document_.root().find("tags", Kind::List)) {
      for (const Node* const one : declared->children) {
        if (one->string("name") == name) tag.description = one->string("description");
      }
    }
    return tag;
  }

  void read_operation(Found& found) {
    Operation operation;
    operation.node = found.operation;
    operation.id = found.operation->string("operationId");
    operation.method = found.operation->key;
    operation.path = found.path;
    operation.name = found.name;
    // If a number is appended to the name of an operation, the number is appended to the names of its types too.
    const bool is_as_written = !operation.id.empty() && snake_of(operation.id) == found.name;
    operation.title = pascal_of(is_as_written ? operation.id : found.name);
    operation.request = names_.type(operation.title + "Request");
    operation.response = names_.type(operation.title + "Response");
    std::unordered_map<std::string_view, std::string> in_route;
    operation.pattern = pattern_of(found.path, &in_route);
    read_parameters(found, operation, in_route);
    read_body(operation);
    operation.responses = read_responses(*operation.node, operation.title, document_, types_, names_, problems_);
    read_security(operation);
    tag_of(found.tag).operations.push_back(std::move(operation));
  }

  void read_parameters(const Found& found, Operation& operation,
                       const std::unordered_map<std::string_view, std::string>& in_route) {
    // Parameters of the operation replace those of its path.
    std::map<std::pair<std::string, std::string>, const Node*> all;
    for (const Node* const owner : {found.item, found.operation}) {
      const Node* const list = owner->find("parameters", Kind::List);
      if (list == nullptr) continue;
      for (const Node* const one : list->children) {
        const Node* const parameter = document_.resolve(*one);
        if (parameter == nullptr) continue;
        const std::string place(parameter->string("in"));
        std::string name(parameter->string("name"));
        // OpenAPI 3.1.1 §4.8.12.1: the header fields Accept, Content-Type and Authorization are ignored as parameters.
        const std::string small = lower(name);
        if (place == "header" && (small == "accept" || small == "content-type" || small == "authorization")) continue;
        if (place == "header" && openapi::is_header_of_client(small)) continue;  // lint() warns of this parameter.
        all[{place == "path" ? "0" : place, place == "header" ? small : name}] = parameter;
      }
    }
    std::vector<std::string_view> wires;
    for (const auto& [key, node] : all) {
      Parameter parameter;
      parameter.node = node;
      parameter.wire = node->string("name");
      const std::string_view place = node->string("in");
      parameter.place = place == "path" ? "Path" : place == "query" ? "Query" : place == "header" ? "Header" : "Cookie";
      const std::string_view style = node->string("style");
      parameter.style = style.empty() ? (place == "query" || place == "cookie" ? "Form" : "Simple") : pascal_of(style);
      const Node* const explode = node->find("explode");
      parameter.explodes = explode != nullptr ? explode->is_true() : parameter.style == "Form";
      const Node* const required = node->find("required");
      parameter.is_required = place == "path" || (required != nullptr && required->is_true());
      if (const auto known = in_route.find(parameter.wire); place == "path" && known != in_route.end()) {
        parameter.in_route = known->second;
      }
      const std::string suggested = operation.title + pascal_of(parameter.wire);
      const Node* schema = node->find("schema");
      if (const Node* const content = node->find("content", Kind::Map);
          content != nullptr && !content->children.empty()) {
        const Node* const media = content->children[0];
        parameter.is_json = is_json(media->key);
        if (!parameter.is_json) {
          problems_.error(*media, "a parameter of the media type " + quoted(media->key) +
                                      " cannot be read: only JSON is supported");
          continue;
        }
        schema = media->find("schema");
      }
      if (schema == nullptr) {
        problems_.error(*node, "the parameter has no schema");
        continue;
      }
      parameter.type = types_.type_of(*schema, suggested);
      if (parameter.type == nullptr) continue;
      if (!parameter.is_json && !is_serialisable(parameter, *schema)) continue;
      const Type& plain = parameter.type->inner != nullptr ? *parameter.type->inner : *parameter.type;
      if (!parameter.is_json && place == "query" && parameter.style == "Form" && parameter.explodes &&
          (plain.shape == Shape::Map || plain.others != nullptr)) {
        problems_.error(*node, std::string("an object with ") + (plain.shape == Shape::Map ? "any" : "other") +
                                   " members takes every parameter of the query: give it the style deepObject, or "
                                   "explode: false");
        continue;
      }
      if (!parameter.is_required) {
        const Node* const value = facets_of(document_, *schema).find("default");
        if (value != nullptr && !value->is(Kind::Null)) {
          const Type& type = *parameter.type;
          parameter.initialiser = types_.literal_of(type.inner != nullptr ? *type.inner : type, *value);
        }
      }
      wires.push_back(parameter.wire);
      operation.parameters.push_back(std::move(parameter));
    }
    static constexpr std::string_view taken[] = {"body"};
    // Parameters in different places, such as query and header, may have the same name.
    std::vector<std::string> keys;
    for (const Parameter& one : operation.parameters) {
      const bool is_repeated = std::ranges::count(wires, one.wire) > 1;
      keys.push_back(is_repeated && one.place != "Path" ? std::string(one.wire) + ' ' + one.place
                                                        : std::string(one.wire));
    }
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const std::vector<std::string> chosen = distinct(views, &snake_of, taken);
    for (std::size_t i = 0; i < chosen.size(); ++i) operation.parameters[i].name = chosen[i];
  }

  bool is_serialisable(const Parameter& parameter, const Node& schema) {
    const Type& inner = value_type(*parameter.type);
    const Alternatives alternatives = alternatives_of(inner);
    const bool is_deep = parameter.style == "DeepObject";
    const bool is_object = inner.shape == Shape::Struct || inner.shape == Shape::Map;
    const auto reject = [&](const std::string& why) {
      problems_.error(*parameter.node, why);
      return false;
    };
    if ((inner.shape == Shape::Any && has_no_style(document_, schema)) || has_no_style(inner)) {
      return reject(
          "alternatives that cannot be told apart cannot be written in this style: give the parameter a 'content' of "
          "application/json");
    }
    if (is_deep && !is_object && alternatives.object == nullptr) {
      return reject("the style deepObject is for objects, but the schema of this parameter allows no objects");
    }
    if (alternatives.object != nullptr && (!is_deep || alternatives.list != nullptr)) {
      return reject(
          std::string(
              "a value that may be an object or something else cannot be written in this style: give the parameter ") +
          (parameter.place == "Query" ? "the style deepObject without an array among the alternatives, or " : "") +
          "a 'content' of application/json");
    }
    if (is_object && parameter.explodes &&
        (parameter.style == "SpaceDelimited" || parameter.style == "PipeDelimited")) {
      return reject("an object cannot be exploded in this style: give the parameter explode: false");
    }
    if (is_flat(inner) && (alternatives.list == nullptr || is_flat(*alternatives.list)) &&
        (alternatives.object == nullptr || is_flat(*alternatives.object))) {
      return true;
    }
    return reject(
        "a parameter in the " + lower(parameter.place) +
        " cannot represent a value that is nested this deeply: give the parameter a 'content' of application/json");
  }
  // True if the elements of the list, or the members of the object, are plain; the members of an object may also be
  // lists.
  static bool is_flat(const Type& inner) {
    const auto is_text = [](const Type* type) {
      return type != nullptr && type->is_plain() && !has_no_style(*type) && alternatives_of(*type).is_text_alone();
    };
    if (inner.shape == Shape::List || inner.shape == Shape::Map) return is_text(inner.element);
    if (inner.shape != Shape::Struct) return true;
    return std::ranges::all_of(inner.members, [&](const Member& member) {
      return is_text(member.type) || (member.type->shape == Shape::List && is_text(member.type->element));
    });
  }

  void read_body(Operation& operation) {
    const Node* const node = document_.resolve(*operation.node, "requestBody");
    if (node == nullptr) return;
    Body& body = operation.body;
    body.node = node;
    const Node* const required = node->find("required");
    body.is_required = required != nullptr && required->is_true();
    const Node* const content = node->find("content", Kind::Map);
    if (content == nullptr || content->children.empty()) {
      problems_.warning(*node, "the request body has no media type, so it is not read");
      body = {};
      return;
    }
    const bool has_other =
        std::ranges::any_of(content->children, [](const Node* media) { return !is_xml(media->key); });
    const bool has_json = std::ranges::any_of(content->children, [](const Node* media) { return is_json(media->key); });
    // Sorted by name, but with JSON first: the first media type is assumed when a request names no media type.
    std::vector<const Node*> media_types(content->children.begin(), content->children.end());
    std::ranges::sort(media_types, {}, [&](const Node* media) {
      return std::tuple(!is_json(media->key), !is_json_content(document_, *media), media->key);
    });
    if (has_other) std::erase_if(media_types, [](const Node* media) { return is_xml(media->key); });  // lint() warns.
    const auto bytes =
        std::ranges::find(media_types, Body::Kind::Streamed, [&](const Node* it) { return kind_of(*it); });
    bool has_streamed = false;
    for (const Node* const media : media_types) {
      const Node* const schema = media->find("schema");
      Body::Kind kind = kind_of(*media);
      const Type* type = nullptr;
      if (kind == Body::Kind::Json && !is_json(media->key) && bytes != media_types.end()) {
        problems_.warning(*media, "the schema of " + quoted(media->key) + " has no effect: its content is bytes, as " +
                                      quoted((*bytes)->key) + " beside it is");
        kind = Body::Kind::Streamed;
      } else if (kind == Body::Kind::Json || kind == Body::Kind::Form) {
        if (content->children.size() == 1 && read_files(operation, *media)) return;
        type = has_equal_schema(body, *schema) ? body.type : types_.type_of(*schema, operation.title + "Body");
        if (type == nullptr) continue;
        if (kind == Body::Kind::Form && type->shape != Shape::Struct && type->shape != Shape::Map) {
          const bool is_untold =
              type->shape == Shape::Any && (kinds_meant(document_, *schema) & ~null_kind) == object_kind;
          const std::string what =
              is_untold ? "the alternatives of this form cannot be told apart: combine them into one object"
                        : "the schema of a form has to be an object";
          if (has_json) {
            problems_.warning(*media, what + ": only JSON is read here");
          } else {
            problems_.error(*media, what);
          }
          continue;
        }
      } else if (kind == Body::Kind::Text) {
        const Type* const text = schema == nullptr ? nullptr : types_.type_of(*schema, operation.title + "Body");
        if (text != nullptr && (text->shape != Shape::String || text->is_nullable || !text->check.empty())) {
          problems_.error(*media,
                          "the schema of " + quoted(media->key) + " is not checked: it has to be {type: string}");
          continue;
        }
      }
      has_streamed = has_streamed || kind == Body::Kind::Streamed;
      if (!body.contents.empty() && kind != Body::Kind::Streamed && type != body.type) {
        problems_.error(*media, "the schema of " + quoted(media->key) + " differs from that of " +
                                    quoted(body.contents[0].media_type) + ": an operation can have only one body type");
        continue;
      }
      body.type = type;
      body.contents.push_back({kind, media->key, media});
    }
    if (has_streamed &&
        std::ranges::any_of(body.contents, [](const Body::Content& one) { return one.kind != Body::Kind::Streamed; })) {
      problems_.error(
          *node,
          "an operation cannot have both a streamed body and a body that is read as a whole: make two operations");
    }
  }

  Body::Kind kind_of(const Node& media) const {
    if (is_json_content(document_, media)) return Body::Kind::Json;
    if (is_form(media.key) && media.find("schema") != nullptr) return Body::Kind::Form;
    return media_type_of(media.key).starts_with("text/") ? Body::Kind::Text : Body::Kind::Streamed;
  }
  // Whether the schema equals the schema of the first content.
  bool has_equal_schema(const Body& body, const Node& schema) const {
    if (body.contents.empty()) return false;
    const Node* const first = body.contents[0].media->find("schema");
    return first != nullptr && are_equal(*first, schema) && document_.target(*first) == document_.target(schema);
  }

  // Handles a form with files that is read as it arrives; returns false for any other content.
  bool read_files(Operation& operation, const Node& media) {
    if (media_type_of(media.key) != "multipart/form-data") return false;
    std::optional<SplitForm> split = split_form(document_, media, problems_);
    if (!split) return false;
    Body& body = operation.body;
    if (split->fields != nullptr) {
      body.type = types_.type_of(*split->fields, operation.title + "Body");
      if (body.type == nullptr) return true;  // type_of() has reported a problem.
    }
    const bool is_closed = body.type == nullptr ? split->is_closed : made(*body.type).is_strict;
    const bool keeps = body.type != nullptr && (body.type->others != nullptr || body.type->shape != Shape::Struct);
    body.undeclared = keeps ? "Kept" : is_closed ? "Rejected" : "Skipped";
    body.files = std::move(split->files);
    body.contents.push_back({Body::Kind::Form, media.key, &media});
    operation.file = names_.type(operation.title + "File");
    operation.files = names_.type(operation.title + "Files");
    return true;
  }

  void read_schemes() {
    const Node* const components = document_.root().find("components", Kind::Map);
    const Node* const schemes = components == nullptr ? nullptr : components->find("securitySchemes", Kind::Map);
    if (schemes == nullptr) return;
    for (const Node* const written : schemes->children) {
      if (const Node* const node = document_.resolve(*written)) schemes_.emplace(written->key, node);
    }
  }

  void read_security(Operation& operation) {
    const Node* security = operation.node->find("security", Kind::List);
    if (security == nullptr) security = document_.root().find("security", Kind::List);
    if (security == nullptr) return;
    // An empty alternative matches every request, so this alternative is tried last, whatever its position in the list.
    bool is_optional = false;
    for (const Node* const written : security->children) {
      is_optional = is_optional || (written->is(Kind::Map) && written->children.empty());
      if (!written->is(Kind::Map) || written->children.empty()) continue;
      if (written->children.size() > contract::credentials_max) {
        problems_.error(*written, "an alternative in 'security' may have at most " +
                                      std::to_string(contract::credentials_max) + " schemes, but this one has " +
                                      std::to_string(written->children.size()));
        continue;
      }
      auto& alternative = operation.security.alternatives.emplace_back();
      std::vector<const Node*> needed(written->children.begin(), written->children.end());
      std::ranges::sort(needed, {}, &Node::key);
      for (const Node* const one : needed) {
        const std::size_t scheme = scheme_of(*one);
        if (scheme == SIZE_MAX) continue;
        Security::Requirement requirement{scheme, {}};
        for (const Node* const scope : one->children) requirement.scopes.push_back(scope->text);
        alternative.push_back(std::move(requirement));
      }
    }
    if (is_optional && !operation.security.alternatives.empty()) operation.security.alternatives.emplace_back();
  }

  std::size_t scheme_of(const Node& requirement) {
    for (std::size_t i = 0; i < contract_.schemes.size(); ++i) {
      if (contract_.schemes[i].wire == requirement.key) return i;
    }
    const auto known = schemes_.find(std::string(requirement.key));
    if (known == schemes_.end()) return SIZE_MAX;  // lint() reports it.
    const Node& node = *known->second;
    Scheme scheme;
    scheme.wire = requirement.key;
    scheme.node = &node;
    const std::string_view type = node.string("type");
    const std::string small = lower(node.string("scheme"));
    if (type == "apiKey") {
      const std::string_view place = node.string("in");
      scheme.kind = place == "header" ? "HeaderKey" : place == "query" ? "QueryKey" : "CookieKey";
      scheme.field = node.string("name");
      if (place != "query" && !http::is_token(scheme.field)) {
        problems_.error(node, quoted(scheme.field) + " cannot be the name of a " + std::string(place) +
                                  ": it contains characters other than letters, digits and !#$%&'*+-.^_`|~");
        return SIZE_MAX;
      }
    } else if (type == "http" && small == "basic") {
      scheme.kind = "Basic";
    } else if (type == "http" && small != "bearer") {
      problems_.error(node, "the HTTP authentication scheme " + quoted(node.string("scheme")) +
                                " is not supported: expected basic or bearer");
      return SIZE_MAX;
    } else {
      scheme.kind = type == "mutualTLS" ? "Certificate" : "Bearer";
    }
    std::vector<std::string_view> wires;
    for (const auto& [wire, one] : schemes_) wires.push_back(wire);
    static constexpr std::string_view taken[] = {"schemes", "verifiers", "verify"};
    const std::vector<std::string> chosen = distinct(wires, &snake_of, taken);
    for (std::size_t i = 0; i < wires.size(); ++i) {
      if (wires[i] == scheme.wire) scheme.name = chosen[i];
    }
    contract_.schemes.push_back(std::move(scheme));
    return contract_.schemes.size() - 1;
  }

  // Sets the base path: the path in the URL of the first server, with variables replaced by their default values.
  void read_base() {
    const Node* const servers = document_.root().find("servers", Kind::List);
    if (servers == nullptr || servers->children.empty()) return;
    std::string url(servers->children[0]->string("url"));
    // One pass replaces all variables: a variable may occur several times, and variables within default values are not
    // replaced.
    const Node* const variables = servers->children[0]->find("variables", Kind::Map);
    for (std::size_t at = 0; variables != nullptr && (at = url.find('{', at)) != std::string::npos;) {
      const std::size_t end = url.find('}', at);
      if (end == std::string::npos) break;
      const Node* const variable = variables->find(std::string_view(url).substr(at + 1, end - at - 1));
      const std::string value(variable == nullptr ? std::string_view() : variable->string("default"));
      if (variable != nullptr) url.replace(at, end + 1 - at, value);
      at = variable != nullptr ? at + value.size() : end;
    }
    if (const std::size_t scheme = url.find("://"); scheme != std::string::npos) {
      const std::size_t path = url.find('/', scheme + 3);
      url = path == std::string::npos ? "" : url.substr(path);
    }
    url = url.substr(0, url.find_first_of("?#"));
    if (url.find_first_of("{}") != std::string::npos) return;
    if (url.starts_with("//")) url = url.substr(std::min(url.find('/', 2), url.size()));
    // A URL without a scheme is relative to the document, which is served at the root.
    const bool is_relative = url.starts_with("./") || url.starts_with("../");
    while (url.starts_with("./") || url.starts_with("../")) url.erase(0, url.find('/') + 1);
    if (url == "." || url == "..") url.clear();
    const Node& place = *servers->children[0];
    if (!is_relative && url.substr(0, url.find('/')).find_first_of(".:") != std::string::npos) {
      problems_.warning(place, "the server " + quoted(place.string("url")) +
                                   " has no scheme, so it is a path, and is ignored: if it is a host, write https://");
      return;
    }
    if (!url.empty() && !url.starts_with('/')) url.insert(0, 1, '/');
    while (url.ends_with('/')) url.pop_back();
    if (const std::string why = unroutable(url); !why.empty()) {
      problems_.warning(place, "the path of the server " + quoted(place.string("url")) + " is ignored: " + why);
      return;
    }
    contract_.base = url;
  }

  // If an operation has the path of the document or of the page that shows the document, that path serves the
  // operation, not the document or the page.
  void look_for_documentation() {
    constexpr std::pair<std::string_view, std::string_view> settings[] = {{"/openapi.json", "document_path"},
                                                                          {"/docs", "page_path"}};
    for (const auto& [path, setting] : settings) {
      const auto is_there = [&](const Found& one) {
        return one.operation->key == "get" && contract_.base + std::string(one.path) == path;
      };
      const auto found = std::ranges::find_if(found_, is_there);
      if (found == found_.end()) continue;
      contract_.documentation += (contract_.documentation.empty() ? "." : ", .") + std::string(setting) + " = \"\"";
      problems_.warning(*found->operation,
                        "GET " + std::string(path) + " takes the place of " +
                            (setting == "page_path"
                                 ? "the page that shows the document: mount() serves the page"
                                 : "the document, and without the document there is no page: mount() serves both") +
                            " where MountOptions::documentation." + std::string(setting) + " says");
    }
  }

  Document& document_;
  Types& types_;
  Names& names_;
  Problems& problems_;
  std::vector<Found> found_;
  // The name of the parameter at each place. The place is the path before the parameter, with "{}" for each earlier
  // parameter.
  std::map<std::string, std::string> pattern_names_;
  std::map<std::string, const Node*> schemes_;
  Contract contract_;
};

}  // namespace

std::string Parameter::spelling() const {
  return is_required || !initialiser.empty() ? type->spelling : optional_of(*type);
}
std::string Body::spelling() const {
  if (type == nullptr) return is_required ? "std::string_view" : "std::optional<std::string_view>";
  return is_required ? type->spelling : optional_of(*type);
}

Contract read_contract(openapi::Document& document, Types& types, Names& names, openapi::Problems& problems) {
  return Reading(document, types, names, problems).read();
}

}  // namespace keel::gen
