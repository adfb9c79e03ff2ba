#include "sql/schema.h"

#include <algorithm>

#include "keel/base/ascii.h"
#include "sql/words.h"

namespace keel::sql {

bool is_same_name(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, {}, &ascii::to_lower, &ascii::to_lower);
}

const Table* Schema::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find_if(tables, [&](const Table& one) { return is_same_name(one.name, name); });
  return found == tables.end() ? nullptr : &*found;
}

const Column* find_column(const Table& table, std::string_view name) noexcept {
  const auto found =
      std::ranges::find_if(table.columns, [&](const Column& one) { return is_same_name(one.name, name); });
  return found == table.columns.end() ? nullptr : &*found;
}

std::string_view type_of_declaration(std::string_view declared, bool is_strict) {
  const std::string lower = lower_of(declared);
  const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  if (is_strict) {
    return lower == "int" || lower == "integer" ? "int64"
           : lower == "real"                    ? "real"
           : lower == "text"                    ? "text"
           : lower == "blob"                    ? "blob"
                                                : "";
  }
  if (has("bool")) return "bool";
  if (has("int")) return "int64";
  if (has("timestamp") || has("datetime")) return "timestamp";
  if (lower == "date") return "date";
  if (has("uuid")) return "uuid";
  if (has("char") || has("clob") || has("text") || has("json")) return "text";
  if (has("blob")) return "blob";
  if (has("real") || has("floa") || has("doub")) return "real";
  return "";
}

}  // namespace keel::sql
