#include "keel/net/blocking/listener.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "keel/net/blocking/internal/socket.h"

namespace keel::blocking {
namespace {

Result<> bind_to(int fd, const Address& address) {
  if (bind(fd, address.system(), address.system_size()) == 0) return {};
  const int error = errno;
  if (error != EADDRINUSE || !address.is_unix()) return fail_errno("bind", error);
  // What a process that crashed leaves: a path behind which nobody listens. A file that is no socket refuses to be
  // connected to as well, and is not ours to remove.
  struct stat facts{};
  const bool is_socket =
      ::stat(reinterpret_cast<const sockaddr_un*>(address.system())->sun_path, &facts) == 0 && S_ISSOCK(facts.st_mode);
  if (!is_socket) return fail_errno("bind", error);
  KEEL_TRY(int probe, internal::open_socket(address));
  const bool refused = connect(probe, address.system(), address.system_size()) != 0 && errno == ECONNREFUSED;
  ::close(probe);
  if (!refused) return fail_errno("bind", error);
  ::unlink(reinterpret_cast<const sockaddr_un*>(address.system())->sun_path);
  if (bind(fd, address.system(), address.system_size()) == 0) return {};
  return fail_errno("bind", errno);
}

Result<> prepare(int fd, const Address& address, const ListenOptions& options) {
  const int on = 1;
  if (!address.is_unix()) {
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return fail_errno("setsockopt", errno);
    if (address.family() == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) {
      return fail_errno("setsockopt", errno);
    }
  }
  KEEL_TRY_VOID(bind_to(fd, address));
  if (listen(fd, options.backlog) != 0) return fail_errno("listen", errno);
  return {};
}

// accept(2): errors of the network of the connection that waited; the next one may be well.
bool is_of_one_connection(int number) noexcept {
  return number == EINTR || number == ECONNABORTED || number == EPROTO || number == ENETDOWN || number == ENOPROTOOPT ||
         number == EHOSTDOWN || number == ENONET || number == EHOSTUNREACH || number == EOPNOTSUPP ||
         number == ENETUNREACH;
}

}  // namespace

Result<Listener> Listener::bind(const Address& address, const ListenOptions& options) {
  KEEL_TRY(int fd, internal::open_socket(address));
  Listener listener(fd);
  if (auto prepared = prepare(fd, address, options); !prepared) {
    return std::move(prepared).error().because("listening on " + address.to_string());
  }
  return listener;
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
    } else if (!is_of_one_connection(errno) && !(errno == EINVAL && __atomic_load_n(&is_shut_, __ATOMIC_ACQUIRE))) {
      return fail_errno("accept", errno).error();
    }
  }
  return Error(Code::Cancelled, "the listener was shut down");
}

void Listener::shutdown() noexcept {
  // Of itself accept of a Unix socket says only that nobody is there.
  __atomic_store_n(&is_shut_, true, __ATOMIC_RELEASE);
  ::shutdown(fd_, SHUT_RDWR);
}

Address Listener::address() const noexcept { return internal::name_of(fd_, getsockname); }

}  // namespace keel::blocking
