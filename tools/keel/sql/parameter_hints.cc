#include "sql/parameter_hints.h"

#include <utility>

#include "sql/functions.h"

namespace keel::sql {

void ParameterHints::push(const Expression& expression, const Value& like, bool is_assigned, bool is_weak) {
  switch (expression.kind) {
    case Expression::Kind::Parameter: {
      Described::Parameter& parameter = find(expression);
      if (is_assigned && like.is_nullable) parameter.is_nullable = true;
      if (like.type.empty() || like.type == "null" || like.type == "any") return;
      if (parameter.type.empty() || (is_weak_[parameter.name] && !is_weak)) {
        parameter.type = like.type;
        parameter.table = like.table;
        parameter.column = like.name;
        is_weak_[parameter.name] = is_weak;
      } else if (!is_weak && parameter.type != like.type) {
        parameter.other_type = like.type;
      }
      return;
    }
    case Expression::Kind::Unary:
      if (expression.name != "not") push(expression.children[0], like, false, is_weak);
      return;
    case Expression::Kind::Binary:
      if (expression.name == "+" || expression.name == "-" || expression.name == "*" || expression.name == "/") {
        for (const Expression& child : expression.children) push(child, like, false, true);
      }
      return;
    case Expression::Kind::Case:
      for (const Expression& child : expression.children) push(child, like, is_assigned, is_weak);
      return;
    case Expression::Kind::Call:
      if (expression.name == "iif") {
        for (std::size_t i = 1; i < expression.children.size(); ++i) push(expression.children[i], like, is_assigned);
      } else if (passes_arguments(expression.name)) {
        const bool may_be_null = expression.name == "coalesce" || expression.name == "ifnull";
        for (std::size_t i = 0; i < expression.children.size(); ++i) {
          const bool is_last = i + 1 == expression.children.size();
          push(expression.children[i], like, is_assigned && may_be_null && is_last, is_weak);
        }
      }
      return;
    default:
      return;
  }
}

Described::Parameter& ParameterHints::find(const Expression& expression) {
  for (Described::Parameter& parameter : parameters_) {
    if (parameter.name == expression.name) return parameter;
  }
  parameters_.push_back({});
  parameters_.back().name = expression.name;
  return parameters_.back();
}

std::vector<Described::Parameter> ParameterHints::take() { return std::move(parameters_); }

}  // namespace keel::sql
