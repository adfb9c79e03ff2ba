// keel/db/sqlite/memory.h — lets SQLite allocate its memory from the thread's pool.
//
// SQLite allocates a few small blocks per statement. If SQLite takes these blocks from base/pool.h, the blocks use no
// heap in steady state; SQLite's own statistics are turned off, so that no allocation takes a lock.
//
// Threads: any.
// Cost:    SQLite is configured once per process, before its first use. If the program has already used SQLite, the
//          existing configuration stays, which affects only speed.

#pragma once

namespace keel::db::sqlite {

// Makes SQLite allocate memory from the threads' pools; call it before SQLite is used.
void use_pool_memory() noexcept;

}  // namespace keel::db::sqlite
