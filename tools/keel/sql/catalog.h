// The queries of a program, checked by a database: what is generated from them.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/checker.h"
#include "sql/problems.h"
#include "sql/query_file.h"

namespace keel::sql {

struct Field {
  std::string name;  // Of the column, or of the parameter.
  std::string type;  // Of C++, without std::optional.
  bool is_optional = false;
  Place place;

  std::string cpp_name() const;  // With a '_' where the name is a keyword.
  std::string cpp_type() const;
};

struct Struct {
  std::string name;
  std::vector<Field> fields;
  Place place;
};

// One of the statements that a query is.
struct Variant {
  std::string text;                    // Its parameters are $1, $2, …
  std::vector<std::size_t> arguments;  // The place of each among the function's parameters.
};

struct Function {
  struct Parameter : Field {
    bool is_switch = false;  // A bool that no statement has: whether a block is there.
  };
  const Query* query = nullptr;
  std::vector<Parameter> parameters;
  std::vector<std::size_t> filters;  // Parameters that have blocks; each is a bit of a variant's number, the first 1.
  std::vector<Variant> variants;     // By the number of the order, then by the blocks.
  std::vector<Field> columns;
  std::string row;               // Of C++; "" when there are no rows.
  bool is_row_declared = false;  // By the program.
  std::string parameter_struct;  // "": each parameter is an argument.
  bool is_parameter_struct_declared = false;
  std::string sort;  // The enum of its orders, or "".
};

struct Catalog {
  struct File {
    std::size_t source = 0;  // Among those of the problems.
    std::string stem;        // "users" of users.sql
    QueryFile queries;
    std::vector<Function> functions;
    std::vector<Struct> structs;  // Of parameters.
  };
  std::vector<File> files;
  std::vector<Struct> rows;
  std::vector<std::string> includes;  // Of the program, as they are written, in order, each once.
};

inline constexpr std::size_t filters_max = 4;
inline constexpr std::size_t sorts_max = 8;
inline constexpr std::size_t columns_max = 40;   // As data/fields.h has it.
inline constexpr std::size_t arguments_max = 4;  // More parameters than that, and optional ones, are a struct.

// The files are those of `problems`, by their numbers. What is wrong is added there, and then the catalog is of no use.
Catalog make_catalog(const std::vector<std::size_t>& sources, Checker& checker, Problems& problems);

}  // namespace keel::sql
