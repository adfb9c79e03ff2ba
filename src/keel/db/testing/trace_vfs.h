// keel/db/testing/trace_vfs.h — for tests of durability: a VFS that passes calls to SQLite's default VFS, records them,
// and can make them fail.
//
//   sqlite::TraceVfs vfs;                        // registered while it lives
//   auto database = sqlite::Database::open({.path = path, .vfs = vfs.name()});
//   …
//   vfs.mark("row 17");                          // its write has been acknowledged
//   auto lost = vfs.violations();                // acknowledged before an fsync that began after its bytes' write
//
// Threads:  any.
// Lifetime: must outlive the connections that use it.
// Cost:     copies everything written to the WAL; never use it in a product.

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

  // Records that the write whose row contains `token` is acknowledged at this moment.
  void mark(std::string_view token);
  // Returns the marked tokens for which the required order was violated: first, bytes with the token are written to the
  // WAL; then an fsync of the WAL begins and ends successfully; then the token is marked.
  std::vector<std::string> violations() const;
  std::uint64_t syncs() const;   // Successful syncs of the WAL.
  std::uint64_t writes() const;  // Writes to the WAL.
  void clear();

  // Makes the `nth` fsync of a WAL after this call fail with EIO (1: the next fsync; 0: no fsync).
  void fail_sync(int nth) noexcept;
  // Makes every write to a WAL fail as on a full disk, until fill_disk(false).
  void fill_disk(bool full) noexcept;
  // Makes writes fail as if no memory were left.
  void lack_memory(bool lacks) noexcept;
  // Makes writes fail as on a disk that has become read-only.
  void refuse_writes(bool refuses) noexcept;
  // Makes the next read of the database's file fail with EIO.
  void fail_read() noexcept;
  // Delays each opening of the database's file by the time `by`.
  void slow_open(Duration by) noexcept;

  // From now on, writes to the database's file, such as those of a checkpoint, wait until release_file(), but for no
  // longer than `most`.
  void hold_file(Duration most);
  // Whether a write to the held file is waiting now.
  bool is_file_awaited() const;
  // Lets the waiting writes continue; returns false if a write has waited for the whole time `most`.
  bool release_file();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace keel::db::sqlite
