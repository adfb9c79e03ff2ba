// keel/config/version.h — the version of Keel that a program is linked with.
//
// Threads: any.

#pragma once

#include <string_view>

namespace keel {

// The version of Keel: "0.1.0".
std::string_view keel_version() noexcept;
// The compiler that Keel's libraries were built with: "GCC 12.2.0", "Clang 19.1.7".
std::string_view keel_compiler() noexcept;

}  // namespace keel
