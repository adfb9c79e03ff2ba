#include "sql/insert_check.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "sql/lexemes.h"

namespace keel::sql {
namespace {

// The number of values in each row; nothing if it is unknown.
std::optional<std::size_t> values_of(const StatementTree& tree) {
  if (tree.select == nullptr) return 0;  // default values
  if (tree.select->cores.size() != 1) return std::nullopt;
  const Core& core = tree.select->cores[0];
  if (!core.values.empty()) return core.values[0].size();
  if (std::ranges::any_of(core.items, [](const Item& item) { return !item.value; })) return std::nullopt;
  return core.items.size();
}

std::optional<std::size_t> place_of(std::string_view text, std::string_view table) {
  for (const Lexeme& lexeme : lexemes_of(text)) {
    const bool is_name = lexeme.kind == Lexeme::Kind::Word || lexeme.kind == Lexeme::Kind::Quoted;
    if (is_name && is_same_name(lexeme.value(), table)) return lexeme.offset;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Mistake> find_missing_columns(const Schema& schema, const StatementTree& tree, std::string_view text) {
  if (tree.kind != StatementTree::Kind::Insert) return std::nullopt;
  const Table* const table = schema.find(tree.table);
  if (table == nullptr || table->is_view || table->has_trigger) return std::nullopt;
  std::optional<std::size_t> given;
  if (tree.columns.empty()) {
    given = values_of(tree);
    if (!given) return std::nullopt;
  }
  std::string missing;
  std::string names;
  std::size_t number = 0;  // The column's position among the columns to which an insert can give a value.
  for (const Column& column : table->columns) {
    if (column.is_generated) continue;
    const std::size_t place = number++;
    if (column.is_nullable || column.has_default) continue;
    const bool has_value =
        given ? place < *given
              : std::ranges::any_of(
                    tree.columns, [&](const std::string& name) { return is_same_name(name, column.name); });
    if (has_value) continue;
    missing += (missing.empty() ? "" : " and ") + table->name + '.' + column.name;
    names += (names.empty() ? "" : ", ") + column.name;
  }
  if (missing.empty()) return std::nullopt;
  const bool is_one = names.find(',') == std::string::npos;
  return Mistake{missing + (is_one ? " is" : " are") + " not null and without a default, and the insert gives " +
                     (is_one ? "it" : "them") + " no value: add " + names + " to its columns",
                 place_of(text, tree.table)};
}

}  // namespace keel::sql
