#include "keel/db/testing/internal/vfs.h"

#include <new>
#include <utility>

#include "keel/base/check.h"
#include "keel/db/sqlite/memory.h"

namespace keel::db::sqlite::internal {
namespace {

// The structure of an open file, for which SQLite reserves space.
struct Handle {
  sqlite3_file base;
  VfsFile* file;  // Owned by this structure until the file is closed.
};

VfsFile& file_of(sqlite3_file* handle) noexcept { return *reinterpret_cast<Handle*>(handle)->file; }

int close_file(sqlite3_file* handle) {
  const std::unique_ptr<VfsFile> file(&file_of(handle));
  return file->close();
}
int read_file(sqlite3_file* f, void* to, int size, sqlite3_int64 at) { return file_of(f).read(to, size, at); }
int write_file(sqlite3_file* f, const void* from, int size, sqlite3_int64 at) {
  return file_of(f).write(from, size, at);
}
int truncate_file(sqlite3_file* f, sqlite3_int64 size) { return file_of(f).truncate(size); }
int sync_file(sqlite3_file* f, int flags) { return file_of(f).sync(flags); }
int file_size(sqlite3_file* f, sqlite3_int64* out) { return file_of(f).size(out); }
int lock_file(sqlite3_file* f, int level) { return file_of(f).lock(level); }
int unlock_file(sqlite3_file* f, int level) { return file_of(f).unlock(level); }
int check_lock(sqlite3_file* f, int* out) { return file_of(f).check_lock(out); }
int control_file(sqlite3_file* f, int what, void* argument) { return file_of(f).control(what, argument); }
int sector_size(sqlite3_file* f) { return file_of(f).sector_size(); }
int characteristics(sqlite3_file* f) { return file_of(f).characteristics(); }
int map_shared(sqlite3_file* f, int region, int size, int extend, void volatile** out) {
  return file_of(f).map_shared(region, size, extend, out);
}
int lock_shared(sqlite3_file* f, int first, int count, int flags) {
  return file_of(f).lock_shared(first, count, flags);
}
void barrier(sqlite3_file* f) { file_of(f).barrier(); }
int unmap_shared(sqlite3_file* f, int removes) { return file_of(f).unmap_shared(removes); }

constexpr sqlite3_io_methods methods_of_files = {2,
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

}  // namespace

Vfs::Vfs(std::string name, const sqlite3_vfs& methods) : name_(std::move(name)), vfs_(methods) {
  vfs_.szOsFile = sizeof(Handle);
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = &open_file;
}

Vfs::~Vfs() { sqlite3_vfs_unregister(&vfs_); }

void Vfs::allow_use() {
  use_pool_memory();
  KEEL_CHECK(sqlite3_initialize() == SQLITE_OK, "SQLite must be able to start");
  KEEL_CHECK(sqlite3_vfs_find(vfs_.zName) == nullptr, "the name of a VFS must not be in use already");
  sqlite3_vfs_register(&vfs_, 0);
}

int Vfs::open_file(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* flags_out) {
  // Null until the file is open, because SQLite closes a file that has methods even if opening it failed.
  file->pMethods = nullptr;
  std::unique_ptr<VfsFile> opened;
  const int code = of(vfs).open(name, flags, flags_out, opened);
  if (code != SQLITE_OK) return code;
  new (file) Handle{{&methods_of_files}, opened.release()};
  return SQLITE_OK;
}

}  // namespace keel::db::sqlite::internal
