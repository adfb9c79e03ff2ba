#include "keel/db/row.h"

#include <cmath>
#include <limits>
#include <utility>

namespace keel::db {

std::int64_t Row::to_integer(double value) noexcept {
  // Towards zero, and to the nearest end of the range beyond it.
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

}  // namespace keel::db
