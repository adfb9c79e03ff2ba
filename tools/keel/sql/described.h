// A database's description of a statement: its parameters, and the columns of its rows.
//
// It is the same for every database; a Checker makes it (sql/checker.h).

#pragma once

#include <string>
#include <vector>

namespace keel::sql {

struct Described {
  struct Parameter {
    std::string name;          // "1", "sku"
    std::string type;          // The type as in sql/schema.h, or "": unknown.
    bool is_nullable = false;  // The parameter is assigned to a column that may be null, or is tested for null.
    std::string table;         // The table of the column that it is assigned to or compared with, if there is one.
    std::string column;
    std::string other_type;  // The parameter is also used as this type.
  };
  struct Column {
    std::string name;
    std::string type;         // The type as in sql/schema.h, or "": unknown.
    bool is_nullable = true;  // True also if this is unknown.
    std::string table;        // The table of its values, if it is a column of a table.
    std::string column;
    // It is set when databases give it different types and its type is not stated: names the types, and says how to
    // resolve this.
    std::string conflict;
  };
  std::vector<Parameter> parameters;  // They are in the order of their first use.
  std::vector<Column> columns;        // Empty: the statement returns no rows.
  bool is_readonly = false;
};

}  // namespace keel::sql
