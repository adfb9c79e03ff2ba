// keel/net/sessions/session.h — a conversation with a peer that outlives its connections: messages arrive once and in
// order, or the application is told how many are lost.
//
//   Result<> sent = session.send(Reading{"kitchen", 21.5});         // never waits; kept until the peer has handled it
//   Result<> sent = session.send(state, {.when_full = WhenFull::NewestOfKey, .key = device});
//   co_await session.acknowledged();                                // the peer has handled all of them
//   session.end(Error(Code::PermissionDenied, "the device is blocked"));   // the peer hears why
//
// A Session is one side of it: of a sessions::Client (client.h), or of a sessions::Server (server.h). What the peer
// sends is handled by Handlers (handlers.h), which hear as well what becomes of the session: a SessionEvent. A loss is
// told where the lost messages would have been.
//
// While there is no connection, send() keeps messages, and the next connection sends those that the peer has not seen.
// A message is acknowledged when its handler has ended, so a session whose handlers are slow slows its peer down, and
// window_messages and window_bytes bound what waits for them.
//
// Errors:    of send: ResourceExhausted when the peer is behind and WhenFull is Refuse or Close; InvalidArgument for a
//            message that is larger than ring_bytes, which no WhenFull makes room for; Unavailable when the session has
//            ended. Of room() and acknowledged(): Unavailable with the reason when the session ends meanwhile.
// Ownership: messages are encoded in the call. A Session belongs to its Client or Server.
// Lifetime:  a server's until its handlers were told SessionEvent::Kind::Ended, or the session has moved to another
//            worker: whoever wants to send later keeps its number (Server::find, Registry::send).
// Threads:   its worker's.
// Cancel:    a wait that ends early leaves nothing behind.
// Cost:      about 700 bytes, and what waits; a message is encoded once and copied once. One timer, which is not
//            touched by messages: it looks again when it fires.

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

// What one side keeps, and how often it makes itself heard.
struct SessionOptions {
  std::uint32_t ring_messages = 1024;    // Sent and not acknowledged, or not sent yet.
  std::uint32_t ring_bytes = 1 << 20;    // The same in bytes, 64 more for each: what a peer that is away may cost.
  std::uint32_t window_messages = 1024;  // Received and not handled; the peer is told, and sends no more.
  std::uint32_t window_bytes = 1 << 20;  // The same in bytes.
  // A peer that is silent for this long is asked; without a reply to two of these questions the connection is given up,
  // and the session continues without one. The shorter one of both sides holds, 10 ms at least.
  Duration heartbeat = 15_s;
  std::uint32_t ack_every = 32;  // Messages that are handled before an acknowledgement of its own.
  Duration ack_after = 40_ms;  // The same in time. An acknowledgement goes along with messages of the other direction.
};

// What happens to a message when the ring is full.
struct SendOptions {
  WhenFull when_full = WhenFull::Refuse;
  std::uint64_t key = 0;  // For NewestOfKey: what the message is about.
};

// What becomes of a session.
struct SessionEvent {
  enum class Kind : std::uint8_t {
    Connected,  // The session has begun.
    Resumed,    // It continues over a new connection, and nothing is lost that no Lost tells.
    Lost,
    Ended,  // Last. On a client as well: nothing tries again.
  };
  Kind kind = Kind::Connected;
  // Of Lost: messages of the peer that do not come, because it had no room to keep them.
  std::uint64_t lost = 0;
  // Of Lost and Ended: own messages of which is not known whether the peer has handled them; they are not sent again.
  std::uint64_t unconfirmed = 0;
  // Of Lost: the peer has forgotten the session, as after its restart. What it had kept for this side is lost as well,
  // and nobody knows how much that was. A Connected follows.
  bool is_forgotten = false;
  // Of Ended: why; for the length of the call.
  const Error* reason = nullptr;
};

// In numbers, since the session began.
struct SessionStats {
  std::uint64_t sent = 0;      // Messages given to send() and taken.
  std::uint64_t received = 0;  // Messages that have come.
  std::uint64_t failed = 0;    // Those whose handler failed, or that have none.
  std::uint64_t lost = 0;      // As the SessionEvents told.
  std::uint64_t dropped = 0;   // Own messages, by WhenFull::DropOldest.
  std::uint64_t resumed = 0;
  std::uint64_t heartbeats_missed = 0;
};

namespace internal {

// What waits until a handler has ended.
struct ReceivedMessage {
  Core::Event event;
  Buffer payload;
};

// A session on its way to another worker.
struct MovingSession {
  Core core;
  Token token;
  std::uint64_t attempt;
  std::string name;
  Duration expiry;
  SessionStats stats;
  std::vector<ReceivedMessage> inbox;
};

}  // namespace internal

class Session : protected messages::FrameSink, private Timer {
 public:
  class Wait;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // By which both sides know it. 0: a client's that has not been connected yet.
  std::uint64_t number() const noexcept { return token_.number; }
  // Who the client is, as Server::authenticate has it; on the client what it calls itself.
  std::string_view name() const noexcept { return name_; }
  bool is_connected() const noexcept { return core_.is_linked(); }
  bool has_ended() const noexcept { return has_ended_; }
  // The connection, for requests beside the session; null while there is none.
  messages::Peer* peer() const noexcept { return core_.is_linked() ? peer_ : nullptr; }

