#include "openapi/lint.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "openapi/testing.h"

namespace keel::openapi::lint_content_test {
namespace {

using namespace keel::openapi::testing;

TEST(LintContent, a_parameter_of_the_path_is_required) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets/{id}:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      parameters: [{name: id, in: path, schema: {type: string}}]\n"
                    "      responses: {'200': {description: fine}}\n"),
            (Lines{"api.yaml:7:20: error: the path parameter 'id' needs required: true, because a path always has it "
                   "(#/paths/~1pets~1{id}/get/parameters/0)"}));
}

TEST(LintContent, what_has_no_effect_is_a_warning) {
  const std::string head = "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\npaths:\n  /a:\n    post:\n";
  EXPECT_EQ(
      lint_of(head + "      operationId: a\n"
                     "      parameters: [{name: a, in: query, allowEmptyValue: true, schema: {type: string}}, {name: "
                     "b, in: query, allowEmptyValue: false, schema: {type: string}}]\n"
                     "      responses:\n"
                     "        '101': {description: switched}\n"
                     "        1XX: {description: on the way}\n"
                     "        '204': {description: fine}\n"),
      (Lines{"api.yaml:7:41: warning: 'allowEmptyValue' has no effect: an empty value is read as an empty string, "
             "which is an error if the schema does not allow one (#/paths/~1a/post/parameters/0/allowEmptyValue)",
             "api.yaml:9:9: warning: no code is generated for the response '101': a handler sends only final "
             "responses, with a status from 200 to 599 (#/paths/~1a/post/responses/101)",
             "api.yaml:10:9: warning: no code is generated for the response '1XX': a handler sends only final "
             "responses, with a status from 200 to 599 (#/paths/~1a/post/responses/1XX)"}));
}

TEST(LintContent, an_encoding_of_a_form_that_has_no_effect_is_a_warning) {
  const std::string properties =
      "{schema: {type: object, properties: {text: {type: string}, list: {type: array, items: {type: string}}, "
      "object: {type: object}, file: {type: string, format: binary}}}, encoding: ";
  const auto said = [&](const std::string& media_type, const std::string& encoding) {
    return lint_of(
        "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\npaths:\n  /a:\n    post:\n      operationId: a\n"
        "      responses: {'204': {description: fine}}\n      requestBody:\n        content:\n          " +
        media_type + ":\n            " + properties + encoding + "}\n");
  };
  const std::string form = "application/x-www-form-urlencoded";
  const std::string how = " has no effect: in a form an array is one field for each element, and an object is JSON ";
  const std::string at = "(#/paths/~1a/post/requestBody/content/";
  EXPECT_EQ(said(form,
                 "{list: {style: form, explode: true}, text: {style: form}, object: {contentType: "
                 "application/json}}"),
            Lines());
  EXPECT_EQ(
      said("multipart/form-data", "{file: {contentType: application/octet-stream}, text: {contentType: text/plain}}"),
      Lines());
  EXPECT_EQ(said(form, "{list: {style: deepObject, explode: true}}"),
            Lines{"api.yaml:11:198: warning: the style \"deepObject\" of 'list'" + how + at +
                  "application~1x-www-form-urlencoded/encoding/list/style)"});
  EXPECT_EQ(said(form, "{list: {explode: false}}"), Lines{"api.yaml:11:198: warning: 'explode' of 'list'" + how + at +
                                                          "application~1x-www-form-urlencoded/encoding/list/explode)"});
  EXPECT_EQ(said(form, "{object: {style: deepObject}}"),
            Lines{"api.yaml:11:200: warning: the style \"deepObject\" of 'object'" + how + at +
                  "application~1x-www-form-urlencoded/encoding/object/style)"});
  const std::string multipart = "multipart/form-data";
  EXPECT_EQ(said(multipart, "{file: {contentType: 'image/png, image/*'}, object: {contentType: application/a+json}}"),
            Lines());
  EXPECT_EQ(said(multipart, "{file: {headers: {X-A: {schema: {type: string}}}}}"),
            Lines{"api.yaml:11:198: warning: 'headers' of 'file' has no effect: the headers of the parts of a form are "
                  "neither read nor sent " +
                  at + "multipart~1form-data/encoding/file/headers)"});
  const auto type = [&](const std::string& media_type, const std::string& property, const std::string& types,
                        const std::string& why) {
    const std::string key = media_type == form ? "application~1x-www-form-urlencoded" : "multipart~1form-data";
    EXPECT_EQ(said(media_type, '{' + property + ": {contentType: '" + types + "'}}"),
              Lines{"api.yaml:11:" + std::to_string(192 + property.size() + 2) + ": warning: the contentType \"" +
                    types + "\" of '" + property + "' has no effect: " + why + ' ' + at + key + "/encoding/" +
                    property + "/contentType)"});
  };
  type(form, "text", "text/csv", "the fields of this form have no types");
  type(multipart, "object", "application/xml", "an object is always JSON");
  type(multipart, "file", "image", "expected media types such as image/png, image/*");
}

