// Sockets on io_uring: accepting, connecting, and sending files.

#if KEEL_WITH_URING

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "keel/io/internal/uring_engine.h"
#include "keel/io/send_file.h"

namespace keel::io {
namespace {

// The maximum number of connections that are accepted one by one in an iteration.
constexpr int accepts_by_hand_max = 64;

}  // namespace

void UringEngine::arm_accept(Accept& op) noexcept {
  io_uring_sqe* sqe = entry();
  if (op.shared || op.one_by_one) {
    // The kernel wakes the first of the waiting workers. With a single accept at a time, this worker goes to the end of
    // the queue after each accept, so another worker gets the next connection.
    io_uring_prep_accept(sqe, op.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  } else {
    io_uring_prep_multishot_accept(sqe, op.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  }
  arm(sqe, op);
}

// True: op.result is valid.
bool UringEngine::advance_unix(Connect& op) noexcept {
  ++system_calls_;
  op.result = -unix_connects_.attempt(op);
  return op.result != -EAGAIN;
}

int UringEngine::accepted(Accept& op, int result, std::uint32_t flags) noexcept {
  if (result >= 0) {
    // An operation that is being cancelled is handled as well, so that an accepted connection is not lost.
    op.result = result;
    op.more = true;
    op.done(op);
    int count = 1;
    if (!op.armed && (flags & IORING_CQE_F_SOCK_NONEMPTY) != 0) count += accept_by_hand(op);
    if (!op.armed && op.pending) op.cancelling ? make_ready(op) : arm_accept(op);
    return count;
  }
  if (op.cancelling) {
    finish(op, -ECANCELED);
    return 1;
  }
  if (result == -EAGAIN || is_transient_accept_error(-result)) {
    if (!op.armed) arm_accept(op);
    return 0;
  }
  if (op.armed) return 0;
  finish(op, result);
  return 1;
}

// Call it after a single connection was accepted: accepts the other connections that are waiting (for TCP, the kernel
// reports since Linux 6.10 whether any connection is waiting). Each of these connections costs a system call, whereas
// otherwise it would cost an event-loop iteration.
int UringEngine::accept_by_hand(Accept& op) noexcept {
  int count = 0;
  while (op.one_by_one && !op.shared && !op.cancelling && count < accepts_by_hand_max) {
    const int fd = try_accept(op.fd);
    if (fd < 0) break;
    op.result = fd;
    op.done(op);
    ++count;
  }
  return count;
}

// True: op.result is valid.
bool UringEngine::advance_send_file(SendFile& op) noexcept {
  if (share_ <= 0) {
    make_ready(op);
    return false;
  }
  const std::uint64_t before = op.sent;
  const Share share = send_share(op, system_calls_);
  share_ -= share_of(op.sent - before);
  switch (share) {
    case Share::Last:
      return true;
    case Share::Waits:
      arm_poll(op, POLLOUT);
      return false;
    default:
      make_ready(op);
      return false;
  }
}

int UringEngine::sent_file(SendFile& op) noexcept {
  if (!advance_send_file(op)) return 0;
  finish(op, op.result);
  return 1;
}

}  // namespace keel::io

#endif
