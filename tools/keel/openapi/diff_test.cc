#include "openapi/diff.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "openapi/testing.h"

namespace keel::openapi::diff_test {
namespace {

using namespace keel::openapi::testing;

std::string bodies(const std::string& both) {
  return "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\npaths:\n  /pets:\n    post:\n      requestBody:\n"
         "        content: {application/json: {schema: " +
         both + "}}\n      responses: {'200': {description: fine}}\n";
}

TEST(Diff, documents_that_cannot_be_read_are_not_compared) {
  EXPECT_EQ(diff_of("openapi: 3.1.0\npaths: {/a: {$ref: '#/b'}}\n", "openapi: 3.1.0\n"),
            (Lines{"old.yaml:2:14: error: '#/b' leads nowhere: 'b' is not in # (#/paths/~1a/$ref)"}));
}

TEST(Diff, the_same_in_other_files_is_no_change) {
  const std::string head = "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\n";
  const Files files = {{"old.yaml", head + "paths: {/a: {$ref: 'a.yaml'}}\n"},
                       {"a.yaml", "get: {responses: {'200': {$ref: 'old.yaml#/x-r'}}}\n"},
                       {"new.yaml", head + "paths: {/a: {get: {responses: {'200': {description: fine}}}}}\n"}};
  Files all = files;
  all["old.yaml"] += "x-r: {description: fine}\n";
  Problems problems;
  const auto before = Document::load("old.yaml", reader_of(all), problems);
  const auto after = Document::load("new.yaml", reader_of(all), problems);
  ASSERT_TRUE(before != nullptr && after != nullptr && problems.errors() == 0) << described(problems)[0];
  EXPECT_TRUE(diff(*before, *after).empty());
}

TEST(Diff, the_same_document_has_no_changes) {
  EXPECT_EQ(diff_of(bodies("{type: string}"), bodies("{type: string}")), (Lines{}));
}

TEST(Diff, an_operation_that_is_gone_breaks_and_a_new_one_does_not) {
  EXPECT_EQ(
      diff_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets: {get: {responses: {default: {description: a}}}}\n",
              "openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets: {put: {responses: {default: {description: a}}}}\n"),
      (Lines{"new.yaml:4:3: breaking: GET /pets is gone (#/paths/~1pets), before old.yaml:4:11 [operation-removed]",
             "new.yaml:4:11: non-breaking: PUT /pets is new (#/paths/~1pets/put) [operation-added]"}));
}

TEST(Diff, a_path_that_is_gone_breaks) {
  EXPECT_EQ(
      diff_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets: {get: {deprecated: true, responses: {default: {description: a}}}}\n",
              "openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths: {}\n"),
      (Lines{
          "old.yaml:4:11: breaking: GET /pets is gone; it was deprecated (#/paths/~1pets/get) [operation-removed]"}));
}

TEST(Diff, the_name_of_a_parameter_of_the_path_does_not_matter) {
  EXPECT_EQ(
      diff_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets/{id}: {get: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], "
              "responses: {default: {description: a}}}}\n",
              "openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets/{pet}: {get: {parameters: [{name: pet, in: path, required: true, schema: {type: integer}}], "
              "responses: {default: {description: a}}}}\n"),
      (Lines{"new.yaml:4:83: breaking: in requests, the type was string and is integer now "
             "(#/paths/~1pets~1{pet}/get/parameters/0/schema/type), before old.yaml:4:81 [request-type-narrowed]"}));
}

TEST(Diff, a_new_parameter_breaks_when_it_is_required) {
  EXPECT_EQ(
      diff_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      responses: {'200': {description: fine}}\n",
              "openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      parameters: [{name: a, in: query, required: true, schema: {}}, {name: b, in: query, schema: {}}]\n"
              "      responses: {'200': {description: fine}}\n"),
      (Lines{"new.yaml:6:20: breaking: there is a new required query parameter 'a' (#/paths/~1pets/get/parameters/0), "
             "before old.yaml:5:5 [request-required-parameter-added]",
             "new.yaml:6:70: non-breaking: there is a new optional query parameter 'b' "
             "(#/paths/~1pets/get/parameters/1), before old.yaml:5:5 [request-optional-parameter-added]"}));
}

