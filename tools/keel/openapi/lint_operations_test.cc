#include "openapi/lint.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "openapi/testing.h"

namespace keel::openapi::lint_operations_test {
namespace {

using namespace keel::openapi::testing;

TEST(LintOperations, an_operationId_is_taken_once) {
  EXPECT_EQ(
      lint_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    get:\n"
              "      operationId: list\n"
              "      responses: {'200': {description: fine}}\n"
              "    post:\n"
              "      operationId: list\n"
              "      responses: {'200': {description: fine}}\n"),
      (Lines{"api.yaml:9:7: error: the operationId 'list' is taken: api.yaml:6:7 (#/paths/~1pets/post/operationId)"}));
}

TEST(LintOperations, servers_of_a_path_or_an_operation_are_a_warning) {
  const std::string text =
      "openapi: 3.1.0\n"
      "info: {title: Shop, version: '1'}\n"
      "servers: [{url: 'https://example.com/v1'}]\n"
      "paths:\n"
      "  /pets:\n"
      "    servers: [{url: 'https://example.com/v1'}]\n"
      "    get: {operationId: a, servers: [{url: 'https://uploads.example.com'}], responses: {'200': {description: "
      "x}}}\n"
      "  /toys:\n"
      "    servers: [{url: /v2}]\n"
      "    get: {operationId: b, responses: {'200': {description: x}}}\n";
  const std::string effect =
      " has no effect: routes begin with the path of the document's first server, and a client sends requests to its "
      "base_url ";
  EXPECT_EQ(lint_of(text),
            (Lines{"api.yaml:7:27: warning: 'servers' of an operation" + effect + "(#/paths/~1pets/get/servers)",
                   "api.yaml:9:5: warning: 'servers' of a path" + effect + "(#/paths/~1toys/servers)"}));
}

TEST(LintOperations, a_parameter_of_the_path_that_is_not_declared_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets/{id}:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      responses: {'200': {description: fine}}\n"),
            (Lines{"api.yaml:5:5: error: the parameter 'id' of the path '/pets/{id}' is not declared: expected one "
                   "with in: path (#/paths/~1pets~1{id}/get)"}));
}

TEST(LintOperations, a_declared_parameter_that_is_not_in_the_path_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets/{id}:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      parameters: [{name: ids, in: path, required: true, schema: {type: string}}, {name: id, in: "
                    "path, required: true, schema: {type: string}}]\n"
                    "      responses: {'200': {description: fine}}\n"),
            (Lines{"api.yaml:7:20: error: the path parameter 'ids' is not in the path '/pets/{id}'; did you mean 'id'? "
                   "(#/paths/~1pets~1{id}/get/parameters/0)"}));
}

TEST(LintOperations, paths_that_match_the_same_requests_are_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets/{id}:\n"
                    "    parameters: [{name: id, in: path, required: true, schema: {type: string}}]\n"
                    "    get: {operationId: a, responses: {'200': {description: fine}}}\n"
                    "  /pets/{name}:\n"
                    "    parameters: [{name: name, in: path, required: true, schema: {type: string}}]\n"
                    "    get: {operationId: b, responses: {'200': {description: fine}}}\n"
                    "  /pets/mine: {}\n"),
            (Lines{"api.yaml:7:3: error: the path '/pets/{name}' matches the same requests as '/pets/{id}' in line 4 "
                   "(#/paths/~1pets~1{name})"}));
}

TEST(LintOperations, paths_that_match_the_same_requests_with_other_methods_are_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets/{id}:\n"
                    "    parameters: [{name: id, in: path, required: true, schema: {type: string}}]\n"
                    "    get: {operationId: a, responses: {'200': {description: fine}}}\n"
                    "  /pets/{name}:\n"
                    "    parameters: [{name: name, in: path, required: true, schema: {type: string}}]\n"
                    "    put: {operationId: b, responses: {'200': {description: fine}}}\n"),
            (Lines{"api.yaml:7:3: warning: the path '/pets/{name}' matches the same requests as '/pets/{id}' in line "
                   "4, which has other methods: combine them under one path (#/paths/~1pets~1{name})"}));
}

TEST(LintOperations, paths_with_text_around_a_parameter_overlap_where_some_text_matches_both) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /v{n}/{id}: {}\n"
                    "  /{version}/{id}.json: {}\n"
                    "  /{version}/{id}.xml: {}\n"
                    "  /x{n}/{id}.html: {}\n"
                    "  /x{n}/page.html: {}\n"),
            (Lines{"api.yaml:5:3: warning: some paths match '/{version}/{id}.json' and '/v{n}/{id}' in line 4: "
                   "precedence is given to the path that has text where the other path has a parameter "
                   "(#/paths/~1{version}~1{id}.json)",
                   "api.yaml:6:3: warning: some paths match '/{version}/{id}.xml' and '/v{n}/{id}' in line 4: "
                   "precedence is given to the path that has text where the other path has a parameter "
                   "(#/paths/~1{version}~1{id}.xml)"}));
}

TEST(LintOperations, paths_that_overlap_are_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /{kind}/mine: {}\n"
                    "  /pets/{id}: {}\n"),
            (Lines{"api.yaml:5:3: warning: some paths match '/pets/{id}' and '/{kind}/mine' in line 4: precedence "
                   "is given to the path that has text where the other path has a parameter (#/paths/~1pets~1{id})"}));
}

