// openapi/structure.h — checks every object of a document field by field, and converts its schemas to one dialect.
//
// Schemas of OpenAPI 3.0 are converted to JSON Schema 2020-12 in place: `nullable` becomes a further type or, in a
// schema with `allOf`, `anyOf` or `oneOf`, a further alternative; `minimum` with `exclusiveMinimum: true` becomes
// `exclusiveMinimum`, `example` becomes `examples`, and anything beside a `$ref` is removed. An `example` of 3.1
// becomes `examples` as well. A new node has the place of the node from which it is made.
//
// Errors: fields that are unknown, missing, of another version, of the wrong kind, or not supported by Keel.

#pragma once

#include <vector>

#include "openapi/document.h"
#include "openapi/grammar.h"
#include "openapi/problems.h"

namespace keel::openapi {

struct Object {
  Node* node;
  Role role;
};

// Checks and returns all objects that can be reached from the root, each once, in the order in which they are found;
// references do not count as objects.
std::vector<Object> check_structure(Document& document, Problems& problems);

}  // namespace keel::openapi
