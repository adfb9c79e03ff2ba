#include "sql/sqlite_checker.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "keel/base/ascii.h"
#include "keel/db/sqlite/connection.h"
#include "keel/db/sqlite/migrations.h"

namespace keel::sql {
namespace {

using db::sqlite::Connection;

struct Table {
  std::string name;
  std::vector<std::string> columns;
};

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// What stands behind `words` in `message`, up to `end` or its end.
std::optional<std::string_view> behind(std::string_view message, std::string_view words, std::string_view end = {}) {
  const std::size_t at = message.find(words);
  if (at == message.npos) return std::nullopt;
  std::string_view rest = message.substr(at + words.size());
  return end.empty() ? rest : rest.substr(0, rest.find(end));
}

bool is_same(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, {}, &ascii::to_lower, &ascii::to_lower);
}

bool is_name_byte(char c) noexcept {
  return ascii::is_alphanumeric(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

// Where `name` stands in `text` as a word.
std::optional<std::size_t> find_word(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at + name.size() <= text.size(); ++at) {
    if (!is_same(text.substr(at, name.size()), name)) continue;
    const bool begins = at == 0 || !is_name_byte(text[at - 1]);
    const std::size_t end = at + name.size();
    if (begins && (end == text.size() || !is_name_byte(text[end]))) return at;
  }
  return std::nullopt;
}

// A type that is read from one column (db/row.h).
bool is_plain(std::string_view type) {
  if (const auto inner = behind(type, "optional<")) type = inner->substr(0, inner->size() - 1);
  if (type.starts_with("std::")) type.remove_prefix(5);
  static constexpr std::string_view plain[] = {"bool",    "int",     "long",    "short",    "unsigned",
                                               "double",  "float",   "string",  "int8_t",   "int16_t",
                                               "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t"};
  return std::ranges::find(plain, type) != std::end(plain);
}

class SqliteChecker final : public Checker {
 public:
  SqliteChecker(std::unique_ptr<Connection> connection, int migrations, std::vector<Table> tables)
      : connection_(std::move(connection)), migrations_(migrations), tables_(std::move(tables)) {}

  int migrations() const noexcept override { return migrations_; }

  std::optional<Mistake> check(const Statement& statement) override {
    if (const std::size_t nul = statement.text.find('\0'); nul != std::string::npos) {
      return Mistake{"the statement has a NUL byte, behind which SQLite does not read", nul};
    }
    auto prepared = connection_->prepare(statement.text);
    if (!prepared) return explain(statement, prepared.error());
    const int columns = prepared->columns();
    if (columns == 0 && statement.call != "execute") {
      return Mistake{std::string(statement.call) +
                         "() reads rows and the statement gives none: use execute(), or add "
                         "`returning …` to it",
                     std::nullopt};
    }
    if (columns != 1 && statement.call != "execute" && is_plain(statement.read_as)) {
      return Mistake{std::string(statement.call) + '<' + statement.read_as +
                         "> reads one column and the statement gives " + std::to_string(columns) +
                         ": select one, or read a struct",
                     std::nullopt};
    }
    return std::nullopt;
  }

 private:
  Mistake explain(const Statement& statement, const Error& error) const {
    // Not every error is SQLite's own, and then it says nothing of the last one.
    const std::string_view message = sqlite3_errmsg(connection_->handle());
    if (sqlite3_errcode(connection_->handle()) == SQLITE_OK || !error.message().contains(message)) {
      return {std::string(error.message()), std::nullopt};
    }
    const int offset = sqlite3_error_offset(connection_->handle());
    return {std::string(message) + cure(statement.text, message),
            offset >= 0 ? std::optional(static_cast<std::size_t>(offset)) : place(statement.text, message)};
  }

  // Of the name in the message, where SQLite says no place.
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
        for (const Table& known : tables_) {
          if (is_same(known.name, *table)) return meant(*column, known.columns, known.name + " has ");
        }
      }
    }
    if (const auto column = behind(message, "no such column: ")) {
      std::vector<std::string> columns;
      for (const Table& table : tables_) {
        if (find_word(text, table.name)) columns.insert(columns.end(), table.columns.begin(), table.columns.end());
      }
      return meant(column->substr(column->rfind('.') + 1), columns, "the columns are ");
    }
    return "";
  }
  static std::string meant(std::string_view name, const std::vector<std::string>& known, std::string_view list) {
    if (const std::string_view near = nearest(name, known); !near.empty()) {
      return "; did you mean " + std::string(near) + "?";
    }
    return known.empty() ? "" : "; " + std::string(list) + listed(known);
  }
  std::vector<std::string> table_names() const {
    std::vector<std::string> names;
    for (const Table& table : tables_) names.push_back(table.name);
    return names;
  }

  std::unique_ptr<Connection> connection_;
  int migrations_;
  std::vector<Table> tables_;
};

Result<std::vector<Table>> tables_of(Connection& connection) {
  std::vector<Table> tables;
  auto add = [&](const db::Row& row) {
    if (tables.empty() || tables.back().name != row.text(0)) tables.push_back({std::string(row.text(0)), {}});
    tables.back().columns.emplace_back(row.text(1));
  };
  KEEL_TRY_VOID(connection.query(
      "select t.name, c.name from sqlite_schema t, pragma_table_xinfo(t.name) c where t.type in ('table', 'view') "
      "and t.name not like 'sqlite\\_%' escape '\\' and t.name <> 'keel_migrations' order by t.name, c.cid",
      add));
  return tables;
}

}  // namespace

Result<std::unique_ptr<Checker>> make_sqlite_checker(const std::string& migrations) {
  KEEL_TRY(auto connection, Connection::open({.path = ":memory:", .synchronous = db::sqlite::Synchronous::Off}));
  KEEL_TRY(const db::Migrated migrated, db::sqlite::migrate(*connection, migrations));
  KEEL_TRY(std::vector<Table> tables, tables_of(*connection));
  return std::make_unique<SqliteChecker>(std::move(connection), migrated.applied, std::move(tables));
}

}  // namespace keel::sql
