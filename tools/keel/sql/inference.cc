#include "sql/inference.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sql/functions.h"
#include "sql/parameter_hints.h"
#include "sql/words.h"

namespace keel::sql {
namespace {

constexpr int views_max = 20;  // The maximum depth of nested views.

struct Relation {
  std::string alias;
  std::vector<Value> columns;
  // Whether the column is joined with an earlier column by `using`, so that a star does not include it.
  std::vector<bool> is_hidden;
  bool has_rowid = false;
};

struct Scope {
  std::vector<Relation> relations;
  // The values of the select's items; `order by` and `group by` can refer to an item by its alias.
  std::vector<Value> aliases;
  const Scope* outer = nullptr;
  const std::map<std::string, std::vector<Value>>* ctes = nullptr;
  // Whether the select is an aggregate over all rows: if there are no rows, the columns of the result are null.
  bool is_over_no_rows = false;
};

std::string common_type(const std::string& a, const std::string& b) {
  if (a == b || b.empty() || b == "null") return a;
  if (a.empty() || a == "null") return b;
  const auto is_number = [](const std::string& type) { return type == "int64" || type == "bool" || type == "real"; };
  if (!is_number(a) || !is_number(b)) return "";
  return a == "real" || b == "real" ? "real" : "int64";
}

// The type of a column whose rows come from two selects, with the types `a` and `b`. If the types differ, returns
// "any", because such a column has no declaration that would decide its type.
std::string either_type(const std::string& a, const std::string& b) {
  if (a == b || b == "null") return a;
  return a == "null" ? b : "any";
}

class Inference {
 public:
  explicit Inference(const Schema& schema) : schema_(schema) {}

  std::optional<Described> run(const StatementTree& tree) {
    const Ctes ctes = add_ctes({}, tree.ctes, nullptr);
    Described described;
    std::vector<Value> columns;
    switch (tree.kind) {
      case StatementTree::Kind::Select:
        columns = select(*tree.select, nullptr, ctes);
        break;
      case StatementTree::Kind::Insert:
        columns = insert(tree, ctes);
        break;
      case StatementTree::Kind::Update:
      case StatementTree::Kind::Delete:
        columns = change(tree, ctes);
        break;
    }
    if (is_bad_) return std::nullopt;
    for (Value& value : columns) {
      if (value.type == "null") value.type.clear();
      described.columns.push_back({std::move(value.name),
                                   std::move(value.type),
                                   value.is_nullable,
                                   std::move(value.table),
                                   std::move(value.column),
                                   {}});
    }
    described.parameters = parameters_.take();
    return described;
  }

 private:
  using Values = std::vector<Value>;
  using Ctes = std::map<std::string, Values>;

  Ctes add_ctes(Ctes ctes, const std::vector<Cte>& added, const Scope* outer) {
    for (const Cte& cte : added) {
      // The columns of a recursive view are inferred first from its first select, and then repeatedly from all selects
      // until no further column becomes nullable.
      Select anchor = *cte.select;
      if (anchor.cores.size() > 1) anchor.cores.resize(1);
      const auto rename = [&](Values values) {
        if (!cte.columns.empty() && cte.columns.size() != values.size()) is_bad_ = true;
        for (std::size_t i = 0; i < cte.columns.size() && i < values.size(); ++i) values[i].name = cte.columns[i];
        return values;
      };
      Values values = rename(select(anchor, outer, ctes));
      if (cte.select->cores.size() > 1) {
        for (std::size_t round = 0; round < 2 + values.size() && !is_bad_; ++round) {
          Ctes with = ctes;
          with[lower_of(cte.name)] = values;
          Values next = rename(select(*cte.select, outer, with));
          if (next.size() != values.size()) is_bad_ = true;
          bool has_changed = false;
          for (std::size_t i = 0; i < next.size() && i < values.size(); ++i) {
            has_changed = has_changed || next[i].is_nullable != values[i].is_nullable || next[i].type != values[i].type;
          }
          values = std::move(next);
          if (!has_changed) break;
        }
      }
      ctes[lower_of(cte.name)] = std::move(values);
    }
    return ctes;
  }

