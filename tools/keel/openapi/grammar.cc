#include "openapi/grammar.h"

#include <algorithm>

namespace keel::openapi {
namespace {

using enum Form;
using F = Field;

// clang-format off
constexpr Field open_api[] = {
    {"openapi", Text, Role::None, F::Required}, {"info", One, Role::Info, F::Required},
    {"jsonSchemaDialect", Text, Role::None, F::Only31}, {"servers", List, Role::Server}, {"paths", One, Role::Paths},
    {"webhooks", Map, Role::PathItem, F::Only31}, {"components", One, Role::Components},
    {"security", List, Role::SecurityRequirement}, {"tags", List, Role::Tag},
    {"externalDocs", One, Role::ExternalDocs}};
constexpr Field info[] = {
    {"title", Text, Role::None, F::Required}, {"summary", Text, Role::None, F::Only31}, {"description", Text},
    {"termsOfService", Text}, {"contact", One, Role::Contact}, {"license", One, Role::License},
    {"version", Text, Role::None, F::Required}};
constexpr Field contact[] = {{"name", Text}, {"url", Text}, {"email", Text}};
constexpr Field license[] = {{"name", Text, Role::None, F::Required}, {"identifier", Text, Role::None, F::Only31},
    {"url", Text}};
constexpr Field server[] = {
    {"url", Text, Role::None, F::Required}, {"description", Text}, {"variables", Map, Role::ServerVariable}};
constexpr Field server_variable[] = {{"enum", Texts}, {"default", Text, Role::None, F::Required},
    {"description", Text}};
constexpr Field components[] = {
    {"schemas", Map, Role::Schema}, {"responses", Map, Role::Response}, {"parameters", Map, Role::Parameter},
    {"examples", Map, Role::Example}, {"requestBodies", Map, Role::RequestBody}, {"headers", Map, Role::Header},
    {"securitySchemes", Map, Role::SecurityScheme}, {"links", Map, Role::Link}, {"callbacks", Map, Role::Callback},
    {"pathItems", Map, Role::PathItem, F::Only31}};
constexpr Field path_item[] = {
    {"$ref", Text}, {"summary", Text}, {"description", Text}, {"get", One, Role::Operation},
    {"put", One, Role::Operation},
    {"post", One, Role::Operation}, {"delete", One, Role::Operation}, {"options", One, Role::Operation},
    {"head", One, Role::Operation}, {"patch", One, Role::Operation}, {"trace", One, Role::Operation},
    {"servers", List, Role::Server}, {"parameters", List, Role::Parameter}};
constexpr Field operation[] = {
    {"tags", Texts}, {"summary", Text}, {"description", Text}, {"externalDocs", One, Role::ExternalDocs},
    {"operationId", Text}, {"parameters", List, Role::Parameter}, {"requestBody", One, Role::RequestBody},
    {"responses", One, Role::Responses}, {"callbacks", Map, Role::Callback}, {"deprecated", Flag},
    {"security", List, Role::SecurityRequirement}, {"servers", List, Role::Server}};
constexpr Field external_docs[] = {{"description", Text}, {"url", Text, Role::None, F::Required}};
constexpr Field parameter[] = {
    {"name", Text, Role::None, F::Required}, {"in", Text, Role::None, F::Required}, {"description", Text},
    {"required", Flag}, {"deprecated", Flag}, {"allowEmptyValue", Flag}, {"style", Text}, {"explode", Flag},
    {"allowReserved", Flag}, {"schema", One, Role::Schema}, {"example", Any}, {"examples", Map, Role::Example},
    {"content", Map, Role::MediaType}};
constexpr Field request_body[] = {
    {"description", Text}, {"content", Map, Role::MediaType, F::Required}, {"required", Flag}};
constexpr Field media_type[] = {
    {"schema", One, Role::Schema}, {"example", Any}, {"examples", Map, Role::Example},
    {"encoding", Map, Role::Encoding}};
constexpr Field encoding[] = {
    {"contentType", Text}, {"headers", Map, Role::Header}, {"style", Text}, {"explode", Flag},
    {"allowReserved", Flag}};
constexpr Field response[] = {
    {"description", Text, Role::None, F::Required}, {"headers", Map, Role::Header}, {"content", Map, Role::MediaType},
    {"links", Map, Role::Link}};
constexpr Field example[] = {{"summary", Text}, {"description", Text}, {"value", Any}, {"externalValue", Text}};
constexpr Field link[] = {
    {"operationRef", Text}, {"operationId", Text}, {"parameters", Any}, {"requestBody", Any}, {"description", Text},
    {"server", One, Role::Server}};
constexpr Field header[] = {
    {"description", Text}, {"required", Flag}, {"deprecated", Flag}, {"style", Text}, {"explode", Flag},
    {"schema", One, Role::Schema}, {"example", Any}, {"examples", Map, Role::Example},
    {"content", Map, Role::MediaType}};
constexpr Field tag[] = {
    {"name", Text, Role::None, F::Required}, {"description", Text}, {"externalDocs", One, Role::ExternalDocs}};
constexpr Field discriminator[] = {{"propertyName", Text, Role::None, F::Required}, {"mapping", TextMap}};
constexpr Field xml[] = {{"name", Text}, {"namespace", Text}, {"prefix", Text}, {"attribute", Flag},
    {"wrapped", Flag}};
constexpr Field security_scheme[] = {
    {"type", Text, Role::None, F::Required}, {"description", Text}, {"name", Text}, {"in", Text}, {"scheme", Text},
    {"bearerFormat", Text}, {"flows", One, Role::Flows}, {"openIdConnectUrl", Text}};
constexpr Field flows[] = {
    {"implicit", One, Role::Flow}, {"password", One, Role::Flow}, {"clientCredentials", One, Role::Flow},
    {"authorizationCode", One, Role::Flow}};
constexpr Field flow[] = {
    {"authorizationUrl", Text}, {"tokenUrl", Text}, {"refreshUrl", Text},
    {"scopes", TextMap, Role::None, F::Required}};
constexpr Field schema[] = {
    {"$ref", Text}, {"$id", Text, Role::None, F::Only31}, {"$schema", Text, Role::None, F::Only31},
    {"$anchor", Text, Role::None, F::Only31}, {"$comment", Text, Role::None, F::Only31},
    {"$defs", Map, Role::Schema, F::Only31},
    {"$dynamicRef", Text, Role::None, F::Unsupported | F::Only31},
    {"$dynamicAnchor", Text, Role::None, F::Unsupported | F::Only31},
    {"$recursiveRef", Text, Role::None, F::Unsupported | F::Only31},
    {"$recursiveAnchor", Any, Role::None, F::Unsupported | F::Only31},
    {"$vocabulary", Any, Role::None, F::Unsupported | F::Only31},
    {"definitions", Any, Role::None, F::Unsupported | F::Only31},
    {"dependencies", Any, Role::None, F::Unsupported | F::Only31},
    {"additionalItems", Any, Role::None, F::Unsupported | F::Only31},
    {"title", Text}, {"description", Text}, {"default", Any}, {"deprecated", Flag}, {"readOnly", Flag},
    {"writeOnly", Flag},
    {"example", Any}, {"examples", AnyList, Role::None, F::Only31}, {"externalDocs", One, Role::ExternalDocs},
    {"discriminator", One, Role::Discriminator}, {"xml", One, Role::Xml}, {"nullable", Flag, Role::None, F::Only30},
    {"type", Types}, {"enum", AnyList}, {"const", Any, Role::None, F::Only31}, {"format", Text},
    {"multipleOf", Number}, {"maximum", Number}, {"exclusiveMaximum", NumberOrFlag}, {"minimum", Number},
    {"exclusiveMinimum", NumberOrFlag}, {"maxLength", Count}, {"minLength", Count}, {"pattern", Text},
    {"contentEncoding", Text, Role::None, F::Only31}, {"contentMediaType", Text, Role::None, F::Only31},
    {"contentSchema", One, Role::Schema, F::Only31},
    {"items", One, Role::Schema}, {"prefixItems", List, Role::Schema, F::Only31},
    {"contains", One, Role::Schema, F::Only31},
    {"maxItems", Count}, {"minItems", Count}, {"uniqueItems", Flag}, {"maxContains", Count, Role::None, F::Only31},
    {"minContains", Count, Role::None, F::Only31},
    {"properties", Map, Role::Schema}, {"patternProperties", Map, Role::Schema, F::Only31},
    {"additionalProperties", SchemaOrFlag, Role::Schema}, {"propertyNames", One, Role::Schema, F::Only31},
    {"unevaluatedItems", One, Role::Schema, F::Only31},
    {"unevaluatedProperties", One, Role::Schema, F::Only31}, {"maxProperties", Count}, {"minProperties", Count},
    {"required", Texts}, {"dependentRequired", TextsMap, Role::None, F::Only31},
    {"dependentSchemas", Map, Role::Schema, F::Only31},
    {"allOf", List, Role::Schema}, {"anyOf", List, Role::Schema}, {"oneOf", List, Role::Schema},
    {"not", One, Role::Schema},
    {"if", One, Role::Schema, F::Only31}, {"then", One, Role::Schema, F::Only31},
    {"else", One, Role::Schema, F::Only31}};
// clang-format on

}  // namespace

std::string_view to_string(Role role) noexcept {
  switch (role) {
    case Role::OpenApi:
      return "an OpenAPI document";
    case Role::Info:
      return "an info object";
    case Role::Contact:
      return "a contact";
    case Role::License:
      return "a license";
    case Role::Server:
      return "a server";
    case Role::ServerVariable:
      return "a server variable";
    case Role::Components:
      return "components";
    case Role::Paths:
      return "paths";
    case Role::PathItem:
      return "a path item";
    case Role::Operation:
      return "an operation";
    case Role::ExternalDocs:
      return "external documentation";
    case Role::Parameter:
      return "a parameter";
    case Role::RequestBody:
      return "a request body";
    case Role::MediaType:
      return "a media type";
    case Role::Encoding:
      return "an encoding";
    case Role::Responses:
      return "responses";
    case Role::Response:
      return "a response";
    case Role::Callback:
      return "a callback";
    case Role::Example:
      return "an example";
    case Role::Link:
      return "a link";
    case Role::Header:
      return "a header";
    case Role::Tag:
      return "a tag";
    case Role::Schema:
      return "a schema";
    case Role::Discriminator:
      return "a discriminator";
    case Role::Xml:
      return "an xml object";
    case Role::SecurityScheme:
      return "a security scheme";
    case Role::Flows:
      return "OAuth flows";
    case Role::Flow:
      return "an OAuth flow";
    case Role::SecurityRequirement:
      return "a security requirement";
    case Role::None:
      break;
  }
  return "";
}

bool may_be_reference(Role role) noexcept {
  switch (role) {
    case Role::PathItem:
    case Role::Parameter:
    case Role::RequestBody:
    case Role::Response:
    case Role::Callback:
    case Role::Example:
    case Role::Link:
    case Role::Header:
    case Role::Schema:
    case Role::SecurityScheme:
      return true;
    default:
      return false;
  }
}

std::span<const Field> fields_of(Role role) noexcept {
  switch (role) {
    case Role::OpenApi:
      return open_api;
    case Role::Info:
      return info;
    case Role::Contact:
      return contact;
    case Role::License:
      return license;
    case Role::Server:
      return server;
    case Role::ServerVariable:
      return server_variable;
    case Role::Components:
      return components;
    case Role::PathItem:
      return path_item;
    case Role::Operation:
      return operation;
    case Role::ExternalDocs:
      return external_docs;
    case Role::Parameter:
      return parameter;
    case Role::RequestBody:
      return request_body;
    case Role::MediaType:
      return media_type;
    case Role::Encoding:
      return encoding;
    case Role::Response:
      return response;
    case Role::Example:
      return example;
    case Role::Link:
      return link;
    case Role::Header:
      return header;
    case Role::Tag:
      return tag;
    case Role::Schema:
      return schema;
    case Role::Discriminator:
      return discriminator;
    case Role::Xml:
      return xml;
    case Role::SecurityScheme:
      return security_scheme;
    case Role::Flows:
      return flows;
    case Role::Flow:
      return flow;
    case Role::Paths:
    case Role::Responses:
    case Role::Callback:
    case Role::SecurityRequirement:
    case Role::None:
      break;
  }
  return {};
}

const Field* find_field(Role role, std::string_view name) noexcept {
  const std::span<const Field> all = fields_of(role);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Field& field) { return field.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string_view> unsupported_keywords() {
  std::vector<std::string_view> names;
  for (const Field& field : schema) {
    if ((field.flags & Field::Unsupported) != 0) names.push_back(field.name);
  }
  return names;
}

}  // namespace keel::openapi
