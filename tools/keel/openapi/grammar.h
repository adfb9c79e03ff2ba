// openapi/grammar.h — which fields the objects of OpenAPI 3.0 and 3.1 have, and which values the fields may have.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "openapi/document.h"

namespace keel::openapi {

// The kind of an object, given by its place in the document.
enum class Role : std::uint8_t {
  OpenApi,
  Info,
  Contact,
  License,
  Server,
  ServerVariable,
  Components,
  Paths,
  PathItem,
  Operation,
  ExternalDocs,
  Parameter,
  RequestBody,
  MediaType,
  Encoding,
  Responses,
  Response,
  Callback,
  Example,
  Link,
  Header,
  Tag,
  Schema,
  Discriminator,
  Xml,
  SecurityScheme,
  Flows,
  Flow,
  SecurityRequirement,
  None
};

// Returns the kind's name for messages: "a response", "a schema", …
std::string_view to_string(Role role) noexcept;
// Whether {$ref: …} may replace an object of this kind.
bool may_be_reference(Role role) noexcept;

// The kind of value in a field.
enum class Form : std::uint8_t {
  Text,
  Flag,
  Number,
  Count,
  Any,
  AnyList,
  Texts,
  TextMap,
  TextsMap,
  One,
  List,
  Map,
  Types,         // The name of a type; in 3.1 also a list of names.
  SchemaOrFlag,  // `additionalProperties` of 3.0.
  NumberOrFlag,  // `exclusiveMinimum`, `exclusiveMaximum`: a flag in 3.0, a number in 3.1.
};

struct Field {
  enum Flags : std::uint8_t { Plain = 0, Required = 1, Only30 = 2, Only31 = 4, Unsupported = 8 };

  std::string_view name;
  Form form;
  Role role = Role::None;  // For One, List and Map, the role of the values.
  std::uint8_t flags = Plain;

  bool is_in(Version version) const noexcept { return (flags & (version == Version::V30 ? Only31 : Only30)) == 0; }
};

// All fields of an object; the entries of maps whose keys the author chooses (paths, responses, …) are not fields.
std::span<const Field> fields_of(Role role) noexcept;
const Field* find_field(Role role, std::string_view name) noexcept;

// The keywords of JSON Schema 2020-12 and of OpenAPI that Keel always rejects.
std::vector<std::string_view> unsupported_keywords();

}  // namespace keel::openapi
