#include "sql/functions.h"

#include <algorithm>

namespace keel::sql {
namespace {

template <std::size_t Count>
bool is_among(std::string_view name, const std::string_view (&names)[Count]) {
  return std::ranges::find(names, name) != std::end(names);
}

constexpr std::string_view aggregates[] = {
    "count", "sum", "total", "avg", "group_concat", "string_agg", "json_group_array", "json_group_object"};
// Functions that return a text, or null if an argument is null.
constexpr std::string_view texts[] = {"lower", "upper", "trim", "ltrim", "rtrim", "replace", "substr", "substring"};
constexpr std::string_view never_null_texts[] = {"hex", "quote", "typeof", "char", "sqlite_version"};
constexpr std::string_view integers[] = {"length", "instr", "sign"};
constexpr std::string_view never_null_integers[] = {"changes",    "total_changes", "last_insert_rowid", "random",
                                                    "row_number", "rank",          "dense_rank",        "ntile"};
constexpr std::string_view dates[] = {"date", "time", "datetime", "strftime"};
constexpr std::string_view nullable_reals[] = {"sqrt", "ln",  "log", "log2", "log10", "exp",  "pow",  "power",
                                               "sin",  "cos", "tan", "asin", "acos",  "atan", "atan2"};
constexpr std::string_view windows[] = {"lag", "lead", "first_value", "last_value", "nth_value"};

}  // namespace

bool is_aggregate(const Expression& call) {
  if (call.kind != Expression::Kind::Call || call.is_window) return false;
  if (call.name == "min" || call.name == "max") return call.children.size() == 1;
  return is_among(call.name, aggregates);
}

bool has_aggregate(const Expression& expression) {
  if (is_aggregate(expression)) return true;
  const auto has = [](const Expression& one) { return has_aggregate(one); };
  return std::ranges::any_of(expression.children, has) || std::ranges::any_of(expression.others, has);
}

bool passes_arguments(std::string_view function) {
  return function == "coalesce" || function == "ifnull" || function == "nullif" || function == "min" ||
         function == "max" || function == "abs";
}

bool takes_text(std::string_view function, std::size_t argument) {
  if (function == "substr" || function == "substring") return argument == 0;
  return is_among(function, texts) || function == "length" || function == "instr" || is_among(function, dates);
}

FunctionResult result_of(const Expression& call, std::span<const FunctionArgument> arguments, bool is_of_group) {
  const std::string_view name = call.name;
  const bool has_null = std::ranges::any_of(arguments, &FunctionArgument::is_nullable);
  const bool has_none = arguments.empty();
  const std::string first = has_none ? "" : arguments[0].type;
  // The common type of all arguments except nulls and parameters; "" if there is none.
  std::string common;
  bool is_known = true;
  for (const FunctionArgument& argument : arguments) {
    if (argument.is_open) continue;
    if (argument.type.empty() || (!common.empty() && common != argument.type)) is_known = false;
    common = argument.type;
  }
  if (!is_known) common.clear();

  if (name == "count") return {"int64", false};
  if (name == "total") return {"real", false};
  if (name == "json_group_array" || name == "json_group_object") return {"text", false};
  if (name == "sum")
    return {first == "int64" || first == "real" ? first : first == "bool" ? "int64" : "", has_null || !is_of_group};
  if (name == "avg") return {"real", has_null || !is_of_group};
  if (name == "group_concat" || name == "string_agg") return {"text", has_null || !is_of_group};
  if (name == "min" || name == "max") {
    if (arguments.size() == 1) return {first, has_null || !is_of_group};
    return {common, has_null};
  }
  if (name == "coalesce" || name == "ifnull")
    return {common, std::ranges::all_of(arguments, &FunctionArgument::is_nullable)};
  if (name == "nullif") return {common, true};
  if (name == "iif") {
    if (arguments.size() != 3) return {};
    const FunctionArgument& yes = arguments[1];
    const FunctionArgument& no = arguments[2];
    const std::string type = yes.is_open ? no.type : no.is_open || yes.type == no.type ? yes.type : "";
    return {type, yes.is_nullable || no.is_nullable};
  }
  if (name == "abs") return {first == "int64" || first == "real" ? first : "", has_null};
  if (name == "round") return {"real", has_null};
  if (is_among(name, texts)) return {"text", has_null};
  if (is_among(name, never_null_texts)) return {"text", false};
  if (is_among(name, integers)) return {"int64", has_null || name == "sign"};
  if (is_among(name, never_null_integers)) return {"int64", false};
  if (name == "unicode") return {"int64", true};
  if (name == "percent_rank" || name == "cume_dist") return {"real", false};
  if (name == "zeroblob" || name == "randomblob") return {"blob", has_null};
  if (name == "printf" || name == "format") return {"text", true};
  if (is_among(name, dates) || name == "julianday" || name == "unixepoch") {
    // An invalid date gives null; a literal is assumed to be a valid date.
    const bool is_certain = std::ranges::all_of(arguments, &FunctionArgument::is_literal);
    return {name == "julianday" ? "real" : name == "unixepoch" ? "int64" : "text", !is_certain};
  }
  if (is_among(name, nullable_reals)) return {"real", true};
  if (is_among(name, windows)) return {first, true};
  if (name == "json_valid") return {"bool", has_null};
  if (name == "json_array_length") return {"int64", true};
  if (name == "json_object" || name == "json_array") return {"text", false};
  if (name == "json" || name == "json_set" || name == "json_insert" || name == "json_replace" || name == "json_patch" ||
      name == "json_remove") {
    return {"text", true};
  }
  if (name == "bm25" || name == "pi") return {"real", name != "pi"};
  if (name == "highlight" || name == "snippet") return {"text", true};
  return {};
}

}  // namespace keel::sql
