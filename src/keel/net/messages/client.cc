#include "keel/net/messages/client.h"

#include <memory>
#include <utility>

#include "keel/base/bug.h"
#include "keel/net/messages/internal/connection.h"
#include "keel/net/transport.h"
#include "keel/task/timing.h"

namespace keel::messages {
namespace {

Task<> until_idle(internal::Connection& connection) {
  while (!connection.is_idle()) {
    connection.idle().reset();
    co_await connection.idle().wait();
  }
}

}  // namespace

Task<Client> Client::connect(Address address, ClientOptions options) {
  Stream stream = co_await Stream::connect(address, options.connect);
  co_return co_await over(std::move(stream), std::move(options));
}

Task<Client> Client::over(Stream stream, ClientOptions options) {
  if (options.layers != nullptr) {
    stream = co_await Stream::layered(*options.layers, options.host, std::move(stream));
  }
  // Shared with the connection, which may outlive the client.
  auto settings = std::make_shared<internal::Settings>();
  settings->options = internal::with_room_to_wait(options.peer);
  settings->handlers = options.handlers;
  settings->metrics = options.metrics;
  Client client(*new internal::Connection(stream.detach(), std::move(settings), nullptr));
  co_await client.connection_->greeted().wait();
  if (client.connection_->is_closed()) co_return client.connection_->reason().clone();
  co_return std::move(client);
}

Peer& Client::operator*() const {
  KEEL_EXPECT(connection_ != nullptr, "a Client that was moved from has no peer");
  return *connection_;
}

Task<> Client::close() {
  if (connection_ == nullptr) co_return;
  internal::Connection& connection = *connection_;
  connection.drain();
  Result<> idle = co_await attempt(with_timeout(connection.options().close_timeout, until_idle(connection)));
  if (!idle && idle.error().code() == Code::Cancelled) co_await std::move(idle);
  connection.close(Error(Code::Cancelled, "the peer is gone"));
  co_await connection.over().wait();
  reset();
}

void Client::reset() noexcept {
  if (internal::Connection* const connection = std::exchange(connection_, nullptr)) connection->let_go();
}

}  // namespace keel::messages
