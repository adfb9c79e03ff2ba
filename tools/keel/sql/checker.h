// What a database says of a statement before it runs.

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
  std::string text;                   // What is wrong, and the cure where there is one.
  std::optional<std::size_t> offset;  // Of the byte in the statement, where the database knows it.
};

class Checker {
 public:
  virtual ~Checker() = default;
  virtual int migrations() const noexcept = 0;  // How many were applied.
  virtual std::optional<Mistake> check(const Statement& statement) = 0;
  // What follows is for this database ("sqlite", "postgres") alone; "" is all that are asked. False: it is none of
  // them.
  virtual bool choose(std::string_view database) { return database.empty(); }
  // The parameters and columns of a statement. A mistake: it does not run, and `to` is as before.
  virtual std::optional<Mistake> describe(std::string_view text, Described& to) = 0;
  // What the values of a column are is said by its author, and no longer by its declaration. A mistake: there is no
  // such column. `type`: see sql/schema.h; or the name of a type of C++.
  virtual std::optional<Mistake> set_type(std::string_view table, std::string_view column, std::string_view type) = 0;
};

// The one of `candidates` that `name` is most likely meant to be, whatever the case; empty: none is near.
std::string_view nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace keel::sql
