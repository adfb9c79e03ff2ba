#include "keel/net/messages/internal/connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "keel/base/bug.h"
#include "keel/net/crc32c.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/internal/frame_bytes.h"
#include "keel/net/messages/internal/stream_state.h"
#include "keel/net/messages/metrics.h"

namespace keel::messages::internal {
namespace {

constexpr std::size_t flight_parts_max = 16;
// The initial capacity of a batch; it is a size class of the pool.
constexpr std::size_t batch_bytes_min = 1032;
// The maximum size of a batch. A longer payload is not copied into a batch, and no frame is added after it.
constexpr std::size_t batch_bytes_max = 16 * 1024;

static_assert(sizeof(Connection) <= 704,
              "the memory of an idle connection must be at most what docs/messages.md states");

io::Loop& loop_here() {
  io::Loop* const loop = io::Loop::current();
  KEEL_EXPECT(loop != nullptr,
              "a connection can be made only on a worker: first co_await resume_on() with the loop of a worker");
  return *loop;
}

Hello hello_of(const PeerOptions& options) noexcept {
  Hello hello;
  hello.wants_checksums = options.checksums;
  hello.requests_max = options.requests_max;
  hello.streams_max = options.streams_max;
  hello.frame_bytes_max = options.frame_bytes_max;
  hello.stream_bytes = options.stream_bytes_max;
  hello.heartbeat_ms =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(options.heartbeat.count_ns() / 1'000'000, 0, UINT32_MAX));
  return hello;
}

}  // namespace

// A write in progress.
struct Connection::Flight final : io::Send {
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* flight, std::size_t bytes) noexcept { pool_free(flight, bytes); }
  explicit Flight(Connection& of) noexcept
      : io::Send([](io::Op& op) noexcept {
          auto& flight = static_cast<Flight&>(op);
          Connection& owner = flight.connection;
          owner.landed(flight);
          owner.schedule();
        }),
        connection(of),
        last_progress(of.loop_.now()) {
    parts = room;
    if (of.out_.empty()) {
      own = std::move(of.batch_);
      room[0] = {own.data(), own.size()};
      part_count = 1;
      return;
    }
    of.spill();
    part_count = static_cast<std::uint32_t>(of.out_.gather(room));
    for (std::uint32_t i = 0; i < part_count; ++i) bytes += room[i].iov_len;
  }
  Connection& connection;
  Buffer own;             // The bytes being sent, if out_ was empty when sending began.
  std::size_t bytes = 0;  // The number of bytes being sent from the front of out_; 0 if `own` is used.
  Instant last_progress;
  std::uint64_t progress = 0;
  iovec room[flight_parts_max];
};

std::size_t Connection::queued_bytes() const noexcept {
  return out_.size() + batch_.size() + (flight_ != nullptr ? flight_->own.size() : 0);
}

Connection::Connection(const Endpoint& endpoint, std::shared_ptr<const Settings> settings, Owner* owner)
    : settings_(std::move(settings)),
      owner_(owner),
      loop_(loop_here()),
      has_handle_(owner == nullptr),
      reader_(settings_->options.frame_bytes_max) {
  last_received_ = since_ = loop_.now();
  transport_.open(endpoint);
  transport_.receive();
  if (settings_->metrics != nullptr) settings_->metrics->connections.add(1);
  Buffer hello;
  put_hello(hello, hello_of(options()));
  queue({.kind = FrameKind::Hello, .payload = hello.view()});
  wake_at(next_due());
}

Connection::~Connection() {
  if (timer_.is_running()) loop_.stop_timer(timer_);
}

void Connection::let_go() noexcept {
  owner_ = nullptr;
  has_handle_ = false;
  close(Error(Code::Cancelled, "the connection was released by its owner"));
  schedule();
}

void Connection::set_reason(Error&& reason) noexcept {
  if (!reason_) reason_.emplace(std::move(reason));
}

Error Connection::why_ended() const noexcept {
  Error error = reason_ ? reason_->clone() : Error(Code::Unavailable, "closed");
  return std::move(error).as(Code::Unavailable).because("the connection has ended").from_environment();
}

void Connection::close(Error reason) {
  if (is_closed()) return;
  set_reason(std::move(reason));
  Buffer payload;
  put_error(payload, *reason_);
  queue({.kind = FrameKind::Close, .payload = payload.view()});
  phase_ = Phase::Closing;
  since_ = loop_.now();
  wake_at(next_due());
  fail_all();
  if (is_paused_) schedule();
}

