#include "api/init.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "api/yaml.h"
#include "keel/base/ascii.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_value.h"
#include "keel/data/json_write.h"

namespace keel::api {
namespace {

using json::Value;

constexpr std::string_view components_at = "#/components/schemas/";
constexpr std::array<std::string_view, 6> methods = {"get", "post", "put", "patch", "delete", "head"};

struct Response {
  std::map<std::string, Value> content;  // The schemas by media type; a schema that is null is unknown.
  std::set<std::string> fields;
};
struct Operation {
  std::string path;
  std::string method;
  std::string handler;
  std::map<std::pair<std::string, std::string>, Value> asked;
  std::set<std::string> types;
  std::map<int, Response> responses;
};
// The operations by path, and then by the position of their method in `methods`.
using Operations = std::map<std::pair<std::string, std::size_t>, Operation>;
using Components = std::map<std::string, Value>;

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = ascii::to_lower(c);
  return out;
}

std::string text_of(const Value& owner, std::string_view name) {
  const Value* const member = owner.find(name);
  return std::string(member == nullptr ? std::string_view() : member->string().value_or(std::string_view()));
}

Result<> merge(const Record& record, Operations& operations, Components& components) {
  const Result<Value> document = json::parse<Value>(record.text);
  const Value* const list = document ? document->find("operations") : nullptr;
  const Value* const types = document ? document->find("components") : nullptr;
  if (list == nullptr || types == nullptr) {
    return Error::text(Code::InvalidArgument, record.file + ": is not a record of a test" +
                                                  (document ? std::string() : ": " + document.error().describe()));
  }
  for (const Value& one : list->elements()) {
    const std::string path = text_of(one, "path");
    const std::string method = lowered(text_of(one, "method"));
    const auto order = static_cast<std::size_t>(std::ranges::find(methods, method) - methods.begin());
    Operation& operation = operations[{path, order}];
    operation.path = path;
    operation.method = method;
    if (const std::string handler = text_of(one, "handler"); operation.handler < handler) operation.handler = handler;
    if (const Value* const asks = one.find("asks")) {
      for (const Value& ask : asks->elements()) {
        if (const Value* const schema = ask.find("schema"))
          operation.asked.try_emplace({text_of(ask, "part"), text_of(ask, "name")}, *schema);
      }
    }
    if (const Value* const sent = one.find("types")) {
      for (const Value& type : sent->elements()) operation.types.emplace(type.string().value_or(""));
    }
    if (const Value* const responses = one.find("responses")) {
      for (const Value& told : responses->elements()) {
        const auto status = told.get<int>("/status");
        if (!status) continue;
        Response& response = operation.responses[*status];
        if (const Value* const content = told.find("content")) {
          for (const auto& [type, schema] : content->members()) {
            Value& known = response.content[std::string(type)];
            if (known.is_null()) known = schema;
          }
        }
        if (const Value* const fields = told.find("fields")) {
          for (const Value& field : fields->elements()) response.fields.emplace(field.string().value_or(""));
        }
      }
    }
  }
  for (const auto& [name, schema] : types->members()) components.try_emplace(std::string(name), schema);
  return {};
}

// --- Names.

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (ascii::is_alphanumeric(c)) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Shortens a type's name: "shop::Page<shop::Order>" becomes "PageOrder" with one part of each name, and
// "ShopPageShopOrder" with all parts.
std::string short_name(std::string_view whole, bool has_all) {
  std::string name;
  std::string part;
  const auto finish = [&] {
    if (!part.empty()) part[0] = ascii::to_upper(part[0]);
    name += part;
    part.clear();
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole.substr(i).starts_with("::")) {
      if (!has_all) part.clear();
      finish();
      ++i;
    } else if (ascii::is_alphanumeric(whole[i]) || whole[i] == '_') {
      part += whole[i];
    } else {
      finish();
    }
  }
  finish();
  return name.empty() ? "Type" : name;
}

