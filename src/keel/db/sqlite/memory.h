// keel/db/sqlite/memory.h — lets SQLite allocate its memory from the thread's pool.
//
// SQLite allocates a few small blocks per statement. Taken from base/pool.h these do not use the heap in steady state,
// and without SQLite's own statistics no lock is needed per block.
//
// Threads: any.
// Cost:    SQLite is configured once per process, before its first use; when the program has used SQLite itself before,
//          its configuration stays and only speed differs.

#pragma once

namespace keel::db::sqlite {

// Makes SQLite allocate from the pools of the threads; call it before SQLite is used.
void use_pool_memory() noexcept;

}  // namespace keel::db::sqlite
