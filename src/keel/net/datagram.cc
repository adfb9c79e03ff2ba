#include "keel/net/datagram.h"

#include <algorithm>

#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/base/member.h"
#include "keel/io/loop.h"

namespace keel {
namespace {

// While this many datagrams wait, receiving is paused; datagrams that the engine has already read are still delivered.
constexpr std::size_t waiting_few = 16;
constexpr std::size_t arrivals_max = waiting_few + io::datagrams_read_max;

}  // namespace

// The State lives until its operations have ended, even if the DatagramSocket is destroyed earlier, and then closes the
// descriptor.
struct DatagramSocket::State {
  struct Arrival {
    io::Held held;
    std::string_view left;  // Received bytes: one datagram, or several of `segment_bytes`.
    std::uint32_t segment_bytes;
    bool cut;
    bool is_taken;  // True: all datagrams have been taken, and the caller still uses the last one.
    Address from;
  };

  State(io::Engine& e, int fd, const io::DatagramOptions& options) : engine(e) {
    receive.fd = fd;
    receive.bytes_max = options.bytes_max;
    receive.join = options.join;
    send.fd = fd;
    send.is_unix = options.bind.is_unix() || options.connect.is_unix();
  }

  Arrival& front() noexcept { return arrivals[first]; }
  void received() noexcept {
    if (orphaned) {
      free_if_quiet();
      return;
    }
    if (receive.more) {
      keep();
    } else {
      error = -receive.result;
    }
    if (taker != nullptr) std::exchange(taker, nullptr)->wake();
  }
  void keep() noexcept {
    KEEL_CHECK(count < arrivals_max, "a paused engine must deliver only datagrams that it has already read");
    Arrival& arrival = arrivals[(first + count++) % arrivals_max];
    if (receive.result > 0) {
      arrival.held = engine.hold(receive);
      arrival.left = {arrival.held.data, arrival.held.size};
    }
    arrival.segment_bytes = receive.segment_bytes;
    arrival.cut = receive.cut;
    arrival.is_taken = false;
    arrival.from = receive.from;
    if (count >= waiting_few) engine.pause(receive);
  }
  void drop() noexcept {
    if (front().held.data != nullptr) engine.release(std::exchange(front().held, {}));
    front().left = {};
    first = (first + 1) % arrivals_max;
    --count;
  }
  void sent() noexcept {
    if (orphaned) {
      free_if_quiet();
    } else if (output != nullptr) {
      std::exchange(output, nullptr)->wake();
    }
  }
  void free_if_quiet() noexcept {
    if (receive.pending || send.pending) return;
    engine.close(receive.fd);
    delete this;
  }

