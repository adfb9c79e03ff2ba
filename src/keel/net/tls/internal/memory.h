// Serves OpenSSL's memory from free lists of the thread. The lists get the size of a freed block from the allocator, so
// a block has no header besides malloc's, and may be freed on any thread.
//
// A thread keeps at most 2 MiB of each size, and 8 MiB altogether; beyond that, a freed block replaces kept blocks of
// other sizes. When the last connection of the thread is closed, the thread keeps 64 KiB of each size, which is enough
// for some handshakes. All kept blocks are freed when the thread ends.
//
// This is set up before main() begins. If OpenSSL was used before that, it keeps using malloc.

#pragma once

namespace keel::tls::internal {

// Whether OpenSSL uses these lists.
bool uses_pools() noexcept;

// Returns all blocks that this thread keeps to the heap (tests).
void trim_pools() noexcept;

// Counts a connection of the thread. Declare one for each connection, before its OpenSSL objects, so that it is
// destroyed after them. A connection that is destroyed on another thread than the one on which it was made is counted
// on neither.
class PoolUse {
 public:
  PoolUse() noexcept;
  PoolUse(const PoolUse&) = delete;
  PoolUse& operator=(const PoolUse&) = delete;
  ~PoolUse();

 private:
  const void* const thread_;
};

}  // namespace keel::tls::internal
