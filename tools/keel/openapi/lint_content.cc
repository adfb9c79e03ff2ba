// The part of lint() that checks parameters, headers, bodies, media types and examples.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "keel/base/ascii.h"
#include "openapi/lint.h"

namespace keel::openapi {
namespace {

// RFC 9110 §5.6.2.
bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return ascii::is_alphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = ascii::to_lower(c);
  return out;
}

// Returns "application/json" for "Application/JSON; charset=utf-8"; "" for a malformed media type.
std::string essence_of(std::string_view media_type) {
  std::string_view essence = media_type.substr(0, media_type.find(';'));
  while (essence.ends_with(' ')) essence.remove_suffix(1);
  const std::size_t slash = essence.find('/');
  if (slash == essence.npos || !is_token(essence.substr(0, slash)) || !is_token(essence.substr(slash + 1))) return "";
  return lower(essence);
}

bool is_structured_format(std::string_view essence) {
  return essence == "application/json" || essence.ends_with("+json") ||
         essence == "application/x-www-form-urlencoded" || essence.starts_with("multipart/") || essence == "*/*" ||
         essence == "application/*";
}

struct Styles {
  std::string_view in;
  std::array<std::string_view, 4> styles;
};
constexpr std::array<Styles, 4> styles_of_places = {
    {{"path", {"simple", "label", "matrix", ""}},
     {"query", {"form", "spaceDelimited", "pipeDelimited", "deepObject"}},
     {"header", {"simple", "", "", ""}},
     {"cookie", {"form", "", "", ""}}}};

class ContentCheck {
 public:
  ContentCheck(const Document& document, Problems& problems) : document_(document), problems_(problems) {}

  void check_parameter(const Node& node) {
    check_schema_or_content(node, "a parameter");
    check_examples(node);
    const Node* const in = node.find("in", Kind::String);
    const std::string_view name = node.string("name");
    if (in == nullptr) return;
    const auto place = std::find_if(styles_of_places.begin(), styles_of_places.end(),
                                    [&](const Styles& one) { return one.in == in->text; });
    if (place == styles_of_places.end()) {
      problems_.error(*in, "'in' is " + shown(*in) + ": expected path, query, header or cookie");
      return;
    }
    check_style(node, place->in, place->styles);
    const Node* const required = node.find("required");
    if (in->text == "path" && (required == nullptr || !required->is_true())) {
      problems_.error(required == nullptr ? node : *required,
                      "the path parameter " + quoted(name) + " needs required: true, because a path always has it");
    }
    if (in->text == "header") {
      if (!is_token(name)) problems_.error(*node.find("name"), quoted(name) + " is not the name of a header");
      const std::string small = lower(name);
      if (small == "accept" || small == "content-type" || small == "authorization") {
        problems_.warning(node, "the header parameter " + quoted(name) + " is ignored: " +
                                    (small == "authorization" ? "security schemes describe it"
                                                              : "the media types of contents describe it"));
      } else if (is_header_of_client(name)) {
        problems_.warning(node, "the header parameter " + quoted(name) + " is ignored: clients write it themselves");
      }
    }
    const Node* const empty = node.find("allowEmptyValue");
    if (empty != nullptr && in->text != "query") {
      problems_.warning(*empty, "'allowEmptyValue' has no effect outside the query");
    } else if (empty != nullptr && empty->is_true()) {
      problems_.warning(*empty,
                        "'allowEmptyValue' has no effect: an empty value is read as an empty string, which is an "
                        "error if the schema does not allow one");
    }
  }

  void check_header(const Node& node) {
    check_schema_or_content(node, "a header");
    check_examples(node);
    check_style(node, "header", styles_of_places[2].styles);
    const Node* const map = node.parent;
    if (map == nullptr || map->key != "headers") return;
    if (map->parent != nullptr && map->parent->key == "components") return;
    if (!is_token(node.key)) problems_.error(node, quoted(node.key) + " is not the name of a header");
    if (lower(node.key) == "content-type") {
      problems_.warning(node, "the header 'Content-Type' is ignored: the media types of the content describe it");
    }
  }

  void check_headers(const Node& response) {
    const Node* const headers = response.find("headers", Kind::Map);
    if (headers == nullptr) return;
    for (const Node* const one : headers->children) {
      if (!is_header_of_server(one->key)) continue;
      problems_.warning(*one, "the header " + quoted(one->key) + " is ignored: the server itself writes it");
    }
  }

