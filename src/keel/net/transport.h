// keel/net/transport.h — the bytes of one connection: only its transport receives, sends, and owns the descriptor.
//
//   class Echo {                                              // for coroutines there is Stream
//    public:
//     explicit Echo(const Endpoint& endpoint) {
//       transport_.open(endpoint);
//       transport_.receive();
//     }
//    private:
//     void received() {
//       if (transport_.outcome() <= 0) return transport_.close();   // 0: the peer has finished; < 0: an errno
//       const std::string_view bytes = transport_.hold();     // without this they are borrowed during the call
//       transport_.pause();
//       send_.set(bytes.data(), bytes.size());
//       if (transport_.send(send_)) sent();                   // true: it is complete, sent() is not called
//     }
//     void sent() {
//       transport_.release();
//       if (send_.result < 0) return transport_.cancel_receive();
//       transport_.resume();
//     }
//     Member<Transport, Echo, &Echo::received> transport_{*this};
//     Member<io::SendPart, Echo, &Echo::sent> send_{*this};
//   };
//
// A transport is itself the operation that receives on its connection: it derives from io::Receive. A transport is a
// member (base/member.h) or a base class of its user, and calls `arrived` with itself whenever something arrives. A
// send is a separate operation: an io::Send, or a class derived from io::Send. The user embeds this operation, or
// creates it for each write; only one send may run at a time.
//
// A plain transport, TCP or a Unix socket, passes its operations to the engine. A layered transport has a
// TransportLayer, which transforms the bytes on their way (a cipher); the user notices no difference.
//
// Errors:    a negative errno in outcome() or in a send's result; error() makes an Error of it. -EOPNOTSUPP: a file
//            sent over a layer.
// Ownership: owns its descriptor, and its layer, from open() until close() or detach(). Bytes are borrowed from the
//            engine: during `arrived`, or from hold() until release().
// Lifetime:  must not move or be destroyed while is_receiving() or while a send is pending; after that, call close()
//            before the destructor runs.
// Threads:   the engine's.
// Cancel:    after cancel_receive() `arrived` is called once more, from a later dispatch.
// Cost:      72 bytes. Without a layer, a call costs the call of the engine and one branch that is not taken; there is
//            no further call and no copy.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/check.h"
#include "keel/base/error.h"
#include "keel/io/engine.h"
#include "keel/io/op.h"

namespace keel {

class TransportLayer;

// A connected non-blocking descriptor (O_NONBLOCK), its engine, and the layer over it, if there is one.
struct Endpoint {
  io::Engine* engine = nullptr;
  int fd = -1;
  TransportLayer* layer = nullptr;  // The layer, which uses the same engine and descriptor.

  // Closes the endpoint, which must not have been opened by a transport.
  void close() const noexcept;
};

class Transport : protected io::Receive {
 public:
  // `arrived` is called with the transport as its argument.
  explicit Transport(Done arrived) noexcept : io::Receive(arrived) {}
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  ~Transport() { KEEL_DCHECK(fd < 0, "a transport must be closed or detached before it is destroyed"); }

  // Takes over `endpoint`. A closed or detached transport may be opened again.
  void open(const Endpoint& endpoint) noexcept;
  // Releases the endpoint, so that another transport can open it; allowed while no operation is pending and no bytes
  // are held. A layer keeps everything that it has not delivered.
  Endpoint detach() noexcept;
  // Closes the descriptor; allowed while no receive or send is pending and no bytes are held. Sent bytes are still
  // delivered to the peer.
  void close() noexcept;
  bool is_open() const noexcept { return fd >= 0; }

  // Starting now, calls `arrived` whenever bytes arrive, until the end of the stream, an error, end_receive() or
  // cancel_receive(); then calls it once more with outcome() <= 0, and is_receiving() is false. `arrived` is never
  // called from inside this function.
  void receive() noexcept;
  bool is_receiving() const noexcept { return pending; }
  // In `arrived`, the number of received bytes; 0: the peer has finished; < 0: a negative errno, which is -ECANCELED
  // when receiving was ended on request.
  std::int32_t outcome() const noexcept { return result; }
  // The received bytes. Call bytes() only in `arrived`, and only if outcome() > 0. The view is valid until `arrived`
  // returns.
  std::string_view bytes() const noexcept { return {data, static_cast<std::size_t>(result)}; }

  // Keeps the received bytes until release(), and returns their location, which may have changed. Call hold() only in
  // `arrived`. Only the bytes of one call can be held: until release() the transport must be paused, or receiving must
  // have ended.
  std::string_view hold() noexcept;
  bool holds() const noexcept { return held_size_ != 0; }
  std::string_view held() const noexcept { return {data, held_size_}; }
  // Gives the held bytes back to the engine; does nothing when no bytes are held.
  void release() noexcept;

