// OpenSSL's memory: from the pools of the thread (base/pool.h), like all other memory that a request uses.
//
// This is set up before main() begins. If OpenSSL was used before that, it keeps using malloc.

#pragma once

namespace keel::tls::internal {

// Whether OpenSSL uses the pools.
bool uses_pools() noexcept;

}  // namespace keel::tls::internal
