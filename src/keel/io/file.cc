#include "keel/io/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>

#include "keel/base/bug.h"
#include "keel/io/loop.h"

namespace keel {
namespace {

constexpr std::size_t read_step_bytes = 64 * 1024;

io::Engine& engine_of_files() {
  io::Loop* loop = io::Loop::current();
  KEEL_EXPECT(loop != nullptr,
              "files can be used only on a worker: first co_await resume_on() with the loop of a worker");
  return loop->engine();
}

int flags_of(File::Mode mode) noexcept {
  switch (mode) {
    case File::Mode::Read:
      return O_RDONLY;
    case File::Mode::Write:
      return O_RDWR;
    case File::Mode::Create:
      return O_RDWR | O_CREAT;
    case File::Mode::Replace:
      return O_RDWR | O_CREAT | O_TRUNC;
    case File::Mode::CreateNew:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

Result<> checked(const char* what, int result) noexcept {
  if (result < 0) return Error::from_errno(what, -result);
  return {};
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

bool FileStatus::is_folder() const noexcept { return S_ISDIR(mode); }
bool FileStatus::is_plain_file() const noexcept { return S_ISREG(mode); }

template <class Operation>
FileLeaf<Operation>::FileLeaf(io::Engine& engine, int descriptor, WhenStopped when_stopped) noexcept
    : Leaf(
          [](Leaf& leaf) noexcept {
            auto& self = static_cast<FileLeaf&>(leaf);
            self.engine_.cancel(self);
          },
          when_stopped),
      Operation([](io::Op& op) noexcept { static_cast<FileLeaf&>(static_cast<Operation&>(op)).wake(); }),
      engine_(engine) {
  this->fd = descriptor;
}
template <class Operation>
bool FileLeaf<Operation>::start() noexcept {
  return engine_.submit(*this);
}
template class FileLeaf<io::Open>;
template class FileLeaf<io::ReadAt>;
template class FileLeaf<io::WriteAt>;
template class FileLeaf<io::Sync>;
template class FileLeaf<io::Status>;
template class FileLeaf<io::Truncate>;
template class FileLeaf<io::Rename>;
template class FileLeaf<io::Remove>;

File::Open::Open(io::Engine& engine, std::string path_given, int open_flags, std::uint32_t mode) noexcept
    : FileLeaf(engine, -1), path_(std::move(path_given)) {
  flags = open_flags;
  permissions = mode;
}
File::Open::Open(io::Engine& engine, int folder, std::string path_given, int open_flags) noexcept
    : FileLeaf(engine, folder), path_(std::move(path_given)) {
  flags = open_flags;
  beneath = true;
}
bool File::Open::start() noexcept {
  path = path_.c_str();
  return FileLeaf::start();
}
Result<File> File::Open::take() noexcept {
  if (result < 0) {
    Error error = Error::from_errno("open", -result);
    if (result == -EXDEV && beneath) error = std::move(error).as(Code::PermissionDenied);
    return std::move(error).because(path_);
  }
  return File(engine_, result);
}
Result<std::size_t> File::Read::take() noexcept {
  if (result < 0) return Error::from_errno("read", -result);
  return static_cast<std::size_t>(result);
}
Result<> File::Write::take() noexcept { return checked("write", result); }
Result<> File::Sync::take() noexcept { return checked("fsync", result); }
Result<> File::Truncate::take() noexcept { return checked("ftruncate", result); }
Result<FileStatus> File::Status::take() noexcept {
  if (result < 0) return Error::from_errno("statx", -result);
  return FileStatus{size, modified_ns, mode};
}
Result<std::uint64_t> File::Size::take() noexcept {
  if (result < 0) return Error::from_errno("statx", -result);
  return size;
}

File::Open File::open(std::string path, Mode mode, std::uint32_t permissions) {
  return Open(engine_of_files(), std::move(path), flags_of(mode), permissions);
}
File::Open File::open_folder(std::string path) {
  return Open(engine_of_files(), std::move(path), O_RDONLY | O_DIRECTORY, 0);
}
File::Open File::open_beneath(std::string path, Links links) noexcept {
  return Open(*engine_, fd_, std::move(path), O_RDONLY | (links == Links::Refused ? O_NOFOLLOW : 0));
}
File::Read File::read(std::uint64_t offset, std::span<char> into) noexcept { return Read(*engine_, fd_, offset, into); }
File::Write File::write(std::uint64_t offset, std::string_view bytes) noexcept {
  return Write(*engine_, fd_, offset, bytes);
}
File::Sync File::sync() noexcept { return Sync(*engine_, fd_, false); }
File::Status File::status() noexcept { return Status(*engine_, fd_); }
File::Size File::size() noexcept { return Size(*engine_, fd_); }
File::Truncate File::truncate(std::uint64_t size) noexcept { return Truncate(*engine_, fd_, size); }
void File::close() noexcept {
  if (fd_ >= 0) engine_->close(std::exchange(fd_, -1));
}

namespace {

class Statusing : public FileLeaf<io::Status> {
 public:
  using Value = FileStatus;
  explicit Statusing(const std::string& of) : FileLeaf(engine_of_files(), -1) { path = of.c_str(); }
  Result<FileStatus> take() noexcept {
    if (result < 0) return Error::from_errno("statx", -result).because(path);
    return FileStatus{size, modified_ns, mode};
  }
};

class Renaming : public FileLeaf<io::Rename> {
 public:
  using Value = void;
  Renaming(const std::string& old_name, const std::string& new_name) : FileLeaf(engine_of_files(), -1) {
    from = old_name.c_str();
    to = new_name.c_str();
  }
  Result<> take() noexcept {
    if (result < 0) return Error::from_errno("rename", -result).because(from);
    return {};
  }
};

class Removing : public FileLeaf<io::Remove> {
 public:
  using Value = void;
  explicit Removing(const std::string& of, WhenStopped when_stopped = WhenStopped::IsRefused)
      : FileLeaf(engine_of_files(), -1, when_stopped) {
    path = of.c_str();
  }
  Result<> take() noexcept {
    if (result < 0) return Error::from_errno("unlink", -result).because(path);
    return {};
  }
};

// Creates a new file; a file that already has this name is not changed.
Task<> write_new(std::string path, std::string_view bytes, std::uint32_t permissions) {
  File file = co_await File::open(std::move(path), File::Mode::CreateNew, permissions);
  co_await file.write(0, bytes);
  co_await file.sync();
}

Task<> write_and_rename(const std::string& beside, const std::string& path, std::string_view bytes,
                        std::uint32_t permissions) {
  co_await write_new(beside, bytes, permissions);
  co_await Renaming(beside, path);
}

}  // namespace

Task<std::string> read_whole(std::string path, std::size_t bytes_max) {
  File file = co_await File::open(path, File::Mode::Read);
  const std::uint64_t size = co_await file.size();
  std::string text;
  if (size <= bytes_max) {
    // The buffer has one byte more than the stated size of the file, so that the first read already reaches the end.
    text.resize(size + 1);
    std::size_t used = 0;
    while (used <= bytes_max) {
      if (used == text.size()) text.resize(used + read_step_bytes);
      const std::size_t got = co_await file.read(used, {text.data() + used, text.size() - used});
      used += got;
      // A file without a size, such as one in /proc, may return fewer bytes than requested before its end.
      if (got == 0 || (size != 0 && used < text.size() && used >= size)) break;
    }
    text.resize(used);
  }
  if (size > bytes_max || text.size() > bytes_max) {
    co_return Error::text(Code::OutOfRange, fmt::format("{}: the file has more than {} bytes", path, bytes_max))
        .from_environment();
  }
  co_return text;
}

Task<> write_whole(std::string path, std::string bytes, std::uint32_t permissions) {
  const std::string beside = fmt::format("{}.{:016x}", path, Host::current().random());
  Result<> written = co_await attempt(write_and_rename(beside, path, bytes, permissions));
  if (!written) {
    (void)co_await attempt(Removing(beside, Leaf::WhenStopped::Begins));
    co_await std::move(written);
  }
  co_await sync_folder(folder_of(path));
}

Task<FileStatus> file_status(std::string path) { co_return co_await Statusing(path); }
Task<> rename_file(std::string from, std::string to) { co_await Renaming(from, to); }
Task<> remove_file(std::string path) { co_await Removing(path); }
Task<> sync_folder(std::string path) {
  File folder = co_await File::open_folder(std::move(path));
  co_await File::Sync(*folder.engine_, folder.fd_, true);
}

}  // namespace keel