  Values select(const Select& select, const Scope* outer, const Ctes& outer_ctes) {
    const Ctes own = select.ctes.empty() ? Ctes() : add_ctes(outer_ctes, select.ctes, outer);
    const Ctes& ctes = select.ctes.empty() ? outer_ctes : own;
    Values result;
    for (std::size_t i = 0; i < select.cores.size() && !is_bad_; ++i) {
      const bool is_only = select.cores.size() == 1;
      Values columns = core(select.cores[i], outer, ctes, is_only ? &select.order : nullptr);
      if (i == 0) {
        result = std::move(columns);
        continue;
      }
      if (columns.size() != result.size()) {
        is_bad_ = true;
        break;
      }
      for (std::size_t k = 0; k < result.size(); ++k) {
        result[k].is_nullable = result[k].is_nullable || columns[k].is_nullable;
        result[k].type = either_type(result[k].type, columns[k].type);
        result[k].table.clear();
        result[k].column.clear();
      }
    }
    limits(select.limits, outer, ctes);
    return result;
  }
  void limits(const std::vector<Expression>& limits, const Scope* outer, const Ctes& ctes) {
    Scope scope;
    scope.outer = outer;
    scope.ctes = &ctes;
    for (const Expression& limit : limits) {
      infer(limit, scope);
      parameters_.push(limit, {"limit", "int64", false, "", ""}, false, true);
    }
  }

  Values core(const Core& core, const Scope* outer, const Ctes& ctes, const std::vector<Expression>* order) {
    Scope scope;
    scope.outer = outer;
    scope.ctes = &ctes;
    if (!core.values.empty()) return rows_of(core.values, scope);
    scope.relations = relations(core.from, scope);
    for (const Source& source : core.from) {
      if (source.on) infer(*source.on, scope);
    }
    scope.is_over_no_rows =
        !core.is_grouped && (core.has_having || std::ranges::any_of(core.items, [](const Item& item) {
                               return item.value && has_aggregate(*item.value);
                             }));
    const bool was_grouped = std::exchange(is_grouped_, core.is_grouped);
    const Values columns = items(core.items, scope);
    is_grouped_ = was_grouped;
    scope.aliases = columns;
    scope.is_over_no_rows = false;
    for (const Expression& condition : core.conditions) infer(condition, scope);
    if (order != nullptr) {
      for (const Expression& one : *order) infer(one, scope);
    }
    return columns;
  }
  Values rows_of(const std::vector<std::vector<Expression>>& rows, const Scope& scope) {
    Values result;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t k = 0; k < rows[i].size(); ++k) {
        Value value = infer(rows[i][k], scope);
        if (i == 0) {
          value.name = "column" + std::to_string(k + 1);
          result.push_back(std::move(value));
        } else if (k < result.size()) {
          result[k].is_nullable = result[k].is_nullable || value.is_nullable;
          result[k].type = common_type(result[k].type, value.type);
        }
      }
    }
    return result;
  }

