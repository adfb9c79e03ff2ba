// openapi/structure.h — checks every object of a document field by field, and converts its schemas to one dialect.
//
// Schemas of OpenAPI 3.0 are converted to JSON Schema 2020-12 in place: `nullable` becomes one more type, or one more
// alternative of a schema with `allOf`, `anyOf` or `oneOf`; `minimum` with `exclusiveMinimum: true` becomes
// `exclusiveMinimum`, `example` becomes `examples`, and anything beside a `$ref` is removed. An `example` of 3.1
// becomes `examples` as well. New nodes have the place of the node that they are made from.
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

// All objects that can be reached from the root, each once, in the order in which they are found; references are not
// objects.
std::vector<Object> check_structure(Document& document, Problems& problems);

}  // namespace keel::openapi
