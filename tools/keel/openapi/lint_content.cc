// The part of lint() that is about parameters, headers, bodies, media types and examples.

#include <algorithm>
#include <array>
#include <string>

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

// "application/json" of "Application/JSON; charset=utf-8"; "" when it is malformed.
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
                      "the path parameter " + quoted(name) + " needs required: true: a path always has it");
    }
    if (in->text == "header") {
      if (!is_token(name)) problems_.error(*node.find("name"), quoted(name) + " is not the name of a header");
      const std::string small = lower(name);
      if (small == "accept" || small == "content-type" || small == "authorization") {
        problems_.warning(node, "the header parameter " + quoted(name) + " is ignored: " +
                                    (small == "authorization" ? "security schemes describe it"
                                                              : "the media types of contents describe it"));
      }
    }
    const Node* const empty = node.find("allowEmptyValue");
    if (empty != nullptr && in->text != "query")
      problems_.warning(*empty, "'allowEmptyValue' has no effect outside the query");
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
      const bool is_of_events =
          essence == "text/event-stream" && content.parent != nullptr && content.parent->key == "200";
      if (is_structured_format(essence) || is_of_events || !is_structured(*one)) continue;
      const std::string text = "an object or array in " + essence + " is not supported: JSON, forms and multipart are";
      if (has_readable) {
        problems_.warning(*one, text + ", and this content has one of them");
      } else {
        problems_.error(*one, text + "; give it type: string, or no schema");
      }
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
    if (role != Role::Responses) continue;
    for (const Node* const response : node->children) {
      const std::string_view status = response->key;
      const Node* const to = document.resolve(*response);
      const Node* const content = to == nullptr ? nullptr : to->find("content", Kind::Map);
      const bool has_no_body = status == "204" || status == "205" || status == "304" || status.starts_with('1');
      if (has_no_body && content != nullptr && !content->children.empty()) {
        problems.error(to == response ? *content : *response,
                       "a response of status " + std::string(status) + " has no body, and this one has 'content'");
      }
    }
  }
}

}  // namespace keel::openapi
