// The syntax tree of a statement that a database has accepted: as much of SQLite's grammar as is needed to determine
// the types of the statement's columns and parameters.
//
// The parser reports no errors, because the database has already checked the statement. If the parser does not know the
// syntax of a statement, there is no tree, and the statement's types are unknown.
//
// Lifetime: a tree owns its nodes and texts.
// Cost:     linear; at most 200 levels.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keel::sql {

struct Select;

struct Expression {
  enum class Kind : std::uint8_t {
    Null,
    Integer,
    Real,
    Text,
    Blob,
    Boolean,
    Column,     // `table` (may be "") and `name`
    Parameter,  // `name`, without the dollar sign
    Unary,      // `name` is the operator
    Binary,     // `name` is the operator
    Like,       // like, glob, match, regexp
    IsNull,     // is null, is not null, isnull, notnull
    In,         // whether the first child equals one of the other children, or a row of `select`
    Between,    // three children
    Call,       // `name`, in lower case
    Case,       // results in `children`, conditions in `others`; if `has_else`, the last result is that of else
    Cast,       // cast(child as `name`)
    Scalar,     // ( select )
    Exists,     //
    Row,        // (a, b)
  };
  Kind kind = Kind::Null;
  std::string table;
  std::string name;
  std::vector<Expression> children;
  std::vector<Expression> others;  // The branches of a Case, or the filter and window of a Call.
  std::shared_ptr<Select> select;
  bool is_star = false;    // count(*)
  bool has_else = false;   //
  bool is_window = false;  // Whether this is a Call with `over`.
  bool is_filtered = false;
  std::size_t offset = 0;
};

struct Item {
  std::optional<Expression> value;  // Absent if the item is a star.
  std::string name;                 // The item's alias; for a star, its table, or "" for all tables.
};

struct Source {
  std::string table;  // The table's name; "" for a select, or for an unknown function.
  std::string alias;
  std::shared_ptr<Select> select;
  std::vector<Expression> arguments;  // For a function.
  bool is_function = false;
  enum class Join : std::uint8_t { Inner, Left, Right, Full };
  Join join = Join::Inner;  // The kind of join between this source and the sources before this source.
  bool is_natural = false;
  std::vector<std::string> shared;  // using (…)
  std::optional<Expression> on;
};

struct Cte {
  std::string name;
  std::vector<std::string> columns;
  std::shared_ptr<Select> select;
};

struct Core {
  std::vector<Item> items;
  std::vector<std::vector<Expression>> values;  // The rows of `values (…), (…)`.
  std::vector<Source> from;
  std::vector<Expression> conditions;  // The expressions of `where`, `having` and `group by`.
  bool is_grouped = false;
  bool has_having = false;
};

struct Select {
  std::vector<Cte> ctes;
  std::vector<Core> cores;
  std::vector<Expression> order;
  std::vector<Expression> limits;
};

struct Assignment {
  std::vector<std::string> columns;
  Expression value;
};

struct StatementTree {
  enum class Kind : std::uint8_t { Select, Insert, Update, Delete };
  Kind kind = Kind::Select;
  std::vector<Cte> ctes;
  std::shared_ptr<Select> select;  // The query of a Select, or the query that gives an Insert its rows.
  std::string table;
  std::string alias;
  std::vector<std::string> columns;     // For Insert.
  std::vector<Assignment> assignments;  // The assignments of an Update, or of `on conflict do update`.
  std::vector<Source> from;             // For Update.
  std::vector<Expression> conditions;
  std::vector<Expression> limits;
  std::vector<Item> returning;
};

std::optional<StatementTree> parse_statement(std::string_view text);

}  // namespace keel::sql
