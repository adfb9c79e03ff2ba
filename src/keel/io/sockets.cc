#include "keel/io/sockets.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>

#include "keel/io/datagrams.h"
#include "keel/io/engine.h"
#include "keel/io/internal/sockets.h"

namespace keel::io {
namespace {

Result<> set_option(int fd, int level, int option, const char* what, int value = 1) {
  if (setsockopt(fd, level, option, &value, sizeof value) != 0) return Error::from_errno(what, errno);
  return {};
}

// Options that accepted sockets inherit, so that no system call per connection is needed.
Result<> set_inherited_options(int fd, int family, const ListenOptions& options) {
  if (family != AF_UNIX && options.no_delay) {
    KEEL_TRY_VOID(set_option(fd, IPPROTO_TCP, TCP_NODELAY, "setsockopt TCP_NODELAY"));
  }
  if (family != AF_UNIX && options.user_timeout != Duration()) {
    KEEL_TRY_VOID(system_set_options(fd, {.user_timeout = options.user_timeout}));
  }
  if (options.send_buffer_bytes > 0) {
    KEEL_TRY_VOID(set_option(fd, SOL_SOCKET, SO_SNDBUF, "setsockopt SO_SNDBUF", options.send_buffer_bytes));
  }
  if (options.receive_buffer_bytes > 0) {
    KEEL_TRY_VOID(set_option(fd, SOL_SOCKET, SO_RCVBUF, "setsockopt SO_RCVBUF", options.receive_buffer_bytes));
  }
  return {};
}

// The path of a Unix socket in the file system; null if the address has no such path. The pointer is valid as long as
// `address`.
const char* path_of(const Address& address) noexcept {
  if (!address.is_unix()) return nullptr;
  const char* const path = reinterpret_cast<const sockaddr_un*>(address.system())->sun_path;
  return *path != '\0' ? path : nullptr;
}

// Locks the folder of a Unix socket's path, from the check for an existing socket until the new socket is listening.
// Without the lock, the second of two processes that find the same abandoned socket would remove the socket of the
// first. A socket that is bound but not yet listening looks abandoned, too.
class FolderLock {
 public:
  explicit FolderLock(const Address& address) {
    const char* const path = path_of(address);
    if (path == nullptr) return;
    const std::string_view text(path);
    const std::size_t slash = text.rfind('/');
    const std::string folder(slash == text.npos ? "." : text.substr(0, slash + 1));
    fd_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // Any process that can read the folder can hold its lock; such a process delays this constructor, but does not stop
    // it.
    constexpr timespec pause{0, 10'000'000};
    for (int tries = 0; fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) != 0 && tries < 100; ++tries) {
      ::nanosleep(&pause, nullptr);
    }
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  int fd_ = -1;
};

// bind() gives the path the mode of the socket, without the bits of the umask; this function restores those bits.
Result<> restore_mode(const char* path, std::uint32_t mode) {
  const int fd = ::open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return Error::from_errno("open", errno);
  struct stat facts{};
  const std::string itself = "/proc/self/fd/" + std::to_string(fd);
  int error = 0;
  if (::fstat(fd, &facts) != 0) {
    error = errno;
  } else if (!S_ISSOCK(facts.st_mode)) {
    error = EEXIST;  // In the meantime, another process has created a file at this path.
  } else if ((facts.st_mode & 07777) != mode && ::chmod(itself.c_str(), mode) != 0) {
    error = errno;
  }
  ::close(fd);
  if (error != 0) return Error::from_errno("chmod", error);
  return {};
}

// Whether the path of a Unix socket exists and no process listens there, as after a crash.
bool is_abandoned(const Address& address, int type) {
  // Connecting to a file that is not a socket also fails with ECONNREFUSED, but a file of another kind must not be
  // removed.
  struct stat facts{};
  if (::stat(reinterpret_cast<const sockaddr_un*>(address.system())->sun_path, &facts) != 0) return false;
  if (!S_ISSOCK(facts.st_mode)) return false;
  const int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool refused = connect(fd, address.system(), address.system_size()) != 0 && errno == ECONNREFUSED;
  ::close(fd);
  return refused;
}

Result<> bind_to(int fd, const Address& address, int type = SOCK_STREAM) {
  if (bind(fd, address.system(), address.system_size()) == 0) return {};
  int error = errno;  // The check for a listener changes errno, for example when its queue is full.
  if (error == EADDRINUSE && address.is_unix() && is_abandoned(address, type)) {
    ::unlink(reinterpret_cast<const sockaddr_un*>(address.system())->sun_path);
    if (bind(fd, address.system(), address.system_size()) == 0) return {};
    error = errno;
  }
  return Error::from_errno("bind", error);
}

Result<> prepare_listener(int fd, const Address& address, const ListenOptions& options) {
  if (!address.is_unix()) {
    KEEL_TRY_VOID(set_option(fd, SOL_SOCKET, SO_REUSEADDR, "setsockopt SO_REUSEADDR"));
    if (options.reuse_port) KEEL_TRY_VOID(set_option(fd, SOL_SOCKET, SO_REUSEPORT, "setsockopt SO_REUSEPORT"));
    if (address.family() == AF_INET6) {
      KEEL_TRY_VOID(set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, "setsockopt IPV6_V6ONLY", options.dual_stack ? 0 : 1));
    }
  }
  KEEL_TRY_VOID(set_inherited_options(fd, address.family(), options));
  const bool has_mode = address.is_unix() && options.socket_mode != 0;
  if (has_mode && path_of(address) == nullptr) {
    return fail(Code::InvalidArgument, "socket_mode: a socket without a path in the file system has no mode");
  }
  if (has_mode && ::fchmod(fd, options.socket_mode) != 0) return Error::from_errno("fchmod", errno);
  const FolderLock lock(address);
  KEEL_TRY_VOID(bind_to(fd, address));
  if (has_mode) KEEL_TRY_VOID(restore_mode(path_of(address), options.socket_mode));
  if (options.fast_open > 0 && !address.is_unix()) {
    setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &options.fast_open, sizeof options.fast_open);
  }
  if (listen(fd, options.backlog) != 0) return Error::from_errno("listen", errno);
  return {};
}

