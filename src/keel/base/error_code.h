// keel/base/error_code.h — errors of those who report a std::error_code: std::filesystem, Asio and their like.
//
//   std::error_code code;
//   const auto size = std::filesystem::file_size(path, code);
//   if (code) return error_of("file_size", code);
//
// Threads: any.  Cost: no allocation for an errno, one for what has another category.

#pragma once

#include <system_error>

#include "keel/base/error.h"

namespace keel {

// An errno (of the generic or the system category) is as Error::from_errno makes it. Of another category it is
// Internal, and the message names the category and what it says. `what` is a literal, usually the call.
Error error_of(const char* what, const std::error_code& code) noexcept;

// The errno that it is; 0 when it is none, or success.
int errno_of(const std::error_code& code) noexcept;

}  // namespace keel
