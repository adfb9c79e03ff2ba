#include "keel/net/blocking/stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/io/loop.h"
#include "keel/io/send_file.h"
#include "keel/net/blocking/internal/socket.h"
#include "keel/net/resolver.h"

namespace keel::blocking {

namespace internal {

Instant deadline_after(Duration timeout) {
  KEEL_EXPECT(io::Loop::current() == nullptr,
              "a blocking call was made on a worker: await a keel::Stream (net/stream.h) there");
  return timeout == Duration::forever() ? Instant::never() : Host::system().now() + timeout;
}

Result<> wait_for(int fd, short events, Instant deadline) {
  for (;;) {
    int milliseconds = -1;
    if (!deadline.is_never()) {
      // The time is rounded up, so that the wait does not end before the deadline.
      const std::int64_t left = (deadline - Host::system().now()).count_ns();
      milliseconds = left <= 0 ? 0 : static_cast<int>(std::min<std::int64_t>((left + 999'999) / 1'000'000, INT_MAX));
    }
    pollfd one{fd, events, 0};
    const int ready = poll(&one, 1, milliseconds);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Error::from_errno("poll", errno);
    if (!deadline.is_never() && Host::system().now() >= deadline) {
      return fail(Code::DeadlineExceeded, "the time limit has passed");
    }
  }
}

Address name_of(int fd, int (*ask)(int, sockaddr*, socklen_t*)) noexcept {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (ask(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return Address::from_system(reinterpret_cast<sockaddr*>(&storage), size);
}

}  // namespace internal

namespace {

using internal::deadline_after;
using internal::wait_for;

constexpr std::size_t receive_bytes = 64 * 1024;

bool is_would_block(int number) noexcept { return number == EAGAIN || number == EWOULDBLOCK; }

Result<> connect_until(int fd, const Address& address, Instant deadline) {
  for (;;) {
    if (connect(fd, address.system(), address.system_size()) == 0) return {};
    if (errno == EINPROGRESS || errno == EINTR) break;
    if (errno != EAGAIN) return Error::from_errno("connect", errno);
    // The queue of a Unix listener is full, and the system does not report when the queue has room again.
    if (Host::system().now() >= deadline) return fail(Code::DeadlineExceeded, "the time limit has passed");
    Host::system().sleep(1_ms);
  }
  KEEL_TRY_VOID(wait_for(fd, POLLOUT, deadline));
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return Error::from_errno("connect", error);
  return {};
}

Result<Stream> connect_to(const Address& address, Instant deadline, const io::ConnectOptions& options) {
  KEEL_TRY(int fd, io::system_stream(address.family(), options));
  if (auto connected = connect_until(fd, address, deadline); !connected) {
    ::close(fd);
    return std::move(connected).error().because("connecting to " + address.to_string());
  }
  return Stream(fd);
}

Result<Stream> connect_first(std::span<const Address> addresses, Instant deadline, const io::ConnectOptions& options) {
  Code code = Code::InvalidArgument;
  std::string failures = addresses.empty() ? "connecting: the list of addresses is empty" : "";
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    Instant until = deadline;
    if (!deadline.is_never()) {
      const Instant now = Host::system().now();
      const auto others = static_cast<std::int64_t>(addresses.size() - i);
      until = now + Duration::nanoseconds((deadline - now).count_ns() / others);
    }
    Result<Stream> stream = connect_to(addresses[i], until, options);
    if (stream) return stream;
    code = stream.error().code();
    failures += (failures.empty() ? "" : "; ") + stream.error().describe();
    if (Host::system().now() >= deadline) break;
  }
  return Error::text(code, failures).from_environment();
}

// A call without a time limit waits in the kernel; a call with a time limit first tries without waiting, and then waits
// in poll.
int flags_for(Instant deadline) noexcept { return deadline.is_never() ? 0 : MSG_DONTWAIT; }

void set_blocking(int fd, bool blocking) noexcept {
  const int flags = fcntl(fd, F_GETFL);
  const int wanted = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
  if (flags >= 0 && wanted != flags) fcntl(fd, F_SETFL, wanted);
}

// Makes the descriptor non-blocking while this object lives, for calls that have no flag for that.
class NonBlocking {
 public:
  explicit NonBlocking(int fd) noexcept : fd_(fd) { set_blocking(fd_, false); }
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;
  ~NonBlocking() { set_blocking(fd_, true); }

 private:
  int fd_;
};

}  // namespace

Result<Stream> Stream::connect(const Address& address, Duration timeout, const io::ConnectOptions& options) {
  return connect_to(address, deadline_after(timeout), options);
}

Result<Stream> Stream::connect(const std::vector<Address>& addresses, Duration timeout,
                               const io::ConnectOptions& options) {
  return connect_first(addresses, deadline_after(timeout), options);
}

Result<Stream> Stream::connect(std::string_view host, std::uint16_t port, Duration timeout,
                               const io::ConnectOptions& options) {
  const Instant deadline = deadline_after(timeout);
  std::vector<Address> addresses;
  if (Result<Address> literal = Address::ip(host, port)) {
    addresses.push_back(*literal);
  } else {
    KEEL_TRY(addresses, Resolver::system_lookup(std::string(host)));
  }
  for (Address& address : addresses) address.set_port(port);
  return connect_first(addresses, deadline, options);
}

Stream::Stream(int fd) noexcept : fd_(fd) { set_blocking(fd, true); }

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
    in_ = std::move(other.in_);
    taken_ = std::exchange(other.taken_, 0);
  }
  return *this;
}

void Stream::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  in_.release();
  taken_ = 0;
}

Result<> Stream::close_gently(Duration timeout, std::uint64_t bytes_max) {
  const Instant deadline = deadline_after(timeout);
  shutdown_write();
  std::uint64_t dropped = left().size();
  Result<> finished;
  for (bool more = true; more && finished;) {
    if (dropped > bytes_max) {
      finished = Error(Code::OutOfRange, "close_gently: the peer keeps sending").from_environment();
      break;
    }
    taken_ = in_.size();
    if (Result<bool> filled = fill(deadline)) {
      more = *filled;
      dropped += left().size();
    } else {
      finished = std::move(filled).error();
    }
  }
  close();
  return finished;
}

Result<> Stream::set_options(const io::SocketOptions& options) { return io::system_set_options(fd_, options); }
io::SocketOptions Stream::options() const { return io::system_options(fd_); }
void Stream::shutdown_write() noexcept { ::shutdown(fd_, SHUT_WR); }
void Stream::shutdown() noexcept { ::shutdown(fd_, SHUT_RDWR); }
Address Stream::local_address() const noexcept { return internal::name_of(fd_, getsockname); }
Address Stream::peer_address() const noexcept { return internal::name_of(fd_, getpeername); }

// Receives more bytes after the unread bytes; false: the peer has finished.
Result<bool> Stream::fill(Instant deadline) {
  in_.consume(std::exchange(taken_, 0));
  for (;;) {
    const ssize_t got = recv(fd_, in_.reserve(receive_bytes), receive_bytes, flags_for(deadline));
    if (got > 0) in_.commit(static_cast<std::size_t>(got));
    if (got >= 0) return got > 0;
    if (is_would_block(errno)) {
      KEEL_TRY_VOID(wait_for(fd_, POLLIN, deadline));
    } else if (errno != EINTR) {
      return Error::from_errno("receive", errno);
    }
  }
}

Result<Chunk> Stream::receive(Duration timeout) {
  const Instant deadline = deadline_after(timeout);
  if (left().empty()) KEEL_TRY_VOID(fill(deadline));
  const Chunk chunk = left();
  taken_ += chunk.size();
  return chunk;
}

Result<std::size_t> Stream::read(std::span<char> into, Duration timeout) {
  const Instant deadline = deadline_after(timeout);
  if (left().empty()) KEEL_TRY_VOID(fill(deadline));
  const std::size_t size = std::min(left().size(), into.size());
  if (size != 0) std::memcpy(into.data(), left().data(), size);
  taken_ += size;
  return size;
}

Result<> Stream::read_exact(std::span<char> into, Duration timeout) {
  const Instant deadline = deadline_after(timeout);
  while (left().size() < into.size()) {
    KEEL_TRY(bool more, fill(deadline));
    if (more) continue;
    return Error::text(Code::Unavailable, "the peer finished after " + std::to_string(left().size()) + " of " +
                                              std::to_string(into.size()) + " bytes")
        .from_environment();
  }
  if (!into.empty()) std::memcpy(into.data(), left().data(), into.size());
  taken_ += into.size();
  return {};
}

Result<Chunk> Stream::read_until(std::string_view delimiter, std::size_t max, Duration timeout) {
  KEEL_EXPECT(!delimiter.empty(), "read_until() was given an empty delimiter");
  const Instant deadline = deadline_after(timeout);
  std::size_t searched = 0;
  for (;;) {
    const Chunk all = left();
    const std::size_t from = searched - std::min(searched, delimiter.size() - 1);
    const std::size_t at = all.substr(0, max).find(delimiter, from);
    if (at != Chunk::npos) {
      taken_ += at + delimiter.size();
      return all.substr(0, at + delimiter.size());
    }
    if (all.size() >= max) {
      return Error(Code::OutOfRange, "read_until: no delimiter within the limit").from_environment();
    }
    searched = all.size();
    KEEL_TRY(bool more, fill(deadline));
    if (more) continue;
    if (left().empty()) return Chunk();
    return Error::text(Code::Unavailable,
                       "the peer finished after " + std::to_string(left().size()) + " bytes without the delimiter")
        .from_environment();
  }
}

Result<> Stream::write(std::string_view bytes, Duration timeout) { return write(std::span(&bytes, 1), timeout); }

Result<> Stream::write(std::span<const std::string_view> parts, Duration timeout) {
  KEEL_EXPECT(parts.size() <= parts_max, "write() of a Stream was given more than 64 parts");
  const Instant deadline = deadline_after(timeout);
  iovec vectors[parts_max];
  msghdr message{};
  message.msg_iov = vectors;
  for (const std::string_view part : parts) {
    if (!part.empty()) vectors[message.msg_iovlen++] = {const_cast<char*>(part.data()), part.size()};
  }
  while (message.msg_iovlen != 0) {
    const ssize_t sent = sendmsg(fd_, &message, MSG_NOSIGNAL | flags_for(deadline));
    if (sent < 0) {
      // EINPROGRESS: with Fast Open the first write connects.
      if (is_would_block(errno) || errno == EINPROGRESS) {
        KEEL_TRY_VOID(wait_for(fd_, POLLOUT, deadline));
      } else if (errno != EINTR) {
        return Error::from_errno("send", errno);
      }
      continue;
    }
    auto bytes = static_cast<std::size_t>(sent);
    while (message.msg_iovlen != 0 && bytes >= message.msg_iov->iov_len) {
      bytes -= message.msg_iov->iov_len;
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (message.msg_iovlen == 0) break;
    message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + bytes;
    message.msg_iov->iov_len -= bytes;
  }
  return {};
}

Result<> Stream::send_file(int file, std::uint64_t offset, std::uint64_t bytes, Duration timeout) {
  const Instant deadline = deadline_after(timeout);
  io::SendFile op([](io::Op&) noexcept {});
  op.fd = fd_;
  op.file = file;
  op.offset = offset;
  op.size = bytes;
  std::optional<NonBlocking> limited;
  if (!deadline.is_never()) limited.emplace(fd_);
  std::uint64_t calls = 0;
  for (;;) {
    const io::Share share = io::send_share(op, calls);
    if (share == io::Share::Last) break;
    if (share == io::Share::Waits) KEEL_TRY_VOID(wait_for(fd_, POLLOUT, deadline));
  }
  if (op.result < 0) return Error::from_errno("sendfile", -op.result);
  if (op.sent == bytes) return {};
  return Error::text(Code::OutOfRange,
                     "the file ended after " + std::to_string(op.sent) + " of " + std::to_string(bytes) + " bytes")
      .from_environment();
}

}  // namespace keel::blocking
