// keel/db/postgres/internal/numeric.h — converts the binary form of a numeric (digits of base 10,000, and a scale) to
// exact decimal text, and back.
//
// Source: numeric_send, numeric_recv and get_str_from_var of the server's numeric.c.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"

namespace keel::db::postgres {

// Appends the text in the server's form: 1.50, -0.001, NaN, -Infinity. Returns false if `bytes` are not a valid
// numeric.
[[nodiscard]] bool append_numeric_text(std::string_view bytes, Buffer& to);

// Appends the binary form of a text, which consists of digits with an optional sign, point and exponent, or is NaN or
// Infinity. Returns false if `text` has a different form, or more digits than a numeric can have; the bytes of `to`
// after its former end are then unspecified.
[[nodiscard]] bool append_numeric_bytes(std::string_view text, Buffer& to);

// Appends the shortest text that reads back as the same value, in the server's form: 0.1, 1e+20, NaN, -Infinity.
void append_real_text(double value, bool is_single, Buffer& to);

}  // namespace keel::db::postgres
