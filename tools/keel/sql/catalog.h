// The queries of a program after a database has checked them: the input of the code generator.

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
  std::string name;  // The name of the column or the parameter.
  std::string type;  // The C++ type, without the std::optional.
  bool is_optional = false;
  Place place;

  std::string cpp_name() const;  // The name, with a trailing '_' if it is a C++ keyword.
  std::string cpp_type() const;
};

struct Struct {
  std::string name;
  std::vector<Field> fields;
  Place place;
};

// One of the statements that a query can become.
struct Variant {
  std::string text;                    // The text, with parameters $1, $2, …
  std::vector<std::size_t> arguments;  // For each parameter, its index among the function's parameters.
};

struct Function {
  struct Parameter : Field {
    // Whether this is a bool parameter that only decides whether a block is included; no statement uses its value.
    bool is_switch = false;
  };
  const Query* query = nullptr;
  std::vector<Parameter> parameters;
  // The indices of the parameters that have blocks. Each parameter with a block is one bit in the number of a variant;
  // the first parameter with a block is bit 0.
  std::vector<std::size_t> filters;
  std::vector<Variant> variants;  // The variants, ordered by the number of the sort order, then by the blocks.
  std::vector<Field> columns;
  std::string row;               // The C++ type of a row; "" if the query returns no rows.
  bool is_row_declared = false;  // Whether the program itself declares the type `row`.
  // The name of the struct of the parameters; "" if each parameter is an argument of the function.
  std::string parameter_struct;
  bool is_parameter_struct_declared = false;
  std::string sort;  // The enum of the query's sort orders, or "".
};

struct Catalog {
  struct File {
    std::size_t source = 0;  // The number by which `problems` identifies the file.
    std::string stem;        // "users" of users.sql
    QueryFile queries;
    std::vector<Function> functions;
    std::vector<Struct> structs;  // Structs of parameters.
  };
  std::vector<File> files;
  std::vector<Struct> rows;
  std::vector<std::string> includes;  // The program's headers to include, as written, in order, each once.
};

// The maximum number of statements that are generated from one query: one statement for each combination of its blocks
// with one of its sort orders. Each statement is checked, and becomes a constant in the generated code.
inline constexpr std::size_t statements_max = 512;
inline constexpr std::size_t filters_max = 8;
inline constexpr std::size_t sorts_max = 8;
// The maximum number of columns in a row, which is the limit of data/fields.h.
inline constexpr std::size_t columns_max = 40;
// If there are more parameters than this, or optional parameters, all parameters are passed in a struct.
inline constexpr std::size_t arguments_max = 4;

// Each source is identified by its number in `problems`. Adds mistakes to `problems`; if any mistake was added, do not
// use the catalog.
Catalog make_catalog(const std::vector<std::size_t>& sources, Checker& checker, Problems& problems);

}  // namespace keel::sql
