#include "openapi/lint.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "openapi/testing.h"

namespace keel::openapi::lint_security_test {
namespace {

using namespace keel::openapi::testing;

TEST(LintSecurity, a_security_scheme_that_does_not_exist_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      security: [{keys: []}]\n"
                    "      responses: {'200': {description: fine}}\n"
                    "components: {securitySchemes: {key: {type: apiKey, name: k, in: query}}}\n"),
            (Lines{"api.yaml:7:19: error: there is no security scheme 'keys' in 'components'; did you mean 'key'? "
                   "(#/paths/~1pets/get/security/0/keys)"}));
}

TEST(LintSecurity, a_scope_is_one_of_a_flow) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      security: [{login: [writ]}]\n"
                    "      responses: {'200': {description: fine}}\n"
                    "components: {securitySchemes: {login: {type: oauth2, flows: {implicit: {authorizationUrl: /a, "
                    "scopes: {write: w}}}}}}\n"),
            (Lines{"api.yaml:7:27: error: the scope 'writ' is in no flow of 'login'; did you mean 'write'? "
                   "(#/paths/~1pets/get/security/0/login/0)"}));
}

TEST(LintSecurity, a_security_scheme_has_what_its_type_needs) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  securitySchemes:\n"
                    "    a: {type: apiKey}\n"
                    "    b: {type: http}\n"
                    "    c: {type: oauth2, flows: {password: {scopes: {}}, implicit: {scopes: {}}}}\n"
                    "    d: {type: openIdConnect}\n"
                    "    e: {type: basic}\n"
                    "    f: {type: apiKey, name: k, in: body}\n"),
            (Lines{"api.yaml:5:5: error: 'in' is required in a security scheme of the type 'apiKey' "
                   "(#/components/securitySchemes/a)",
                   "api.yaml:5:5: error: 'name' is required in a security scheme of the type 'apiKey' "
                   "(#/components/securitySchemes/a)",
                   "api.yaml:6:5: error: 'scheme' is required in a security scheme of the type 'http' "
                   "(#/components/securitySchemes/b)",
                   "api.yaml:7:31: error: 'tokenUrl' is required in the flow 'password' "
                   "(#/components/securitySchemes/c/flows/password)",
                   "api.yaml:7:55: error: 'authorizationUrl' is required in the flow 'implicit' "
                   "(#/components/securitySchemes/c/flows/implicit)",
                   "api.yaml:8:5: error: 'openIdConnectUrl' is required in a security scheme of the type "
                   "'openIdConnect' (#/components/securitySchemes/d)",
                   "api.yaml:9:9: error: \"basic\" is not a type of security scheme: expected apiKey, http, mutualTLS, "
                   "oauth2 or openIdConnect (#/components/securitySchemes/e/type)",
                   "api.yaml:10:32: error: 'in' is \"body\": expected query, header or cookie "
                   "(#/components/securitySchemes/f/in)"}));
}

TEST(LintSecurity, a_variable_of_a_server_is_declared) {
  EXPECT_EQ(
      lint_of(
          "openapi: 3.1.0\n"
          "info: {title: Shop, version: '1'}\n"
          "servers:\n"
          "- {url: 'https://{host}/{base}/', variables: {hots: {default: a}, base: {default: v3, enum: [v1, v2]}}}\n"
          "- {url: '/v1?x=1'}\n"
          "- {url: '/{a'}\n"
          "paths: {}\n"),
      (Lines{"api.yaml:4:4: error: the variable 'host' of the URL is not in 'variables' (#/servers/0/url)",
             "api.yaml:4:4: warning: the URL 'https://{host}/{base}/' ends in '/', but every path begins with '/' "
             "(#/servers/0/url)",
             "api.yaml:4:47: warning: the variable 'hots' is not in the URL; did you mean 'host'? "
             "(#/servers/0/variables/hots)",
             "api.yaml:4:74: error: the default \"v3\" is not one of [\"v1\", \"v2\"] "
             "(#/servers/0/variables/base/default)",
             "api.yaml:5:4: error: the URL '/v1?x=1' has a query or a fragment, but paths are appended to the URL "
             "(#/servers/1/url)",
             "api.yaml:6:4: error: the URL '/{a' has a '{' without a '}' (#/servers/2/url)"}));
}

TEST(LintSecurity, scopes_of_a_scheme_that_has_none_in_3_0_are_a_warning) {
  const std::string paths =
      "info: {title: Shop, version: '1'}\n"
      "paths: {/pets: {get: {operationId: pets, security: [{token: [read]}], responses: {'204': {description: "
      "fine}}}}}\n"
      "components: {securitySchemes: {token: {type: http, scheme: bearer}}}\n";
  EXPECT_EQ(lint_of("openapi: 3.1.0\n" + paths), Lines());
  EXPECT_EQ(
      lint_of("openapi: 3.0.3\n" + paths),
      (Lines{"api.yaml:3:54: warning: scopes of 'token', which is of the type 'http': in OpenAPI 3.0 only oauth2 and "
             "openIdConnect have scopes; the scopes are passed on as in 3.1 (#/paths/~1pets/get/security/0/token)"}));
}

}  // namespace
}  // namespace keel::openapi::lint_security_test
