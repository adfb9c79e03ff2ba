#include "sql/postgres_checker.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "keel/db/postgres/error.h"
#include "keel/db/postgres/migrations.h"
#include "keel/db/sql.h"
#include "postgres/link.h"
#include "postgres/scratch.h"
#include "sql/inference.h"
#include "sql/insert_check.h"
#include "sql/lexemes.h"
#include "sql/postgres_types.h"
#include "sql/schema.h"
#include "sql/words.h"

namespace keel::sql {
namespace {

using tool::PostgresLink;
using tool::ScratchDatabase;

std::uint32_t number_of(std::string_view digits) {
  std::uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// The byte offset of the character number `position`, which counts from 1.
std::optional<std::size_t> byte_of(std::string_view text, int position) {
  if (position <= 0) return std::nullopt;
  int character = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80 && ++character == position) return i;
  }
  return std::nullopt;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(lexemes_of(text), [&](const Lexeme& lexeme) {
    return std::ranges::any_of(words, [&](std::string_view word) { return lexeme.is(word); });
  });
}

// keel::db rejects statements that begin with one of the words in this list.
constexpr std::string_view control[] = {"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"};

bool is_reading(std::string_view text, const std::optional<StatementTree>& tree) {
  if (tree) return tree->kind == StatementTree::Kind::Select;
  const auto is_writing = [](const Lexeme& lexeme) {
    return lexeme.is("insert") || lexeme.is("update") || lexeme.is("delete") || lexeme.is("merge");
  };
  const std::vector<Lexeme> lexemes = lexemes_of(text);
  const bool reads =
      lexemes[0].is("select") || lexemes[0].is("with") || lexemes[0].is("values") || lexemes[0].is("table");
  return reads && std::ranges::none_of(lexemes, is_writing);
}

class PostgresChecker final : public Checker {
 public:
  PostgresChecker(std::unique_ptr<ScratchDatabase> scratch, std::unique_ptr<PostgresLink> link, int migrations)
      : scratch_(std::move(scratch)), link_(std::move(link)), migrations_(migrations) {}

  int migrations() const noexcept override { return migrations_; }

  Result<> load() {
    KEEL_TRY(const auto rows,
             link_->query("select c.oid, c.relname, c.relkind in ('v', 'm'), a.attnum, a.attname, "
                          "coalesce(nullif(t.typbasetype, 0), t.oid), a.attnotnull or t.typnotnull, "
                          "a.atthasdef or a.attidentity <> '' or t.typdefault is not null, a.attgenerated <> '', "
                          "exists (select from pg_trigger g where g.tgrelid = c.oid and not g.tgisinternal and "
                          "g.tgtype & 6 = 6), "
                          "case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) else '' end "
                          "from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_type t on t.oid = "
                          "a.atttypid where pg_table_is_visible(c.oid) and c.relnamespace = any "
                          "(select oid from pg_namespace where nspname = any (current_schemas(false))) "
                          "and c.relkind in ('r', 'p', 'v', 'm', 'f') and a.attnum > 0 and not a.attisdropped and "
                          "c.relname not like 'keel\\_migration%' order by c.relname, a.attnum"));
    for (const PostgresLink::Cells& row : rows) {
      if (schema_.tables.empty() || schema_.tables.back().name != row[1]) {
        schema_.tables.push_back({row[1], {}, row[2] == "t", row[10], row[9] == "t"});
      }
      const std::string type(type_of_oid(number_of(row[5])));
      schema_.tables.back().columns.push_back({row[4], type, row[6] != "t", row[8] == "t", false, row[7] == "t"});
      places_[{number_of(row[0]), number_of(row[3])}] = {schema_.tables.size() - 1,
                                                         schema_.tables.back().columns.size() - 1};
    }
    return {};
  }

  std::optional<Mistake> check(const Statement& statement) override {
    const NumberedText text = numbered(statement.text);
    Described described;
    auto mistake = describe(text.text, described);
    if (!mistake) return find_wrong_call(statement, described.columns.size());
    if (mistake->offset) mistake->offset = text.offsets[*mistake->offset];
    return mistake;
  }

  std::optional<Mistake> describe(std::string_view text, Described& to) override {
    if (const std::size_t nul = text.find('\0'); nul != text.npos) {
      return Mistake{"the statement has a NUL byte, at which PostgreSQL stops reading", nul};
    }
    const Lexeme first = lexemes_of(text)[0];
    if (std::ranges::any_of(control, [&](std::string_view word) { return first.is(word); })) {
      return Mistake{
          "a statement cannot begin or end a transaction: use begin(), savepoint() and the objects that they return",
          first.offset};
    }
    const auto described = link_->describe(text);
    if (!described) return explain(text, described.error());
    const std::optional<StatementTree> tree = parse_statement(text);
    if (tree) {
      if (auto mistake = find_missing_columns(schema_, *tree, text)) return mistake;
    }
    const std::optional<Described> inferred = tree ? infer(schema_, *tree) : std::nullopt;
    Described result;
    result.is_readonly = is_reading(text, tree);
    for (std::size_t i = 0; i < described->parameters.size(); ++i) {
      Described::Parameter parameter;
      parameter.name = std::to_string(i + 1);
      if (inferred) {
        const auto known = std::ranges::find(inferred->parameters, parameter.name, &Described::Parameter::name);
        if (known != inferred->parameters.end()) parameter = *known;
      }
      parameter.type = type_of_oid(described->parameters[i]);
      parameter.other_type.clear();
      result.parameters.push_back(std::move(parameter));
    }
    // Sorts the parameters by their first use.
    std::vector<Described::Parameter> ordered;
    db::for_each_placeholder(text, [&](const db::Placeholder& placeholder) {
      const auto is_it = [&](const Described::Parameter& one) { return one.name == placeholder.name; };
      const auto known = std::ranges::find_if(result.parameters, is_it);
      if (known != result.parameters.end() && std::ranges::none_of(ordered, is_it)) ordered.push_back(*known);
    });
    result.parameters = std::move(ordered);
    add_columns(*described, inferred, text, result);
    to = std::move(result);
    return std::nullopt;
  }