void Connection::protocol_error(const char* message) { close(Error(Code::Protocol, message)); }

// Ends the connection, because the peer cannot be reached any more.
void Connection::lost(Error reason) noexcept {
  if (phase_ >= Phase::Ending) return;
  set_reason(std::move(reason));
  phase_ = Phase::Ending;
  fail_all();
  schedule();
}

void Connection::drain() {
  if (is_closed() || std::exchange(is_draining_, true)) return;
  queue({.kind = FrameKind::Drain});
  if (owner_ == nullptr) {
    is_drain_known_ = true;  // When a client drains, its connection ends as soon as it is idle.
    return;
  }
  ping();
  if (phase_ == Phase::Greeting) {
    since_ = std::min(since_, loop_.now() - options().hello_timeout + options().close_timeout);
  } else {
    since_ = loop_.now();
  }
  wake_at(next_due());
}

void Connection::ping() {
  queue({.kind = FrameKind::Ping});
  ++pongs_due_;
}

void Connection::ponged() noexcept {
  if (pongs_due_ != 0) --pongs_due_;
  if (!is_draining_ || pongs_due_ != 0) return;
  is_drain_known_ = true;
  schedule();
}

// Calls that wait for the peer fail, and handlers are asked to end.
void Connection::fail_all() noexcept {
  greeted_.set();
  while (CallCore* const call = waiting_calls_.pop_front()) end_call(*call, why_ended());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    CallCore* const call = std::exchange(slots_[i].call, nullptr);
    if (call != nullptr) end_call(*call, why_ended());
  }
  outstanding_ = 0;
  while (SendCore* const send = waiting_sends_.pop_front()) {
    send->error_.emplace(why_ended());
    send->wake();
  }
  for (auto* const streams : {&opened_, &accepted_}) {
    for (std::size_t i = 0; i < streams->size(); ++i) {
      StreamState* const stream = std::exchange((*streams)[i], nullptr);
      if (stream != nullptr) stream->lost();
    }
  }
  open_streams_ = 0;
  held_.reset();
  running_.for_each([](Handling& handling) { handling.start().stop(); });
  idle_.set();
}

// --- receiving ------------------------------------------------------------------------------------------------------

void Connection::received() noexcept {
  const std::int32_t outcome = transport_.outcome();
  if (outcome <= 0) {
    has_peer_ended_ = true;
    if (phase_ < Phase::Ending) {
      if (phase_ == Phase::Closing && (outcome == 0 || outcome == -ECONNRESET)) {
        phase_ = Phase::Ending;  // The peer has closed its side, so the peer has received everything.
      } else if (outcome == 0) {
        lost(Error(Code::Unavailable, "the peer has closed the connection").from_environment());
      } else {
        lost(transport_.error("receive", outcome));
      }
    }
    return schedule();
  }
  last_received_ = loop_.now();
  has_pinged_ = false;
  if (phase_ >= Phase::Closing) return;  // The bytes are dropped.
  reader_.feed(transport_.bytes());
  try {
    read_on();
  } catch (...) {
    lost(Error::from_exception());
  }
  if (!is_closed() && is_to_pause()) {
    if (reader_.unread_bytes() != 0) reader_.moved(transport_.hold());
    transport_.pause();
    is_paused_ = true;
  }
}

// Handles the bytes that have arrived, until all are handled or a limit is reached.
void Connection::read_on() {
  is_reading_ = true;
  struct Reading {
    Connection& connection;
    ~Reading() { connection.is_reading_ = false; }
  } const reading{*this};
  Frame frame;
  std::uint32_t frames = 0;
  while (!is_closed() && !is_to_pause() && reader_.next(frame)) {
    ++frames;
    dispatch(frame);
  }
  if (settings_->metrics != nullptr) settings_->metrics->received.add(frames);
  if (reader_.problem() != nullptr && !is_closed()) {
    if (phase_ == Phase::Greeting && reader_.code() != Code::DataLoss) {
      protocol_error("the peer does not speak Keel messages: its first bytes are not a frame");
    } else {
      close(Error(reader_.code(), reader_.problem()));
    }
  }
  if (sink_ != nullptr && !is_closed()) sink_->on_batch_end(*this);
}

