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
  columns.ways_.reserve(static_cast<std::size_t>(description.columns()));
  for (const ColumnDescription& column : description) {
    columns.types_.push_back(column.type);
    columns.formats_.push_back(is_described ? format_of(column.type) : column.format);
    columns.ways_.push_back(way_of(column.type, columns.formats_.back()));
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

Columns::Way Columns::way_of(Oid type, Format format) noexcept {
  if (format == Format::Text) return Way::Other;
  switch (type) {
    case oid::text:
    case oid::varchar:
    case oid::bpchar:
    case oid::name:
    case oid::json:
      return Way::Text;
    case oid::int8:
      return Way::Integer8;
    case oid::int4:
      return Way::Integer4;
    default:
      return Way::Other;
  }
}

Result<> Columns::append_other(int column, std::string_view bytes, NewRow& row, std::size_t text_max) {
  Result<Value> value = decode(type(column), formats_[static_cast<std::size_t>(column)], bytes, scratch_);
  if (!value) [[unlikely]]
    return std::move(value).error().because("column '" + std::string(name(column)) + "'");
  if (scratch_.size() > text_max) [[unlikely]] {
    return Error(Code::ResourceExhausted, "the text of a row is larger than 1 MiB plus 16 times the row's binary form")
        .from_environment();
  }
  row.append(*value);
  return {};
}

Result<> Columns::append(std::string_view body, Rows& rows) {
  const char* at = body.data();
  const char* const end = at + body.size();
  if (body.size() < 2 || wire::load<std::uint16_t>(at) != types_.size()) [[unlikely]] {
    KEEL_TRY(const DataRow cells, DataRow::read(body));
    return wire::broken("the server sent a row of " + std::to_string(cells.columns()) + " columns, but described " +
                        std::to_string(count()));
  }
  at += 2;
  // The text of a numeric can be much longer than its bytes, so the text of a row is limited in proportion to the size
  // of the row.
  const std::size_t text_max = std::max<std::size_t>(1024 * 1024, 16 * body.size());
  scratch_.clear();
  const int columns = count();
  NewRow row(rows, columns);
  // Returns false if append_other() has to read the column.
  const auto read_usual = [](Way way, std::string_view bytes, Value& value) noexcept {
    switch (way) {
      case Way::Text:
        value = Value(bytes);
        return true;
      case Way::Integer8:
        if (bytes.size() != sizeof(std::int64_t)) return false;
        value = Value(wire::load<std::int64_t>(bytes.data()));
        return true;
      case Way::Integer4:
        if (bytes.size() != sizeof(std::int32_t)) return false;
        value = Value(std::int64_t{wire::load<std::int32_t>(bytes.data())});
        return true;
      case Way::Other:
        break;
    }
    return false;
  };
  for (int i = 0; i < columns; ++i) {
    if (end - at < 4) [[unlikely]]
      return DataRow::malformed();
    const auto size = wire::load<std::int32_t>(at);
    at += 4;
    Value value;
    if (size < 0) {
      if (size != -1) [[unlikely]]
        return DataRow::malformed();
    } else {
      if (size > end - at) [[unlikely]]
        return DataRow::malformed();
      const std::string_view bytes(at, static_cast<std::size_t>(size));
      at += size;
      if (!read_usual(ways_[static_cast<std::size_t>(i)], bytes, value)) {
        KEEL_TRY_VOID(append_other(i, bytes, row, text_max));
        continue;
      }
    }
    row.append(value);
  }
  if (at != end) [[unlikely]]
    return DataRow::malformed();
  row.end();
  return {};
}

}  // namespace keel::db::postgres
