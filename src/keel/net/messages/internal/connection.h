// One connection for messages: its transport, the outstanding requests and streams of both sides, and its end.
//
// Everything to be sent is queued, and work(), which the loop runs once at the end of an iteration, sends it. A
// connection is destroyed only in work().

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/uio.h>

#include "keel/base/buffer_chain.h"
#include "keel/base/list.h"
#include "keel/base/member.h"
#include "keel/base/wheel.h"
#include "keel/io/loop.h"
#include "keel/net/messages/frame.h"
#include "keel/net/messages/internal/held_requests.h"
#include "keel/net/messages/internal/incoming.h"
#include "keel/net/messages/peer.h"
#include "keel/net/transport.h"
#include "keel/task/event.h"

namespace keel::messages {

class Handlers;
class MessageMetrics;

namespace internal {

class Connection;
class StreamState;

// The state that all connections of a server or a client share.
struct Settings {
  PeerOptions options;
  const Handlers* handlers = nullptr;
  const MessageMetrics* metrics = nullptr;
};

// Even when queued_bytes_max is small, send() must begin to wait before the limit is reached.
inline PeerOptions with_room_to_wait(PeerOptions options) noexcept {
  options.high_bytes = std::min(options.high_bytes, options.queued_bytes_max / 2);
  options.low_bytes = std::min(options.low_bytes, options.high_bytes);
  return options;
}

class Owner {
 public:
  virtual void on_open(Connection& connection) noexcept = 0;
  virtual void on_idle(Connection& connection) noexcept = 0;
  // The connection is destroyed after this call.
  virtual void on_end(Connection& connection, const Error& reason) noexcept = 0;

 protected:
  ~Owner() = default;
};

class Connection final : public Peer, public Link {
 public:
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* connection, std::size_t bytes) noexcept { pool_free(connection, bytes); }

  // A connection with an owner destroys itself at its end; a connection without an owner does so only after let_go().
  // The settings are shared, because a connection may outlive its owner and the client.
  Connection(const Endpoint& endpoint, std::shared_ptr<const Settings> settings, Owner* owner);
  ~Connection();

  void close(Error reason);
  void drain();
  // Call let_go() when the owner or the Client's handle is destroyed.
  void let_go() noexcept;

  bool is_closed() const noexcept { return phase_ >= Phase::Closing; }
  bool is_greeted() const noexcept { return phase_ == Phase::Open; }
  // Whether both the transport and the handlers of this connection have ended.
  bool is_over() const noexcept { return phase_ == Phase::Closed && handlings_ == 0; }
  bool is_idle() const noexcept {
    return is_closed() ||
           (handlings_ == 0 && held_ == nullptr && outstanding_ == 0 && open_streams_ == 0 && queued_bytes() == 0);
  }
  const Error& reason() const noexcept { return *reason_; }
  // The event that is set when the peer's hello has arrived, or the connection is closed.
  Event& greeted() noexcept { return greeted_; }
  Event& idle() noexcept { return idle_; }
  Event& over() noexcept { return over_; }

  bool start_call(CallCore& call) noexcept;
  void cancel_call(CallCore& call) noexcept;
  bool start_send(SendCore& send) noexcept;
  Result<> push(const Outgoing& frame);
  Result<> push_session(std::string_view payload);
  Result<StreamState*> open_stream(const Outgoing& frame);

  // The following functions are for handlers.
  void begin(Handling& handling, const Frame& frame, Handling::Kind kind, StreamState* stream) noexcept;
  void ended(Handling& handling) noexcept;
  void fail(std::uint32_t id, const Error& error);
  void reject(const Frame& frame, Handling::Kind kind, StreamState* stream, const Error& error) noexcept;
  void count_dropped() noexcept;

  // Used by streams: their credit limits the amount that they send, so this function has no limit.
  void queue(const Frame& frame);
  // Queues a frame for which the peer waits.
  void queue_response(const Frame& frame) {
    response_bytes_ += frame.payload.size() + Frame::head_bytes;
    queue(frame);
  }
  std::size_t payload_max() const noexcept { return theirs_.frame_bytes_max - Frame::overhead_bytes_max; }
  bool is_above_high() const noexcept { return queued_bytes() > options().high_bytes; }
  void release(StreamState& stream) noexcept;  // Call release() when both directions have ended.
  std::uint32_t stream_bytes() const noexcept { return options().stream_bytes_max; }
  Error why_ended() const noexcept;

  const PeerOptions& options() const noexcept { return settings_->options; }
  std::size_t queued_bytes() const noexcept;
  // The limit of the bytes that the peer causes to be queued; a session's frame that exceeds the limit is not the
  // peer's fault.
  std::size_t queued_max() const noexcept {
    return options().queued_bytes_max + (has_large_frame_ ? options().low_bytes + payload_max() : 0);
  }

