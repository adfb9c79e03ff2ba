// keel/io/testing/disk.h — a disk in memory that can lose data that was not synced, and that fails on purpose.
//
//   sim::Disk disk(seed);
//   const int file = disk.open("/data/log", true);
//   disk.write(file, "begun", 0);
//   disk.sync(file);
//   disk.sync_folder("/data/log");             // without this the file itself may be gone
//   disk.power_off();                          // everything fails with EIO from here on
//   disk.power_on();                           // synced data is there; the seed decides about all other data
//
// Written bytes are in the cache until sync(). At a power loss, each 4 KiB page that was not synced is kept, lost or
// torn, independently of the other pages. In a torn page, each 512-byte sector is old or new. Beyond the old end of the
// file, a lost sector is zeros or garbage. After a power loss, the file has its old size or its new size, or, if it
// grew, a size at a page boundary in between. A file's name belongs to its folder: its creation, removal or renaming is
// durable only after sync_folder(). These rules are exactly what fsync(2) promises; they are harsher than those of
// ext4, where an fsync of a new file also makes its name durable. The kernel may write a page early
// (DiskFaults::write_back).
//
// A sync that fails leaves each page either written or dropped. A later sync writes a dropped page only if the program
// has written to that page again. A read of a dropped page returns the new content or, once the page is evicted from
// the cache, the old content ("fsyncgate").
//
// The folder of a file is the part of its path before the last '/'; folders need not be created.
//
// Result:   every operation returns -errno on failure; otherwise it returns 0, or the value that its comment names.
// Threads:  one.
// Cost:     two copies of each file, and a hash of all written bytes for the trace. For tests.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace keel::sim {

// Probabilities of faults; all are 0 by default.
struct DiskFaults {
  double read_error = 0;  // The probability that a read fails with EIO.
  // The probability that a write, truncate, make, remove or rename fails with EIO. A part of a failed write may have
  // happened.
  double write_error = 0;
  double sync_error = 0;   // The probability that a sync of a file or a folder fails with EIO.
  double short_read = 0;   // The probability that a read returns fewer bytes than requested.
  double short_write = 0;  // The probability that a write writes only a part of the bytes.
  // The probability that, at a write, a page of this file that waits for a sync is written early.
  double write_back = 0;
  // The limit for the sum of all sizes; a write beyond it fails with ENOSPC.
  std::uint64_t capacity_bytes = UINT64_MAX;
  bool syncs = true;  // False: sync() does nothing and returns 0, like a disk that only pretends to sync.

  // Returns a mix of faults that depends only on `seed`; each kind of fault is off with a probability of about a third.
  // In this mix, the capacity is unlimited, and sync() works.
  static DiskFaults faulty(std::uint64_t seed);
};

// How often each fault has struck.
struct DiskCounts {
  std::uint64_t syncs = 0;
  std::uint64_t power_losses = 0;
  std::uint64_t pages_lost = 0;   // Pages that power losses have lost.
  std::uint64_t pages_torn = 0;   // Pages that power losses have torn.
  std::uint64_t sizes_lost = 0;   // Files whose new size a power loss has lost.
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
  // Closes a descriptor, even without power. A removed file exists until its last descriptor is closed.
  void close(int fd) noexcept;
  // Returns the number of bytes read. The number is less than requested only at the end of the file, or if the fault
  // DiskFaults::short_read strikes.
  std::int64_t read(int fd, std::span<char> into, std::uint64_t at);
  // Returns the number of bytes written. ENOSPC: capacity_bytes is reached.
  std::int64_t write(int fd, std::string_view bytes, std::uint64_t at);
  int truncate(int fd, std::uint64_t size);
  std::int64_t size(int fd);
  int sync(int fd);

  // Returns the size of the file. ENOENT: there is no such file.
  std::int64_t find(std::string_view path);
  // ENOENT: there is no such file.
  int remove(std::string_view path);
  // Renames `from` to `to`, and replaces an existing `to`. ENOENT: there is no file `from`.
  int rename(std::string_view from, std::string_view to);
  // Syncs the folder of `path`, which makes the names in it durable.
  int sync_folder(std::string_view path);

  bool is_on() const noexcept;
  void power_off() noexcept;
  // The power fails during the `changes`th change from now (1: the next change). A change is a write, truncate, create,
  // remove, rename or sync of any file. The interrupted change may or may not be cached; an interrupted sync is not
  // carried out. 0: the power does not fail.
  void power_off_after(std::uint64_t changes) noexcept;
  // Descriptors from before the power loss remain unusable and can only be closed.
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
