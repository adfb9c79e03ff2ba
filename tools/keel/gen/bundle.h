// gen/bundle.h — a document of several files as one JSON text, which a service serves.
//
//   const std::string json = bundle(*document, problems);          // {"openapi":"3.1.0",…}, for /openapi.json
//   const std::string source = document_definition(json);          // what contract/docs_page.h is given
//
// The text has what the files have, in the order and the version in which it is written, without blanks. What a `$ref`
// leads to in another file becomes a component. It is called like the last part of its pointer, or like its file; where
// two would have one name, or a component of the first file has it, the name of the file stands before it. References
// by
// `$id` and `$anchor` become pointers, and both keywords are left out. A path item of another file is put in its place
// in OpenAPI 3.0, which has no such component. Names do not depend on the order of the members.

#pragma once

#include <string>
#include <string_view>

#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

// `document` has been loaded without errors, and is as load() made it: lint() changes its schemas. The errors are a
// path item of OpenAPI 3.0 that contains itself, more than 20,000 of them in other files or 128 MiB, a link to an
// operation of another file that has no operationId, and a reference inside a member of another file that begins with
// x-.
std::string bundle(const openapi::Document& document, openapi::Problems& problems);

// As a file of gzip, in the smallest form.
std::string gzip(std::string_view text);

// "constexpr keel::contract::Document document{…};": the text and its gzip as literals.
std::string document_definition(std::string_view json);

}  // namespace keel::gen
