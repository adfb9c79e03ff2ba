#include "keel/db/sqlite/trace_vfs.h"

#include <sqlite3.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "keel/base/check.h"
#include "keel/db/sqlite/memory.h"

namespace keel::db::sqlite {

struct TraceVfs::State {
  enum class What : std::uint8_t { Write, SyncBegin, SyncEnd, Acknowledged };
  struct Event {
    What what;
    std::uint64_t sync = 0;
    std::string bytes;  // Written, or the token.
  };

  void record(What what, std::uint64_t sync, std::string bytes = {}) {
    std::lock_guard lock(mutex);
    events.push_back({what, sync, std::move(bytes)});
  }

  sqlite3_vfs vfs{};
  sqlite3_vfs* below = nullptr;
  std::string name;
  mutable std::mutex mutex;
  std::vector<Event> events;
  std::atomic<std::uint64_t> syncs_begun{0};
  std::atomic<std::uint64_t> syncs{0};
  std::atomic<std::uint64_t> writes{0};
  std::atomic<int> failing_sync{0};
  std::atomic<int> write_error{SQLITE_OK};
};

namespace {

using State = TraceVfs::State;

// The file of the VFS below follows in the same block.
struct File {
  sqlite3_file base;
  State* state;
  bool is_wal;
  sqlite3_file* below() noexcept { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File* file_of(sqlite3_file* file) noexcept { return reinterpret_cast<File*>(file); }
sqlite3_file* below(sqlite3_file* file) noexcept { return file_of(file)->below(); }
State& state_of(sqlite3_vfs* vfs) noexcept { return *static_cast<State*>(vfs->pAppData); }

int close_file(sqlite3_file* f) { return below(f)->pMethods->xClose(below(f)); }
int read_file(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
  return below(f)->pMethods->xRead(below(f), to, n, at);
}
int write_file(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
  File& file = *file_of(f);
  if (file.is_wal) {
    if (const int error = file.state->write_error.load(); error != SQLITE_OK) return error;
    file.state->record(State::What::Write, 0, std::string(static_cast<const char*>(from), static_cast<std::size_t>(n)));
    ++file.state->writes;
  }
  return below(f)->pMethods->xWrite(below(f), from, n, at);
}
int truncate_file(sqlite3_file* f, sqlite3_int64 size) { return below(f)->pMethods->xTruncate(below(f), size); }
int sync_file(sqlite3_file* f, int flags) {
  File& file = *file_of(f);
  if (!file.is_wal) return below(f)->pMethods->xSync(below(f), flags);
  State& state = *file.state;
  int nth = state.failing_sync.load();
  while (nth > 0 && !state.failing_sync.compare_exchange_weak(nth, nth - 1)) {
  }
  if (nth == 1) return SQLITE_IOERR_FSYNC;
  const std::uint64_t number = ++state.syncs_begun;
  state.record(State::What::SyncBegin, number);
  const int code = below(f)->pMethods->xSync(below(f), flags);
  if (code == SQLITE_OK) {
    state.record(State::What::SyncEnd, number);
    ++state.syncs;
  }
  return code;
}
int file_size(sqlite3_file* f, sqlite3_int64* size) { return below(f)->pMethods->xFileSize(below(f), size); }
int lock_file(sqlite3_file* f, int level) { return below(f)->pMethods->xLock(below(f), level); }
int unlock_file(sqlite3_file* f, int level) { return below(f)->pMethods->xUnlock(below(f), level); }
int check_lock(sqlite3_file* f, int* out) { return below(f)->pMethods->xCheckReservedLock(below(f), out); }
int control_file(sqlite3_file* f, int what, void* argument) {
  return below(f)->pMethods->xFileControl(below(f), what, argument);
}
int sector_size(sqlite3_file* f) { return below(f)->pMethods->xSectorSize(below(f)); }
int characteristics(sqlite3_file* f) { return below(f)->pMethods->xDeviceCharacteristics(below(f)); }
int map_shared(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  return below(f)->pMethods->xShmMap(below(f), page, size, extend, out);
}
int lock_shared(sqlite3_file* f, int offset, int n, int flags) {
  return below(f)->pMethods->xShmLock(below(f), offset, n, flags);
}
void barrier(sqlite3_file* f) { below(f)->pMethods->xShmBarrier(below(f)); }
int unmap_shared(sqlite3_file* f, int remove) { return below(f)->pMethods->xShmUnmap(below(f), remove); }

// Version 2: shared memory for the WAL, no memory-mapped reads.
const sqlite3_io_methods methods = {2,
                                    &close_file,
                                    &read_file,
                                    &write_file,
                                    &truncate_file,
                                    &sync_file,
                                    &file_size,
                                    &lock_file,
                                    &unlock_file,
                                    &check_lock,
                                    &control_file,
                                    &sector_size,
                                    &characteristics,
                                    &map_shared,
                                    &lock_shared,
                                    &barrier,
                                    &unmap_shared,
                                    nullptr,
                                    nullptr};

int open_file(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* f, int flags, int* out) {
  State& state = state_of(vfs);
  File* file = new (f) File{};
  file->state = &state;
  file->is_wal = (flags & SQLITE_OPEN_WAL) != 0;
  const int code = state.below->xOpen(state.below, name, file->below(), flags, out);
  // SQLite closes what has methods, even after an error.
  file->base.pMethods = file->below()->pMethods != nullptr ? &methods : nullptr;
  return code;
}

}  // namespace

TraceVfs::TraceVfs() : state_(std::make_unique<State>()) {
  static std::atomic<int> made{0};
  use_pool_memory();
  state_->below = sqlite3_vfs_find(nullptr);
  KEEL_CHECK(state_->below != nullptr, "SQLite has a default VFS");
  state_->name = "keel-trace-" + std::to_string(++made);
  state_->vfs = *state_->below;
  state_->vfs.pNext = nullptr;
  state_->vfs.zName = state_->name.c_str();
  state_->vfs.pAppData = state_.get();
  state_->vfs.szOsFile = static_cast<int>(sizeof(File)) + state_->below->szOsFile;
  state_->vfs.xOpen = &open_file;
  sqlite3_vfs_register(&state_->vfs, 0);
}

TraceVfs::~TraceVfs() { sqlite3_vfs_unregister(&state_->vfs); }

const char* TraceVfs::name() const noexcept { return state_->name.c_str(); }

void TraceVfs::mark(std::string_view token) { state_->record(State::What::Acknowledged, 0, std::string(token)); }

std::vector<std::string> TraceVfs::violations() const {
  std::lock_guard lock(state_->mutex);
  const std::vector<State::Event>& events = state_->events;
  std::vector<std::string> found;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].what != State::What::Acknowledged) continue;
    std::size_t at = 0;
    while (at < i &&
           !(events[at].what == State::What::Write && events[at].bytes.find(events[i].bytes) != std::string::npos))
      ++at;
    std::uint64_t first_sync = 0;
    bool synced = false;
    for (; at < i && !synced; ++at) {
      if (events[at].what == State::What::SyncBegin && first_sync == 0) first_sync = events[at].sync;
      synced = events[at].what == State::What::SyncEnd && first_sync != 0 && events[at].sync >= first_sync;
    }
    if (!synced) found.push_back(events[i].bytes);
  }
  return found;
}

std::uint64_t TraceVfs::syncs() const { return state_->syncs.load(); }
std::uint64_t TraceVfs::writes() const { return state_->writes.load(); }
void TraceVfs::clear() {
  std::lock_guard lock(state_->mutex);
  state_->events.clear();
}
void TraceVfs::fail_sync(int nth) noexcept { state_->failing_sync.store(nth); }
void TraceVfs::fill_disk(bool full) noexcept { state_->write_error.store(full ? SQLITE_FULL : SQLITE_OK); }
// What SQLite makes of EROFS.
void TraceVfs::refuse_writes(bool refuses) noexcept {
  state_->write_error.store(refuses ? SQLITE_IOERR_WRITE : SQLITE_OK);
}

}  // namespace keel::db::sqlite
