// keel/net/messages/client.h — a single connection that this program makes, without retries; pools of clients are in
// pool.h.
//
//   Client client = co_await Client::connect(*Address::parse("127.0.0.1:7000"));
//   const Celsius now = co_await client->request<Celsius>(average);
//   co_await client.close();
//
// Errors:    of connect: those of Stream::connect; Protocol where the other side speaks something else, Unsupported
//            where no version is in common, and its reason where it closes immediately; DeadlineExceeded.
// Ownership: owns its Peer; movable. Destroying it closes, after what is queued, and stops the handlers, which end
//            later: what they refer to lives until the loop ends, or close() was awaited.
// Lifetime:  outlives those who wait for answers (checked).
// Threads:   the worker it was made on.
// Cancel:    of connect: no socket stays open.

#pragma once

#include <string_view>
#include <utility>

#include "keel/io/address.h"
#include "keel/io/socket_options.h"
#include "keel/net/messages/peer.h"
#include "keel/net/stream.h"
#include "keel/task/task.h"

namespace keel {
class TransportLayers;
}

namespace keel::messages {

class Handlers;
class MessageMetrics;

// How a client connects, and what it accepts from the server.
struct ClientOptions {
  PeerOptions peer = {};
  io::ConnectOptions connect = {};
  // Handlers for what the server sends and asks; must outlive the client. Null: it handles nothing.
  const Handlers* handlers = nullptr;
  TransportLayers* layers = nullptr;  // tls::Layers, for TLS; must outlive the client. Null: no TLS.
  // With TLS: the host that the certificate must be for. Must live until it is connected.
  std::string_view host = {};
  const MessageMetrics* metrics = nullptr;  // Must outlive the client (metrics.h). Null: nothing is counted.
};

class Client {
 public:
  // Completes when the server's first frame has come.
  static Task<Client> connect(Address address, ClientOptions options = {});
  // The same over a connected stream from which nothing was read.
  static Task<Client> over(Stream stream, ClientOptions options = {});

  Client(Client&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Client& operator=(Client&& other) noexcept {
    if (this != &other) {
      reset();
      connection_ = std::exchange(other.connection_, nullptr);
    }
    return *this;
  }
  ~Client() { reset(); }

  Peer& operator*() const noexcept;
  Peer* operator->() const noexcept { return &**this; }

  // Sends no more requests, waits at most close_timeout until the peer's requests are handled and the queue is sent,
  // and closes. Completes when nothing of the connection is left.
  Task<> close();

 private:
  explicit Client(internal::Connection& connection) noexcept : connection_(&connection) {}
  void reset() noexcept;
  internal::Connection* connection_;
};

}  // namespace keel::messages
