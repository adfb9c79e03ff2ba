// keel/db/postgres/internal/copy.h — a COPY that has begun: between the task that waits for it, and its connection.
//
// The task owns it. The connection points at it from the server's CopyInResponse or CopyOutResponse on, until the COPY
// is over or left (Connection::leave_copy).

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
  Connection* connection = nullptr;  // Null: it has not begun, or it is over.
  bool is_over = false;
  Result<> result;         // When it is over.
  std::int64_t count = 0;  // Rows, as the server counts them.
  Event has_moved;         // Bytes were sent, rows have come, or it is over.
  // Of what comes:
  CopyReader reader;
  const Columns* columns = nullptr;  // Until it is over; then the rows have their names.
  Rows rows;
  void take(Rows& into) {
    if (columns != nullptr) columns->name(rows);
    into.clear();
    std::swap(into, rows);
  }
};

}  // namespace keel::db::postgres::internal
