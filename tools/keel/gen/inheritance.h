// gen/inheritance.h — follows the discriminator of a schema to which others refer by `allOf`.
//
//   Pet: {required: [kind], properties: {kind: {type: string}}, discriminator: {propertyName: kind}}
//   Cat: {allOf: [{$ref: '#/components/schemas/Pet'}, {properties: {lives: {type: integer}}}]}
//
// This is inheritance in OpenAPI: a Cat may stand wherever the document refers to Pet. So Pet becomes {anyOf: [Cat, …],
// discriminator: …}, whose mapping has every value, and Pet's own keywords become PlainPet, to which the allOf of its
// children refers. PlainPet is an alternative as well if the mapping, or its name where there is no mapping, leads to
// it, and `x-abstract` is not true.
//
// Where only one schema is possible, the parent stays unchanged, with a warning: in a parameter, in a form, beside a
// default, and in a oneOf that could not tell its alternatives apart otherwise. A oneOf that has a discriminator names
// its alternatives itself.

#pragma once

#include <unordered_map>
#include <vector>

#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

// `document` must have been linted without an error. Warns of each discriminator that cannot be followed.
void follow_discriminators(openapi::Document& document, openapi::Problems& problems);

// For each schema, the named ones whose `allOf` refers to it, in the order of their names.
using Children = std::unordered_map<const openapi::Node*, std::vector<openapi::Node*>>;
Children children_of(openapi::Document& document);

// Whether it has a discriminator, and no alternatives of its own.
bool is_parent(const openapi::Node& schema) noexcept;
// Whether a node with a `$ref` is in the `allOf` of a named schema: a child cannot stand in that place.
bool is_of_child(const openapi::Document& document, const openapi::Node& reference);

}  // namespace keel::gen