TEST(LintContent, a_parameter_has_a_schema_or_a_content) {
  EXPECT_EQ(
      lint_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      operationId: list\n"
              "      parameters: [{name: a, in: query}, {name: b, in: query, schema: {}, content: {application/json: "
              "{}}}, {name: c, in: query, content: {}}]\n"
              "      responses: {'200': {description: fine}}\n"),
      (Lines{
          "api.yaml:7:20: error: a parameter needs 'schema' or 'content' (#/paths/~1pets/get/parameters/0)",
          "api.yaml:7:42: error: a parameter needs 'schema' or 'content', not both (#/paths/~1pets/get/parameters/1)",
          "api.yaml:7:130: error: 'content' of a parameter has 0 media types: expected one "
          "(#/paths/~1pets/get/parameters/2/content)"}));
}

TEST(LintContent, a_parameter_has_a_place_and_a_style_of_it) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      parameters: [{name: a, in: body, schema: {}}, {name: b, in: query, style: simple, schema: "
                    "{}}, {name: c, in: header, style: form, schema: {}}]\n"
                    "      responses: {'200': {description: fine}}\n"),
            (Lines{"api.yaml:7:30: error: 'in' is \"body\": expected path, query, header or cookie "
                   "(#/paths/~1pets/get/parameters/0/in)",
                   "api.yaml:7:74: error: the style \"simple\" does not exist in a query: expected form, "
                   "spaceDelimited, pipeDelimited, deepObject (#/paths/~1pets/get/parameters/1/style)",
                   "api.yaml:7:124: error: the style \"form\" does not exist in a header: expected simple "
                   "(#/paths/~1pets/get/parameters/2/style)"}));
}

TEST(LintContent, headers_that_something_else_describes_are_a_warning) {
  EXPECT_EQ(
      lint_of(
          "openapi: 3.1.0\n"
          "info: {title: Shop, version: '1'}\n"
          "paths:\n"
          "  /pets:\n"
          "    get:\n"
          "      operationId: list\n"
          "      parameters: [{name: Authorization, in: header, schema: {}}, {name: 'a b', in: header, schema: {}}]\n"
          "      responses: {'200': {description: fine, headers: {Content-Type: {schema: {}}, 'a:': {schema: {}}}}}\n"),
      (Lines{"api.yaml:7:20: warning: the header parameter 'Authorization' is ignored: security schemes describe it "
             "(#/paths/~1pets/get/parameters/0)",
             "api.yaml:7:68: error: 'a b' is not the name of a header (#/paths/~1pets/get/parameters/1/name)",
             "api.yaml:8:56: warning: the header 'Content-Type' is ignored: the media types of the content describe it "
             "(#/paths/~1pets/get/responses/200/headers/Content-Type)",
             "api.yaml:8:84: error: 'a:' is not the name of a header (#/paths/~1pets/get/responses/200/headers/a:)"}));
}

TEST(LintContent, headers_that_clients_write_are_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      parameters: [{name: HOST, in: header, required: true, schema: {}}, {name: Host, in: query, "
                    "schema: {}}]\n"
                    "      responses: {'200': {description: fine}}\n"),
            Lines{"api.yaml:7:20: warning: the header parameter 'HOST' is ignored: clients write it themselves "
                  "(#/paths/~1pets/get/parameters/0)"});
}

