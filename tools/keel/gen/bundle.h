// gen/bundle.h — converts a document of several files to one JSON text, which a service serves.
//
//   const std::string json = bundle(*document, problems);          // {"openapi":"3.1.0",…}, for /openapi.json
//   const std::string source = document_definition(json);          // what contract/docs_page.h is given
//
// The text has the same members and values as the files, in the same order and in the same version of OpenAPI, but no
// whitespace. The target of a `$ref` into another file becomes a component. The component's name is the last part of
// the target's pointer, or the name of its file; if another component has that name, the name of the file is put in
// front. References that use `$id` or `$anchor` become pointers, and both keywords are left out. In OpenAPI 3.0, which
// has no components for path items, a path item of another file is copied to each place that refers to that path item.
// The names of components do not depend on the order of the members.

#pragma once

#include <string>
#include <string_view>

#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

// `document` must have been loaded without errors, and must be unchanged since load(): lint() changes its schemas.
// Errors: a path item of OpenAPI 3.0 that contains itself; more than 20,000 components from other files; a document of
//         more than 128 MiB; a link to an operation that is in another file and has no operationId; and a reference in
//         another file inside a member whose name begins with x-.
std::string bundle(const openapi::Document& document, openapi::Problems& problems);

// Compresses the text to a gzip file that is as small as possible.
std::string gzip(std::string_view text);

// "constexpr keel::contract::Document document{…};": the text and its gzip as literals.
std::string document_definition(std::string_view json);

}  // namespace keel::gen
