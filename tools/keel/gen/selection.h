// gen/selection.h — selects a part of the operations of a document.

#pragma once

#include <string>
#include <vector>

#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

// Keeps only the operations that are wanted, by operationId: those that are named, or all except those with '-' in
// front, and the components that they, or each other, refer to; security schemes are all kept. If none are named, all is
// kept. A name that no operation has is a problem.
void select(openapi::Document& document, const std::vector<std::string>& operations, openapi::Problems& problems);

}  // namespace keel::gen
