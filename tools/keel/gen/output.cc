#include "gen/output.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "gen/bundle.h"
#include "gen/cpp.h"
#include "gen/operations.h"
#include "gen/schema_tables.h"
#include "gen/selection.h"
#include "openapi/lint.h"

namespace keel::gen {
namespace {

using openapi::Document;
using openapi::Node;
using openapi::Problems;

std::string capital(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(), [](unsigned char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  return made;
}

// "keel::http::Status::NotFound" of "404".
std::string status_of(const Response& response) {
  const std::string name = pascal_of(response.name);
  if (response.name.starts_with("status_")) return "static_cast<keel::http::Status>(" + response.status + ')';
  return "keel::http::Status::" + name;
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

// One function of a response's class.
struct Maker {
  std::string name;
  std::vector<std::string> parameters;
  std::string initialiser;  // Of the last one: " = {}".
  std::string body;         // Of the function, after the template's or without.
  bool is_template = false;
};

std::vector<Maker> makers_of(const Response& response, const std::string& of) {
  std::vector<Maker> makers;
  const std::string status = response.is_one() ? status_of(response)
                                               : "within(status, " + std::to_string(response.least) + ", " +
                                                     std::to_string(response.most) + ')';
  const auto add = [&](std::string name, const std::string& parameter, const std::string& made,
                       bool is_template = false, bool is_wild_type = false) {
    Maker maker;
    maker.name = std::move(name);
    maker.is_template = is_template;
    const auto put = [&](std::string one) { maker.parameters.push_back(std::move(one)); };
    if (!response.is_one()) put("keel::http::Status status");
    if (is_wild_type) put("std::string_view content_type");
    const std::string headers = "const " + response.headers_name + "& headers";
    if (is_template && !response.headers.empty()) put(headers);
    if (!parameter.empty()) put(parameter);
    if (!is_template && !response.headers.empty()) put(headers);
    const bool is_optional = std::ranges::none_of(response.headers, &Header::is_required);
    if (!is_template && !response.headers.empty() && is_optional) maker.initialiser = " = {}";
    if (response.headers.empty()) {
      maker.body = "return " + of + "(" + made + ");";
    } else {
      const std::string inner = is_template ? "    " : "  ";
      maker.body = "keel::http::Response response = " + made + ";\n";
      for (const Header& header : response.headers) {
        maker.body += inner + "set_header(response, " + literal(header.wire) + ", headers." + header.name + ");\n";
      }
      maker.body += inner + "return " + of + "(std::move(response));";
    }
    makers.push_back(std::move(maker));
  };
  if (response.contents.empty()) add(response.name, "", "keel::http::Response(" + status + ')');
  for (const Response::Content& content : response.contents) {
    if (content.type != nullptr) {
      const std::string media_type = is_wild(content.media_type) ? "application/json" : std::string(content.media_type);
      if (content.is_problem)
        add(content.name, "std::string_view detail", "keel::http::refuse(" + status + ", detail)");
      add(content.name, "const " + content.type->spelling + "& body",
          "json(" + status + ", body, " + literal(media_type) + ')');
      continue;
    }
    const bool has_wild_type = is_wild(content.media_type);
    const std::string type = has_wild_type ? "content_type" : literal(content.media_type);
    if (content.is_text) {
      add(content.name, "std::string_view body", "keel::http::Response::text(" + status + ", body, " + type + ')',
          false, has_wild_type);
    } else {
      add(content.name, "keel::Buffer&& body",
          "keel::http::Response::body(" + status + ", std::move(body), " + type + ')', false, has_wild_type);
    }
    add(content.name + "_stream", "Write&&... write",
        "keel::http::Response::stream(" + status + ", " + type + ", std::forward<Write>(write)...)", true,
        has_wild_type);
  }
  return makers;
}

// What the response's class can be made from without a name: the one success.
const Response::Content* implicit_of(const Operation& operation) {
  const Response::Content* found = nullptr;
  for (const Response& response : operation.responses) {
    if (!is_success(response)) continue;
    if (found != nullptr || response.contents.size() != 1 || !response.is_one()) return nullptr;
    if (std::ranges::any_of(response.headers, &Header::is_required)) return nullptr;
    found = &response.contents[0];
  }
  return found != nullptr && found->type != nullptr ? found : nullptr;
}

class Writing {
 public:
  Writing(const Contract& contract, const Types& types, const SchemaTables& tables, const Options& options,
          std::string security, std::string mount_options)
      : contract_(contract),
        types_(types),
        tables_(tables),
        options_(options),
        security_(std::move(security)),
        mount_options_(std::move(mount_options)),
        folder_(options.space.substr(options.space.rfind(':') + 1)),
        parts_(options.parts) {}

  std::vector<File> write(const std::string& document_source) {
    write_types();
    if (!contract_.schemes.empty()) write_security();
    for (const Tag& tag : contract_.tags) write_tag(tag);
    write_mount(document_source);
    write_parts();
    return std::move(files_);
  }

 private:
  std::string head(std::string_view what) const {
    return comment("", std::string(what) + " Generated by `keel gen api` from " + options_.source + ": change that.") +
           '\n';
  }
  std::string open() const { return "namespace " + options_.space + " {\n\n"; }
  std::string close() const { return "}  // namespace " + options_.space + '\n'; }
  bool has_security(const Operation& operation) const { return !operation.security.alternatives.empty(); }
  bool has_security(const Tag& tag) const {
    return std::ranges::any_of(tag.operations, [&](const Operation& one) { return has_security(one); });
  }
  // The text of a part, which will include this header.
  std::string& part_of(const std::string& name, const std::string& header) {
    std::string& part = parts_.of(name);
    includes_[static_cast<std::size_t>(
                  std::ranges::find_if(parts_.texts(), [&](const std::string& one) { return &one == &part; }) -
                  parts_.texts().begin())]
        .insert(header);
    return part;
  }

  void write_types() {
    std::string text = head("The schemas.") + "#pragma once\n\n" + Types::header_includes() + '\n' + open();
    text += types_.header() + '\n' + close();
    files_.push_back({"types.h", std::move(text)});
    for (const auto& [name, definition] : tables_.each()) parts_.of(name) += definition + '\n';
    types_.definitions(parts_);
    if (tables_.each().empty()) return;
    files_.push_back({"schemas.h", head("What is checked by tables, for the sources here.") +
                                       "#pragma once\n\n#include \"keel/contract/schema.h\"\n\n" + open() +
                                       tables_.declarations() + '\n' + close()});
  }

  void write_security() {
    std::string text =
        head("Who may use the operations.") + "#pragma once\n\n#include \"keel/contract/security.h\"\n\n" + open();
    text +=
        "// A function ends as it should for who may, and with an error for who may not (keel/contract/security.h).\n";
    text += "class " + security_ + " : private keel::contract::Verifiers {\n public:\n";
    for (const Scheme& scheme : contract_.schemes) {
      std::string about = described(*scheme.node);
      text += comment("  ", std::string(scheme.wire) + (about.empty() ? "." : ": " + about));
      text += "  virtual keel::Task<> " + scheme.name + "(keel::http::Request& http, " + credentials_of(scheme) +
              ", keel::contract::Scopes scopes) = 0;\n";
    }
    text += "\n  static const keel::contract::Scheme schemes[" + std::to_string(contract_.schemes.size()) + "];\n";
    text += "  keel::contract::Verifiers& verifiers() noexcept { return *this; }\n\n protected:\n  ~" + security_ +
            "() = default;\n\n private:\n";
    text +=
        "  keel::Task<> verify(std::size_t scheme, keel::http::Request& http, const keel::http::Credentials& "
        "credentials,\n                      keel::contract::Scopes scopes) final;\n};\n\n" +
        close();
    files_.push_back({"security.h", std::move(text)});

    std::string& part = part_of(security_, "security.h");
    part += "const keel::contract::Scheme " + security_ + "::schemes[" + std::to_string(contract_.schemes.size()) +
            "] = {\n";
    for (const Scheme& scheme : contract_.schemes) {
      part += "    {keel::contract::Scheme::Kind::" + scheme.kind + ", " + literal(scheme.field) + "},\n";
    }
    part += "};\n\nkeel::Task<> " + security_ +
            "::verify(std::size_t scheme, keel::http::Request& http, const keel::http::Credentials& credentials,\n"
            "    keel::contract::Scopes scopes) {\n  switch (scheme) {\n";
    for (std::size_t i = 0; i < contract_.schemes.size(); ++i) {
      const Scheme& scheme = contract_.schemes[i];
      const std::string given = scheme.kind == "Basic"         ? "credentials.user, credentials.secret"
                                : scheme.kind == "Certificate" ? "credentials.user"
                                                               : "credentials.secret";
      part += (i + 1 == contract_.schemes.size() ? std::string("    default") : "    case " + std::to_string(i)) +
              ":\n      return " + scheme.name + "(http, " + given + ", scopes);\n";
    }
    part += "  }\n}\n\n";
  }
  static std::string credentials_of(const Scheme& scheme) {
    return scheme.kind == "Basic"         ? "std::string_view user, std::string_view password"
           : scheme.kind == "Certificate" ? "std::string_view identity"
           : scheme.kind == "Bearer"      ? "std::string_view token"
                                          : "std::string_view key";
  }

  void write_tag(const Tag& tag) {
    std::string text =
        head(tag.name.empty() ? std::string("The operations without a tag.")
                              : "The operations of the tag \"" + std::string(tag.name) + "\".") +
        "#pragma once\n\n#include <optional>\n#include <string_view>\n#include <utility>\n\n"
        "#include \"keel/contract/answer.h\"\n#include \"keel/contract/routes.h\"\n#include \"keel/task/task.h\"\n"
        "#include \"" +
        folder_ + "/types.h\"\n\n" + open();
    if (has_security(tag)) text += "class " + security_ + ";\n\n";
    for (const Operation& operation : tag.operations) {
      write_request(text, operation);
      write_response(text, operation);
      write_source(tag, operation);
    }
    text += comment("", tag.description.empty() ? "What answers these operations." : tag.description);
    text += "class " + tag.handler + " {\n public:\n";
    for (const Operation& operation : tag.operations) {
      text += comment("  ", title_of(operation));
      text += call("  virtual keel::Task<" + operation.response + "> " + operation.name, "(",
                   {"keel::http::Request& http", "const " + operation.request + "& request"}, ") = 0;");
    }
    const std::string arguments = std::string("const keel::contract::Routes& routes") +
                                  (has_security(tag) ? ", " + security_ + "& security" : "");
    text += "\n  // Adds the routes; mount() of " + folder_ + "/api.h does.\n  void add_routes(" + arguments +
            ");\n\n protected:\n  ~" + tag.handler + "() = default;\n};\n\n" + close();
    files_.push_back({tag.file + ".h", std::move(text)});

    std::string& part = part_of(tag.handler, tag.file + ".h");
    part += "namespace routes {\n";
    for (const Operation& operation : tag.operations) {
      std::vector<std::string> parameters = {"const keel::contract::Routes& routes", tag.handler + "& handler"};
      if (has_security(operation)) parameters.push_back(security_ + "& security");
      part += call("void " + operation.name, "(", parameters, ");");
    }
    part += "}  // namespace routes\n\nvoid " + tag.handler + "::add_routes(" + arguments + ") {\n";
    for (const Operation& operation : tag.operations) {
      part += "  routes::" + operation.name + "(routes, *this" + (has_security(operation) ? ", security" : "") + ");\n";
    }
    part += "}\n\n";
  }

  static std::string title_of(const Operation& operation) {
    std::string title = capital(operation.method) + ' ' + std::string(operation.path);
    const std::string_view summary = operation.node->string("summary");
    const std::string about(summary.empty() ? operation.node->string("description") : summary);
    if (!about.empty()) title += ": " + about;
    const Node* const deprecated = operation.node->find("deprecated");
    if (deprecated != nullptr && deprecated->is_true()) title += " (deprecated)";
    return title;
  }
  static std::string described(const Node& node) { return std::string(node.string("description")); }

  static std::string initialised(const Type& type, const std::string& initialiser) {
    if (!initialiser.empty()) return " = " + initialiser;
    const bool is_scalar = type.shape == Shape::Boolean || type.shape == Shape::Integer ||
                           type.shape == Shape::Number || type.shape == Shape::Enum;
    return is_scalar && !type.is_nullable ? " = {}" : "";
  }

  void write_request(std::string& text, const Operation& operation) {
    text += comment("", "What " + capital(operation.method) + ' ' + std::string(operation.path) + " is asked with.");
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
    } else if (operation.body.node != nullptr) {
      const std::string about = described(*operation.body.node);
      if (!about.empty()) text += comment("  ", about);
      text +=
          "  " + operation.body.spelling() + " body" +
          (operation.body.is_required && operation.body.type != nullptr ? initialised(*operation.body.type, "") : "") +
          ";\n";
    }
    text += "};\n\n";
  }

  void write_response(std::string& text, const Operation& operation) {
    for (const Response& response : operation.responses) {
      if (response.headers.empty()) continue;
      text += "struct " + response.headers_name + " {\n";
      for (const Header& header : response.headers) {
        const std::string about = described(*header.node);
        if (!about.empty()) text += comment("  ", about);
        text += "  " +
                (header.is_required || header.type->is_nullable ? header.type->spelling
                                                                : "std::optional<" + header.type->spelling + '>') +
                ' ' + header.name + (header.is_required ? initialised(*header.type, "") : "") + ";\n";
      }
      text += "};\n";
    }
    text += comment("", "What " + capital(operation.method) + ' ' + std::string(operation.path) + " answers.");
    text += "class [[nodiscard]] " + operation.response + " : public keel::contract::Answer {\n public:\n";
    if (const Response::Content* const one = implicit_of(operation)) {
      text += "  " + operation.response + "(const " + one->type->spelling + "& body) : " + operation.response + "(" +
              one->name + "(body)) {}\n";
    }
    for (const Response& response : operation.responses) {
      const std::string about = described(*response.node);
      text += comment("  ", response.status + (about.empty() ? "" : ": " + about));
      for (const Maker& maker : makers_of(response, operation.response)) {
        if (maker.is_template) {
          text += "  template <class... Write>\n" +
                  call("  static " + operation.response + ' ' + maker.name, "(", maker.parameters, ") {") + "    " +
                  maker.body + "\n  }\n";
        } else {
          text += call("  static " + operation.response + ' ' + maker.name, "(", maker.parameters,
                       maker.initialiser + ");");
        }
      }
    }
    text += "\n private:\n  using Answer::Answer;\n};\n\n";
  }

  // A reader as an argument of a template: read_json() is overloaded.
  static std::string reader_of(const Type& type) {
    if (type.read != "read_json") return '&' + type.read;
    return "keel::contract::reader<" + (type.inner != nullptr ? type.inner->spelling : type.spelling) + ">(&read_json)";
  }
  static std::string form_literal(std::string_view form) { return "keel::contract::Form::" + std::string(form); }
  // Its members by name, and the form of others.
  static std::string fields_of(const Type& type, const std::string& name, std::string& others) {
    const Type& inner = type.inner != nullptr ? *type.inner : type;
    others = inner.element != nullptr ? form_literal(form_of(*inner.element)) : form_literal("Either");
    if (inner.members.empty()) return "";
    std::string text = "  static constexpr keel::contract::Field " + name + "[] = {\n";
    for (const Member& member : inner.members) {
      const std::string_view form = member.type == nullptr ? "Either" : form_of(*member.type);
      text += "      {" + literal(member.json) + ", " + form_literal(form) + "},\n";
    }
    return text + "  };\n";
  }

  void write_parameter(std::string& code, const Parameter& parameter) {
    const std::string name = parameter.name + (parameter.name.ends_with('_') ? "parameter" : "_parameter");
    std::vector<std::string> values = {".name = " + literal(parameter.wire),
                                       ".place = keel::contract::Place::" + parameter.place,
                                       ".style = keel::contract::Style::" + parameter.style,
                                       parameter.explodes ? ".explodes = true" : ".explodes = false"};
    if (parameter.is_required) values.push_back(".is_required = true");
    if (!parameter.in_route.empty()) values.push_back(".in_route = " + literal(parameter.in_route));
    code += list("  ", "static constexpr keel::contract::Parameter " + name + " = ", values, ";");
    const Type& type = *parameter.type;
    const Type& inner = type.inner != nullptr ? *type.inner : type;
    const std::string to = "to." + parameter.name;
    if (parameter.is_json) {
      code += "  in.text<" + reader_of(type) + ">(" + name + ", keel::contract::Form::Json, " + to + ");\n";
    } else if (inner.shape == Shape::List) {
      code += "  in.list<" + reader_of(type) + ">(" + name + ", " + form_literal(form_of(*inner.element)) + ", " + to +
              ");\n";
    } else if (inner.shape == Shape::Struct || inner.shape == Shape::Map) {
      std::string others;
      const std::string fields = fields_of(type, parameter.name + "_fields", others);
      code += fields + "  in.object<" + reader_of(type) + ">(" + name + ", " +
              (fields.empty() ? "{}" : parameter.name + "_fields") + ", " + others + ", " + to + ");\n";
    } else if (!type.is_nullable &&
               (type.shape == Shape::Boolean || type.shape == Shape::Integer || type.shape == Shape::Number ||
                type.shape == Shape::String || type.shape == Shape::Text)) {
      code += "  in.value(" + name + ", " + to + (type.check.empty() ? "" : ", &" + type.check) + ");\n";
    } else {
      code += "  in.text<" + reader_of(type) + ">(" + name + ", " + form_literal(form_of(type)) + ", " + to + ");\n";
    }
  }

  void write_body(std::string& code, const Body& body) {
    const std::string is_required = body.is_required ? "" : ", false";
    // The first is read where the type is not known.
    for (std::size_t i = body.contents.size(); i-- != 0;) {
      const Body::Content& content = body.contents[i];
      std::string others;
      std::string fields;
      std::string call;
      if (content.kind == Body::Kind::Form) {
        fields = fields_of(*body.type, "fields", others);
        call = "in.form<" + reader_of(*body.type) + ">(" + (fields.empty() ? "{}" : "fields") + ", " + others +
               ", to.body" + is_required + ')';
      } else if (content.kind == Body::Kind::Json) {
        call = "in.json<" + reader_of(*body.type) + ">(to.body" + is_required + ')';
      } else {
        call = "in.text_body(to.body" + is_required + ')';
      }
      if (i == 0) {
        code += fields + "  return " + call + ";\n";
      } else {
        if (!fields.empty()) fields = "  " + fields;
        code += "  if (in.is_body(" + literal(content.media_type.substr(0, content.media_type.find_first_of("; "))) +
                ")) {\n" + fields + "    return " + call + ";\n  }\n";
      }
    }
  }

  std::string route_options(const Operation& operation) const {
    std::string options;
    const auto put = [&](const std::string& one) { options += (options.empty() ? "" : ", ") + one; };
    if (operation.body.is_streamed()) put(".streams_body = true");
    std::vector<std::string_view> consumes;
    for (const Body::Content& one : operation.body.contents) {
      consumes.push_back(one.media_type.substr(0, one.media_type.find(';')));
    }
    if (std::ranges::find(consumes, "*/*") != consumes.end()) consumes.clear();
    if (!consumes.empty()) put(".consumes = " + list_of_literals(consumes));
    std::vector<std::string_view> produces;
    for (const Response& response : operation.responses) {
      if (!is_success(response)) continue;
      for (const Response::Content& content : response.contents) {
        const std::string_view type = content.media_type.substr(0, content.media_type.find(';'));
        if (std::ranges::find(produces, type) == produces.end()) produces.push_back(type);
      }
    }
    if (std::ranges::any_of(produces, is_wild)) produces.clear();
    if (!produces.empty()) put(".produces = " + list_of_literals(produces));
    return options.empty() ? "" : ", {" + options + '}';
  }

  void write_source(const Tag& tag, const Operation& operation) {
    std::string& part = part_of(operation.name, tag.file + ".h");
    for (const Response& response : operation.responses) {
      for (const Maker& maker : makers_of(response, operation.response)) {
        if (maker.is_template) continue;
        part += call(operation.response + ' ' + operation.response + "::" + maker.name, "(", maker.parameters, ") {") +
                "  " + maker.body + "\n}\n";
      }
    }
    const bool has_input =
        !operation.parameters.empty() || (operation.body.node != nullptr && !operation.body.is_streamed());
    part += "\nnamespace {\n\n";
    if (has_input) {
      part += "keel::Result<> read(keel::http::Request& http, " + operation.request + "& to) {\n";
      part += "  keel::contract::Input in(http);\n";
      for (const Parameter& parameter : operation.parameters) write_parameter(part, parameter);
      const bool has_body =
          operation.body.node != nullptr && !operation.body.is_streamed() && !operation.body.contents.empty();
      if (has_body && !operation.parameters.empty()) part += "  KEEL_TRY_VOID(in.finish());\n";
      if (has_body) {
        write_body(part, operation.body);
      } else {
        part += "  return in.finish();\n";
      }
      part += "}\n\n";
    }
    const std::string serve = "serve_" + operation.name;
    part += call("keel::Task<keel::http::Response> " + serve, "(",
                 {tag.handler + "& handler", "keel::http::Request& http"}, ") {");
    part += "  " + operation.request + " request;\n";
    if (has_input) part += "  co_await read(http, request);\n";
    part +=
        "  co_return (co_await handler." + operation.name + "(http, request)).response();\n}\n\n}  // namespace\n\n";
    std::vector<std::string> parameters = {"const keel::contract::Routes& routes", tag.handler + "& handler"};
    if (has_security(operation)) parameters.push_back(security_ + "& security");
    part += call("void routes::" + operation.name, "(", parameters, ") {");
    std::string routes = "  routes.add";
    if (has_security(operation)) {
      write_alternatives(part, operation.security);
      part += "  const keel::contract::Authorization authorization(" + security_ +
              "::schemes, alternatives, security.verifiers());\n";
      routes = "  routes.with(authorization).add";
    }
    part += call(routes, "(",
                 {"keel::http::Method::" + pascal_of(operation.method), literal(operation.pattern), "handler",
                  '&' + serve + route_options(operation)},
                 ");") +
            "}\n\n";
    declared_.push_back({&part, call("void " + operation.name, "(", parameters, ");")});
  }

  static void write_alternatives(std::string& part, const Security& security) {
    std::string list;
    for (std::size_t i = 0; i < security.alternatives.size(); ++i) {
      const auto& alternative = security.alternatives[i];
      const std::string number = std::to_string(i + 1);
      std::string requirements;
      for (std::size_t j = 0; j < alternative.size(); ++j) {
        std::string scopes = "{}";
        if (!alternative[j].scopes.empty()) {
          scopes = "scopes_" + number + '_' + std::to_string(j + 1);
          part += "  static constexpr std::string_view " + scopes + "[] = " + list_of_literals(alternative[j].scopes) +
                  ";\n";
        }
        if (j != 0) requirements += ", ";
        requirements += '{' + std::to_string(alternative[j].scheme) + ", " + scopes + '}';
      }
      if (!list.empty()) list += ", ";
      if (requirements.empty()) {
        list += "keel::contract::Alternative()";
        continue;
      }
      part += "  static constexpr keel::contract::Requirement all_of_" + number + "[] = {" + requirements + "};\n";
      list += "all_of_" + number;
    }
    part += "  static constexpr keel::contract::Alternative alternatives[] = {" + list + "};\n";
  }

  void write_mount(const std::string& document_source) {
    const bool is_secured = !contract_.schemes.empty();
    std::string text = head("All operations, and the document itself.") +
                       "#pragma once\n\n#include <string>\n\n"
                       "#include \"keel/contract/docs_page.h\"\n#include \"keel/contract/routes.h\"\n";
    for (const Tag& tag : contract_.tags) text += "#include \"" + folder_ + '/' + tag.file + ".h\"\n";
    if (is_secured) text += "#include \"" + folder_ + "/security.h\"\n";
    text += '\n' + open();
    text +=
        "struct " + mount_options_ +
        " {\n  // What stands in front of all paths: that of the contract's first server.\n"
        "  std::string base = " +
        literal(contract_.base) +
        ";\n"
        "  // Where the document and its page are.\n  keel::contract::DocumentationOptions documentation = {};\n};\n\n";
    text +=
        "// Adds all routes, and GET /openapi.json and GET /docs. `routes` is a router, or a group of one; the "
        "handlers\n"
        "// outlive it.\n";
    std::vector<std::string> parameters = {"keel::contract::Routes routes"};
    if (is_secured) parameters.push_back(security_ + "& security");
    for (const Tag& tag : contract_.tags) parameters.push_back(tag.handler + "& " + tag.file);
    parameters.push_back("const " + mount_options_ + "& options");
    text += call("void mount", "(", parameters, " = {});") + '\n' + close();
    files_.push_back({"api.h", std::move(text)});

    std::string& part = part_of("mount", "api.h");
    part += "namespace {\n\n" + document_source + "\n}  // namespace\n\n";
    part += call("void mount", "(", parameters, ") {");
    part += "  const keel::contract::Routes all = routes.below(options.base);\n";
    for (const Tag& tag : contract_.tags) {
      part += "  " + tag.file + ".add_routes(all" + (has_security(tag) ? ", security" : "") + ");\n";
    }
    part += "  keel::contract::mount_documentation(routes.group(), document, options.documentation);\n}\n\n";
  }

  void write_parts() {
    for (std::size_t i = 0; i < parts_.texts().size(); ++i) {
      std::string text = head("Definitions.") + Types::source_includes();
      text += "#include \"keel/contract/input.h\"\n#include \"keel/http/server/problem.h\"\n#include \"" + folder_ +
              "/types.h\"\n";
      if (!tables_.each().empty()) text += "#include \"" + folder_ + "/schemas.h\"\n";
      for (const std::string& header : includes_[i]) text += "#include \"" + folder_ + '/' + header + "\"\n";
      const bool has_secured = std::ranges::any_of(contract_.tags, [&](const Tag& tag) { return has_security(tag); });
      if (has_secured && !includes_[i].contains("security.h")) text += "#include \"" + folder_ + "/security.h\"\n";
      text += '\n' + open();
      std::string declared;
      for (const auto& [part, declaration] : declared_) {
        if (part == &parts_.texts()[i]) declared += declaration;
      }
      if (!declared.empty()) text += "namespace routes {\n" + declared + "}  // namespace routes\n\n";
      text += parts_.texts()[i] + close();
      files_.push_back({part_name(static_cast<int>(i) + 1), std::move(text)});
    }
  }

  const Contract& contract_;
  const Types& types_;
  const SchemaTables& tables_;
  const Options& options_;
  std::string security_;
  std::string mount_options_;
  std::string folder_;
  Parts parts_;
  std::map<std::size_t, std::set<std::string>> includes_;
  std::vector<std::pair<const std::string*, std::string>> declared_;
  std::vector<File> files_;
};

}  // namespace

namespace {

// A literal of C++ would end there.
void refuse_nul(const Node& node, Problems& problems) {
  const bool is_text = node.is(openapi::Kind::String);
  if ((is_text && node.text.find('\0') != std::string_view::npos) || node.key.find('\0') != std::string_view::npos) {
    problems.error(node, "a text with the character U+0000 is not supported");
  }
  for (const Node* const child : node.children) refuse_nul(*child, problems);
}

}  // namespace

std::string part_name(int index) { return "part_" + std::to_string(index) + ".cc"; }

std::vector<File> generate(Document& document, const Options& options, Problems& problems) {
  select(document, options.operations, problems);
  std::string source;
  if (problems.errors() == 0) source = document_definition(bundle(document, problems));
  openapi::lint(document, problems);
  refuse_nul(std::as_const(document).root(), problems);
  if (problems.errors() != 0) return {};
  Names names;
  Types types(document, problems, names);
  SchemaTables tables(document, problems);
  types.set_name_schema([&](const Node& schema) { return tables.name_of(schema); });
  // All of them, used or not: other code of the service may use them. In the order of their names.
  const Node* const components = std::as_const(document).root().find("components");
  const Node* const schemas = components == nullptr ? nullptr : components->find("schemas", openapi::Kind::Map);
  std::map<std::string_view, const Node*> by_name;
  if (schemas != nullptr && options.operations.empty()) {
    for (const Node* const schema : schemas->children) by_name.emplace(schema->key, schema);
  }
  for (const auto& [name, schema] : by_name) types.type_of(*schema, pascal_of(name));
  const std::string security = names.type("Security");
  const std::string mount_options = names.type("MountOptions");
  const Contract contract = read_contract(document, types, names, problems);
  if (problems.errors() != 0) return {};
  return Writing(contract, types, tables, options, security, mount_options).write(source);
}

}  // namespace keel::gen
