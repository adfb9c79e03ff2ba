// openapi/source.h — reads the text of one file, YAML 1.2 or JSON, into a tree of nodes.
//
// Limits: 32 MiB of text, 128 levels, 2,000,000 nodes in a Store after aliases are expanded. A duplicate key, a second
//         document, a tag, a merge key, a key that is not text, and an alias inside its own anchor are errors.

#pragma once

#include <string>
#include <string_view>

#include "openapi/node.h"
#include "openapi/problems.h"

namespace keel::openapi {

inline constexpr std::size_t file_bytes_max = std::size_t{32} << 20;
inline constexpr std::size_t depth_max = 128;
inline constexpr std::size_t nodes_max = 2'000'000;

// Returns the root; if the text cannot be read, adds the reason to `problems` and returns null. A text that begins with
// '{' or '[' is read as JSON if it is valid JSON; a file *.json is always read as JSON. `name` is the name of the file,
// and must outlive the nodes.
Node* parse_source(Store& store, const std::string& name, std::string text, Problems& problems);

}  // namespace keel::openapi
