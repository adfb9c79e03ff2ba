#include "keel/db/testing/slow_vfs.h"

#include <sqlite3.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/db/sqlite/memory.h"

namespace keel::db::sqlite {
namespace {

// SQLite's VFS for Unix has several tables of methods, one for each locking style. A replacement table has no room for
// a pointer to the table that it replaces; therefore the index of the replacement in an array of Table identifies the
// replaced table.
struct Table {
  const sqlite3_io_methods* below = nullptr;
  sqlite3_io_methods slow = {};
};
constexpr std::size_t tables_max = 4;

std::atomic<SlowVfs*> only{nullptr};
std::array<Table, tables_max> tables;
std::atomic<std::int64_t> sync_ns{0};

template <std::size_t N>
int sync(sqlite3_file* file, int flags) {
  Host::system().sleep(Duration::nanoseconds(sync_ns.load(std::memory_order_relaxed)));
  return tables[N].below->xSync(file, flags);
}
constexpr decltype(&sync<0>) syncs[tables_max] = {sync<0>, sync<1>, sync<2>, sync<3>};

}  // namespace

struct SlowVfs::State {
  sqlite3_vfs* below = nullptr;
  sqlite3_vfs vfs = {};
  std::mutex mutex;  // Guards the tables while a file is opened.

  static int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* flags_out) {
    State& state = *only.load()->state_;
    static_cast<void>(vfs);
    const int code = state.below->xOpen(state.below, name, file, flags, flags_out);
    if (code == SQLITE_OK) file->pMethods = state.slow(file->pMethods);
    return code;
  }
  const sqlite3_io_methods* slow(const sqlite3_io_methods* methods) {
    std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < tables_max; ++i) {
      Table& table = tables[i];
      if (table.below == nullptr) {
        table.below = methods;
        table.slow = *methods;
        table.slow.xSync = syncs[i];
      }
      if (table.below == methods) return &table.slow;
    }
    KEEL_CHECK(false, "SQLite's VFS must have at most four tables of methods");
    return methods;
  }
};

SlowVfs::SlowVfs(Duration sync) : state_(std::make_unique<State>()) {
  use_pool_memory();
  KEEL_CHECK(sqlite3_initialize() == SQLITE_OK, "SQLite must be able to start");
  KEEL_CHECK(only.exchange(this) == nullptr, "only one SlowVfs can exist at a time");
  sync_ns = sync.count_ns();
  state_->below = sqlite3_vfs_find(nullptr);
  state_->vfs = *state_->below;
  state_->vfs.zName = "keel-slow";
  state_->vfs.pNext = nullptr;
  state_->vfs.xOpen = &State::open;
  sqlite3_vfs_register(&state_->vfs, 1);
}

SlowVfs::~SlowVfs() {
  sqlite3_vfs_unregister(&state_->vfs);
  sqlite3_vfs_register(state_->below, 1);
  only = nullptr;
}

}  // namespace keel::db::sqlite
