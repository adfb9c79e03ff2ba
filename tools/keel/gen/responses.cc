#include "gen/responses.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <utility>

#include "gen/alternatives.h"
#include "gen/media_types.h"
#include "gen/statuses.h"
#include "gen/styles.h"
#include "openapi/lint.h"

namespace keel::gen {
namespace {

using openapi::Document;
using openapi::Kind;
using openapi::Node;
using openapi::Problems;

class ResponseReading {
 public:
  ResponseReading(std::string_view title, Document& document, Types& types, Names& names, Problems& problems)
      : title_(title), document_(document), types_(types), names_(names), problems_(problems) {}

  std::vector<Response> read(const Node& operation) {
    std::vector<Response> all;
    const Node* const responses = operation.find("responses", Kind::Map);
    if (responses == nullptr) return all;
    std::vector<const Node*> written;
    for (const Node* const one : responses->children) {
      if (!one->key.starts_with("x-")) written.push_back(one);
    }
    std::ranges::sort(written, {}, &Node::key);  // "default" comes last.
    for (const Node* const one : written) {
      const Node* const node = document_.resolve(*one);
      if (node == nullptr || one->key.starts_with('1')) continue;
      Response response;
      response.node = node;
      response.status = one->key;
      response.name = name_of_status(one->key);
      if (one->key == "default") {
        response.least = 200;
        response.most = 599;
      } else if (one->key.ends_with("XX")) {
        response.least = (one->key[0] - '0') * 100;
        response.most = response.least + 99;
      } else {
        response.least = response.most = std::atoi(std::string(one->key).c_str());
      }
      read_headers(response);
      read_contents(response);
      all.push_back(std::move(response));
    }
    return all;
  }

 private:
  void read_headers(Response& response) {
    const Node* const headers = response.node->find("headers", Kind::Map);
    if (headers == nullptr) return;
    std::vector<const Node*> written(headers->children.begin(), headers->children.end());
    std::ranges::sort(written, {}, &Node::key);
    std::vector<std::string_view> wires;
    for (const Node* const one : written) {
      // Content-Type (OpenAPI 3.1.1 §4.8.17) and headers that the server writes are ignored; lint() warns of headers
      // that the server writes.
      if (lower(one->key) == "content-type" || openapi::is_header_of_server(one->key)) continue;
      const Node* const node = document_.resolve(*one);
      if (node == nullptr) continue;
      const Node* schema = node->find("schema");
      const Node* const content = node->find("content", Kind::Map);
      const bool is_of_content = content != nullptr && !content->children.empty();
      if (is_of_content) {
        const Node* const media = content->children[0];
        if (!is_json(media->key)) {
          problems_.error(*media, "a header of the media type " + openapi::quoted(media->key) +
                                      " cannot be written: only JSON is supported");
          continue;
        }
        schema = media->find("schema");
      }
      if (schema == nullptr) {
        problems_.error(*node, "a header of a response needs a 'schema', or a 'content' with a schema");
        continue;
      }
      const Type* const type = types_.type_of(*schema, title_ + pascal_of(one->key));
      if (type == nullptr) continue;
      const Type& inner = type->inner != nullptr ? *type->inner : *type;
      const bool is_text = inner.is_plain() && alternatives_of(inner).is_text_alone() && !has_no_style(inner);
      if (!is_of_content && !is_text &&
          (inner.shape != Shape::List || inner.element == nullptr || !inner.element->is_plain() ||
           has_no_style(*inner.element))) {
        problems_.error(*node,
                        "a response header must be a plain value or a list of plain values: describe a header of any "
                        "other kind with a 'content' of application/json");
        continue;
      }
      const Node* const required = node->find("required");
      response.headers.push_back({{}, one->key, type, required != nullptr && required->is_true(), node, is_of_content});
      wires.push_back(one->key);
    }
    const std::vector<std::string> chosen = distinct(wires, &snake_of);
    for (std::size_t i = 0; i < chosen.size(); ++i) response.headers[i].name = chosen[i];
    if (!response.headers.empty()) {
      response.headers_name = names_.type(title_ + pascal_of(response.name) + "Headers");
    }
  }

  void read_contents(Response& response) {
    const bool has_no_body = response.status == "204" || response.status == "205" || response.status == "304";
    if (has_no_body) return;  // lint() warns of this content.
    const Node* const content = response.node->find("content", Kind::Map);
    if (content == nullptr) return;
    std::vector<const Node*> media_types(content->children.begin(), content->children.end());
    const auto rank = [&](const Node* media) {
      return std::tuple(media_type_of(media->key) != "application/json", !is_json(media->key),
                        !is_json_content(document_, *media), std::string_view(media->key));
    };
    std::ranges::sort(media_types, {}, rank);
    const bool has_other = std::ranges::any_of(media_types, [](const Node* media) { return !is_xml(media->key); });
    for (const Node* const media : media_types) {
      if (is_xml(media->key) && has_other) continue;
      Response::Content one;
      one.media_type = media->key;
      one.name = response.name;
      if (!response.contents.empty()) {
        std::string_view subtype = std::string_view(media->key).substr(media->key.find('/') + 1);
        subtype = subtype.substr(0, subtype.find(';'));
        one.name += '_' + snake_of(subtype == "*" ? "any" : subtype);
      }
      // The name must be unique: "text/csv" and "application/csv" would give functions with the same names, and a
      // content may also give functions whose names end in "_stream" or "_events".
      const std::string name = one.name;
      const auto is_taken = [&](const Response::Content& other) {
        return std::ranges::any_of(
            std::array<std::string_view, 3>{"", "_stream", "_events"}, [&](std::string_view end) {
              return other.name == one.name + std::string(end) || one.name == other.name + std::string(end);
            });
      };
      for (int number = 2; std::ranges::any_of(response.contents, is_taken); ++number) {
        one.name = name + '_' + std::to_string(number);
      }
      if (is_json_content(document_, *media)) {
        one.type = types_.type_of(*media->find("schema"), title_ + pascal_of(response.name));
        if (one.type == nullptr) continue;
        one.is_problem = media_type_of(media->key) == "application/problem+json" && is_problem(*one.type);
      } else {
        const bool is_event_stream = media_type_of(media->key) == "text/event-stream";
        one.is_text = media_type_of(media->key).starts_with("text/") && !is_event_stream;
        one.is_events = is_event_stream && response.is_one() && response.least == 200;
      }
      response.contents.push_back(std::move(one));
    }
  }

  // Whether the schema needs no other members than those that RFC 9457 defines.
  static bool is_problem(const Type& type) {
    constexpr std::string_view own[] = {"type", "title", "status", "detail"};
    if (type.shape == Shape::Any) return true;
    return type.shape == Shape::Struct && std::ranges::all_of(type.members, [&](const Member& member) {
             const bool is_needed = member.presence == Presence::Required || member.presence == Presence::Nullable;
             return !is_needed || std::ranges::find(own, member.json) != std::end(own);
           });
  }

  std::string title_;
  Document& document_;
  Types& types_;
  Names& names_;
  Problems& problems_;
};

}  // namespace

std::vector<Response> read_responses(const Node& operation, std::string_view title, Document& document, Types& types,
                                     Names& names, Problems& problems) {
  return ResponseReading(title, document, types, names, problems).read(operation);
}

}  // namespace keel::gen
