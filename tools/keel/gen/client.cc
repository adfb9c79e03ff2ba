#include "gen/client.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "gen/cpp.h"
#include "gen/exchange.h"
#include "gen/types.h"

namespace keel::gen {
namespace {

// Responses to HEAD have no body, whatever the contract says.
bool has_contents(const Operation& operation, const Response& response) {
  return operation.method != "head" && !response.contents.empty();
}
// The C++ type of a content in a result.
std::string type_of(const Response::Content& content) {
  return content.type != nullptr ? content.type->spelling : "std::string";
}
bool is_streamed(const Operation& operation, const Response& response) {
  return is_success(response) && has_contents(operation, response) &&
         std::ranges::any_of(response.contents, [](const Response::Content& one) { return one.type == nullptr; });
}

// What the generated value() returns: the content of the only successful response, or nothing if no successful response
// has content.
struct Value {
  bool is_there = false;
  const Response::Content* content = nullptr;
  std::string name;  // The name of the function that returns the content.
};
Value value_of(const Operation& operation, const ClientNames::Operation& names) {
  Value value;
  std::size_t successes = 0;
  std::size_t contents = 0;
  bool has_bytes = false;
  for (std::size_t i = 0; i < operation.responses.size(); ++i) {
    const Response& response = operation.responses[i];
    if (!is_success(response)) continue;
    ++successes;
    if (!has_contents(operation, response)) continue;
    contents += response.contents.size();
    value.content = &response.contents[0];
    value.name = names.responses[i][0];
    has_bytes = has_bytes || (value.content->type == nullptr && !value.content->is_text);
  }
  value.is_there = successes != 0 && (contents == 0 || (successes == 1 && contents == 1 && !has_bytes));
  return value;
}

// Whether a value of this type may be written in braces within an awaited call.
bool is_plain(const Type& type) {
  const Type& inner = type.inner != nullptr ? *type.inner : type;
  return inner.shape == Shape::Boolean || inner.shape == Shape::Integer || inner.shape == Shape::Number ||
         inner.shape == Shape::Enum || inner.shape == Shape::Text;
}
bool is_plain(const Operation& operation) {
  return (operation.body.type == nullptr || is_plain(*operation.body.type)) &&
         std::ranges::all_of(operation.parameters, [](const Parameter& one) { return is_plain(*one.type); });
}
bool is_empty(const Operation& operation) { return operation.parameters.empty() && !has_body_member(operation); }
// True if the body is a separate parameter, or if its files are.
bool takes_content(const Operation& operation) { return operation.body.is_streamed() || operation.body.has_files(); }
// Whether a caller may omit the request, because nothing in the request is required.
bool is_optional(const Operation& operation) {
  return !(has_body_member(operation) && operation.body.is_required) &&
         std::ranges::none_of(operation.parameters, &Parameter::is_required);
}
// Whether the caller has to state the media type of a streamed body.
bool names_type(const Body& body) { return body.contents.size() > 1 || is_wild(body.contents[0].media_type); }

constexpr const char* options_parameter = "const keel::contract::CallOptions& options";

// The parameters of an operation's function, without the options.
std::vector<std::string> parameters_of(const Operation& operation, const ClientNames::Operation& names) {
  std::vector<std::string> parameters;
  if (!(takes_content(operation) && is_empty(operation))) {
    parameters.push_back("const " + operation.request + "& request");
  }
  if (operation.body.has_files()) parameters.push_back(names.upload + "& files");
  if (operation.body.is_streamed()) {
    if (names_type(operation.body)) parameters.push_back("std::string_view content_type");
    parameters.push_back("keel::contract::Upload body");
  }
  return parameters;
}
std::vector<std::string> arguments_of(const Operation& operation) {
  std::vector<std::string> arguments;
  if (!(takes_content(operation) && is_empty(operation))) arguments.push_back("request");
  if (operation.body.has_files()) arguments.push_back("files");
  if (operation.body.is_streamed()) {
    if (names_type(operation.body)) arguments.push_back("content_type");
    arguments.push_back("std::move(body)");
  }
  return arguments;
}
std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

// Like call(), but puts the arguments on a separate line if they do not fit after the parenthesis.
std::string wrapped(const std::string& indent, const std::string& before, const std::vector<std::string>& arguments,
                    const std::string& after) {
  std::string text = call(indent + before, "(", arguments, after);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end - at > width) return indent + before + "(\n" + indent + "    " + joined(arguments) + after + '\n';
    at = end + 1;
  }
  return text;
}