  // While the transport is paused, `arrived` is not called; incoming bytes wait, and the peer is slowed down when they
  // fill more than a few buffers. After resume(), the waiting bytes are delivered in a later dispatch.
  void pause() noexcept { io::Engine::pause(*this); }
  void resume() noexcept;
  bool is_paused() const noexcept { return paused; }
  // Ends receiving without losing a byte: `arrived` is still called for all bytes that are received before receiving
  // ends. The last call of `arrived` reports -ECANCELED, or the end of the stream if the stream had already ended.
  // Bytes that arrive later are for the next receive().
  void end_receive() noexcept;
  // Ends receiving; bytes that have arrived and were not delivered are lost. Does nothing if is_receiving() is false.
  void cancel_receive() noexcept;

  // Sends all of send.parts in order, at most 64, or fails; sets send.fd. True: the send is already complete,
  // send.result is valid, and done() is not called. Even with a layer, send.sent counts only bytes that were sent, not
  // bytes that were only encrypted.
  bool send(io::Send& send) noexcept;
  // Sends a part of a file; this operation counts as a pending send.
  bool send(io::SendFile& send) noexcept;
  // A number that changes whenever the kernel accepts more bytes of a pending send, or of the bytes that the layer
  // sends before it. Use progress() to detect a peer that does not read.
  std::uint64_t progress(const io::Send& send) const noexcept;
  // Asks a pending send (an io::Send or an io::SendFile) to end; the send then calls done(). After cancel(), nothing
  // more can be sent.
  void cancel(io::Op& send) noexcept;
  // Waits, as a send does, until the layer's handshake is over, so that later sends need not wait for the handshake.
  // Returns true if no handshake is needed; otherwise `send` completes after the handshake, and its result is an error
  // if the handshake failed. `send` has no parts.
  bool establish(io::Send& send) noexcept;

  // Makes a later close reset the connection: bytes that the peer has not received are dropped, and no layer sends a
  // goodbye.
  void reset_on_close() noexcept;
  // Tells the peer that nothing more will be sent; receiving continues. Call shutdown_write() only while no send is
  // pending.
  void shutdown_write() noexcept;
  // Ends both directions: a pending send ends with -EPIPE; receiving delivers the bytes that have arrived, and then 0.
  void shutdown() noexcept;

  // The number of bytes on the wire that the peer has acknowledged; see io::Engine::acknowledged.
  std::optional<std::uint64_t> acknowledged() noexcept { return engine().acknowledged(fd); }
  // The number of bytes on the wire that this side's kernel still holds for the peer; see io::Engine::unacknowledged.
  std::uint64_t unacknowledged() noexcept { return engine().unacknowledged(fd); }
  // True if `arrived` has not been called yet for some bytes or for an end of the stream, including bytes that only the
  // kernel knows of. Costs a system call.
  bool has_unread() noexcept;
  // Makes the Error for `outcome`: a negative outcome(), or the negative result of a send. `doing`: a literal.
  Error error(const char* doing, std::int32_t outcome) const noexcept;

  // engine() and the descriptor are for calls on the socket itself, such as options and addresses. Only the transport
  // may receive and send.
  io::Engine& engine() const noexcept;
  int descriptor() const noexcept { return fd; }
  // The layer; null when the transport is plain.
  TransportLayer* layer() const noexcept { return is_layered() ? &over() : nullptr; }

 private:
  friend class TransportLayer;
  std::string_view hold_copy() noexcept;
  void release_copy() noexcept;

  bool is_layered() const noexcept { return (path_ & layered) != 0; }
  io::Engine& plain() const noexcept { return *reinterpret_cast<io::Engine*>(path_); }
  TransportLayer& over() const noexcept { return *reinterpret_cast<TransportLayer*>(path_ - layered); }

  static constexpr std::uintptr_t layered = 1;
  std::uint32_t held_size_ = 0;
  // The address of the engine or, with the lowest bit set, of the layer, which knows the engine. Therefore each
  // connection stores one address, not two.
  std::uintptr_t path_ = 0;
};

// A layer stands between a transport and its engine, and transforms the bytes on their way. A layer has its own
// operations on the descriptor. A layer carries out the operations of its transport under the same contract as the
// engine does for a plain transport (io/engine.h): the layer makes no callback from inside receive(), resume(), send()
// and the other functions.
//
// A layer begins its handshake when a transport opens it, and may receive while its transport does not receive.
//
// Lifetime: a layer allocates itself, and frees itself after close(), when its own operations have ended.
class TransportLayer {
 public:
  TransportLayer(const TransportLayer&) = delete;
  TransportLayer& operator=(const TransportLayer&) = delete;

  // Whether the handshake is over.
  virtual bool is_established() const noexcept = 0;
  // The protocol that the handshake selected ("h2"); empty: none.
  virtual std::string_view protocol() const noexcept = 0;
  // The name that the peer has proved; empty: none.
  virtual std::string_view peer_identity() const noexcept = 0;

