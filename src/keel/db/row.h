// keel/db/row.h — a row of a result, and all rows of one.
//
// Rows are captured before any of them is handed out: a statement that is interrupted half-way has given nothing
// away. A Row is a view into that capture.
//
// Typed access converts between integer and real and gives 0, 0.0 or "" for NULL and for what does not convert (text to
// a number); is_null() and kind() tell. Columns are counted from 0; one beyond the last is a bug.
// An integer that its type cannot hold is not cut: get() gives 0 for it, and the query that handed the rows out fails
// with Internal, "column 'id': 4294967297 does not fit int", after its last row.
//
// Lifetime: a Row and its views are valid during the call that received it.
// Threads:  a value.  Cost: access is a load; capturing a row is one copy into a buffer from the thread's pool.

#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/check.h"
#include "keel/base/error.h"
#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/base/type_name.h"
#include "keel/db/value.h"

namespace keel::db {

class Row {
 public:
  int columns() const noexcept { return columns_; }
  ValueKind kind(int column) const { return cell(column).kind; }
  bool is_null(int column) const { return kind(column) == ValueKind::Null; }
  std::int64_t integer(int column) const {
    const Value& value = cell(column);
    if (value.kind == ValueKind::Integer) [[likely]]
      return value.integer;
    return value.kind == ValueKind::Real ? to_integer(value.real) : 0;
  }
  double real(int column) const {
    const Value& value = cell(column);
    if (value.kind == ValueKind::Real) return value.real;
    return value.kind == ValueKind::Integer ? static_cast<double>(value.integer) : 0.0;
  }
  bool boolean(int column) const { return integer(column) != 0; }
  std::string_view text(int column) const {
    const Value& value = cell(column);
    return value.kind >= ValueKind::Text ? std::string_view(record_ + value.integer, value.size) : std::string_view();
  }
  std::span<const std::byte> blob(int column) const {
    const std::string_view bytes = text(column);
    return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
  }
  // The column's name as the statement gives it.
  std::string_view name(int column) const;

  // Typed: row.get<std::string>(1), row.get<std::optional<std::int64_t>>(2).
  template <class T>
  T get(int column) const;
  // Used by get(): what is read fails.
  void does_not_fit(int column, std::string_view type) const;

 private:
  friend class NewRow;
  friend class Rows;
  Row(const char* record, int columns, class Rows& rows) : record_(record), columns_(columns), rows_(rows) {}
  // Text and blobs: `integer` is their offset in the record.
  const Value& cell(int column) const {
    KEEL_CHECK(column >= 0 && column < columns_, "a column that is read is in the row");
    return reinterpret_cast<const Value*>(record_ + record_head)[column];
  }
  static std::int64_t to_integer(double value) noexcept;
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

  // Calls f with each row in order. Internal: f has read an integer with a type that cannot hold it.
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
  Buffer data_;                  // Records: their size (8 bytes), the Values, the bytes; each a multiple of 8.
  Buffer names_;                 // Each ended by a zero byte.
  std::optional<Error> misfit_;  // The first one.
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
  static T from(const Row& row, int column) {
    const std::int64_t value = row.integer(column);
    const T fitted = static_cast<T>(value);
    if (static_cast<std::int64_t>(fitted) == value && (std::signed_integral<T> || value >= 0)) [[likely]]
      return fitted;
    row.does_not_fit(column, type_name<T>());
    return 0;
  }
};
template <>
struct Get<bool> {
  static bool from(const Row& row, int column) { return row.boolean(column); }
};
template <std::floating_point T>
struct Get<T> {
  static T from(const Row& row, int column) { return static_cast<T>(row.real(column)); }
};
template <>
struct Get<std::string_view> {
  static std::string_view from(const Row& row, int column) { return row.text(column); }
};
template <>
struct Get<std::string> {
  static std::string from(const Row& row, int column) { return std::string(row.text(column)); }
};
template <class T>
struct Get<std::optional<T>> {
  static std::optional<T> from(const Row& row, int column) {
    if (row.is_null(column)) return std::nullopt;
    return Get<T>::from(row, column);
  }
};
}  // namespace internal

template <class T>
T Row::get(int column) const {
  return internal::Get<T>::from(*this, column);
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
    return row.get<T>(0);
  }
}

}  // namespace keel::db
