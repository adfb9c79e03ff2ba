// keel/db/testing/internal/vfs.h — the base class of the VFSes that tests use: a VFS of SQLite whose files are objects.
//
// The functions of both classes correspond to those of SQLite's sqlite3_vfs and sqlite3_io_methods, version 2: there is
// shared memory for the WAL, but no memory-mapped reading. The functions return SQLite's codes.
//
// Threads:  any, as far as the derived class allows.
// Lifetime: a Vfs must outlive the connections that use it.

#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>

namespace keel::db::sqlite::internal {

class VfsFile {
 public:
  virtual ~VfsFile() = default;
  virtual int close() = 0;  // Destroyed after it.
  virtual int read(void* to, int size, sqlite3_int64 at) = 0;
  virtual int write(const void* from, int size, sqlite3_int64 at) = 0;
  virtual int truncate(sqlite3_int64 size) = 0;
  virtual int sync(int flags) = 0;
  virtual int size(sqlite3_int64* out) = 0;
  virtual int lock(int level) = 0;
  virtual int unlock(int level) = 0;
  virtual int check_lock(int* out) = 0;
  virtual int control(int what, void* argument) = 0;
  virtual int sector_size() = 0;
  virtual int characteristics() = 0;
  virtual int map_shared(int region, int size, int extend, void volatile** out) = 0;
  virtual int lock_shared(int first, int count, int flags) = 0;
  virtual void barrier() = 0;
  virtual int unmap_shared(int removes) = 0;
};

class Vfs {
 public:
  Vfs(const Vfs&) = delete;
  Vfs& operator=(const Vfs&) = delete;
  const char* name() const noexcept { return name_.c_str(); }

 protected:
  // Calls that do not concern an open file go to the functions in `methods`.
  Vfs(std::string name, const sqlite3_vfs& methods);
  virtual ~Vfs();  // After the destructor, no new connections can use the VFS.

  // Registers the VFS with SQLite; the derived class calls this function when its object is ready for use.
  void allow_use();

  // Sets `file` if the call succeeds.
  virtual int open(sqlite3_filename name, int flags, int* flags_out, std::unique_ptr<VfsFile>& file) = 0;
  // For the functions in `methods`: the Vfs to which `vfs` belongs.
  static Vfs& of(sqlite3_vfs* vfs) noexcept { return *static_cast<Vfs*>(vfs->pAppData); }

 private:
  static int open_file(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* flags_out);

  const std::string name_;
  sqlite3_vfs vfs_;
};

}  // namespace keel::db::sqlite::internal