std::map<std::string, std::string> short_names(const Components& components) {
  std::map<std::string, int> counts;
  for (const auto& [whole, schema] : components) ++counts[short_name(whole, false)];
  std::map<std::string, std::string> names;
  std::set<std::string> taken;
  for (const auto& [whole, schema] : components) {
    std::string name = short_name(whole, counts[short_name(whole, false)] > 1);
    if (name == "Problem") name = "OwnProblem";
    while (!taken.insert(name).second) name += '2';
    names[whole] = name;
  }
  return names;
}

std::string singular(std::string word) {
  if (word.ends_with("ies")) return word.substr(0, word.size() - 3) + 'y';
  if (word.size() > 1 && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
  return word;
}

struct Path {
  struct Parameter {
    std::string name;
    std::string type;  // "uint", or empty.
  };
  std::string text;
  std::vector<Parameter> parameters;
  std::vector<std::string> fixed;  // The segments that contain no parameter, each as a word.
  bool ends_fixed = false;
  std::string cannot_be_said;  // The reason why OpenAPI cannot express the path; empty if it can.
};

Path path_of(std::string_view pattern) {
  Path path;
  if (!pattern.starts_with('/')) path.cannot_be_said = "its pattern names a host";
  std::string_view rest = pattern;
  while (!rest.empty()) {
    rest.remove_prefix(rest.starts_with('/') ? 1 : 0);
    const std::string_view segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(segment.size());
    const std::size_t open = segment.find('{');
    path.ends_fixed = open == segment.npos;
    if (path.ends_fixed) {
      path.text += '/' + std::string(segment);
      std::string words;
      for (const std::string& word : words_of(segment)) words += (words.empty() ? "" : "_") + lowered(word);
      if (!words.empty()) path.fixed.push_back(words);
      continue;
    }
    const std::size_t close = segment.find('}');
    const std::string_view inside = segment.substr(open + 1, close - open - 1);
    if (inside.ends_with("...")) path.cannot_be_said = "a parameter takes several segments";
    const std::string name(inside.substr(0, inside.find(':')));
    const std::size_t colon = inside.find(':');
    path.parameters.push_back(
        {.name = name, .type = std::string(colon == inside.npos ? std::string_view() : inside.substr(colon + 1))});
    path.text += '/' + std::string(segment.substr(0, open)) + '{' + name + '}' + std::string(segment.substr(close + 1));
  }
  if (path.text.empty()) path.text = "/";
  return path;
}

// The handler "create" of POST /orders gives "create_order", and "pay" of POST /orders/{id}/pay gives "pay_order".
std::string operation_name(const Operation& operation, const Path& path) {
  const bool is_collection = path.ends_fixed || path.parameters.empty();
  std::string verb = operation.handler;
  std::vector<std::string> fixed = path.fixed;
  if (verb.empty() && operation.method == "post" && is_collection && !path.parameters.empty() && fixed.size() > 1) {
    verb = fixed.back();
  } else if (verb.empty()) {
    verb = operation.method == "get"    ? (is_collection ? "list" : "get")
           : operation.method == "post" ? "create"
           : operation.method == "put"  ? "replace"
                                        : operation.method;
  }
  if (!fixed.empty() && fixed.back() == verb) fixed.pop_back();
  const std::string noun = fixed.empty() ? std::string() : fixed.back();
  if (noun.empty() || verb.find('_') != verb.npos || verb.find(singular(noun)) != verb.npos) return verb;
  const bool is_of_all = operation.method == "get" && is_collection;
  return verb + '_' + (is_of_all ? noun : singular(noun));
}

// The path's first segment that is neither "api" nor a version.
std::string tag_of(const Path& path) {
  for (const std::string& word : path.fixed) {
    const bool is_version = word.size() > 1 && word[0] == 'v' && std::ranges::all_of(word.substr(1), ascii::is_digit);
    if (word != "api" && !is_version) return word;
  }
  return {};
}

// --- Schemas.

void rename_references(Value& value, const std::map<std::string, std::string>& names, std::set<std::string>& used) {
  if (value.kind() == json::Kind::Array) {
    for (Value& element : value.elements()) rename_references(element, names, used);
    return;
  }
  if (value.kind() != json::Kind::Object) return;
  Value renamed = Value::object();
  for (const auto& [key, member] : value.members()) {
    const auto text = member.string();
    Value copy = member;
    if (text && text->starts_with(components_at)) {
      const std::string whole(text->substr(components_at.size()));
      const auto found = names.find(whole);
      if (whole == "keel::http::FormPart") {
        renamed["type"] = "string";
        renamed["format"] = "binary";
        continue;
      }
      if (found != names.end()) {
        used.insert(whole);
        copy = std::string(components_at) + found->second;
      }
    } else {
      rename_references(copy, names, used);
    }
    renamed[key] = std::move(copy);
  }
  value = std::move(renamed);
}

// A parameter's value is never null, but the parameter may be absent.
Value without_null(const Value& schema) {
  if (const Value* const any = schema.find("anyOf"); any != nullptr && any->size() == 2) return any->elements()[0];
  Value plain = schema;
  Value* const type = plain.find("type");
  if (type != nullptr && type->kind() == json::Kind::Array && !type->empty()) *type = Value(type->elements()[0]);
  return plain;
}

bool is_list(const Value& schema) { return text_of(schema, "type") == "array"; }

Value schema_of_path_type(std::string_view type) {
  if (type == "uint") return Value::object({{"type", "integer"}, {"minimum", 0}});
  if (type == "int") return Value::object({{"type", "integer"}, {"format", "int64"}});
  if (type == "uuid") return Value::object({{"type", "string"}, {"format", "uuid"}});
  return Value::object({{"type", "string"}});
}

Value reference(std::string_view name) {
  return Value::object({{"$ref", std::string(components_at) + std::string(name)}});
}

std::string_view description_of(int status) {
  constexpr std::array<std::pair<int, std::string_view>, 21> all = {{
      {200, "It has succeeded."},
      {201, "The resource has been created."},
      {202, "The request was accepted, and will be carried out later."},
      {204, "The request has succeeded; there is no content."},
      {206, "This is a part of the resource."},
      {301, "The resource has moved permanently."},
      {302, "It is elsewhere."},
      {303, "The result is at another URL."},
      {304, "The resource has not changed."},
      {307, "The resource is temporarily at another URL."},
      {308, "The resource has moved permanently."},
      {400, "The request is malformed."},
      {401, "The request is not authenticated."},
      {403, "The client is not allowed to do this."},
      {404, "There is no such resource."},
      {409, "The current state of the resource does not allow the request."},
      {410, "The resource no longer exists."},
      {412, "A precondition of the request is not met."},
      {415, "The media type is not supported."},
      {422, "The values in the request are not valid."},
      {429, "The client sent too many requests."},
  }};
  for (const auto& [number, text] : all) {
    if (number == status) return text;
  }
  return status < 400 ? "It has succeeded." : "It has failed.";
}

Value content_of(const std::map<std::string, Value>& seen) {
  Value content = Value::object();
  for (const auto& [type, schema] : seen) {
    if (type.empty()) continue;
    Value media = Value::object();
    if (type == "application/problem+json") {
      media["schema"] = reference("Problem");
    } else if (!schema.is_null()) {
      media["schema"] = schema;
    } else if (type.starts_with("text/")) {
      media["schema"] = Value::object({{"type", "string"}});
    } else if (type.ends_with("json")) {
      media["schema"] = Value::object();
    }
    content[type] = std::move(media);
  }
  return content;
}

Value problem_schema() {
  return *json::parse<Value>(
      R"({"description":"What went wrong (RFC 9457).","type":"object","required":["type","title","status"],)"
      R"("properties":{"type":{"type":"string"},"title":{"type":"string"},"status":{"type":"integer"},)"
      R"("detail":{"type":"string"},"errors":{"description":"All that is wrong with what was sent.","type":"array",)"
      R"("items":{"type":"object","required":["detail"],"properties":{"pointer":{"type":"string"},)"
      R"("parameter":{"type":"string"},"field":{"type":"string"},"keyword":{"type":"string"},)"
      R"("detail":{"type":"string"}}}}}})");
}

// --- Operations.

Value parameters_of(const Operation& operation, const Path& path) {
  Value list = Value::array();
  for (const Path::Parameter& parameter : path.parameters) {
    const auto asked = operation.asked.find({"path-parameter", parameter.name});
    list.push_back(Value::object(
        {{"name", parameter.name},
         {"in", "path"},
         {"required", true},
         {"schema", asked == operation.asked.end() ? schema_of_path_type(parameter.type) : asked->second}}));
  }
  std::set<std::string> names;
  if (const auto query = operation.asked.find({"query", ""}); query != operation.asked.end()) {
    for (const Value& field : query->second.elements()) {
      const Value* const schema = field.find("schema");
      if (schema == nullptr) continue;
      Value parameter = Value::object({{"name", text_of(field, "name")}, {"in", "query"}});
      if (!is_list(*schema) && field.get<bool>("/required").value_or(false)) parameter["required"] = true;
      parameter["schema"] = without_null(*schema);
      names.insert(text_of(field, "name"));
      list.push_back(std::move(parameter));
    }
  }
  for (const auto& [asked, schema] : operation.asked) {
    if (asked.first != "query-parameter" || !names.insert(asked.second).second) continue;
    list.push_back(Value::object({{"name", asked.second}, {"in", "query"}, {"schema", schema}}));
  }
  return list;
}

std::optional<Value> body_of(const Operation& operation) {
  Value content = Value::object();
  if (const auto body = operation.asked.find({"body", ""}); body != operation.asked.end()) {
    content["application/json"] = Value::object({{"schema", body->second}});
  } else if (const auto form = operation.asked.find({"form", ""}); form != operation.asked.end()) {
    Value properties = Value::object();
    Value required = Value::array();
    bool has_file = false;
    for (const Value& field : form->second.elements()) {
      const Value* const schema = field.find("schema");
      if (schema == nullptr) continue;
      has_file = has_file || json::write(*schema).find("\"binary\"") != std::string::npos;
      if (!is_list(*schema) && field.get<bool>("/required").value_or(false)) required.push_back(text_of(field, "name"));
      properties[text_of(field, "name")] = without_null(*schema);
    }
    Value schema = Value::object({{"type", "object"}});
    if (!required.empty()) schema["required"] = std::move(required);
    schema["properties"] = std::move(properties);
    if (!has_file) content["application/x-www-form-urlencoded"] = Value::object({{"schema", schema}});
    if (has_file || operation.types.contains("multipart/form-data"))
      content["multipart/form-data"] = Value::object({{"schema", std::move(schema)}});
  } else if (operation.method == "post" || operation.method == "put" || operation.method == "patch") {
    std::map<std::string, Value> seen;
    for (const std::string& type : operation.types) seen[type];
    content = content_of(seen);
  }
  if (content.empty()) return std::nullopt;
  return Value::object({{"required", true}, {"content", std::move(content)}});
}

Value responses_of(const Operation& operation) {
  Value responses = Value::object();
  for (const auto& [status, response] : operation.responses) {
    if (status == 405 || status == 406) continue;  // The router sends 405 and 406 for every path.
    Value one = Value::object({{"description", description_of(status)}});
    if (!response.fields.empty()) {
      Value headers = Value::object();
      for (const std::string& field : response.fields)
        headers[field] = Value::object({{"schema", Value::object({{"type", "string"}})}});
      one["headers"] = std::move(headers);
    }
    if (Value content = content_of(response.content); !content.empty()) one["content"] = std::move(content);
    responses[std::to_string(status)] = std::move(one);
  }
  responses["default"] = Value::object({{"$ref", "#/components/responses/Problem"}});
  return responses;
}

// In YAML's block style, a key that contains braces needs no quotes.
std::string path_key(std::string_view path) {
  const bool is_plain = std::ranges::all_of(path, [](char c) {
    return ascii::is_alphanumeric(c) || std::string_view("/{}-_.~").find(c) != std::string_view::npos;
  });
  return is_plain ? std::string(path) : yaml_text(path);
}

constexpr std::string_view head =
    R"(# Written by `keel api init`, from what the tests of this service asked of it. From now on this document leads: read
# it, mend it, and let `keel api lint` and `keel api diff` look after it.
openapi: 3.1.0
info:
)";
constexpr std::string_view security =
    R"(# Tests do not tell how a client proves who it is. Say it here, and beside operations where it differs:
