// keel/db/testing/slow_vfs.h — SQLite on a disk whose syncs take longer, to measure the cost of commits.
//
//   sqlite::SlowVfs vfs(150_us);                 // the default VFS of SQLite while it lives
//   auto database = sqlite::Database::open({.path = path});
//
// Each sync of a file first sleeps for this long, and then calls the sync of the default VFS. Nothing else changes, and
// nothing is copied or counted.
//
// Threads:  any. Construct and destroy it while no connection is open; only one exists at a time.
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