  template <class M>
  Result<> send(const M& message, const SendOptions& options = {}) {
    Buffer payload;
    messages::encode(payload, message);
    return push(messages::type_of(message), std::move(payload), options);
  }
  // Complete when the ring has room for a message of this many bytes: immediately, or when the peer has acknowledged
  // more. Whoever else waits may take the room first.
  [[nodiscard]] Wait room(std::size_t payload_bytes = 0) noexcept;
  // Complete when the peer has handled all that was sent.
  [[nodiscard]] Wait acknowledged() noexcept;
  // Ends it on both sides: what was not sent yet is not. The peer hears the code and the message; where there is no
  // connection it does not, and a server keeps its side until that expires. Idempotent.
  void end(Error reason) noexcept;

  std::size_t unacknowledged() const noexcept { return core_.unacknowledged(); }  // Messages.
  std::size_t ring_bytes() const noexcept { return core_.ring_bytes(); }
  SessionStats stats() const noexcept;

 protected:
  using Point = internal::Point;
  using Token = internal::Token;

  Session(const Handlers& handlers, const SessionOptions& options, internal::Role role);
  virtual ~Session();

  // Over this connection, of which nothing has come that is not handled. The peer's welcome or hello said the rest.
  Result<> link(messages::Peer& peer, const Point& point, const internal::Window& window, Duration heartbeat);
  // Gives the connection up: what comes over it is nobody's from now on.
  void unlink(Error reason) noexcept;
  // Sends what there is to send, while the connection has room.
  void flush() noexcept;
  void tell(const SessionEvent& event) noexcept;
  // Says goodbye to the peer, with the reason.
  void say_bye(const Error& reason) noexcept;
  // The end, without a word to the peer.
  void finish(const Error& reason) noexcept;
  // The peer has forgotten the session: another one begins, with the messages that were never sent. Tells what is lost.
  std::uint64_t begin_again();
  Error end_reason() const noexcept;
  // Starts the timer for what is next, unless it fires before.
  void arm() noexcept;
  bool is_busy() const noexcept { return running_ != nullptr; }

  // To another worker, while no handler runs. This one is of no more use; those who wait hear the reason.
  internal::MovingSession move_out(Error reason);
  void move_in(internal::MovingSession&& moving);

  // What comes before link(): of a client the reply to its hello.
  virtual Result<> greet(std::string_view packet) = 0;
  virtual void unlinked(const Error& reason) noexcept = 0;            // The connection is gone, and the session is not.
  virtual void bye(const Error& reason) noexcept { finish(reason); }  // The peer has ended it.
  virtual void ended() noexcept = 0;                                  // Last, once.
  virtual Instant expires() const noexcept = 0;                       // Without a connection; never() otherwise.
  virtual void expire() noexcept = 0;
  virtual void idle() noexcept {}   // No handler runs any more.
  virtual void noted() noexcept {}  // A number of stats() has changed.

  Result<> on_frame(messages::Peer& peer, std::string_view payload) noexcept override;
  void on_batch_end(messages::Peer& peer) noexcept override;
  void on_writable(messages::Peer& peer) noexcept override;
  void on_closed(messages::Peer& peer, const Error& reason) noexcept override;

  const Handlers& handlers_;
  internal::Core core_;
  Token token_;
  std::uint64_t attempt_ = 0;  // Of the client's connections: this one's number.
  std::string name_;
  Duration expiry_ = 60_s;
  messages::Peer* peer_ = nullptr;
  SessionStats stats_;
  bool has_ended_ = false;

 private:
  friend class Handlers;
  struct Running;  // A handler that waits.

  Result<> push(std::uint16_t type, Buffer&& payload, const SendOptions& options);
  Result<> take(std::string_view packet);
  Result<> accept(const internal::Core::Event& event);
  // False: its handler runs.
  bool handle(const internal::Core::Event& event) noexcept;
  void handle_waiting() noexcept;
  // Of a handler, for what it was given.
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
  std::optional<Error> reason_;  // Of its end.
};

class [[nodiscard]] Session::Wait : public Waiting {
 public:
  using Value = void;
  Wait(Session& session, std::optional<std::size_t> room) noexcept : session_(session), room_(room) {}
  bool start() noexcept { return is_over() || wait_in(session_.waiting_); }
  Result<> take() noexcept;

 private:
  friend class Session;
  bool is_over() const noexcept {
    return session_.has_ended_ || (room_ ? session_.core_.has_room(*room_) : session_.core_.unacknowledged() == 0);
  }
  Session& session_;
  const std::optional<std::size_t> room_;
};

inline Session::Wait Session::room(std::size_t payload_bytes) noexcept { return Wait(*this, payload_bytes); }
inline Session::Wait Session::acknowledged() noexcept { return Wait(*this, std::nullopt); }

}  // namespace keel::sessions
