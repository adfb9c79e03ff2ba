#include "gen/output.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gen/bundle.h"
#include "gen/client.h"
#include "gen/cpp.h"
#include "gen/exchange.h"
#include "gen/inheritance.h"
#include "gen/operations.h"
#include "gen/schema_tables.h"
#include "gen/selection.h"
#include "openapi/lint.h"

namespace keel::gen {
namespace {

using openapi::Document;
using openapi::Node;
using openapi::Problems;

// "keel::http::Status::NotFound" of "404".
std::string status_of(const Response& response) {
  const std::string name = pascal_of(response.name);
  if (response.name.starts_with("status_")) return "static_cast<keel::http::Status>(" + response.status + ')';
  return "keel::http::Status::" + name;
}

// One function of the class that represents a response.
struct Maker {
  std::string name;
  std::vector<std::string> parameters;
  std::string initialiser;  // The default argument of the last parameter, such as " = {}".
  std::string body;         // The body of the function.
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
      maker.body = "return " + of + '(' + made + ");";
    } else {
      const std::string inner = is_template ? "    " : "  ";
      maker.body = of + " response(" + made + ");\n";
      for (const Header& header : response.headers) {
        maker.body += inner + (header.is_json ? "response.set_json_header(" : "response.set_header(") +
                      literal(header.wire) + ", headers." + header.name + ");\n";
      }
      maker.body += inner + "return response;";
    }
    makers.push_back(std::move(maker));
  };
  if (response.contents.empty()) add(response.name, "", status);
  for (const Response::Content& content : response.contents) {
    if (content.type != nullptr) {
      const std::string media_type = is_wild(content.media_type) ? "application/json" : std::string(content.media_type);
      if (content.is_problem) add(content.name, "std::string_view detail", status + ", detail");
      add(content.name, "const " + content.type->spelling + "& body",
          status + ", &body, &write_as<" + content.type->spelling + ", " + content.type->write + '>' +
              (media_type == "application/json" ? "" : ", " + literal(media_type)));
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
    if (content.is_events) {
      add(content.name + "_events", "Write&&... write", "keel::http::Response::events(std::forward<Write>(write)...)",
          true);
    }
  }
  return makers;
}

// Returns the content from which the only successful response can be constructed implicitly, or null.
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
          const ClientNames& clients, std::string security, std::string mount_options)
      : contract_(contract),
        types_(types),
        tables_(tables),
        options_(options),
        clients_(clients),
        security_(std::move(security)),
        mount_options_(std::move(mount_options)),
        folder_(options.space.substr(options.space.rfind(':') + 1)),
        parts_(options.parts) {}

  std::vector<File> write(const std::string& document_source) {
    write_types();
    if (options_.has_server) {
      if (!contract_.schemes.empty()) write_security();
      for (const Tag& tag : contract_.tags) write_tag(tag);
      write_mount(document_source);
    }
    if (options_.has_client) write_clients();
    write_parts();
    return std::move(files_);
  }

 private:
  std::string head(std::string_view what) const {
    return comment("",
                   std::string(what) + " Generated by `keel gen api` from " + options_.source + ": edit that file.") +
           '\n';
  }
  std::string open() const { return "namespace " + options_.space + " {\n\n"; }
  std::string close() const { return "}  // namespace " + options_.space + '\n'; }
  bool has_security(const Operation& operation) const { return !operation.security.alternatives.empty(); }
  bool has_security(const Tag& tag) const {
    return std::ranges::any_of(tag.operations, [&](const Operation& one) { return has_security(one); });
  }
  std::string& part_of(const std::string& name, const std::string& header) { return parts_.of(header, name); }
  // Returns an #include line for each header.
  std::string includes(const std::vector<std::string>& headers) const {
    std::string lines;
    for (const std::string& one : headers) lines += "#include \"" + folder_ + '/' + one + "\"\n";
    return lines;
  }

  void write_types() {
    std::string about = "The schemas.";
    for (const Types::Header& header : types_.headers()) {
      about = header.name.starts_with("shared_") ? "Schemas of several tags."
              : header.name != "types.h"         ? "The schemas of one tag."
                                                 : "The schemas.";
      std::string standard = Types::includes_of(header.text);
      if (!standard.empty()) standard += '\n';
      std::string others = includes(header.includes);
      if (!others.empty()) others += '\n';
      std::string text = head(about) + "#pragma once\n\n" + standard + others;
      if (header.text.find("read_json(") != std::string::npos) {
        text +=
            "namespace keel {\nclass Violations;\nnamespace json {\nclass Reader;\nclass Writer;\n"
            "}  // namespace json\n}  // namespace keel\n\n";
      }
      text += open() + header.text + (header.text.empty() ? "" : "\n") + close();
      files_.push_back({header.name, std::move(text)});
    }
    for (const auto& [name, definition] : tables_.each()) parts_.of("", name) += definition + '\n';
    types_.definitions(parts_);
    if (tables_.each().empty()) return;
    files_.push_back({"schemas.h", head("The tables of the checks, for the sources of this folder.") +
                                       "#pragma once\n\n#include \"keel/contract/schema.h\"\n\n" + open() +
                                       tables_.declarations() + '\n' + close()});
  }

  static std::string sent_as(const Scheme& scheme) {
    const std::string name = '\'' + std::string(scheme.field) + '\'';
    return scheme.kind == "Basic"         ? "a user and a password in 'Authorization' (RFC 7617)."
           : scheme.kind == "Certificate" ? "the certificate of the client's TLS connection."
           : scheme.kind == "Bearer"      ? "a Bearer token in 'Authorization' (RFC 6750)."
           : scheme.kind == "HeaderKey"   ? "a key in the header " + name + '.'
           : scheme.kind == "QueryKey"    ? "a key in the query parameter " + name + '.'
                                          : "a key in the cookie " + name + '.';
  }

  void write_security() {
    std::string text = head("The security schemes of the operations.") +
                       "#pragma once\n\n#include \"keel/contract/security.h\"\n\n" + open();
    text +=
        "// A function returns normally when the client is allowed, and fails with Unauthenticated or "
        "PermissionDenied\n"
        "// otherwise (keel/contract/security.h).\n";
    text += "class " + security_ + " : private keel::contract::Verifiers {\n public:\n";
    for (const Scheme& scheme : contract_.schemes) {
      const std::string about = described(*scheme.node);
      text += comment("  ", std::string(scheme.wire) + ": " + (about.empty() ? sent_as(scheme) : about));
      text += call("  virtual keel::Task<> " + scheme.name, "(",
                   {"keel::http::Request& http", credentials_of(scheme), "keel::contract::Scopes scopes"}, ") = 0;");
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

  void write_tag(const Tag& tag) {
    std::string text = open();
    if (has_security(tag)) text += "class " + security_ + ";\n\n";
    for (const Operation& operation : tag.operations) {
      text += request_struct(operation);
      if (operation.body.has_files()) text += file_types(operation);
      write_response(text, operation);
      write_source(tag, operation);
    }
    text += comment("", tag.description.empty() ? "The interface that handles these operations." : tag.description);
    text += "class " + tag.handler + " {\n public:\n";
    for (const Operation& operation : tag.operations) {
      text += comment("  ", title_of(operation));
      std::vector<std::string> taken = {"keel::http::Request& http", "const " + operation.request + "& request"};
      if (operation.body.has_files()) taken.push_back(operation.files + " files");
      text += call("  virtual keel::Task<" + operation.response + "> " + operation.name, "(", taken, ") = 0;");
    }
    const std::string arguments = std::string("const keel::contract::Routes& routes") +
                                  (has_security(tag) ? ", " + security_ + "& security" : "");
    text += "\n  // Adds the routes; mount() of " + folder_ + "/api.h does.\n  void add_routes(" + arguments +
            ");\n\n protected:\n  ~" + tag.handler + "() = default;\n};\n\n" + close();
    const std::string before =
        head(tag.name.empty() ? std::string("The operations without a tag.")
                              : "The operations of the tag \"" + std::string(tag.name) + "\".") +
        "#pragma once\n\n" +
        Types::includes_of(text, {"<optional>", "<string_view>", "<utility>", "\"keel/contract/response.h\"",
                                  "\"keel/contract/routes.h\"", "\"keel/task/task.h\""}) +
        includes(types_.headers_of(tag.file)) + '\n';
    files_.push_back({tag.file + ".h", before + text});

    std::string& part = part_of(tag.handler, tag.file + ".h");
    std::vector<std::string> operations;
    part += "namespace routes {\n";
    for (const Operation& operation : tag.operations) {
      part += "extern const keel::contract::Route " + operation.name + ";\n";
      operations.push_back("&routes::" + operation.name);
    }
    part += "}  // namespace routes\n\nvoid " + tag.handler + "::add_routes(" + arguments + ") {\n" +
            list("  ", "static constexpr const keel::contract::Route* operations[] = ", operations, ";") +
            "  routes.serve(operations, this" +
            (has_security(tag) ? ", " + security_ + "::schemes, security.verifiers()" : "") + ");\n}\n\n";
  }

  // If the first line of a function's body is too long, splits the line into two.
  static std::string split_stream(std::string body) {
    constexpr std::string_view made = "(keel::http::Response::";
    const std::size_t at = body.find(made);
    if (at != body.npos && std::min(body.find('\n'), body.size()) + 4 > width) {
      body.insert(at + 1, "\n        ");
    }
    return body;
  }

  void write_response(std::string& text, const Operation& operation) {
    text += header_structs(operation);
    text += comment("", "A response to " + capital(operation.method) + ' ' + std::string(operation.path) + '.');
    text += "class [[nodiscard]] " + operation.response + " : public keel::contract::Response {\n public:\n";
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
                  split_stream(maker.body) + "\n  }\n";
        } else {
          text += call("  static " + operation.response + ' ' + maker.name, "(", maker.parameters,
                       maker.initialiser + ");");
        }
      }
    }
    text += "\n private:\n  using Response::Response;\n};\n\n";
  }

  // A row in the table of an operation's input; the constants of the row are written to `before`.
  std::string received(std::string& before, const Operation& operation, const Parameter& parameter) const {
    const Type& type = *parameter.type;
    const Type& inner = type.inner != nullptr ? *type.inner : type;
    const std::string member = "decltype(" + operation.request + "::" + parameter.name + ')';
    std::vector<std::string> row = {parameter_initialiser(parameter, "        "),
                                    "offsetof(" + operation.request + ", " + parameter.name + ')'};
    const auto take = [&](const std::string& what) {
      row.push_back("&keel::contract::take_" + what + '<' + member + (what == "value" ? "" : ", " + reader_of(type)) +
                    '>');
    };
    const auto put_form = [&](const std::string& form) { row.insert(row.end(), {"nullptr", form}); };
    if (parameter.is_json) {
      take("text");
      put_form(form_literal("Json"));
    } else if (inner.shape == Shape::List) {
      take("list");
      put_form(form_literal(form_of(*inner.element)));
    } else if (inner.shape == Shape::Struct || inner.shape == Shape::Map) {
      std::string others;
      const std::string name = operation.name + '_' + parameter.name + "_fields";
      const std::string fields = fields_of(type, name, others, "");
      before += fields;
      take("object");
      put_form(others);
      if (!fields.empty()) row.push_back(name);
    } else if (const Alternatives alternatives = alternatives_of(type); !alternatives.is_text_alone()) {
      const EitherText either = either_of(alternatives, operation.name + '_' + parameter.name + "_fields", "");
      before += either.fields;
      take(alternatives.list != nullptr ? "text_or_list" : "text_or_object");
      put_form(either.parts);
      row.insert(row.end(), {either.name, either.single});
    } else if (!type.is_nullable &&
               (type.shape == Shape::Boolean || type.shape == Shape::Integer || type.shape == Shape::Number ||
                type.shape == Shape::String || type.shape == Shape::Text)) {
      take("value");
      if (!type.check.empty()) row.push_back("&keel::contract::checked<&" + type.check + '>');
    } else {
      take("text");
      put_form(form_literal(form_of(type)));
    }
    return list("    ", "", row, ",");
  }

  void write_body(std::string& code, const Body& body) const {
    const std::string is_required = body.is_required ? "" : ", false";
    // The first content is used when the request names no media type.
    for (std::size_t i = body.contents.size(); i-- != 0;) {
      const Body::Content& content = body.contents[i];
      std::string others;
      std::string fields;
      std::string call;
      if (content.kind == Body::Kind::Form) {
        const bool has_parts = !content.media_type.starts_with("application/");
        fields = fields_of(*body.type, "fields", others, "  ", has_parts ? content.media : nullptr);
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

  static void write_route_options(std::string& before, std::vector<std::string>& values, const Operation& operation) {
    const auto put = [&](const std::string& name, const std::vector<std::string_view>& types) {
      if (types.empty()) return;
      const bool is_json = types.size() == 1 && types[0] == "application/json";
      const std::string constant = operation.name + '_' + name;
      if (!is_json) before += "constexpr std::string_view " + constant + "[] = " + list_of_literals(types) + ";\n";
      values.push_back('.' + name + " = " + (is_json ? "keel::contract::json_only" : constant));
    };
    if (operation.body.is_streamed() || operation.body.has_files()) values.emplace_back(".streams_body = true");
    std::vector<std::string_view> consumes;
    for (const Body::Content& one : operation.body.contents) {
      consumes.push_back(one.media_type.substr(0, one.media_type.find(';')));
    }
    if (std::ranges::find(consumes, "*/*") != consumes.end()) consumes.clear();
    put("consumes", consumes);
    std::vector<std::string_view> produces;
    for (const Response& response : operation.responses) {
      if (!is_success(response)) continue;
      for (const Response::Content& content : response.contents) {
        const std::string_view type = content.media_type.substr(0, content.media_type.find(';'));
        if (std::ranges::find(produces, type) == produces.end()) produces.push_back(type);
      }
    }
    if (std::ranges::any_of(produces, is_wild)) produces.clear();
    put("produces", produces);
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
    std::string before;
    const std::string asked = write_asked(before, operation);
    std::vector<std::string> values = {".method = keel::http::Method::" + pascal_of(operation.method),
                                       ".pattern = " + literal(operation.pattern),
                                       ".call = keel::contract::call_of<&" + tag.handler + "::" + operation.name + '>'};
    if (!asked.empty()) values.push_back(".asked = &" + asked);
    write_route_options(before, values, operation);
    if (has_security(operation)) {
      before += alternatives_constant(operation.security, operation.name);
      values.push_back(".security = " + operation.name + "_security");
    }
    part += '\n';
    if (!before.empty()) part += "namespace {\n\n" + before + "\n}  // namespace\n\n";
    part += "namespace routes {\nextern const keel::contract::Route " + operation.name + ";\n}  // namespace routes\n" +
            list("", "constexpr keel::contract::Route routes::" + operation.name + " = ", values, ";") + '\n';
  }

  // Writes the constant for the input; returns its name, or "" if there is no input.
  std::string write_asked(std::string& before, const Operation& operation) const {
    std::string rows;
    for (const Parameter& parameter : operation.parameters) rows += received(before, operation, parameter);
    const Body& body = operation.body;
    std::vector<std::string> values;
    if (!rows.empty()) {
      before += "constexpr keel::contract::Received " + operation.name + "_parameters[] = {\n" + rows + "};\n";
      values.push_back(".parameters = " + operation.name + "_parameters");
    }
    if (body.is_streamed()) {
      if (body.is_required) values.emplace_back(".body = &keel::contract::take_streamed_body");
    } else if (body.has_files()) {
      before += received_form(operation);
      values.push_back(".form = &" + operation.name + "_form");
    } else if (body.contents.size() == 1 && body.contents[0].kind == Body::Kind::Json) {
      std::vector<std::string> row = {"offsetof(" + operation.request + ", body)",
                                      "keel::contract::body_reader<" + reader_of(*body.type) + '>'};
      if (!body.is_required) {
        row.push_back("&keel::contract::room<decltype(" + operation.request + "::body), " + reader_of(*body.type) +
                      '>');
        row.emplace_back("false");
      }
      before += list("", "constexpr keel::contract::ReceivedBody " + operation.name + "_body = ", row, ";");
      values.push_back(".json = &" + operation.name + "_body");
    } else if (body.node != nullptr && !body.contents.empty()) {
      before +=
          call("keel::Result<> receive_" + operation.name, "(", {"keel::contract::Input& in", "void* asked"}, ") {") +
          "  " + operation.request + "& to = *static_cast<" + operation.request + "*>(asked);\n";
      write_body(before, body);
      before += "}\n";
      values.push_back(".body = &receive_" + operation.name);
    }
    if (values.empty()) return "";
    before += list("", "constexpr keel::contract::Asked " + operation.name + "_asked = ", values, ";");
    return operation.name + "_asked";
  }

  void write_mount(const std::string& document_source) {
    const bool is_secured = !contract_.schemes.empty();
    std::string text = head("All operations, and the document itself.") +
                       "#pragma once\n\n#include <cstddef>\n#include <optional>\n#include <string>\n\n"
                       "#include \"keel/contract/docs_page.h\"\n#include \"keel/contract/routes.h\"\n";
    for (const Tag& tag : contract_.tags) text += "#include \"" + folder_ + '/' + tag.file + ".h\"\n";
    if (is_secured) text += "#include \"" + folder_ + "/security.h\"\n";
    const std::string document_function = "const keel::contract::Document& served_document() noexcept";
    text += '\n' + open() + "namespace internal {\n" + document_function + ";\n}\n\n";
    text +=
        "struct " + mount_options_ +
        " {\n  // The prefix of all paths: the path of the contract's first server.\n"
        "  std::string base = " +
        literal(contract_.base) +
        ";\n"
        "  // The largest body, in bytes, that a handler may read as it arrives; a larger one gets 413. Empty: the\n"
        "  // server's limit.\n"
        "  std::optional<std::size_t> streamed_bytes_max = {};\n"
        "  // The paths of the document and of its page" +
        (contract_.documentation.empty() ? "."
                                         : "; a path is \"\" if the contract has its own operation for that path.") +
        "\n  keel::contract::DocumentationOptions documentation = {" + contract_.documentation + "};\n};\n\n";
    text +=
        "// Adds all routes, GET /openapi.json and GET /docs. `routes` is a router, or a group of one. The handlers "
        "have to\n"
        "// outlive it.\n";
    std::vector<std::string> parameters = {"keel::contract::Routes routes"};
    if (is_secured) parameters.push_back(security_ + "& security");
    for (const Tag& tag : contract_.tags) parameters.push_back(tag.handler + "& " + tag.file);
    parameters.push_back("const " + mount_options_ + "& options");
    // mount() is defined in the header, because the compiler would have to read the headers of all tags again for a
    // separate source.
    text += call("inline void mount", "(", parameters, " = {}) {");
    text += "  const keel::contract::Routes all = routes.below(options.base).streaming(options.streamed_bytes_max);\n";
    for (const Tag& tag : contract_.tags) {
      text += "  " + tag.file + ".add_routes(all" + (has_security(tag) ? ", security" : "") + ");\n";
    }
    text +=
        "  keel::contract::mount_documentation(routes.group(), internal::served_document(), options.documentation,\n"
        "                                      options.base);\n"
        "}\n\n" +
        close();
    files_.push_back({"api.h", std::move(text)});

    std::string& part = part_of("mount", "");
    part += "namespace {\n\n" + document_source + "\n}  // namespace\n\n";
    part += "namespace internal {\n" + document_function + " { return document; }\n}  // namespace internal\n\n";
  }

  void write_clients() {
    ClientText::Options options = {.space = options_.space, .folder = folder_, .has_server = options_.has_server};
    for (const Tag& tag : contract_.tags) options.types.push_back(types_.headers_of(tag.file));
    const ClientText text(contract_, clients_, options);
    files_.push_back({"client.h", head("The options of the clients.") + text.shared()});
    part_of(clients_.options, "client.h") += text.shared_definition();
    for (std::size_t i = 0; i < contract_.tags.size(); ++i) {
      const Tag& tag = contract_.tags[i];
      const std::string file = clients_.tags[i].file + ".h";
      files_.push_back({file, head(tag.name.empty() ? std::string("The client of the operations without a tag.")
                                                    : "The client of the tag \"" + std::string(tag.name) + "\".") +
                                  text.header(i)});
      for (std::size_t j = 0; j < tag.operations.size(); ++j) {
        part_of("ask " + tag.operations[j].name, file) += text.definition(i, j);
      }
    }
  }

  // Whether the text names the class of the verifiers; a longer name that merely ends with this name does not count.
  bool names_security(std::string_view text) const {
    const std::string word = security_ + "::";
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
      if (at == 0 || text.substr(at - 1, 1).find_first_of(" &(<,") == 0) return true;
    }
    return false;
  }
  void write_parts() {
    int number = 0;
    for (const Parts::Part& part : parts_.spread()) {
      std::string text = head("Definitions.");
      if (!part.text.empty()) {
        const std::string functions = types_.functions_for(part.text);
        const bool has_document = part.text.find("served_document()") != part.text.npos;
        text += has_document ? Types::includes_of(functions + part.text, {"\"keel/contract/docs_page.h\""})
                             : Types::includes_of(functions + part.text);
        const bool has_tables = (functions + part.text).find("schema_") != std::string::npos && !tables_.each().empty();
        if (has_tables) text += includes({"schemas.h"});
        text += includes({part.headers.begin(), part.headers.end()});
        const bool is_secured = !contract_.schemes.empty() && names_security(part.text);
        if (is_secured && !part.headers.contains("security.h")) text += includes({"security.h"});
        // GCC and Clang accept this code, which is only conditionally supported because a std::map does not have a
        // standard layout.
        if (part.text.find("offsetof(") != std::string::npos) {
          text += "\n#pragma GCC diagnostic ignored \"-Winvalid-offsetof\"\n";
        }
        text += '\n' + open() + functions + '\n' + part.text + close();
      }
      files_.push_back({part_name(++number), std::move(text)});
    }
  }

  const Contract& contract_;
  const Types& types_;
  const SchemaTables& tables_;
  const Options& options_;
  const ClientNames& clients_;
  std::string security_;
  std::string mount_options_;
  std::string folder_;
  Parts parts_;
  std::vector<File> files_;
};

}  // namespace