#   security:
#     - token: []
#   components:
#     securitySchemes:
#       token: {type: http, scheme: bearer}
)";

}  // namespace

Result<std::string> write_contract(std::vector<Record> records, std::string_view title) {
  std::ranges::sort(
      records, [](const Record& a, const Record& b) { return std::tie(a.text, a.file) < std::tie(b.text, b.file); });
  Operations operations;
  Components components;
  for (const Record& record : records) KEEL_TRY_VOID(merge(record, operations, components));
  if (operations.empty()) {
    return Error::text(Code::InvalidArgument,
                       "no operation was recorded: the tests have to call a service in a TestApp, and the service has "
                       "to call App::serve()");
  }

  const std::map<std::string, std::string> names = short_names(components);
  std::set<std::string> used;
  std::map<std::string, int> counts;
  for (auto& [key, operation] : operations) {
    for (auto& [asked, schema] : operation.asked) rename_references(schema, names, used);
    for (auto& [status, response] : operation.responses) {
      for (auto& [type, schema] : response.content) rename_references(schema, names, used);
    }
    ++counts[operation_name(operation, path_of(operation.path))];
  }
  std::map<std::string, Value> schemas = {{"Problem", problem_schema()}};
  // A component's schema may refer to further components, so repeat until no new component is found.
  for (std::size_t known = 0; known != used.size();) {
    known = used.size();
    for (const std::string& whole : std::set(used)) {
      Value schema = components[whole];
      rename_references(schema, names, used);
      schemas[names.at(whole)] = std::move(schema);
    }
  }

  std::string out(head);
  out += "  title: " + yaml_text(title) + "\n  version: 1.0.0\n" + std::string(security);
  out += "paths:\n";
  std::string path_before;
  std::map<std::string, int> given;
  for (const auto& [key, operation] : operations) {
    const Path path = path_of(operation.path);
    if (!path.cannot_be_said.empty() || key.second == methods.size()) {
      std::string method = operation.method;
      for (char& c : method) c = ascii::to_upper(c);
      out += "  # " + method + ' ' + operation.path + " is left out: " +
             (path.cannot_be_said.empty() ? std::string("OpenAPI does not know its method") : path.cannot_be_said) +
             ".\n";
      continue;
    }
    if (path.text != path_before) out += "  " + path_key(path.text) + ":\n";
    path_before = path.text;
    Value described = Value::object();
    std::string name = operation_name(operation, path);
    if (counts[name] > 1 && given[name]++ > 0) {
      name += '_' + operation.method;
      for (const std::string& word : path.fixed) name += '_' + word;
      for (const Path::Parameter& parameter : path.parameters) name += "_by_" + parameter.name;
    }
    described["operationId"] = name;
    if (const std::string tag = tag_of(path); !tag.empty()) described["tags"] = Value::array({tag});
    if (Value parameters = parameters_of(operation, path); !parameters.empty())
      described["parameters"] = std::move(parameters);
    if (std::optional<Value> body = body_of(operation)) described["requestBody"] = *std::move(body);
    described["responses"] = responses_of(operation);
    if (operation.responses.empty()) out += "    # No test has called this operation.\n";
    out += "    " + operation.method + ':';
    append_yaml(out, described, 6);
  }
  out += "components:\n  responses:";
  append_yaml(
      out,
      Value::object({{"Problem", Value::object({{"description", "What went wrong."},
                                                {"content", content_of({{"application/problem+json", {}}})}})}}),
      4);
  out += "  schemas:\n";
  for (const auto& [name, schema] : schemas) {
    out += "    " + name + ':';
    append_yaml(out, schema, 6);
  }
  return out;
}

}  // namespace keel::api
