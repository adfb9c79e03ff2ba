#include "keel/db/row.h"

#include <utility>

#include "keel/base/bug.h"

namespace keel::db {
namespace {

// How a callback is left that has read a value as what it is not; Rows::for_each() ends it.
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
  // A double from -2^63 up to 2^63 converts; what has a fraction comes back as another one.
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

void Row::is_beyond(int column, Place place) const {
  std::string names;
  for (int i = 0; i < columns_; ++i) names.append(i == 0 ? "" : ", ").append(name_of(i));
  throw_bug("column " + std::to_string(column) + " is read of a row with " + std::to_string(columns_) +
                (columns_ == 1 ? " column (" : " columns (") + names + "), counted from 0",
            place);
}

void Row::is_not(int column, std::string_view wanted) const {
  const std::string start = "column '" + std::string(name_of(column)) + "' is ";
  const ValueKind kind = value(column).kind;
  if (kind == ValueKind::Null) {
    fail_reading(start + "NULL, read as " + std::string(wanted) + ": read it as a std::optional, or ask is_null()");
  }
  fail_reading(start + std::string(kind_text(kind)) + ", read as " + std::string(wanted));
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
               " does not fit " + std::string(type));
}

void Row::is_no(int column, std::string_view expected) const {
  fail_reading("column '" + std::string(name_of(column)) + "': " + std::string(expected));
}

void Rows::clear() noexcept {
  data_.clear();
  names_.clear();
  count_ = 0;
  columns_ = 0;
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