void Connection::resume_reading() noexcept {
  if (!is_closed()) {
    if (is_to_pause()) return;
    last_received_ = loop_.now();  // This side did not read, so the peer's silence does not count.
    has_pinged_ = false;
    try {
      read_on();
    } catch (...) {
      lost(Error::from_exception());
    }
    if (!is_closed() && is_to_pause()) return;
  }
  is_paused_ = false;
  transport_.release();
  if (transport_.is_receiving()) transport_.resume();
}

void Connection::dispatch(const Frame& frame) {
  if (phase_ == Phase::Greeting) [[unlikely]]
    return greet(frame);
  switch (frame.kind) {
    case FrameKind::Request:
      return handle_request(frame);
    case FrameKind::Message:
      return handle_message(frame, Handling::Kind::Message);
    case FrameKind::Response:
    case FrameKind::Failure:
      return handle_reply(frame);
    case FrameKind::Cancel:
      return cancel_request(frame.id);
    case FrameKind::Open:
      return handle_open(frame);
    case FrameKind::Data:
    case FrameKind::Credit:
    case FrameKind::End:
    case FrameKind::Abandon:
      return handle_in_stream(frame);
    case FrameKind::Ping:
      // When many frames are queued, no pong is added, because these frames prove to the peer that this side is alive.
      if (!is_above_high()) queue({.kind = FrameKind::Pong});
      return;
    case FrameKind::Pong:
      return ponged();
    case FrameKind::Drain:
      is_peer_draining_ = true;
      while (CallCore* const call = waiting_calls_.pop_front()) {
        end_call(*call, Error(Code::Unavailable, "the peer accepts no new requests").from_environment());
      }
      return;
    case FrameKind::Close:
      return lost(parse_error(frame.payload).because("the peer has closed the connection"));
    case FrameKind::Session: {
      if (sink_ == nullptr)
        return close(Error(Code::Unsupported, "a frame of a session arrived on a connection without sessions"));
      Result<> handled = sink_->on_frame(*this, frame.payload);
      if (!handled) close(std::move(handled).error());
      return;
    }
    case FrameKind::Hello:
      return protocol_error("the peer sent a second hello");
  }
}

void Connection::greet(const Frame& frame) {
  if (frame.kind == FrameKind::Close) {
    return lost(parse_error(frame.payload).because("the peer has closed the connection"));
  }
  Result<Hello> hello =
      frame.kind == FrameKind::Hello
          ? parse_hello(frame.payload)
          : Result<Hello>(keel::fail(Code::Protocol, "the peer does not speak Keel messages: it sent no hello"));
  if (!hello) return close(std::move(hello).error());
  Result<std::uint8_t> version = common_version(hello_of(options()), *hello);
  if (!version) return close(std::move(version).error());
  theirs_ = *hello;
  has_checksums_ = hello->wants_checksums || options().checksums;
  phase_ = Phase::Open;
  since_ = loop_.now();
  wake_at(next_due());
  greeted_.set();
  if (owner_ != nullptr) owner_->on_open(*this);
}

// --- sending --------------------------------------------------------------------------------------------------------

void Connection::queue(const Frame& frame) {
  if (is_closed()) return;
  // The peer may not know yet whether frames have checksums, so the frames of the write that begins with the hello have
  // no checksums.
  if (frame.payload.size() > batch_bytes_max / 2) {
    const FrameHead head(frame, has_checksums_);
    spill();
    out_.append(head.bytes());
    out_.append(frame.payload);
    out_.append(head.tail());
  } else {
    if (batch_.size() > batch_bytes_max) spill();
    if (batch_.capacity() == 0) batch_.reserve(batch_bytes_min);
    put_frame(batch_, frame, has_checksums_);
  }
  queued();
}

// Called after a frame was queued.
void Connection::queued() {
  was_above_low_ = was_above_low_ || queued_bytes() > options().low_bytes;
  if (settings_->metrics != nullptr) settings_->metrics->sent.add();
  schedule();
}

void Connection::spill() {
  if (!batch_.empty()) out_.append(std::move(batch_));
}

Buffer Connection::take_batch() {
  if (batch_.size() > batch_bytes_max) spill();
  return std::move(batch_);
}

Reply::Reply(Connection& connection, std::uint32_t id)
    : connection_(connection), id_(id), out_(connection.take_batch()), begin_(out_.size()) {
  if (out_.capacity() == 0) out_.reserve(batch_bytes_min);
  out_.reserve(Frame::head_bytes);
  out_.commit(Frame::head_bytes);
}