Result<> prepare_inherited(int fd, const ListenOptions& options) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return Error::from_errno("fcntl", errno);
  KEEL_TRY_VOID(set_inherited_options(fd, system_local_address(fd).family(), options));
  // The inherited socket already listens; listen() only sets the backlog.
  if (listen(fd, options.backlog) != 0) return Error::from_errno("listen", errno);
  return {};
}

Result<> prepare_stream(int fd, int family, const ConnectOptions& options) {
  if (family != AF_UNIX) {
    KEEL_TRY_VOID(set_option(fd, IPPROTO_TCP, TCP_NODELAY, "setsockopt TCP_NODELAY"));
    const int on = 1;
    if (options.fast_open) setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on);
  }
  if (options.from.family() == AF_UNSPEC) return {};
  if (family != AF_UNIX) {
    // The kernel chooses the port only when the peer is known, so that one address can have more connections than it
    // has ports.
    const int on = 1;
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  }
  const FolderLock lock(options.from);
  return bind_to(fd, options.from).because("connecting from " + options.from.to_string());
}

Result<> prepare_datagram(int fd, const DatagramOptions& options) {
  const int family = (options.bind.family() != AF_UNSPEC ? options.bind : options.connect).family();
  if (family == AF_INET6) KEEL_TRY_VOID(set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, "setsockopt IPV6_V6ONLY"));
  if (options.reuse_port && family != AF_UNIX) {
    KEEL_TRY_VOID(set_option(fd, SOL_SOCKET, SO_REUSEPORT, "setsockopt SO_REUSEPORT"));
  }
  if (options.send_buffer_bytes > 0) {
    KEEL_TRY_VOID(set_option(fd, SOL_SOCKET, SO_SNDBUF, "setsockopt SO_SNDBUF", options.send_buffer_bytes));
  }
  if (options.receive_buffer_bytes > 0) {
    KEEL_TRY_VOID(set_option(fd, SOL_SOCKET, SO_RCVBUF, "setsockopt SO_RCVBUF", options.receive_buffer_bytes));
  }
  const int on = 1;
  if (options.join && family != AF_UNIX) setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on);
  if (options.bind.family() != AF_UNSPEC) {
    const FolderLock lock(options.bind);
    KEEL_TRY_VOID(bind_to(fd, options.bind, SOCK_DGRAM).because("binding " + options.bind.to_string()));
  }
  if (options.connect.family() == AF_UNSPEC) return {};
  if (connect(fd, options.connect.system(), options.connect.system_size()) == 0) return {};
  return Error::from_errno("connect", errno).because("connecting to " + options.connect.to_string());
}

