// openapi/structure.h — every object of a document, checked field by field, and its schemas in one dialect.
//
// Schemas of OpenAPI 3.0 become JSON Schema 2020-12 in place: `nullable` is one more type, a `minimum` with
// `exclusiveMinimum: true` is an `exclusiveMinimum`, `example` is `examples`, and what stands beside a `$ref` is gone.
// An `example` of 3.1 becomes `examples` as well. What is made keeps the place of what it is made of.
//
// Errors: fields that are unknown, missing, of another version, of the wrong kind, or that Keel does not support.

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

// All objects that can be reached from the root, each once, in the order in which they are met; a reference is not one.
std::vector<Object> check_structure(Document& document, Problems& problems);

}  // namespace keel::openapi
