#include "keel/net/stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/io/file.h"
#include "keel/io/loop.h"
#include "keel/task/timing.h"

namespace keel {
namespace {

io::Loop& loop_here() {
  io::Loop* loop = io::Loop::current();
  KEEL_CHECK(loop != nullptr, "streams and listeners are used on a worker");
  return *loop;
}

Task<> drop_input(Stream& stream, std::uint64_t bytes_max) {
  std::uint64_t dropped = 0;
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
    dropped += chunk.size();
    if (dropped > bytes_max) co_await fail(Code::OutOfRange, "close_gently: the peer goes on sending");
  }
}

}  // namespace

// Lives on after its Stream until its receive has ended; then closes the descriptor.
struct Stream::State final : io::Receive {
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* state, std::size_t bytes) noexcept { pool_free(state, bytes); }
  State(io::Engine& e, int descriptor) noexcept
      : io::Receive([](io::Op& op) noexcept { static_cast<State&>(op).received(); }), engine(e) {
    fd = descriptor;
  }

  struct Kept : Buffer {
    std::size_t left = 0;  // Not yet read: the last bytes of it.
    void drop_read() noexcept { consume(size() - left); }
    Chunk rest() const noexcept { return view().substr(size() - left); }
    static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
    static void operator delete(void* kept, std::size_t bytes) noexcept { pool_free(kept, bytes); }
  };
  Kept& keeping() {
    if (kept == nullptr) kept.reset(new Kept);
    return *kept;
  }

  void received() noexcept;
  bool has_failed() const noexcept { return ended && result < 0; }
  bool has_left() const noexcept { return left_in_held != 0 || (kept != nullptr && kept->left != 0); }
  // What has not been read.
  Chunk left() const noexcept {
    if (is_held && !has_fresh) return held().substr(held_size - left_in_held);
    return kept != nullptr ? kept->rest() : Chunk();
  }
  void drop_left(std::size_t bytes) noexcept {
    if (is_held && !has_fresh) {
      left_in_held -= static_cast<std::uint32_t>(bytes);
    } else if (kept != nullptr) {
      kept->left -= bytes;
    }
  }
  // The arrival that is held.
  Chunk held() const noexcept { return {data, held_size}; }
  // Moves what is left, and what has just come behind it, into `kept`.
  void gather() noexcept {
    if (is_held && !has_fresh) {
      const Chunk rest = left();
      Kept& all = keeping();
      all.clear();
      all.append(rest);
    } else {
      kept->drop_read();
      if (std::exchange(has_fresh, false)) kept->append(held());
    }
    kept->left = kept->size();
    release();
  }
  void release() noexcept {
    if (!is_held) return;
    is_held = false;
    left_in_held = 0;
    engine.release({data, held_size, buffer});
  }
  void let_go() noexcept {
    release();
    kept.reset();
  }
  void receive_on() noexcept {
    KEEL_DCHECK(!is_held, "what is held is read or gathered before more may come");
    if (!pending) {
      engine.submit(*this);
    } else {
      engine.resume(*this);
    }
  }
  void free_if_quiet() noexcept {
    if (pending) return;
    engine.close(fd);
    delete this;
  }

  // These are in the room that the operation leaves. What it was told of when bytes came last, `data` and `buffer`,
  // stays as long as they are held: meanwhile it is paused.
  bool is_held = false;
  bool has_fresh = false;  // What is held has just come while something was left, in `kept`.
  bool ended = false;      // `result` says how.
  bool orphaned = false;
  io::Engine& engine;
  StreamInput* input = nullptr;
  io::Op* output = nullptr;    // The send that waits.
  std::unique_ptr<Kept> kept;  // What came in several pieces and is asked for as one.
  std::uint32_t held_size = 0;
  std::uint32_t left_in_held = 0;  // Its last bytes, not yet read.
};

Stream::Stream(int fd) : state_(new State(loop_here().engine(), fd)) {}

Stream::Stream(int fd, std::string_view received) {
  auto kept = std::make_unique<State::Kept>();
  kept->append(received);
  state_ = new State(loop_here().engine(), fd);
  kept->left = kept->size();
  state_->kept = std::move(kept);
}

void Stream::close() noexcept {
  if (state_ == nullptr) return;
  State& state = *std::exchange(state_, nullptr);
  KEEL_CHECK(state.input == nullptr && state.output == nullptr, "a stream is closed when nobody waits for it");
  state.let_go();
  state.orphaned = true;
  state.engine.cancel(state);
  state.free_if_quiet();
}

void Stream::watch() noexcept {
  State& state = *state_;
  KEEL_CHECK(state.input == nullptr, "a stream is watched when nobody reads from it");
  if (has_input()) return;
  state.let_go();
  state.receive_on();
}
bool Stream::has_input() const noexcept { return state_->has_left() || state_->ended; }

