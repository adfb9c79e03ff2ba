// The tables of a database, as its migrations make them.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::sql {

struct Column {
  std::string name;
  std::string type;  // "int64", "real", "text", "blob", "bool", "timestamp", "uuid"; "" is any.
  bool is_nullable = true;
  bool is_generated = false;
  bool is_said = false;      // The type is its author's, and not its declaration's.
  bool has_default = false;  // An insert may leave it out: a default, a row number, an identity.
};

struct Table {
  std::string name;
  std::vector<Column> columns;
  bool is_view = false;
  std::string select;        // Of a view: what it selects.
  bool has_trigger = false;  // One that runs before an insert and may give columns a value.
};

struct Schema {
  std::vector<Table> tables;

  // Whatever the case; null: there is none.
  const Table* find(std::string_view name) const noexcept;
};

const Column* find_column(const Table& table, std::string_view name) noexcept;

// Whether two names are the same, whatever their case.
bool is_same_name(std::string_view a, std::string_view b) noexcept;

// The type of a column that is declared so in SQLite, or of `cast(… as declared)`.
std::string_view type_of_declaration(std::string_view declared, bool is_strict);

}  // namespace keel::sql
