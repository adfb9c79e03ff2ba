// keel/db/postgres/copy_reader.h — reads the rows that COPY … TO STDOUT (FORMAT BINARY) sends, in pieces of any size.
//
//   CopyReader reader;
//   KEEL_TRY_VOID(reader.receive(message.body, columns, rows));     // for each CopyData
//   if (!reader.is_at_end()) …                                      // after CommandComplete: the data is truncated
//
// Result:   rows are appended to `rows` by Columns::append(), because a tuple has the same form as the body of a
//           DataRow.
// Errors:   Protocol, from_environment(), if the bytes are not a binary COPY, if a tuple has a different number of
//           columns, or if bytes follow the end of the COPY. ResourceExhausted if a tuple is larger than
//           `tuple_bytes_max`.
// Threads:  one.
// Cost:     a copy of each row into `rows`, and a second copy if the tuple arrives in several pieces.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/db/postgres/columns.h"
#include "keel/db/row.h"

namespace keel::db::postgres {

class CopyReader {
 public:
  explicit CopyReader(std::size_t tuple_bytes_max = 64u << 20) noexcept : tuple_bytes_max_(tuple_bytes_max) {}

  Result<> receive(std::string_view bytes, Columns& columns, Rows& rows);
  // Whether the trailer was received.
  bool is_at_end() const noexcept { return phase_ == Phase::Ended; }

 private:
  enum class Phase : std::uint8_t { Header, Extension, Tuples, Ended };
  // The size of the next part of `bytes`, which is the header, its extension, a tuple, or the trailer; 0 if the part is
  // incomplete.
  Result<std::size_t> size_of_part(std::string_view bytes) const;
  Result<> take_part(std::string_view part, Columns& columns, Rows& rows);

  std::size_t tuple_bytes_max_;
  Phase phase_ = Phase::Header;
  std::size_t extension_ = 0;  // The size of the header extension in bytes.
  Buffer held_;                // The received beginning of an incomplete part.
};

}  // namespace keel::db::postgres