  // Checks `content` of a request body, a response, a parameter or a header.
  void check_content(const Node& content) {
    if (!content.is(Kind::Map)) return;
    const bool has_readable = std::any_of(content.children.begin(), content.children.end(),
                                          [](const Node* one) { return is_structured_format(essence_of(one->key)); });
    for (const Node* const one : content.children) {
      if (one->key.starts_with("x-")) continue;
      const std::string essence = essence_of(one->key);
      if (essence.empty()) {
        problems_.error(*one, quoted(one->key) + " is not a media type: expected one such as application/json");
        continue;
      }
      const Node* const encoding = one->find("encoding");
      if (encoding != nullptr && !essence.starts_with("multipart/") && essence != "application/x-www-form-urlencoded") {
        problems_.warning(*encoding,
                          "'encoding' has no effect: it is for multipart and application/x-www-form-urlencoded");
      }
      const bool has_parts = essence.starts_with("multipart/") && essence != "multipart/form-data";
      if (has_parts && is_structured(*one)) {
        problems_.warning(*one, "the schema of " + quoted(one->key) + " has no effect: its content is bytes");
      }
      const bool is_of_events =
          essence == "text/event-stream" && content.parent != nullptr && content.parent->key == "200";
      if (is_structured_format(essence) || is_of_events || !is_structured(*one)) continue;
      const std::string text =
          "an object or array in " + essence + " is not supported: only JSON, forms and multipart are supported";
      if (has_readable) {
        problems_.warning(*one, text + "; this content also has a supported type");
      } else {
        problems_.error(*one, text + "; give it type: string, or no schema");
      }
    }
  }

  // Checks `encoding` of the forms of a request body.
  void check_forms(const Node& content) {
    if (!content.is(Kind::Map)) return;
    for (const Node* const media : content.children) {
      const std::string essence = essence_of(media->key);
      const Node* const encoding = media->find("encoding", Kind::Map);
      const bool has_parts = essence.starts_with("multipart/");
      if (encoding == nullptr || (!has_parts && essence != "application/x-www-form-urlencoded")) continue;
      for (const Node* const one : encoding->children) check_encoding(*one, property_of(*media, one->key), essence);
    }
  }

  void check_examples(const Node& node) {
    const Node* const examples = node.find("examples");
    if (node.find("example") != nullptr && examples != nullptr) {
      problems_.error(*examples, "'example' and 'examples' exclude each other");
    }
  }
  void check_example(const Node& node) {
    const Node* const external = node.find("externalValue");
    if (node.find("value") != nullptr && external != nullptr) {
      problems_.error(*external, "'value' and 'externalValue' exclude each other");
    }
  }

 private:
  enum class Shape : std::uint8_t { Unknown, Plain, File, List, Object };

  // The schema of a form's property; null if neither the form's schema nor a part of its allOf has the property.
  const Node* property_of(const Node& media, std::string_view name) const {
    const Node* const schema = document_.resolve(media, "schema");
    if (schema == nullptr) return nullptr;
    const auto of = [&](const Node& one) {
      const Node* const properties = one.find("properties", Kind::Map);
      return properties == nullptr ? nullptr : document_.resolve(*properties, name);
    };
    const Node* found = of(*schema);
    const Node* const parts = schema->find("allOf", Kind::List);
    for (std::size_t i = 0; found == nullptr && parts != nullptr && i < parts->children.size(); ++i) {
      const Node* const part = document_.resolve(*std::as_const(parts->children[i]));
      if (part != nullptr) found = of(*part);
    }
    return found;
  }
  static Shape shape_of(const Node* schema) {
    if (schema == nullptr) return Shape::Unknown;
    const Node* const type = schema->find("type");
    const auto is = [&](std::string_view name) {
      return type != nullptr && (type->text == name || std::ranges::any_of(type->children, [&](const Node* one) {
                                   return one->text == name;
                                 }));
    };
    if (is("array") || schema->find("items") != nullptr) return Shape::List;
    if (is("object") || schema->find("properties") != nullptr) return Shape::Object;
    if (schema->string("format") == "binary" || schema->find("contentMediaType") != nullptr) return Shape::File;
    return type == nullptr ? Shape::Unknown : Shape::Plain;
  }
  // The reason why a `contentType` has no effect; "" if it has an effect, or if it is the type that is sent anyway.
  static std::string why_not_checked(std::string_view types, Shape shape, std::string_view form) {
    bool are_types = true;
    bool are_json = true;
    std::size_t count = 0;
    std::string essence;
    for (std::string_view rest = types; !rest.empty() || count == 0; ++count) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      std::string_view one = rest.substr(0, end);
      while (one.starts_with(' ')) one.remove_prefix(1);
      essence = essence_of(one);
      are_types = are_types && !essence.empty();
      are_json = are_json && (essence == "application/json" || essence.ends_with("+json"));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const bool is_what_is_sent = count == 1 && essence == (shape == Shape::Object  ? "application/json"
                                                           : shape == Shape::Plain ? "text/plain"
                                                                                   : "application/octet-stream");
    if (is_what_is_sent) return "";
    if (!form.starts_with("multipart/")) return "the fields of this form have no types";
    if (form != "multipart/form-data")
      return "the parts of " + std::string(form) +
             " are read by the handler of the "
             "operation";
    if (!are_types) return "expected media types such as image/png, image/*";
    return shape == Shape::Object && !are_json ? "an object is always JSON" : "";
  }
  void check_encoding(const Node& encoding, const Node* schema, std::string_view form) {
    if (!encoding.is(Kind::Map)) return;
    const Shape shape = shape_of(schema);
    const std::string of = " of " + quoted(encoding.key) + " has no effect: ";
    const Node* const style = encoding.find("style", Kind::String);
    const Node* const explode = encoding.find("explode", Kind::Boolean);
    const bool is_structured = shape == Shape::List || shape == Shape::Object;
    constexpr std::string_view how = "in a form an array is one field for each element, and an object is JSON";
    if (style != nullptr && is_structured && (style->text != "form" || shape == Shape::Object)) {
      problems_.warning(*style, "the style " + shown(*style) + of + std::string(how));
    } else if (explode != nullptr && is_structured && (explode->is_true() == (shape == Shape::Object))) {
      problems_.warning(*explode, "'explode'" + of + std::string(how));
    }
    const Node* const items = shape == Shape::List ? document_.resolve(*schema, "items") : nullptr;
    const Shape element = shape == Shape::List ? shape_of(items) : shape;
    if (const Node* const type = encoding.find("contentType", Kind::String)) {
      const std::string why = why_not_checked(type->text, element, form);
      if (!why.empty()) problems_.warning(*type, "the contentType " + shown(*type) + of + why);
    }
    if (const Node* const headers = encoding.find("headers", Kind::Map);
        headers != nullptr && form.starts_with("multipart/")) {
      problems_.warning(*headers, "'headers'" + of + "the headers of the parts of a form are neither read nor sent");
    }
  }

