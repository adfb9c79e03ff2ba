// Serves OpenSSL's memory from free lists of the thread. The lists get the size of a freed block from the allocator, so
// a block has no header besides malloc's, and may be freed on any thread.
//
// A thread keeps at most 2 MiB of each size, and 8 MiB altogether; beyond that, a freed block replaces kept blocks of
// other sizes. When the last connection of the thread is closed, the thread keeps 64 KiB of each size, which is enough
// for some handshakes. All kept blocks are freed when the thread ends.
//
// The lists are set up before main() begins. If OpenSSL was used before the lists were set up, OpenSSL keeps using
// malloc.

#pragma once

namespace keel::tls::internal {

// Whether OpenSSL uses the free lists of this file.
bool uses_pools() noexcept;

// Frees all blocks that this thread keeps; for tests.
void trim_pools() noexcept;

// An object of this class counts one connection of the thread while the object exists. Declare one PoolUse for each
// connection, before the connection's OpenSSL objects, so that the PoolUse is destroyed after them. A connection that
// is destroyed on a thread other than the thread that made it is counted on neither thread.
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
