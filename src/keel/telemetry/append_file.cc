#include "keel/telemetry/append_file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace keel::telemetry {
namespace {

constexpr int links_max = 40;  // The maximum number of links that are followed, as in the kernel.

Error refuse(const char* what) { return Error::text(Code::FailedPrecondition, what).from_environment(); }

// If `path` stands for descriptor N of this process, returns N.
std::optional<int> descriptor_of(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = -1;
    const auto [end, error] = std::from_chars(path.data() + folder.size(), path.data() + path.size(), number);
    if (error == std::errc() && end == path.data() + path.size() && number >= 0) return number;
  }
  return std::nullopt;
}

// The target of the link at `path`; an empty text if there is no link any more.
Result<std::string> target_of(const std::string& path) {
  const int link = ::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (link < 0) return Error::from_errno("open", errno);
  struct stat facts{};
  char text[PATH_MAX];
  const bool is_link = ::fstat(link, &facts) == 0 && S_ISLNK(facts.st_mode);
  const bool is_ours = facts.st_uid == 0 || facts.st_uid == ::geteuid();
  const ssize_t size = is_link && is_ours ? ::readlinkat(link, "", text, sizeof text) : 0;
  const int error = errno;
  ::close(link);
  if (is_link && !is_ours) {
    return refuse("is a symbolic link of another user, which is not followed: remove it, or name its target");
  }
  if (size < 0) return Error::from_errno("readlink", error);
  return std::string(text, static_cast<std::size_t>(size));
}

}  // namespace

Result<int> open_append_file(const std::string& path) {
  std::string at = path;
  const auto failed = [&](Error error) -> Error {
    if (at != path) return std::move(error).because(at);
    return error;
  };
  for (int links = 0; links <= links_max; ++links) {
    if (const std::optional<int> number = descriptor_of(at)) {
      const int copy = ::fcntl(*number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
      if (copy < 0) return failed(Error::from_errno("open", errno));
      return copy;
    }
    constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
    int descriptor = ::open(at.c_str(), flags | O_NONBLOCK, 0640);
    // EAGAIN: another process has a lease on the file (fcntl(2)); the second open() waits until the lease ends.
    if (descriptor < 0 && errno == EAGAIN) descriptor = ::open(at.c_str(), flags, 0640);
    if (descriptor >= 0) {
      // Writes to a FIFO do not block, so that a reader that has stopped reading cannot stop a crash handler; writes to
      // any other file block as usual.
      struct stat facts{};
      const bool is_fifo = ::fstat(descriptor, &facts) == 0 && S_ISFIFO(facts.st_mode);
      if (!is_fifo) ::fcntl(descriptor, F_SETFL, O_APPEND);
      return descriptor;
    }
    const int error = errno;
    if (error == ENXIO) {
      return failed(refuse(
          "is a socket, or a FIFO that no process reads: first start the process that reads it, or name another file"));
    }
    if (error != ELOOP) return failed(Error::from_errno("open", error));
    Result<std::string> target = target_of(at);
    if (!target) return failed(std::move(target).error());
    const std::size_t slash = at.rfind('/');
    if (!target->empty() && target->front() != '/' && slash != at.npos) target->insert(0, at, 0, slash + 1);
    if (!target->empty()) at = *std::move(target);
  }
  return Error::from_errno("open", ELOOP);
}

}  // namespace keel::telemetry