  std::vector<Relation> relations(const std::vector<Source>& from, const Scope& scope) {
    std::vector<Relation> found;
    const auto make_nullable = [](Relation& relation) {
      for (Value& value : relation.columns) value.is_nullable = true;
    };
    for (const Source& source : from) {
      // The arguments of a table function may use the sources before the function.
      Scope before = scope;
      before.relations = found;
      for (const Expression& argument : source.arguments) infer(argument, before);
      Relation relation = relation_of(source, scope);
      relation.is_hidden.assign(relation.columns.size(), false);
      if (source.join == Source::Join::Left || source.join == Source::Join::Full) make_nullable(relation);
      if (source.join == Source::Join::Right || source.join == Source::Join::Full) {
        for (Relation& one : found) make_nullable(one);
      }
      for (std::size_t i = 0; i < relation.columns.size(); ++i) {
        const std::string& name = relation.columns[i].name;
        const bool is_named =
            std::ranges::any_of(source.shared, [&](const std::string& one) { return is_same_name(one, name); });
        const bool is_there = std::ranges::any_of(found, [&](const Relation& one) {
          return std::ranges::any_of(one.columns, [&](const Value& value) { return is_same_name(value.name, name); });
        });
        if (is_named || (source.is_natural && is_there)) relation.is_hidden[i] = true;
      }
      found.push_back(std::move(relation));
    }
    return found;
  }
  Relation relation_of(const Source& source, const Scope& scope) {
    Relation relation;
    relation.alias = source.alias;
    if (source.select != nullptr) {
      relation.columns = select(*source.select, scope.outer, *scope.ctes);
      return relation;
    }
    if (source.is_function) {
      relation.columns = function_columns(source.table);
      return relation;
    }
    if (const auto cte = scope.ctes->find(lower_of(source.table)); cte != scope.ctes->end()) {
      relation.columns = cte->second;
      return relation;
    }
    const Table* const table = schema_.find(source.table);
    if (table == nullptr) {
      is_bad_ = true;
      return relation;
    }
    relation.columns = table_columns(*table);
    relation.has_rowid = !table->is_view;
    return relation;
  }
  Values table_columns(const Table& table) {
    Values columns;
    if (table.is_view) {
      const auto tree = ++views_ <= views_max ? parse_statement(table.select) : std::nullopt;
      if (tree && tree->kind == StatementTree::Kind::Select) {
        columns = select(*tree->select, nullptr, {});
        if (columns.size() != table.columns.size()) columns.clear();
      }
      --views_;
      if (columns.empty()) {
        for (const Column& column : table.columns) columns.push_back({column.name, "", true, "", ""});
      }
      for (std::size_t i = 0; i < columns.size(); ++i) {
        columns[i].name = table.columns[i].name;
        if (table.columns[i].is_said) columns[i].type = table.columns[i].type;
      }
      return columns;
    }
    for (const Column& column : table.columns) {
      columns.push_back({column.name, column.type, column.is_nullable, table.name, column.name});
    }
    return columns;
  }
  static Values function_columns(std::string_view name) {
    Values columns;
    if (is_same_name(name, "json_each") || is_same_name(name, "json_tree")) {
      columns = {{"key", "", true, "", ""},         {"value", "", true, "", ""},   {"type", "text", false, "", ""},
                 {"atom", "", true, "", ""},        {"id", "int64", true, "", ""}, {"parent", "int64", true, "", ""},
                 {"fullkey", "text", true, "", ""}, {"path", "text", true, "", ""}};
    }
    return columns;
  }

  Values items(const std::vector<Item>& items, const Scope& scope) {
    Values columns;
    for (const Item& item : items) {
      if (item.value) {
        Value value = infer(*item.value, scope);
        if (!item.name.empty()) value.name = item.name;
        columns.push_back(std::move(value));
        continue;
      }
      for (const Relation& relation : scope.relations) {
        if (!item.name.empty() && !is_same_name(item.name, relation.alias)) continue;
        for (std::size_t i = 0; i < relation.columns.size(); ++i) {
          if (item.name.empty() && relation.is_hidden[i]) continue;
          columns.push_back(relation.columns[i]);
          if (scope.is_over_no_rows) columns.back().is_nullable = true;
        }
      }
    }
    return columns;
  }

