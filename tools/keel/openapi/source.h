// openapi/source.h — the text of one file, YAML 1.2 or JSON, as a tree of nodes.
//
// Bounded: 32 MiB of text, 128 levels, 2,000,000 nodes in a Store after aliases are expanded. A duplicate key, a second
// document, a tag, a merge key, a key that is not text, and an alias inside its own anchor are errors.

#pragma once

#include <string>
#include <string_view>

#include "openapi/node.h"
#include "openapi/problems.h"

namespace keel::openapi {

inline constexpr std::size_t file_bytes_max = std::size_t{32} << 20;
inline constexpr std::size_t depth_max = 128;
inline constexpr std::size_t nodes_max = 2'000'000;

// The root, or null when the text cannot be read; `problems` then says why. A text that begins with '{' or '[' is read
// as JSON when it is JSON; the text of a file *.json always is. `name` is that of the file, and outlives the nodes.
Node* parse_source(Store& store, const std::string& name, std::string text, Problems& problems);

}  // namespace keel::openapi
