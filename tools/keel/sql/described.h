// What a database says of a statement: its parameters, and the columns of its rows.
//
// The same for every database; who describes it is a Checker (sql/checker.h).

#pragma once

#include <string>
#include <vector>

namespace keel::sql {

struct Described {
  struct Parameter {
    std::string name;          // "1", "sku"
    std::string type;          // As of sql/schema.h, or "": not known.
    bool is_nullable = false;  // It goes into a column that may be null, or is asked whether it is.
    std::string table;         // Of the column that it goes into or is compared with, where there is one.
    std::string column;
    std::string other_type;  // It is used as this, too.
  };
  struct Column {
    std::string name;
    std::string type;         // As of sql/schema.h, or "": not known.
    bool is_nullable = true;  // Where it is not known that it is not.
    std::string table;        // Where its values are, when it is a column of a table.
    std::string column;
    std::string conflict;  // Databases give it other types: which, and the cure, unless its type is said.
  };
  std::vector<Parameter> parameters;  // In the order in which they first come.
  std::vector<Column> columns;        // None: the statement gives no rows.
  bool is_readonly = false;
};

}  // namespace keel::sql
