// keel/db/postgres/copy.h — receives the rows that the body of Database::copy_in() writes, and sends them to a table
// with COPY.
//
//   Task<> fill(db::postgres::CopyRows<Line>& rows) {
//     while (const auto line = co_await next_line()) co_await rows.write(*line);
//   }
//   const std::size_t count = co_await database.copy_in<Line>("lines", fill);
//
// Result:    write() completes when the row is in a buffer; the row may be sent later. The buffer is sent in parts of
//            64 KiB, no faster than the server reads them, so memory is bounded.
// Errors:    write() returns the server's error if the server has ended the COPY; the error names the line of the row,
//            counted from 1 ("COPY lines, line 3, column quantity"). InvalidArgument: a text contains a zero byte; this
//            error names the line, too. After an error, no row is stored, whatever the body does afterwards.
// Threads:   the loop of the COPY; one write at a time.
// Lifetime:  valid while the body of copy_in() runs.
// Cost:      no heap in steady state.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/data/fields.h"
#include "keel/db/session.h"
#include "keel/db/value.h"
#include "keel/task/task.h"

namespace keel::db::postgres {

class Database;
namespace internal {
struct Copy;
}

// Takes rows of values that need not be members of a struct; CopyRows is built on it.
class CopySink {
 public:
  CopySink(const CopySink&) = delete;
  CopySink& operator=(const CopySink&) = delete;

  // Encodes one row. The caller must await the returned task before it writes the next row.
  Task<> write(std::span<const Value> values) {
    append(values);
    return settle();
  }

 private:
  friend class Database;
  template <class T>
  friend class CopyRows;
  explicit CopySink(internal::Copy& copy) noexcept : copy_(copy) {}
  void append(std::span<const Value> values);
  Task<> settle();
  Task<> send();
  Task<> finish();

  internal::Copy& copy_;
  Buffer rows_;
  std::int64_t line_ = 0;
  Result<> failed_;
};

// Takes the rows of a copy_in(), each of which is a T.
template <class T>
class CopyRows {
 public:
  explicit CopyRows(CopySink& sink) noexcept : sink_(sink) {}

  Task<> write(const T& row) {
    append(row);
    return sink_.settle();
  }
  Task<> write(std::span<const T> rows) {
    for (const T& row : rows) {
      append(row);
      co_await sink_.settle();
    }
  }
  // This overload exists only so that the compiler gives a clear message when the struct is created within the call.
  template <db::internal::MadeInCall A>
  Task<> write(A&&) {
    db::internal::refuse_made_in_call<A>();
  }

 private:
  void append(const T& row) {
    Fields<T>::visit(row, [&](const auto&... field) {
      static_assert((StatementArgument<std::remove_cvref_t<decltype(field)>> && ...),
                    "each field of a row must have a type that a column can hold (db/sql.h)");
      with_values([&](std::span<const Value> values) { sink_.append(values); }, field...);
    });
  }
  CopySink& sink_;
};

namespace internal {
// Returns `copy "lines" ("sku", "quantity") from stdin`. A dot in `table` separates the schema from the name of the
// table.
std::string copy_text(std::string_view table, std::span<const std::string_view> columns);
}  // namespace internal

}  // namespace keel::db::postgres
