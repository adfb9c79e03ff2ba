// gen/selection.h — selects a part of the operations of a document.

#pragma once

#include <string>
#include <vector>

#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

// Keeps only the selected operations, by operationId: those that are named, or all except those that are named with a
// '-' before the name; and the components that they, or each other, refer to, with all security schemes. If none are
// named, all is kept. A name that no operation has is a problem.
void select(openapi::Document& document, const std::vector<std::string>& operations, openapi::Problems& problems);

// Reports a U+0000 in a text, which would end a C++ literal.
void refuse_nul(const openapi::Node& node, openapi::Problems& problems);

}  // namespace keel::gen
