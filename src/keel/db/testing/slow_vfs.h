// keel/db/testing/slow_vfs.h — SQLite on a disk whose syncs take longer: for measurements of what commits cost.
//
//   sqlite::SlowVfs vfs(150_us);                 // the default VFS of SQLite while it lives
//   auto database = sqlite::Database::open({.path = path});
//
// Each sync of a file sleeps for this long, and then does what the VFS below does. It changes nothing else, and copies
// and counts nothing.
//
// Threads:  any. Construct and destroy it while no connection is open; only one exists at a time.
// Lifetime: outlives the connections that use it.

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
