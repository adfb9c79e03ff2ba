#include "keel/db/sqlite/sim_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/db/sqlite/memory.h"
#include "keel/io/sim/disk.h"

namespace keel::db::sqlite {
namespace {

struct File;

// What the connections of this process share of one file.
struct Shared {
  std::vector<File*> files;
  std::vector<std::unique_ptr<char[]>> regions;  // The WAL's index, while somebody maps it.
};

}  // namespace

struct SimVfs::State {
  explicit State(sim::Disk& d) : disk(d) {}

  sim::Disk& disk;
  sqlite3_vfs vfs{};
  std::map<std::string, Shared, std::less<>> shared;
  std::uint64_t temporary_files = 0;
  int open_files = 0;
};

namespace {

using State = SimVfs::State;

constexpr int sector_bytes = 4096;
constexpr std::int64_t julian_epoch_ms = 210'866'760'000'000;  // 1970-01-01 in milliseconds of the Julian day.

struct File {
  sqlite3_file base{};
  State* state;
  Shared* shared;
  std::string path;
  int fd;
  bool removed_at_close;
  bool syncs_folder;  // With its next sync.
  int level = SQLITE_LOCK_NONE;
  bool maps = false;          // Shared memory.
  unsigned shared_locks = 0;  // Bits of the shared memory's locks.
  unsigned exclusive_locks = 0;
};

File& file_of(sqlite3_file* file) noexcept { return *reinterpret_cast<File*>(file); }
State& state_of(sqlite3_vfs* vfs) noexcept { return *static_cast<State*>(vfs->pAppData); }

void stop_mapping(File& file) noexcept {
  file.maps = false;
  file.shared_locks = file.exclusive_locks = 0;
  const bool maps = std::ranges::any_of(file.shared->files, [](const File* other) { return other->maps; });
  if (!maps) file.shared->regions.clear();
}

int close_file(sqlite3_file* f) {
  File& file = file_of(f);
  State& state = *file.state;
  stop_mapping(file);
  std::erase(file.shared->files, &file);
  if (file.shared->files.empty()) state.shared.erase(file.path);
  state.disk.close(file.fd);
  if (file.removed_at_close) (void)state.disk.remove(file.path);
  --state.open_files;
  file.~File();
  return SQLITE_OK;
}

int read_file(sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
  File& file = file_of(f);
  std::span<char> left(static_cast<char*>(to), static_cast<std::size_t>(size));
  while (!left.empty()) {
    const std::int64_t got = file.state->disk.read(file.fd, left, static_cast<std::uint64_t>(at));
    if (got < 0) return SQLITE_IOERR_READ;
    if (got == 0) {
      std::memset(left.data(), 0, left.size());
      return SQLITE_IOERR_SHORT_READ;
    }
    left = left.subspan(static_cast<std::size_t>(got));
    at += got;
  }
  return SQLITE_OK;
}

int write_file(sqlite3_file* f, const void* from, int size, sqlite3_int64 at) {
  File& file = file_of(f);
  std::string_view left(static_cast<const char*>(from), static_cast<std::size_t>(size));
  while (!left.empty()) {
    const std::int64_t written = file.state->disk.write(file.fd, left, static_cast<std::uint64_t>(at));
    if (written < 0) return written == -ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    left.remove_prefix(static_cast<std::size_t>(written));
    at += written;
  }
  return SQLITE_OK;
}

int truncate_file(sqlite3_file* f, sqlite3_int64 size) {
  File& file = file_of(f);
  return file.state->disk.truncate(file.fd, static_cast<std::uint64_t>(size)) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

int sync_file(sqlite3_file* f, int) {
  File& file = file_of(f);
  if (file.state->disk.sync(file.fd) != 0) return SQLITE_IOERR_FSYNC;
  if (!file.syncs_folder) return SQLITE_OK;
  if (file.state->disk.sync_folder(file.path) != 0) return SQLITE_IOERR_DIR_FSYNC;
  file.syncs_folder = false;
  return SQLITE_OK;
}

int file_size(sqlite3_file* f, sqlite3_int64* size) {
  File& file = file_of(f);
  const std::int64_t found = file.state->disk.size(file.fd);
  if (found < 0) return SQLITE_IOERR_FSTAT;
  *size = found;
  return SQLITE_OK;
}

// The highest level that another connection has.
int highest_of_others(const File& file) noexcept {
  int highest = SQLITE_LOCK_NONE;
  for (const File* other : file.shared->files) {
    if (other != &file) highest = std::max(highest, other->level);
  }
  return highest;
}

int lock_file(sqlite3_file* f, int level) {
  File& file = file_of(f);
  if (file.level >= level) return SQLITE_OK;
  const int others = highest_of_others(file);
  if (level == SQLITE_LOCK_SHARED) {
    if (others >= SQLITE_LOCK_PENDING) return SQLITE_BUSY;
  } else {
    if (others >= SQLITE_LOCK_RESERVED) return SQLITE_BUSY;
    if (level == SQLITE_LOCK_EXCLUSIVE && others == SQLITE_LOCK_SHARED) {
      // No reader comes in any more; those that are in may finish.
      file.level = SQLITE_LOCK_PENDING;
      return SQLITE_BUSY;
    }
  }
  file.level = level;
  return SQLITE_OK;
}

int unlock_file(sqlite3_file* f, int level) {
  file_of(f).level = std::min(file_of(f).level, level);
  return SQLITE_OK;
}

int check_lock(sqlite3_file* f, int* reserved) {
  File& file = file_of(f);
  *reserved = std::max(file.level, highest_of_others(file)) >= SQLITE_LOCK_RESERVED ? 1 : 0;
  return SQLITE_OK;
}

int control_file(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return sector_bytes; }
int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

int map_shared(sqlite3_file* f, int region, int size, int extend, void volatile** out) {
  File& file = file_of(f);
  file.maps = true;
  auto& regions = file.shared->regions;
  *out = nullptr;
  if (static_cast<std::size_t>(region) >= regions.size() && extend == 0) return SQLITE_OK;
  while (regions.size() <= static_cast<std::size_t>(region)) {
    regions.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
  }
  *out = regions[static_cast<std::size_t>(region)].get();
  return SQLITE_OK;
}

int lock_shared(sqlite3_file* f, int first, int count, int flags) {
  File& file = file_of(f);
  const unsigned bits = ((1u << count) - 1) << first;
  const bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
  unsigned& own = exclusive ? file.exclusive_locks : file.shared_locks;
  if ((flags & SQLITE_SHM_UNLOCK) != 0) {
    own &= ~bits;
    return SQLITE_OK;
  }
  for (const File* other : file.shared->files) {
    if (other == &file) continue;
    if ((other->exclusive_locks & bits) != 0 || (exclusive && (other->shared_locks & bits) != 0)) return SQLITE_BUSY;
  }
  own |= bits;
  return SQLITE_OK;
}

void barrier(sqlite3_file*) {}

int unmap_shared(sqlite3_file* f, int) {
  stop_mapping(file_of(f));
  return SQLITE_OK;
}

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
  f->pMethods = nullptr;  // SQLite closes what has methods, even after an error.
  State& state = state_of(vfs);
  std::string path = name != nullptr ? name : "/temporary-" + std::to_string(++state.temporary_files);
  const bool makes = (flags & SQLITE_OPEN_CREATE) != 0;
  const bool is_journal = (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL)) != 0;
  const int fd = state.disk.open(path, makes);
  if (fd < 0) return SQLITE_CANTOPEN;
  Shared& shared = state.shared[path];
  File& file = *new (f) File{.state = &state,
                             .shared = &shared,
                             .path = std::move(path),
                             .fd = fd,
                             .removed_at_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0,
                             .syncs_folder = makes && is_journal};
  shared.files.push_back(&file);
  file.base.pMethods = &methods;
  ++state.open_files;
  if (out != nullptr) *out = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* path, int syncs_folder) {
  sim::Disk& disk = state_of(vfs).disk;
  const int result = disk.remove(path);
  if (result == -ENOENT) return SQLITE_IOERR_DELETE_NOENT;
  if (result != 0) return SQLITE_IOERR_DELETE;
  return syncs_folder == 0 || disk.sync_folder(path) == 0 ? SQLITE_OK : SQLITE_IOERR_DIR_FSYNC;
}

int access_file(sqlite3_vfs* vfs, const char* path, int what, int* out) {
  // As on Unix, an empty file is not there.
  const std::int64_t size = state_of(vfs).disk.find(path);
  *out = size > 0 || (size == 0 && what != SQLITE_ACCESS_EXISTS) ? 1 : 0;
  return size >= 0 || size == -ENOENT ? SQLITE_OK : SQLITE_IOERR_ACCESS;
}

int full_path(sqlite3_vfs*, const char* path, int size, char* out) {
  sqlite3_snprintf(size, out, "%s%s", path[0] == '/' ? "" : "/", path);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs*, int size, char* out) {
  for (int at = 0; at < size; at += 8) {
    const std::uint64_t word = Host::current().random();
    std::memcpy(out + at, &word, static_cast<std::size_t>(std::min(size - at, 8)));
  }
  return size;
}

int sleep(sqlite3_vfs*, int microseconds) { return microseconds; }

int current_time_ms(sqlite3_vfs*, sqlite3_int64* out) {
  *out = julian_epoch_ms + Host::current().wall_ns() / 1'000'000;
  return SQLITE_OK;
}

int current_time(sqlite3_vfs* vfs, double* out) {
  sqlite3_int64 ms = 0;
  current_time_ms(vfs, &ms);
  *out = static_cast<double>(ms) / 86'400'000;
  return SQLITE_OK;
}

int last_error(sqlite3_vfs*, int, char*) { return 0; }

}  // namespace

