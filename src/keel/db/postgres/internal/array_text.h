// keel/db/postgres/internal/array_text.h — arrays as the text that the server writes, and back.
//
// The functions return false when the bytes, or the text, are not an array of the element type; the bytes after the end
// of `to` are then unspecified.
//
// Source: arrayfuncs.c of the server.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"
#include "keel/db/postgres/oid.h"

namespace keel::db::postgres {

// `bytes_max` bounds the text, because a few bytes of a numeric can be many digits.
[[nodiscard]] bool append_array_text(Oid element, std::string_view bytes, std::size_t bytes_max, Buffer& to);
[[nodiscard]] bool append_array_bytes(Oid element, std::string_view text, Buffer& to);

// Appends the text of one binary value. Its type must be in the table of types.h and not be an array.
[[nodiscard]] bool append_element_text(Oid type, std::string_view bytes, Buffer& to);
// Appends the binary form of such a text.
[[nodiscard]] bool append_element_bytes(Oid type, std::string_view text, Buffer& to);

}  // namespace keel::db::postgres
