// OpenSSL's memory: from the pools of the thread (base/pool.h), as that of everything else on the way of a request.
//
// It is set before main() begins. Where somebody has used OpenSSL before that, it keeps malloc.

#pragma once

namespace keel::tls::internal {

// Whether it is so.
bool uses_pools() noexcept;

}  // namespace keel::tls::internal
