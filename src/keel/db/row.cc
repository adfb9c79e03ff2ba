#include "keel/db/row.h"

#include <sqlite3.h>

#include <cmath>
#include <limits>
#include <new>
#include <utility>

namespace keel::db {

std::int64_t Row::to_integer(double value) noexcept {
  // SQLite's cast: towards zero, and to the nearest end of the range beyond it.
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775807.0) return std::numeric_limits<std::int64_t>::max();
  if (value <= -9223372036854775808.0) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

std::string_view Row::name(int column) const {
  KEEL_CHECK(column >= 0 && column < columns_, "a column that is named is in the row");
  KEEL_CHECK(!rows_.names_.empty(), "rows that are handed out know their names");
  const char* at = rows_.names_.data();
  for (int i = 0; i < column; ++i) at += std::strlen(at) + 1;
  return at;
}

void Row::does_not_fit(int column, std::string_view type) const {
  if (rows_.misfit_) return;
  rows_.misfit_ =
      Error::text(Code::Internal, "column '" + std::string(name(column)) + "': " + std::to_string(integer(column)) +
                                      " does not fit " + std::string(type));
}

void Rows::clear() noexcept {
  misfit_.reset();
  data_.clear();
  names_.clear();
  count_ = 0;
  columns_ = 0;
}

Result<> Rows::for_each(FunctionRef<void(const Row&)> f) {
  const char* at = data_.data();
  for (std::size_t i = 0; i < count_; ++i) {
    std::uint64_t size = 0;
    std::memcpy(&size, at, sizeof size);
    f(Row(at, columns_, *this));
    at += size;
  }
  if (!misfit_) [[likely]]
    return {};
  return *std::exchange(misfit_, std::nullopt);
}

void Rows::capture(sqlite3_stmt* statement) {
  if (count_ == 0) columns_ = sqlite3_data_count(statement);
  const std::size_t start = data_.size();
  const std::size_t head = Row::record_head + static_cast<std::size_t>(columns_) * sizeof(Value);
  data_.reserve(head);
  data_.commit(head);
  for (int i = 0; i < columns_; ++i) {
    Value value;
    const auto keep = [&](ValueKind kind, const void* bytes) {
      value.kind = kind;
      value.size = static_cast<std::uint32_t>(sqlite3_column_bytes(statement, i));
      value.integer = static_cast<std::int64_t>(data_.size() - start);
      data_.append({static_cast<const char*>(bytes), value.size});
    };
    switch (sqlite3_column_type(statement, i)) {
      case SQLITE_INTEGER:
        value = Value(static_cast<std::int64_t>(sqlite3_column_int64(statement, i)));
        break;
      case SQLITE_FLOAT:
        value = Value(sqlite3_column_double(statement, i));
        break;
      case SQLITE_TEXT:
        keep(ValueKind::Text, sqlite3_column_text(statement, i));
        break;
      case SQLITE_BLOB:
        keep(ValueKind::Blob, sqlite3_column_blob(statement, i));
        break;
      default:
        break;
    }
    new (data_.data() + start + Row::record_head + static_cast<std::size_t>(i) * sizeof(Value)) Value(value);
  }
  const std::size_t padding = (8 - (data_.size() & 7)) & 7;
  if (padding != 0) std::memset(data_.reserve(padding), 0, padding);
  data_.commit(padding);
  const std::uint64_t size = data_.size() - start;
  std::memcpy(data_.data() + start, &size, sizeof size);
  ++count_;
}

void Rows::capture_names(sqlite3_stmt* statement) {
  if (count_ == 0) return;
  for (int i = 0; i < columns_; ++i) {
    names_.append(sqlite3_column_name(statement, i));
    names_.push_back('\0');
  }
}

}  // namespace keel::db
