#include "keel/db/testing/trace_vfs.h"

#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/db/sqlite/memory.h"
#include "keel/db/testing/internal/vfs.h"

namespace keel::db::sqlite {
namespace {

struct Record {
  enum class What : std::uint8_t { Write, SyncBegin, SyncEnd, Acknowledged };
  struct Event {
    What what;
    std::uint64_t sync = 0;
    std::string bytes;  // The bytes of a write, or the token of a mark.
  };

  void add(What what, std::uint64_t sync, std::string bytes = {}) {
    std::lock_guard lock(mutex);
    events.push_back({what, sync, std::move(bytes)});
  }

  mutable std::mutex mutex;
  std::vector<Event> events;
  std::atomic<std::uint64_t> syncs_begun{0};
  std::atomic<std::uint64_t> syncs{0};
  std::atomic<std::uint64_t> writes{0};
  std::atomic<int> failing_sync{0};
  std::atomic<int> write_error{SQLITE_OK};
  std::atomic<bool> read_fails{false};
  std::atomic<std::int64_t> open_ns{0};
  // Each operation on the database's file calls this function, which waits while a test holds that file.
  void wait_for_file() {
    std::unique_lock lock(mutex);
    if (!is_file_held) return;
    ++waiting_for_file;
    const auto most = std::chrono::nanoseconds(held_most.count_ns());
    const bool is_released = file_is_released.wait_for(lock, most, [this] { return !is_file_held; });
    --waiting_for_file;
    is_file_late = is_file_late || !is_released;
    is_file_held = false;
  }
  std::condition_variable file_is_released;
  Duration held_most;
  bool is_file_held = false;
  bool is_file_late = false;
  int waiting_for_file = 0;
};

// A file of the default VFS.
class TracedFile : public internal::VfsFile {
 public:
  // `room` contains the structure of the file that the default VFS has opened.
  explicit TracedFile(std::unique_ptr<std::byte[]> room) noexcept : room_(std::move(room)) {}

  int close() override { return io().xClose(below()); }
  int read(void* to, int size, sqlite3_int64 at) override { return io().xRead(below(), to, size, at); }
  int write(const void* from, int size, sqlite3_int64 at) override { return io().xWrite(below(), from, size, at); }
  int truncate(sqlite3_int64 size) override { return io().xTruncate(below(), size); }
  int sync(int flags) override { return io().xSync(below(), flags); }
  int size(sqlite3_int64* out) override { return io().xFileSize(below(), out); }
  int lock(int level) override { return io().xLock(below(), level); }
  int unlock(int level) override { return io().xUnlock(below(), level); }
  int check_lock(int* out) override { return io().xCheckReservedLock(below(), out); }
  int control(int what, void* argument) override { return io().xFileControl(below(), what, argument); }
  int sector_size() override { return io().xSectorSize(below()); }
  int characteristics() override { return io().xDeviceCharacteristics(below()); }
  int map_shared(int region, int size, int extend, void volatile** out) override {
    return io().xShmMap(below(), region, size, extend, out);
  }
  int lock_shared(int first, int count, int flags) override { return io().xShmLock(below(), first, count, flags); }
  void barrier() override { io().xShmBarrier(below()); }
  int unmap_shared(int removes) override { return io().xShmUnmap(below(), removes); }

 private:
  sqlite3_file* below() noexcept { return reinterpret_cast<sqlite3_file*>(room_.get()); }
  const sqlite3_io_methods& io() noexcept { return *below()->pMethods; }
  std::unique_ptr<std::byte[]> room_;
};

class TracedMain final : public TracedFile {
 public:
  TracedMain(std::unique_ptr<std::byte[]> room, Record& record) noexcept
      : TracedFile(std::move(room)), record_(record) {}
  int read(void* to, int size, sqlite3_int64 at) override {
    return record_.read_fails.exchange(false) ? SQLITE_IOERR_READ : TracedFile::read(to, size, at);
  }
  int write(const void* from, int size, sqlite3_int64 at) override {
    record_.wait_for_file();
    return TracedFile::write(from, size, at);
  }

 private:
  Record& record_;
};

class TracedWal final : public TracedFile {
 public:
  TracedWal(std::unique_ptr<std::byte[]> room, Record& record) noexcept
      : TracedFile(std::move(room)), record_(record) {}

  int write(const void* from, int size, sqlite3_int64 at) override {
    if (const int error = record_.write_error.load(); error != SQLITE_OK) return error;
    record_.add(Record::What::Write, 0, std::string(static_cast<const char*>(from), static_cast<std::size_t>(size)));
    ++record_.writes;
    return TracedFile::write(from, size, at);
  }

  int sync(int flags) override {
    int nth = record_.failing_sync.load();
    while (nth > 0 && !record_.failing_sync.compare_exchange_weak(nth, nth - 1)) {
    }
    if (nth == 1) return SQLITE_IOERR_FSYNC;
    const std::uint64_t number = ++record_.syncs_begun;
    record_.add(Record::What::SyncBegin, number);
    const int code = TracedFile::sync(flags);
    if (code == SQLITE_OK) {
      record_.add(Record::What::SyncEnd, number);
      ++record_.syncs;
    }
    return code;
  }

