// Requests and streams in both directions.

#include <string>
#include <utility>

#include "keel/base/check.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/internal/connection.h"
#include "keel/net/messages/internal/stream_state.h"
#include "keel/net/messages/metrics.h"
#include "keel/observe/span.h"

namespace keel::messages::internal {
namespace {

log::TraceId trace_of(const Span* span) noexcept { return span != nullptr ? span->trace : log::TraceId(); }

template <class T>
T*& place(std::vector<T*>& table, std::uint32_t id) {
  if (id >= table.size()) table.resize(id + 1);
  return table[id];
}

Error too_large(std::size_t bytes, std::size_t bytes_max) {
  return Error::text(Code::OutOfRange, "a message of " + std::to_string(bytes) + " bytes is larger than the " +
                                           std::to_string(bytes_max) + " that the peer accepts (frame_bytes_max)");
}

}  // namespace

// --- requests of this side ------------------------------------------------------------------------------------------

bool CallCore::start() noexcept { return connection_->start_call(*this); }
void CallCore::cancel(Leaf& leaf) noexcept {
  auto& call = static_cast<CallCore&>(leaf);
  call.connection_->cancel_call(call);
}

bool Connection::start_call(CallCore& call) noexcept {
  if (is_closed()) {
    call.error_.emplace(why_ended());
  } else if (is_peer_draining_) {
    call.error_.emplace(Error(Code::Unavailable, "the peer accepts no new requests").from_environment());
  } else if (theirs_.requests_max == 0) {
    call.error_.emplace(Code::Unsupported, "the peer accepts no requests");
  } else if (call.frame_.payload.size() > payload_max()) {
    call.error_.emplace(too_large(call.frame_.payload.size(), payload_max()));
  } else if (Result<> waits = call.wait_.begin(*this, call.context()); !waits) {
    call.error_.emplace(std::move(waits).error());
  } else {
    try {
      if (outstanding_ < theirs_.requests_max && waiting_calls_.empty()) {
        send_call(call);
      } else {
        waiting_calls_.push_back(call);
      }
      return false;
    } catch (...) {
      call.error_.emplace(Error::from_exception());
    }
  }
  if (settings_->metrics != nullptr) settings_->metrics->failed_calls.add();
  return true;
}

// A Start begins the handler, and the context of the Start is the outermost context of every task of the handler
// (task/start.h). The outermost context of a task therefore identifies the handler to which the task belongs.
Result<> PeerWait::begin(Connection& connection, const Context& context) noexcept {
  if (connection.running_messages_ == 0) return {};
  const Context* top = &context;
  while (top->parent() != nullptr) top = top->parent();
  Handling* waiting = nullptr;
  connection.running_.for_each([&](Handling& handling) {
    const bool is_it = static_cast<const void*>(top) == static_cast<const void*>(&handling.start());
    if (is_it && handling.kind_ == Handling::Kind::Message) waiting = &handling;
  });
  if (waiting == nullptr) return {};
  if (waiting->waits_ == 0) {
    if (connection.waiting_messages_ + 1 >= connection.options().messages_max) {
      return keel::fail(
          Code::ResourceExhausted,
          "too many handlers of one-way messages wait for their peer (messages_max): make the message a request");
    }
    ++connection.waiting_messages_;
  }
  ++waiting->waits_;
  handling_ = waiting;
  return {};
}

void PeerWait::end() noexcept {
  if (--handling_->waits_ == 0) --handling_->connection_.waiting_messages_;
}

void Connection::send_call(CallCore& call) {
  std::uint32_t id = static_cast<std::uint32_t>(slots_.size());
  if (free_slots_.empty()) {
    slots_.emplace_back();
    free_slots_.reserve(slots_.capacity());
  } else {
    id = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[id] = {&call, true};
  call.id_ = id;
  ++outstanding_;
  const Instant deadline = call.context().deadline();
  Frame frame{.kind = FrameKind::Request, .type = call.frame_.type, .id = id, .payload = call.frame_.payload.view()};
  if (!deadline.is_never()) frame.time_left = deadline - loop_.now();
  frame.trace = trace_of(call.context().span());
  queue(frame);
  if (settings_->metrics != nullptr) settings_->metrics->calls.add();
}

void Connection::free_slot(std::uint32_t id) noexcept {
  slots_[id] = {};
  free_slots_.push_back(id);
  --outstanding_;
  if (waiting_calls_.empty() || is_closed()) return;
  CallCore* const waiting = waiting_calls_.pop_front();
  try {
    send_call(*waiting);
  } catch (...) {
    end_call(*waiting, Error::from_exception());
  }
}

void Connection::end_call(CallCore& call, std::optional<Error>&& error) noexcept {
  if (error) {
    call.error_.emplace(std::move(*error));
    if (settings_->metrics != nullptr) settings_->metrics->failed_calls.add();
  }
  call.wake();
}

void Connection::cancel_call(CallCore& call) noexcept {
  if (call.linked()) {
    call.unlink();
  } else {
    slots_[call.id_].call = nullptr;
    queue({.kind = FrameKind::Cancel, .id = call.id_});
  }
  end_call(call, Error(Code::Cancelled, "a request was cancelled"));
}

void Connection::handle_reply(const Frame& frame) {
  if (frame.id >= slots_.size() || !slots_[frame.id].is_used) {
    return protocol_error("the peer replied to a request that was not sent");
  }
  CallCore* const call = slots_[frame.id].call;
  Result<> read;
  if (call != nullptr && frame.kind == FrameKind::Response) read = call->read_(*call, frame.payload);
  free_slot(frame.id);
  if (call == nullptr) return;
  if (frame.kind == FrameKind::Failure) return end_call(*call, parse_error(frame.payload));
  if (read) return end_call(*call, {});
  end_call(*call, std::move(read).error().as(Code::Protocol).because("the reply of the peer").from_environment());
}

bool SendCore::start() noexcept { return connection_->start_send(*this); }
Result<> SendCore::take() noexcept {
  if (error_) return std::move(*error_);
  return {};
}
void SendCore::cancel(Leaf& leaf) noexcept {
  auto& send = static_cast<SendCore&>(leaf);
  send.unlink();
  send.error_.emplace(Code::Cancelled, "a wait to send was cancelled");
  send.wake();
}

bool Connection::start_send(SendCore& send) noexcept {
  if (!is_closed() && (is_above_high() || !waiting_sends_.empty())) {
    waiting_sends_.push_back(send);
    return false;
  }
  try {
    if (Result<> pushed = push(send.frame_); !pushed) send.error_.emplace(std::move(pushed).error());
  } catch (...) {
    send.error_.emplace(Error::from_exception());
  }
  return true;
}

Result<> Connection::push(const Outgoing& frame) {
  if (is_closed()) return why_ended();
  if (frame.payload.size() > payload_max()) return too_large(frame.payload.size(), payload_max());
  if (frame.payload.size() + queued_bytes() > options().queued_bytes_max) {
    return keel::fail(Code::ResourceExhausted, "too much is queued for the peer (queued_bytes_max)");
  }
  queue({.kind = frame.kind, .type = frame.type, .trace = trace_of(current_span()), .payload = frame.payload.view()});
  return {};
}

Result<> Connection::push_session(std::string_view payload) {
  if (is_closed()) return why_ended();
  if (payload.size() > payload_max()) return too_large(payload.size(), payload_max());
  // A session sends the same message over every connection: a message that is rejected here would be rejected forever.
  const bool is_next = queued_bytes() <= options().low_bytes;
  if (payload.size() + queued_bytes() > options().queued_bytes_max) {
    if (!is_next) return keel::fail(Code::ResourceExhausted, "too much is queued for the peer (queued_bytes_max)");
    has_large_frame_ = true;
  }
  queue({.kind = FrameKind::Session, .payload = payload});
  return {};
}

// --- requests of the peer -------------------------------------------------------------------------------------------

void Connection::handle_request(const Frame& frame) {
  if (frame.id >= options().requests_max) return protocol_error("the peer sent more requests than requests_max allows");
  if (place(requests_, frame.id) != nullptr || (held_ != nullptr && held_->has(frame.id))) {
    return protocol_error("the peer used one id for two requests");
  }
  if (settings_->metrics != nullptr) settings_->metrics->requests.add();
  if (is_drain_known_) [[unlikely]] {
    return fail(frame.id, Error(Code::Unavailable, "no new requests are accepted: the connection is being drained"));
  }
  if (held_ != nullptr || has_many_responses()) [[unlikely]]
    return hold(frame);
  handle_message(frame, Handling::Kind::Request);
}

void Connection::hold(const Frame& frame) {
  if ((held_ != nullptr ? held_->bytes() : 0) + frame.payload.size() > options().queued_bytes_max) {
    return fail(frame.id,
                Error(Code::ResourceExhausted,
                      "too much is queued in both directions: receive replies before sending further requests"));
  }
  if (held_ == nullptr) held_ = std::make_unique<HeldRequests>();
  held_->push(frame, loop_.now());
}

void Connection::handle_held() noexcept {
  try {
    while (held_ != nullptr && !has_many_responses()) {
      const std::unique_ptr<HeldRequests::Request> request = held_->pop();
      if (held_->empty()) held_.reset();
      Frame& frame = request->frame;
      if (frame.time_left) frame.time_left = request->deadline - loop_.now();
      if (frame.time_left && *frame.time_left <= Duration()) {
        fail(frame.id, Error(Code::DeadlineExceeded, "the deadline of the request has passed before it was handled"));
      } else {
        handle_message(frame, Handling::Kind::Request);
      }
    }
  } catch (...) {
    lost(Error::from_exception());
  }
}

void Connection::cancel_request(std::uint32_t id) {
  if (id < requests_.size() && requests_[id] != nullptr) return requests_[id]->start().stop();
  if (held_ == nullptr || !held_->has(id)) return;
  held_->remove(id);
  if (held_->empty()) held_.reset();
  fail(id, Error(Code::Cancelled, "the request was cancelled before it was handled"));
}

void Connection::handle_message(const Frame& frame, Handling::Kind kind) {
  const Handlers::Handle* const handle =
      settings_->handlers != nullptr ? settings_->handlers->find(frame.type, Incoming::What::Message) : nullptr;
  if (handle == nullptr) [[unlikely]] {
    if (kind != Handling::Kind::Request) return count_dropped();
    return fail(frame.id,
                Error::text(Code::NotFound, "there is no handler for messages of type " + std::to_string(frame.type)));
  }
  Incoming incoming(*this, frame, kind);
  (*handle)(incoming);
}

Peer& Incoming::peer() const noexcept { return connection_; }
void Incoming::reject(Error&& error) noexcept { connection_.reject(frame_, kind_, stream_, error); }
void Incoming::respond_empty() {
  if (kind_ == Handling::Kind::Request) Reply(connection_, frame_.id).send();
}
void Incoming::start(Handling& handling) noexcept { connection_.begin(handling, frame_, kind_, stream_); }

void Connection::reject(const Frame& frame, Handling::Kind kind, StreamState* stream, const Error& error) noexcept {
  switch (kind) {
    case Handling::Kind::Request:
      return fail(frame.id, error);
    case Handling::Kind::Message:
      return count_dropped();
    case Handling::Kind::Stream:
      return stream->handled(&error);
  }
}

void Connection::count_dropped() noexcept {
  if (settings_->metrics != nullptr) settings_->metrics->dropped.add();
}

void Connection::begin(Handling& handling, const Frame& frame, Handling::Kind kind, StreamState* stream) noexcept {
  handling.kind_ = kind;
  handling.id_ = frame.id;
  handling.stream_ = stream;
  running_.push_back(handling);
  ++handlings_;
  if (kind == Handling::Kind::Message) ++running_messages_;
  if (kind == Handling::Kind::Request) requests_[frame.id] = &handling;
  StartOptions start;
  if (frame.time_left) start.deadline = loop_.now() + *frame.time_left;
  if (frame.trace) {
    handling.span_.trace = frame.trace;
    start.span = &handling.span_;
  }
  if (handling.begin(start)) return handling.finish();
  if (frame.time_left) loop_.start_timer(handling.timer_, start.deadline);
}

void Handling::Deadline::passed(Timer& timer) noexcept {
  static_cast<Deadline&>(timer).handling.start().stop(Code::DeadlineExceeded);
}

void Handling::respond_error(Error&& error) noexcept {
  switch (kind_) {
    case Kind::Request:
      return connection_.fail(id_, error);
    case Kind::Message:
      return connection_.count_dropped();
    case Kind::Stream:
      return stream_->handled(&error);
  }
}

void Handling::respond_empty() noexcept {
  if (kind_ == Kind::Request) Reply(connection_, id_).send();
  if (kind_ == Kind::Stream) stream_->handled(nullptr);
}

void Handling::ended() noexcept { connection_.ended(*this); }

void Connection::ended(Handling& handling) noexcept {
  if (handling.timer_.is_running()) loop_.stop_timer(handling.timer_);
  running_.remove(handling);
  --handlings_;
  if (handling.kind_ == Handling::Kind::Message) --running_messages_;
  if (handling.kind_ == Handling::Kind::Request) requests_[handling.id_] = nullptr;
  handling.destroy();
  schedule();
}

void Connection::fail(std::uint32_t id, const Error& error) {
  if (is_closed()) return;
  if (settings_->metrics != nullptr) settings_->metrics->failures.add();
  if (queued_bytes() > queued_max()) {
    return close(Error(Code::ResourceExhausted, "the peer does not read its replies (queued_bytes_max)"));
  }
  Buffer payload;
  put_error(payload, error);
  queue_response({.kind = FrameKind::Failure, .id = id, .payload = payload.view()});
}

// --- streams --------------------------------------------------------------------------------------------------------

Result<StreamState*> Connection::open_stream(const Outgoing& frame) {
  if (is_closed()) return why_ended();
  if (is_peer_draining_) {
    return Error(Code::Unavailable, "the peer accepts no new streams").from_environment();
  }
  if (frame.payload.size() > payload_max()) return too_large(frame.payload.size(), payload_max());
  std::uint32_t at = 0;
  while (at < opened_.size() && opened_[at] != nullptr) ++at;
  if (at >= theirs_.streams_max) {
    return keel::fail(Code::ResourceExhausted, "the peer's limit of open streams is reached (streams_max)");
  }
  // Each stream gets a different number, because credit for an earlier stream with the same index may still be on its
  // way.
  const std::uint32_t id = at | static_cast<std::uint32_t>(next_stream_++) << 16;
  StreamState*& place_of_it = place(opened_, at);
  auto* const stream = place_of_it = new StreamState(*this, id, true, theirs_.stream_bytes);
  ++open_streams_;
  queue({.kind = FrameKind::Open,
         .type = frame.type,
         .id = id,
         .trace = trace_of(current_span()),
         .payload = frame.payload.view()});
  return stream;
}

void Connection::handle_open(const Frame& frame) {
  const std::uint32_t number = frame.id & 0xffff;
  if (number >= options().streams_max) return protocol_error("the peer opened more streams than streams_max allows");
  StreamState*& at = place(accepted_, number);
  if (at != nullptr) return protocol_error("the peer used one id for two streams");
  if (queued_bytes() > queued_max()) {
    return close(Error(Code::ResourceExhausted, "the peer does not read the ends of its streams (queued_bytes_max)"));
  }
  StreamState* const stream = at = new StreamState(*this, frame.id, false, theirs_.stream_bytes);
  ++open_streams_;
  stream->is_handled_ = true;
  if (is_drain_known_) {
    const Error error(Code::Unavailable, "no new streams are accepted: the connection is being drained");
    return stream->handled(&error);
  }
  const Handlers::Handle* const handle =
      settings_->handlers != nullptr ? settings_->handlers->find(frame.type, Incoming::What::Stream) : nullptr;
  if (handle == nullptr) {
    const Error error =
        Error::text(Code::NotFound, "there is no handler for streams of type " + std::to_string(frame.type));
    return stream->handled(&error);
  }
  Incoming incoming(*this, frame, Handling::Kind::Stream, stream);
  (*handle)(incoming);
}

void Connection::handle_in_stream(const Frame& frame) {
  std::vector<StreamState*>& streams = frame.from_opener ? accepted_ : opened_;
  const std::uint32_t number = frame.id & 0xffff;
  StreamState* const stream = number < streams.size() ? streams[number] : nullptr;
  if (stream == nullptr || stream->id() != frame.id) {
    // Credit and Abandon concern this side's direction, and may arrive after that direction has ended.
    if (frame.kind == FrameKind::Credit || frame.kind == FrameKind::Abandon) return;
    return protocol_error("the peer sent a frame for a stream that is not open");
  }
  const char* problem = nullptr;
  switch (frame.kind) {
    case FrameKind::Data:
      problem = stream->data(frame.payload);
      break;
    case FrameKind::Credit:
      problem = stream->credit(frame.payload);
      break;
    case FrameKind::End:
      problem = stream->end(frame.payload);
      break;
    default:
      stream->abandoned();
      break;
  }
  if (problem != nullptr) protocol_error(problem);
}

void Connection::release(StreamState& stream) noexcept {
  (stream.is_opener() ? opened_ : accepted_)[stream.id() & 0xffff] = nullptr;
  --open_streams_;
  schedule();
}

}  // namespace keel::messages::internal

// --- Peer -----------------------------------------------------------------------------------------------------------

namespace keel::messages {
namespace {
const internal::Connection& of(const Peer& peer) noexcept { return static_cast<const internal::Connection&>(peer); }
}  // namespace

internal::Connection& Peer::connection() noexcept { return static_cast<internal::Connection&>(*this); }
Result<> Peer::push(internal::Outgoing&& frame) { return connection().push(frame); }
Result<MessageStream> Peer::open_stream(internal::Outgoing&& frame) {
  KEEL_TRY(internal::StreamState* const stream, connection().open_stream(frame));
  return MessageStream(*stream);
}
Result<> Peer::try_send_session(std::string_view payload) { return connection().push_session(payload); }
void Peer::attach(FrameSink* sink) noexcept { connection().sink_ = sink; }
void Peer::close(Error reason) { connection().close(std::move(reason)); }
void Peer::drain() { connection().drain(); }
bool Peer::is_closed() const noexcept { return of(*this).is_closed(); }
bool Peer::is_paused() const noexcept { return of(*this).is_paused_; }
bool Peer::is_draining() const noexcept { return of(*this).is_peer_draining_; }
std::size_t Peer::queued_bytes() const noexcept { return of(*this).queued_bytes(); }
std::size_t Peer::outstanding() const noexcept { return of(*this).outstanding_; }
std::size_t Peer::handling() const noexcept { return of(*this).handlings_; }
Address Peer::address() const noexcept {
  const internal::Connection& connection = of(*this);
  if (!connection.transport_.is_open()) return {};
  return connection.transport_.engine().peer_address(connection.transport_.descriptor());
}
std::string_view Peer::identity() const noexcept {
  const TransportLayer* const layer = of(*this).transport_.layer();
  return layer != nullptr ? layer->peer_identity() : std::string_view();
}
Instant Peer::last_received() const noexcept { return of(*this).last_received_; }
const PeerOptions& Peer::options() const noexcept { return of(*this).options(); }

}  // namespace keel::messages
