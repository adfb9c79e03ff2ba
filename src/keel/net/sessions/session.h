// keel/net/sessions/session.h — a conversation with a peer that outlives its connections: messages arrive once and in
// order, or a SessionEvent says how many were lost.
//
//   Result<> sent = session.send(Reading{"kitchen", 21.5});         // never waits; kept until the peer has handled it
//   Result<> sent = session.send(state, {.when_full = WhenFull::NewestOfKey, .key = device});
//   co_await session.acknowledged();                                // the peer has handled all messages
//   session.end(Error(Code::PermissionDenied, "the device is blocked"));   // the peer receives the reason
//
// A Session object is one side of the conversation: it belongs to a sessions::Client (client.h) or a sessions::Server
// (server.h). Handlers (handlers.h) handle the messages of the peer, and get a SessionEvent when the state of the
// session changes. A loss is reported in order, in place of the lost messages.
//
// While there is no connection, send() keeps messages, and the next connection sends the messages that the peer has not
// received. A message is acknowledged when its handler has ended, so slow handlers slow the peer down, and
// window_messages and window_bytes limit the messages that wait for their handlers.
//
// Errors:    send(): ResourceExhausted when the ring is full and WhenFull is Refuse or Close; InvalidArgument for a
//            message that is larger than ring_bytes, with any WhenFull; Unavailable when the session has ended. room()
//            and acknowledged(): Unavailable with the reason when the session ends during the wait.
// Ownership: messages are encoded during the call. A Session belongs to its Client or Server.
// Lifetime:  a Session of a server exists until its handlers have received SessionEvent::Kind::Ended, or until the
//            session has moved to another worker. To send later, keep the session's number (Server::find,
//            Registry::send).
// Threads:   the session's worker.
// Cancel:    a cancelled wait has no effect.
// Cost:      about 700 bytes, plus the queued messages; a message is encoded once and copied once. The session has one
//            timer, which messages do not reset: when it fires, the session checks what is due.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/error.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/base/wheel.h"
#include "keel/net/messages/message.h"
#include "keel/net/messages/peer.h"
#include "keel/net/sessions/internal/core.h"
#include "keel/net/sessions/when_full.h"
#include "keel/task/task.h"
#include "keel/task/wait_list.h"