Reply::~Reply() {
  if (!is_held_) return;
  out_.resize(begin_);
  give_back();
}

// Puts the encoded reply into the queue, ahead of the frames that were queued while the reply was encoded.
void Reply::give_back() noexcept {
  is_held_ = false;
  if (out_.empty()) return;
  if (connection_.batch_.empty()) [[likely]] {
    connection_.batch_ = std::move(out_);
    return;
  }
  try {
    connection_.out_.append(std::move(out_));
  } catch (...) {
    connection_.lost(Error::from_exception());
  }
}

void Reply::send() {
  if (connection_.is_closed()) return;
  const std::string_view payload = out_.view().substr(begin_ + Frame::head_bytes);
  const bool is_too_large = payload.size() > connection_.payload_max();
  if (is_too_large || payload.size() + begin_ + connection_.queued_bytes() > connection_.queued_max()) {
    out_.resize(begin_);
    give_back();
    return is_too_large ? connection_.fail(id_, Error(Code::OutOfRange,
                                                      "the reply is larger than the peer accepts (frame_bytes_max)"))
                        : connection_.close(
                              Error(Code::ResourceExhausted, "the peer does not read its replies (queued_bytes_max)"));
  }
  const Frame frame{.kind = FrameKind::Response, .id = id_, .payload = payload};
  connection_.response_bytes_ += payload.size() + Frame::head_bytes;
  frame_bytes::put_head(out_.data() + begin_, frame, connection_.has_checksums_);
  if (connection_.has_checksums_) [[unlikely]] {
    char* const tail = out_.reserve(sizeof(std::uint32_t));
    frame_bytes::store(tail, crc32c(out_.view().substr(begin_)));
    out_.commit(sizeof(std::uint32_t));
  }
  give_back();
  connection_.queued();
}

void Connection::schedule() noexcept {
  if (std::exchange(is_deferred_, true)) return;
  loop_.defer(work_);
}

// Runs at the end of a loop iteration that concerned this connection.
void Connection::work() noexcept {
  is_deferred_ = false;
  flush();
  if (held_ != nullptr && !is_reading_) {
    handle_held();
    flush();
  }
  if (is_paused_ && !is_reading_) {
    resume_reading();
    flush();
  }
  note_idle();
  if (phase_ == Phase::Ending) end_transport();
  if (!is_over() || is_deferred_) return;
  over_.set();
  if (has_handle_ || is_deferred_) return;  // A task that was woken may have released this object.
  if (Owner* const owner = std::exchange(owner_, nullptr)) owner->on_end(*this, *reason_);
  delete this;
}

void Connection::flush() noexcept {
  while (flight_ == nullptr && queued_bytes() != 0 && phase_ < Phase::Ending) {
    flight_ = new Flight(*this);
    if (!transport_.send(*flight_)) {
      wake_at(next_due());
      return;
    }
    landed(*flight_);
  }
  if (phase_ == Phase::Closing && queued_bytes() == 0 && !std::exchange(is_shut_, true)) {
    transport_.shutdown_write();
  }
}

void Connection::landed(Flight& flight) noexcept {
  flight_ = nullptr;
  const std::int32_t result = flight.result;
  const std::size_t sent = flight.bytes != 0 ? flight.bytes : flight.own.size();
  if (result >= 0) out_.consume(flight.bytes);
  delete &flight;
  // Assumes that the share of replies is the same in the sent and in the remaining bytes.
  const std::size_t left = queued_bytes();
  response_bytes_ = left == 0 ? 0
                              : static_cast<std::size_t>(static_cast<double>(response_bytes_) *
                                                         static_cast<double>(left) / static_cast<double>(left + sent));
  if (result < 0) return lost(transport_.error("send", result));
  if (queued_bytes() <= options().low_bytes) has_large_frame_ = false;
  if (was_above_low_ && queued_bytes() <= options().low_bytes) notify_writable();
}

void Connection::notify_writable() noexcept {
  was_above_low_ = false;
  while (!is_closed() && !is_above_high()) {
    SendCore* const send = waiting_sends_.pop_front();
    if (send == nullptr) break;
    if (Result<> pushed = push(send->frame_); !pushed) send->error_.emplace(std::move(pushed).error());
    send->wake();
  }
  if (is_closed()) return;
  for (auto* const streams : {&opened_, &accepted_}) {
    for (std::size_t i = 0; i < streams->size() && !is_above_high(); ++i) {
      if ((*streams)[i] != nullptr) (*streams)[i]->retry_send();
    }
  }
  if (sink_ != nullptr && !is_closed()) sink_->on_writable(*this);
}

