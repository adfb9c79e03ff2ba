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
            (Lines{"api.yaml:7:20: error: the path parameter 'id' needs required: true: a path always has it "
                   "(#/paths/~1pets~1{id}/get/parameters/0)"}));
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
      (Lines{"api.yaml:7:56: error: an object or array in application/xml is not supported: JSON, forms and multipart "
             "are; give it type: string, or no schema (#/paths/~1pets/get/responses/200/content/application~1xml)"}));
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
      (Lines{
          "api.yaml:7:56: warning: an object or array in application/xml is not supported: JSON, forms and multipart "
          "are, and this content has one of them (#/paths/~1pets/get/responses/200/content/application~1xml)"}));
}

TEST(LintContent, a_response_without_a_body_has_no_content) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      responses: {'204': {description: fine, content: {application/json: {}}}}\n"),
            (Lines{"api.yaml:7:46: error: a response of status 204 has no body, and this one has 'content' "
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
