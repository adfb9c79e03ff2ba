// Collects what a statement shows about its parameters: the column or value that each is compared with or assigned to.

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
  std::string table;  // The table of the column, if this is a column.
  std::string column;
};

class ParameterHints {
 public:
  // The values of `expression` have the type of `like`, and so have the parameters that they are made of.
  // `is_assigned`: the values are assigned to that column. `is_weak`: used only if nothing else determines the type.
  void push(const Expression& expression, const Value& like, bool is_assigned, bool is_weak = false);
  // The entry of a parameter, which is created if necessary.
  Described::Parameter& find(const Expression& expression);

  // In the order in which the parameters were found.
  std::vector<Described::Parameter> take();

 private:
  std::vector<Described::Parameter> parameters_;
  std::map<std::string, bool> is_weak_;
};

}  // namespace keel::sql
