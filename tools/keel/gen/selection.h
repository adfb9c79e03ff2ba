// gen/selection.h — selects a part of the operations of a document.

#pragma once

#include <string>
#include <vector>

#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

// Keeps only the selected operations, by operationId: either the named operations, or all operations except those named
// with a '-' before the name. All security schemes are kept, and so are the components to which the operations refer,
// directly or through other components. If no operation is named, everything is kept. Reports a problem for a name that
// no operation has.
void select(openapi::Document& document, const std::vector<std::string>& operations, openapi::Problems& problems);

// Reports a U+0000 in a text, which would end a C++ literal.
void refuse_nul(const openapi::Node& node, openapi::Problems& problems);

}  // namespace keel::gen