  io::Engine& engine;
  Member<io::ReceiveDatagrams, State, &State::received> receive{*this};
  Member<io::SendDatagrams, State, &State::sent> send{*this};
  Receive* taker = nullptr;
  DatagramOutput* output = nullptr;
  std::size_t first = 0;
  std::size_t count = 0;
  int error = 0;  // The error is reported once, after the datagrams that arrived before it.
  bool orphaned = false;
  Arrival arrivals[arrivals_max] = {};
};

Result<DatagramSocket> DatagramSocket::open(const io::DatagramOptions& options) {
  io::Loop* loop = io::Loop::current();
  KEEL_EXPECT(loop != nullptr,
              "a DatagramSocket can be made only on a worker: first co_await resume_on() with the loop of a worker");
  KEEL_TRY(const int fd, loop->engine().open_datagram(options));
  return DatagramSocket(*new State(loop->engine(), fd, options));
}
Result<DatagramSocket> DatagramSocket::bind(const Address& address, io::DatagramOptions options) {
  options.bind = address;
  return open(options);
}
Result<DatagramSocket> DatagramSocket::connect(const Address& peer, io::DatagramOptions options) {
  options.connect = peer;
  return open(options);
}

void DatagramSocket::close() noexcept {
  if (state_ == nullptr) return;
  State& state = *std::exchange(state_, nullptr);
  KEEL_CHECK(state.taker == nullptr && state.output == nullptr,
             "a socket can be closed only when no task waits for it");
  while (state.count != 0) state.drop();
  state.orphaned = true;
  state.engine.cancel(state.receive);
  state.free_if_quiet();
}

DatagramSocket::Receive DatagramSocket::receive() noexcept { return Receive(*state_); }
DatagramSocket::Send DatagramSocket::send(std::string_view bytes, const Address& to,
                                          std::uint32_t segment_bytes) noexcept {
  return Send(*state_, {bytes, to, segment_bytes});
}
DatagramSocket::SendMany DatagramSocket::send_many(std::span<const OutgoingDatagram> datagrams) noexcept {
  return SendMany(*state_, datagrams);
}
Result<> DatagramSocket::set_options(const io::SocketOptions& options) {
  return state_->engine.set_options(state_->send.fd, options);
}
io::SocketOptions DatagramSocket::options() const { return state_->engine.options(state_->send.fd); }
Result<> DatagramSocket::join_group(const Address& group, std::uint32_t interface) {
  return state_->engine.set_member(state_->send.fd, group, interface, true);
}
Result<> DatagramSocket::leave_group(const Address& group, std::uint32_t interface) {
  return state_->engine.set_member(state_->send.fd, group, interface, false);
}
int DatagramSocket::native_handle() const noexcept { return state_->send.fd; }
Address DatagramSocket::local_address() const noexcept { return state_->engine.local_address(state_->send.fd); }
Address DatagramSocket::peer_address() const noexcept { return state_->engine.peer_address(state_->send.fd); }

bool DatagramSocket::Receive::start() {
  KEEL_EXPECT_AT(state_.taker == nullptr,
                 "a DatagramSocket is read while another task waits to read from it: only one task may read at a time",
                 place());
  if (state_.count != 0 && state_.front().is_taken) state_.drop();
  if (state_.count != 0 || state_.error != 0) return true;
  state_.taker = this;
  if (!state_.receive.pending) {
    state_.engine.submit(state_.receive);
  } else {
    state_.engine.resume(state_.receive);
  }
  return false;
}

void DatagramSocket::Receive::cancel(Leaf& leaf) noexcept {
  auto& self = static_cast<Receive&>(leaf);
  // Datagrams that arrive in the meantime wait for the next receive.
  self.state_.taker = nullptr;
  self.cancelled_ = true;
  self.wake();
}

Result<Datagram> DatagramSocket::Receive::take() noexcept {
  if (cancelled_) return fail(Code::Cancelled, "receive was cancelled");
  if (state_.count == 0) return Error::from_errno("receive", std::exchange(state_.error, 0));
  State::Arrival& arrival = state_.front();
  const std::size_t size = arrival.segment_bytes != 0 ? arrival.segment_bytes : arrival.left.size();
  Datagram datagram{arrival.left.substr(0, size), arrival.from, arrival.cut};
  arrival.left.remove_prefix(datagram.bytes.size());
  arrival.is_taken = arrival.left.empty();
  return datagram;
}

bool DatagramOutput::send(std::span<const OutgoingDatagram> datagrams) {
  io::SendDatagrams& op = state_.send;
  KEEL_EXPECT_AT(!op.pending,
                 "a DatagramSocket sends while another task waits to send with it: only one task may send at a time",
                 place());
  if (datagrams.empty()) {
    op.result = 0;
    return true;
  }
  op.datagrams = datagrams.data();
  op.count = static_cast<std::uint32_t>(std::min<std::size_t>(datagrams.size(), INT32_MAX));
  if (state_.engine.submit(op)) return true;
  state_.output = this;
  return false;
}

void DatagramOutput::cancel(Leaf& leaf) noexcept {
  DatagramSocket::State& state = static_cast<DatagramOutput&>(leaf).state_;
  state.engine.cancel(state.send);
}

Result<std::size_t> DatagramOutput::sent() noexcept {
  if (state_.send.result < 0) return Error::from_errno("send", -state_.send.result);
  return static_cast<std::size_t>(state_.send.result);
}

Result<> DatagramSocket::Send::take() noexcept {
  auto result = sent();
  if (!result) return std::move(result).error();
  return {};
}

}  // namespace keel
