// keel/db/postgres/internal/array_text.h — arrays as the text that the server writes, and back.
//
// False: the bytes, or the text, are no array of the element type, and `to` may have anything behind its end.
//
// Source: arrayfuncs.c of the server.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"
#include "keel/db/postgres/oid.h"

namespace keel::db::postgres {

// `bytes_max` bounds the text: a few bytes of a numeric are many digits.
[[nodiscard]] bool append_array_text(Oid element, std::string_view bytes, std::size_t bytes_max, Buffer& to);
[[nodiscard]] bool append_array_bytes(Oid element, std::string_view text, Buffer& to);

// Appends the text of one value in binary, of a type that is in the table of types.h and no array.
[[nodiscard]] bool append_element_text(Oid type, std::string_view bytes, Buffer& to);
// Appends the binary form of such a text.
[[nodiscard]] bool append_element_bytes(Oid type, std::string_view text, Buffer& to);

}  // namespace keel::db::postgres
