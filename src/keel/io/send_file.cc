// Uses sendfile(2) on every engine: the splice operation of io_uring goes through a pipe and is executed by kernel
// threads, which costs more CPU; reading and then sending copies each byte once more.

#include "keel/io/send_file.h"

#include <pthread.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace keel::io {
namespace {

// The number of bytes of a file that a worker sends before other connections get their turn: reading these bytes from
// the disk blocks the worker.
constexpr std::uint64_t share_bytes = 256 * 1024;

// sendfile(2) has no MSG_NOSIGNAL, so SIGPIPE is blocked during the call, and a SIGPIPE that the call has raised is
// removed. If the connection broke after a part was sent, the result is the size of that part, and the next call
// returns the error.
ssize_t send_without_signal(int to, int from, off_t& offset, std::size_t size, std::uint64_t& calls) noexcept {
  sigset_t pipe;
  sigset_t before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  calls += 3;
  const ssize_t sent = ::sendfile(to, from, &offset, size);
  const int error = errno;
  if (sigismember(&before, SIGPIPE) == 0) {
    const bool may_be_told = sent < 0 ? error == EPIPE : static_cast<std::size_t>(sent) < size;
    calls += may_be_told;
    const timespec now{};
    while (may_be_told && sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  errno = error;
  return sent;
}

}  // namespace

Share send_share(SendFile& op, std::uint64_t& system_calls) noexcept {
  for (std::uint64_t share = share_bytes; op.sent < op.size;) {
    if (share == 0) return Share::More;
    auto offset = static_cast<off_t>(op.offset);
    const ssize_t sent = send_without_signal(op.fd, op.file, offset, std::min(op.size - op.sent, share), system_calls);
    if (sent == 0) break;
    if (sent > 0) {
      const auto bytes = static_cast<std::uint64_t>(sent);
      op.sent += bytes;
      op.offset += bytes;
      share -= bytes;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINPROGRESS) {
      return Share::Waits;
    } else if (errno != EINTR) {
      op.result = -errno;
      return Share::Last;
    }
  }
  op.result = op.total();
  return Share::Last;
}

}  // namespace keel::io