void Connection::end_transport() noexcept {
  if (flight_ != nullptr) {
    if (!std::exchange(is_cancelling_send_, true)) transport_.cancel(*flight_);
    return;
  }
  if (transport_.is_receiving()) {
    if (std::exchange(is_cancelling_, true)) return;
    transport_.release();
    if (is_paused_) {
      is_paused_ = false;
      transport_.resume();
    }
    return transport_.cancel_receive();
  }
  transport_.release();
  transport_.close();
  phase_ = Phase::Closed;
  out_.clear();
  batch_.release();
  if (timer_.is_running()) loop_.stop_timer(timer_);
  if (settings_->metrics != nullptr) {
    settings_->metrics->connections.add(-1);
    settings_->metrics->closed(reason_->code());
  }
  if (FrameSink* const sink = std::exchange(sink_, nullptr)) sink->on_closed(*this, *reason_);
}

// --- time -----------------------------------------------------------------------------------------------------------

void Connection::note_idle() noexcept {
  if (!is_idle()) return;
  if (!idle_.is_set()) idle_.set();
  if (is_drain_known_ && owner_ != nullptr && phase_ <= Phase::Open) owner_->on_idle(*this);
}

void Connection::wake_at(Instant at) noexcept {
  if (at.is_never() || (timer_.is_running() && timer_.at <= at)) return;
  loop_.start_timer(timer_, at);
}

Instant Connection::next_due() const noexcept {
  if (phase_ >= Phase::Ending) return Instant::never();
  if (phase_ == Phase::Closing) return since_ + options().close_timeout;
  Instant due = Instant::never();
  if (phase_ == Phase::Greeting) {
    due = since_ + options().hello_timeout;
  } else if (options().heartbeat > Duration()) {
    due = (has_pinged_ ? since_ : last_received_) + options().heartbeat;
  }
  if (is_draining_ && !is_drain_known_ && phase_ == Phase::Open) due = std::min(due, since_ + options().close_timeout);
  if (flight_ != nullptr) due = std::min(due, flight_->last_progress + options().stall_timeout);
  return due;
}

// One timer serves all purposes: it is not restarted for each frame; when it fires, it checks what is due.
void Connection::tick() noexcept {
  const Instant now = loop_.now();
  if (phase_ == Phase::Closing) {
    if (now >= since_ + options().close_timeout) {
      transport_.reset_on_close();
      phase_ = Phase::Ending;
      return schedule();
    }
    return wake_at(next_due());
  }
  if (phase_ >= Phase::Ending) return;
  if (flight_ != nullptr) {
    const std::uint64_t progress = transport_.progress(*flight_);
    if (progress != flight_->progress) {
      flight_->progress = progress;
      flight_->last_progress = now;
    } else if (now >= flight_->last_progress + options().stall_timeout) {
      transport_.reset_on_close();
      return lost(
          Error(Code::Unavailable, "the peer received none of the sent bytes within stall_timeout").from_environment());
    }
  }
  if (phase_ == Phase::Greeting) {
    if (now >= since_ + options().hello_timeout) {
      return close(Error(Code::DeadlineExceeded, "the peer sent no hello within hello_timeout"));
    }
  } else if (options().heartbeat > Duration()) {
    // The peer has a whole heartbeat interval to reply to a ping, because this side may itself have been suspended, and
    // may not have read yet what the peer has sent.
    if (is_paused_) {
      last_received_ = now;
      has_pinged_ = false;
    } else if (has_pinged_ && now >= since_ + options().heartbeat) {
      return close(Error(Code::Unavailable, "the peer was silent for two heartbeats").from_environment());
    } else if (!has_pinged_ && now >= last_received_ + options().heartbeat) {
      has_pinged_ = true;
      since_ = now;
      ping();
    }
  }
  if (is_draining_ && !is_drain_known_ && phase_ == Phase::Open && now >= since_ + options().close_timeout) {
    is_drain_known_ = true;
    schedule();
  }
  wake_at(next_due());
}

}  // namespace keel::messages::internal