bool Stream::has_unseen_input() const noexcept { return state_->engine.has_unread(state_->fd); }

void Stream::shutdown_write() noexcept { state_->engine.shutdown_write(state_->fd); }
void Stream::shutdown() noexcept { state_->engine.shutdown(state_->fd); }
Result<> Stream::set_options(const io::SocketOptions& options) {
  return state_->engine.set_options(state_->fd, options);
}
io::SocketOptions Stream::options() const { return state_->engine.options(state_->fd); }
Address Stream::local_address() const noexcept { return state_->engine.local_address(state_->fd); }
Address Stream::peer_address() const noexcept { return state_->engine.peer_address(state_->fd); }

int Stream::native_handle() const noexcept { return state_->fd; }

Task<> Stream::close_gently(Duration timeout, std::uint64_t bytes_max) {
  shutdown_write();
  Result<> finished = co_await attempt(with_timeout(timeout, drop_input(*this, bytes_max)));
  close();
  co_await std::move(finished);
}

Stream::ReadExact Stream::read_exact(std::span<char> into) noexcept { return ReadExact(*state_, into); }
Stream::ReadUntil Stream::read_until(std::string_view delimiter, std::size_t max) noexcept {
  KEEL_CHECK(!delimiter.empty(), "a delimiter is not empty");
  return ReadUntil(*state_, delimiter, max);
}
Stream::WriteParts Stream::write(std::span<const std::string_view> parts) noexcept {
  return WriteParts(*state_, parts);
}

Stream::SendFile Stream::send_file(File& file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return SendFile(*state_, file.descriptor(), offset, bytes);
}

// Takes what it needs of what has come; true: that is all it waits for.
inline bool StreamInput::is_content() noexcept {
  if (until_ == Until::AllBytes) return static_cast<Stream::ReadExact&>(*this).fill();
  if (until_ == Until::Delimiter) return static_cast<Stream::ReadUntil&>(*this).search();
  if (state_.has_left()) return true;
  failed_ = state_.has_failed();
  return state_.ended;
}

void Stream::State::received() noexcept {
  if (orphaned) [[unlikely]] {
    free_if_quiet();
    return;
  }
  if (result > 0) [[likely]] {
    has_fresh = kept != nullptr && kept->left != 0;
    const io::Held held = engine.hold(*this);
    data = held.data;
    buffer = held.buffer;
    held_size = left_in_held = held.size;
    is_held = true;
  } else {
    ended = true;
  }
  if (input != nullptr && !input->is_content()) return;
  if (has_fresh) gather();
  if (!ended) engine.pause(*this);
  if (input != nullptr) std::exchange(input, nullptr)->wake();
}

bool StreamInput::start() noexcept {
  KEEL_CHECK(state_.input == nullptr, "one task at a time receives from a stream");
  if (!state_.has_left()) [[likely]] {
    state_.let_go();
  } else if (state_.is_held && state_.kept != nullptr) {
    state_.kept->clear();  // The line before what is left.
  }
  if (is_content()) return true;
  state_.input = this;
  state_.receive_on();
  return false;
}

void StreamInput::cancel(Leaf& leaf) noexcept {
  auto& self = static_cast<StreamInput&>(leaf);
  // What arrives meanwhile waits for the next read.
  self.state_.input = nullptr;
  self.state_.engine.pause(self.state_);
  self.cancelled_ = true;
  self.failed_ = true;
  self.wake();
}

Error StreamInput::failure() const noexcept {
  if (cancelled_) return Error(Code::Cancelled, "receive was cancelled");
  return Error::from_errno("receive", -state_.result);
}

Error StreamInput::end(std::size_t got, const std::string& wanted) noexcept {
  if (cancelled_ || state_.has_failed()) return failure();
  return Error::text(Code::Unavailable, "the peer finished after " + std::to_string(got) + wanted);
}

Result<Chunk> Stream::Receive::take() noexcept {
  if (failed_) [[unlikely]]
    return failure();
  const Chunk chunk = state_.left();
  state_.drop_left(chunk.size());
  return chunk;
}

Result<std::size_t> Stream::Read::take() noexcept {
  if (failed_) [[unlikely]]
    return failure();
  const Chunk left = state_.left();
  const std::size_t size = std::min(left.size(), into_.size());
  if (size != 0) std::memcpy(into_.data(), left.data(), size);
  state_.drop_left(size);
  return size;
}

bool Stream::ReadExact::fill() noexcept {
  const Chunk left = state_.left();
  const std::size_t size = std::min(left.size(), into_.size() - filled_);
  if (size != 0) std::memcpy(into_.data() + filled_, left.data(), size);
  filled_ += size;
  state_.drop_left(size);
  if (filled_ == into_.size()) return true;
  state_.let_go();
  return state_.ended;
}

