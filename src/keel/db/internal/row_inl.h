// How the values and the fields of a type are read of a row (row.h): one function for each type of a column, and one
// for each struct, which goes by a table of its columns.

#pragma once

#include "keel/db/row.h"

namespace keel::db {
namespace internal {

template <class T>
struct Get;
template <std::integral T>
struct Get<T> {
  static T from(const Row& row, int column, Row::Place place) {
    const std::int64_t value = row.integer(column, place);
    const T fitted = static_cast<T>(value);
    if (static_cast<std::int64_t>(fitted) == value && (std::signed_integral<T> || value >= 0)) [[likely]]
      return fitted;
    row.does_not_fit(column, type_name<T>());
  }
};
template <>
struct Get<bool> {
  static bool from(const Row& row, int column, Row::Place place) { return row.boolean(column, place); }
};
template <std::floating_point T>
struct Get<T> {
  static T from(const Row& row, int column, Row::Place place) { return static_cast<T>(row.real(column, place)); }
};
template <>
struct Get<std::string_view> {
  static std::string_view from(const Row& row, int column, Row::Place place) { return row.text(column, place); }
};
template <>
struct Get<std::string> {
  static std::string from(const Row& row, int column, Row::Place place) { return std::string(row.text(column, place)); }
};
template <TextValue T>
struct Get<T> {
  static T from(const Row& row, int column, Row::Place place) {
    Result<T> value = T::parse(row.text(column, place));
    if (value) [[likely]]
      return *std::move(value);
    row.is_no(column, T::expected);
  }
};
template <>
struct Get<std::span<const std::byte>> {
  static std::span<const std::byte> from(const Row& row, int column, Row::Place place) {
    return row.blob(column, place);
  }
};
template <>
struct Get<std::vector<std::byte>> {
  static std::vector<std::byte> from(const Row& row, int column, Row::Place place) {
    const std::span<const std::byte> bytes = row.blob(column, place);
    return {bytes.begin(), bytes.end()};
  }
};
template <class T>
  requires std::is_enum_v<T>
struct Get<T> {
  static T from(const Row& row, int column, Row::Place place) {
    const auto value = enum_value<T>(row.text(column, place));
    if (value) [[likely]]
      return *value;
    row.is_none_of(column, keel::internal::EnumTable<T>::names);
  }
};
template <class T>
struct Get<std::optional<T>> {
  static std::optional<T> from(const Row& row, int column, Row::Place place) {
    if (row.is_null(column, place)) return std::nullopt;
    return Get<T>::from(row, column, place);
  }
};

// What one column holds.
template <class T>
inline constexpr bool is_column = requires { sizeof(Get<T>); };
template <class T>
inline constexpr bool is_column<std::optional<T>> = is_column<T>;
template <class T>
inline constexpr bool is_view = std::same_as<T, std::string_view> || std::same_as<T, std::span<const std::byte>>;
template <class T>
inline constexpr bool is_view<std::optional<T>> = is_view<T>;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = is_column<T>;
// A list or a map, which is no column, and which another query fills.
template <class T>
concept Many = !is_column<T> && requires(const T& list) {
  typename T::value_type;
  list.begin();
  list.size();
};

template <class T>
void read_column(const Row& row, int column, T& field) {
  if constexpr (std::same_as<T, std::string>) {
    field.assign(row.text(column, {}));
  } else if constexpr (is_optional<T>) {
    if (row.is_null(column, {})) {
      field.reset();
    } else {
      read_column(row, column, field.emplace());
    }
  } else {
    field = Get<T>::from(row, column, {});
  }
}
template <class T>
void read_field(const Row& row, int column, void* field) {
  read_column(row, column, *static_cast<T*>(field));
}
template <class T>
consteval ReadField reader_of() {
  ReadField read = nullptr;
  if constexpr (is_column<T>) read = &read_field<T>;
  return read;
}

template <class T, class List>
struct FieldColumns;
template <class T, class... Field>
struct FieldColumns<T, keel::internal::TypeList<Field...>> {
  static_assert((!std::is_const_v<Field> && ...), "a const field cannot be read: leave the const out");
  static_assert(((is_column<Field> || Many<Field>) && ...),
                "a field that is read from a column is a bool, a number, text, std::vector<std::byte>, an enum, a type "
                "that is written as text (keel/base/text_value.h) or std::optional of these: read a struct within by a "
                "query of its own");
  static constexpr bool has_views = (is_view<Field> || ...);
  static constexpr ReadField read[] = {reader_of<Field>()..., nullptr};
  static constexpr FieldTable table = {type_name<T>(), Fields<T>::names.data(), read, sizeof...(Field)};
};
template <class T>
using ColumnsOf = FieldColumns<T, keel::internal::FieldTypes<T>>;

template <class T>
void read_fields(const Row& row, T& value) {
  void* fields[Fields<T>::count + 1];
  Fields<T>::visit(value, keel::internal::TakeAddresses{fields});
  row.read(ColumnsOf<T>::table, fields);
}

// Whether rows are read as a T by its fields, and not in one of the other ways.
template <class T>
concept ReadByFields = !is_column<T> && !requires(const Row& row) {
  { T::from_row(row) } -> std::same_as<T>;
} && !requires(const Row& row) {
  { read_row(row, static_cast<T*>(nullptr)) } -> std::same_as<T>;
};

// What outlives the row: the same sentence for a column and for a struct.
template <class T>
consteval void require_no_views() {
  if constexpr (ReadByFields<T>) {
    static_assert(!ColumnsOf<T>::has_views, "a row's text does not outlive the row: use std::string");
  } else {
    static_assert(!is_view<T>, "a row's text does not outlive the row: use std::string");
  }
}
}  // namespace internal

template <class T>
T Row::get(int column, Place place) const {
  return internal::Get<T>::from(*this, column, place);
}
template <class T>
T Row::as() const {
  T value{};
  internal::read_fields(*this, value);
  return value;
}

template <class T>
T read_as(const Row& row) {
  if constexpr (requires {
                  { T::from_row(row) } -> std::same_as<T>;
                }) {
    return T::from_row(row);
  } else if constexpr (requires {
                         { read_row(row, static_cast<T*>(nullptr)) } -> std::same_as<T>;
                       }) {
    return read_row(row, static_cast<T*>(nullptr));
  } else {
    internal::require_no_views<T>();
    if constexpr (internal::is_column<T>) {
      return row.get<T>(0);
    } else {
      return row.as<T>();
    }
  }
}

}  // namespace keel::db
