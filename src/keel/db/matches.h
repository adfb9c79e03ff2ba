// keel/db/matches.h — checks at compile time whether a struct matches a statement.
//
// The code that `keel gen sql` generates uses this header to compare a struct that the program declares, such as a
// struct of a contract, with the columns and parameters that the database reported when the code was generated.
//
//   static_assert(db::has_columns<User>("id, name"), "a field of User is not a column of the statement");
//   static_assert(db::reads_column<User, std::string, true>("name"), "User::name is no std::optional<std::string>");
//
// The types of columns and parameters are std::int64_t, double, bool, std::string, std::vector<std::byte>, or a type
// that the program defines, which matches only the same type or a text.
//
// Cost: none at run time.

#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "keel/data/fields.h"
#include "keel/db/row.h"
#include "keel/db/value.h"

namespace keel::db {

namespace internal {

template <class T>
struct Inside {
  using Type = T;
  static constexpr bool may_be_null = false;
};
template <class T>
struct Inside<std::optional<T>> {
  using Type = T;
  static constexpr bool may_be_null = true;
};
template <class T>
struct Inside<Patch<T>> {
  using Type = T;
  static constexpr bool may_be_null = true;
};

template <class T>
concept Bytes = std::same_as<T, std::vector<std::byte>> || std::same_as<T, std::span<const std::byte>>;
template <class T>
concept TextLike = TextValue<T> || std::is_enum_v<T> || std::convertible_to<const T&, std::string_view>;

// Whether a `Field` and a database value of type `Value` can be converted to each other.
template <class Field, class Value>
consteval bool are_alike() {
  if constexpr (std::same_as<Field, Value>) {
    return true;
  } else if constexpr (std::same_as<Value, std::string>) {
    return TextLike<Field>;
  } else if constexpr (Bytes<Value>) {
    return Bytes<Field>;
  } else if constexpr (std::integral<Value>) {
    return std::integral<Field>;
  } else if constexpr (std::floating_point<Value>) {
    return std::floating_point<Field>;
  } else {
    return std::convertible_to<const Field&, std::string_view>;
  }
}

template <class Field, class Column, bool may_be_null>
consteval bool reads() {
  using Own = Inside<std::remove_const_t<Field>>;
  if (may_be_null && !Own::may_be_null) return false;
  // An integer column may also be read into a floating-point field.
  if constexpr (std::integral<Column> && std::floating_point<typename Own::Type>) return true;
  return is_column<std::remove_const_t<Field>> && are_alike<typename Own::Type, Column>();
}

// If `may_be_null`, the field may be an empty optional: the statement accepts NULL for the parameter, or has an
// optional block for it.
template <class Field, class Parameter, bool may_be_null, bool is_optional>
consteval bool gives() {
  using Own = Inside<std::remove_const_t<Field>>;
  if (Own::may_be_null && !may_be_null) return false;
  if (is_optional && !Own::may_be_null) return false;
  if constexpr (std::floating_point<Parameter> && std::integral<typename Own::Type>) return true;
  return are_alike<typename Own::Type, Parameter>();
}

template <class T, class List>
struct Matches;
template <class T, class... Field>
struct Matches<T, keel::internal::TypeList<Field...>> {
  static constexpr std::size_t find(std::string_view name) {
    std::size_t i = 0;
    while (i < Fields<T>::count && Fields<T>::names[i] != name) ++i;
    return i;
  }
  template <class Column, bool may_be_null>
  static constexpr bool reads_field[sizeof...(Field) + 1] = {reads<Field, Column, may_be_null>()..., true};
  template <class Parameter, bool may_be_null, bool is_optional>
  static constexpr bool gives_field[sizeof...(Field) + 1] = {gives<Field, Parameter, may_be_null, is_optional>()...,
                                                             false};
  static constexpr bool is_many[sizeof...(Field) + 1] = {Many<Field>..., false};
};
template <class T>
using MatchesOf = Matches<T, keel::internal::FieldTypes<T>>;

}  // namespace internal

// Checks that each field of T that is read from a column is named in `columns`, a list such as "id, name". A T that is
// not read field by field (row.h) always matches.
template <class T>
consteval bool has_columns(std::string_view columns) {
  if constexpr (internal::ReadByFields<T>) {
    for (std::size_t i = 0; i < Fields<T>::count; ++i) {
      bool is_there = internal::MatchesOf<T>::is_many[i];
      for (std::size_t at = 0; at < columns.size() && !is_there;) {
        const std::size_t end = columns.find(", ", at) < columns.size() ? columns.find(", ", at) : columns.size();
        is_there = columns.substr(at, end - at) == Fields<T>::names[i];
        at = end + 2;
      }
      if (!is_there) return false;
    }
  }
  return true;
}

// Checks that the column `name` can be read into the field with the same name; if T has no such field, the check
// succeeds. The values of the column are of type Column or, if `may_be_null`, NULL. If T is not a struct, a T is read
// from the column itself.
template <class T, class Column, bool may_be_null>
consteval bool reads_column(std::string_view name) {
  if constexpr (internal::is_column<T>) {
    return internal::reads<T, Column, may_be_null>();
  } else if constexpr (internal::ReadByFields<T>) {
    using Of = internal::MatchesOf<T>;
    return Of::template reads_field<Column, may_be_null>[Of::find(name)];
  } else {
    return true;
  }
}

// Checks that T has a field `name` whose value can be passed for a parameter of type Parameter; the parameter accepts
// NULL if `may_be_null`. `is_optional`: the field must be a std::optional.
template <class T, class Parameter, bool may_be_null, bool is_optional = false>
consteval bool gives_parameter(std::string_view name) {
  using Of = internal::MatchesOf<T>;
  return Of::template gives_field<Parameter, may_be_null, is_optional>[Of::find(name)];
}

}  // namespace keel::db
