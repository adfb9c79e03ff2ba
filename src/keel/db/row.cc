#include "keel/db/row.h"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "keel/base/bug.h"
#include "keel/data/decimal.h"

namespace keel::db {
namespace {

// Thrown to leave a callback that reads a value as a wrong type; Rows::for_each() catches it.
struct Misread {
  Error error;
};

[[noreturn]] void fail_reading(const std::string& text) {
  throw Misread{Error::text(Code::Internal, text).from_environment()};
}

std::string_view kind_text(ValueKind kind) noexcept {
  constexpr std::string_view texts[] = {"NULL", "an integer", "a real", "text", "a blob"};
  return texts[static_cast<int>(kind)];
}

}  // namespace

std::int64_t Row::integer_of(int column, const Value& value) const {
  if (value.kind != ValueKind::Real) is_not(column, "an integer");
  // A double from -2^63 to below 2^63 is converted; the comparison below fails if the double has a fraction.
  const bool converts = value.real >= -9223372036854775808.0 && value.real < 9223372036854775808.0;
  const std::int64_t whole = converts ? static_cast<std::int64_t>(value.real) : 0;
  if (!converts || static_cast<double>(whole) != value.real) {
    fail_reading("column '" + std::string(name_of(column)) + "': " + std::to_string(value.real) + " is not an integer");
  }
  return whole;
}

double Row::real_of(int column, const Value& value) const {
  if (value.kind != ValueKind::Integer) is_not(column, "a number");
  const double converted = static_cast<double>(value.integer);
  if (converted >= 9223372036854775808.0 || static_cast<std::int64_t>(converted) != value.integer) {
    does_not_fit(column, "double");
  }
  return converted;
}

std::string Row::names() const {
  std::string names;
  for (int i = 0; i < columns_; ++i) names.append(i == 0 ? "" : ", ").append(name_of(i));
  return names;
}

void Row::is_beyond(int column, Place place) const {
  throw_bug("column " + std::to_string(column) + " is read from a row with " + std::to_string(columns_) +
                (columns_ == 1 ? " column (" : " columns (") + names() + "); columns are counted from 0",
            place);
}

void Row::read(const internal::FieldTable& table, void* const* fields) const {
  const std::uint16_t* const columns = rows_.found_for_ == &table ? rows_.found_.data() : find_columns(table);
  for (std::size_t i = 0; i < table.count; ++i) {
    if (table.read[i] != nullptr) [[likely]]
      table.read[i](*this, columns[i], fields[i]);
  }
}

const std::uint16_t* Row::find_columns(const internal::FieldTable& table) const {
  rows_.found_for_ = nullptr;
  std::uint64_t missing = 0;
  for (std::size_t i = 0; i < table.count; ++i) missing |= std::uint64_t{table.read[i] != nullptr} << i;
  const std::uint64_t wanted = missing;
  const char* at = rows_.names_.data();
  // The field with which the search for the next column begins: columns are often in the order of the fields.
  std::size_t expected = 0;
  for (int column = 0; column < columns_; ++column) {
    std::string_view name = "?";
    if (!rows_.names_.empty()) {
      name = at;
      at += name.size() + 1;
    }
    std::size_t i = expected;
    for (std::size_t looked_at = 0; looked_at < table.count; ++looked_at, i = i + 1 < table.count ? i + 1 : 0) {
      const std::uint64_t bit = std::uint64_t{1} << i;
      if (table.names[i] != name || (wanted & bit) == 0) continue;
      if ((missing & bit) == 0) {
        fail_reading(std::string(table.type) + ": two columns have the name '" + std::string(name) +
                     "' of a field: give one of them another name, as in `b.id as b_id`");
      }
      missing &= ~bit;
      rows_.found_[i] = static_cast<std::uint16_t>(column);
      expected = i + 1 < table.count ? i + 1 : 0;
      break;
    }
  }
  if (missing != 0) {
    const std::string_view name = table.names[static_cast<std::size_t>(std::countr_zero(missing))];
    fail_reading(std::string(table.type) + ": no column '" + std::string(name) +
                 "' for the field of that name; the columns are " + names());
  }
  rows_.found_for_ = &table;
  return rows_.found_.data();
}

void Row::is_not(int column, std::string_view wanted) const {
  const std::string start = "column '" + std::string(name_of(column)) + "' is ";
  const ValueKind kind = value(column).kind;
  if (kind == ValueKind::Null) {
    fail_reading(start + "NULL, but is read as " + std::string(wanted) +
                 ": read it as a std::optional, or call is_null() first");
  }
  fail_reading(start + std::string(kind_text(kind)) + ", but is read as " + std::string(wanted));
}

const char* Row::name_of(int column) const noexcept {
  const char* at = rows_.names_.data();
  if (rows_.names_.empty()) return "?";
  for (int i = 0; i < column; ++i) at += std::strlen(at) + 1;
  return at;
}

std::string_view Row::name(int column, Place place) const {
  cell(column, place);
  return name_of(column);
}

void Row::does_not_fit(int column, std::string_view type) const {
  fail_reading("column '" + std::string(name_of(column)) + "': " + std::to_string(value(column).integer) +
               " does not fit into " + std::string(type));
}

void Row::is_no(int column, std::string_view expected) const {
  fail_reading("column '" + std::string(name_of(column)) + "': " + std::string(expected));
}

void Row::is_none_of(int column, const keel::internal::EnumNames& names) const {
  std::string expected = "expected ";
  bool is_first = true;
  for (std::size_t value = 0; value < names.count; ++value) {
    const std::string_view name = names.name(value);
    if (name.empty()) continue;
    expected.append(is_first ? "" : ", ").append(name);
    is_first = false;
  }
  is_no(column, expected);
}

float internal::Get<float>::from(const Row& row, int column, Row::Place place) {
  const double value = row.real(column, place);
  constexpr double most = std::numeric_limits<float>::max();
  if (std::isfinite(value) && std::abs(value) > most) row.is_no(column, "the number does not fit into a float");
  const auto fitted = static_cast<float>(value);
  // A real may be rounded; but an integer is converted only if nothing is lost.
  if (row.kind(column) == ValueKind::Integer && double{fitted} != value) row.does_not_fit(column, "float");
  return fitted;
}

Decimal internal::Get<Decimal>::from(const Row& row, int column, Row::Place place) {
  switch (row.kind(column, place)) {
    case ValueKind::Integer:
      return row.integer(column, place);
    case ValueKind::Real:
      row.is_no(column,
                "a real has no exact digits and cannot be read as a Decimal: declare the column as text in SQLite, or "
                "as numeric in PostgreSQL");
    default:
      break;
  }
  const Result<Decimal> value = Decimal::parse(row.text(column, place));
  if (!value) row.is_no(column, Decimal::expected);
  return *value;
}

void Rows::clear() noexcept {
  data_.clear();
  names_.clear();
  count_ = 0;
  columns_ = 0;
  found_for_ = nullptr;
}

Result<> Rows::for_each(FunctionRef<void(const Row&)> f) {
  const char* at = data_.data();
  try {
    for (std::size_t i = 0; i < count_; ++i) {
      std::uint64_t size = 0;
      std::memcpy(&size, at, sizeof size);
      f(Row(at, columns_, *this));
      at += size;
    }
  } catch (Misread& misread) {
    return std::move(misread.error);
  }
  return {};
}

}  // namespace keel::db
