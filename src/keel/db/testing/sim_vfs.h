// keel/db/testing/sim_vfs.h — SQLite on a simulated disk (io/testing/disk.h).
//
//   sim::Disk disk(seed);
//   sqlite::SimVfs vfs(disk, seed);              // registered while it lives
//   auto database = sqlite::Database::open({.path = "/app.db", .vfs = vfs.name(), .executor = &simulation.pool()});
//
// It asks the disk for what SQLite's VFS for Unix asks the system for, and says the same about it: sectors of 4,096
// bytes, bytes beside a write are not touched (powersafe overwrite), the folder of a journal or WAL is synced with the
// first sync of each opener; unlike there, that this fails is an error. Locks are those of POSIX between connections,
// and the shared memory of the WAL is on the heap; both are gone when the last connection closes. Time and randomness
// come from the current Host; sleeping does nothing, because on one thread nobody else could move. SQLite's own
// generator, which is one for the process, begins anew with `seed`.
//
// Threads: one.  Lifetime: outlives the connections that use it; the disk outlives this. One at a time, because of the
// generator.
// Cost:    for tests.

#pragma once

#include <cstdint>
#include <memory>

namespace keel::sim {
class Disk;
}

namespace keel::db::sqlite {

class SimVfs {
 public:
  SimVfs(sim::Disk& disk, std::uint64_t seed);
  ~SimVfs();
  SimVfs(const SimVfs&) = delete;
  SimVfs& operator=(const SimVfs&) = delete;

  const char* name() const noexcept;
  // Connections' files that are open now.
  int open_files() const noexcept;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace keel::db::sqlite
