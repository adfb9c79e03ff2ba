// keel/net/tls/stream.h — streams and listeners that speak TLS.
//
//   Task<std::string> ask(tls::ClientContext context, Resolver& resolver) {
//     Stream stream = co_await tls::connect(context, resolver, "shop.example", 443);  // the peer has proved who it is
//     co_await stream.write("hello\n");
//     co_return std::string(co_await stream.read_until("\n", 1024));
//   }
//
//   tls::Listener listener = co_await tls::Listener::bind(context, *Address::parse("0.0.0.0:8443"));
//   Scope connections;
//   while (true) connections.spawn(talk(co_await listener.accept()), OnError::Ignore);
//
// They are ordinary streams (net/stream.h), except that send_file() does not work (EOPNOTSUPP), that shutdown_write()
// sends close_notify, and that the end of the peer's bytes without close_notify is an error of the read (Unavailable),
// because the bytes may be truncated.
//
// Errors:    of connect: those of Stream::connect; then of the handshake, as Records has them (net/tls/records.h), and
//            DeadlineExceeded above the context's handshake_timeout. All name the host.
// Cancel:    the connection is closed.
// Threads:   the worker they were made on. Contexts are copied.

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

// Connects to `address`, and completes when the server has proved to be `host`.
Task<Stream> connect(ClientContext context, std::string host, Address address, io::ConnectOptions options = {});
// Connects to the first address that responds, of those that `guard` allows (net/address_guard.h), or of all.
Task<Stream> connect(ClientContext context, Resolver& resolver, std::string host, std::uint16_t port,
                     io::ConnectOptions options = {});
Task<Stream> connect(ClientContext context, Resolver& resolver, std::string host, std::uint16_t port,
                     const AddressGuard& guard, io::ConnectOptions options = {});
// Over a connected stream from which nothing was read.
Task<Stream> connect(ClientContext context, std::string host, Stream plain);

// The server's side of `plain`, from which nothing was read. It does not wait for the handshake, so that a slow peer
// does not delay others: the first read or write does, or `co_await stream.establish()`, after which connection_of()
// identifies the peer.
Result<Stream> accept(const ServerContext& context, Stream plain);

// The result of the handshake. Null: `stream` does not use TLS. The pointer is valid as long as the stream.
const Records* connection_of(const Stream& stream) noexcept;

// Errors, memory, cost and cancellation are those of a keel::Listener.
class Listener {
 public:
  static Result<Listener> bind(ServerContext context, const Address& address, const io::ListenOptions& options = {});

  // The next connection, as accept() above makes it.
  Task<Stream> accept();
  Address address() const noexcept { return listener_.address(); }
  // Sets the context of later connections, for example with a renewed certificate.
  void set_context(ServerContext context) noexcept { context_ = std::move(context); }

 private:
  Listener(ServerContext context, keel::Listener listener) noexcept
      : context_(std::move(context)), listener_(std::move(listener)) {}
  ServerContext context_;
  keel::Listener listener_;
};

}  // namespace keel::tls
