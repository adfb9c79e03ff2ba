// keel/io/file.h — operations on files that do not block the worker.
//
//   Task<> append(std::string path, std::string line) {
//     File file = co_await File::open(path, File::Mode::Create);
//     std::uint64_t end = co_await file.size();
//     co_await file.write(end, line);                          // all of it, or an error
//     co_await file.sync();                                    // on the disk
//   }
//   std::string page = co_await read_whole("static/index.html", 1 << 20);
//   co_await write_whole("state.json", text);                  // the old content or the new one, whatever happens
//
// Offsets and sizes are bytes. A relative path is looked up from the working directory. Several tasks may use one File
// at the same time; their operations take place in any order. In a simulation, files are on the simulated disk
// (io/testing/disk.h).
//
// Errors:    NotFound, PermissionDenied, AlreadyExists, InvalidArgument (the path is a folder), ResourceExhausted (the
//            disk is full, descriptors or threads have run out), DataLoss (EIO: after a failed sync it is unknown which
//            bytes were written, and another sync does not help), each with its errno; Cancelled and DeadlineExceeded.
// Ownership: owns its descriptor; movable while no operation is in progress. The destructor closes the descriptor
//            without a sync.
// Lifetime:  the file and the buffers must live until the operation completes.
// Threads:   only the worker on which the file was made. Opening, renaming or removing a file on a thread that is not a
//            worker throws a Bug (base/bug.h).
// Cancel:    an operation that has not begun does not take place; an operation that has begun is completed and reports
//            its own result. Therefore a task that waits for a disk cannot be ended while the disk hangs.
// Cost:      with io_uring, an operation needs no separate system call, except an open; a page that is in memory is
//            copied immediately, and kernel threads wait for all other pages. With epoll, an operation takes two
//            context switches, and each worker has at most four threads for files. No heap in steady state, except for
//            a path.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "keel/io/op.h"
#include "keel/task/leaf.h"
#include "keel/task/task.h"

namespace keel {

namespace io {
class Engine;
}

// Facts about a file: its kind, size, time and permissions.
struct FileStatus {
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  // Nanoseconds since 1970-01-01T00:00:00Z; 0 in a simulation.
  std::uint32_t mode = 0;        // Type and permissions, as in st_mode: inode(7).
  bool is_folder() const noexcept;
  bool is_plain_file() const noexcept;
};

class File {
 public:
  enum class Mode : std::uint8_t {
    Read,       // An existing file, only for reading.
    Write,      // An existing file, for reading and writing.
    Create,     // The file is opened for reading and writing, and created if it is missing.
    Replace,    // The file is opened as with Create, and then truncated to zero bytes.
    CreateNew,  // Creates a new file; AlreadyExists if the path exists.
  };
  class Open;
  class Read;
  class Write;
  class Sync;
  class Status;
  class Size;
  class Truncate;

  // `permissions` are those of a created file, before the process's umask is applied. A pipe is opened without waiting
  // for a writer.
  [[nodiscard]] static Open open(std::string path, Mode mode, std::uint32_t permissions = 0644);

