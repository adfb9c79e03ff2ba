// keel/db/testing/sim_vfs.h — SQLite on a simulated disk (io/testing/disk.h).
//
//   sim::Disk disk(seed);
//   sqlite::SimVfs vfs(disk, seed);              // registered while it lives
//   auto database = sqlite::Database::open({.path = "/app.db", .vfs = vfs.name(), .executor = &simulation.pool()});
//
// It asks the disk for what SQLite's VFS for Unix asks the system for, and makes the same promises: sectors of 4,096
// bytes, bytes next to a write are not touched (powersafe overwrite), the folder of a journal or WAL is synced with the
// first sync of each opener; unlike there, a failure of that sync is an error. Locks between connections are those of
// POSIX, and the shared memory of the WAL is on the heap; both end when the last connection closes. Time and randomness
// come from the current Host; sleeping does nothing, because on one thread nothing else could happen meanwhile.
// SQLite's own random generator, one per process, is restarted with `seed`.
//
// Threads:  one.
// Lifetime: outlives the connections that use it; the disk outlives this. Only one may exist at a time, because of the
//           generator.
// Cost:     for tests.

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
  // How many files of connections are open now.
  int open_files() const noexcept;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace keel::db::sqlite
