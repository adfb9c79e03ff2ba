#include "keel/net/stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/io/file.h"
#include "keel/io/loop.h"
#include "keel/net/transport.h"
#include "keel/task/timing.h"

namespace keel {
namespace {

io::Loop& loop_here() {
  io::Loop* loop = io::Loop::current();
  KEEL_EXPECT(loop != nullptr,
              "a Stream can be made only on a worker: first co_await resume_on() with the loop of a worker");
  return *loop;
}

constexpr const char* second_writer =
    "a Stream is written while another task waits to write to it: only one task may write at a time";

Task<> drop_input(Stream& stream, std::uint64_t bytes_max) {
  std::uint64_t dropped = 0;
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
    dropped += chunk.size();
    if (dropped > bytes_max) {
      co_await Error(Code::OutOfRange, "close_gently: the peer keeps sending").from_environment();
    }
  }
}

}  // namespace

// The State lives until its receive has ended, even if the Stream is destroyed earlier, and then closes the descriptor.
struct Stream::State final : Transport {
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* state, std::size_t bytes) noexcept { pool_free(state, bytes); }
  explicit State(const Endpoint& endpoint) noexcept
      : Transport([](io::Op& op) noexcept { static_cast<State&>(op).received(); }) {
    open(endpoint);
  }

  struct Kept : Buffer {
    std::size_t left = 0;  // How many bytes were not read yet; these are the last bytes of `kept`.
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
  bool has_failed() const noexcept { return ended && outcome() < 0; }
  bool has_left() const noexcept { return left_in_held != 0 || (kept != nullptr && kept->left != 0); }
  // The bytes that were not read yet.
  Chunk left() const noexcept {
    if (holds() && !has_fresh) return held().substr(held().size() - left_in_held);
    return kept != nullptr ? kept->rest() : Chunk();
  }
  void drop_left(std::size_t bytes) noexcept {
    if (holds() && !has_fresh) {
      left_in_held -= static_cast<std::uint32_t>(bytes);
    } else if (kept != nullptr) {
      kept->left -= bytes;
    }
  }
  // Moves the unread bytes, and after them the newly arrived bytes, into `kept`.
  void gather() noexcept {
    if (holds() && !has_fresh) {
      const Chunk rest = left();
      Kept& all = keeping();
      all.clear();
      all.append(rest);
    } else {
      kept->drop_read();
      if (std::exchange(has_fresh, false)) kept->append(held());
    }
    kept->left = kept->size();
    drop_held();
  }
  void drop_held() noexcept {
    left_in_held = 0;
    release();
  }
  void let_go() noexcept {
    drop_held();
    kept.reset();
  }
  // Continues to receive; call it after the held bytes were read or copied.
  void receive_on() noexcept { is_receiving() ? resume() : receive(); }
  void free_if_quiet() noexcept {
    if (is_receiving()) return;
    Transport::close();
    delete this;
  }

  bool has_fresh = false;  // Whether the held bytes are newer than bytes that are still in `kept`.
  bool ended = false;      // Receiving has ended; outcome() says how.
  bool orphaned = false;
  std::uint32_t left_in_held = 0;  // How many bytes were not read yet; these are the last of the held bytes.
  StreamInput* input = nullptr;
  io::Op* output = nullptr;    // The send in progress.
  std::unique_ptr<Kept> kept;  // Bytes that arrived in several pieces and are returned as one piece.
};

Stream::Stream(int fd) : state_(new State({&loop_here().engine(), fd})) {
  static_assert(sizeof(State) <= 104, "an idle Stream must stay small");
}

Stream::Stream(const Endpoint& endpoint, std::string_view received) {
  std::unique_ptr<State::Kept> kept;
  if (!received.empty()) {
    kept.reset(new State::Kept);
    kept->append(received);
    kept->left = kept->size();
  }
  state_ = new State(endpoint);
  state_->kept = std::move(kept);
}

Result<Stream> Stream::layered(TransportLayers& layers, std::string_view host, Stream plain) {
  Endpoint endpoint = plain.detach();
  Result<Endpoint> made = endpoint;
  try {
    made = layers.make(endpoint, host);
    if (made) {
      endpoint = *made;
      return Stream(endpoint);
    }
  } catch (const std::bad_alloc&) {
    made = fail(Code::ResourceExhausted, "no memory for a stream");
  }
  endpoint.close();
  return std::move(made).error();
}

