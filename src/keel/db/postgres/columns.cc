#include "keel/db/postgres/columns.h"

#include <algorithm>

#include "keel/db/postgres/internal/wire.h"
#include "keel/db/postgres/types.h"

namespace keel::db::postgres {

Result<Columns> Columns::make(const RowDescription& description, bool is_described) {
  if (description.columns() > columns_max) {
    return Error(Code::ResourceExhausted, "a result has more than 1664 columns").from_environment();
  }
  Columns columns;
  columns.types_.reserve(static_cast<std::size_t>(description.columns()));
  columns.formats_.reserve(static_cast<std::size_t>(description.columns()));
  for (const ColumnDescription& column : description) {
    columns.types_.push_back(column.type);
    columns.formats_.push_back(is_described ? format_of(column.type) : column.format);
    columns.names_.append(column.name).push_back('\0');
  }
  return columns;
}

Result<Columns> Columns::of(const RowDescription& description) { return make(description, true); }
Result<Columns> Columns::as_sent(const RowDescription& description) { return make(description, false); }

std::string_view Columns::name(int column) const noexcept {
  const char* at = names_.c_str();
  for (int i = 0; i < column; ++i) at += std::string_view(at).size() + 1;
  return at;
}

bool Columns::operator==(const Columns& other) const noexcept {
  return types_ == other.types_ && formats_ == other.formats_ && names_ == other.names_;
}

Result<> Columns::append(std::string_view body, Rows& rows) {
  KEEL_TRY(DataRow cells, DataRow::read(body));
  if (cells.columns() != count()) [[unlikely]] {
    return wire::broken("the server sent a row of " + std::to_string(cells.columns()) + " columns, and described " +
                        std::to_string(count()));
  }
  // What a few bytes of a numeric are as text may be large: bounded by what came.
  const std::size_t text_max = std::max<std::size_t>(1024 * 1024, 16 * body.size());
  scratch_.clear();
  NewRow row(rows, count());
  for (int i = 0; i < count(); ++i) {
    KEEL_TRY(const Cell cell, cells.next());
    if (cell.is_null) {
      row.append(Value());
      continue;
    }
    Result<Value> value = decode(type(i), formats_[static_cast<std::size_t>(i)], cell.bytes, scratch_);
    if (!value) [[unlikely]]
      return std::move(value).error().because("column '" + std::string(name(i)) + "'");
    if (scratch_.size() > text_max) [[unlikely]] {
      return Error(Code::ResourceExhausted, "the text of a row is more than 1 MiB and 16 times its bytes")
          .from_environment();
    }
    row.append(*value);
  }
  KEEL_TRY_VOID(cells.end());
  row.end();
  return {};
}

}  // namespace keel::db::postgres