namespace {

// Returns the types that the header of a tag names.
Types::Use use_of(const Tag& tag) {
  Types::Use use{tag.file, {}};
  const auto add = [&](const Type* type) {
    if (type != nullptr) use.types.push_back(type);
  };
  for (const Operation& operation : tag.operations) {
    for (const Parameter& parameter : operation.parameters) add(parameter.type);
    add(operation.body.type);
    for (const Response& response : operation.responses) {
      for (const Response::Content& content : response.contents) add(content.type);
      for (const Header& header : response.headers) add(header.type);
    }
  }
  return use;
}

}  // namespace

std::string part_name(int index) { return "part_" + std::to_string(index) + ".cc"; }

std::vector<File> generate(Document& document, const Options& options, Problems& problems) {
  select(document, options.operations, problems);
  std::string source;
  if (problems.errors() == 0 && options.has_server) source = document_definition(bundle(document, problems));
  openapi::lint(document, problems);
  refuse_nul(std::as_const(document).root(), problems);
  if (problems.errors() != 0) return {};
  follow_discriminators(document, problems);
  Names names;
  Types types(document, problems, names);
  SchemaTables tables(document, problems);
  types.set_name_schema([&](const Node& schema) { return tables.name_of(schema); });
  // Generates all schemas, used or not, because other code of the service may use them. The schemas are sorted by name.
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
  std::vector<Types::Use> uses;
  for (const Tag& tag : contract.tags) uses.push_back(use_of(tag));
  types.arrange(uses);
  // The names of clients are chosen last, so that all other names are the same with and without clients.
  const ClientNames clients = options.has_client ? name_clients(contract, names) : ClientNames();
  return Writing(contract, types, tables, options, clients, security, mount_options).write(source);
}

}  // namespace keel::gen