TEST(Diff, a_parameter_that_is_gone_is_unclassified) {
  EXPECT_EQ(diff_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      parameters: [{name: a, in: query, schema: {}}]\n"
                    "      responses: {'200': {description: fine}}\n",
                    "openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      responses: {'200': {description: fine}}\n"),
            (Lines{"new.yaml:5:5: unclassified: the query parameter 'a' is gone (#/paths/~1pets/get), before "
                   "old.yaml:6:20 [request-parameter-removed]"}));
}

TEST(Diff, a_parameter_that_becomes_required_breaks) {
  EXPECT_EQ(
      diff_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      parameters: [{name: a, in: query, schema: {}}, {name: b, in: query, required: true, schema: {}}]\n"
              "      responses: {'200': {description: fine}}\n",
              "openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      parameters: [{name: a, in: query, required: true, schema: {}}, {name: b, in: query, schema: {}}]\n"
              "      responses: {'200': {description: fine}}\n"),
      (Lines{"new.yaml:6:41: breaking: the query parameter 'a' is required now "
             "(#/paths/~1pets/get/parameters/0/required), before old.yaml:6:20 [request-parameter-became-required]",
             "new.yaml:6:70: non-breaking: the query parameter 'b' is optional now (#/paths/~1pets/get/parameters/1), "
             "before old.yaml:6:75 [request-parameter-became-optional]"}));
}

TEST(Diff, another_way_to_write_a_parameter_breaks) {
  EXPECT_EQ(diff_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      parameters: [{name: a, in: query, schema: {}}, {name: b, in: query, schema: {}}, {name: c, "
                    "in: query, schema: {}}]\n"
                    "      responses: {'200': {description: fine}}\n",
                    "openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      parameters: [{name: a, in: query, style: pipeDelimited, schema: {}}, {name: b, in: query, "
                    "explode: false, schema: {}}, {name: c, in: query, content: {application/json: {}}}]\n"
                    "      responses: {'200': {description: fine}}\n"),
            (Lines{"new.yaml:6:41: breaking: the query parameter 'a' had the style form and has pipeDelimited now "
                   "(#/paths/~1pets/get/parameters/0/style), before old.yaml:6:20 [parameter-style-changed]",
                   "new.yaml:6:97: breaking: the query parameter 'b' is no longer exploded "
                   "(#/paths/~1pets/get/parameters/1/explode), before old.yaml:6:54 [parameter-explode-changed]",
                   "new.yaml:6:147: breaking: the query parameter 'c' has content instead of a schema now "
                   "(#/paths/~1pets/get/parameters/2/content), before old.yaml:6:88 [parameter-content-changed]"}));
}

TEST(Diff, the_name_of_a_header_has_no_case) {
  EXPECT_EQ(diff_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      parameters: [{name: X-A, in: header, schema: {}}]\n"
                    "      responses: {'200': {description: fine}}\n",
                    "openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      parameters: [{name: x-a, in: header, schema: {}}]\n"
                    "      responses: {'200': {description: fine}}\n"),
            (Lines{}));
}

TEST(Diff, a_default_that_changes_is_unclassified) {
  EXPECT_EQ(
      diff_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      parameters: [{name: a, in: query, schema: {type: integer, default: 10}}]\n"
              "      responses: {'200': {description: fine}}\n",
              "openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      parameters: [{name: a, in: query, schema: {type: integer, default: 20}}]\n"
              "      responses: {'200': {description: fine}}\n"),
      (Lines{"new.yaml:6:65: unclassified: in requests, the default was 10 and is 20 now "
             "(#/paths/~1pets/get/parameters/0/schema/default), before old.yaml:6:65 [request-default-changed]"}));
}

