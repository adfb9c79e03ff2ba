// The tables of a database after its migrations.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::sql {

struct Column {
  std::string name;
  std::string type;  // "int64", "real", "text", "blob", "bool", "timestamp", "date" or "uuid"; "" means any type.
  bool is_nullable = true;
  bool is_generated = false;
  // Whether the author of the queries states the type, which replaces the type of the declaration.
  bool is_said = false;
  // Whether an insert may leave the column out, because it has a default, or is a row number or an identity.
  bool has_default = false;
};

struct Table {
  std::string name;
  std::vector<Column> columns;
  bool is_view = false;
  std::string select;        // The select of a view; "" for a table.
  bool has_trigger = false;  // Whether the table has a trigger that runs before an insert and may set columns.
};

struct Schema {
  std::vector<Table> tables;

  // Finds a table or a view, ignoring case; null if there is none with this name.
  const Table* find(std::string_view name) const noexcept;
};

const Column* find_column(const Table& table, std::string_view name) noexcept;

// Whether two names are the same, ignoring case.
bool is_same_name(std::string_view a, std::string_view b) noexcept;

// The type of a column with this declaration in SQLite, or of `cast(… as declared)`.
std::string_view type_of_declaration(std::string_view declared, bool is_strict);

}  // namespace keel::sql