 private:
  friend class messages::Peer;
  friend class CallCore;
  friend class PeerWait;
  friend class Reply;
  enum class Phase : std::uint8_t {
    Greeting,  // The peer's hello has not arrived yet.
    Open,
    Closing,  // The queue is being sent; after that, the connection waits until the peer closes its side.
    Ending,   // The operations of the transport are being cancelled.
    Closed,
  };
  struct Flight;
  struct Slot {
    CallCore* call = nullptr;  // Null: the call was cancelled, and the peer has not replied yet.
    bool is_used = false;
  };

  void received() noexcept;
  void read_on();
  // Of the queued bytes, only responses and the ends of the peer's streams count, because reading causes only these. If
  // other frames counted too, two sides that both have much to send would both stop reading forever. To avoid such a
  // deadlock, a side that itself waits for responses continues to read, and holds the requests that it reads. The peer
  // waits for the responses that are queued here, so the peer continues to read as well.
  bool has_many_responses() const noexcept { return response_bytes_ > options().high_bytes; }
  bool is_to_pause() const noexcept {
    const bool awaits = outstanding_ != 0 || open_streams_ != 0;
    return (has_many_responses() && !awaits) || running_messages_ >= options().messages_max;
  }
  void resume_reading() noexcept;
  void dispatch(const Frame& frame);
  void greet(const Frame& frame);
  void handle_request(const Frame& frame);
  void hold(const Frame& frame);
  void cancel_request(std::uint32_t id);
  void handle_held() noexcept;
  void handle_message(const Frame& frame, Handling::Kind kind);
  void handle_reply(const Frame& frame);
  void handle_open(const Frame& frame);
  void handle_in_stream(const Frame& frame);

  void send_call(CallCore& call);
  void free_slot(std::uint32_t id) noexcept;
  void end_call(CallCore& call, std::optional<Error>&& error) noexcept;
  void spill();
  Buffer take_batch();  // Takes the most recently queued bytes, which the caller must put back.
  void queued();
  void schedule() noexcept;
  void work() noexcept;
  void flush() noexcept;
  void landed(Flight& flight) noexcept;
  void notify_writable() noexcept;
  void lost(Error reason) noexcept;
  void protocol_error(const char* message);
  void set_reason(Error&& reason) noexcept;
  void fail_all() noexcept;
  void end_transport() noexcept;
  void ping();
  void ponged() noexcept;
  void note_idle() noexcept;
  void tick() noexcept;
  void wake_at(Instant at) noexcept;
  Instant next_due() const noexcept;

  const std::shared_ptr<const Settings> settings_;
  Owner* owner_;
  FrameSink* sink_ = nullptr;
  io::Loop& loop_;
  Phase phase_ = Phase::Greeting;
  bool has_handle_;
  bool is_deferred_ = false;
  bool is_reading_ = false;  // True during received() and the functions that it calls.
  bool is_paused_ = false;
  bool is_shut_ = false;  // After shutdown_write().
  bool has_peer_ended_ = false;
  bool is_draining_ = false;
  // True: the peer has replied to the ping after the drain frame, or has had time to reply, so it sends no further
  // requests.
  bool is_drain_known_ = false;
  bool is_peer_draining_ = false;
  bool has_checksums_ = false;
  bool was_above_low_ = false;
  bool has_pinged_ = false;
  bool is_cancelling_ = false;
  bool is_cancelling_send_ = false;
  bool has_large_frame_ = false;  // A session's frame has made the queue longer than queued_bytes_max.
  std::uint16_t running_messages_ = 0;
  std::uint16_t waiting_messages_ = 0;  // The number of running_messages_ that wait for the peer.
  std::uint16_t next_stream_ = 0;
  // The number of pongs expected from the peer, which skips some pongs when it has much to send.
  std::uint16_t pongs_due_ = 0;
  std::uint32_t handlings_ = 0;
  std::uint32_t outstanding_ = 0;
  std::size_t response_bytes_ = 0;  // The approximate number of queued bytes that are responses.
  std::uint32_t open_streams_ = 0;
  Hello theirs_;
  Instant last_received_;
  // The time of the latest of these events: the connection was made, the peer's hello arrived, a ping was sent because
  // the peer was silent, the drain began, the close began.
  Instant since_;
  std::optional<Error> reason_;
  FrameReader reader_;
  // The queue: the bytes of out_, then those of batch_. Bytes that are being sent are at the front of out_, or are
  // owned by the flight.
  BufferChain out_;
  Buffer batch_;
  Flight* flight_ = nullptr;
  std::vector<Slot> slots_;  // This side's requests, by id.
  std::vector<std::uint32_t> free_slots_;
  List<CallCore> waiting_calls_;
  List<SendCore> waiting_sends_;
  List<Handling> running_;
  std::vector<Handling*> requests_;     // Requests of the peer that are being handled, by id.
  std::unique_ptr<HeldRequests> held_;  // Null: no requests are held.
  std::vector<StreamState*> opened_;    // Streams opened by this side, by id.
  std::vector<StreamState*> accepted_;
  Event greeted_;
  Event idle_;
  Event over_;
  Member<Transport, Connection, &Connection::received> transport_{*this};
  Member<Job, Connection, &Connection::work> work_{*this};
  Member<Timer, Connection, &Connection::tick> timer_{*this};
};

}  // namespace internal
}  // namespace keel::messages
