// keel/db/postgres/internal/numeric.h — numeric, digits of base 10,000 with a scale, as exact decimal text and back.
//
// Source: numeric_send, numeric_recv and get_str_from_var of the server's numeric.c.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"

namespace keel::db::postgres {

// Appends the text as the server writes it: 1.50, -0.001, NaN, -Infinity. False: `bytes` are not a valid numeric.
[[nodiscard]] bool append_numeric_text(std::string_view bytes, Buffer& to);

// Appends the binary form of digits with an optional sign, point and exponent, of NaN or of Infinity. False: `text` has
// none of these forms, or more digits than a numeric can have; the bytes after the end of `to` are then unspecified.
[[nodiscard]] bool append_numeric_bytes(std::string_view text, Buffer& to);

// Appends the shortest text that reads back as the double, or the float, in the server's form: 0.1, 1e+20, NaN,
// -Infinity.
void append_real_text(double value, bool is_single, Buffer& to);

}  // namespace keel::db::postgres