TEST(LintContent, headers_that_the_server_writes_are_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      responses: {'200': {description: fine, headers: {content-length: {$ref: "
                    "'#/components/headers/Size'}, ETag: {$ref: '#/components/headers/Size'}}}}\n"
                    "components: {headers: {Size: {schema: {type: integer}}}}\n"),
            Lines{"api.yaml:7:56: warning: the header 'content-length' is ignored: the server itself writes it "
                  "(#/paths/~1pets/get/responses/200/headers/content-length)"});
}

TEST(LintContent, a_media_type_is_one) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      responses: {'200': {description: fine, content: {json: {}, 'text/plain; charset=utf-8': {}, "
                    "'image/*': {}}}}\n"),
            (Lines{"api.yaml:7:56: error: 'json' is not a media type: expected one such as application/json "
                   "(#/paths/~1pets/get/responses/200/content/json)"}));
}

TEST(LintContent, an_object_in_xml_alone_is_an_error) {
  EXPECT_EQ(
      lint_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      operationId: list\n"
              "      responses: {'200': {description: fine, content: {application/xml: {schema: {type: object}}}}}\n"),
      (Lines{"api.yaml:7:56: error: an object or array in application/xml is not supported: only JSON, forms and "
             "multipart are supported; give it type: string, or no schema "
             "(#/paths/~1pets/get/responses/200/content/application~1xml)"}));
}

TEST(LintContent, an_object_in_xml_beside_json_is_a_warning) {
  EXPECT_EQ(
      lint_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      operationId: list\n"
              "      responses: {'200': {description: fine, content: {application/xml: {schema: {type: object}}, "
              "application/json: {schema: {type: object}}}}}\n"),
      (Lines{"api.yaml:7:56: warning: an object or array in application/xml is not supported: only JSON, forms and "
             "multipart are supported; this content also has a supported type "
             "(#/paths/~1pets/get/responses/200/content/application~1xml)"}));
}

TEST(LintContent, a_schema_of_what_is_read_as_bytes_is_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      responses: {'200': {description: fine, content: {'*/*': {schema: {$ref: "
                    "'#/components/schemas/Pet'}}, multipart/mixed: {schema: {type: object}}, 'image/*': {}}}}\n"
                    "components: {schemas: {Pet: {type: object}}}\n"),
            (Lines{"api.yaml:7:109: warning: the schema of 'multipart/mixed' has no effect: its content is bytes "
                   "(#/paths/~1pets/get/responses/200/content/multipart~1mixed)"}));
}

TEST(LintContent, a_response_without_a_body_has_no_content) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      responses: {'204': {description: fine, content: {application/json: {}}}}\n"),
            (Lines{"api.yaml:7:46: warning: 'content' is ignored: a response of status 204 has no body "
                   "(#/paths/~1pets/get/responses/204/content)"}));
}

TEST(LintContent, an_example_in_json_is_compared_with_its_schema) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      responses: {'200': {description: fine, content: {application/json: {schema: {type: "
                    "integer}, examples: {a: {value: b}, c: {value: 1, externalValue: d}}}}}}\n"),
            (Lines{"api.yaml:7:115: warning: the example does not fit its schema: \"b\": expected an integer "
                   "(#/paths/~1pets/get/responses/200/content/application~1json/examples/a/value)",
                   "api.yaml:7:140: error: 'value' and 'externalValue' exclude each other "
                   "(#/paths/~1pets/get/responses/200/content/application~1json/examples/c/externalValue)"}));
}

TEST(LintContent, example_and_examples_exclude_each_other) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      parameters: [{name: q, in: query, schema: {}, example: 1, examples: {}}]\n"
                    "      responses: {'200': {description: fine}}\n"),
            (Lines{"api.yaml:7:65: error: 'example' and 'examples' exclude each other "
                   "(#/paths/~1pets/get/parameters/0/examples)"}));
}

}  // namespace
}  // namespace keel::openapi::lint_content_test
