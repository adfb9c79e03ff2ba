#include "keel/data/enum_names.h"

namespace keel::internal {

std::optional<std::size_t> find_name(const EnumNames& names, std::string_view name) noexcept {
  if (name.empty()) return std::nullopt;
  for (std::size_t value = 0; value < names.count; ++value) {
    if (names.name(value) == name) return value;
  }
  return std::nullopt;
}

}  // namespace keel::internal
