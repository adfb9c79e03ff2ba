// keel/net/messages/peer.h — the program at the other end of a connection: sends it messages and requests.
//
//   const Average average{"kitchen"};
//   const Celsius now = co_await peer.request<Celsius>(average);   // one reply, or the error of the peer
//   const Reading reading{"kitchen", 21.5};
//   co_await peer.send(reading);                                   // one way; waits while too much is queued
//   if (!peer.try_send(Alarm{"smoke"})) …                          // the same, and never waits
//
//   MessageStream rows = co_await peer.open(month);                // message_stream.h
//
// If a struct has strings or lists, store it in a named variable before the awaited call, as in this example: GCC 12
// destroys structs twice if they are made within an awaited expression, so passing such a temporary does not compile.
//
// After connecting, both sides are equal: each side may send requests, and incoming messages are handled by that side's
// Handlers (handlers.h).
//
// Deadlines: a request carries the time that is left until the deadline of the awaiting task; its handler runs under
//            that deadline. A request whose task is stopped is cancelled at the peer.
// Trace:     a request carries the trace of the awaiting task.
// Errors:    a request fails with the error of the peer's handler: its code, as an error from the environment, and its
//            message if the peer's application wrote it (put_error in frame.h). NotFound: the peer has no handler for
//            this type. InvalidArgument: the peer could not read the message. Protocol: the reply cannot be read.
//            Unavailable: the connection ended before the reply, so it is unknown whether the peer handled the request;
//            or the peer accepts no new requests. OutOfRange: the message is larger than the peer accepts.
//            ResourceExhausted: the caller is the handler of a one-way message, and messages_max - 1 other handlers of
//            one-way messages already wait for this peer. Cancelled if the awaiting task was cancelled;
//            DeadlineExceeded if its deadline has passed. try_send() fails with OutOfRange, with Unavailable, and with
//            ResourceExhausted when queued_bytes_max would be exceeded.
// Ownership: messages are encoded during the call. A Peer belongs to its Server or Client.
// Lifetime:  a Peer lives until FrameSink::on_closed or ServerOptions::on_closed (server.h) has returned.
// Threads:   the worker on which the Peer was constructed.
// Cancel:    a cancelled request occupies its place in the connection (requests_max) until the peer has replied; a send
//            that is cancelled while it waits sends nothing.
// Cost:      no heap in steady state; all bytes that are queued in one iteration of the loop are sent with one system
//            call.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/list.h"
#include "keel/base/time.h"
#include "keel/io/address.h"
#include "keel/net/messages/frame.h"
#include "keel/net/messages/message.h"
#include "keel/task/leaf.h"

