#include "new/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace keel::create {
namespace {

Result<> write_file(const std::string& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return Error::from_errno("mkdir", error.value()).because(path);
  const mode_t mode = text.starts_with("#!") ? 0777 : 0666;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return Error::from_errno("open", errno).because(path);
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t size = ::write(fd, text.data() + written, text.size() - written);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    written += static_cast<std::size_t>(size);
  }
  const int write_error = written < text.size() ? errno : 0;
  if (::close(fd) != 0 || write_error != 0) {
    return Error::from_errno("write", write_error != 0 ? write_error : errno).because(path);
  }
  return {};
}

Result<> write_all(std::span<const File> files, const Names& names, const std::string& folder) {
  for (const File& file : files) {
    KEEL_TRY_VOID(write_file(folder + "/" + names.apply(file.path), names.apply(file.text)));
  }
  return {};
}

}  // namespace

Result<std::size_t> write_service(std::span<const File> files, const Names& names, const std::string& folder) {
  if (::mkdir(folder.c_str(), 0777) != 0) {
    if (errno == EEXIST) {
      return Error::text(Code::AlreadyExists, folder +
                                                  " already exists: nothing was written; choose another name, or "
                                                  "another folder with --dir");
    }
    return Error::from_errno("mkdir", errno).because(folder);
  }
  auto written = write_all(files, names, folder);
  if (written) return files.size();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return std::move(written).error();
}

}  // namespace keel::create
