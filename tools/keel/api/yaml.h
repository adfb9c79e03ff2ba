// api/yaml.h — writes JSON as readable YAML: blocks, and lists of scalars on one line.

#pragma once

#include <string>
#include <string_view>

#include "keel/data/json_value.h"

namespace keel::api {

// Returns a scalar, in quotes if YAML would otherwise read it as something else.
std::string yaml_text(std::string_view text);

// Appends `value` after "key:" or "-" in a block that is indented by `indent`, either on the same line or as a separate
// block.
void append_yaml(std::string& out, const json::Value& value, int indent);

}  // namespace keel::api
