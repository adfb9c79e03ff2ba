// Lets a database check a statement before the statement runs.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sql/described.h"
#include "sql/statements.h"

namespace keel::sql {

struct Mistake {
  std::string text;                   // The mistake, and how to correct it, if known.
  std::optional<std::size_t> offset;  // The offset in the statement, if the database reports it.
};

class Checker {
 public:
  virtual ~Checker() = default;
  virtual int migrations() const noexcept = 0;  // The number of applied migrations.
  virtual std::optional<Mistake> check(const Statement& statement) = 0;
  // Restricts the following calls to this database ("sqlite", "postgres"); with "", they ask all databases. Returns
  // false if the checker does not have this database.
  virtual bool choose(std::string_view database) { return database.empty(); }
  // Describes the parameters and columns of a statement. If the statement cannot run, returns a mistake and leaves `to`
  // unchanged.
  virtual std::optional<Mistake> describe(std::string_view text, Described& to) = 0;
  // Sets the type that the author of the queries states for a column; this type replaces the type of the column's
  // declaration. Returns a mistake if there is no such column. `type` is a type as in sql/schema.h, or the name of a
  // C++ type.
  virtual std::optional<Mistake> set_type(std::string_view table, std::string_view column, std::string_view type) = 0;
};

// Returns a mistake if the call reads a different number of columns than its statement returns.
std::optional<Mistake> find_wrong_call(const Statement& statement, std::size_t columns);

// A statement as it is sent to PostgreSQL: its named parameters are replaced by $1, $2, …, in the order of their first
// use.
struct NumberedText {
  std::string text;
  std::vector<std::size_t> offsets;  // For each byte of `text`, and for its end, the offset in the original text.
};
NumberedText numbered(std::string_view text);

// The candidate that is closest to `name`, ignoring case; empty if none is close.
std::string_view nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace keel::sql