std::string accept_of(const Operation& operation) {
  std::vector<std::string> wanted;
  std::vector<std::string> others;
  for (const bool is_typed : {true, false}) {
    for (const Response& response : operation.responses) {
      if (!has_contents(operation, response)) continue;
      for (const Response::Content& content : response.contents) {
        if ((content.type != nullptr) != is_typed) continue;
        std::string type(content.media_type.substr(0, content.media_type.find(';')));
        while (type.ends_with(' ')) type.pop_back();
        std::vector<std::string>& list = is_success(response) ? wanted : others;
        const auto add = [&](std::string one) {
          if (std::ranges::find(list, one) == list.end()) list.push_back(std::move(one));
        };
        // A json::Value, which stands for any type, is read as JSON.
        if (is_typed && is_wild(type)) add("application/json");
        add(std::move(type));
      }
    }
  }
  std::string accept;
  for (std::size_t i = 0; i < wanted.size(); ++i) accept += (i == 0 ? "" : ", ") + wanted[i] + (i == 0 ? "" : ";q=0.5");
  for (const std::string& type : others) {
    if (std::ranges::find(wanted, type) == wanted.end()) accept += (accept.empty() ? "" : ", ") + type;
  }
  return accept;
}

std::string write_parameter(const Parameter& parameter) {
  std::string name;
  std::string code = parameter_constant(parameter, name);
  const Type& type = *parameter.type;
  const Type& inner = type.inner != nullptr ? *type.inner : type;
  const std::string from = "request." + parameter.name;
  if (parameter.is_json) return code + "  call.out().json(" + name + ", " + from + ");\n";
  if (inner.shape == Shape::List) {
    return code + "  call.out().list(" + name + ", " + form_literal(form_of(*inner.element)) + ", " + from + ");\n";
  }
  if (inner.shape == Shape::Struct || inner.shape == Shape::Map) {
    std::string others;
    const std::string fields = fields_of(type, parameter.name + "_fields", others);
    return code + fields + "  call.out().object(" + name + ", " + (fields.empty() ? "{}" : parameter.name + "_fields") +
           ", " + others + ", " + from + ");\n";
  }
  if (const Alternatives alternatives = alternatives_of(type); !alternatives.is_text_alone()) {
    const EitherText either = either_of(alternatives, parameter.name + "_fields");
    const std::string element = alternatives.list != nullptr ? either.parts : form_literal("Text");
    return code + either.fields +
           call("  call.out().either", "(", {name, either.single, element, either.name, either.parts, from}, ");");
  }
  return code + "  call.out().text(" + name + ", " + form_literal(form_of(type)) + ", " + from + ");\n";
}

bool has_files(const Type& type) {
  const Type& inner = type.inner != nullptr ? *type.inner : type;
  return std::ranges::any_of(
      inner.members, [](const Member& one) { return one.type != nullptr && form_of(*one.type).starts_with("File"); });
}