TEST(LintOperations, a_path_that_cannot_be_routed_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets/{id}-{name}: {}\n"
                    "  /pets/{id: {}\n"
                    "  /pets/}: {}\n"
                    "  /pets/{}: {}\n"
                    "  /{a}/{a}: {}\n"
                    "  /pets?x=1: {}\n"
                    "  pets: {}\n"),
            (Lines{"api.yaml:4:3: error: the path '/pets/{id}-{name}' cannot be routed: a segment has at most one "
                   "parameter, and the segment of 'id' has more (#/paths/~1pets~1{id}-{name})",
                   "api.yaml:5:3: error: the path '/pets/{id' has a '{' without a '}' (#/paths/~1pets~1{id)",
                   "api.yaml:6:3: error: the path '/pets/}' has a '}' without a '{' (#/paths/~1pets~1})",
                   "api.yaml:7:3: error: the path '/pets/{}' has a parameter without a name (#/paths/~1pets~1{})",
                   "api.yaml:8:3: error: the path '/{a}/{a}' has the parameter 'a' twice (#/paths/~1{a}~1{a})",
                   "api.yaml:9:3: error: the path '/pets?x=1' has a '?' or '#': parameters of the query are declared "
                   "with in: query (#/paths/~1pets?x=1)",
                   "api.yaml:10:3: error: 'pets' is not a path: expected '/' at its beginning (#/paths/pets)"}));
}

TEST(LintOperations, a_parameter_that_is_declared_twice_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      parameters: [{name: q, in: query, schema: {}}, {name: q, in: query, schema: {}}, {name: q, "
                    "in: header, schema: {}}, {name: Q, in: header, schema: {}}]\n"
                    "      responses: {'200': {description: fine}}\n"),
            (Lines{"api.yaml:7:54: error: the query parameter 'q' is declared twice: first in line 7 "
                   "(#/paths/~1pets/get/parameters/1)",
                   "api.yaml:7:123: error: the header parameter 'Q' is declared twice: first in line 7 "
                   "(#/paths/~1pets/get/parameters/3)"}));
}

TEST(LintOperations, a_parameter_of_a_component_counts) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets/{id}:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      parameters: [{$ref: '#/components/parameters/Id'}]\n"
                    "      responses: {'200': {description: fine}}\n"
                    "components: {parameters: {Id: {name: id, in: path, required: true, schema: {type: string}}}}\n"),
            (Lines{}));
}

TEST(LintOperations, an_operation_without_operationId_success_or_meaning_is_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      requestBody: {content: {application/json: {}}}\n"
                    "      responses: {'404': {description: none}}\n"),
            (Lines{"api.yaml:5:5: warning: the operation has no operationId: nothing can refer to it by a name "
                   "(#/paths/~1pets/get)",
                   "api.yaml:6:7: warning: a request body has no meaning in get (RFC 9110 §9.3) "
                   "(#/paths/~1pets/get/requestBody)",
                   "api.yaml:7:7: warning: the operation declares no response for success "
                   "(#/paths/~1pets/get/responses)"}));
}

TEST(LintOperations, a_tag_that_is_not_declared_is_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      tags: [pest]\n"
                    "      responses: {'200': {description: fine}}\n"
                    "tags: [{name: pets}, {name: pets}]\n"),
            (Lines{"api.yaml:7:14: warning: the tag 'pest' is not in 'tags' of the document; did you mean 'pets'? "
                   "(#/paths/~1pets/get/tags/0)",
                   "api.yaml:9:23: error: the tag 'pets' is declared twice: first in line 9 (#/tags/1/name)"}));
}

TEST(LintOperations, a_link_leads_to_an_operation) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      responses:\n"
                    "        '200':\n"
                    "          description: fine\n"
                    "          links: {a: {operationId: lst}, b: {operationRef: '#/paths/~1pets/put'}, c: {}}\n"),
            (Lines{"api.yaml:10:23: error: there is no operation 'lst'; did you mean 'list'? "
                   "(#/paths/~1pets/get/responses/200/links/a/operationId)",
                   "api.yaml:10:46: error: '#/paths/~1pets/put' leads nowhere: 'put' is not in #/paths/~1pets "
                   "(#/paths/~1pets/get/responses/200/links/b/operationRef)",
                   "api.yaml:10:83: error: a link needs 'operationId' or 'operationRef' "
                   "(#/paths/~1pets/get/responses/200/links/c)"}));
}

TEST(LintOperations, requests_that_the_service_sends_have_no_code_and_need_no_operation_id) {
  EXPECT_EQ(
      lint_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "paths:\n"
              "  /pets:\n"
              "    post:\n"
              "      operationId: addPet\n"
              "      callbacks: {added: {'{$request.query.url}': {post: {responses: {'204': {description: fine}}}}}}\n"
              "      responses: {'204': {description: fine}}\n"
              "webhooks:\n"
              "  low: {post: {responses: {'204': {description: fine}}}}\n"),
      (Lines{"api.yaml:7:7: warning: no code is generated for 'callbacks': send their requests with an http::Client "
             "(#/paths/~1pets/post/callbacks)",
             "api.yaml:9:1: warning: no code is generated for 'webhooks': send their requests with an http::Client "
             "(#/webhooks)"}));
}

}  // namespace
}  // namespace keel::openapi::lint_operations_test
