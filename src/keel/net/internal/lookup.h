// Errors of getaddrinfo.

#pragma once

#include <string_view>

#include "keel/base/error.h"

namespace keel::internal {

// The error for `status`, an EAI_… that is not 0. `number` is the errno; only EAI_SYSTEM uses it.
Error lookup_error(std::string_view host, int status, int number);

// Whether the name always stands for this machine (RFC 6761 §6.3).
bool is_localhost(std::string host);

}  // namespace keel::internal