TEST(Diff, a_body_that_is_needed_now_breaks) {
  EXPECT_EQ(diff_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      responses: {'200': {description: fine}}\n",
                    "openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      requestBody: {required: true, content: {application/json: {}}}\n"
                    "      responses: {'200': {description: fine}}\n"),
            (Lines{"new.yaml:6:7: breaking: the operation needs a body now (#/paths/~1pets/get/requestBody), before "
                   "old.yaml:5:5 [request-required-body-added]"}));
}

TEST(Diff, a_body_that_becomes_required_breaks) {
  EXPECT_EQ(diff_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      requestBody: {content: {application/json: {}}}\n"
                    "      responses: {'200': {description: fine}}\n",
                    "openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      requestBody: {required: true, content: {application/json: {}}}\n"
                    "      responses: {'200': {description: fine}}\n"),
            (Lines{"new.yaml:6:21: breaking: the body is required now (#/paths/~1pets/get/requestBody/required), "
                   "before old.yaml:6:7 [request-body-became-required]"}));
}

TEST(Diff, a_body_that_is_gone_breaks) {
  EXPECT_EQ(diff_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      requestBody: {content: {application/json: {}}}\n"
                    "      responses: {'200': {description: fine}}\n",
                    "openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      responses: {'200': {description: fine}}\n"),
            (Lines{"new.yaml:5:5: breaking: the operation no longer takes a body (#/paths/~1pets/get), before "
                   "old.yaml:6:7 [request-body-removed]"}));
}

TEST(Diff, a_media_type_that_is_gone_breaks) {
  EXPECT_EQ(
      diff_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      requestBody: {content: {application/json: {}, text/plain: {}}}\n"
              "      responses: {'200': {description: fine}}\n",
              "openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      requestBody: {content: {Application/JSON: {}, text/csv: {}}}\n"
              "      responses: {'200': {description: fine}}\n"),
      (Lines{"new.yaml:6:21: breaking: the media type 'text/plain' is gone (#/paths/~1pets/get/requestBody/content), "
             "before old.yaml:6:53 [request-media-type-removed]",
             "new.yaml:6:53: non-breaking: there is a new media type 'text/csv' "
             "(#/paths/~1pets/get/requestBody/content/text~1csv), before old.yaml:6:21 [request-media-type-added]"}));
}

TEST(Diff, a_response_of_success_that_is_gone_breaks) {
  EXPECT_EQ(diff_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets: {get: {responses: {'200': {description: a}, '404': {description: b}}}}\n",
                    "openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets: {get: {responses: {'201': {description: a}, '409': {description: b}}}}\n"),
            (Lines{"new.yaml:4:17: breaking: there is no response 200 any more (#/paths/~1pets/get/responses), before "
                   "old.yaml:4:29 [response-status-removed]",
                   "new.yaml:4:29: unclassified: there is a new response 201 (#/paths/~1pets/get/responses/201), "
                   "before old.yaml:4:17 [response-status-added]",
                   "new.yaml:4:17: non-breaking: there is no response 404 any more (#/paths/~1pets/get/responses), "
                   "before old.yaml:4:54 [response-status-removed]",
                   "new.yaml:4:54: non-breaking: there is a new response 409 (#/paths/~1pets/get/responses/409), "
                   "before old.yaml:4:17 [response-status-added]"}));
}