  Scope scope_of_target(const StatementTree& tree, const Ctes& ctes) {
    Scope scope;
    scope.ctes = &ctes;
    const Table* const table = schema_.find(tree.table);
    if (table == nullptr) {
      is_bad_ = true;
      return scope;
    }
    Relation relation;
    relation.alias = tree.alias;
    relation.columns = table_columns(*table);
    relation.is_hidden.assign(relation.columns.size(), false);
    relation.has_rowid = !table->is_view;
    scope.relations.push_back(std::move(relation));
    return scope;
  }
  Values insert(const StatementTree& tree, const Ctes& ctes) {
    Scope scope = scope_of_target(tree, ctes);
    const Table* const table = schema_.find(tree.table);
    if (table == nullptr) return {};
    std::vector<const Column*> into;
    for (const std::string& name : tree.columns) into.push_back(find_column(*table, name));
    if (tree.columns.empty()) {
      for (const Column& column : table->columns) {
        if (!column.is_generated) into.push_back(&column);
      }
    }
    if (tree.select != nullptr) {
      select(*tree.select, nullptr, ctes);
      for (const Core& core : tree.select->cores) {
        for (const std::vector<Expression>& row : core.values) {
          for (std::size_t i = 0; i < row.size() && i < into.size(); ++i) assign(row[i], *table, into[i]);
        }
        for (std::size_t i = 0; i < core.items.size() && i < into.size(); ++i) {
          if (!core.items[i].value) break;  // After a star, the positions of items and columns differ.
          assign(*core.items[i].value, *table, into[i]);
        }
      }
    }
    const Values returned = items(tree.returning, scope);
    Relation excluded = scope.relations.front();
    excluded.alias = "excluded";
    Scope both = scope;
    both.relations.push_back(std::move(excluded));
    both.is_over_no_rows = false;
    assignments(tree, both);
    for (const Expression& condition : tree.conditions) infer(condition, both);
    return returned;
  }
  Values change(const StatementTree& tree, const Ctes& ctes) {
    Scope scope = scope_of_target(tree, ctes);
    Scope all = scope;
    for (Relation& relation : relations(tree.from, scope)) all.relations.push_back(std::move(relation));
    for (const Source& source : tree.from) {
      if (source.on) infer(*source.on, all);
    }
    assignments(tree, all);
    for (const Expression& condition : tree.conditions) infer(condition, all);
    limits(tree.limits, nullptr, ctes);
    return items(tree.returning, scope);  // SQLite's `returning` can use only the changed table.
  }
  void assignments(const StatementTree& tree, const Scope& scope) {
    const Table* const table = schema_.find(tree.table);
    if (table == nullptr) return;
    for (const Assignment& one : tree.assignments) {
      infer(one.value, scope);
      if (one.columns.size() == 1) {
        assign(one.value, *table, find_column(*table, one.columns[0]));
      } else if (one.value.kind == Expression::Kind::Row) {
        for (std::size_t i = 0; i < one.columns.size() && i < one.value.children.size(); ++i) {
          assign(one.value.children[i], *table, find_column(*table, one.columns[i]));
        }
      }
    }
  }
  void assign(const Expression& value, const Table& table, const Column* column) {
    if (column == nullptr) return;
    parameters_.push(value, {column->name, column->type, column->is_nullable, table.name, column->name}, true);
  }

  Value column(const Expression& expression, const Scope& scope) {
    Value found;
    found.name = expression.name;
    for (const Scope* at = &scope; at != nullptr; at = at->outer) {
      for (const Relation& relation : at->relations) {
        if (!expression.table.empty() && !is_same_name(relation.alias, expression.table)) continue;
        for (const Value& value : relation.columns) {
          if (!is_same_name(value.name, expression.name)) continue;
          found = value;
          if (at->is_over_no_rows && !is_in_aggregate_) found.is_nullable = true;
          return found;
        }
        const bool is_rowid = is_same_name(expression.name, "rowid") || is_same_name(expression.name, "_rowid_") ||
                              is_same_name(expression.name, "oid");
        if (relation.has_rowid && is_rowid) {
          found.type = "int64";
          found.is_nullable = std::ranges::all_of(relation.columns, &Value::is_nullable) || at->is_over_no_rows;
          return found;
        }
      }
      if (!expression.table.empty()) continue;
      for (const Value& value : at->aliases) {
        if (is_same_name(value.name, expression.name)) return value;
      }
    }
    return found;
  }

  static Value value(std::string type, bool is_nullable) { return {"", std::move(type), is_nullable, "", ""}; }

