// keel/db/row.h — a row of a result, and all rows of a result.
//
// All rows are captured before the first row is passed to the caller, so a statement that is interrupted passes no
// rows. A Row is a view into the captured rows.
//
// Typed access never changes a value. If the callback reads a value as a type that the value does not fit, the callback
// ends there, and the query fails with Internal. The following do not fit: a value of another kind; NULL, if the type
// is not a std::optional; a number that the type cannot hold; and an invalid text, if the type is written as text
// (base/text_value.h, such as Uuid or Timestamp). Examples of the message: "column 'id': 4294967297 does not fit into
// int", "column 'age' is NULL: …", "column 'id': expected a UUID such as …". An integer is converted to a real, and a
// real to an integer, if nothing is lost; a Decimal cannot be read from a real. kind() and is_null() return the kind of
// a value. Columns are counted from 0; an index above the last column is a Bug (base/bug.h).
//
// When a row is read into a struct, each field is read from the column of the same name:
//
//   struct Order {
//     std::int64_t id;
//     std::string customer;
//     Timestamp created_at;
//     State state = State::Open;                // an enum: the name of a value (data/enum_names.h)
//     std::optional<std::string> note;          // may be NULL
//     std::vector<Line> lines;                  // a list or a map: no column; a query of its own fills it
//   };
//   auto orders = co_await session.query_many<Order>("select id, customer, … from orders where state = $1", state);
//
// data/fields.h says which structs are supported. A column must have the name with which its field is declared,
// whatever name_case says about JSON. The order of the columns does not matter, and columns for which there is no field
// are ignored. If a field has no column, the query fails with Internal at the first row, even if the field is in
// optional_fields: "Order: no column 'note' for the field of that name; the columns are id, customer, …". The query
// also fails with Internal if there are two columns for one field. Give an expression a name with `as`: select count(*)
// as total.
//
// Lifetime: a Row and its views are valid during the call to which the Row is passed.
// Threads:  a value.
// Cost:     reading a value is a load; capturing a row is one copy into a buffer from the thread's pool. The columns of
//           a struct are looked up once per result, unless the callback alternates between different structs.

#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/error.h"
#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/base/type_name.h"
#include "keel/data/enum_names.h"
#include "keel/data/fields.h"
#include "keel/db/value.h"

namespace keel {
class Decimal;
}

namespace keel::db {

class Row;

namespace internal {

using ReadField = void (*)(const Row& row, int column, void* field);

// How the fields of a struct are read.
struct FieldTable {
  std::string_view type;
  const std::string_view* names;
  const ReadField* read;  // An element is null if the field is not read from a column.
  std::size_t count;
};
inline constexpr std::size_t fields_max = 64;

}  // namespace internal

class Row {
 public:
  // The source location of the call, which the message of a Bug names.
  using Place = std::source_location;

  int columns() const noexcept { return columns_; }
  ValueKind kind(int column, Place place = Place::current()) const { return cell(column, place).kind; }
  bool is_null(int column, Place place = Place::current()) const { return kind(column, place) == ValueKind::Null; }
  std::int64_t integer(int column, Place place = Place::current()) const {
    const Value& value = cell(column, place);
    if (value.kind == ValueKind::Integer) [[likely]]
      return value.integer;
    return integer_of(column, value);
  }
  double real(int column, Place place = Place::current()) const {
    const Value& value = cell(column, place);
    if (value.kind == ValueKind::Real) [[likely]]
      return value.real;
    return real_of(column, value);
  }
  // Reads an integer as a boolean: 0 is false, and every other integer is true.
  bool boolean(int column, Place place = Place::current()) const { return integer(column, place) != 0; }
  // The value must be a text or a blob.
  std::string_view text(int column, Place place = Place::current()) const {
    const Value& value = cell(column, place);
    if (value.kind < ValueKind::Text) [[unlikely]]
      is_not(column, "text");
    return std::string_view(record_ + value.integer, value.size);
  }
  std::span<const std::byte> blob(int column, Place place = Place::current()) const {
    const std::string_view bytes = text(column, place);
    return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
  }
  // The name of the column in the statement's result.
  std::string_view name(int column, Place place = Place::current()) const;

  // Typed: row.get<std::string>(1), row.get<std::optional<std::int64_t>>(2).
  template <class T>
  T get(int column, Place place = Place::current()) const;
  // Returns a struct whose fields are read from the columns of the same names: row.as<Order>(). Views in the struct
  // live as long as the views of the row.
  template <class T>
  T as() const;
  // For get() and as(): makes the query fail.
  [[noreturn]] void does_not_fit(int column, std::string_view type) const;
  [[noreturn]] void is_no(int column, std::string_view expected) const;
  [[noreturn]] void is_none_of(int column, const keel::internal::EnumNames& names) const;
  // Fills the fields of a struct; `fields` are their addresses.
  void read(const internal::FieldTable& table, void* const* fields) const;