namespace keel::messages {

class MessageStream;
class Peer;

// The limits of a connection. The first five limits are sent to the peer, which must respect them; a peer that exceeds
// a limit receives the reason and is disconnected.
struct PeerOptions {
  // The maximum size of an incoming frame, which limits the memory for reading.
  std::uint32_t frame_bytes_max = 1 << 20;
  // The maximum number of the peer's requests that are handled at the same time; further requests wait at the peer.
  std::uint16_t requests_max = 256;
  std::uint16_t streams_max = 64;  // The maximum number of streams that the peer may have open.
  // The maximum number of bytes that may be received in a stream before its reader takes them.
  std::uint32_t stream_bytes_max = 256 * 1024;
  // The peer is pinged after it was silent for this time; if the peer does not reply within the same time, the
  // connection is closed.
  // Zero: never.
  Duration heartbeat = 15_s;
  // The maximum number of one-way messages that are handled at a time; at the limit, this side stops reading from the
  // connection.
  std::uint16_t messages_max = 256;
  // The number of queued bytes above which send() waits; half of queued_bytes_max is used instead if it is less. While
  // the queued replies are longer than this limit, this side does not read. But if this side itself waits for responses
  // or has open streams, it continues to read and begins no further handlers of requests: this side holds the requests,
  // up to queued_bytes_max bytes of payloads, and rejects further requests with ResourceExhausted. A held request may
  // therefore be handled after a one-way message that was sent later.
  std::size_t high_bytes = 256 * 1024;
  // When at most this many bytes are queued, the sends that wait continue, and reading continues.
  std::size_t low_bytes = 64 * 1024;
  // The number of queued bytes above which try_send() fails; a response that would exceed the limit closes the
  // connection.
  std::size_t queued_bytes_max = 4 << 20;
  Duration stall_timeout = 30_s;  // The connection is closed when the peer has accepted no bytes for this time.
  Duration hello_timeout = 10_s;  // The time until the peer's first frame, including TLS.
  Duration close_timeout = 1_s;   // The time limit for sending the queued frames when the connection is closed.
  // CRC32C on every frame, in both directions. Use checksums on transports that have no checksum.
  bool checksums = false;
};

// Receives the frames of a session over a connection. The functions are called synchronously, in the order of the
// frames.
class FrameSink {
 public:
  // A Session frame has arrived; its payload is valid only during the call. If this function returns an error, the
  // connection is closed with that error as the reason.
  virtual Result<> on_frame(Peer& peer, std::string_view payload) noexcept = 0;
  // Called when all frames that arrived together have been handled.
  virtual void on_batch_end(Peer& peer) noexcept = 0;
  // Called when the queue, which was longer than low_bytes, has shrunk to low_bytes or less.
  virtual void on_writable(Peer& peer) noexcept = 0;
  // The last call, made exactly once; the Peer is destroyed after it.
  virtual void on_closed(Peer& peer, const Error& reason) noexcept = 0;

 protected:
  ~FrameSink() = default;
};

namespace internal {
class Connection;

// A frame to be sent, encoded by the caller.
struct Outgoing {
  FrameKind kind;
  std::uint16_t type;
  Buffer payload = {};
};

class Handling;

// An object of this class exists while the handler of a one-way message waits for a frame of the peer. If all handlers
// that may run waited for the peer, the connection would no longer be read, so at least one of these handlers must not
// wait.
class PeerWait {
 public:
  PeerWait() = default;
  PeerWait(const PeerWait&) = delete;
  PeerWait& operator=(const PeerWait&) = delete;
  ~PeerWait() {
    if (handling_ != nullptr) end();
  }
  // ResourceExhausted: all other handlers are waiting already. `context` is that of the waiting task.
  Result<> begin(Connection& connection, const Context& context) noexcept;

 private:
  void end() noexcept;
  Handling* handling_ = nullptr;  // Null: no handler of a one-way message waits.
};

class SendCore : public Leaf, public Link {
 public:
  using Value = void;
  SendCore(Connection& connection, Outgoing&& frame) noexcept
      : Leaf(&cancel), connection_(&connection), frame_(std::move(frame)) {}
  bool start() noexcept;
  Result<> take() noexcept;

 private:
  friend class Connection;
  static void cancel(Leaf& leaf) noexcept;
  Connection* connection_;
  Outgoing frame_;
  std::optional<Error> error_;
};

class CallCore : public Leaf, public Link {
 public:
  bool start() noexcept;

 protected:
  // Decodes the payload of the reply from the receive buffer.
  using Read = Result<> (*)(CallCore& call, std::string_view payload);
  CallCore(Connection& connection, Outgoing&& frame, Read read) noexcept
      : Leaf(&cancel), connection_(&connection), frame_(std::move(frame)), read_(read) {}
  ~CallCore() = default;

  std::optional<Error> error_;

