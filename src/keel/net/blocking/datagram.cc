#include "keel/net/blocking/datagram.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "keel/io/datagrams.h"
#include "keel/net/blocking/internal/socket.h"

namespace keel::blocking {
namespace {

// The operations of this file are never submitted to an engine, so this function is never called.
void never_done(io::Op&) noexcept {}

Error shut_down() noexcept { return Error(Code::Cancelled, "the socket was shut down"); }

}  // namespace

struct DatagramSocket::State {
  explicit State(const io::DatagramOptions& options)
      : incoming(&never_done), is_unix(options.bind.is_unix() || options.connect.is_unix()) {
    incoming.bytes_max = options.bytes_max;
    incoming.join = options.join;
  }
  ~State() {
    if (incoming.fd >= 0) ::close(incoming.fd);
  }
  int fd() const noexcept { return incoming.fd; }
  bool is_shut() const noexcept { return __atomic_load_n(&shut, __ATOMIC_ACQUIRE); }
  Result<> fill(Instant deadline);

  io::ReceiveDatagrams incoming;  // The operation whose result fields receive a datagram of the batch.
  io::DatagramBatch batch;
  int count = 0;  // Datagrams in the batch.
  int shown = 0;  // The number of returned datagrams.
  // The bytes that have not been returned yet, if the last packet consists of several datagrams.
  std::string_view left;
  const bool is_unix;
  bool shut = false;  // Accessed by atomic builtins.
};

// If all received datagrams have been returned, receives at least one more.
Result<> DatagramSocket::State::fill(Instant deadline) {
  while (shown == count) {
    const int read = is_shut() ? 0 : batch.read(incoming);
    // After a shutdown, a read from the socket returns without a datagram.
    if (is_shut()) return shut_down();
    shown = 0;
    count = std::max(read, 0);
    if (read == -EAGAIN) {
      KEEL_TRY_VOID(internal::wait_for(fd(), POLLIN, deadline));
    } else if (read < 0) {
      return Error::from_errno("receive", -read);
    }
  }
  return {};
}

Result<DatagramSocket> DatagramSocket::open(const io::DatagramOptions& options) {
  auto state = std::make_unique<State>(options);
  KEEL_TRY(state->incoming.fd, io::system_datagram(options));
  return DatagramSocket(*state.release());
}
Result<DatagramSocket> DatagramSocket::bind(const Address& address, io::DatagramOptions options) {
  options.bind = address;
  return open(options);
}
Result<DatagramSocket> DatagramSocket::connect(const Address& peer, io::DatagramOptions options) {
  options.connect = peer;
  return open(options);
}

DatagramSocket& DatagramSocket::operator=(DatagramSocket&& other) noexcept {
  if (this != &other) {
    close();
    state_ = std::exchange(other.state_, nullptr);
  }
  return *this;
}

void DatagramSocket::close() noexcept { delete std::exchange(state_, nullptr); }

void DatagramSocket::shutdown() noexcept {
  __atomic_store_n(&state_->shut, true, __ATOMIC_RELEASE);
  // Wakes waiting threads, even if the socket is not connected and the call therefore fails with ENOTCONN
  // (shutdown(2)).
  ::shutdown(state_->fd(), SHUT_RDWR);
}

Result<> DatagramSocket::set_options(const io::SocketOptions& options) {
  return io::system_set_options(state_->fd(), options);
}
io::SocketOptions DatagramSocket::options() const { return io::system_options(state_->fd()); }
Result<> DatagramSocket::join_group(const Address& group, std::uint32_t interface) {
  return io::system_set_member(state_->fd(), group, interface, true);
}
Result<> DatagramSocket::leave_group(const Address& group, std::uint32_t interface) {
  return io::system_set_member(state_->fd(), group, interface, false);
}
int DatagramSocket::native_handle() const noexcept { return state_->fd(); }
Address DatagramSocket::local_address() const noexcept { return internal::name_of(state_->fd(), getsockname); }
Address DatagramSocket::peer_address() const noexcept { return internal::name_of(state_->fd(), getpeername); }

Result<Datagram> DatagramSocket::receive(Duration timeout) {
  const Instant deadline = internal::deadline_after(timeout);
  State& state = *state_;
  io::ReceiveDatagrams& incoming = state.incoming;
  if (state.left.empty()) {
    KEEL_TRY_VOID(state.fill(deadline));
    state.batch.show(state.shown++, incoming);
    state.left = {incoming.data, static_cast<std::size_t>(incoming.result)};
  }
  const std::size_t size = incoming.segment_bytes != 0 ? incoming.segment_bytes : state.left.size();
  const Datagram datagram{state.left.substr(0, size), incoming.from, incoming.cut};
  state.left.remove_prefix(datagram.bytes.size());
  return datagram;
}

Result<> DatagramSocket::send(std::string_view bytes, const Address& to, Duration timeout,
                              std::uint32_t segment_bytes) {
  const OutgoingDatagram datagram{bytes, to, segment_bytes};
  KEEL_TRY_VOID(send_many({&datagram, 1}, timeout));
  return {};
}

Result<std::size_t> DatagramSocket::send_many(std::span<const OutgoingDatagram> datagrams, Duration timeout) {
  const Instant deadline = internal::deadline_after(timeout);
  State& state = *state_;
  io::SendDatagrams outgoing(&never_done);
  outgoing.fd = state.fd();
  outgoing.is_unix = state.is_unix;
  outgoing.datagrams = datagrams.data();
  outgoing.count = static_cast<std::uint32_t>(std::min<std::size_t>(datagrams.size(), INT32_MAX));
  std::uint64_t calls = 0;
  // If some datagrams were sent, returns their number instead of the error; the caller gets the error when it sends the
  // next datagram again.
  const auto ended_by = [&outgoing](Error&& why) -> Result<std::size_t> {
    if (outgoing.sent != 0) return std::size_t{outgoing.sent};
    return std::move(why);
  };
  for (;;) {
    if (state.is_shut()) return ended_by(shut_down());
    const int error = io::send_datagrams(outgoing, calls);
    if (error == EAGAIN && io::waits_for_room(outgoing)) {
      if (Result<> room = internal::wait_for(state.fd(), POLLOUT, deadline); !room) {
        return ended_by(std::move(room).error());
      }
    } else if (error == 0) {
      return std::size_t{outgoing.sent};
    } else if (!state.is_shut()) {  // A shutdown() during this call would cause EPIPE.
      return ended_by(Error::from_errno("send", error));
    }
  }
}

}  // namespace keel::blocking
