// keel/io/testing/disk.h — a disk in memory that forgets data that was not synced, and fails on purpose.
//
//   sim::Disk disk(seed);
//   const int file = disk.open("/data/log", true);
//   disk.write(file, "begun", 0);
//   disk.sync(file);
//   disk.sync_folder("/data/log");             // without this the file itself may be gone
//   disk.power_off();                          // everything fails with EIO from here on
//   disk.power_on();                           // what was synced is there; of the rest, what the seed says
//
// Written bytes are in the cache until sync(). At a power loss each 4 KiB page that was not synced is kept, lost or
// torn into 512-byte sectors that are old or new, independently of the other pages; beyond the old end of the file, a
// lost sector is zeros or garbage. The size is the old one or the new one, or, if the file grew, a page boundary in
// between. A file's name belongs to its folder: its creation, removal or renaming is durable only after sync_folder().
// This is what fsync(2) promises, and harsher than ext4, whose fsync of a new file also keeps the name. The kernel may
// write a page early (DiskFaults::write_back).
//
// A sync that fails leaves each page either written or dropped, and no page is written by a later sync unless it was
// written to again; a dropped page reads as new or, once evicted from the cache, as old ("fsyncgate").
//
// Folders are the part of a path before its last '/'; they need not be created.
//
// Result:   every operation returns -errno, or 0 or the value that its comment names.
// Threads:  one.
// Cost:     two copies of each file; the trace hashes what is written. For tests.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace keel::sim {

// Probabilities of faults; all are 0 by default.
struct DiskFaults {
  double read_error = 0;  // Per read: EIO.
  // The probability for each write, truncate, make, remove and rename: EIO; a part of the write may have happened.
  double write_error = 0;
  double sync_error = 0;   // The probability for each sync of a file or a folder: EIO.
  double short_read = 0;   // The probability for each read: it returns fewer bytes than requested.
  double short_write = 0;  // The probability for each write: it writes only a part of the bytes.
  double write_back = 0;  // The probability for each write: a page of this file that waits for a sync is written early.
  std::uint64_t capacity_bytes = UINT64_MAX;  // The limit for the sum of all sizes; beyond it ENOSPC.
  bool syncs = true;                          // False: sync() does nothing and returns 0, like a lying disk.

  // A mix that depends only on `seed`; about one fault in three is off. It sets no capacity limit, and syncs work.
  static DiskFaults faulty(std::uint64_t seed);
};

// How often each fault has struck.
struct DiskCounts {
  std::uint64_t syncs = 0;
  std::uint64_t power_losses = 0;
  std::uint64_t pages_lost = 0;   // They are counted at power losses.
  std::uint64_t pages_torn = 0;   // They are counted at power losses.
  std::uint64_t sizes_lost = 0;   // They are counted at power losses.
  std::uint64_t names_lost = 0;   // Names whose creation, removal or renaming was lost.
  std::uint64_t pages_early = 0;  // Pages that were written before their sync.
  std::uint64_t read_errors = 0;
  std::uint64_t write_errors = 0;
  std::uint64_t sync_errors = 0;
  std::uint64_t short_reads = 0;
  std::uint64_t short_writes = 0;
  std::uint64_t full = 0;
};

class Disk {
 public:
  explicit Disk(std::uint64_t seed, const DiskFaults& faults = {});
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // The faults apply from now on.
  void set_faults(const DiskFaults& faults) noexcept;

  // Returns a descriptor. ENOENT: the file does not exist, and O_CREAT is not set.
  int open(std::string_view path, bool make);
  // Works even without power. A removed file exists until its last descriptor is closed.
  void close(int fd) noexcept;
  // The number of bytes read: less than asked only at the end of the file.
  std::int64_t read(int fd, std::span<char> into, std::uint64_t at);
  // The number of bytes written. ENOSPC.
  std::int64_t write(int fd, std::string_view bytes, std::uint64_t at);
  int truncate(int fd, std::uint64_t size);
  std::int64_t size(int fd);
  int sync(int fd);

  // The size. ENOENT.
  std::int64_t find(std::string_view path);
  // ENOENT.
  int remove(std::string_view path);
  // Replaces `to`. ENOENT.
  int rename(std::string_view from, std::string_view to);
  // Syncs the folder of `path`: its names.
  int sync_folder(std::string_view path);

  bool is_on() const noexcept;
  void power_off() noexcept;
  // The power fails during the `changes`th change from now (1: the next): a write, truncate, create, remove, rename or
  // sync of any file. That change may or may not be cached; a sync is not carried out. 0: never.
  void power_off_after(std::uint64_t changes) noexcept;
  // Descriptors from before remain unusable and can only be closed.
  void power_on();
  // The number of changes that were made to the disk so far.
  std::uint64_t changes() const noexcept;

  const DiskCounts& counts() const noexcept;
  // A hash of every operation, its outcome and its bytes.
  std::uint64_t trace_hash() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::sim
