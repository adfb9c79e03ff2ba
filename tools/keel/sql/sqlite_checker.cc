#include "sql/sqlite_checker.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "keel/base/ascii.h"
#include "keel/db/sqlite/connection.h"
#include "keel/db/sqlite/migrations.h"
#include "sql/inference.h"
#include "sql/insert_check.h"
#include "sql/lexemes.h"
#include "sql/schema.h"
#include "sql/words.h"

namespace keel::sql {
namespace {

using db::sqlite::Connection;

// The text after `words` in `message`, up to `end` or, without `end`, to the end of the message.
std::optional<std::string_view> behind(std::string_view message, std::string_view words, std::string_view end = {}) {
  const std::size_t at = message.find(words);
  if (at == message.npos) return std::nullopt;
  std::string_view rest = message.substr(at + words.size());
  return end.empty() ? rest : rest.substr(0, rest.find(end));
}

bool is_name_byte(char c) noexcept {
  return ascii::is_alphanumeric(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

// The position where `name` stands in `text` as a whole word.
std::optional<std::size_t> find_word(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at + name.size() <= text.size(); ++at) {
    if (!is_same_name(text.substr(at, name.size()), name)) continue;
    const bool begins = at == 0 || !is_name_byte(text[at - 1]);
    const std::size_t end = at + name.size();
    if (begins && (end == text.size() || !is_name_byte(text[end]))) return at;
  }
  return std::nullopt;
}

class SqliteChecker final : public Checker {
 public:
  SqliteChecker(std::unique_ptr<Connection> connection, int migrations, Schema schema)
      : connection_(std::move(connection)), migrations_(migrations), schema_(std::move(schema)) {}

  int migrations() const noexcept override { return migrations_; }

  std::optional<Mistake> check(const Statement& statement) override {
    if (const std::size_t nul = statement.text.find('\0'); nul != std::string::npos) {
      return Mistake{"the statement has a NUL byte, at which SQLite stops reading", nul};
    }
    auto prepared = connection_->prepare(statement.text);
    if (!prepared) return explain(statement.text, prepared.error());
    if (const std::optional<StatementTree> tree = parse_statement(statement.text)) {
      if (auto mistake = find_missing_columns(schema_, *tree, statement.text)) return mistake;
    }
    return find_wrong_call(statement, static_cast<std::size_t>(prepared->columns()));
  }

  std::optional<Mistake> describe(std::string_view text, Described& to) override {
    if (const std::size_t nul = text.find('\0'); nul != text.npos) {
      return Mistake{"the statement has a NUL byte, at which SQLite stops reading", nul};
    }
    auto prepared = connection_->prepare(text);
    if (!prepared) return explain(text, prepared.error());
    const std::optional<StatementTree> tree = parse_statement(text);
    if (tree) {
      if (auto mistake = find_missing_columns(schema_, *tree, text)) return mistake;
    }
    const std::optional<Described> inferred = tree ? infer(schema_, *tree) : std::nullopt;
    Described described;
    described.is_readonly = prepared->is_readonly();
    add_columns(prepared->handle(), inferred ? &*inferred : nullptr, described);
    db::for_each_placeholder(text, [&](const db::Placeholder& placeholder) {
      const auto is_it = [&](const Described::Parameter& one) { return one.name == placeholder.name; };
      if (std::ranges::any_of(described.parameters, is_it)) return;
      Described::Parameter parameter;
      parameter.name = placeholder.name;
      if (inferred) {
        const auto known = std::ranges::find_if(inferred->parameters, is_it);
        if (known != inferred->parameters.end()) parameter = *known;
      }
      described.parameters.push_back(std::move(parameter));
    });
    to = std::move(described);
    return std::nullopt;
  }

  std::optional<Mistake> set_type(std::string_view table, std::string_view column, std::string_view type) override {
    for (Table& known : schema_.tables) {
      if (!is_same_name(known.name, table)) continue;
      for (Column& one : known.columns) {
        if (!is_same_name(one.name, column)) continue;
        one.type = type;
        one.is_said = true;
        return std::nullopt;
      }
      return Mistake{"no such column: " + std::string(table) + '.' + std::string(column) +
                         meant(column, column_names(known), known.name + " has "),
                     std::nullopt};
    }
    return Mistake{"no such table: " + std::string(table) + meant(table, table_names(), "the tables are "),
                   std::nullopt};
  }

 private:
  Mistake explain(std::string_view text, const Error& error) const {
    // If an error does not come from SQLite, SQLite's last message is about something else.
    const std::string_view message = sqlite3_errmsg(connection_->handle());
    if (sqlite3_errcode(connection_->handle()) == SQLITE_OK || !error.message().contains(message)) {
      return {std::string(error.message()), std::nullopt};
    }
    const int offset = sqlite3_error_offset(connection_->handle());
    return {std::string(message) + cure(text, message),
            offset >= 0 ? std::optional(static_cast<std::size_t>(offset)) : place(text, message)};
  }

  // If SQLite reports no place, this is the place of the name that the message contains.
  static std::optional<std::size_t> place(std::string_view text, std::string_view message) {
    for (const std::string_view words : {"no such table: ", "no such column: ", " has no column named "}) {
      if (const auto name = behind(message, words)) return find_word(text, *name);
    }
    return std::nullopt;
  }

  std::string cure(std::string_view text, std::string_view message) const {
    if (const auto table = behind(message, "no such table: ")) return meant(*table, table_names(), "the tables are ");
    if (const auto table = behind(message, "table ", " has no column named ")) {
      if (const auto column = behind(message, " has no column named ")) {
        for (const Table& known : schema_.tables) {
          if (is_same_name(known.name, *table)) return meant(*column, column_names(known), known.name + " has ");
        }
      }
    }
    if (const auto column = behind(message, "no such column: ")) {
      std::vector<std::string> columns;
      for (const Table& table : schema_.tables) {
        if (!find_word(text, table.name)) continue;
        for (const Column& one : table.columns) columns.push_back(one.name);
      }
      return meant(column->substr(column->rfind('.') + 1), columns, "the columns are ");
    }
    return "";
  }
  std::vector<std::string> table_names() const {
    std::vector<std::string> names;
    for (const Table& table : schema_.tables) names.push_back(table.name);
    return names;
  }
  static std::vector<std::string> column_names(const Table& table) {
    std::vector<std::string> names;
    for (const Column& column : table.columns) names.push_back(column.name);
    return names;
  }

  static std::string text_of(const char* text) { return text == nullptr ? std::string() : std::string(text); }

  // The facts that SQLite itself reports about a column.
  Described::Column column_of(sqlite3_stmt* statement, int index) const {
    Described::Column column;
    column.name = text_of(sqlite3_column_name(statement, index));
    column.table = text_of(sqlite3_column_table_name(statement, index));
    column.column = text_of(sqlite3_column_origin_name(statement, index));
    if (const Table* const table = schema_.find(column.table)) {
      if (const Column* const origin = find_column(*table, column.column)) column.type = origin->type;
    }
    return column;
  }
  void add_columns(sqlite3_stmt* statement, const Described* inferred, Described& to) const {
    const int count = sqlite3_column_count(statement);
    if (inferred != nullptr && static_cast<int>(inferred->columns.size()) != count) inferred = nullptr;
    for (int i = 0; i < count; ++i) {
      Described::Column column = column_of(statement, i);
      const Described::Column* const own =
          inferred == nullptr ? nullptr : &inferred->columns[static_cast<std::size_t>(i)];
      const bool agree =
          own != nullptr && (own->table.empty() || column.table.empty() ||
                             (is_same_name(own->table, column.table) && is_same_name(own->column, column.column)));
      if (agree) {
        column.is_nullable = own->is_nullable;
        if (!own->type.empty()) column.type = own->type == "any" ? "" : own->type;
      }
      to.columns.push_back(std::move(column));
    }
  }

  std::unique_ptr<Connection> connection_;
  int migrations_;
  Schema schema_;
};

// The text after `as` in `create view … as select …`.
std::string select_of(std::string_view create) {
  for (const Lexeme& lexeme : lexemes_of(create)) {
    if (lexeme.is("as")) return std::string(create.substr(lexeme.offset + lexeme.text.size()));
  }
  return {};
}

Result<Schema> schema_of(Connection& connection) {
  Schema schema;
  struct Facts {
    bool is_strict = false;
    bool has_rowid = true;
    int keys = 0;  // How many of the table's columns are in the primary key.
  };
  std::vector<Facts> facts;
  auto add_table = [&](const db::Row& row) {
    const bool is_view = row.text(1) == "view";
    schema.tables.push_back({std::string(row.text(0)), {}, is_view, is_view ? select_of(row.text(2)) : "", false});
    facts.push_back({row.integer(3) != 0, row.integer(4) == 0, 0});
  };
  KEEL_TRY_VOID(connection.query(
      "select t.name, t.type, coalesce(t.sql, ''), l.strict, l.wr from sqlite_schema t join pragma_table_list l on "
      "l.name = t.name and l.schema = 'main' where t.type in ('table', 'view') and t.name not like 'sqlite\\_%' escape "
      "'\\' and t.name not like 'keel\\_migration%' escape '\\' order by t.name",
      add_table));
  for (std::size_t i = 0; i < schema.tables.size(); ++i) {
    Table& table = schema.tables[i];
    const auto add_column = [&](const db::Row& row) {
      if (row.integer(3) != 0) ++facts[i].keys;
    };
    const std::string_view name = table.name;
    KEEL_TRY_VOID(
        connection.query("select name, type, \"notnull\", pk, hidden from pragma_table_xinfo($1)", add_column, name));
    const auto add = [&](const db::Row& row) {
      const bool is_key = row.integer(3) != 0;
      const bool is_rowid = is_key && facts[i].keys == 1 && facts[i].has_rowid && is_same_name(row.text(1), "integer");
      const bool is_there = row.integer(2) != 0 || is_rowid || (is_key && (facts[i].is_strict || !facts[i].has_rowid));
      table.columns.push_back({std::string(row.text(0)),
                               std::string(type_of_declaration(row.text(1), facts[i].is_strict)), !is_there,
                               row.integer(4) != 0, false, is_rowid || !row.is_null(5)});
    };
    KEEL_TRY_VOID(connection.query("select name, type, \"notnull\", pk, hidden, dflt_value from pragma_table_xinfo($1)",
                                   add, name));
  }
  return schema;
}

}  // namespace

Result<std::unique_ptr<Checker>> make_sqlite_checker(const std::string& migrations) {
  KEEL_TRY(auto connection, Connection::open({.path = ":memory:", .synchronous = db::sqlite::Synchronous::Off}));
  KEEL_TRY(const db::Migrated migrated, db::sqlite::migrate(*connection, migrations));
  KEEL_TRY(Schema schema, schema_of(*connection));
  return std::make_unique<SqliteChecker>(std::move(connection), migrated.applied, std::move(schema));
}

}  // namespace keel::sql
