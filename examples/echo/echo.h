// Sends each received byte back.

#pragma once

#include "keel/net/listener.h"
#include "keel/net/stream.h"
#include "keel/task/scope.h"

namespace echo {

using namespace keel;

inline Task<> talk(Stream peer) {
  while (true) {
    const Chunk chunk = co_await peer.receive();  // The bytes are valid until the next receive().
    if (chunk.empty()) co_return;                 // The peer has finished writing; co_return closes this side too.
    co_await peer.write(chunk);
  }
}

inline Task<> serve(Listener& listener) {
  Scope connections;  // On return or on an error, serve() first ends the connections in this Scope.
  while (true) {
    Stream peer = co_await listener.accept();
    connections.spawn(talk(std::move(peer)), OnError::Ignore);
  }
}

}  // namespace echo