Address name_of(int fd, int (*ask)(int, sockaddr*, socklen_t*)) noexcept {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (ask(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return Address::from_system(reinterpret_cast<sockaddr*>(&storage), size);
}

// `files` must have room for one more entry, so that this function cannot fail.
void remember_file(int listener, ListenerFiles& files) noexcept {
  // A file that is already recorded for this descriptor belongs to an earlier listener, which was closed: forget that
  // file.
  std::erase_if(files, [&](const ListenerFile& file) { return file.listener == listener; });
  const Address address = system_local_address(listener);
  const char* const path = path_of(address);
  struct stat facts{};
  if (path != nullptr && ::lstat(path, &facts) == 0) files.push_back({listener, facts.st_dev, facts.st_ino});
}

}  // namespace

Result<int> system_stream(int family, const ConnectOptions& options) {
  const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Error::from_errno("socket", errno);
  if (auto prepared = prepare_stream(fd, family, options); !prepared) {
    ::close(fd);
    return std::move(prepared).error();
  }
  return fd;
}

Result<> check(const DatagramOptions& options) {
  const int bound = options.bind.family();
  const int connected = options.connect.family();
  if (bound == AF_UNSPEC && connected == AF_UNSPEC) {
    return fail(Code::InvalidArgument, "datagrams: neither an address to bind nor an address to connect to is given");
  }
  if (bound != AF_UNSPEC && connected != AF_UNSPEC && bound != connected) {
    return fail(Code::InvalidArgument,
                "datagrams: the address to bind and the address to connect to are of different families");
  }
  if (options.bytes_max < 1 || options.bytes_max > 65'535) {
    return fail(Code::InvalidArgument, "datagrams: bytes_max must be 1 to 65,535");
  }
  return {};
}

Result<int> system_datagram(const DatagramOptions& options) {
  KEEL_TRY_VOID(check(options));
  const int family = (options.bind.family() != AF_UNSPEC ? options.bind : options.connect).family();
  const int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Error::from_errno("socket", errno);
  if (auto prepared = prepare_datagram(fd, options); !prepared) {
    ::close(fd);
    return std::move(prepared).error();
  }
  return fd;
}

Result<int> system_listener(const Address& address, const ListenOptions& options, ListenerFiles& files) {
  files.reserve(files.size() + 1);  // If reserve() throws, no descriptor has to be closed yet.
  if (options.inherited >= 0) {
    const int copy = fcntl(options.inherited, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return Error::from_errno("dup", errno);
    if (auto prepared = prepare_inherited(copy, options); !prepared) {
      ::close(copy);
      return std::move(prepared).because("an inherited listening socket").error();
    }
    remember_file(copy, files);
    return copy;
  }
  const int fd = socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Error::from_errno("socket", errno);
  if (auto prepared = prepare_listener(fd, address, options); !prepared) {
    ::close(fd);
    return std::move(prepared).because("listening on " + address.to_string()).error();
  }
  remember_file(fd, files);
  return fd;
}

Result<int> system_listener(const Address& address, const ListenOptions& options) {
  ListenerFiles nobody_asks;
  return system_listener(address, options, nobody_asks);
}

void system_turn_away(int listener, const ListenerFiles& files) noexcept {
  const Address address = system_local_address(listener);
  if (address.is_unix()) {
    const char* const path = path_of(address);
    struct stat facts{};
    if (path == nullptr || ::lstat(path, &facts) != 0) return;
    const bool is_ours = std::ranges::any_of(files, [&](const ListenerFile& file) {
      return file.listener == listener && file.device == facts.st_dev && file.inode == facts.st_ino;
    });
    if (is_ours) ::unlink(path);
    return;
  }
  // The filter of a listening socket gets each incoming packet from its TCP header on (RFC 9293 §3.1): byte 13 has the
  // flags, in which SYN is 2. The last packet of a handshake has no SYN, so handshakes that have begun still complete.
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
  };
  const sock_fprog program{.len = std::size(code), .filter = code};
  setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

Address system_local_address(int fd) noexcept { return name_of(fd, getsockname); }
Address system_peer_address(int fd) noexcept { return name_of(fd, getpeername); }

Result<> check_vacant(Engine& engine, const Address& address, ListenOptions options) {
  if (address.is_unix() || address.port() == 0) return {};
  options.reuse_port = false;
  KEEL_TRY(const int fd, engine.open_listener(address, options));
  engine.close(fd);
  engine.flush();  // Frees the address of the socket, because the next socket will use the same address.
  return {};
}

bool is_transient_accept_error(int number) noexcept {
  return number == EINTR || number == ECONNABORTED || number == EPROTO || number == ENETDOWN ||
         number == EHOSTUNREACH || number == ENETUNREACH || number == ENOPROTOOPT || number == EHOSTDOWN ||
         number == EOPNOTSUPP || number == ENONET;
}

bool is_exhaustion(int number) noexcept {
  return number == EMFILE || number == ENFILE || number == ENOMEM || number == ENOBUFS;
}

}  // namespace keel::io