std::string write_files(const Operation& operation) {
  const Body& body = operation.body;
  std::string text = file_rules(operation, "file_rules", "  ");
  for (std::size_t i = 0; i < body.files.size(); ++i) {
    text += "  call.out().file(file_rules[" + std::to_string(i) + "], files." + body.files[i].member + ");\n";
  }
  const std::string type = literal(body.contents[0].media_type);
  if (body.type == nullptr) {
    return text + "  call.out().files_body(" + type + (body.is_required ? ");\n" : ", false);\n");
  }
  std::string others;
  const std::string fields = fields_of(*body.type, "body_fields", others, "  ", body.contents[0].media);
  return text + fields + "  call.out().form_body(" + type + ", " + (fields.empty() ? "{}" : "body_fields") + ", " +
         others + ", request.body);\n";
}

std::string write_body(const Body& body) {
  if (body.contents.empty() || body.is_streamed()) return "";
  // The first media type, which is JSON if the body has JSON; but for a body with files, multipart if the body allows
  // it, because urlencoded text would encode the files.
  const Body::Content* content = &body.contents[0];
  if (content->kind == Body::Kind::Form && has_files(*body.type)) {
    for (const Body::Content& one : body.contents) {
      if (one.media_type.starts_with("multipart/")) content = &one;
    }
  }
  const std::string type = literal(content->media_type.starts_with("text/*") ? std::string_view("text/plain")
                                   : is_wild(content->media_type)            ? std::string_view("application/json")
                                                                             : content->media_type);
  switch (content->kind) {
    case Body::Kind::Json:
      return "  call.out().json_body(" + type + ", request.body" + (body.is_required ? "" : ", false") + ");\n";
    case Body::Kind::Form: {
      std::string others;
      const bool has_parts = content->media_type.starts_with("multipart/");
      const std::string fields =
          fields_of(*body.type, "body_fields", others, "  ", has_parts ? content->media : nullptr);
      return fields + "  call.out().form_body(" + type + ", " + (fields.empty() ? "{}" : "body_fields") + ", " +
             others + ", request.body);\n";
    }
    default:
      return "  call.out().bytes_body(" + type + ", request.body);\n";
  }
}

}  // namespace

ClientNames name_clients(const Contract& contract, Names& names) {
  ClientNames named;
  named.options = names.type("ClientOptions");
  if (!contract.schemes.empty()) named.credentials = names.type("Credentials");
  std::set<std::string> files;
  for (const Tag& tag : contract.tags) files.insert(tag.file);
  for (const Tag& tag : contract.tags) {
    ClientNames::Tag& its = named.tags.emplace_back();
    its.type = names.type(pascal_of(tag.name.empty() ? "operations" : tag.name) + "Client");
    its.file = tag.file + (tag.file.ends_with('_') ? "client" : "_client");
    while (!files.insert(its.file).second) its.file += '_';
    std::set<std::string> functions;
    for (const Operation& operation : tag.operations) functions.insert(operation.name);
    for (const Operation& operation : tag.operations) {
      ClientNames::Operation& one = its.operations.emplace_back();
      one.result = names.type(operation.title + "Result");
      if (operation.body.has_files()) one.upload = names.type(operation.title + "Upload");
      one.function = operation.name;
      if (std::ranges::any_of(operation.responses, [&](const Response& r) { return is_streamed(operation, r); })) {
        one.stream = operation.name + (operation.name.ends_with('_') ? "stream" : "_stream");
        while (!functions.insert(one.stream).second) one.stream += '_';
      }
      std::set<std::string> accessors = {"status", "header", "url", "value", "read", "unexpected"};
      const auto take = [&](std::string name) {
        while (!accessors.insert(name).second) name += '_';
        return name;
      };
      for (const Response& response : operation.responses) {
        std::vector<std::string>& list = one.responses.emplace_back();
        if (!has_contents(operation, response)) {
          list.push_back(take(response.name));
        } else {
          for (const Response::Content& content : response.contents) list.push_back(take(content.name));
        }
      }
      for (const Response& response : operation.responses) {
        one.headers.push_back(response.headers.empty() ? "" : take(response.name + "_headers"));
      }
    }
  }
  return named;
}

