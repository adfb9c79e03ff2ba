// Combines the descriptions that several databases give of a statement, because the same generated code runs on each of
// the databases.
//
// If databases give a whole number different types, the number gets the widest of these types. A value may be null if
// it may be null in any of the databases. Types that are not whole numbers must be the same in all databases, unless
// the author of the query states the type.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sql/checker.h"

namespace keel::sql {

class BothChecker final : public Checker {
 public:
  struct Part {
    std::string key;   // "sqlite"
    std::string name;  // "SQLite": for messages.
    Checker* checker;
    bool is_chosen = true;
  };
  // The names of columns and parameters come from the first part. The parts' checkers must outlive this object.
  explicit BothChecker(std::vector<Part> parts) : parts_(std::move(parts)) {}

  int migrations() const noexcept override { return parts_[0].checker->migrations(); }
  bool choose(std::string_view database) override;
  std::optional<Mistake> check(const Statement& statement) override;
  std::optional<Mistake> describe(std::string_view text, Described& to) override;
  std::optional<Mistake> set_type(std::string_view table, std::string_view column, std::string_view type) override;

 private:
  template <class F>
  std::optional<Mistake> first(F ask);

  std::vector<Part> parts_;
};

}  // namespace keel::sql