 private:
  friend class Connection;
  static void cancel(Leaf& leaf) noexcept;
  Connection* connection_;
  Outgoing frame_;
  PeerWait wait_;
  const Read read_;
  std::uint32_t id_ = 0;
  bool is_sent_ = false;
};

}  // namespace internal

// The operation of co_await peer.send(message).
class [[nodiscard]] Send : public internal::SendCore {
 public:
  using SendCore::SendCore;
};

// The operation of co_await peer.request<Reply>(message).
template <class Reply>
class [[nodiscard]] Call : public internal::CallCore {
 public:
  using Value = Reply;
  Call(internal::Connection& connection, internal::Outgoing&& frame) noexcept
      : CallCore(connection, std::move(frame), &read) {}
  Result<Reply> take() noexcept {
    if (error_) return std::move(*error_);
    if constexpr (!std::is_void_v<Reply>) {
      return std::move(*reply_);
    } else {
      return {};
    }
  }

 private:
  static Result<> read(CallCore& core, std::string_view payload) {
    if constexpr (!std::is_void_v<Reply>) {
      Result<Reply> reply = decode<Reply>(payload);
      if (!reply) return std::move(reply).error();
      static_cast<Call&>(core).reply_.emplace(*std::move(reply));
    }
    return {};
  }
  std::optional<std::conditional_t<std::is_void_v<Reply>, char, Reply>> reply_;
};

class Peer {
 public:
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Sends the message, and yields the peer's reply. Waits while the peer already has its maximum number of requests;
  // waiting requests are sent in the order of their calls.
  template <class Reply = void, class M>
  Call<Reply> request(M&& message) {
    internal::refuse_made_in_call<M>();
    return Call<Reply>(connection(), encoded(FrameKind::Request, message));
  }
  // Sends a one-way message. Waits while more than high_bytes bytes are queued; waiting messages are sent in the order
  // of their calls.
  template <class M>
  Send send(M&& message) {
    internal::refuse_made_in_call<M>();
    return Send(connection(), encoded(FrameKind::Message, message));
  }
  template <class M>
  Result<> try_send(const M& message) {
    return push(encoded(FrameKind::Message, message));
  }
  // Opens a stream; the first message says what the stream is for. ResourceExhausted: this side already has as many
  // streams open as the peer allows.
  template <class M>
  Result<MessageStream> open(M&& message);

  // Sends a frame of the session over this connection. Behaves like try_send(), except that the frame may exceed
  // queued_bytes_max while at most low_bytes bytes are queued.
  Result<> try_send_session(std::string_view payload);
  // Sets the receiver of the frames of sessions; null: sessions are not possible. The sink must live until the
  // connection ends or another attach() replaces it.
  void attach(FrameSink* sink) noexcept;

  // Closes the connection after sending the queued frames and the reason, within close_timeout. Tasks that wait for
  // responses of the peer get Unavailable, and handlers are stopped. Idempotent: only the first reason is sent.
  void close(Error reason);
  // Tells the peer that no new requests or streams are accepted, and continues with the existing requests and streams.
  void drain();

  bool is_closed() const noexcept;
  // Whether this side has stopped reading because of messages_max or high_bytes; if so, silence does not mean that the
  // peer is dead.
  bool is_paused() const noexcept;
  // Whether the peer has announced that it accepts no new requests.
  bool is_draining() const noexcept;
  std::size_t queued_bytes() const noexcept;  // The bytes to be sent, including those being sent.
  std::size_t outstanding() const noexcept;   // Requests of this side that have no response yet.
  std::size_t handling() const noexcept;      // Requests and messages of the peer that are being handled.
  Address address() const noexcept;
  // The name that the peer has proved by a certificate; empty: none.
  std::string_view identity() const noexcept;
  // The time at which the last frame arrived.
  Instant last_received() const noexcept;
  const PeerOptions& options() const noexcept;

 protected:
  Peer() = default;
  ~Peer() = default;

 private:
  internal::Connection& connection() noexcept;
  Result<> push(internal::Outgoing&& frame);
  Result<MessageStream> open_stream(internal::Outgoing&& frame);
  template <class M>
  static internal::Outgoing encoded(FrameKind kind, const M& message) {
    internal::Outgoing frame{kind, type_of(message)};
    encode(frame.payload, message);
    return frame;
  }
};

}  // namespace keel::messages
