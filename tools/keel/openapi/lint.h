// openapi/lint.h — finds the mistakes in a document, and parts that are legal but suspicious. gen/output.h first calls
// lint(), and then finds the parts of the document that cannot be expressed in C++.
//
// lint() changes only the schemas of the document: it normalises them (structure.h). The problems that lint() adds are
// not sorted.

#pragma once

#include <string_view>
#include <vector>

#include "openapi/document.h"
#include "openapi/problems.h"
#include "openapi/structure.h"

namespace keel::openapi {

void lint(Document& document, Problems& problems);

// True for a request header that the client library writes itself: such a header cannot be a parameter.
bool is_header_of_client(std::string_view name);
// True for a response header that the server writes itself: handlers do not set such a header.
bool is_header_of_server(std::string_view name);

// The parts of lint(), to be called after check_structure().
void check_schemas(const Document& document, const std::vector<Object>& objects, Problems& problems);
void check_content(const Document& document, const std::vector<Object>& objects, Problems& problems);
void check_operations(const Document& document, const std::vector<Object>& objects, Problems& problems);
void check_security(const Document& document, const std::vector<Object>& objects, Problems& problems);

}  // namespace keel::openapi
