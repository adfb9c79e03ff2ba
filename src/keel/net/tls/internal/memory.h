// OpenSSL's memory: from free lists of the thread, which keep at most 2 MiB of each size until the thread ends. They
// take the size of a freed block from the allocator, so a block has no header beside malloc's own, and may be freed on
// any thread.
//
// This is set up before main() begins. If OpenSSL was used before that, it keeps using malloc.

#pragma once

namespace keel::tls::internal {

// Whether OpenSSL uses these lists.
bool uses_pools() noexcept;

// Returns all blocks that this thread keeps to the heap (tests).
void trim_pools() noexcept;

}  // namespace keel::tls::internal
