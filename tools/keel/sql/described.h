// A database's description of a statement: its parameters, and the columns of its rows.
//
// It has the same form for every database; a Checker makes it (sql/checker.h).

#pragma once

#include <string>
#include <vector>

namespace keel::sql {

struct Described {
  struct Parameter {
    std::string name;          // "1", "sku"
    std::string type;          // The type as in sql/schema.h, or "": unknown.
    bool is_nullable = false;  // The parameter is assigned to a column that may be null, or is tested for null.
    // The table of the column that the parameter is assigned to or compared with, if there is one.
    std::string table;
    std::string column;
    std::string other_type;  // A second type that the parameter is used as, which conflicts with `type`.
  };
  struct Column {
    std::string name;
    std::string type;         // The type as in sql/schema.h, or "": unknown.
    bool is_nullable = true;  // Also true if it is not known.
    std::string table;        // The table that the values come from, if this is a column of a table.
    std::string column;
    // Set when databases give the column different types and its type is not stated: names the types, and says how to
    // resolve the conflict.
    std::string conflict;
  };
  std::vector<Parameter> parameters;  // They are in the order of their first use.
  std::vector<Column> columns;        // Empty: the statement returns no rows.
  bool is_readonly = false;
};

}  // namespace keel::sql
