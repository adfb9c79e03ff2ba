// The operations of a contract: their names, parameters, bodies, responses, security and the base path.

#include "gen/operations.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "openapi/testing.h"

namespace keel::gen::operations_test {
namespace {

using namespace keel::openapi::testing;
using openapi::Document;
using openapi::Problems;

// Keeps what the views of a contract look into.
struct Read {
  std::unique_ptr<Document> document;
  std::unique_ptr<Types> types;
  Names names;
  Contract contract;
  Lines problems;
  Lines warnings;

  const Operation& operation(std::string_view name) const {
    for (const Tag& tag : contract.tags) {
      for (const Operation& one : tag.operations) {
        if (one.name == name) return one;
      }
    }
    static const Operation none;
    ADD_FAILURE() << "there is no operation " << name;
    return none;
  }
};
Read read(const std::string& text) {
  const Files files = {{"api.yaml", text}};
  Read made;
  Problems problems;
  made.document = Document::load("api.yaml", reader_of(files), problems);
  if (made.document != nullptr) lint(*made.document, problems);
  if (problems.errors() == 0) {
    made.types = std::make_unique<Types>(*made.document, problems, made.names);
    made.contract = read_contract(*made.document, *made.types, made.names, problems);
  }
  for (const openapi::Problem& one : problems.sorted()) {
    const bool is_error = one.severity == openapi::Problem::Severity::Error;
    (is_error ? made.problems : made.warnings).push_back(one.describe());
  }
  return made;
}

const std::string head = "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\n";
const std::string fine = "responses: {'204': {description: fine}}";
// GET /a with these parameters, a line each.
std::string with_parameters(const Lines& parameters) {
  std::string text = head + "paths:\n  /a:\n    get:\n      operationId: a\n      " + fine + "\n      parameters:\n";
  for (const std::string& one : parameters) text += "        - " + one + '\n';
  return text;
}
std::string with_body(const std::string& content, const std::string& more = "") {
  return head + "paths:\n  /a:\n    post:\n      operationId: a\n      " + fine + "\n      requestBody: {" + more +
         "content: {" + content + "}}\n";
}
std::string with_security(const std::string& security, const std::string& of_all = "") {
  return head + of_all + "paths:\n  /a:\n    get: {operationId: a, " + security + fine + "}\n" +
         "components:\n"
         "  securitySchemes:\n"
         "    token: {type: http, scheme: Bearer}\n"
         "    Password: {type: http, scheme: basic}\n"
         "    key: {type: apiKey, in: header, name: X-Key}\n"
         "    inQuery: {type: apiKey, in: query, name: k}\n"
         "    inCookie: {type: apiKey, in: cookie, name: sid}\n"
         "    mtls: {type: mutualTLS}\n"
         "    sso: {type: openIdConnect, openIdConnectUrl: 'https://example.com/'}\n"
         "    oauth: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://example.com/', "
         "scopes: {'a:read': x, 'a:write': y}}}}\n"
         "    verify: {type: apiKey, in: header, name: X-Verify}\n"
         "    digest: {type: http, scheme: digest}\n"
         "    broken: {type: apiKey, in: header, name: 'X Key'}\n";
}

std::string described(const Parameter& one) {
  return one.spelling() + ' ' + one.name + ' ' + one.place + ' ' + one.style + (one.explodes ? " explodes" : "") +
         (one.is_json ? " json" : "") + (one.initialiser.empty() ? "" : " = " + one.initialiser);
}
Lines parameters_of(const Read& read, std::string_view operation = "a") {
  Lines lines;
  for (const Parameter& one : read.operation(operation).parameters) lines.push_back(described(one));
  return lines;
}
std::string kinds_of(const Body& body) {
  std::string text;
  for (const Body::Content& one : body.contents) {
    constexpr std::string_view names[] = {"none", "json", "form", "text", "streamed"};
    text +=
        (text.empty() ? "" : ", ") + std::string(names[static_cast<int>(one.kind)]) + ' ' + std::string(one.media_type);
  }
  return text;
}
std::string alternatives_of(const Read& read) {
  std::string text;
  for (const auto& alternative : read.operation("a").security.alternatives) {
    std::string all;
    for (const Security::Requirement& one : alternative) {
      all += (all.empty() ? "" : "+") + read.contract.schemes[one.scheme].name;
      for (const std::string_view scope : one.scopes) all += '(' + std::string(scope) + ')';
    }
    text += (text.empty() ? "" : " or ") + (all.empty() ? "nothing" : all);
  }
  return text;
}

TEST(Operations, are_called_by_their_id_or_by_method_and_path) {
  const Read made = read(head + "paths:\n  /pets:\n    get: {operationId: listPets, " + fine + "}\n    post: {" + fine +
                         "}\n    put: {operationId: class, " + fine + "}\n    head: {operationId: 'list-pets', " +
                         fine + "}\n    delete: {operationId: add_routes, " + fine + "}\n");

  EXPECT_EQ(made.problems, Lines());
  ASSERT_EQ(made.contract.tags.size(), 1u);
  Lines names;
  for (const Operation& one : made.contract.tags[0].operations) {
    names.push_back(one.name + ' ' + one.request + ' ' + one.response);
  }
  EXPECT_EQ(names,
            (Lines{"add_routes_2 AddRoutes2Request AddRoutes2Response",
                   "list_pets_2 ListPets2Request ListPets2Response", "list_pets ListPetsRequest ListPetsResponse",
                   "post_pets PostPetsRequest PostPetsResponse", "class_ ClassRequest ClassResponse"}));
}

TEST(Operations, have_one_name_for_a_parameter_at_one_place_of_the_paths) {
  const std::string id = "parameters: [{name: id, in: path, required: true, schema: {type: string}}], ";
  const std::string pet = "parameters: [{name: petId, in: path, required: true, schema: {type: string}}], ";
  const Read made = read(head + "paths:\n  /pets/{id}:\n    get: {operationId: a, " + id + fine +
                         "}\n  /pets/{petId}/toys:\n    get: {operationId: b, " + pet + fine +
                         "}\n  /users/{petId}:\n    get: {operationId: c, " + pet + fine + "}\n");

  EXPECT_EQ(made.problems, Lines());
  EXPECT_EQ(made.operation("a").pattern, "/pets/{id}");
  EXPECT_EQ(made.operation("b").pattern, "/pets/{id}/toys");
  EXPECT_EQ(made.operation("b").parameters[0].wire, "petId");
  EXPECT_EQ(made.operation("b").parameters[0].in_route, "id");
  EXPECT_EQ(made.operation("c").pattern, "/users/{pet_id}");
}

TEST(Operations, of_the_method_trace_are_rejected) {
  EXPECT_EQ(read(head + "paths:\n  /a:\n    trace: {" + fine + "}\n").problems,
            Lines{"api.yaml:5:5: error: an operation with the method TRACE is not served (#/paths/~1a/trace)"});
}

TEST(Operations, have_parameters_in_the_styles_of_their_places) {
  EXPECT_EQ(parameters_of(read(with_parameters({
                "{name: q, in: query, schema: {type: string}}",
                "{name: X-Id, in: header, schema: {type: integer}}",
                "{name: sid, in: cookie, required: true, schema: {type: string}}",
                "{name: tags, in: query, style: pipeDelimited, schema: {type: array, items: {type: string}}}",
                "{name: ids, in: query, explode: false, schema: {type: array, items: {type: integer}}}",
                "{name: x-list, in: header, explode: true, schema: {type: array, items: {type: integer}}}",
                "{name: color, in: query, style: deepObject, explode: true, schema: {type: object, "
                "additionalProperties: {type: string}}}",
                "{name: at, in: query, content: {application/json: {schema: {type: array, items: {type: array, items: "
                "{type: integer}}}}}}",
                "{name: limit, in: query, schema: {type: integer, format: int32, default: 20}}",
            }))),
            (Lines{"std::string sid Cookie Form explodes", "std::optional<std::int64_t> x_id Header Simple",
                   "std::optional<std::vector<std::int64_t>> x_list Header Simple explodes",
                   "std::optional<std::vector<std::vector<std::int64_t>>> at Query Form explodes json",
                   "std::optional<std::map<std::string, std::string>> color Query DeepObject explodes",
                   "std::optional<std::vector<std::int64_t>> ids Query Form",
                   "std::int32_t limit Query Form explodes = 20", "std::optional<std::string> q Query Form explodes",
                   "std::optional<std::vector<std::string>> tags Query PipeDelimited"}));
}

TEST(Operations, take_the_default_of_a_parameter_from_each_part_of_its_schema) {
  const std::string order = "{name: order, in: query, schema: ";
  const Read made = read(with_parameters({order + "{allOf: [{$ref: '#/components/schemas/Order'}]}}"}) +
                         "components: {schemas: {Order: {type: string, enum: [up, down], default: up}}}\n");

  EXPECT_EQ(made.problems, Lines());
  EXPECT_EQ(parameters_of(made), Lines{"Order order Query Form explodes = Order::Up"});
}

TEST(Operations, replace_parameters_of_their_path) {
  const Read made = read(head +
                         "paths:\n"
                         "  /a:\n"
                         "    parameters:\n"
                         "      - {name: limit, in: query, schema: {type: integer}}\n"
                         "      - {name: X-Limit, in: header, schema: {type: integer}}\n"
                         "      - {name: q, in: query, schema: {type: boolean}}\n"
                         "    get:\n"
                         "      operationId: a\n"
                         "      parameters:\n"
                         "        - {name: limit, in: query, schema: {type: string}}\n"
                         "        - {name: x-limit, in: header, required: true, schema: {type: string}}\n"
                         "      " +
                         fine + '\n');

  EXPECT_EQ(made.problems, Lines());
  EXPECT_EQ(parameters_of(made),
            (Lines{"std::string x_limit Header Simple", "std::optional<std::string> limit Query Form explodes",
                   "std::optional<bool> q Query Form explodes"}));
}

TEST(Operations, may_have_one_name_in_several_places) {
  const Read made = read(head +
                         "paths:\n"
                         "  /a/{id}:\n"
                         "    get:\n"
                         "      operationId: a\n"
                         "      parameters:\n"
                         "        - {name: id, in: path, required: true, schema: {type: string}}\n"
                         "        - {name: id, in: query, schema: {type: string}}\n"
                         "        - {name: id, in: header, schema: {type: string}}\n"
                         "        - {name: body, in: query, schema: {type: string}}\n"
                         "      " +
                         fine + '\n');

  EXPECT_EQ(made.problems, Lines());
  EXPECT_EQ(parameters_of(made),
            (Lines{"std::string id Path Simple", "std::optional<std::string> id_header Header Simple",
                   "std::optional<std::string> body_2 Query Form explodes",
                   "std::optional<std::string> id_query Query Form explodes"}));
}

TEST(Operations, do_not_read_headers_that_are_no_parameters) {
  EXPECT_EQ(parameters_of(read(with_parameters({"{name: Accept, in: header, schema: {type: string}}",
                                                "{name: content-type, in: header, schema: {type: string}}",
                                                "{name: Authorization, in: header, schema: {type: string}}",
                                                "{name: Host, in: header, required: true, schema: {type: string}}",
                                                "{name: X-A, in: header, required: true, schema: {type: string}}"}))),
            Lines{"std::string x_a Header Simple"});
}

TEST(Operations, reject_parameters_that_have_no_form_as_text) {
  EXPECT_EQ(
      read(with_parameters({"{name: a, in: query, schema: {type: array, items: {type: array, items: {type: integer}}}}",
                            "{name: b, in: query, content: {text/plain: {schema: {type: string}}}}"}))
          .problems,
      (Lines{"api.yaml:9:11: error: a parameter in the query cannot represent a value that is nested this deeply: give "
             "the parameter a 'content' of application/json (#/paths/~1a/get/parameters/0)",
             "api.yaml:10:42: error: a parameter of the media type 'text/plain' cannot be read: only JSON is supported "
             "(#/paths/~1a/get/parameters/1/content/text~1plain)"}));
  const std::string open =
      "schema: {type: object, properties: {r: {type: integer}}, additionalProperties: {type: string}}}";
  EXPECT_EQ(read(with_parameters({"{name: a, in: query, " + open, "{name: b, in: query, style: deepObject, " + open,
                                  "{name: c, in: query, explode: false, " + open}))
                .problems,
            Lines{"api.yaml:9:11: error: an object with other members takes every parameter of the query: give it the "
                  "style deepObject, or explode: false (#/paths/~1a/get/parameters/0)"});
}

TEST(Operations, reject_alternatives_that_no_style_tells_apart) {
  const std::string range = "{type: object, properties: {gt: {type: integer}}}";
  EXPECT_EQ(
      read(with_parameters(
               {"{name: a, in: query, schema: {oneOf: [{type: string}, {type: array, items: {type: string}}]}}",
                "{name: b, in: query, style: deepObject, schema: {anyOf: [" + range + ", {type: integer}]}}",
                "{name: c, in: query, explode: false, schema: {type: [integer, array], items: {type: integer}}}"}))
          .problems,
      Lines());
  const std::string nested =
      ": error: a parameter in the query cannot represent a value that is nested this deeply: give the parameter a "
      "'content' of application/json (#/paths/~1a/get/parameters/";
  EXPECT_EQ(
      read(with_parameters(
               {"{name: a, in: query, schema: {anyOf: [" + range + ", {type: integer}]}}",
                "{name: b, in: header, schema: {anyOf: [" + range + ", {type: integer}]}}",
                "{name: c, in: query, style: deepObject, schema: {anyOf: [" + range +
                    ", {type: array, items: {type: integer}}]}}",
                "{name: d, in: query, style: deepObject, schema: {type: array, items: {type: integer}}}",
                "{name: e, in: query, style: deepObject, schema: {type: string}}",
                "{name: f, in: query, style: pipeDelimited, explode: true, schema: " + range + "}",
                "{name: g, in: query, schema: {oneOf: [{type: string}, {type: array, items: {type: array, items: "
                "{}}}]}}",
                "{name: h, in: query, schema: {type: array, items: {oneOf: [{type: string}, {type: array}]}}}"}))
          .problems,
      (Lines{"api.yaml:9:11: error: a value that may be an object or something else cannot be written in this style: "
             "give the parameter the style deepObject without an array among the alternatives, or a 'content' of "
             "application/json (#/paths/~1a/get/parameters/0)",
             "api.yaml:10:11: error: a value that may be an object or something else cannot be written in this style: "
             "give the parameter a "
             "'content' of application/json (#/paths/~1a/get/parameters/1)",
             "api.yaml:11:11: error: a value that may be an object or something else cannot be written in this style: "
             "give the parameter the style deepObject without an array among the alternatives, or a 'content' of "
             "application/json (#/paths/~1a/get/parameters/2)",
             "api.yaml:12:11: error: the style deepObject is for objects, but the schema of this parameter allows no "
             "objects (#/paths/~1a/get/parameters/3)",
             "api.yaml:13:11: error: the style deepObject is for objects, but the schema of this parameter allows no "
             "objects (#/paths/~1a/get/parameters/4)",
             "api.yaml:14:11: error: an object cannot be exploded in this style: give the parameter explode: false "
             "(#/paths/~1a/get/parameters/5)",
             "api.yaml:15:11" + nested + "6)", "api.yaml:16:11" + nested + "7)"}));
}

TEST(Operations, reject_parameters_whose_alternatives_nothing_tells_apart) {
  const std::string lists = "{type: array, items: {type: string}}, {type: array, items: {type: integer}}";
  const std::string objects = "{type: object, properties: {x: {type: string}}}, {type: object}";
  const Read made =
      read(with_parameters({"{name: a, in: query, schema: {oneOf: [" + lists + "]}}",
                            "{name: b, in: query, schema: {oneOf: [{type: string}, " + lists + "]}}",
                            "{name: c, in: query, style: deepObject, schema: {oneOf: [" + objects + "]}}",
                            "{name: d, in: header, schema: {anyOf: [" + objects + "]}}",
                            "{name: e, in: query, content: {application/json: {schema: {oneOf: [" + objects + "]}}}}",
                            "{name: f, in: query, schema: {type: [string, array, object]}}"}));
  const std::string why =
      ":11: error: alternatives that cannot be told apart cannot be written in this style: give the parameter a "
      "'content' of application/json (#/paths/~1a/get/parameters/";
  EXPECT_EQ(made.problems, (Lines{"api.yaml:9" + why + "0)", "api.yaml:10" + why + "1)", "api.yaml:11" + why + "2)",
                                  "api.yaml:12" + why + "3)"}));
}

TEST(Operations, have_a_body_of_json_forms_text_or_a_stream) {
  const std::string object = "{schema: {type: object, properties: {a: {type: string}}}}";
  const auto body = [](const std::string& text) {
    const Read made = read(text);
    EXPECT_EQ(made.problems, Lines());
    return kinds_of(made.operation("a").body) + ": " +
           (made.operation("a").body.is_streamed() ? "" : made.operation("a").body.spelling());
  };
  EXPECT_EQ(body(with_body("application/json: " + object, "required: true, ")), "json application/json: ABody");
  EXPECT_EQ(body(with_body("application/vnd.a+json: " + object)), "json application/vnd.a+json: std::optional<ABody>");
  EXPECT_EQ(body(with_body("multipart/form-data: " + object, "required: true, ")), "form multipart/form-data: ABody");
  EXPECT_EQ(body(with_body("text/plain: {schema: {type: string}}", "required: true, ")),
            "text text/plain: std::string_view");
  EXPECT_EQ(body(with_body("text/csv: {}, text/plain: {}")),
            "text text/csv, text text/plain: std::optional<std::string_view>");
  EXPECT_EQ(body(with_body("application/octet-stream: {}")), "streamed application/octet-stream: ");
  EXPECT_EQ(body(with_body("image/png: {}, 'image/*': {}")), "streamed image/*, streamed image/png: ");
}

TEST(Operations, read_json_where_any_type_is_declared_and_the_schema_allows_no_text) {
  const auto body = [](const std::string& type, const std::string& schema) {
    const Read made = read(with_body("'" + type + "': {schema: " + schema + "}", "required: true, "));
    EXPECT_EQ(made.problems, Lines());
    return kinds_of(made.operation("a").body);
  };
  for (const std::string type : {"*/*", "application/*"}) {
    EXPECT_EQ(body(type, "{type: object, properties: {a: {type: string}}}"), "json " + type);
    EXPECT_EQ(body(type, "{type: array, items: {type: string}}"), "json " + type);
    EXPECT_EQ(body(type, "{type: [integer, 'null']}"), "json " + type);
    EXPECT_EQ(body(type, "{oneOf: [{type: object}, {type: boolean}]}"), "json " + type);
    EXPECT_EQ(body(type, "{oneOf: [{type: object}, {type: string}]}"), "streamed " + type);
    EXPECT_EQ(body(type, "{type: string, format: binary}"), "streamed " + type);
    EXPECT_EQ(body(type, "{}"), "streamed " + type);
  }
  EXPECT_EQ(body("image/*", "{type: integer}"), "streamed image/*");

  const std::string given = "{schema: {type: array, items: {type: integer}}}";
  const Read several = read(with_body("'*/*': " + given + ", application/json: " + given));
  EXPECT_EQ(several.problems, Lines());
  EXPECT_EQ(kinds_of(several.operation("a").body), "json application/json, json */*");

  const Read bytes = read(with_body("'*/*': " + given + ", application/zip: {}"));
  EXPECT_EQ(bytes.problems, Lines());
  EXPECT_EQ(kinds_of(bytes.operation("a").body), "streamed */*, streamed application/zip");
  EXPECT_EQ(bytes.warnings, Lines{"api.yaml:8:31: warning: the schema of '*/*' has no effect: its content is bytes, as "
                                  "'application/zip' beside it is (#/paths/~1a/post/requestBody/content/*~1*)"});
}

TEST(Operations, may_repeat_one_schema_in_several_media_types) {
  const std::string given = "{schema: {type: object, required: [a], properties: {a: {type: string, maxLength: 5}}}}";
  const Read made = read(with_body("application/json: " + given + ", multipart/form-data: " + given));

  EXPECT_EQ(made.problems, Lines());
  EXPECT_EQ(kinds_of(made.operation("a").body), "json application/json, form multipart/form-data");
  EXPECT_EQ(made.operation("a").body.spelling(), "std::optional<ABody>");
  const std::string other = "{schema: {type: object, required: [a], properties: {a: {type: string, maxLength: 6}}}}";
  EXPECT_EQ(read(with_body("application/json: " + given + ", multipart/form-data: " + other)).problems.size(), 1u);
}

TEST(Operations, may_take_one_schema_in_several_media_types_json_first) {
  const std::string components = "components: {schemas: {New: {type: object, properties: {a: {type: string}}}}}\n";
  const std::string given = "{schema: {$ref: '#/components/schemas/New'}}";
  const Read made = read(with_body("application/x-www-form-urlencoded: " + given + ", application/json: " + given +
                                       ", application/xml: " + given,
                                   "required: true, ") +
                         components);

  EXPECT_EQ(made.problems, Lines());
  EXPECT_EQ(kinds_of(made.operation("a").body), "json application/json, form application/x-www-form-urlencoded");
  EXPECT_EQ(made.operation("a").body.spelling(), "New");
}

TEST(Operations, reject_bodies_that_are_not_one_type) {
  EXPECT_EQ(
      read(with_body("application/json: {schema: {type: integer}}, text/plain: {schema: {type: string}}")).problems,
      Lines{"api.yaml:8:76: error: the schema of 'text/plain' differs from that of 'application/json': an operation "
            "can have only one body type (#/paths/~1a/post/requestBody/content/text~1plain)"});
  EXPECT_EQ(read(with_body("application/json: {schema: {type: integer}}, image/png: {}")).problems,
            Lines{"api.yaml:8:7: error: an operation cannot have both a streamed body and a body that is read as a "
                  "whole: make two operations (#/paths/~1a/post/requestBody)"});
  EXPECT_EQ(read(with_body("multipart/form-data: {schema: {type: integer}}")).problems,
            Lines{"api.yaml:8:31: error: the schema of a form has to be an object "
                  "(#/paths/~1a/post/requestBody/content/multipart~1form-data)"});
}

TEST(Operations, ask_for_the_alternatives_of_their_security) {
  EXPECT_EQ(alternatives_of(read(with_security("security: [{token: []}, {key: [], Password: []}], "))),
            "token or password+key");
  EXPECT_EQ(alternatives_of(read(with_security("security: [{oauth: ['a:write', 'a:read']}, {sso: []}], "))),
            "oauth(a:write)(a:read) or sso");
  EXPECT_EQ(alternatives_of(read(with_security("", "security: [{token: []}]\n"))), "token");
  EXPECT_EQ(alternatives_of(read(with_security("security: [{key: []}], ", "security: [{token: []}]\n"))), "key");
  EXPECT_EQ(alternatives_of(read(with_security("security: [], ", "security: [{token: []}]\n"))), "");
  EXPECT_EQ(alternatives_of(read(with_security(""))), "");
}

TEST(Operations, try_the_empty_alternative_of_a_security_last) {
  EXPECT_EQ(alternatives_of(read(with_security("security: [{}, {token: []}], "))), "token or nothing");
  EXPECT_EQ(alternatives_of(read(with_security("security: [{token: []}, {}, {key: []}, {}], "))),
            "token or key or nothing");
  const Read open = read(with_security("security: [{}], "));
  EXPECT_EQ(alternatives_of(open), "");
  EXPECT_EQ(open.contract.schemes.size(), 0u);
}

TEST(Operations, know_the_schemes_that_are_used) {
  const Read made =
      read(with_security("security: [{Password: [], inCookie: [], inQuery: [], key: [], mtls: [], "
                         "token: [], verify: []}], "));

  EXPECT_EQ(made.problems, Lines());
  Lines lines;
  for (const Scheme& one : made.contract.schemes) {
    lines.push_back(one.name + ' ' + one.kind + ' ' + std::string(one.field));
  }
  EXPECT_EQ(lines, (Lines{"password Basic ", "in_cookie CookieKey sid", "in_query QueryKey k", "key HeaderKey X-Key",
                          "mtls Certificate ", "token Bearer ", "verify_2 HeaderKey X-Verify"}));
}

TEST(Operations, reject_schemes_that_cannot_be_checked) {
  EXPECT_EQ(read(with_security("security: [{digest: []}], ")).problems,
            Lines{"api.yaml:17:5: error: the HTTP authentication scheme 'digest' is not supported: expected basic or "
                  "bearer (#/components/securitySchemes/digest)"});
  EXPECT_EQ(read(with_security("security: [{broken: []}], ")).problems,
            Lines{"api.yaml:18:5: error: 'X Key' cannot be the name of a header: it contains characters other than "
                  "letters, digits and !#$%&'*+-.^_`|~ (#/components/securitySchemes/broken)"});
  EXPECT_EQ(read(with_security("security: [{Password: [], inCookie: [], inQuery: [], key: [], mtls: [], token: [], "
                               "verify: [], sso: [], oauth: []}], "))
                .problems,
            Lines{"api.yaml:5:38: error: an alternative in 'security' may have at most 8 schemes, but this one has 9 "
                  "(#/paths/~1a/get/security/0)"});
}

TEST(Operations, stand_below_the_path_of_the_first_server) {
  const auto base = [](const std::string& servers) {
    const Read made = read(head + "servers: " + servers + "\npaths: {}\n");
    EXPECT_EQ(made.problems, Lines()) << servers;
    return made.contract.base;
  };
  EXPECT_EQ(base("[{url: 'https://example.com/v1'}, {url: /v2}]"), "/v1");
  EXPECT_EQ(base("[{url: 'https://example.com'}]"), "");
  EXPECT_EQ(base("[{url: 'https://example.com/'}]"), "");
  EXPECT_EQ(base("[{url: /}]"), "");
  EXPECT_EQ(base("[{url: /a/b/}]"), "/a/b");
  EXPECT_EQ(base("[{url: 'https://{host}.example.com:{port}/{base}', variables: {host: {default: eu}, port: {default: "
                 "'443'}, base: {default: v3}}}]"),
            "/v3");
  EXPECT_EQ(base("[{url: '/{a}/y', variables: {a: {default: '{b}'}, b: {default: x}}}]"), "")
      << "a default is not looked into, and a path with braces is none";
  EXPECT_EQ(base("[{url: v1}]"), "/v1") << "the document is at the root";
  EXPECT_EQ(base("[{url: ./a/b}]"), "/a/b");
  EXPECT_EQ(base("[{url: ../a}]"), "/a");
  EXPECT_EQ(base("[{url: .}]"), "");
  EXPECT_EQ(read(head + "paths: {}\n").contract.base, "");
}

TEST(Operations, ignore_the_path_of_a_server_that_cannot_be_routed) {
  const auto warning = [](const std::string& url) {
    const Read made = read(head + "servers: [{url: '" + url + "'}]\npaths: {}\n");
    EXPECT_EQ(made.problems, Lines()) << url;
    EXPECT_EQ(made.contract.base, "") << url;
    return made.warnings;
  };
  EXPECT_EQ(warning("https://a.example/a b"),
            Lines{"api.yaml:3:11: warning: the path of the server 'https://a.example/a b' is ignored: it has a "
                  "character that must be escaped in a URL (#/servers/0)"});
  EXPECT_EQ(warning("/api/../x"),
            Lines{"api.yaml:3:11: warning: the path of the server '/api/../x' is ignored: clients resolve its dot "
                  "segments before they send it (#/servers/0)"});
  EXPECT_EQ(warning("api.example.com/v1"),
            Lines{"api.yaml:3:11: warning: the server 'api.example.com/v1' has no scheme, so it is a path, and is "
                  "ignored: if it is a host, write https:// (#/servers/0)"});
  EXPECT_EQ(warning("localhost:8080/v1").size(), 1u);
}

TEST(Operations, at_the_paths_of_the_documentation_take_its_place) {
  const auto documentation = [](const std::string& path, const std::string& servers = "[{url: /}]") {
    return read(head + "servers: " + servers + "\npaths:\n  " + path + ":\n    get: {operationId: a, " + fine + "}\n")
        .contract.documentation;
  };
  EXPECT_EQ(documentation("/docs"), ".page_path = \"\"");
  EXPECT_EQ(documentation("/openapi.json"), ".document_path = \"\"");
  EXPECT_EQ(documentation("/docs", "[{url: /v1}]"), "");
  EXPECT_EQ(documentation("/docs/a"), "");
}

TEST(Operations, of_a_tag_are_in_one_file_and_one_handler) {
  const Read made = read(head +
                         "tags: [{name: pets, description: Animals.}]\n"
                         "paths:\n"
                         "  /a:\n"
                         "    get: {operationId: a, tags: [pets, other], " +
                         fine +
                         "}\n"
                         "    put: {operationId: b, tags: [Pets], " +
                         fine +
                         "}\n"
                         "    post: {operationId: c, tags: [types], " +
                         fine +
                         "}\n"
                         "    patch: {operationId: d, " +
                         fine +
                         "}\n"
                         "  /b:\n"
                         "    get: {operationId: e, tags: [pets], " +
                         fine + "}\n");

  EXPECT_EQ(made.problems, Lines());
  Lines lines;
  for (const Tag& tag : made.contract.tags) {
    std::string line = tag.file + ' ' + tag.handler + ' ' + tag.description + ':';
    for (const Operation& one : tag.operations) line += ' ' + one.name;
    lines.push_back(line);
  }
  EXPECT_EQ(lines, (Lines{"operations OperationsHandler : d", "pets PetsHandler : b",
                          "pets_ PetsHandler2 Animals.: a e", "types_ TypesHandler : c"}));
}

}  // namespace
}  // namespace keel::gen::operations_test
