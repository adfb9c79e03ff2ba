// A database's description of a statement: its parameters, and the columns of its rows.
//
// The description has the same form for every database; a Checker makes it (sql/checker.h).

#pragma once

#include <string>
#include <vector>

namespace keel::sql {

struct Described {
  struct Parameter {
    std::string name;          // "1", "sku"
    std::string type;          // The type as in sql/schema.h; "" if unknown.
    bool is_nullable = false;  // True if the parameter is assigned to a column that may be null, or is tested for null.
    // The table of the column that the parameter is assigned to or compared with; "" if there is no such column.
    std::string table;
    std::string column;
    std::string other_type;  // A second type with which the parameter is used, and which conflicts with `type`; or "".
  };
  struct Column {
    std::string name;
    std::string type;         // The type as in sql/schema.h; "" if unknown.
    bool is_nullable = true;  // Whether the column may be null; true if this is not known.
    std::string table;        // The table that the values come from; "" if they do not come from a column of a table.
    std::string column;
    // If databases give the column different types and the author does not state its type, the text names the types,
    // and says how to resolve the conflict; otherwise "".
    std::string conflict;
  };
  std::vector<Parameter> parameters;  // The parameters, in the order of their first use.
  std::vector<Column> columns;        // The columns; empty if the statement returns no rows.
  bool is_readonly = false;
};

}  // namespace keel::sql
