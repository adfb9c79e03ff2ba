// keel/net/messages/client.h — a single connection that this program makes, without retries; pool.h has pools of
// connections.
//
//   Client client = co_await Client::connect(*Address::parse("127.0.0.1:7000"));
//   const Celsius now = co_await client->request<Celsius>(average);
//   co_await client.close();
//
// Errors:    connect() fails with the errors of Stream::connect; with DeadlineExceeded; with Protocol when the server
//            speaks another protocol; with Unsupported when there is no common version; and with the server's reason
//            when the server closes the connection immediately.
// Ownership: owns its Peer; movable. The destructor closes the connection once the queued frames are sent, and stops
//            the handlers, which end later: objects to which the handlers refer must live until the loop ends, or until
//            close() has completed.
// Lifetime:  when the client is destroyed, tasks that wait for replies get Unavailable.
// Threads:   the worker on which the Client was made.
// Cancel:    a cancelled connect() closes its socket.

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
  // Handlers for messages and requests from the server; they must outlive the client. Null: the client handles no
  // messages or requests.
  const Handlers* handlers = nullptr;
  TransportLayers* layers = nullptr;  // tls::Layers, for TLS; must outlive the client. Null: no TLS.
  // The host that the server's certificate must be valid for, if TLS is used. The text must live until the client is
  // connected.
  std::string_view host = {};
  const MessageMetrics* metrics = nullptr;  // Must outlive the client (metrics.h). Null: no metrics.
};

class Client {
 public:
  // Completes when the server's first frame has arrived.
  static Task<Client> connect(Address address, ClientOptions options = {});
  // Uses a connected stream from which nothing was read.
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

  // The peer of the connection. Both operators throw a Bug (base/bug.h) if the Client was moved from.
  Peer& operator*() const;
  Peer* operator->() const { return &**this; }

  // Sends no more requests, waits at most close_timeout until the peer's requests are handled and the queue is sent,
  // and then closes the connection. Completes when the connection no longer exists, or immediately if the client was
  // already closed or was moved from.
  Task<> close();

 private:
  explicit Client(internal::Connection& connection) noexcept : connection_(&connection) {}
  void reset() noexcept;
  internal::Connection* connection_;
};

}  // namespace keel::messages
