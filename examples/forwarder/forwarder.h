// Forwards every connection to one address, in both directions.

#pragma once

#include "keel/net/listener.h"
#include "keel/net/stream.h"
#include "keel/task/group.h"
#include "keel/task/scope.h"

namespace forwarder {

using namespace keel;

inline Task<> copy(Stream& from, Stream& to) {
  while (true) {
    const Chunk chunk = co_await from.receive();
    if (chunk.empty()) break;
    co_await to.write(chunk);
  }
  to.shutdown_write();  // The other direction continues after this direction ends.
}

inline Task<> forward(Stream client, Address address) {
  Stream server = co_await Stream::connect(address);  // An error ends this task, which closes the client's connection.
  // An error in one direction also stops the other direction.
  co_await all(copy(client, server), copy(server, client));
}

inline Task<> serve(Listener& listener, Address address) {
  Scope connections;
  while (true) {
    Stream client = co_await listener.accept();
    connections.spawn(forward(std::move(client), address), OnError::Ignore);
  }
}

}  // namespace forwarder