 private:
  Record& record_;
};

std::string next_name() {
  static std::atomic<int> made{0};
  return "keel-trace-" + std::to_string(++made);
}

sqlite3_vfs* default_vfs() {
  use_pool_memory();
  sqlite3_vfs* const found = sqlite3_vfs_find(nullptr);
  KEEL_CHECK(found != nullptr, "SQLite must have a default VFS");
  return found;
}

}  // namespace

struct TraceVfs::State final : internal::Vfs {
  explicit State(sqlite3_vfs* vfs) : Vfs(next_name(), *vfs), below(vfs) { allow_use(); }

  int open(sqlite3_filename name, int flags, int* flags_out, std::unique_ptr<internal::VfsFile>& file) override {
    auto room = std::make_unique<std::byte[]>(static_cast<std::size_t>(below->szOsFile));
    auto* const opened = reinterpret_cast<sqlite3_file*>(room.get());
    if (const int code = below->xOpen(below, name, opened, flags, flags_out); code != SQLITE_OK) {
      // If the file has methods, it must be closed even after an error.
      if (opened->pMethods != nullptr) opened->pMethods->xClose(opened);
      return code;
    }
    if ((flags & SQLITE_OPEN_WAL) != 0) {
      file = std::make_unique<TracedWal>(std::move(room), record);
    } else if ((flags & SQLITE_OPEN_MAIN_DB) != 0) {
      Host::system().sleep(Duration::nanoseconds(record.open_ns.load()));
      file = std::make_unique<TracedMain>(std::move(room), record);
    } else {
      file = std::make_unique<TracedFile>(std::move(room));
    }
    return SQLITE_OK;
  }

  sqlite3_vfs* const below;
  Record record;
};

TraceVfs::TraceVfs() : state_(std::make_unique<State>(default_vfs())) {}
TraceVfs::~TraceVfs() = default;

const char* TraceVfs::name() const noexcept { return state_->name(); }

void TraceVfs::mark(std::string_view token) { state_->record.add(Record::What::Acknowledged, 0, std::string(token)); }

std::vector<std::string> TraceVfs::violations() const {
  std::lock_guard lock(state_->record.mutex);
  const std::vector<Record::Event>& events = state_->record.events;
  std::vector<std::string> found;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].what != Record::What::Acknowledged) continue;
    std::size_t at = 0;
    while (at < i &&
           !(events[at].what == Record::What::Write && events[at].bytes.find(events[i].bytes) != std::string::npos))
      ++at;
    std::uint64_t first_sync = 0;
    bool synced = false;
    for (; at < i && !synced; ++at) {
      if (events[at].what == Record::What::SyncBegin && first_sync == 0) first_sync = events[at].sync;
      synced = events[at].what == Record::What::SyncEnd && first_sync != 0 && events[at].sync >= first_sync;
    }
    if (!synced) found.push_back(events[i].bytes);
  }
  return found;
}

std::uint64_t TraceVfs::syncs() const { return state_->record.syncs.load(); }
std::uint64_t TraceVfs::writes() const { return state_->record.writes.load(); }
void TraceVfs::clear() {
  std::lock_guard lock(state_->record.mutex);
  state_->record.events.clear();
}
void TraceVfs::fail_sync(int nth) noexcept { state_->record.failing_sync.store(nth); }
void TraceVfs::fill_disk(bool full) noexcept { state_->record.write_error.store(full ? SQLITE_FULL : SQLITE_OK); }
void TraceVfs::lack_memory(bool lacks) noexcept { state_->record.write_error.store(lacks ? SQLITE_NOMEM : SQLITE_OK); }
// The error that SQLite reports for EROFS.
void TraceVfs::refuse_writes(bool refuses) noexcept {
  state_->record.write_error.store(refuses ? SQLITE_IOERR_WRITE : SQLITE_OK);
}

void TraceVfs::fail_read() noexcept { state_->record.read_fails.store(true); }
void TraceVfs::slow_open(Duration by) noexcept { state_->record.open_ns.store(by.count_ns()); }

void TraceVfs::hold_file(Duration most) {
  std::lock_guard lock(state_->record.mutex);
  state_->record.held_most = most;
  state_->record.is_file_held = true;
  state_->record.is_file_late = false;
}
bool TraceVfs::is_file_awaited() const {
  std::lock_guard lock(state_->record.mutex);
  return state_->record.waiting_for_file != 0;
}
bool TraceVfs::release_file() {
  std::lock_guard lock(state_->record.mutex);
  state_->record.is_file_held = false;
  state_->record.file_is_released.notify_all();
  return !state_->record.is_file_late;
}

}  // namespace keel::db::sqlite