Task<> Stream::end_reading() {
  State& state = *state_;
  KEEL_EXPECT(state.input == nullptr && state.output == nullptr,
              "end_reading() of a Stream was called while a task reads or writes");
  if (state.is_receiving() && !state.has_left()) {
    state.let_go();
    state.end_receive();
    // The bytes received so far, or the end of receiving.
    Result<Chunk> last = co_await attempt(receive());
    if (!last && !state.ended) co_await std::move(last).error();
    if (last && !last->empty()) co_await fail(Code::Protocol, "the peer sent more than was expected");
  }
  if (state.has_left()) co_await fail(Code::Protocol, "the peer sent more than was expected");
  if (!state.ended) co_return;  // The stream was never read.
  if (state.outcome() != -ECANCELED) {
    if (state.outcome() < 0) co_await state.error("receive", state.outcome());
    co_await Error(Code::Unavailable, "the peer has finished").from_environment();
  }
  state.ended = false;
}

Endpoint Stream::detach() noexcept {
  State& state = *std::exchange(state_, nullptr);
  KEEL_CHECK(state.output == nullptr && !state.is_receiving() && !state.has_left() && !state.ended,
             "a stream can be detached only before it is used");
  const Endpoint endpoint = state.detach();
  delete &state;
  return endpoint;
}

void Stream::close() noexcept {
  if (state_ == nullptr) return;
  State& state = *std::exchange(state_, nullptr);
  KEEL_CHECK(state.input == nullptr && state.output == nullptr,
             "a stream can be closed only when no task waits for it");
  state.let_go();
  state.orphaned = true;
  state.cancel_receive();
  state.free_if_quiet();
}

void Stream::watch() {
  State& state = *state_;
  KEEL_EXPECT(state.input == nullptr, "watch() of a Stream was called while a task reads from it");
  if (has_input()) return;
  state.let_go();
  state.receive_on();
}
bool Stream::has_input() const noexcept { return state_->has_left() || state_->ended; }

bool Stream::has_unseen_input() const noexcept { return state_->has_unread(); }

void Stream::shutdown_write() noexcept { state_->shutdown_write(); }
void Stream::shutdown() noexcept { state_->shutdown(); }
Result<> Stream::set_options(const io::SocketOptions& options) {
  return state_->engine().set_options(state_->descriptor(), options);
}
io::SocketOptions Stream::options() const { return state_->engine().options(state_->descriptor()); }
Address Stream::local_address() const noexcept { return state_->engine().local_address(state_->descriptor()); }
Address Stream::peer_address() const noexcept { return state_->engine().peer_address(state_->descriptor()); }

const TransportLayer* Stream::layer() const noexcept { return state_->layer(); }
int Stream::native_handle() const noexcept { return state_->descriptor(); }

Task<> Stream::close_gently(Duration timeout, std::uint64_t bytes_max) {
  shutdown_write();
  Result<> finished = co_await attempt(with_timeout(timeout, drop_input(*this, bytes_max)));
  close();
  co_await std::move(finished);
}

Stream::ReadExact Stream::read_exact(std::span<char> into) noexcept { return ReadExact(*state_, into); }
Stream::ReadUntil Stream::read_until(std::string_view delimiter, std::size_t max) {
  KEEL_EXPECT(!delimiter.empty(), "read_until() was given an empty delimiter");
  return ReadUntil(*state_, delimiter, max);
}
Stream::WriteParts Stream::write(std::span<const std::string_view> parts) { return WriteParts(*state_, parts); }

Stream::SendFile Stream::send_file(File& file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return SendFile(*state_, file.descriptor(), offset, bytes);
}

// Takes the received bytes that the read needs; returns true if the read is complete.
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
  if (outcome() > 0) [[likely]] {
    has_fresh = kept != nullptr && kept->left != 0;
    left_in_held = static_cast<std::uint32_t>(hold().size());
  } else {
    ended = true;
  }
  if (input != nullptr && !input->is_content()) return;
  if (has_fresh) gather();
  if (!ended) pause();
  if (input != nullptr) std::exchange(input, nullptr)->wake();
}

