// The queries of a program, checked by a database: the input of the code generator.

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
  std::string name;  // The name of the column, or of the parameter.
  std::string type;  // The type in C++, without std::optional.
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

// One of the statements that make up a query.
struct Variant {
  std::string text;                    // Its parameters are $1, $2, …
  std::vector<std::size_t> arguments;  // For each parameter, its index among the function's parameters.
};

struct Function {
  struct Parameter : Field {
    // A bool parameter that no statement uses as a value; it decides whether a block is included.
    bool is_switch = false;
  };
  const Query* query = nullptr;
  std::vector<Parameter> parameters;
  // Parameters that have blocks. Each is a bit of a variant's number; the first is bit 0.
  std::vector<std::size_t> filters;
  std::vector<Variant> variants;  // Ordered by the number of the sort order, then by the blocks.
  std::vector<Field> columns;
  std::string row;               // The type in C++; "" when there are no rows.
  bool is_row_declared = false;  // Whether the program declares that type itself.
  std::string parameter_struct;  // The struct of the parameters; "" if each parameter is an argument of the function.
  bool is_parameter_struct_declared = false;
  std::string sort;  // The enum of the query's sort orders, or "".
};

struct Catalog {
  struct File {
    std::size_t source = 0;  // The number of the file among those of the problems.
    std::string stem;        // "users" of users.sql
    QueryFile queries;
    std::vector<Function> functions;
    std::vector<Struct> structs;  // Structs of parameters.
  };
  std::vector<File> files;
  std::vector<Struct> rows;
  std::vector<std::string> includes;  // The program's headers as written, in order, each once.
};

// The statements of one query: one for each combination of its blocks, times its sort orders. Each statement is
// checked, and becomes a constant of the generated code.
inline constexpr std::size_t statements_max = 512;
inline constexpr std::size_t filters_max = 8;
inline constexpr std::size_t sorts_max = 8;
inline constexpr std::size_t columns_max = 40;   // The limit of data/fields.h.
inline constexpr std::size_t arguments_max = 4;  // A struct is used for more parameters, or for optional ones.

// The files are identified by their numbers in `problems`. Mistakes are added to `problems`; then the catalog must not
// be used.
Catalog make_catalog(const std::vector<std::size_t>& sources, Checker& checker, Problems& problems);

}  // namespace keel::sql
