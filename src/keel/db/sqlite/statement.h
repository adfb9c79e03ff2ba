// keel/db/sqlite/statement.h — one prepared SQLite statement.
//
// Connection::prepare() makes a Statement. run() binds the values, steps to the end, captures the rows, and resets the
// statement for the next run, so the statement holds no snapshot or lock between calls. With fetch(), the statement
// holds a snapshot between calls.
//
// Errors:   those of Connection.
// Lifetime: must be destroyed before its Connection.
// Threads:  one at a time.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/db/row.h"
#include "keel/db/value.h"

struct sqlite3;
struct sqlite3_stmt;

namespace keel::db::sqlite {

// The default limit for the memory of a result's rows.
inline constexpr std::size_t rows_bytes_max_default = 64u << 20;

class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept { *this = std::move(other); }
  // The statement that this object held before is destroyed together with `other`.
  Statement& operator=(Statement&& other) noexcept {
    std::swap(statement_, other.statement_);
    std::swap(parameters_, other.parameters_);
    std::swap(is_readonly_, other.is_readonly_);
    std::swap(names_, other.names_);
    std::swap(named_, other.named_);
    return *this;
  }
  ~Statement();

  // Runs the statement once with `values` for $1, $2, …, and appends the rows to `rows`, which must be empty.
  // InvalidArgument: the number of values differs from the number of parameters. ResourceExhausted: the rows take more
  // than `rows_bytes_max` bytes. After an error, `rows` may contain some rows, which the caller must discard.
  Result<> run(std::span<const Value> values, Rows& rows, std::size_t rows_bytes_max = rows_bytes_max_default);
  // To run the statement and get its rows in parts, call begin(), and then fetch() until it returns false. Until
  // fetch() returns false, `values` and their bytes must not change. fetch() appends at least one row, and stops when
  // the rows have `bytes` bytes; it returns false if no rows remain. After fetch() has returned false or an error, the
  // statement is ready for the next run. From begin() until fetch() returns false or an error, the statement holds a
  // snapshot.
  Result<> begin(std::span<const Value> values) { return bind(values); }
  Result<bool> fetch(Rows& rows, std::size_t bytes);
  // Sets the column names of `rows`, unless `rows` is empty.
  void name_columns(Rows& rows);
  // Does the same as the run() above, but discards the rows.
  Result<> run(std::span<const Value> values = {});

  int parameters() const noexcept { return parameters_; }
  int columns() const noexcept;
  std::string_view column_name(int column) const noexcept;
  // Whether the statement does not change the database.
  bool is_readonly() const noexcept { return is_readonly_; }
  sqlite3_stmt* handle() const noexcept { return statement_; }

 private:
  friend class Connection;
  explicit Statement(sqlite3_stmt* statement) noexcept;
  Result<> bind(std::span<const Value> values);
  Result<> finish(int code);
  bool is_right_still() const noexcept;

  sqlite3_stmt* statement_ = nullptr;
  int parameters_ = 0;
  bool is_readonly_ = false;
  Buffer names_;   // The names of the columns, each followed by a zero byte.
  int named_ = 0;  // The preparation from which `names_` comes: 1 is the first; 0: none.
};

}  // namespace keel::db::sqlite