std::string ClientText::shared() const {
  std::string text = "#pragma once\n\n#include <string>\n\n#include \"keel/contract/client.h\"\n\nnamespace " +
                     options_.space + " {\n\n";
  if (!names_.credentials.empty()) {
    text +=
        "// The credentials of a client: each is a text, or a function that provides it for each call\n"
        "// (keel::contract::Credential).\n";
    text += "struct " + names_.credentials + " {\n";
    for (const Scheme& scheme : contract_.schemes) {
      if (scheme.kind == "Certificate") continue;
      const std::string about = described(*scheme.node);
      const std::string what = scheme.kind == "Basic" ? "user:password" : scheme.kind == "Bearer" ? "a token" : "a key";
      text += comment("  ", std::string(scheme.wire) + ", " + what + (about.empty() ? "." : ": " + about));
      text += "  keel::contract::Credential " + scheme.name + " = {};\n";
    }
    text += "};\n";
  }
  text += "struct " + names_.options +
          " {\n  // The prefix of all paths, after the base_url of the http::Client: the path of the contract's first "
          "server.\n"
          "  std::string base = " +
          literal(contract_.base) + ";\n";
  if (!names_.credentials.empty()) text += "  " + names_.credentials + " credentials = {};\n";
  text += "};\n\nnamespace internal {\nkeel::contract::ClientSettings client_settings(" + names_.options +
          "&& options);\n}\n\n}  // namespace " + options_.space + '\n';
  return text;
}

std::string ClientText::shared_definition() const {
  std::string text = "keel::contract::ClientSettings internal::client_settings(" + names_.options + "&& options) {\n";
  std::vector<std::string> schemes;
  for (const Scheme& scheme : contract_.schemes) {
    schemes.push_back('{' + literal(scheme.wire) + ", {keel::contract::Scheme::Kind::" + scheme.kind + ", " +
                      literal(scheme.field) + "}}");
  }
  if (!schemes.empty()) {
    text += list("  ", "static constexpr keel::contract::ClientScheme schemes[] = ", schemes, ";");
  }
  text += "  keel::contract::ClientSettings settings;\n  settings.base = std::move(options.base);\n";
  if (!schemes.empty()) text += "  settings.schemes = schemes;\n";
  for (const Scheme& scheme : contract_.schemes) {
    text += scheme.kind == "Certificate"
                ? std::string("  settings.credentials.emplace_back();\n")
                : "  settings.credentials.push_back(std::move(options.credentials." + scheme.name + "));\n";
  }
  return text + "  return settings;\n}\n\n";
}

std::string ClientText::result(const Operation& operation, const ClientNames::Operation& names) const {
  std::string text = comment(
      "", "The response to " + capital(operation.method) + ' ' + std::string(operation.path) + ": one of these.");
  text += "class [[nodiscard]] " + names.result + " : public keel::contract::Outcome {\n public:\n";
  std::vector<std::string> alternatives = {"std::monostate"};
  for (std::size_t i = 0; i < operation.responses.size(); ++i) {
    const Response& response = operation.responses[i];
    const std::string about = described(*response.node);
    text += comment("  ", response.status + (about.empty() ? "" : ": " + about));
    const bool has = has_contents(operation, response);
    for (std::size_t j = 0; j < names.responses[i].size(); ++j) {
      const std::string index = std::to_string(alternatives.size());
      const std::string& name = names.responses[i][j];
      if (!has) {
        alternatives.push_back("std::monostate");
        text += "  bool " + name + "() const noexcept { return body_.index() == " + index + "; }\n";
        continue;
      }
      const std::string type = type_of(response.contents[j]);
      alternatives.push_back(type);
      text += "  " + type + "* " + name + "() noexcept { return std::get_if<" + index + ">(&body_); }\n";
      text += "  const " + type + "* " + name + "() const noexcept { return std::get_if<" + index + ">(&body_); }\n";
    }
    if (!response.headers.empty()) {
      text += "  const " + response.headers_name + "* " + names.headers[i] + "() const noexcept {\n    return " +
              names.headers[i] + "_ ? &*" + names.headers[i] + "_ : nullptr;\n  }\n";
    }
  }
  const Value value = value_of(operation, names);
  if (value.is_there) {
    text += "  // The success; Upstream for anything else.\n  keel::Result<" +
            (value.content == nullptr ? "" : type_of(*value.content)) + "> value() &&;\n";
  }
  text +=
      "\n private:\n  friend class keel::contract::Call;\n  keel::Result<> read(const keel::contract::Reply& "
      "reply);\n\n";
  text += "  std::variant<" + joined(alternatives) + "> body_;\n";
  for (std::size_t i = 0; i < operation.responses.size(); ++i) {
    if (!names.headers[i].empty()) {
      text += "  std::optional<" + operation.responses[i].headers_name + "> " + names.headers[i] + "_;\n";
    }
  }
  return text + "};\n\n";
}

