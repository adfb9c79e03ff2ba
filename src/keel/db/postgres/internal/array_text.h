// keel/db/postgres/internal/array_text.h — converts arrays to the text that the server writes for them, and back.
//
// The functions return false if the bytes, or the text, are not an array of the element type; the bytes of `to` after
// its former end are then unspecified.
//
// Source: arrayfuncs.c of the server.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"
#include "keel/db/postgres/oid.h"

namespace keel::db::postgres {

// `bytes_max` limits the size of the text, because the text of a numeric can be much longer than its bytes.
[[nodiscard]] bool append_array_text(Oid element, std::string_view bytes, std::size_t bytes_max, Buffer& to);
[[nodiscard]] bool append_array_bytes(Oid element, std::string_view text, Buffer& to);

// Appends the text of one binary value. `type` must be in the table of types.h, and must not be an array type.
[[nodiscard]] bool append_element_text(Oid type, std::string_view bytes, Buffer& to);
// Appends the binary form of a value that is given as text.
[[nodiscard]] bool append_element_bytes(Oid type, std::string_view text, Buffer& to);

}  // namespace keel::db::postgres
