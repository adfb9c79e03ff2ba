#include "keel/net/tls/stream.h"

#include "keel/base/bug.h"
#include "keel/net/address_guard.h"
#include "keel/net/resolver.h"
#include "keel/net/tls/layer.h"
#include "keel/net/transport.h"

namespace keel::tls {
Task<Stream> connect(ClientContext context, std::string host, Stream plain) {
  KEEL_EXPECT(!host.empty(), "connect() of TLS needs the host that the peer's certificate must be valid for");
  Layers layers(std::move(context));
  Stream stream = co_await Stream::layered(layers, host, std::move(plain));
  Result<> established = co_await attempt(stream.establish());
  if (!established) co_return std::move(established).error().because("TLS with '" + host + '\'');
  co_return std::move(stream);
}

Task<Stream> connect(ClientContext context, std::string host, Address address, io::ConnectOptions options) {
  Stream plain = co_await Stream::connect(address, options);
  co_return co_await connect(std::move(context), std::move(host), std::move(plain));
}

Task<Stream> connect(ClientContext context, Resolver& resolver, std::string host, std::uint16_t port,
                     io::ConnectOptions options) {
  Stream plain = co_await Stream::connect(resolver, host, port, options);
  co_return co_await connect(std::move(context), std::move(host), std::move(plain));
}

Task<Stream> connect(ClientContext context, Resolver& resolver, std::string host, std::uint16_t port,
                     const AddressGuard& guard, io::ConnectOptions options) {
  Stream plain = co_await Stream::connect(resolver, host, port, guard, options);
  co_return co_await connect(std::move(context), std::move(host), std::move(plain));
}

Result<Stream> accept(const ServerContext& context, Stream plain) {
  Layers layers(context);
  return Stream::layered(layers, {}, std::move(plain));
}

const Records* connection_of(const Stream& stream) noexcept {
  const auto* const layer = dynamic_cast<const Layer*>(stream.layer());
  return layer != nullptr ? &layer->records() : nullptr;
}

Result<Listener> Listener::bind(ServerContext context, const Address& address, const io::ListenOptions& options) {
  KEEL_TRY(keel::Listener listener, keel::Listener::bind(address, options));
  return Listener(std::move(context), std::move(listener));
}

Task<Stream> Listener::accept() {
  Stream plain = co_await listener_.accept();
  co_return co_await tls::accept(context_, std::move(plain));
}

}  // namespace keel::tls