std::string ClientText::functions(const Operation& operation, const ClientNames::Operation& names) const {
  std::string text = comment("  ", title_of(operation));
  std::vector<std::string> parameters = parameters_of(operation, names);
  if (operation.body.is_streamed()) {
    if (!operation.body.is_required) parameters.back() += " = {}";
  } else if (!operation.body.has_files() && is_plain(operation) && is_optional(operation)) {
    parameters.back() += " = {}";
  }
  parameters.push_back(std::string(options_parameter) + " = {}");
  const std::vector<std::pair<std::string, std::string>> all = {
      {names.function, names.result}, {names.stream, "keel::contract::Streamed<" + names.result + '>'}};
  for (const auto& [function, result] : all) {
    if (function.empty()) continue;
    const std::string begin = "keel::Task<" + result + "> " + function;
    text += wrapped("  ", begin, parameters, ");");
    if (is_plain(operation)) continue;
    if (is_optional(operation) && !takes_content(operation)) {
      text += "  " + begin + "() {\n    const " + operation.request + " request{};\n    return " + function +
              "(request);\n  }\n";
    }
    std::vector<std::string> made = parameters;
    made[0] = "Made&& request";
    std::vector<std::string> arguments = arguments_of(operation);
    arguments[0] = "static_cast<const " + operation.request + "&>(request)";
    arguments.push_back("options");
    text += "  template <class Made = " + operation.request +
            ">\n    requires std::same_as<std::remove_const_t<Made>, " + operation.request + ">\n" +
            wrapped("  ", begin, made, ") {") + "    keel::contract::refuse_made_in_call<Made>();\n" +
            call("    return " + function, "(", arguments, ");") + "  }\n";
  }
  return text;
}

