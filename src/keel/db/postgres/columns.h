// keel/db/postgres/columns.h — the columns of a statement's result, which convert the result's rows to the form that
// all databases share (row.h).
//
//   KEEL_TRY(Columns columns, Columns::of(description));          // once for a prepared statement
//   encoder.bind("", name, values, types, columns.formats());     // requests binary where types.h reads binary
//   …
//   KEEL_TRY_VOID(columns.append(message.body, rows));            // for each DataRow
//   columns.name(rows);                                           // after the last: Rows::set_names
//
// Errors:    of() returns ResourceExhausted for more than columns_max columns. append() returns Protocol,
//            from_environment(), for a row with a different number of columns, and for bytes that are not a value of
//            the column's type (types.h; the message has the column's name). After an error of append(), the caller
//            must discard the rows.
// Ownership: copies the names and types, and keeps no reference to the message.
// Threads:   one at a time.
// Cost:      a row takes one pass and one copy, without allocation in steady state. Making one allocates.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/db/postgres/message.h"
#include "keel/db/postgres/oid.h"
#include "keel/db/row.h"

namespace keel::db::postgres {

class Columns {
 public:
  static constexpr int columns_max = 1'664;  // The server's own limit (MaxTupleAttributeNumber).

  // Makes an object without columns, for a statement that returns no rows.
  Columns() = default;
  // Makes the columns of a described statement. Each column gets the format that types.h names for its type; the format
  // in `description` is ignored.
  static Result<Columns> of(const RowDescription& description);
  // Makes the columns of a result, in the formats that its description contains. Use this function for the simple
  // protocol, in which all values are text.
  static Result<Columns> as_sent(const RowDescription& description);

  int count() const noexcept { return static_cast<int>(types_.size()); }
  Oid type(int column) const noexcept { return types_[static_cast<std::size_t>(column)]; }
  std::string_view name(int column) const noexcept;
  // The format of each column, to be passed to Encoder::bind().
  std::span<const Format> formats() const noexcept { return formats_; }

  // Appends the row that `body`, the body of a DataRow message, contains.
  Result<> append(std::string_view body, Rows& rows);
  // Sets the column names of the rows.
  void name(Rows& rows) const { rows.set_names(names_); }

  // Whether both objects have equal columns: for example, the columns of two descriptions of the same statement. If the
  // columns of the two descriptions differ, a table has changed since the first description.
  bool operator==(const Columns& other) const noexcept;

 private:
  // How a value of a column is read: columns.cc reads the values of common types, and decode() of types.h reads all
  // other values.
  enum class Way : std::uint8_t { Text, Integer8, Integer4, Other };
  static Result<Columns> make(const RowDescription& description, bool is_described);
  static Way way_of(Oid type, Format format) noexcept;
  Result<> append_other(int column, std::string_view bytes, NewRow& row, std::size_t text_max);

  std::vector<Oid> types_;
  std::vector<Way> ways_;
  std::vector<Format> formats_;
  std::string names_;  // The names of the columns, each followed by a zero byte.
  Buffer scratch_;
};

}  // namespace keel::db::postgres
