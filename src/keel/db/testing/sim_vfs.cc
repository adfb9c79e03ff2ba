#include "keel/db/testing/sim_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/db/testing/internal/vfs.h"
#include "keel/io/testing/disk.h"

namespace keel::db::sqlite {
namespace {

constexpr int sector_bytes = 4096;
constexpr std::int64_t julian_epoch_ms = 210'866'760'000'000;  // 1970-01-01 as a Julian day number in milliseconds.

class File;

// The state of a file; all connections of this process share it.
struct Shared {
  std::vector<File*> files;
  std::vector<std::unique_ptr<char[]>> regions;  // The index of the WAL, while a connection maps it.
};

struct World {
  sim::Disk& disk;
  std::map<std::string, Shared, std::less<>> shared;
  std::uint64_t temporary_files = 0;
  int open_files = 0;
};

class File final : public internal::VfsFile {
 public:
  File(World& world, Shared& shared, std::string path, int fd, int flags)
      : world_(world),
        shared_(shared),
        path_(std::move(path)),
        fd_(fd),
        removed_at_close_((flags & SQLITE_OPEN_DELETEONCLOSE) != 0),
        syncs_folder_((flags & SQLITE_OPEN_CREATE) != 0 && (flags & journals) != 0) {
    shared_.files.push_back(this);
    ++world_.open_files;
  }

  int close() override {
    stop_mapping();
    std::erase(shared_.files, this);
    if (shared_.files.empty()) world_.shared.erase(path_);
    world_.disk.close(fd_);
    if (removed_at_close_) (void)world_.disk.remove(path_);
    --world_.open_files;
    return SQLITE_OK;
  }

  int read(void* to, int size, sqlite3_int64 at) override {
    std::span<char> left(static_cast<char*>(to), static_cast<std::size_t>(size));
    while (!left.empty()) {
      const std::int64_t got = world_.disk.read(fd_, left, static_cast<std::uint64_t>(at));
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

  int write(const void* from, int size, sqlite3_int64 at) override {
    std::string_view left(static_cast<const char*>(from), static_cast<std::size_t>(size));
    while (!left.empty()) {
      const std::int64_t written = world_.disk.write(fd_, left, static_cast<std::uint64_t>(at));
      if (written < 0) return written == -ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
      left.remove_prefix(static_cast<std::size_t>(written));
      at += written;
    }
    return SQLITE_OK;
  }

  int truncate(sqlite3_int64 size) override {
    return world_.disk.truncate(fd_, static_cast<std::uint64_t>(size)) == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
  }

  int sync(int) override {
    if (world_.disk.sync(fd_) != 0) return SQLITE_IOERR_FSYNC;
    if (!syncs_folder_) return SQLITE_OK;
    if (world_.disk.sync_folder(path_) != 0) return SQLITE_IOERR_DIR_FSYNC;
    syncs_folder_ = false;
    return SQLITE_OK;
  }

  int size(sqlite3_int64* out) override {
    const std::int64_t found = world_.disk.size(fd_);
    if (found < 0) return SQLITE_IOERR_FSTAT;
    *out = found;
    return SQLITE_OK;
  }

  int lock(int level) override {
    if (level_ >= level) return SQLITE_OK;
    const int others = highest_of_others();
    if (level == SQLITE_LOCK_SHARED) {
      if (others >= SQLITE_LOCK_PENDING) return SQLITE_BUSY;
    } else {
      if (others >= SQLITE_LOCK_RESERVED) return SQLITE_BUSY;
      if (level == SQLITE_LOCK_EXCLUSIVE && others == SQLITE_LOCK_SHARED) {
        // Pending: no new readers are admitted, but the current readers may finish.
        level_ = SQLITE_LOCK_PENDING;
        return SQLITE_BUSY;
      }
    }
    level_ = level;
    return SQLITE_OK;
  }

  int unlock(int level) override {
    level_ = std::min(level_, level);
    return SQLITE_OK;
  }

  int check_lock(int* reserved) override {
    *reserved = std::max(level_, highest_of_others()) >= SQLITE_LOCK_RESERVED ? 1 : 0;
    return SQLITE_OK;
  }

  int control(int, void*) override { return SQLITE_NOTFOUND; }
  int sector_size() override { return sector_bytes; }
  int characteristics() override { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

  int map_shared(int region, int size, int extend, void volatile** out) override {
    maps_ = true;
    auto& regions = shared_.regions;
    *out = nullptr;
    if (static_cast<std::size_t>(region) >= regions.size() && extend == 0) return SQLITE_OK;
    while (regions.size() <= static_cast<std::size_t>(region)) {
      regions.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
    }
    *out = regions[static_cast<std::size_t>(region)].get();
    return SQLITE_OK;
  }

  int lock_shared(int first, int count, int flags) override {
    const unsigned bits = ((1u << count) - 1) << first;
    const bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
    unsigned& own = exclusive ? exclusive_locks_ : shared_locks_;
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
      own &= ~bits;
      return SQLITE_OK;
    }
    for (const File* other : shared_.files) {
      if (other == this) continue;
      if ((other->exclusive_locks_ & bits) != 0 || (exclusive && (other->shared_locks_ & bits) != 0)) {
        return SQLITE_BUSY;
      }
    }
    own |= bits;
    return SQLITE_OK;
  }

  void barrier() override {}

  int unmap_shared(int) override {
    stop_mapping();
    return SQLITE_OK;
  }

 private:
  static constexpr int journals = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;

  void stop_mapping() noexcept {
    maps_ = false;
    shared_locks_ = exclusive_locks_ = 0;
    const bool maps = std::ranges::any_of(shared_.files, [](const File* other) { return other->maps_; });
    if (!maps) shared_.regions.clear();
  }

  // The highest lock level that any other connection has.
  int highest_of_others() const noexcept {
    int highest = SQLITE_LOCK_NONE;
    for (const File* other : shared_.files) {
      if (other != this) highest = std::max(highest, other->level_);
    }
    return highest;
  }

  World& world_;
  Shared& shared_;
  const std::string path_;
  const int fd_;
  const bool removed_at_close_;
  bool syncs_folder_;  // Whether the next sync of the file also syncs the folder.
  int level_ = SQLITE_LOCK_NONE;
  bool maps_ = false;          // Shared memory.
  unsigned shared_locks_ = 0;  // Bit masks of the locks that this connection has on the shared memory.
  unsigned exclusive_locks_ = 0;
};

}  // namespace

struct SimVfs::State final : internal::Vfs {
  explicit State(sim::Disk& disk) : Vfs("keel-sim", methods()), world{.disk = disk, .shared = {}} { allow_use(); }