std::string ClientText::header(std::size_t index) const {
  const Tag& tag = contract_.tags[index];
  const ClientNames::Tag& names = names_.tags[index];
  std::set<std::string> includes = {options_.folder + "/client.h"};
  if (options_.has_server) {
    includes.insert(options_.folder + '/' + tag.file + ".h");
  } else {
    for (const std::string& types : options_.types[index]) includes.insert(options_.folder + '/' + types);
  }
  const std::string open = "namespace " + options_.space + " {\n\n";
  std::string text = open;
  for (std::size_t i = 0; i < tag.operations.size(); ++i) {
    if (!options_.has_server) text += request_struct(tag.operations[i]) + header_structs(tag.operations[i]);
    if (tag.operations[i].body.has_files()) text += upload_struct(tag.operations[i], names.operations[i].upload);
    text += result(tag.operations[i], names.operations[i]);
  }
  std::string verbs;
  for (std::size_t i = 0; i < tag.operations.size(); ++i) {
    if (!value_of(tag.operations[i], names.operations[i]).is_there) continue;
    const std::string type = options_.space + "::" + names.operations[i].result;
    verbs +=
        "template <>\nstruct keel::internal::TaskVerbs<" + type + "> : keel::contract::ValueOfCall<" + type + "> {};\n";
  }
  if (!verbs.empty()) text += "}  // namespace " + options_.space + "\n\n" + verbs + '\n' + open;
  text += comment("", "Asks for " +
                          (tag.name.empty() ? "the operations without a tag"
                                            : "the operations of the tag \"" + std::string(tag.name) + "\"") +
                          " (keel/contract/client.h).");
  text += "class " + names.type + " {\n public:\n";
  text += "  // `transport` is an http::Client or an http::SharedClient, which outlives it.\n";
  text += call("  explicit " + names.type, "(",
               {"keel::contract::Transport transport", names_.options + " options = {}"}, ");") +
          '\n';
  for (std::size_t i = 0; i < tag.operations.size(); ++i) text += functions(tag.operations[i], names.operations[i]);
  text += "\n private:\n  keel::contract::Transport transport_;\n  keel::contract::ClientSettings settings_;\n};\n\n";
  text += "}  // namespace " + options_.space + '\n';
  std::string before = "#pragma once\n\n" + Types::includes_of(text, {"<concepts>", "<optional>", "<string>",
                                                                      "<string_view>", "<type_traits>", "<utility>",
                                                                      "<variant>", "\"keel/contract/client.h\""});
  for (const std::string& include : includes) before += "#include \"" + include + "\"\n";
  return before + '\n' + text;
}

std::string ClientText::constants(const Operation& operation) const {
  std::string text;
  std::vector<std::string> rows;
  for (const Response& response : operation.responses) {
    const std::string statuses = '{' + std::to_string(response.least) + ", " + std::to_string(response.most);
    if (!has_contents(operation, response)) {
      rows.push_back(statuses + '}');
      continue;
    }
    for (const Response::Content& content : response.contents) {
      rows.push_back(statuses + ", " + literal(content.media_type) + (content.type != nullptr ? ", true}" : "}"));
    }
  }
  if (!rows.empty()) text += list("  ", "static constexpr keel::contract::Expected responses[] = ", rows, ";", true);
  if (!operation.security.alternatives.empty()) text += alternatives_constant(operation.security);
  std::vector<std::string> values = {
      ".id = " + literal(operation.id.empty() ? capital(operation.method) + ' ' + std::string(operation.path)
                                              : std::string(operation.id)),
      ".method = keel::http::Method::" + pascal_of(operation.method), ".path = " + literal(operation.path)};
  if (const std::string accept = accept_of(operation); !accept.empty())
    values.push_back(".accept = " + literal(accept));
  if (!rows.empty()) values.push_back(".responses = responses");
  if (!operation.security.alternatives.empty()) values.push_back(".security = alternatives");
  return text + list("  ", "static constexpr keel::contract::Operation operation = ", values, ";");
}

