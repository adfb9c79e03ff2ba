#include "gen/exchange.h"

#include <algorithm>

#include "gen/cpp.h"

namespace keel::gen {

using openapi::Node;

std::string capital(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(), [](unsigned char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  return made;
}

bool is_wild(std::string_view media_type) { return media_type.find('*') != std::string_view::npos; }
bool is_success(const Response& response) {
  return response.least >= 200 && response.least < 300 && response.status != "default";
}

std::string list_of_literals(const std::vector<std::string_view>& texts) {
  std::string list = "{";
  for (const std::string_view text : texts) {
    if (list.size() > 1) list += ", ";
    list += literal(text);
  }
  return list + '}';
}

std::string title_of(const Operation& operation) {
  std::string title = capital(operation.method) + ' ' + std::string(operation.path);
  const std::string_view summary = operation.node->string("summary");
  const std::string about(summary.empty() ? operation.node->string("description") : summary);
  if (!about.empty()) title += ": " + about;
  const Node* const deprecated = operation.node->find("deprecated");
  if (deprecated != nullptr && deprecated->is_true()) title += " (deprecated)";
  return title;
}
std::string described(const Node& node) { return std::string(node.string("description")); }

std::string initialised(const Type& type, const std::string& initialiser) {
  if (!initialiser.empty()) return " = " + initialiser;
  const bool is_scalar = type.shape == Shape::Boolean || type.shape == Shape::Integer || type.shape == Shape::Number ||
                         type.shape == Shape::Enum;
  return is_scalar && !type.is_nullable ? " = {}" : "";
}

bool has_body_member(const Operation& operation) {
  const Body& body = operation.body;
  return body.node != nullptr && !body.is_streamed() && (!body.has_files() || body.type != nullptr);
}

std::string request_struct(const Operation& operation) {
  std::string text = comment("", "The input of " + capital(operation.method) + ' ' + std::string(operation.path) + '.');
  text += "struct " + operation.request + " {\n";
  for (const Parameter& parameter : operation.parameters) {
    const std::string about = described(*parameter.node);
    if (!about.empty()) text += comment("  ", about);
    text +=
        "  " + parameter.spelling() + ' ' + parameter.name +
        (parameter.is_required || !parameter.initialiser.empty() ? initialised(*parameter.type, parameter.initialiser)
                                                                 : "") +
        ";\n";
  }
  if (operation.body.is_streamed()) {
    text += "  // The body is read from the request, as it arrives: http.read_body().\n";
  } else if (has_body_member(operation)) {
    const std::string about = described(*operation.body.node);
    if (!about.empty()) text += comment("  ", about);
    text +=
        "  " + operation.body.spelling() + " body" +
        (operation.body.is_required && operation.body.type != nullptr ? initialised(*operation.body.type, "") : "") +
        ";\n";
  }
  return text + "};\n\n";
}

std::string header_structs(const Operation& operation) {
  std::string text;
  for (const Response& response : operation.responses) {
    if (response.headers.empty()) continue;
    text += comment("", "The headers of the response " + response.status + " to " + capital(operation.method) + ' ' +
                            std::string(operation.path) + '.');
    text += "struct " + response.headers_name + " {\n";
    for (const Header& header : response.headers) {
      const std::string about = described(*header.node);
      if (!about.empty()) text += comment("  ", about);
      text += "  " +
              (header.is_required || header.type->is_nullable ? header.type->spelling
                                                              : "std::optional<" + header.type->spelling + '>') +
              ' ' + header.name + (header.is_required ? initialised(*header.type, "") : "") + ";\n";
    }
    text += "};\n\n";
  }
  return text;
}

std::string reader_of(const Type& type) {
  if (type.read != "read_json") return '&' + type.read;
  return "keel::contract::reader<" + (type.inner != nullptr ? type.inner->spelling : type.spelling) + ">(&read_json)";
}
std::string form_literal(std::string_view form) { return "keel::contract::Form::" + std::string(form); }
std::string fields_of(const Type& type, const std::string& name, std::string& others, const std::string& indent,
                      const Node* media) {
  const Type& inner = type.inner != nullptr ? *type.inner : type;
  const Type* const other = inner.element != nullptr ? inner.element : inner.others;
  others = form_literal(other != nullptr ? form_of(*other) : "Either");
  if (inner.members.empty()) return "";
  std::string text =
      indent + (indent.empty() ? "" : "static ") + "constexpr keel::contract::Field " + name + "[] = {\n";
  for (const Member& member : inner.members) {
    const std::string_view form = member.type == nullptr ? "Either" : form_of(*member.type);
    const std::string media_types = media_types_of(media, member.json, form);
    text += indent + "    {" + literal(member.json) + ", " + form_literal(form) +
            (media_types.empty() ? "" : ", " + literal(media_types)) + "},\n";
  }
  return text + indent + "};\n";
}

std::string credentials_of(const Scheme& scheme) {
  return scheme.kind == "Basic"         ? "std::string_view user, std::string_view password"
         : scheme.kind == "Certificate" ? "std::string_view identity"
         : scheme.kind == "Bearer"      ? "std::string_view token"
                                        : "std::string_view key";
}

EitherText either_of(const Alternatives& alternatives, const std::string& name, const std::string& indent) {
  EitherText made;
  made.single = form_literal(alternatives.single.empty() ? "Text" : alternatives.single);
  made.parts = form_literal(alternatives.list != nullptr ? form_of(*alternatives.list->element) : "Text");
  if (alternatives.object != nullptr) made.fields = fields_of(*alternatives.object, name, made.parts, indent);
  made.name = made.fields.empty() ? "{}" : name;
  return made;
}

namespace {

std::vector<std::string> values_of(const Parameter& parameter) {
  std::vector<std::string> values = {".name = " + literal(parameter.wire),
                                     ".place = keel::contract::Place::" + parameter.place,
                                     ".style = keel::contract::Style::" + parameter.style,
                                     parameter.explodes ? ".explodes = true" : ".explodes = false"};
  if (parameter.is_required) values.emplace_back(".is_required = true");
  if (!parameter.in_route.empty()) values.push_back(".in_route = " + literal(parameter.in_route));
  return values;
}

}  // namespace

std::string parameter_initialiser(const Parameter& parameter, const std::string& indent) {
  std::string text = list(indent, "", values_of(parameter), "");
  text.pop_back();
  return text.substr(indent.size());
}
std::string parameter_constant(const Parameter& parameter, std::string& name) {
  name = parameter.name + (parameter.name.ends_with('_') ? "parameter" : "_parameter");
  return list("  ", "static constexpr keel::contract::Parameter " + name + " = ", values_of(parameter), ";");
}

std::string alternatives_constant(const Security& security, const std::string& prefix) {
  const std::string indent = prefix.empty() ? "  static " : "";
  const std::string before = prefix.empty() ? "" : prefix + '_';
  std::string part;
  std::string list;
  for (std::size_t i = 0; i < security.alternatives.size(); ++i) {
    const auto& alternative = security.alternatives[i];
    const std::string number = std::to_string(i + 1);
    std::string requirements;
    for (std::size_t j = 0; j < alternative.size(); ++j) {
      std::string scopes = "{}";
      if (!alternative[j].scopes.empty()) {
        scopes = before + "scopes_" + number + '_' + std::to_string(j + 1);
        part +=
            indent + "constexpr std::string_view " + scopes + "[] = " + list_of_literals(alternative[j].scopes) + ";\n";
      }
      if (j != 0) requirements += ", ";
      requirements += '{' + std::to_string(alternative[j].scheme) + ", " + scopes + '}';
    }
    if (!list.empty()) list += ", ";
    if (requirements.empty()) {
      list += "keel::contract::Alternative()";
      continue;
    }
    const std::string all = before + "all_of_" + number;
    part += indent + "constexpr keel::contract::Requirement " + all + "[] = {" + requirements + "};\n";
    list += all;
  }
  return part + indent + "constexpr keel::contract::Alternative " +
         (prefix.empty() ? "alternatives" : before + "security") + "[] = {" + list + "};\n";
}

}  // namespace keel::gen
