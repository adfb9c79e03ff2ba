// keel/net/tls/layer.h — TLS over a transport (net/transport.h), on every engine.
//
//   tls::Layers layers(context);                                  // of a server, or of a client
//   transport.open(*layers.make({&engine, fd}, "shop.example"));  // the handshake begins
//
// For streams use connect(), accept() and Listener (net/tls/stream.h).
//
// Errors:    for an error of Records (net/tls/records.h), outcome() and the result of a send are -EPROTO, and
//            Transport::error() returns the Error; the same holds for a handshake that takes longer than its context
//            allows (DeadlineExceeded). If the connection ends without close_notify, receiving ends with -EPROTO, but
//            sending does not fail. Any errno other than -EPROTO comes from the engine.
// Lifetime:  that of every TransportLayer.
// Closing:   sends close_notify, and waits at most 10 s until it has been sent.
// Memory:    that of Records, plus the 64 KiB of a large send that are encrypted at a time. While the transport is
//            paused, further received bytes wait in the kernel.
// Fairness:  each iteration of the event loop computes one handshake, for about 0.3 ms. Further handshakes wait in the
//            order in which they arrived; handshakes that have begun take turns with new handshakes. A client that has
//            sent only a part of its first record is not in the queue, and delays no other client. Handshakes also wait
//            for each other in a simulation, where no time passes while a handshake is computed.
// Cost:      that of Records, which copies sent bytes once into records; received bytes are decrypted into the reader's
//            memory.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "keel/base/buffer.h"
#include "keel/base/error.h"
#include "keel/base/list.h"
#include "keel/base/member.h"
#include "keel/base/pool.h"
#include "keel/base/wheel.h"
#include "keel/exec/executor.h"
#include "keel/io/op.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/records.h"
#include "keel/net/transport.h"

namespace keel::io {
class Loop;
}

namespace keel::tls {

class Layer final : public TransportLayer, public Link {
 public:
  // The number of layers whose handshake waits; all layers that one Layers object makes share this number.
  using Waiting = std::shared_ptr<std::atomic<std::uint64_t>>;
  // `received`: bytes that were already read.
  Layer(io::Engine& engine, int fd, const ServerContext& context, std::string_view received, Waiting waiting);
  Layer(io::Engine& engine, int fd, const ClientContext& context, std::string_view host, std::string_view received,
        Waiting waiting);

  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* layer, std::size_t bytes) noexcept { pool_free(layer, bytes); }

  bool is_established() const noexcept override { return records_.is_established(); }
  std::string_view protocol() const noexcept override;
  std::string_view peer_identity() const noexcept override { return records_.peer_identity(); }
  // The TLS of this layer, which has further results of the handshake.
  const Records& records() const noexcept { return records_; }

 private:
  class Handshakes;

  ~Layer() override;

  void open() noexcept override;
  void receive() noexcept override { start_receiving(); }
  void resume() noexcept override { start_receiving(); }
  void end_receive() noexcept override;
  void cancel_receive() noexcept override;
  bool send(io::Send& send) noexcept override;
  std::uint64_t progress() const noexcept override { return flown_ + send_.sent; }
  void cancel(io::Op& send) noexcept override;
  void reset_on_close() noexcept override { is_reset_ = true; }
  void shutdown_write() noexcept override;
  void shutdown() noexcept override;
  bool has_unread() noexcept override;
  Error error(const char* doing, std::int32_t outcome) const noexcept override;
  void close() noexcept override;

  void start_receiving() noexcept;
  void post() noexcept;
  void posted() noexcept;
  void received() noexcept;
  void late() noexcept;
  void advance(std::string_view fresh) noexcept;
  void read_from(std::string_view& wire) noexcept;
  void end_receiving() noexcept;
  void fail_with(std::int32_t failure) noexcept;
  void fail_with(const Error& error) noexcept;

  void flush() noexcept;
  bool seal() noexcept;
  void land() noexcept;
  void sent() noexcept;
  void finish_send(std::int32_t failure) noexcept;
  void stop_timer() noexcept;
  void end_if_quiet() noexcept;

  Records records_;
  const Waiting waiting_;
  Handshakes* handshakes_ = nullptr;  // The queue of handshakes of this loop; null before the layer is open.
  io::Loop* loop_ = nullptr;          // The loop that runs posted().
  bool has_begun_ = false;
  bool ending_ = false;        // Set by end_receive().
  bool cancelling_ = false;    // Set by cancel_receive().
  bool has_ended_ = false;     // The stream of bytes has ended.
  bool is_cut_ = false;        // The stream ended without close_notify.
  bool wants_end_ = false;     // True: close_notify has to be sent.
  bool has_said_end_ = false;  // close_notify was sent.
  bool is_shut_ = false;       // The socket was shut down for writing, after close_notify.
  bool is_shut_down_ = false;
  bool is_reset_ = false;  // True: close() sends no close_notify, and cancels a current send.
  bool is_closed_ = false;
  bool is_posted_ = false;
  bool is_next_ = false;   // The layer's handshake has waited and continues now.
  bool is_taken_ = false;  // True: all bytes of sending_ are encrypted.
  bool calls_back_ = true;
  std::int32_t failure_ = 0;  // An error of the layer: nothing can be received or sent.
  std::int32_t out_failure_ = 0;
  std::int32_t send_failure_ = 0;
  std::optional<Error> why_;  // The error that -EPROTO stands for.
  io::Send* sending_ = nullptr;
  std::uint32_t part_ = 0;    // The first part of sending_ that is not encrypted.
  std::size_t offset_ = 0;    // The number of encrypted bytes of the part with the index part_.
  std::uint64_t sealed_ = 0;  // The total number of encrypted bytes of sending_.
  std::size_t burst_ = 0;     // Bytes encrypted in this event-loop iteration.
  std::uint64_t flown_ = 0;   // The number of encrypted bytes sent by completed sends of the engine.
  Buffer in_;                 // Bytes received while the transport was paused.
  Buffer flight_;
  Member<io::Receive, Layer, &Layer::received> receive_{*this};
  Member<io::SendPart, Layer, &Layer::sent> send_{*this};
  Member<Job, Layer, &Layer::posted> job_{*this};
  Member<Timer, Layer, &Layer::late> timer_{*this};
};

// Layers over the connections of one server or client.
//
// Threads: any. The object must outlive its users, but not the layers that it made.
class Layers final : public TransportLayers {
 public:
  explicit Layers(ServerContext context) : context_(std::move(context)) {}
  explicit Layers(ClientContext context) : context_(std::move(context)) {}
  // Replaces the context for new connections, for example after a certificate was renewed.
  void set_context(ServerContext context);
  void set_context(ClientContext context);
  std::uint64_t waiting_handshakes() const noexcept override { return waiting_->load(std::memory_order_relaxed); }

 private:
  // ResourceExhausted: memory ran out. `host` is used only by a client.
  Result<Endpoint> put_over(Endpoint plain, std::string_view host, std::string_view received) override;
  const Layer::Waiting waiting_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::mutex mutex_;
  std::variant<ServerContext, ClientContext> context_;
};

}  // namespace keel::tls
