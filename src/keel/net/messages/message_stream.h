// keel/net/messages/message_stream.h — a sequence of related messages in each direction, limited by the room that the
// receiver has for them.
//
//   MessageStream rows = co_await peer.open(month);                    // asks
//   while (auto row = co_await rows.receive<Row>()) use(*row);         // nullopt: the peer has finished
//
//   handlers.on_stream<Rows>([&](Peer&, Rows which, MessageStream out) -> Task<> {
//     for (const Row& row : co_await store.rows(which.month)) co_await out.send(row);   // waits for the reader
//   });                                                                // its end, or its error, ends the stream
//
// Each side may send until it finishes; the two directions are independent. A sender begins with as much credit as the
// other side has room (PeerOptions::stream_bytes_max), and gets more credit when the receiver has taken messages; while
// any credit is left, a message may be sent even if it is larger than the credit.
//
// Errors:    receive() fails with the peer's error (marked as an error from the environment) when the peer has ended
//            its direction with an error; with InvalidArgument for a message that cannot be read as M, which is
//            consumed nevertheless; and with Unavailable when the connection has ended. send() fails with Cancelled
//            when the peer accepts no more messages, with FailedPrecondition after finish(), with OutOfRange for a
//            message larger than the peer's frames, and with Unavailable when the connection has ended. In the handler
//            of a one-way message, send() and receive() fail with ResourceExhausted instead of waiting, in the same
//            cases as Peer::request. It is a bug (base/bug.h) if a task sends while another task waits to send, or
//            receives while another task waits to receive: the await of the second task throws, and the first task
//            continues.
// Ownership: movable. Destroying a MessageStream ends both directions: the peer receives Cancelled unless finish() was
//            called or the peer had already ended its direction. A stream that a handler received ends with the
//            handler, and the peer receives the handler's error.
// Threads:   those of its Peer. Only one task may send at a time, and only one task may receive at a time; the sender
//            and the receiver may be different tasks.
// Cancel:    a cancelled send or receive loses nothing, and the stream can still be used.
// Cost:      no heap in steady state.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/message.h"
#include "keel/net/messages/peer.h"
#include "keel/task/leaf.h"

namespace keel::messages {

namespace internal {

class StreamSendCore : public Leaf {
 public:
  using Value = void;
  StreamSendCore(StreamState& state, Buffer&& payload) noexcept
      : Leaf(&cancel), state_(state), payload_(std::move(payload)) {}
  bool start();
  Result<> take() noexcept;

 private:
  friend class StreamState;
  static void cancel(Leaf& leaf) noexcept;
  StreamState& state_;
  Buffer payload_;
  PeerWait wait_;
  std::optional<Error> error_;
};

class StreamReceiveCore : public Leaf {
 public:
  bool start();

 protected:
  explicit StreamReceiveCore(StreamState& state) noexcept : Leaf(&cancel), state_(state) {}
  ~StreamReceiveCore() = default;
  // The oldest message; nullopt at the end. After a message was returned, call taken().
  Result<std::optional<std::string_view>> front() noexcept;
  void taken() noexcept;

 private:
  friend class StreamState;
  static void cancel(Leaf& leaf) noexcept;
  StreamState& state_;
  PeerWait wait_;
  std::optional<Error> error_;
};

}  // namespace internal

class MessageStream {
 public:
  class [[nodiscard]] Send : public internal::StreamSendCore {
   public:
    using StreamSendCore::StreamSendCore;
  };
  template <class M>
  class [[nodiscard]] Receive : public internal::StreamReceiveCore {
   public:
    using Value = std::optional<M>;
    explicit Receive(internal::StreamState& state) noexcept : StreamReceiveCore(state) {}
    Result<std::optional<M>> take() noexcept {
      Result<std::optional<std::string_view>> payload = front();
      if (!payload) return std::move(payload).error();
      if (!payload->has_value()) return std::optional<M>();
      Result<M> message = decode<M>(**payload);
      taken();
      if (!message) return std::move(message).error();
      return std::optional<M>(*std::move(message));
    }
  };

  MessageStream(MessageStream&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  MessageStream& operator=(MessageStream&& other) noexcept {
    if (this != &other) {
      reset();
      state_ = std::exchange(other.state_, nullptr);
    }
    return *this;
  }
  ~MessageStream() { reset(); }

  // Sends a message; waits while there is no credit.
  template <class M>
  Send send(M&& message) {
    internal::refuse_made_in_call<M>();
    Buffer payload;
    encode(payload, message);
    return Send(*state_, std::move(payload));
  }
  // The next message of the peer; nullopt after the peer has finished.
  template <class M>
  Receive<M> receive() noexcept {
    return Receive<M>(*state_);
  }
  // Closes the sending direction of this side; the peer can still send. Idempotent.
  void finish();
  // Closes the sending direction of this side with an error, which the peer receives.
  void finish(Error error);
  // The connection; null when the connection has ended, or when both directions of the stream have ended. The peer may
  // end the connection or the stream at any time.
  Peer* peer() const noexcept;

 private:
  friend class Peer;
  friend class Handlers;
  explicit MessageStream(internal::StreamState& state) noexcept;
  void reset() noexcept;
  internal::StreamState* state_;
};

template <class M>
Result<MessageStream> Peer::open(M&& message) {
  internal::refuse_made_in_call<M>();
  return open_stream(encoded(FrameKind::Open, message));
}

template <class M, class F>
Handlers& Handlers::on_stream(F f) {
  add(message_type_of<M>, internal::Incoming::What::Stream, [f = std::move(f)](internal::Incoming& in) mutable {
    Result<M> message = decode<M>(in.payload());
    if (!message) return in.reject(std::move(message).error());
    in.handle([&](Peer& peer) -> decltype(auto) { return f(peer, *std::move(message), MessageStream(in.stream())); });
  });
  return *this;
}

}  // namespace keel::messages
