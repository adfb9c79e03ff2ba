#include "keel/net/stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/check.h"
#include "keel/base/member.h"
#include "keel/base/pool.h"
#include "keel/io/file.h"
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
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* state, std::size_t bytes) noexcept { pool_free(state, bytes); }
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
      fresh = {held.data, held.size};
      if (left.empty()) left = std::exchange(fresh, {});
    } else {
      final_result = receive.result;
      ended = true;
    }
    if (input != nullptr && !input->enough_(*input)) return;
    if (!fresh.empty()) gather();
    if (!ended) engine.pause(receive);
    if (input != nullptr) std::exchange(input, nullptr)->wake();
  }
  void sent() noexcept {
    if (orphaned) {
      free_if_quiet();
    } else if (output != nullptr) {
      std::exchange(output, nullptr)->wake();
    }
  }
  // Moves what is left, and what has just come behind it, into `kept`.
  void gather() noexcept {
    if (kept.empty()) {
      kept.append(left);
    } else {
      kept.consume(static_cast<std::size_t>(left.data() - kept.data()));
    }
    kept.append(std::exchange(fresh, {}));
    left = kept.view();
    if (held.data != nullptr) engine.release(std::exchange(held, {}));
  }
  void let_go() noexcept {
    if (held.data != nullptr) engine.release(std::exchange(held, {}));
    kept.release();
    left = {};
  }
  void free_if_quiet() noexcept {
    if (receive.pending || send.pending) return;
    engine.close(receive.fd);
    delete this;
  }

  io::Engine& engine;
  Member<io::Receive, State, &State::received> receive{*this};
  Member<io::Send, State, &State::sent> send{*this};
  StreamInput* input = nullptr;
  StreamOutput* output = nullptr;
  io::Held held;
  Buffer kept;  // What came in several pieces and is asked for as one. When there is something in it:
  Chunk left;   // not yet read; in `held`, or in `kept` up to its end.
  Chunk fresh;  // Of what is held: has just come while something was left.
  int final_result = 0;
  bool ended = false;
  bool orphaned = false;
};

Stream::Stream(int fd) : state_(new State(loop_here().engine(), fd)) {}

Stream::Stream(int fd, std::string_view received) {
  Buffer kept;
  kept.append(received);
  state_ = new State(loop_here().engine(), fd);
  state_->kept = std::move(kept);
  state_->left = state_->kept.view();
}

void Stream::close() noexcept {
  if (state_ == nullptr) return;
  State& state = *std::exchange(state_, nullptr);
  KEEL_CHECK(state.input == nullptr && state.output == nullptr, "a stream is closed when nobody waits for it");
  state.let_go();
  state.orphaned = true;
  state.engine.cancel(state.receive);
  state.free_if_quiet();
}

void Stream::watch() noexcept {
  State& state = *state_;
  KEEL_CHECK(state.input == nullptr, "a stream is watched when nobody reads from it");
  if (has_input()) return;
  state.let_go();
  if (!state.receive.pending) {
    state.engine.submit(state.receive);
  } else {
    state.engine.resume(state.receive);
  }
}
bool Stream::has_input() const noexcept { return !state_->left.empty() || state_->ended; }

void Stream::shutdown_write() noexcept { state_->engine.shutdown_write(state_->send.fd); }
void Stream::shutdown() noexcept { state_->engine.shutdown(state_->send.fd); }
Result<> Stream::set_options(const io::SocketOptions& options) {
  return state_->engine.set_options(state_->send.fd, options);
}
io::SocketOptions Stream::options() const { return state_->engine.options(state_->send.fd); }
Address Stream::local_address() const noexcept { return state_->engine.local_address(state_->send.fd); }
Address Stream::peer_address() const noexcept { return state_->engine.peer_address(state_->send.fd); }

Stream::Receive Stream::receive() noexcept { return Receive(*state_); }
Stream::Read Stream::read(std::span<char> into) noexcept { return Read(*state_, into); }
Stream::ReadExact Stream::read_exact(std::span<char> into) noexcept { return ReadExact(*state_, into); }
Stream::ReadUntil Stream::read_until(std::string_view delimiter, std::size_t max) noexcept {
  KEEL_CHECK(!delimiter.empty(), "a delimiter is not empty");
  return ReadUntil(*state_, delimiter, max);
}
Stream::Write Stream::write(std::string_view bytes) noexcept { return Write(*state_, bytes); }
Stream::WriteParts Stream::write(std::span<const std::string_view> parts) noexcept {
  return WriteParts(*state_, parts);
}

Stream::SendFile Stream::send_file(File& file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return SendFile(*state_, file.descriptor(), offset, bytes);
}

bool StreamInput::start() noexcept {
  KEEL_CHECK(state_.input == nullptr, "one task at a time receives from a stream");
  if (state_.left.empty()) {
    state_.let_go();
  } else if (state_.held.data != nullptr) {
    state_.kept.clear();  // The line before what is left.
  }
  if (enough_(*this)) return true;
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
  // What arrives meanwhile waits for the next read.
  self.state_.input = nullptr;
  self.state_.engine.pause(self.state_.receive);
  self.cancelled_ = true;
  self.wake();
}

bool StreamInput::has_some(StreamInput& input) noexcept { return !input.state_.left.empty() || input.state_.ended; }

Result<Chunk> StreamInput::chunk() noexcept {
  if (cancelled_) return fail(Code::Cancelled, "receive was cancelled");
  if (!state_.left.empty()) return state_.left;
  if (state_.final_result < 0) return fail_errno("receive", -state_.final_result);
  return Chunk();
}