 private:
  friend class NewRow;
  friend class Rows;
  Row(const char* record, int columns, class Rows& rows) : record_(record), columns_(columns), rows_(rows) {}
  // If the Value is a text or a blob, its `integer` is the offset of the bytes in the record.
  const Value& cell(int column, Place place) const {
    if (column < 0 || column >= columns_) [[unlikely]]
      is_beyond(column, place);
    return reinterpret_cast<const Value*>(record_ + record_head)[column];
  }
  const Value& value(int column) const { return reinterpret_cast<const Value*>(record_ + record_head)[column]; }
  std::int64_t integer_of(int column, const Value& value) const;
  double real_of(int column, const Value& value) const;
  [[noreturn, gnu::cold]] void is_beyond(int column, Place place) const;
  [[noreturn, gnu::cold]] void is_not(int column, std::string_view wanted) const;
  const std::uint16_t* find_columns(const internal::FieldTable& table) const;
  std::string names() const;
  const char* name_of(int column) const noexcept;
  static constexpr std::size_t record_head = 8;

  const char* record_;
  int columns_;
  class Rows& rows_;
};

// The captured rows of one statement.
class Rows {
 public:
  std::size_t count() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return data_.size(); }
  // The size of the memory that this object holds, in bytes.
  std::size_t capacity() const noexcept { return data_.capacity(); }

  // Calls f with each row in order. If `f` reads a value as a wrong type, `f` ends at that point; the error is
  // Internal.
  Result<> for_each(FunctionRef<void(const Row&)> f);

  // Drops the rows, but keeps their memory.
  void clear() noexcept;
  // Frees the memory if it is larger than `bytes`.
  void shrink(std::size_t bytes) noexcept {
    if (data_.capacity() > bytes) data_.release();
  }

  // For back ends, after the last row: sets the names of the columns, each followed by a zero byte.
  void set_names(std::string_view names) {
    names_.clear();
    names_.append(names);
    found_for_ = nullptr;
  }

 private:
  friend class Row;
  friend class NewRow;
  // The records of the rows: each consists of its size (8 bytes), the Values, and their bytes; each of these parts is a
  // multiple of 8 bytes long.
  Buffer data_;
  Buffer names_;  // The names of the columns, each followed by a zero byte.
  std::size_t count_ = 0;
  int columns_ = 0;
  const internal::FieldTable* found_for_ = nullptr;  // The struct type to which `found_` applies.
  std::array<std::uint16_t, internal::fields_max> found_ = {};
};

// For back ends: begins a row of `rows`, which must have as many columns as the preceding rows. append() copies the
// value of the next column; end() adds the row. If a call throws std::bad_alloc, the rows must be discarded.
class NewRow {
 public:
  NewRow(Rows& rows, int columns) : rows_(rows), start_(rows.data_.size()), cell_(start_ + Row::record_head) {
    rows.columns_ = columns;
    const std::size_t head = Row::record_head + static_cast<std::size_t>(columns) * sizeof(Value);
    rows.data_.reserve(head);
    rows.data_.commit(head);
  }
  void append(Value value) {
    if (value.kind >= ValueKind::Text) {
      const std::size_t offset = rows_.data_.size() - start_;
      rows_.data_.append({value.bytes, value.size});
      value.integer = static_cast<std::int64_t>(offset);
    }
    new (rows_.data_.data() + cell_) Value(value);
    cell_ += sizeof(Value);
  }
  void end() {
    // Clears a whole word even if fewer bytes are needed, because clearing a word takes only one store.
    std::memset(rows_.data_.reserve(8), 0, 8);
    rows_.data_.commit((8 - (rows_.data_.size() & 7)) & 7);
    const std::uint64_t size = rows_.data_.size() - start_;
    std::memcpy(rows_.data_.data() + start_, &size, sizeof size);
    ++rows_.count_;
  }

 private:
  Rows& rows_;
  const std::size_t start_;  // In data_.
  std::size_t cell_;         // The position of the next Value in data_.
};

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
struct Get<float> {
  static float from(const Row& row, int column, Row::Place place);
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
struct Get<Decimal> {
  static Decimal from(const Row& row, int column, Row::Place place);
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

// Whether a value of type T can be read from one column.
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
// A list or a map: it is not read from a column, so another query must fill it.
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
  static_assert((!std::is_const_v<Field> && ...), "a const field cannot be read: remove the const");
  static_assert(((is_column<Field> || Many<Field>) && ...),
                "a field that is read from a column must be a bool, a number, text, std::vector<std::byte>, an enum, a "
                "type that is written as text (keel/base/text_value.h) or std::optional of these: read a nested struct "
                "with a separate query");
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

// Whether a row is read into a T field by field, rather than by from_row(), by read_row(), or as a single column.
template <class T>
concept ReadByFields = !is_column<T> && !requires(const Row& row) {
  { T::from_row(row) } -> std::same_as<T>;
} && !requires(const Row& row) {
  { read_row(row, static_cast<T*>(nullptr)) } -> std::same_as<T>;
};

// Rejects a T that contains views of the row's text, because the T may outlive the row. The message is the same whether
// T is a column or a struct.
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

// A row can be read as a T that is one of these types: a type with `static T from_row(const db::Row&)`, or with a free
// function `T read_row(const db::Row&, T*)` that is found by argument-dependent lookup; a type that one column can
// hold, for results of one column; or a struct, whose fields are read from the columns of the same names.
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
