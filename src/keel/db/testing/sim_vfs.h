// keel/db/testing/sim_vfs.h — a VFS with which SQLite runs on a simulated disk (io/testing/disk.h).
//
//   sim::Disk disk(seed);
//   sqlite::SimVfs vfs(disk, seed);              // registered while it lives
//   auto database = sqlite::Database::open({.path = "/app.db", .vfs = vfs.name(), .executor = &simulation.pool()});
//
// A SimVfs makes the same requests to the disk as SQLite's VFS for Unix makes to the system, and gives SQLite the same
// promises: sectors have 4,096 bytes, and a write does not touch the bytes next to it (powersafe overwrite). The first
// sync of a journal or WAL by a connection that opened it also syncs the folder; unlike in the VFS for Unix, a failure
// of the folder's sync is an error. Locks between connections behave like POSIX locks, and the shared memory of the WAL
// is on the heap; both disappear when the last connection closes. Time and random numbers come from the current Host;
// sleeping does nothing, because on a single thread nothing else could happen during the sleep. SQLite's random
// generator, of which there is one per process, is restarted with `seed`.
//
// Threads:  one.
// Lifetime: must outlive the connections that use it, and the disk must outlive the SimVfs. Only one SimVfs may exist
//           at a time, because the generator is shared.
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
  // The number of files that connections have open.
  int open_files() const noexcept;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace keel::db::sqlite