 protected:
  TransportLayer(io::Engine& engine, int fd) noexcept : engine_(engine), fd_(fd) {}
  virtual ~TransportLayer() = default;

  io::Engine& engine() const noexcept { return engine_; }
  int fd() const noexcept { return fd_; }

  // The transport over this layer; null when it is detached or closed.
  Transport* transport() const noexcept { return transport_; }
  // Whether `arrived` may be called.
  bool is_wanted() const noexcept;
  // Calls `arrived` with bytes that are valid during the call; `arrived` may call any function of the transport.
  void deliver(std::string_view bytes) noexcept;
  // Calls `arrived` for the last time, with `outcome` <= 0.
  void finish(std::int32_t outcome) noexcept;
  // begin() marks a send as pending, and complete() reports its result.
  static void begin(io::Send& send) noexcept { send.pending = true; }
  static void complete(io::Send& send, std::int32_t result) noexcept;

 private:
  friend struct Endpoint;
  friend class Transport;
  virtual void open() noexcept = 0;
  virtual void receive() noexcept = 0;
  virtual void resume() noexcept = 0;
  virtual void end_receive() noexcept = 0;
  virtual void cancel_receive() noexcept = 0;
  virtual bool send(io::Send& send) noexcept = 0;  // A Send without parts waits only for the handshake.
  virtual std::uint64_t progress() const noexcept = 0;
  virtual void cancel(io::Op& send) noexcept = 0;
  virtual void reset_on_close() noexcept = 0;  // Called after the engine was asked to set reset_on_close.
  virtual void shutdown_write() noexcept = 0;
  virtual void shutdown() noexcept = 0;
  virtual bool has_unread() noexcept = 0;
  virtual Error error(const char* doing, std::int32_t outcome) const noexcept = 0;
  // Called when the transport is closed. Sends a goodbye to the peer if the protocol requires one, and closes the
  // descriptor.
  virtual void close() noexcept = 0;

  io::Engine& engine_;
  const int fd_;
  Transport* transport_ = nullptr;
};

// Makes the layer of each new connection, and has the settings for all these layers (certificates and keys).
class TransportLayers {
 public:
  virtual ~TransportLayers() = default;
  // Puts a layer over `plain`, which was just connected to `host`, or was accepted (then `host` is empty). The layer
  // copies `received`, bytes that were already read from `plain`, and processes them first. After an error, `plain`
  // still belongs to the caller.
  Result<Endpoint> make(Endpoint plain, std::string_view host, std::string_view received = {}) {
    return put_over(plain, host, received);
  }
  // The number of layers of this object that have received bytes and wait for their handshake to be computed. May be
  // called on any thread.
  virtual std::uint64_t waiting_handshakes() const noexcept { return 0; }

 private:
  virtual Result<Endpoint> put_over(Endpoint plain, std::string_view host, std::string_view received) = 0;
};

inline io::Engine& Transport::engine() const noexcept {
  if (is_layered()) [[unlikely]]
    return over().engine_;
  return plain();
}

inline void Transport::receive() noexcept {
  KEEL_DCHECK(!holds(), "held bytes must be released before more may arrive");
  if (is_layered()) [[unlikely]] {
    pending = true;
    paused = false;
    return over().receive();
  }
  plain().submit(*this);
}

inline void Transport::resume() noexcept {
  KEEL_DCHECK(!holds(), "held bytes must be released before more may arrive");
  if (is_layered()) [[unlikely]] {
    paused = false;
    return over().resume();
  }
  plain().resume(*this);
}

inline void Transport::end_receive() noexcept {
  if (is_layered()) [[unlikely]]
    return over().end_receive();
  plain().end_receive(*this);
}

inline void Transport::cancel_receive() noexcept {
  if (is_layered()) [[unlikely]]
    return over().cancel_receive();
  plain().cancel(*this);
}

inline std::string_view Transport::hold() noexcept {
  KEEL_DCHECK(!holds(), "only one arrival can be held at a time");
  if (is_layered()) [[unlikely]]
    return hold_copy();
  const io::Held kept = plain().hold(*this);
  data = kept.data;
  buffer = kept.buffer;
  held_size_ = kept.size;
  return held();
}

inline void Transport::release() noexcept {
  if (!holds()) return;
  if (is_layered()) [[unlikely]]
    return release_copy();
  plain().release({data, held_size_, buffer});
  held_size_ = 0;
}

inline bool Transport::send(io::Send& send) noexcept {
  send.fd = fd;
  if (is_layered()) [[unlikely]]
    return over().send(send);
  return plain().submit(send);
}

inline void Transport::cancel(io::Op& send) noexcept {
  if (is_layered()) [[unlikely]]
    return over().cancel(send);
  plain().cancel(send);
}

}  // namespace keel