namespace keel::sessions {

class Handlers;

// How many messages and bytes one side keeps, and how often this side sends heartbeats.
struct SessionOptions {
  // The limit of messages that are not acknowledged yet, including those that are not sent yet.
  std::uint32_t ring_messages = 1024;
  // The maximum memory for messages that are not acknowledged yet, including those that are not sent yet; each message
  // takes its payload plus 64 bytes. ring_bytes also bounds the memory for a peer that is disconnected.
  std::uint32_t ring_bytes = 1 << 20;
  // The limit of messages that are received and not handled; the peer receives this limit and must respect it.
  std::uint32_t window_messages = 1024;
  std::uint32_t window_bytes = 1 << 20;  // The limit of unhandled bytes.
  // A peer that is silent for this long is pinged; after two pings without a reply the connection is closed, and the
  // session continues without a connection. Both sides use the shorter of their values, but at least 10 ms. 0: this
  // side requests no heartbeats, so the value of the other side applies; if both values are 0, a silent connection is
  // kept.
  Duration heartbeat = 15_s;
  std::uint32_t ack_every = 32;  // A separate acknowledgement is sent after this many handled messages.
  // The longest time until a handled message is acknowledged. Messages in the other direction also carry an
  // acknowledgement.
  Duration ack_after = 40_ms;
};

// What happens to a message when the ring is full.
struct SendOptions {
  WhenFull when_full = WhenFull::Refuse;
  std::uint64_t key = 0;  // For NewestOfKey: a message replaces an unsent one of the same type and key.
};

// A change in the state of a session.
struct SessionEvent {
  enum class Kind : std::uint8_t {
    Connected,  // The session has begun.
    Resumed,    // The session continues over a new connection; only messages that a Lost event reports are lost.
    Lost,
    Ended,  // The last event. After this event, a client does not reconnect.
  };
  Kind kind = Kind::Connected;
  // Set for Lost: the number of the peer's messages that will never arrive, because the peer had no room to keep them.
  std::uint64_t lost = 0;
  // Set for Lost and Ended: the number of this side's messages that the peer may or may not have handled; they are not
  // sent again.
  std::uint64_t unconfirmed = 0;
  // Set for Lost: the peer has forgotten the session, for example because it restarted. Messages that the peer had kept
  // for this side are lost as well; their number is unknown. A Connected event follows.
  bool is_forgotten = false;
  // Set for Ended: the reason; valid only during the call.
  const Error* reason = nullptr;
};

// The counts since the session began.
struct SessionStats {
  std::uint64_t sent = 0;      // Messages that send() accepted.
  std::uint64_t received = 0;  // Messages received.
  std::uint64_t failed = 0;    // Messages whose handler failed, or that have no handler.
  std::uint64_t lost = 0;      // Messages that were lost, as reported by the SessionEvents.
  std::uint64_t dropped = 0;   // Messages of this side that were dropped because of WhenFull::DropOldest.
  std::uint64_t resumed = 0;
  std::uint64_t heartbeats_missed = 0;
};

namespace internal {

// A received message that waits until the running handler has ended.
struct ReceivedMessage {
  Core::Event event;
  Buffer payload;
};

// A session that is being moved to another worker.
struct MovingSession {
  Core core;
  Token token;
  std::uint64_t attempt;
  std::string name;
  Duration expiry;
  SessionStats stats;
  std::vector<ReceivedMessage> inbox;
  // During the move, the session had no room for a message that was sent with WhenFull::Close.
  bool is_too_slow = false;
};

}  // namespace internal

class Session : protected messages::FrameSink, private Timer {
 public:
  class Wait;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Both sides know the session by this number. The number is 0 in a client's session that was never connected.
  std::uint64_t number() const noexcept { return token_.number; }
  // On a server, the client's identity, as ServerOptions::authenticate returned it; on a client, the name that the
  // client sends.
  std::string_view name() const noexcept { return name_; }
  bool is_connected() const noexcept { return core_.is_linked(); }
  bool has_ended() const noexcept { return has_ended_; }
  // The connection, for requests outside the session; null while the session has no connection.
  messages::Peer* peer() const noexcept { return core_.is_linked() ? peer_ : nullptr; }

  template <class M>
  Result<> send(const M& message, const SendOptions& options = {}) {
    Buffer payload;
    messages::encode(payload, message);
    return push(messages::type_of(message), std::move(payload), options);
  }
  // Completes when the ring has room for a message of this many bytes: immediately, or once the peer has acknowledged
  // enough. Another task may take this room before the awaiting task sends.
  [[nodiscard]] Wait room(std::size_t payload_bytes = 0) noexcept;
  // Completes when the peer has handled every message that was sent.
  [[nodiscard]] Wait acknowledged() noexcept;
  // Ends the session on both sides; messages that were not sent yet are dropped. The peer gets the code of `reason`,
  // and also the message of `reason` unless this error is from the environment or a bug. Without a connection, the peer
  // is not told; a server then keeps its side of the session until that side expires. Idempotent.
  void end(Error reason) noexcept;

  // The number of unacknowledged messages.
  std::size_t unacknowledged() const noexcept { return core_.unacknowledged(); }
  std::size_t ring_bytes() const noexcept { return core_.ring_bytes(); }
  SessionStats stats() const noexcept;

 protected:
  using Point = internal::Point;
  using Token = internal::Token;

  Session(const Handlers& handlers, const SessionOptions& options, internal::Role role);
  virtual ~Session();

  // Starts using this connection; every message received on it so far must have been handled. All arguments except
  // `peer` are from the peer's welcome or hello.
  Result<> link(messages::Peer& peer, const Point& point, const internal::Window& window, Duration heartbeat);
  // Stops using the connection; packets that still arrive over it are ignored.
  void unlink(Error reason) noexcept;
  // Sends whatever is ready, while the connection has room.
  void flush() noexcept;
  void tell(const SessionEvent& event) noexcept;
  // Sends a Bye with the reason to the peer.
  void say_bye(const Error& reason) noexcept;
  // Ends the session without telling the peer.
  void finish(const Error& reason) noexcept;
  // Ends the session without telling the peer or the handlers; ended() is not called. False: the session had already
  // ended.
  bool abandon(const Error& reason) noexcept;
  // Called when the peer has forgotten the session: begins a new session, which keeps the messages that were never
  // sent, and reports the lost messages.
  std::uint64_t begin_again();
  Error end_reason() const noexcept;
  // Starts the timer for the next event, unless the timer already fires earlier.
  void arm() noexcept;
  bool is_busy() const noexcept { return running_ != nullptr; }

