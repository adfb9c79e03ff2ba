// keel/db/postgres/internal/copy.h — the state that the task of a COPY shares with its connection.
//
// Ownership: the task's. The connection holds a pointer to this state from the server's CopyInResponse or
//            CopyOutResponse until the COPY has ended or is abandoned (Connection::leave_copy).

#pragma once

#include <cstddef>
#include <cstdint>

#include "keel/base/result.h"
#include "keel/db/postgres/copy_reader.h"
#include "keel/db/row.h"
#include "keel/task/event.h"

namespace keel::db::postgres::internal {

class Connection;

struct Copy {
  Connection* connection = nullptr;  // Null before the COPY has begun, and after it has ended.
  bool is_over = false;
  Result<> result;         // Valid if `is_over`.
  std::int64_t count = 0;  // The number of rows that the server reports.
  Event has_moved;         // Set when bytes have been sent, when rows have arrived, or when the COPY has ended.
  // The members below are for a COPY that receives rows:
  CopyReader reader;
  // Null after the end of the COPY, when the column names have been copied into the rows.
  const Columns* columns = nullptr;
  Rows rows;
  void take(Rows& into) {
    if (columns != nullptr) columns->name(rows);
    into.clear();
    std::swap(into, rows);
  }
};

}  // namespace keel::db::postgres::internal