  Value infer(const Expression& expression, const Scope& scope) {
    const auto child = [&](std::size_t i) { return infer(expression.children[i], scope); };
    switch (expression.kind) {
      case Expression::Kind::Null:
        return value("null", true);
      case Expression::Kind::Integer:
        return value("int64", false);
      case Expression::Kind::Real:
        return value("real", false);
      case Expression::Kind::Text:
        return value("text", false);
      case Expression::Kind::Blob:
        return value("blob", false);
      case Expression::Kind::Boolean:
        return value("bool", false);
      case Expression::Kind::Column:
        return column(expression, scope);
      case Expression::Kind::Parameter:
        parameters_.find(expression);
        return value("", true);
      case Expression::Kind::Unary: {
        const Value of = child(0);
        if (expression.name == "not") {
          parameters_.push(expression.children[0], value("bool", false), false, true);
          return value("bool", of.is_nullable);
        }
        return value(expression.name == "~" ? "int64" : of.type == "text" ? "" : of.type, of.is_nullable);
      }
      case Expression::Kind::Binary:
        return binary(expression, scope);
      case Expression::Kind::Like: {
        bool is_nullable = false;
        for (std::size_t i = 0; i < expression.children.size(); ++i) {
          is_nullable = child(i).is_nullable || is_nullable;
          parameters_.push(expression.children[i], value("text", false), false, true);
        }
        return value("bool", is_nullable);
      }
      case Expression::Kind::IsNull:
        child(0);
        if (expression.children[0].kind == Expression::Kind::Parameter)
          parameters_.find(expression.children[0]).is_nullable = true;
        return value("bool", false);
      case Expression::Kind::In:
        return in(expression, scope);
      case Expression::Kind::Between: {
        const Value of = child(0);
        const Value low = child(1);
        const Value high = child(2);
        parameters_.push(expression.children[1], of, false);
        parameters_.push(expression.children[2], of, false);
        parameters_.push(expression.children[0], low.type.empty() ? high : low, false);
        return value("bool", true);
      }
      case Expression::Kind::Case:
        return case_of(expression, scope);
      case Expression::Kind::Cast: {
        const Value of = child(0);
        const std::string type(type_of_declaration(expression.name, false));
        parameters_.push(expression.children[0], value(type, false), false, true);
        return value(type, of.is_nullable);
      }
      case Expression::Kind::Scalar: {
        const Values columns = select(*expression.select, &scope, *scope.ctes);
        if (columns.size() != 1) return value("", true);
        return value(columns[0].type, columns[0].is_nullable || !gives_one_row(*expression.select));
      }
      case Expression::Kind::Exists:
        select(*expression.select, &scope, *scope.ctes);
        return value("bool", false);
      case Expression::Kind::Row:
        for (std::size_t i = 0; i < expression.children.size(); ++i) child(i);
        return value("", true);
      case Expression::Kind::Call:
        return call(expression, scope);
    }
    return value("", true);
  }

  static bool gives_one_row(const Select& select) {
    if (select.cores.size() != 1 || !select.limits.empty()) return false;
    const Core& core = select.cores[0];
    if (!core.values.empty()) return true;
    if (core.is_grouped || core.has_having) return false;
    if (core.from.empty()) return core.conditions.empty();
    return std::ranges::any_of(core.items, [](const Item& item) { return item.value && has_aggregate(*item.value); });
  }

  Value binary(const Expression& expression, const Scope& scope) {
    const Expression& left = expression.children[0];
    const Expression& right = expression.children[1];
    if (left.kind == Expression::Kind::Row && right.kind == Expression::Kind::Row &&
        left.children.size() == right.children.size()) {
      for (std::size_t i = 0; i < left.children.size(); ++i) compare(left.children[i], right.children[i], scope);
      return value("bool", true);
    }
    const std::string& op = expression.name;
    if (op == "and" || op == "or") {
      const bool is_nullable = infer(left, scope).is_nullable;
      parameters_.push(left, value("bool", false), false, true);
      const bool is_nullable_too = infer(right, scope).is_nullable;
      parameters_.push(right, value("bool", false), false, true);
      return value("bool", is_nullable || is_nullable_too);
    }
    if (op == "is") {
      compare(left, right, scope);
      for (const Expression* side : {&left, &right}) {
        if (side->kind == Expression::Kind::Parameter) parameters_.find(*side).is_nullable = true;
      }
      return value("bool", false);
    }
    if (op == "=" || op == "==" || op == "<>" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=") {
      return value("bool", compare(left, right, scope));
    }
    const Value a = infer(left, scope);
    const Value b = infer(right, scope);
    const bool is_nullable = a.is_nullable || b.is_nullable;
    if (op == "||") {
      parameters_.push(left, value("text", false), false, true);
      parameters_.push(right, value("text", false), false, true);
      return value("text", is_nullable);
    }
    if (op == "->") return value("text", true);
    if (op == "->>") return value("", true);
    if (op == "&" || op == "|" || op == "<<" || op == ">>") {
      parameters_.push(left, value("int64", false), false, true);
      parameters_.push(right, value("int64", false), false, true);
      return value("int64", is_nullable);
    }
    // A whole number as an operand does not determine the type of the other operand, which may be a real number.
    if (right.kind != Expression::Kind::Integer) parameters_.push(left, b, false, true);
    if (left.kind != Expression::Kind::Integer) parameters_.push(right, a, false, true);
    const bool are_numbers = (a.type.empty() || a.type == "int64" || a.type == "real" || a.type == "bool") &&
                             (b.type.empty() || b.type == "int64" || b.type == "real" || b.type == "bool");
    std::string type = are_numbers ? common_type(a.type, b.type) : "";
    if (type == "bool") type = "int64";
    return value(type, is_nullable || op == "/" || op == "%");
  }
  // Whether the result may be null.
  bool compare(const Expression& left, const Expression& right, const Scope& scope) {
    const Value a = infer(left, scope);
    const Value b = infer(right, scope);
    parameters_.push(left, b, false);
    parameters_.push(right, a, false);
    return a.is_nullable || b.is_nullable;
  }
  Value in(const Expression& expression, const Scope& scope) {
    const Value of = infer(expression.children[0], scope);
    bool is_nullable = of.is_nullable;
    if (expression.select != nullptr) {
      for (const Value& column : select(*expression.select, &scope, *scope.ctes)) {
        parameters_.push(expression.children[0], column, false);
        is_nullable = is_nullable || column.is_nullable;
      }
    }
    for (std::size_t i = 1; i < expression.children.size(); ++i) {
      const Value one = infer(expression.children[i], scope);
      parameters_.push(expression.children[i], of, false);
      parameters_.push(expression.children[0], one, false);
      is_nullable = is_nullable || one.is_nullable;
    }
    return value("bool", is_nullable);
  }
  Value case_of(const Expression& expression, const Scope& scope) {
    Value subject;
    for (std::size_t i = 0; i < expression.others.size(); ++i) {
      const Value condition = infer(expression.others[i], scope);
      if (expression.is_filtered && i == 0) {
        subject = condition;
      } else if (expression.is_filtered) {
        parameters_.push(expression.others[i], subject, false);
        parameters_.push(expression.others[0], condition, false);
      } else {
        parameters_.push(expression.others[i], value("bool", false), false, true);
      }
    }
    Value result = value("", !expression.has_else);
    bool is_known = true;
    for (const Expression& one : expression.children) {
      const Value branch = infer(one, scope);
      result.is_nullable = result.is_nullable || branch.is_nullable;
      if (one.kind == Expression::Kind::Null || one.kind == Expression::Kind::Parameter) continue;
      const std::string type = common_type(result.type, branch.type);
      if (branch.type.empty() || type.empty()) is_known = false;
      result.type = type;
    }
    if (!is_known) result.type.clear();
    for (const Expression& one : expression.children) parameters_.push(one, result, false, true);
    return result;
  }

