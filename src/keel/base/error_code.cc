#include "keel/base/error_code.h"

namespace keel {

int errno_of(const std::error_code& code) noexcept {
  const bool is_of_errnos = code.category() == std::generic_category() || code.category() == std::system_category();
  // An Error has eight bits for an errno; every errno of Linux fits into eight bits.
  return is_of_errnos && code.value() > 0 && code.value() <= 0xff ? code.value() : 0;
}

Error error_of(const char* what, const std::error_code& code) noexcept {
  if (const int number = errno_of(code); number != 0) return Error::from_errno(what, number);
  try {
    return Error::text(Code::Internal, code.message()).because(code.category().name()).because(what);
  } catch (...) {  // The category had no memory for its text.
    return Error(Code::Internal, what);
  }
}

}  // namespace keel