  int open(sqlite3_filename name, int flags, int* flags_out, std::unique_ptr<internal::VfsFile>& file) override {
    std::string path = name != nullptr ? name : "/temporary-" + std::to_string(++world.temporary_files);
    const int fd = world.disk.open(path, (flags & SQLITE_OPEN_CREATE) != 0);
    if (fd < 0) return SQLITE_CANTOPEN;
    Shared& shared = world.shared[path];
    file = std::make_unique<File>(world, shared, std::move(path), fd, flags);
    if (flags_out != nullptr) *flags_out = flags;
    return SQLITE_OK;
  }

  // The functions for calls that concern no open file.
  static sqlite3_vfs methods();
  static sim::Disk& disk_of(sqlite3_vfs* vfs) noexcept { return static_cast<State&>(of(vfs)).world.disk; }
  static int remove(sqlite3_vfs* vfs, const char* path, int syncs_folder);
  static int access(sqlite3_vfs* vfs, const char* path, int what, int* out);

  World world;
};

int SimVfs::State::remove(sqlite3_vfs* vfs, const char* path, int syncs_folder) {
  sim::Disk& disk = disk_of(vfs);
  const int result = disk.remove(path);
  if (result == -ENOENT) return SQLITE_IOERR_DELETE_NOENT;
  if (result != 0) return SQLITE_IOERR_DELETE;
  return syncs_folder == 0 || disk.sync_folder(path) == 0 ? SQLITE_OK : SQLITE_IOERR_DIR_FSYNC;
}

int SimVfs::State::access(sqlite3_vfs* vfs, const char* path, int what, int* out) {
  // As in SQLite's VFS for Unix, an empty file counts as missing.
  const std::int64_t size = disk_of(vfs).find(path);
  *out = size > 0 || (size == 0 && what != SQLITE_ACCESS_EXISTS) ? 1 : 0;
  return size >= 0 || size == -ENOENT ? SQLITE_OK : SQLITE_IOERR_ACCESS;
}

namespace {

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

sqlite3_vfs SimVfs::State::methods() {
  sqlite3_vfs vfs{};
  vfs.iVersion = 2;
  vfs.mxPathname = 512;
  vfs.xDelete = &remove;
  vfs.xAccess = &access;
  vfs.xFullPathname = &full_path;
  vfs.xRandomness = &randomness;
  vfs.xSleep = &sleep;
  vfs.xCurrentTime = &current_time;
  vfs.xGetLastError = &last_error;
  vfs.xCurrentTimeInt64 = &current_time_ms;
  return vfs;
}

SimVfs::SimVfs(sim::Disk& disk, std::uint64_t seed) : state_(std::make_unique<State>(disk)) {
  // Sets the seed to a number that is not 0, because 0 means that the generator takes its seed from the default VFS.
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, static_cast<int>(seed % 1'000'000'007) + 1, nullptr);
}

SimVfs::~SimVfs() {
  KEEL_CHECK(open_files() == 0, "connections must be closed before their VFS");
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, 0, nullptr);
}

const char* SimVfs::name() const noexcept { return state_->name(); }
int SimVfs::open_files() const noexcept { return state_->world.open_files; }

}  // namespace keel::db::sqlite