  Value call(const Expression& expression, const Scope& scope) {
    const bool was_in_aggregate = std::exchange(is_in_aggregate_, is_in_aggregate_ || is_aggregate(expression));
    std::vector<FunctionArgument> arguments;
    for (const Expression& one : expression.children) {
      const Value argument = infer(one, scope);
      const bool is_literal = one.kind == Expression::Kind::Text || one.kind == Expression::Kind::Integer ||
                              one.kind == Expression::Kind::Real;
      arguments.push_back({argument.type, argument.is_nullable, is_literal,
                           one.kind == Expression::Kind::Null || one.kind == Expression::Kind::Parameter});
    }
    for (const Expression& one : expression.others) infer(one, scope);
    is_in_aggregate_ = was_in_aggregate;
    const bool is_of_group = is_grouped_ && !expression.is_window && !expression.is_filtered;
    const FunctionResult result = result_of(expression, arguments, is_of_group);
    for (std::size_t i = 0; i < expression.children.size(); ++i) {
      const Expression& one = expression.children[i];
      if (passes_arguments(expression.name)) {
        parameters_.push(one, value(result.type, false), false, true);
        const bool may_be_null = expression.name == "coalesce" || expression.name == "ifnull";
        if (may_be_null && i + 1 < expression.children.size() && one.kind == Expression::Kind::Parameter) {
          parameters_.find(one).is_nullable = true;
        }
      } else if (expression.name == "iif") {
        parameters_.push(one, value(i == 0 ? "bool" : result.type, false), false, true);
      } else if (takes_text(expression.name, i)) {
        parameters_.push(one, value("text", false), false, true);
      }
    }
    return value(result.type, result.is_nullable);
  }

  const Schema& schema_;
  ParameterHints parameters_;
  int views_ = 0;
  bool is_grouped_ = false;
  bool is_in_aggregate_ = false;
  bool is_bad_ = false;
};

}  // namespace

std::optional<Described> infer(const Schema& schema, const StatementTree& statement) {
  return Inference(schema).run(statement);
}

}  // namespace keel::sql
