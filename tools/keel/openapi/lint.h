// openapi/lint.h — finds the mistakes in a document, and places that are legal but suspicious. Parts of a document that
// cannot be expressed in C++ are found by gen/output.h, which begins with this check.
//
// Only schemas are changed: they are normalised (structure.h). The problems are not sorted yet.

#pragma once

#include <vector>

#include "openapi/document.h"
#include "openapi/problems.h"
#include "openapi/structure.h"

namespace keel::openapi {

void lint(Document& document, Problems& problems);

// The parts of lint(), to be called after check_structure().
void check_schemas(const Document& document, const std::vector<Object>& objects, Problems& problems);
void check_content(const Document& document, const std::vector<Object>& objects, Problems& problems);
void check_operations(const Document& document, const std::vector<Object>& objects, Problems& problems);
void check_security(const Document& document, const std::vector<Object>& objects, Problems& problems);

}  // namespace keel::openapi
