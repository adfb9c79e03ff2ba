#include "keel/config/version.h"

#define KEEL_TEXT_OF(number) #number
#define KEEL_DOTTED(major, minor, patch) KEEL_TEXT_OF(major) "." KEEL_TEXT_OF(minor) "." KEEL_TEXT_OF(patch)

namespace keel {

std::string_view keel_version() noexcept { return KEEL_VERSION; }

std::string_view keel_compiler() noexcept {
#if defined(__clang__)
  return "Clang " KEEL_DOTTED(__clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return "GCC " KEEL_DOTTED(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace keel
