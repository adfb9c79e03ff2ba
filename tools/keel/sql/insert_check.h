// Finds columns that an insert leaves out although these columns are `not null` and have no default.

#pragma once

#include <optional>
#include <string_view>

#include "sql/checker.h"
#include "sql/schema.h"
#include "sql/syntax.h"

namespace keel::sql {

// A mistake at the table's name: "orders.created_at is not null and has no default, and …".
std::optional<Mistake> find_missing_columns(const Schema& schema, const StatementTree& tree, std::string_view text);

}  // namespace keel::sql
