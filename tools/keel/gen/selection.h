// gen/selection.h — a part of the operations of a document.

#pragma once

#include <string>
#include <vector>

#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

// Leaves in the document only the operations that are wanted, by operationId: those that are named, or all but those
// with a '-' in front. None are named: all stay. Errors: a name that no operation has.
void select(openapi::Document& document, const std::vector<std::string>& operations, openapi::Problems& problems);

}  // namespace keel::gen