  std::optional<Mistake> set_type(std::string_view table, std::string_view column, std::string_view) override {
    const Table* const known = schema_.find(table);
    if (known == nullptr) {
      return Mistake{"no such table: " + std::string(table) + meant(table, table_names(), "the tables are "), {}};
    }
    if (find_column(*known, column) != nullptr) return std::nullopt;
    std::vector<std::string> names;
    for (const Column& one : known->columns) names.push_back(one.name);
    return Mistake{"no such column: " + std::string(table) + '.' + std::string(column) +
                       meant(column, names, known->name + " has "),
                   {}};
  }

 private:
  std::vector<std::string> table_names() const {
    std::vector<std::string> names;
    for (const Table& table : schema_.tables) names.push_back(table.name);
    return names;
  }

  Mistake explain(std::string_view text, const Error& error) const {
    const db::postgres::ServerError* const server = db::postgres::server_error(error);
    if (server == nullptr) return {std::string(error.message()), std::nullopt};
    std::string message(error.message());
    const std::size_t code = message.rfind(" (" + server->sqlstate + ')');
    if (code != std::string::npos) message.resize(code);
    constexpr std::string_view undefined_table = "42P01";
    constexpr std::string_view unknown_parameter = "42P18";
    constexpr std::string_view ambiguous_parameter = "42P08";
    if (server->sqlstate == undefined_table) {
      const std::size_t begin = message.find('"');
      const std::size_t end = message.find('"', begin + 1);
      if (end != std::string::npos) {
        message += meant(message.substr(begin + 1, end - begin - 1), table_names(), "the tables are ");
      }
    } else if (server->sqlstate == unknown_parameter || server->sqlstate == ambiguous_parameter) {
      message +=
          ": write its type, as in cast($name as text), or write a block /*? name */ for a part that may be left out";
    } else if (!server->hint.empty()) {
      message += ": " + server->hint;
    }
    return {std::move(message), byte_of(text, server->position)};
  }

  void add_columns(const PostgresLink::Description& described, const std::optional<Described>& inferred,
                   std::string_view text, Described& to) const {
    const bool has_outer_joins = has_any(text, {"left", "right", "full"});
    // Grouping sets make columns null in some of the rows.
    const bool has_grouping_sets = has_any(text, {"rollup", "cube", "grouping"});
    const bool has_all = inferred && inferred->columns.size() == described.columns.size();
    for (std::size_t i = 0; i < described.columns.size(); ++i) {
      const PostgresLink::Column& from = described.columns[i];
      Described::Column column;
      column.name = from.name;
      column.type = type_of_oid(from.type);
      const auto place = places_.find({from.table, static_cast<std::uint32_t>(from.number)});
      const Column* origin = nullptr;
      if (place != places_.end()) {
        const Table& table = schema_.tables[place->second.first];
        origin = &table.columns[place->second.second];
        column.table = table.name;
        column.column = origin->name;
      }
      if (has_grouping_sets) {
        column.is_nullable = true;
      } else if (has_all) {
        column.is_nullable = inferred->columns[i].is_nullable;
      } else if (origin != nullptr) {
        column.is_nullable = origin->is_nullable || has_outer_joins;
      }
      to.columns.push_back(std::move(column));
    }
  }

  std::unique_ptr<ScratchDatabase> scratch_;
  std::unique_ptr<PostgresLink> link_;
  int migrations_;
  Schema schema_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::size_t, std::size_t>> places_;
};

}  // namespace

Result<std::unique_ptr<Checker>> make_postgres_checker(const std::string& migrations, const std::string& server) {
  KEEL_TRY(auto scratch, ScratchDatabase::make(server));
  db::postgres::DatabaseOptions options;
  options.url = scratch->url();
  options.migrations = migrations;
  KEEL_TRY(const db::Migrated migrated, db::postgres::migrate(std::move(options)));
  KEEL_TRY(auto link, PostgresLink::open(scratch->url()));
  auto checker = std::make_unique<PostgresChecker>(std::move(scratch), std::move(link), migrated.applied);
  KEEL_TRY_VOID(checker->load());
  return checker;
}

}  // namespace keel::sql
