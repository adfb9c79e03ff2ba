// keel/data/json_indent.h — JSON for people: one member or element a line, two spaces for each level.
//
//   {"a":1,"b":[]}   becomes   {
//                                "a": 1,
//                                "b": []
//                              }
//
// Blanks between the tokens of the text are replaced; the tokens stay as they are.
//
// Errors: there are none: of a text that is not JSON, which the caller knows it to be, the result is not JSON either.
// Cost:   each byte is seen once.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"

namespace keel::json {

// Appends `text`, indented. `text` is not a view into `out`.
void indent(Buffer& out, std::string_view text);

}  // namespace keel::json
