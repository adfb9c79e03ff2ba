#include "keel/net/blocking/listener.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "keel/io/engine.h"
#include "keel/net/blocking/internal/socket.h"

namespace keel::blocking {

Result<Listener> Listener::bind(const Address& address, const io::ListenOptions& options) {
  KEEL_TRY(const int fd, io::system_listener(address, options));
  return Listener(fd);
}

Listener::~Listener() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Stream> Listener::accept(Duration timeout) {
  const Instant deadline = internal::deadline_after(timeout);
  while (!__atomic_load_n(&is_shut_, __ATOMIC_ACQUIRE)) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) return Stream(fd);
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      KEEL_TRY_VOID(internal::wait_for(fd_, POLLIN, deadline));
    } else if (!io::is_transient_accept_error(errno) &&
               !(errno == EINVAL && __atomic_load_n(&is_shut_, __ATOMIC_ACQUIRE))) {
      return Error::from_errno("accept", errno);
    }
  }
  return fail(Code::Cancelled, "the listener was shut down");
}

void Listener::shutdown() noexcept {
  // The system's shutdown() alone is not sufficient: after it, accept on a Unix socket only reports that there is no
  // connection.
  __atomic_store_n(&is_shut_, true, __ATOMIC_RELEASE);
  ::shutdown(fd_, SHUT_RDWR);
}

Address Listener::address() const noexcept { return internal::name_of(fd_, getsockname); }

}  // namespace keel::blocking
