// api/yaml.h — JSON as YAML that reads well: blocks, and lists of scalars on one line.

#pragma once

#include <string>
#include <string_view>

#include "keel/data/json_value.h"

namespace keel::api {

// A scalar, in quotes where it would be read as something else.
std::string yaml_text(std::string_view text);

// Appends `value` behind "key:" or "-" of a block that is `indent` deep: on the same line, or as a block of its own.
void append_yaml(std::string& out, const json::Value& value, int indent);

}  // namespace keel::api
