// What a statement says of its parameters: what each is compared with, or goes into.

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
  std::string table;  // Of the column that it is.
  std::string column;
};

class ParameterHints {
 public:
  // The values of `expression` are like `like`, and so are the parameters that make them. `is_assigned`: they go into
  // that column. `is_weak`: when nothing else says what they are.
  void push(const Expression& expression, const Value& like, bool is_assigned, bool is_weak = false);
  // That of a parameter, which is known from here on.
  Described::Parameter& find(const Expression& expression);

  // In the order in which they became known.
  std::vector<Described::Parameter> take();

 private:
  std::vector<Described::Parameter> parameters_;
  std::map<std::string, bool> is_weak_;
};

}  // namespace keel::sql
