// keel/db/sqlite/memory.h — SQLite's memory from the thread's pool.
//
// SQLite allocates a few small blocks per statement. Taken from base/pool.h they do not reach the heap in steady state,
// and without SQLite's own statistics no lock is taken per block.
//
// Threads: any.  Cost: SQLite is configured once per process, before its first use; when the program has used SQLite
//          itself before, its configuration stays and only speed differs.

#pragma once

namespace keel::db::sqlite {

// Makes SQLite allocate from the pools of the threads; call it before SQLite is used.
void use_pool_memory() noexcept;

}  // namespace keel::db::sqlite