std::string ClientText::definition(std::size_t tag_index, std::size_t operation_index) const {
  const Operation& operation = contract_.tags[tag_index].operations[operation_index];
  const ClientNames::Tag& tag = names_.tags[tag_index];
  const ClientNames::Operation& names = tag.operations[operation_index];
  // The code that reads the response.
  std::string text = "keel::Result<> " + names.result + "::read(const keel::contract::Reply& reply) {\n";
  text += "  switch (reply.index()) {\n";
  std::size_t row = 0;
  for (std::size_t i = 0; i < operation.responses.size(); ++i) {
    const Response& response = operation.responses[i];
    for (std::size_t j = 0; j < names.responses[i].size(); ++j, ++row) {
      text += "    case " + std::to_string(row) + ":\n";
      for (std::size_t k = 0; k < response.headers.size(); ++k) {
        const Header& header = response.headers[k];
        if (k == 0) text += "      " + names.headers[i] + "_.emplace();\n";
        text += "      KEEL_TRY_VOID(reply.header<" + reader_of(*header.type) + ">(" + literal(header.wire) + ", " +
                form_literal(header.is_json ? "Json" : form_of(*header.type)) +
                (header.is_required ? ", true, " : ", false, ") + names.headers[i] + "_->" + header.name + "));\n";
      }
      const std::string place = "body_.emplace<" + std::to_string(row + 1) + ">()";
      if (!has_contents(operation, response)) {
        text += "      " + place + ";\n      return {};\n";
      } else if (const Type* const type = response.contents[j].type) {
        text += "      return reply.json<" + reader_of(*type) + ">(" + place + ");\n";
      } else {
        text += "      reply.text(" + place + ");\n      return {};\n";
      }
    }
  }
  text += "    default:\n      return {};\n  }\n}\n";
  if (const Value value = value_of(operation, names); value.is_there) {
    const std::string type = value.content == nullptr ? "" : type_of(*value.content);
    text += "keel::Result<" + type + "> " + names.result + "::value() && {\n";
    if (value.content == nullptr) {
      text += "  if (static_cast<int>(status()) / 100 == 2) return {};\n";
    } else {
      text += "  if (auto* const body = " + value.name + "()) return std::move(*body);\n";
    }
    text += "  return unexpected();\n}\n";
  }
  // The code that writes the request.
  const std::string write = "ask_" + operation.name;
  std::vector<std::string> parameters = parameters_of(operation, names);
  for (std::string& one : parameters) {
    if (one.starts_with("keel::contract::Upload")) one = "keel::contract::Upload&& body";
  }
  const bool has_input = !is_empty(operation) || takes_content(operation);
  if (!has_input) parameters.clear();
  parameters.insert(parameters.begin(),
                    {"const keel::contract::Transport& transport", "const keel::contract::ClientSettings& settings"});
  parameters.push_back(options_parameter);
  text += "\nnamespace {\n\n" + call("keel::contract::Call " + write, "(", parameters, ") {") + constants(operation) +
          "  keel::contract::Call call(transport, settings, operation, options);\n";
  for (const Parameter& parameter : operation.parameters) text += write_parameter(parameter);
  if (operation.body.is_streamed()) {
    std::vector<std::string> types;
    for (const Body::Content& one : operation.body.contents) types.push_back(literal(one.media_type));
    text += list("  ", "static constexpr std::string_view media_types[] = ", types, ";");
    text += std::string("  call.upload(media_types, ") + (names_type(operation.body) ? "content_type" : types[0]) +
            (operation.body.is_required ? ", std::move(body), true);\n" : ", std::move(body), false);\n");
  } else {
    text += operation.body.has_files() ? write_files(operation) : write_body(operation.body);
  }
  text += "  return call;\n}\n\n}  // namespace\n\n";
  std::vector<std::string> arguments = arguments_of(operation);
  if (!has_input) arguments.clear();
  arguments.insert(arguments.begin(), {"transport_", "settings_"});
  arguments.push_back("options");
  for (const bool is_stream : {false, true}) {
    if (is_stream && names.stream.empty()) continue;
    std::vector<std::string> own = parameters_of(operation, names);
    if (!has_input) own[0] = "const " + operation.request + "&";
    own.push_back(options_parameter);
    const std::string result = is_stream ? "keel::contract::Streamed<" + names.result + '>' : names.result;
    text += wrapped("", "keel::Task<" + result + "> " + tag.type + "::" + (is_stream ? names.stream : names.function),
                    own, ") {") +
            call("  return " + write, "(", arguments,
                 std::string(is_stream ? ").stream<" : ").ask<") + names.result + ">();") +
            "}\n";
  }
  if (operation_index == 0) {
    text += '\n' +
            call(tag.type + "::" + tag.type, "(", {"keel::contract::Transport transport", names_.options + " options"},
                 ")") +
            "    : transport_(transport), settings_(internal::client_settings(std::move(options))) {}\n";
  }
  return text + '\n';
}

}  // namespace keel::gen
