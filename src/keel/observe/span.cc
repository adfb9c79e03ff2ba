#include "keel/observe/span.h"

#include "keel/base/host.h"

namespace keel {

Instant internal::precise_now() noexcept { return Host::current().precise_now(); }

std::string_view to_string(Stage stage) noexcept {
  static constexpr std::string_view names[stage_count] = {
      "parse", "route", "body", "validate", "handler", "database_wait", "database", "serialize", "record", "write"};
  return names[static_cast<int>(stage)];
}

}  // namespace keel
