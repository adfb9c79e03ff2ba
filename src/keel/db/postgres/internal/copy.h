// keel/db/postgres/internal/copy.h — a running COPY, shared by the task that waits for it and its connection.
//
// The task owns it. The connection points to it from the server's CopyInResponse or CopyOutResponse until the COPY is
// over or left (Connection::leave_copy).

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
  std::int64_t count = 0;  // The number of rows, as counted by the server.
  Event has_moved;         // Set when bytes were sent, rows have come, or it is over.
  // For incoming rows:
  CopyReader reader;
  const Columns* columns = nullptr;  // Valid until it is over; then the rows have their names.
  Rows rows;
  void take(Rows& into) {
    if (columns != nullptr) columns->name(rows);
    into.clear();
    std::swap(into, rows);
  }
};

}  // namespace keel::db::postgres::internal