TEST(Diff, a_header_of_a_response_that_may_be_missed_breaks) {
  EXPECT_EQ(
      diff_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets: {get: {responses: {'200': {description: a, headers: {A: {required: true, schema: {}}, B: "
              "{schema: {}}, C: {required: true, schema: {}}}}}}}\n",
              "openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets: {get: {responses: {'200': {description: a, headers: {c: {schema: {}}, D: {schema: {}}}}}}}\n"),
      (Lines{"new.yaml:4:53: breaking: the header 'a' is gone (#/paths/~1pets/get/responses/200/headers), before "
             "old.yaml:4:63 [response-header-removed]",
             "new.yaml:4:63: breaking: the header 'c' is optional now (#/paths/~1pets/get/responses/200/headers/c), "
             "before old.yaml:4:113 [response-header-became-optional]",
             "new.yaml:4:53: unclassified: the header 'b' is gone (#/paths/~1pets/get/responses/200/headers), before "
             "old.yaml:4:96 [response-header-removed]",
             "new.yaml:4:80: non-breaking: there is a new header 'd' (#/paths/~1pets/get/responses/200/headers/D), "
             "before old.yaml:4:53 [response-header-added]"}));
}

TEST(Diff, more_authorization_breaks_and_another_way_does_not) {
  EXPECT_EQ(
      diff_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      security: [{a: []}]\n"
              "      responses: {'200': {description: fine}}\n"
              "components: {securitySchemes: {a: {type: http, scheme: basic}, b: {type: http, scheme: bearer}}}\n",
              "openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      security: [{a: [], b: []}]\n"
              "      responses: {'200': {description: fine}}\n"
              "components: {securitySchemes: {a: {type: http, scheme: basic}, b: {type: http, scheme: bearer}}}\n"),
      (Lines{"new.yaml:6:7: breaking: the previous authorization of a request is no longer enough "
             "(#/paths/~1pets/get/security), "
             "before old.yaml:6:7 [security-narrowed]"}));
}

TEST(Diff, another_way_to_be_authorized_does_not_break) {
  EXPECT_EQ(
      diff_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      security: [{a: []}]\n"
              "      responses: {'200': {description: fine}}\n"
              "components: {securitySchemes: {a: {type: http, scheme: basic}, b: {type: http, scheme: bearer}}}\n",
              "openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      security: [{a: []}, {b: []}]\n"
              "      responses: {'200': {description: fine}}\n"
              "components: {securitySchemes: {a: {type: http, scheme: Basic}, b: {type: http, scheme: bearer}}}\n"),
      (Lines{"new.yaml:6:7: non-breaking: a request needs less authorization, or can also be authorized in another way "
             "(#/paths/~1pets/get/security), before old.yaml:6:7 [security-widened]"}));
}

TEST(Diff, a_security_scheme_that_changes_breaks) {
  EXPECT_EQ(diff_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      responses: {'200': {description: fine}}\n"
                    "components: {securitySchemes: {a: {type: apiKey, in: query, name: k}}}\n",
                    "openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      responses: {'200': {description: fine}}\n"
                    "components: {securitySchemes: {a: {type: apiKey, in: header, name: k}}}\n"),
            (Lines{"new.yaml:7:50: breaking: the security scheme 'a' has another 'in' "
                   "(#/components/securitySchemes/a/in), before old.yaml:7:50 [security-scheme-changed]"}));
}

TEST(Diff, authorization_that_is_new_breaks) {
  EXPECT_EQ(diff_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      responses: {'200': {description: fine}}\n"
                    "components: {securitySchemes: {a: {type: http, scheme: basic}}}\n",
                    "openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      responses: {'200': {description: fine}}\n"
                    "security: [{a: []}]\n"
                    "components: {securitySchemes: {a: {type: http, scheme: basic}}}\n"),
            (Lines{"new.yaml:5:5: breaking: the previous authorization of a request is no longer enough "
                   "(#/paths/~1pets/get), before "
                   "old.yaml:5:5 [security-narrowed]"}));
}

