// Converts PostgreSQL's types to those of queries (sql/schema.h), as db/postgres/types.h reads and accepts them.

#pragma once

#include <string_view>

#include "keel/db/postgres/oid.h"

namespace keel::sql {

// The type of a column that is read. Types without a counterpart, such as interval, arrays and enums, are read as text,
// so they become "text".
std::string_view type_of_oid(db::postgres::Oid type) noexcept;

}  // namespace keel::sql