  File(File&& other) noexcept : engine_(other.engine_), fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    if (this != &other) {
      close();
      engine_ = other.engine_;
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~File() { close(); }

  // Opens a folder for open_beneath() and sync(); the folder itself is not read.
  [[nodiscard]] static Open open_folder(std::string path);
  // Opens a file for reading, looked up from this folder: whatever `path` says, nothing outside of the folder is
  // opened, not even by "..", a link or a leading slash (openat2(2), RESOLVE_BENEATH). PermissionDenied with EXDEV for
  // a path that leads out of the folder. The folder must stay open until the file is open. Links::Refused: ELOOP if any
  // part of `path` is a symbolic link.
  enum class Links : std::uint8_t { Followed, Refused };
  [[nodiscard]] Open open_beneath(std::string path, Links links = Links::Followed) noexcept;

  // Reads into `into`; returns the number of bytes. A number smaller than the size of `into` does not mean that the
  // file has ended (a read has at most 1 GiB, and some file systems return fewer bytes); only 0 means the end of the
  // file.
  [[nodiscard]] Read read(std::uint64_t offset, std::span<char> into) noexcept;
  // Writes all of `bytes`; after an error it is unknown how many bytes were written. If `offset` is beyond the end of
  // the file, the gap reads as zeros.
  [[nodiscard]] Write write(std::uint64_t offset, std::string_view bytes) noexcept;
  // Completes when all bytes that were written to the file before this call are on the disk. The name of a new file
  // belongs to its folder: call sync_folder() to make the name durable, too.
  [[nodiscard]] Sync sync() noexcept;
  [[nodiscard]] Status status() noexcept;
  [[nodiscard]] Size size() noexcept;
  // Truncates the file, or extends it with zeros.
  [[nodiscard]] Truncate truncate(std::uint64_t size) noexcept;
  // Closes the file immediately; the destructor does the same.
  void close() noexcept;
  // The descriptor, which the file still owns; use it for Stream::send_file().
  int descriptor() const noexcept { return fd_; }

 private:
  friend class Open;
  friend Task<> sync_folder(std::string path);
  File(io::Engine& engine, int fd) noexcept : engine_(&engine), fd_(fd) {}
  io::Engine* engine_;
  int fd_;
};

// Reads a whole file. OutOfRange if the file has more than `bytes_max` bytes.
Task<std::string> read_whole(std::string path, std::size_t bytes_max);
// Makes `path` a file with the content `bytes`; both the name and the content are on the disk when the task completes.
// At any moment, also after a crash, a reader finds either the old content or the new content, because the new content
// is written to another file in the same folder, and that file is then synced and renamed. If the task is cancelled,
// the file has either the old content or the new content.
Task<> write_whole(std::string path, std::string bytes, std::uint32_t permissions = 0644);
Task<FileStatus> file_status(std::string path);
// Renames `from` to `to`; a file that already has the name `to` is replaced. remove_file() removes a file.
Task<> rename_file(std::string from, std::string to);
Task<> remove_file(std::string path);
// Completes when all names that were made, removed or changed in this folder before the call are on the disk.
Task<> sync_folder(std::string path);

// The common part of the operations: one Op, stored in the frame of the awaiting coroutine.
template <class Operation>
class FileLeaf : public Leaf, protected Operation {
 public:
  bool start() noexcept;

 protected:
  FileLeaf(io::Engine& engine, int fd, WhenStopped when_stopped = WhenStopped::IsRefused) noexcept;
  io::Engine& engine_;
};

class [[nodiscard]] File::Open : public FileLeaf<io::Open> {
 public:
  using Value = File;
  Open(io::Engine& engine, std::string path_given, int open_flags, std::uint32_t mode) noexcept;
  // Opens a file beneath `folder`.
  Open(io::Engine& engine, int folder, std::string path_given, int open_flags) noexcept;
  bool start() noexcept;
  Result<File> take() noexcept;

 private:
  std::string path_;
};

class [[nodiscard]] File::Read : public FileLeaf<io::ReadAt> {
 public:
  using Value = std::size_t;
  Read(io::Engine& engine, int file, std::uint64_t from, std::span<char> into) noexcept : FileLeaf(engine, file) {
    data = into.data();
    size = into.size();
    offset = from;
  }
  Result<std::size_t> take() noexcept;
};

class [[nodiscard]] File::Write : public FileLeaf<io::WriteAt> {
 public:
  using Value = void;
  Write(io::Engine& engine, int file, std::uint64_t to, std::string_view bytes) noexcept : FileLeaf(engine, file) {
    set(bytes.data(), bytes.size());
    offset = to;
  }
  Result<> take() noexcept;
};

class [[nodiscard]] File::Sync : public FileLeaf<io::Sync> {
 public:
  using Value = void;
  Sync(io::Engine& engine, int file, bool everything) noexcept : FileLeaf(engine, file) { all = everything; }
  Result<> take() noexcept;
};

class [[nodiscard]] File::Status : public FileLeaf<io::Status> {
 public:
  using Value = FileStatus;
  Status(io::Engine& engine, int file) noexcept : FileLeaf(engine, file) {}
  Result<FileStatus> take() noexcept;
};

class [[nodiscard]] File::Size : public FileLeaf<io::Status> {
 public:
  using Value = std::uint64_t;
  Size(io::Engine& engine, int file) noexcept : FileLeaf(engine, file) {}
  Result<std::uint64_t> take() noexcept;
};

class [[nodiscard]] File::Truncate : public FileLeaf<io::Truncate> {
 public:
  using Value = void;
  Truncate(io::Engine& engine, int file, std::uint64_t bytes) noexcept : FileLeaf(engine, file) { size = bytes; }
  Result<> take() noexcept;
};

}  // namespace keel