Error StreamInput::end(std::size_t got, const std::string& wanted) noexcept {
  if (cancelled_) return Error(Code::Cancelled, "receive was cancelled");
  if (state_.final_result < 0) return Error::from_errno("receive", -state_.final_result);
  return Error::text(Code::Unavailable, "the peer finished after " + std::to_string(got) + wanted);
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

bool Stream::ReadExact::fill(StreamInput& input) noexcept {
  auto& self = static_cast<ReadExact&>(input);
  Chunk& left = self.state_.left;
  const std::size_t size = std::min(left.size(), self.into_.size() - self.filled_);
  if (size != 0) std::memcpy(self.into_.data() + self.filled_, left.data(), size);
  self.filled_ += size;
  left.remove_prefix(size);
  if (self.filled_ == self.into_.size()) return true;
  self.state_.let_go();
  return self.state_.ended;
}

// What was taken for a whole that did not come is there for the next read.
void Stream::ReadExact::give_back() noexcept {
  KEEL_CHECK(state_.left.empty(), "what is left comes behind what was taken");
  state_.kept.append({into_.data(), filled_});
  state_.left = state_.kept.view();
}
void Stream::ReadExact::cancel_fill(Leaf& leaf) noexcept {
  auto& self = static_cast<ReadExact&>(leaf);
  self.give_back();
  cancel(self);
}

Result<> Stream::ReadExact::take() noexcept {
  if (filled_ == into_.size()) return {};
  if (!cancelled_) give_back();
  return end(filled_, " of " + std::to_string(into_.size()) + " bytes");
}

bool Stream::ReadUntil::search(StreamInput& input) noexcept {
  auto& self = static_cast<ReadUntil&>(input);
  State& state = self.state_;
  if (!state.fresh.empty()) {
    // What was left is gathered, and the delimiter is not in it.
    const std::size_t end = self.end_in_fresh();
    if (end != 0 && state.left.size() + end <= self.max_) {
      state.kept.append(state.fresh.substr(0, end));
      self.found_ = state.kept.view();
      state.left = std::exchange(state.fresh, {}).substr(end);
      return true;
    }
    state.gather();
    return state.left.size() >= self.max_;
  }
  const std::size_t at = state.left.substr(0, self.max_).find(self.delimiter_);
  if (at != Chunk::npos) {
    self.found_ = state.left.substr(0, at + self.delimiter_.size());
    state.left.remove_prefix(self.found_.size());
    return true;
  }
  if (state.left.size() >= self.max_ || state.ended) return true;
  if (!state.left.empty()) state.gather();
  return false;
}

// Where in what has just come the first delimiter ends, which may begin before; 0: it is not there.
std::size_t Stream::ReadUntil::end_in_fresh() const noexcept {
  const Chunk left = state_.left;
  const Chunk fresh = state_.fresh;
  for (std::size_t before = std::min(delimiter_.size() - 1, left.size()); before != 0; --before) {
    if (left.ends_with(delimiter_.substr(0, before)) && fresh.starts_with(delimiter_.substr(before))) {
      return delimiter_.size() - before;
    }
  }
  const std::size_t at = fresh.find(delimiter_);
  return at == Chunk::npos ? 0 : at + delimiter_.size();
}

Result<Chunk> Stream::ReadUntil::take() noexcept {
  if (!found_.empty()) return found_;
  if (!cancelled_ && state_.left.size() >= max_) {
    return fail(Code::OutOfRange, "read_until: no delimiter within the limit");
  }
  if (!cancelled_ && state_.left.empty() && state_.final_result == 0) return Chunk();
  return end(state_.left.size(), " bytes without the delimiter");
}

Stream::WriteParts::WriteParts(State& state, std::span<const std::string_view> parts) noexcept : StreamOutput(state) {
  KEEL_CHECK(parts.size() <= parts_max, "a write has at most 64 parts");
  for (const std::string_view part : parts) {
    if (!part.empty()) parts_[count_++] = {const_cast<char*>(part.data()), part.size()};
  }
}

bool StreamOutput::send(iovec* parts, std::size_t count) noexcept {
  io::Send& op = state_.send;
  if (count == 0) {
    op.result = 0;
    return true;
  }
  KEEL_CHECK(!op.pending, "one task at a time writes to a stream");
  op.parts = parts;
  op.part_count = static_cast<std::uint32_t>(count);
  if (state_.engine.submit(op)) return true;
  state_.output = this;
  return false;
}

void StreamOutput::cancel(Leaf& leaf) noexcept {
  Stream::State& state = static_cast<StreamOutput&>(leaf).state_;
  state.engine.cancel(state.send);
}

Result<> StreamOutput::take() noexcept {
  if (state_.send.result < 0) return fail_errno("send", -state_.send.result);
  return {};
}

Stream::SendFile::SendFile(State& state, int descriptor, std::uint64_t from, std::uint64_t bytes) noexcept
    : StreamOutput(state, &cancel_file), io::SendFile([](io::Op& op) noexcept {
        auto& self = static_cast<SendFile&>(static_cast<io::SendFile&>(op));
        self.state_.output = nullptr;
        self.wake();
      }) {
  fd = state.send.fd;
  file = descriptor;
  offset = from;
  size = bytes;
}

bool Stream::SendFile::start() noexcept {
  KEEL_CHECK(!state_.send.pending && state_.output == nullptr, "one task at a time writes to a stream");
  if (size == 0 || state_.engine.submit(*this)) return true;
  state_.output = this;
  return false;
}

void Stream::SendFile::cancel_file(Leaf& leaf) noexcept {
  auto& self = static_cast<SendFile&>(leaf);
  self.state_.engine.cancel(self);
}

Result<> Stream::SendFile::take() noexcept {
  if (result < 0) return fail_errno("sendfile", -result);
  if (sent == size) return {};
  return fail_text(Code::OutOfRange,
                   "the file ended after " + std::to_string(sent) + " of " + std::to_string(size) + " bytes");
}

}  // namespace keel
