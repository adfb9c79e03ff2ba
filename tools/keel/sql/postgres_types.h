// PostgreSQL's types as those of queries (sql/schema.h), as db/postgres/types.h reads and takes them.

#pragma once

#include <string_view>

#include "keel/db/postgres/oid.h"

namespace keel::sql {

// Of a column that is read. What has no type of its own is text, as it is read: numeric, date, interval, arrays, enums.
std::string_view type_of_oid(db::postgres::Oid type) noexcept;

}  // namespace keel::sql
