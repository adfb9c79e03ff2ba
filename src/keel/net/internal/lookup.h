// What getaddrinfo's answers mean.

#pragma once

#include <string_view>

#include "keel/base/error.h"

namespace keel::internal {

// For an EAI_… that is not 0; `number`: errno, for EAI_SYSTEM.
Error lookup_error(std::string_view host, int answer, int number);

// Whether the name can only be this machine (RFC 6761 §6.3).
bool is_localhost(std::string host);

}  // namespace keel::internal
