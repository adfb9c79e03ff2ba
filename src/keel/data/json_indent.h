// keel/data/json_indent.h — formats JSON for people: one member or element per line, indented by two spaces for each
// level.
//
//   {"a":1,"b":[]}   becomes   {
//                                "a": 1,
//                                "b": []
//                              }
//
// Only the white space between the tokens of the text is changed, not the tokens.
//
// Errors: none. The text must be JSON; for any other text, the result is unspecified.
// Cost:   each byte is read once.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"

namespace keel::json {

// Appends `text`, indented. `text` must not be a view into `out`.
void indent(Buffer& out, std::string_view text);

}  // namespace keel::json
