// openapi/lint.h — finds the mistakes in a document, and places that are legal but suspicious. Parts of a document that
// cannot be expressed in C++ are found by gen/output.h, which begins with this check.
//
// Only schemas are changed: they are normalised (structure.h). The problems are not sorted yet.

#pragma once

#include <string_view>
#include <vector>

#include "openapi/document.h"
#include "openapi/problems.h"
#include "openapi/structure.h"

namespace keel::openapi {

void lint(Document& document, Problems& problems);

// Whether a client itself writes this header of a request, so that it cannot be a parameter.
bool is_header_of_client(std::string_view name);
// Whether the server itself writes this header of a response, so that handlers do not set it.
bool is_header_of_server(std::string_view name);

// The parts of lint(), to be called after check_structure().
void check_schemas(const Document& document, const std::vector<Object>& objects, Problems& problems);
void check_content(const Document& document, const std::vector<Object>& objects, Problems& problems);
void check_operations(const Document& document, const std::vector<Object>& objects, Problems& problems);
void check_security(const Document& document, const std::vector<Object>& objects, Problems& problems);

}  // namespace keel::openapi