  // Moves the session to another worker, while no handler runs. After the call, this object cannot be used any more;
  // waiting tasks get `reason`.
  internal::MovingSession move_out(Error reason);
  void move_in(internal::MovingSession&& moving);

  // Called for a frame that arrives before link(): on a client, the reply to its hello.
  virtual Result<> greet(std::string_view packet) = 0;
  // Called when the connection has ended and the session continues.
  virtual void unlinked(const Error& reason) noexcept = 0;
  virtual void bye(const Error& reason) noexcept { finish(reason); }  // Called when the peer has ended the session.
  // Called once when the session has ended, as the last call of this interface.
  virtual void ended() noexcept = 0;
  // The time at which the session ends because it has no connection; never() while it is connected.
  virtual Instant expires() const noexcept = 0;
  virtual void expire() noexcept = 0;
  virtual void idle() noexcept {}   // Called when the last running handler has ended; may destroy the session.
  virtual void noted() noexcept {}  // Called when a value of stats() has changed.

  Result<> on_frame(messages::Peer& peer, std::string_view payload) noexcept override;
  void on_batch_end(messages::Peer& peer) noexcept override;
  void on_writable(messages::Peer& peer) noexcept override;
  void on_closed(messages::Peer& peer, const Error& reason) noexcept override;

  const Handlers& handlers_;
  internal::Core core_;
  Token token_;
  std::uint64_t attempt_ = 0;  // The number of the current connection among all connections of the client.
  std::string name_;
  Duration expiry_ = 60_s;
  messages::Peer* peer_ = nullptr;
  SessionStats stats_;
  bool has_ended_ = false;

 private:
  friend class Handlers;
  struct Running;  // The Task of a handler, which is still running.

  Result<> push(std::uint16_t type, Buffer&& payload, const SendOptions& options);
  Result<> take(std::string_view packet);
  Result<> accept(const internal::Core::Event& event);
  // Calls the handler for `event`. False: the handler is still running.
  bool handle(const internal::Core::Event& event) noexcept;
  void handle_waiting() noexcept;
  // Runs a handler's task.
  void start(Task<>&& task);
  void handler_ended() noexcept;
  void failed(const Error& error) noexcept;
  void wake() noexcept;
  static void fired(Timer& timer) noexcept;

  WaitList waiting_;
  std::vector<internal::ReceivedMessage> inbox_;
  std::size_t inbox_first_ = 0;
  Running* running_ = nullptr;
  std::uint64_t handling_ = 0;  // The number of the message whose handler runs.
  std::size_t handling_cost_ = 0;
  std::optional<Error> reason_;  // The reason why the session ended.
};

class [[nodiscard]] Session::Wait : public Waiting {
 public:
  using Value = void;
  Wait(Session& session, std::optional<std::size_t> room) noexcept : session_(session), room_(room) {}
  bool start() noexcept { return is_over() ? settle() : wait_in(session_.waiting_); }
  Result<> take() noexcept;

 private:
  friend class Session;
  bool is_over() const noexcept {
    return session_.has_ended_ || (room_ ? session_.core_.has_room(*room_) : session_.core_.unacknowledged() == 0);
  }
  // Stores the result when the wait is over, because the session may be gone when the task continues. Returns true.
  bool settle() noexcept;
  Session& session_;
  const std::optional<std::size_t> room_;
  std::optional<Error> failure_;
};

inline Session::Wait Session::room(std::size_t payload_bytes) noexcept { return Wait(*this, payload_bytes); }
inline Session::Wait Session::acknowledged() noexcept { return Wait(*this, std::nullopt); }

}  // namespace keel::sessions