// What was taken for a whole that did not come is there for the next read.
void Stream::ReadExact::give_back() noexcept {
  KEEL_CHECK(!state_.has_left(), "what is left comes behind what was taken");
  State::Kept& kept = state_.keeping();
  kept.append({into_.data(), filled_});
  kept.left = kept.size();
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

bool Stream::ReadUntil::search() noexcept {
  State& state = state_;
  if (state.has_fresh) {
    // What was left is gathered, and the delimiter is not in it.
    const Chunk fresh = state.held();
    const std::size_t end = end_in(fresh);
    if (end != 0 && state.left().size() + end <= max_) {
      state.kept->append(fresh.substr(0, end));
      found_ = state.kept->view();
      state.kept->left = 0;
      state.has_fresh = false;
      state.drop_left(end);
      return true;
    }
    state.gather();
    return state.left().size() >= max_;
  }
  const Chunk left = state.left();
  const std::size_t at = left.substr(0, max_).find(delimiter_);
  if (at != Chunk::npos) {
    found_ = left.substr(0, at + delimiter_.size());
    state.drop_left(found_.size());
    return true;
  }
  if (left.size() >= max_ || state.ended) return true;
  if (!left.empty()) state.gather();
  return false;
}

// Where in what has just come the first delimiter ends, which may begin before; 0: it is not there.
std::size_t Stream::ReadUntil::end_in(Chunk fresh) const noexcept {
  const Chunk left = state_.left();
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
  if (!cancelled_ && state_.left().size() >= max_) {
    return fail(Code::OutOfRange, "read_until: no delimiter within the limit");
  }
  if (!cancelled_ && !state_.has_left() && !state_.has_failed()) return Chunk();
  return end(state_.left().size(), " bytes without the delimiter");
}

Stream::WriteParts::WriteParts(State& state, std::span<const std::string_view> parts) noexcept : StreamOutput(state) {
  KEEL_CHECK(parts.size() <= parts_max, "a write has at most 64 parts");
  for (const std::string_view part : parts) {
    if (!part.empty()) parts_[count_++] = {const_cast<char*>(part.data()), part.size()};
  }
}

// The operation of a write lives only while that is under way: a stream that waits for its peer has none.
struct StreamOutput::Sending final : io::Send {
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* sending, std::size_t bytes) noexcept { pool_free(sending, bytes); }
  explicit Sending(StreamOutput& o) noexcept
      : io::Send([](io::Op& op) noexcept {
          auto& self = static_cast<Sending&>(op);
          self.output.complete(self);
        }),
        output(o) {}
  StreamOutput& output;
};

bool StreamOutput::send(iovec* parts, std::size_t count) noexcept {
  if (count == 0) return true;
  KEEL_CHECK(state_.output == nullptr, "one task at a time writes to a stream");
  Sending* op = nullptr;
  try {
    op = new Sending(*this);
  } catch (const std::bad_alloc&) {
    result_ = -ENOMEM;
    return true;
  }
  op->fd = state_.fd;
  op->parts = parts;
  op->part_count = static_cast<std::uint32_t>(count);
  if (!state_.engine.submit(*op)) {
    state_.output = op;
    return false;
  }
  result_ = op->result;
  delete op;
  return true;
}

void StreamOutput::complete(Sending& sending) noexcept {
  result_ = sending.result;
  state_.output = nullptr;
  delete &sending;
  wake();
}

void StreamOutput::cancel(Leaf& leaf) noexcept {
  Stream::State& state = static_cast<StreamOutput&>(leaf).state_;
  state.engine.cancel(*state.output);
}

Result<> StreamOutput::take() noexcept {
  if (result_ < 0) return Error::from_errno("send", -result_);
  return {};
}

Stream::SendFile::SendFile(State& state, int descriptor, std::uint64_t from, std::uint64_t bytes) noexcept
    : StreamOutput(state), io::SendFile([](io::Op& op) noexcept {
        auto& self = static_cast<SendFile&>(static_cast<io::SendFile&>(op));
        self.state_.output = nullptr;
        self.wake();
      }) {
  fd = state.fd;
  file = descriptor;
  offset = from;
  size = bytes;
}

bool Stream::SendFile::start() noexcept {
  KEEL_CHECK(state_.output == nullptr, "one task at a time writes to a stream");
  if (size == 0 || state_.engine.submit(*this)) return true;
  state_.output = this;
  return false;
}

Result<> Stream::SendFile::take() noexcept {
  if (result < 0) return Error::from_errno("sendfile", -result);
  if (sent == size) return {};
  return Error::text(Code::OutOfRange,
                     "the file ended after " + std::to_string(sent) + " of " + std::to_string(size) + " bytes");
}

}  // namespace keel
