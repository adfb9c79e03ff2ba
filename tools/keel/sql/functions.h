// The result types of SQLite's functions.

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sql/syntax.h"

namespace keel::sql {

struct FunctionArgument {
  std::string type;
  bool is_nullable = true;
  bool is_literal = false;
  bool is_open = false;  // The argument is null or a parameter, which takes the type of the other arguments.
};
struct FunctionResult {
  std::string type;
  bool is_nullable = true;
};

// `is_of_group`: every aggregate has at least one row.
FunctionResult result_of(const Expression& call, std::span<const FunctionArgument> arguments, bool is_of_group);

// Whether the expression is an aggregate such as count(…), and not over a window.
bool is_aggregate(const Expression& call);
// Searches the whole expression, except its subqueries.
bool has_aggregate(const Expression& expression);

// Whether the function's arguments have the type of its result: coalesce(a, b).
bool passes_arguments(std::string_view function);
bool takes_text(std::string_view function, std::size_t argument);

}  // namespace keel::sql
