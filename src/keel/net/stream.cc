#include "keel/net/stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "keel/base/check.h"
#include "keel/base/member.h"
#include "keel/base/pool.h"
#include "keel/io/loop.h"

namespace keel {
namespace {

io::Loop& loop_here() {
  io::Loop* loop = io::Loop::current();
  KEEL_CHECK(loop != nullptr, "streams and listeners are used on a worker");
  return *loop;
}

}  // namespace

// Lives on after its Stream until its operations have ended; then closes the descriptor.
struct Stream::State {
  State(io::Engine& e, int fd) : engine(e) {
    receive.fd = fd;
    send.fd = fd;
  }

  void received() noexcept {
    if (orphaned) {
      free_if_quiet();
      return;
    }
    if (receive.result > 0) {
      held = engine.hold(receive);
      left = {held.data, held.size};
      engine.pause(receive);
    } else {
      final_result = receive.result;
      ended = true;
    }
    if (input != nullptr) std::exchange(input, nullptr)->wake();
  }
  void sent() noexcept {
    if (orphaned) {
      free_if_quiet();
    } else if (output != nullptr) {
      std::exchange(output, nullptr)->wake();
    }
  }
  void let_go() noexcept {
    if (held.data != nullptr) engine.release(std::exchange(held, {}));
    left = {};
  }
  void free_if_quiet() noexcept {
    if (receive.pending || send.pending) return;
    engine.close(receive.fd);
    this->~State();
    pool_free(this, sizeof(State));
  }

  io::Engine& engine;
  Member<io::Receive, State, &State::received> receive{*this};
  Member<io::Send, State, &State::sent> send{*this};
  StreamInput* input = nullptr;
  Write* output = nullptr;
  io::Held held;
  Chunk left;  // Of what is held: not yet handed out by read().
  int final_result = 0;
  bool ended = false;
  bool orphaned = false;
};

Stream::Stream(int fd) : state_(new(pool_allocate(sizeof(State))) State(loop_here().engine(), fd)) {}

void Stream::close() noexcept {
  if (state_ == nullptr) return;
  State& state = *std::exchange(state_, nullptr);
  KEEL_CHECK(state.input == nullptr && state.output == nullptr, "a stream is closed when nobody waits for it");
  state.let_go();
  state.orphaned = true;
  state.engine.cancel(state.receive);
  state.free_if_quiet();
}

void Stream::shutdown_write() noexcept { state_->engine.shutdown_write(state_->send.fd); }
Address Stream::local_address() const noexcept { return state_->engine.local_address(state_->send.fd); }
Address Stream::peer_address() const noexcept { return state_->engine.peer_address(state_->send.fd); }

Stream::Receive Stream::receive() noexcept {
  if (state_->left.empty()) state_->let_go();
  return Receive(*state_);
}
Stream::Read Stream::read(std::span<char> into) noexcept {
  if (state_->left.empty()) state_->let_go();
  return Read(*state_, into);
}
Stream::Write Stream::write(std::string_view bytes) noexcept { return Write(*state_, bytes); }

bool StreamInput::start() noexcept {
  if (!state_.left.empty() || state_.ended) return true;
  KEEL_CHECK(state_.input == nullptr, "one task at a time receives from a stream");
  state_.input = this;
  if (!state_.receive.pending) {
    state_.engine.submit(state_.receive);
  } else {
    state_.engine.resume(state_.receive);
  }
  return false;
}

void StreamInput::cancel(Leaf& leaf) noexcept {
  auto& self = static_cast<StreamInput&>(leaf);
  // What arrives meanwhile waits for the next receive.
  self.state_.input = nullptr;
  self.state_.engine.pause(self.state_.receive);
  self.cancelled_ = true;
  self.wake();
}

Result<Chunk> StreamInput::chunk() noexcept {
  if (cancelled_) return fail(Code::Cancelled, "receive was cancelled");
  if (!state_.left.empty()) return state_.left;
  if (state_.final_result < 0) return fail_errno("receive", -state_.final_result);
  return Chunk();
}

Result<Chunk> Stream::Receive::take() noexcept {
  auto result = chunk();
  if (result) state_.left = {};
  return result;
}

Result<std::size_t> Stream::Read::take() noexcept {
  auto result = chunk();
  if (!result) return std::move(result).error();
  const std::size_t size = std::min(result->size(), into_.size());
  if (size != 0) std::memcpy(into_.data(), result->data(), size);
  state_.left = result->substr(size);
  return size;
}

bool Stream::Write::start() noexcept {
  if (bytes_.empty()) {
    state_.send.result = 0;
    return true;
  }
  KEEL_CHECK(!state_.send.pending, "one task at a time writes to a stream");
  state_.send.set(bytes_.data(), bytes_.size());
  if (state_.engine.submit(state_.send)) return true;
  state_.output = this;
  return false;
}

void Stream::Write::cancel(Leaf& leaf) noexcept {
  auto& self = static_cast<Write&>(leaf);
  self.state_.engine.cancel(self.state_.send);
}

Result<> Stream::Write::take() noexcept {
  if (state_.send.result < 0) return fail_errno("send", -state_.send.result);
  return {};
}

namespace {

class Connecting : public Leaf, public io::Connect {
 public:
  using Value = void;
  Connecting(io::Engine& engine, int descriptor, const Address& to) noexcept
      : Leaf(&cancel),
        io::Connect([](io::Op& op) noexcept { static_cast<Connecting&>(static_cast<io::Connect&>(op)).wake(); }),
        engine_(engine) {
    fd = descriptor;
    address = to;
  }
  bool start() noexcept { return engine_.submit(*this); }
  Result<> take() noexcept {
    if (result < 0) return fail_errno("connect", -result);
    return {};
  }

 private:
  static void cancel(Leaf& leaf) noexcept {
    auto& self = static_cast<Connecting&>(leaf);
    self.engine_.cancel(self);
  }
  io::Engine& engine_;
};

}  // namespace

Task<Stream> Stream::connect(Address address) {
  io::Engine& engine = loop_here().engine();
  const int fd = co_await engine.open_stream(address.family());
  Result<> connected = co_await attempt(Connecting(engine, fd, address));
  if (!connected) {
    engine.close(fd);
    co_return std::move(connected).error().because("connecting to " + address.to_string());
  }
  co_return Stream(fd);
}

}  // namespace keel
