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
  // Whether the argument is null or a parameter; a parameter takes the type of the other arguments.
  bool is_open = false;
};
struct FunctionResult {
  std::string type;
  bool is_nullable = true;
};

// `is_of_group` says that every aggregate has at least one row.
FunctionResult result_of(const Expression& call, std::span<const FunctionArgument> arguments, bool is_of_group);

// Whether the expression is an aggregate such as count(…) that is not over a window.
bool is_aggregate(const Expression& call);
// Whether the expression contains an aggregate; subqueries are not searched.
bool has_aggregate(const Expression& expression);

// Whether the function's arguments have the same type as its result, as in coalesce(a, b).
bool passes_arguments(std::string_view function);
bool takes_text(std::string_view function, std::size_t argument);

}  // namespace keel::sql