bool StreamInput::start() {
  KEEL_EXPECT_AT(state_.input == nullptr,
                 "a Stream is read while another task waits to read from it: only one task may read at a time",
                 place());
  if (!state_.has_left()) [[likely]] {
    state_.let_go();
    // A read that accepts any number of bytes waits only if there are no bytes.
    if ((until_ != Until::SomeBytes || state_.ended) && is_content()) return true;
  } else {
    // If bytes are held, the text in `kept` was already returned by read_until(), and precedes the remaining bytes.
    if (state_.holds() && state_.kept != nullptr) state_.kept->clear();
    if (is_content()) return true;
  }
  state_.input = this;
  state_.receive_on();
  return false;
}

void StreamInput::cancel(Leaf& leaf) noexcept {
  auto& self = static_cast<StreamInput&>(leaf);
  // Bytes that arrive in the meantime wait for the next read.
  self.state_.input = nullptr;
  self.state_.pause();
  self.cancelled_ = true;
  self.failed_ = true;
  self.wake();
}

Error StreamInput::failure() const noexcept {
  if (cancelled_) return Error(Code::Cancelled, "receive was cancelled");
  return state_.error("receive", state_.outcome());
}

Error StreamInput::end(std::size_t got, const std::string& wanted) noexcept {
  if (cancelled_ || state_.has_failed()) return failure();
  return Error::text(Code::Unavailable, "the peer finished after " + std::to_string(got) + wanted).from_environment();
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

// Returns the bytes of an incomplete read, so that the next read gets them.
void Stream::ReadExact::give_back() noexcept {
  KEEL_CHECK(!state_.has_left(), "the bytes of an incomplete read must be returned before further bytes are received");
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
    // The earlier unread bytes are in `kept`, and do not contain the delimiter.
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

// The position in the new bytes at which the first delimiter ends; the delimiter may begin in earlier bytes. 0: there
// is no delimiter.
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
    return Error(Code::OutOfRange, "read_until: no delimiter within the limit").from_environment();
  }
  if (!cancelled_ && !state_.has_left() && !state_.has_failed()) return Chunk();
  return end(state_.left().size(), " bytes without the delimiter");
}

Stream::WriteParts::WriteParts(State& state, std::span<const std::string_view> parts) : StreamOutput(state) {
  KEEL_EXPECT(parts.size() <= parts_max, "write() of a Stream was given more than 64 parts");
  for (const std::string_view part : parts) {
    if (!part.empty()) parts_[count_++] = {const_cast<char*>(part.data()), part.size()};
  }
}

// The operation of a write exists only while the write is in progress, so that an idle stream does not pay for it.
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

bool StreamOutput::send(iovec* parts, std::size_t count) { return count == 0 || begin(parts, count); }

bool StreamOutput::begin(iovec* parts, std::size_t count) {
  KEEL_EXPECT_AT(state_.output == nullptr, second_writer, place());
  Sending* op = nullptr;
  try {
    op = new Sending(*this);
  } catch (const std::bad_alloc&) {
    result_ = -ENOMEM;
    return true;
  }
  op->parts = parts;
  op->part_count = static_cast<std::uint32_t>(count);
  op->unhurried = std::exchange(result_, 0) != 0;
  const bool is_complete = count == 0 ? state_.establish(*op) : state_.send(*op);
  if (!is_complete) {
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
  state.cancel(*state.output);
}

Result<> StreamOutput::take() noexcept {
  if (result_ < 0) return state_.error("send", result_);
  return {};
}

Stream::SendFile::SendFile(State& state, int descriptor, std::uint64_t from, std::uint64_t bytes) noexcept
    : StreamOutput(state), io::SendFile([](io::Op& op) noexcept {
        auto& self = static_cast<SendFile&>(static_cast<io::SendFile&>(op));
        self.state_.output = nullptr;
        self.wake();
      }) {
  file = descriptor;
  offset = from;
  size = bytes;
}

bool Stream::SendFile::start() {
  KEEL_EXPECT_AT(state_.output == nullptr, second_writer, place());
  if (size == 0 || state_.send(*this)) return true;
  state_.output = this;
  return false;
}

Result<> Stream::SendFile::take() noexcept {
  if (result < 0) return Error::from_errno("sendfile", -result);
  if (sent == size) return {};
  return Error::text(Code::OutOfRange,
                     "the file ended after " + std::to_string(sent) + " of " + std::to_string(size) + " bytes")
      .from_environment();
}

}  // namespace keel