SimVfs::SimVfs(sim::Disk& disk, std::uint64_t seed) : state_(std::make_unique<State>(disk)) {
  use_pool_memory();
  KEEL_CHECK(sqlite3_initialize() == SQLITE_OK, "SQLite can be started");
  sqlite3_vfs& vfs = state_->vfs;
  vfs.iVersion = 2;
  vfs.szOsFile = sizeof(File);
  vfs.mxPathname = 512;
  vfs.zName = "keel-sim";
  vfs.pAppData = state_.get();
  vfs.xOpen = &open_file;
  vfs.xDelete = &delete_file;
  vfs.xAccess = &access_file;
  vfs.xFullPathname = &full_path;
  vfs.xRandomness = &randomness;
  vfs.xSleep = &sleep;
  vfs.xCurrentTime = &current_time;
  vfs.xGetLastError = &last_error;
  vfs.xCurrentTimeInt64 = &current_time_ms;
  KEEL_CHECK(sqlite3_vfs_find(vfs.zName) == nullptr, "there is one simulated VFS at a time");
  sqlite3_vfs_register(&vfs, 0);
  // The generator would take its seed from the default VFS; 0 means that it does.
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, static_cast<int>(seed % 1'000'000'007) + 1, nullptr);
}

SimVfs::~SimVfs() {
  KEEL_CHECK(state_->open_files == 0, "connections are closed before their VFS");
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, 0, nullptr);
  sqlite3_vfs_unregister(&state_->vfs);
}

const char* SimVfs::name() const noexcept { return state_->vfs.zName; }
int SimVfs::open_files() const noexcept { return state_->open_files; }

}  // namespace keel::db::sqlite
