// keel/db/testing/trace_vfs.h — the default VFS of SQLite, watched and sabotaged: for tests of durability.
//
//   sqlite::TraceVfs vfs;                        // registered while it lives
//   auto database = sqlite::Database::open({.path = path, .vfs = vfs.name()});
//   …
//   vfs.mark("row 17");                          // its write has been acknowledged
//   auto lost = vfs.violations();                // acknowledged before an fsync that began after its bytes' write
//
// Threads: any.  Lifetime: outlives the connections that use it.  Cost: copies everything written to the WAL; never in
// a product.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/time.h"

namespace keel::db::sqlite {

class TraceVfs {
 public:
  TraceVfs();
  ~TraceVfs();
  TraceVfs(const TraceVfs&) = delete;
  TraceVfs& operator=(const TraceVfs&) = delete;

  const char* name() const noexcept;

  // Records that the write whose row contains `token` has been acknowledged now.
  void mark(std::string_view token);
  // The tokens marked for which the order does not hold: bytes that contain the token written to the WAL, then the
  // beginning of an fsync of the WAL, its successful end, the mark.
  std::vector<std::string> violations() const;
  std::uint64_t syncs() const;   // Of the WAL, successful.
  std::uint64_t writes() const;  // To the WAL.
  void clear();

  // The `nth` next fsync of a WAL (1: the next) fails with EIO; 0: none does.
  void fail_sync(int nth) noexcept;
  // Every write to a WAL fails as on a full disk until called with false.
  void fill_disk(bool full) noexcept;
  // The same for want of memory.
  void lack_memory(bool lacks) noexcept;
  // The same as on a disk that has become read-only.
  void refuse_writes(bool refuses) noexcept;

  // Writes to the database's file, as a checkpoint makes them, wait from now on until release_file(), or for `most`.
  void hold_file(Duration most);
  // One waits now.
  bool is_file_awaited() const;
  // Whether none has waited for `most`.
  bool release_file();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace keel::db::sqlite