  void check_schema_or_content(const Node& node, std::string_view what) {
    const Node* const schema = node.find("schema");
    const Node* const content = node.find("content");
    if ((schema == nullptr) == (content == nullptr)) {
      problems_.error(node,
                      std::string(what) + " needs 'schema' or 'content'" + (schema == nullptr ? "" : ", not both"));
    }
    if (content == nullptr) return;
    if (content->is(Kind::Map) && content->children.size() != 1) {
      problems_.error(*content, "'content' of " + std::string(what) + " has " +
                                    std::to_string(content->children.size()) + " media types: expected one");
    }
    if (const Node* const style = node.find("style"))
      problems_.error(*style, "'style' and 'content' exclude each other");
  }
  void check_style(const Node& node, std::string_view in, const std::array<std::string_view, 4>& styles) {
    const Node* const style = node.find("style", Kind::String);
    if (style == nullptr) return;
    if (!style->text.empty() && std::find(styles.begin(), styles.end(), style->text) != styles.end()) return;
    std::string expected;
    for (const std::string_view one : styles) {
      if (!one.empty()) expected += (expected.empty() ? "" : ", ") + std::string(one);
    }
    problems_.error(*style, "the style " + shown(*style) + " does not exist in " +
                                (in == "header" ? "a header" : "a " + std::string(in)) + ": expected " + expected);
  }
  bool is_structured(const Node& media_type) const {
    const Node* const schema = document_.resolve(media_type, "schema");
    if (schema == nullptr) return false;
    if (schema->find("properties") != nullptr || schema->find("items") != nullptr) return true;
    const Node* const type = schema->find("type");
    return type != nullptr && (type->text == "object" || type->text == "array");
  }

  const Document& document_;
  Problems& problems_;
};

}  // namespace

bool is_header_of_client(std::string_view name) {
  // The headers that http::ClientRequest does not accept.
  constexpr std::string_view all[] = {"connection",  "content-length",    "expect", "host",
                                      "keep-alive",  "proxy-connection",  "te",     "trailer",
                                      "traceparent", "transfer-encoding", "upgrade"};
  return std::ranges::find(all, lower(name)) != std::end(all);
}
bool is_header_of_server(std::string_view name) {
  const std::string small = lower(name);
  return small == "connection" || small == "content-length" || small == "date" || small == "transfer-encoding";
}

void check_content(const Document& document, const std::vector<Object>& objects, Problems& problems) {
  ContentCheck check(document, problems);
  for (const auto& [node, role] : objects) {
    switch (role) {
      case Role::Parameter:
        check.check_parameter(*node);
        break;
      case Role::Header:
        check.check_header(*node);
        break;
      case Role::Response:
        check.check_headers(*node);
        break;
      case Role::MediaType:
        check.check_examples(*node);
        break;
      case Role::Example:
        check.check_example(*node);
        break;
      default:
        break;
    }
    if (role == Role::Parameter || role == Role::Header || role == Role::RequestBody || role == Role::Response) {
      if (const Node* const content = node->find("content")) check.check_content(*content);
    }
    if (role == Role::RequestBody) {
      if (const Node* const content = node->find("content")) check.check_forms(*content);
    }
    if (role != Role::Responses) continue;
    for (const Node* const response : node->children) {
      const std::string_view status = response->key;
      if (status.starts_with('1')) {
        problems.warning(*response, "no code is generated for the response " + quoted(status) +
                                        ": a handler sends only final responses, with a status from 200 to 599");
      }
      const Node* const to = document.resolve(*response);
      const Node* const content = to == nullptr ? nullptr : to->find("content", Kind::Map);
      const bool has_no_body = status == "204" || status == "205" || status == "304" || status.starts_with('1');
      if (has_no_body && content != nullptr && !content->children.empty()) {
        problems.warning(to == response ? *content : *response,
                         "'content' is ignored: a response of status " + std::string(status) + " has no body");
      }
    }
  }
}

}  // namespace keel::openapi
