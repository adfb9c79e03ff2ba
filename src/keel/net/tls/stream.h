// keel/net/tls/stream.h — streams and listeners that speak TLS.
//
//   Task<std::string> ask(tls::ClientContext context, Resolver& resolver) {
//     Stream stream = co_await tls::connect(context, resolver, "shop.example", 443);  // the server is authenticated
//     co_await stream.write("hello\n");
//     co_return std::string(co_await stream.read_until("\n", 1024));
//   }
//
//   tls::Listener listener = co_await tls::Listener::bind(context, *Address::parse("0.0.0.0:8443"));
//   Scope connections;
//   while (true) connections.spawn(talk(co_await listener.accept()), OnError::Ignore);
//
// The streams are ordinary streams (net/stream.h), with three exceptions: send_file() does not work (EOPNOTSUPP);
// shutdown_write() sends close_notify; and if the peer's bytes end without close_notify, the read fails (Unavailable),
// because the bytes may be truncated.
//
// Errors:    connect() fails with the errors of Stream::connect and of the handshake (Records, net/tls/records.h), and
//            with DeadlineExceeded when the handshake takes longer than the context's handshake_timeout. All errors of
//            connect() name the host.
// Cancel:    a cancelled connect() closes the connection.
// Threads:   each object is used only on the worker on which it was made. Contexts are copied.

#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "keel/net/listener.h"
#include "keel/net/stream.h"
#include "keel/net/tls/context.h"

namespace keel {
class AddressGuard;
class Resolver;
}  // namespace keel

namespace keel::tls {

class Records;

// Connects to `address`, and completes when the server has proved that it is `host`.
Task<Stream> connect(ClientContext context, std::string host, Address address, io::ConnectOptions options = {});
// Connects to the first address that responds; with `guard`, only addresses that the guard allows are tried
// (net/address_guard.h).
Task<Stream> connect(ClientContext context, Resolver& resolver, std::string host, std::uint16_t port,
                     io::ConnectOptions options = {});
Task<Stream> connect(ClientContext context, Resolver& resolver, std::string host, std::uint16_t port,
                     const AddressGuard& guard, io::ConnectOptions options = {});
// Does the handshake over a connected stream from which nothing was read.
Task<Stream> connect(ClientContext context, std::string host, Stream plain);

// Makes the server's side of TLS over `plain`, from which nothing was read. accept() does not wait for the handshake,
// so that a slow peer does not delay other peers. The first read or write waits for the handshake, and so does
// `co_await stream.establish()`, after which connection_of() identifies the peer.
Result<Stream> accept(const ServerContext& context, Stream plain);

// The result of the handshake. Null: `stream` does not use TLS. The pointer is valid as long as the stream exists.
const Records* connection_of(const Stream& stream) noexcept;

// Errors, memory, cost and cancellation are those of a keel::Listener.
class Listener {
 public:
  static Result<Listener> bind(ServerContext context, const Address& address, const io::ListenOptions& options = {});

  // Waits for the next connection, and makes its stream as accept() above does.
  Task<Stream> accept();
  Address address() const noexcept { return listener_.address(); }
  // Sets the context for later connections, for example one with a renewed certificate.
  void set_context(ServerContext context) noexcept { context_ = std::move(context); }

 private:
  Listener(ServerContext context, keel::Listener listener) noexcept
      : context_(std::move(context)), listener_(std::move(listener)) {}
  ServerContext context_;
  keel::Listener listener_;
};

}  // namespace keel::tls
