// keel/db/testing/slow_vfs.h — a VFS with which SQLite runs on a disk whose syncs take longer, to measure the cost of
// commits.
//
//   sqlite::SlowVfs vfs(150_us);                 // the default VFS of SQLite while it lives
//   auto database = sqlite::Database::open({.path = path});
//
// Each sync of a file first sleeps for a given time, and then calls the sync of the default VFS. Nothing else changes:
// no bytes are copied, and no operations are counted.
//
// Threads:  any. A SlowVfs must be constructed and destroyed while no connection is open; only one may exist at a time.
// Lifetime: must outlive the connections that use it.

#pragma once

#include <memory>

#include "keel/base/time.h"

namespace keel::db::sqlite {

class SlowVfs {
 public:
  explicit SlowVfs(Duration sync);
  ~SlowVfs();
  SlowVfs(const SlowVfs&) = delete;
  SlowVfs& operator=(const SlowVfs&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::db::sqlite