TEST(Diff, names_of_operations_and_servers_are_unclassified) {
  EXPECT_EQ(diff_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "servers: [{url: /v1}]\n"
                    "paths:\n"
                    "  /pets: {get: {operationId: a, responses: {default: {description: a}}}}\n",
                    "openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "servers: [{url: /v2}]\n"
                    "paths:\n"
                    "  /pets: {get: {operationId: b, deprecated: true, responses: {default: {description: a}}}}\n"),
            (Lines{"new.yaml:5:17: unclassified: the operationId was 'a' and is 'b' now "
                   "(#/paths/~1pets/get/operationId), before old.yaml:5:17 [operation-id-changed]",
                   "old.yaml:3:12: unclassified: the server '/v1' is gone (#/servers/0/url) [server-removed]",
                   "new.yaml:3:12: non-breaking: there is a new server '/v2' (#/servers/0/url) [server-added]",
                   "new.yaml:5:33: non-breaking: the operation is deprecated now (#/paths/~1pets/get/deprecated), "
                   "before old.yaml:5:11 [operation-deprecated]"}));
}

std::string with_parameter(const std::string& type, const std::string& header_type) {
  return "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\npaths:\n  /pets:\n    get:\n"
         "      parameters: [{name: a, in: query, schema: {type: " +
         type + "}}]\n      responses: {'200': {description: a, headers: {X-A: {schema: {type: " + header_type +
         "}}}}}\n";
}

TEST(Diff, every_number_in_a_parameter_or_a_header_is_text_as_well) {
  EXPECT_EQ(diff_of(with_parameter("integer", "string"), with_parameter("string", "integer")),
            (Lines{"new.yaml:6:50: non-breaking: in requests, the type was integer and is string now "
                   "(#/paths/~1pets/get/parameters/0/schema/type), before old.yaml:6:50 [request-type-widened]",
                   "new.yaml:7:68: non-breaking: in responses, the type was string and is integer now "
                   "(#/paths/~1pets/get/responses/200/headers/X-A/schema/type), before old.yaml:7:68 "
                   "[response-type-narrowed]"}));
  EXPECT_EQ(diff_of(with_parameter("string", "integer"), with_parameter("boolean", "string")),
            (Lines{"new.yaml:6:50: breaking: in requests, the type was string and is boolean now "
                   "(#/paths/~1pets/get/parameters/0/schema/type), before old.yaml:6:50 [request-type-narrowed]",
                   "new.yaml:7:68: breaking: in responses, the type was integer and is string now "
                   "(#/paths/~1pets/get/responses/200/headers/X-A/schema/type), before old.yaml:7:68 "
                   "[response-type-widened]"}));
}

std::string with_webhook(const std::string& name, const std::string& body, const std::string& response) {
  return "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\nwebhooks:\n  " + name +
         ":\n    post:\n      requestBody: {content: {application/json: {schema: " + body +
         "}}}\n      responses: {'200': {description: a, content: {application/json: {schema: " + response + "}}}}\n";
}

TEST(Diff, a_webhook_that_is_gone_breaks_and_a_new_one_does_not) {
  EXPECT_EQ(diff_of(with_webhook("low", "{}", "{}"), with_webhook("out", "{}", "{}")),
            (Lines{"old.yaml:5:5: breaking: the webhook 'low' is gone (#/webhooks/low/post) [webhook-removed]",
                   "new.yaml:4:3: non-breaking: there is a new webhook 'out' (#/webhooks/out), before old.yaml:3:1 "
                   "[webhook-added]"}));
}

TEST(Diff, the_request_of_a_webhook_is_received_and_its_response_sent) {
  EXPECT_EQ(
      diff_of(with_webhook("low", "{maximum: 5}", "{maximum: 5}"), with_webhook("low", "{maximum: 6}", "{maximum: 6}")),
      (Lines{"new.yaml:6:59: breaking: in requests of a webhook, maximum was 5 and is 6 now "
             "(#/webhooks/low/post/requestBody/content/application~1json/schema/maximum), before old.yaml:6:59 "
             "[webhook-request-maximum-increased]",
             "new.yaml:7:81: non-breaking: in responses to a webhook, maximum was 5 and is 6 now "
             "(#/webhooks/low/post/responses/200/content/application~1json/schema/maximum), before "
             "old.yaml:7:81 [webhook-response-maximum-increased]"}));
}

}  // namespace
}  // namespace keel::openapi::diff_test
