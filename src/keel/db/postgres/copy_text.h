// keel/db/postgres/copy_text.h — encodes a row in the text format of COPY … FROM STDIN.
//
//   KEEL_TRY_VOID(append_copy_row(buffer, values));          // "1\tada\t\\N\n"
//
// The server reads each text in the same way as a literal of the column's type. Therefore a boolean is written as 0 or
// 1, and a blob is written as bytea in hexadecimal.
//
// Errors:   InvalidArgument if a text contains a zero byte, which PostgreSQL cannot store; the message contains the
//           column's number. ResourceExhausted if a value is larger than the server accepts. After an error, `to` is
//           unchanged.
// Cost:     one pass over each text; no allocation except to grow `to`.

#pragma once

#include <span>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/db/value.h"

namespace keel::db::postgres {

// Appends one row in the text format of COPY.
Result<> append_copy_row(Buffer& to, std::span<const Value> values);

}  // namespace keel::db::postgres
