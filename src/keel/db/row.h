// keel/db/row.h — a row of a result, and all rows of one.
//
// Rows are captured before any of them is handed out: a statement that is interrupted half-way has given nothing
// away. A Row is a view into that capture.
//
// Typed access never gives a value that is not there. A value of another kind, NULL where the type is no
// std::optional, a number that its type cannot hold and a text that is none of a type that is written as text
// (base/text_value.h, such as Uuid or Timestamp) end the callback where they are read, and the query fails with
// Internal: "column 'id': 4294967297 does not fit int", "column 'age' is NULL: …", "column 'id': expected a UUID such
// as …". Integers and reals are converted where nothing is lost. kind() and is_null() tell what is there. Columns are
// counted from 0; one beyond the last is a Bug (base/bug.h).
//
// Lifetime: a Row and its views are valid during the call that received it.
// Threads:  a value.  Cost: access is a load; capturing a row is one copy into a buffer from the thread's pool.

#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/error.h"
#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/base/type_name.h"
#include "keel/db/value.h"

namespace keel::db {

class Row {
 public:
  // The caller's place, which a Bug names.
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
  // Integers: 0 is false, all others are true.
  bool boolean(int column, Place place = Place::current()) const { return integer(column, place) != 0; }
  // Of a text or a blob.
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
  // The column's name as the statement gives it.
  std::string_view name(int column, Place place = Place::current()) const;

  // Typed: row.get<std::string>(1), row.get<std::optional<std::int64_t>>(2).
  template <class T>
  T get(int column, Place place = Place::current()) const;
  // Used by get(): the query fails.
  [[noreturn]] void does_not_fit(int column, std::string_view type) const;
  [[noreturn]] void is_no(int column, std::string_view expected) const;

 private:
  friend class NewRow;
  friend class Rows;
  Row(const char* record, int columns, class Rows& rows) : record_(record), columns_(columns), rows_(rows) {}
  // Text and blobs: `integer` is their offset in the record.
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
  std::size_t capacity() const noexcept { return data_.capacity(); }  // Bytes of memory that it has.

  // Calls f with each row in order. Internal: f has read a value as what it is not, and has ended there.
  Result<> for_each(FunctionRef<void(const Row&)> f);

  // Drops the rows and keeps the memory.
  void clear() noexcept;
  // Gives the memory back when it is more than `bytes`.
  void shrink(std::size_t bytes) noexcept {
    if (data_.capacity() > bytes) data_.release();
  }

  // For back ends, after the last row: the columns' names, each ended by a zero byte.
  void set_names(std::string_view names) {
    names_.clear();
    names_.append(names);
  }

 private:
  friend class Row;
  friend class NewRow;
  Buffer data_;   // Records: their size (8 bytes), the Values, the bytes; each a multiple of 8.
  Buffer names_;  // Each ended by a zero byte.
  std::size_t count_ = 0;
  int columns_ = 0;
};

// For back ends: a row that is added to `rows`, with as many columns as those before it. append() copies a value for
// each column, in order; end() makes it one of the rows. After std::bad_alloc the rows are to be thrown away.
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
    const std::size_t padding = (8 - (rows_.data_.size() & 7)) & 7;
    if (padding != 0) std::memset(rows_.data_.reserve(padding), 0, padding);
    rows_.data_.commit(padding);
    const std::uint64_t size = rows_.data_.size() - start_;
    std::memcpy(rows_.data_.data() + start_, &size, sizeof size);
    ++rows_.count_;
  }

 private:
  Rows& rows_;
  const std::size_t start_;  // In data_.
  std::size_t cell_;         // Where the next Value is, in data_.
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
template <class T>
struct Get<std::optional<T>> {
  static std::optional<T> from(const Row& row, int column, Row::Place place) {
    if (row.is_null(column, place)) return std::nullopt;
    return Get<T>::from(row, column, place);
  }
};
}  // namespace internal

template <class T>
T Row::get(int column, Place place) const {
  return internal::Get<T>::from(*this, column, place);
}

// A type that a row can be read as: `static T from_row(const db::Row&)`, a free `T read_row(const db::Row&, T*)` found
// by its argument, or a plain value for results of one column.
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
    static_assert(!std::same_as<T, std::string_view>, "a row's text does not outlive the row: use std::string");
    static_assert(
        requires { sizeof(internal::Get<T>); },
        "what a row is read as has `static T from_row(const db::Row&)` or a free `T read_row(const db::Row&, "
        "T*)`; without, it is bool, an integer, a double, std::string or std::optional of these");
    return row.get<T>(0);
  }
}

}  // namespace keel::db
