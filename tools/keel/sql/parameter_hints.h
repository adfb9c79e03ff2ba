// Collects what a statement shows about its parameters: the columns and values with which a parameter is compared, or
// to which it is assigned.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "sql/described.h"
#include "sql/syntax.h"

namespace keel::sql {

// A column of a relation, or the value of an expression.
struct Value {
  std::string name;
  std::string type;
  bool is_nullable = true;
  std::string table;  // The table of the column; "" if the value is not a column of a table.
  std::string column;
};

class ParameterHints {
 public:
  // The values of `expression` have the type of `like`, and so do the parameters from which these values come.
  // If `is_assigned`, the values are assigned to the column `like`. If `is_weak`, the type is used only if nothing else
  // determines the parameter's type.
  void push(const Expression& expression, const Value& like, bool is_assigned, bool is_weak = false);
  // Returns the entry of a parameter, which is created if necessary.
  Described::Parameter& find(const Expression& expression);

  // Returns the parameters in the order in which they were found.
  std::vector<Described::Parameter> take();

 private:
  std::vector<Described::Parameter> parameters_;
  std::map<std::string, bool> is_weak_;
};

}  // namespace keel::sql
