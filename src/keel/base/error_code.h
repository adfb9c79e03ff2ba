// keel/base/error_code.h — errors of libraries that report a std::error_code, such as std::filesystem and Asio.
//
//   std::error_code code;
//   const auto size = std::filesystem::file_size(path, code);
//   if (code) return error_of("file_size", code);
//
// Threads: any.
// Cost:    no allocation for an errno; one allocation for a code of another category.

#pragma once

#include <system_error>

#include "keel/base/error.h"

namespace keel {

// For an errno (of the generic or the system category), the result is the Error that Error::from_errno returns. For a
// code of another category, the Error has Code::Internal and a message with the name of the category and its text for
// the code. `what` is a literal, usually the name of the call.
Error error_of(const char* what, const std::error_code& code) noexcept;

// The errno of the code; 0 if the code is not an errno or means success.
int errno_of(const std::error_code& code) noexcept;

}  // namespace keel
