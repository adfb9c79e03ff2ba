// gen/inheritance.h — follows the discriminator of a schema to which other schemas refer by `allOf`.
//
//   Pet: {required: [kind], properties: {kind: {type: string}}, discriminator: {propertyName: kind}}
//   Cat: {allOf: [{$ref: '#/components/schemas/Pet'}, {properties: {lives: {type: integer}}}]}
//
// The example above is inheritance in OpenAPI: a Cat is allowed wherever the document refers to Pet. Therefore the
// generator turns Pet into {anyOf: [Cat, …], discriminator: …}, with a mapping of every value. Pet's own keywords move
// to a new schema PlainPet, and the allOf of each child refers to PlainPet instead. PlainPet is also an alternative of
// Pet if a value of the mapping leads to Pet. Without a mapping, PlainPet is the alternative for the value "Pet",
// unless `x-abstract` is true or the property does not allow this value.
//
// In a parameter, in a form, next to a default, and in a oneOf whose alternatives could not be told apart otherwise,
// only one schema is possible. In these places, the reference means only the parent, and the generator warns. A oneOf
// that has its own discriminator lists its alternatives itself, so the children are not added.

#pragma once

#include <unordered_map>
#include <vector>

#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

// lint() must have found no errors in `document`. Warns of each discriminator that cannot be followed.
void follow_discriminators(openapi::Document& document, openapi::Problems& problems);

// For each schema, the named schemas whose `allOf` refers to it, sorted by name.
using Children = std::unordered_map<const openapi::Node*, std::vector<openapi::Node*>>;
Children children_of(openapi::Document& document);

// Whether the schema has a discriminator, and no `oneOf` or `anyOf` of its own.
bool is_parent(const openapi::Node& schema) noexcept;
// Whether the node has a `$ref` and is in the `allOf` of a named schema; such a `$ref` means the parent alone, not the
// parent's children.
bool is_of_child(const openapi::Document& document, const openapi::Node& reference);

}  // namespace keel::gen
