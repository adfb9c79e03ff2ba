#include "sql/both_checker.h"

#include <algorithm>
#include <utility>

#include "sql/schema.h"

namespace keel::sql {
namespace {

// The size in bytes of a whole number of this type; 0 if the type is not a type of whole numbers.
int width_of(std::string_view type) { return type == "int16" ? 2 : type == "int32" ? 4 : type == "int64" ? 8 : 0; }

// False: they differ.
bool merge(std::string& type, const std::string& other) {
  if (other.empty() || type == other) return true;
  if (type.empty() || (width_of(type) != 0 && width_of(type) < width_of(other))) type = other;
  return type == other || (width_of(type) != 0 && width_of(other) != 0);
}

}  // namespace

template <class F>
std::optional<Mistake> BothChecker::first(F ask) {
  for (const Part& part : parts_) {
    if (!part.is_chosen) continue;
    if (auto mistake = ask(*part.checker)) {
      if (parts_.size() > 1) mistake->text = part.name + ": " + mistake->text;
      return mistake;
    }
  }
  return std::nullopt;
}

bool BothChecker::choose(std::string_view database) {
  for (Part& part : parts_) part.is_chosen = database.empty() || part.key == database;
  return std::ranges::any_of(parts_, &Part::is_chosen);
}

std::optional<Mistake> BothChecker::check(const Statement& statement) {
  return first([&](Checker& checker) { return checker.check(statement); });
}

std::optional<Mistake> BothChecker::set_type(std::string_view table, std::string_view column, std::string_view type) {
  return first([&](Checker& checker) { return checker.set_type(table, column, type); });
}

std::optional<Mistake> BothChecker::describe(std::string_view text, Described& to) {
  std::vector<Described> said;
  std::vector<std::string> names;
  for (const Part& part : parts_) {
    if (part.is_chosen) names.push_back(part.name);
  }
  if (auto mistake = first([&](Checker& checker) { return checker.describe(text, said.emplace_back()); })) {
    return mistake;
  }
  Described merged = said[0];
  for (std::size_t i = 1; i < said.size(); ++i) {
    const Described& other = said[i];
    if (merged.columns.size() != other.columns.size()) {
      return Mistake{names[0] + " gives " + std::to_string(merged.columns.size()) + " columns and " + names[i] + ' ' +
                         std::to_string(other.columns.size()) + ": name them",
                     std::nullopt};
    }
    merged.is_readonly = merged.is_readonly && other.is_readonly;
    for (std::size_t k = 0; k < merged.columns.size(); ++k) {
      Described::Column& column = merged.columns[k];
      const Described::Column& same = other.columns[k];
      if (!is_same_name(column.name, same.name)) {
        return Mistake{"column " + std::to_string(k + 1) + " is called " + column.name + " on " + names[0] + " and " +
                           same.name + " on " + names[i] + ": name it with `as`",
                       std::nullopt};
      }
      if (!merge(column.type, same.type)) {
        column.conflict = column.name + " is " + column.type + " on " + names[0] + " and " + same.type + " on " +
                          names[i] +
                          (column.table.empty()
                               ? ": cast it, as in cast(… as bigint)"
                               : ": write its type: -- type: " + column.table + '.' + column.column + ' ' + same.type);
      }
      column.is_nullable = column.is_nullable || same.is_nullable;
    }
    for (Described::Parameter& parameter : merged.parameters) {
      const auto same = std::ranges::find(other.parameters, parameter.name, &Described::Parameter::name);
      if (same == other.parameters.end()) continue;
      if (!merge(parameter.type, same->type)) parameter.other_type = same->type;
      parameter.is_nullable = parameter.is_nullable || same->is_nullable;
    }
  }
  to = std::move(merged);
  return std::nullopt;
}

}  // namespace keel::sql
