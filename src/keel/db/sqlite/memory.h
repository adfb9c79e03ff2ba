// keel/db/sqlite/memory.h — lets SQLite allocate its memory from the thread's pool.
//
// SQLite allocates a few small blocks per statement. Taken from base/pool.h, these blocks use no heap in steady state;
// SQLite's own statistics are turned off, so that no block takes a lock.
//
// Threads: any.
// Cost:    SQLite is configured once per process, before its first use; if the program has already used SQLite itself,
//          the existing configuration stays, which only affects speed.

#pragma once

namespace keel::db::sqlite {

// Makes SQLite allocate from the pools of the threads; call it before SQLite is used.
void use_pool_memory() noexcept;

}  // namespace keel::db::sqlite
