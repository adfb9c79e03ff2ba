// keel/db/postgres/internal/connect.h — a connection to the server, with TLS where it is wanted, and the login.

#pragma once

#include <utility>

#include "keel/db/postgres/message.h"
#include "keel/db/postgres/options.h"
#include "keel/db/postgres/reader.h"
#include "keel/net/stream.h"
#include "keel/task/task.h"

namespace keel::db::postgres::internal {

class Pool;

struct Connected {
  Connected(Stream s, BackendKeyData k, ServerAddress a) noexcept
      : stream(std::move(s)), key(k), server(std::move(a)) {}
  Stream stream;
  BackendKeyData key;
  ServerAddress server;
};

// To the first server that lets us in and is what target_session_attrs asks for, within the connect_timeout of each.
// The messages that follow come by `reader`, which is made anew.
Task<Connected> connect(Pool& pool, Reader& reader);

// Only the connection, with TLS: for a CancelRequest.
Task<Stream> dial(Pool& pool, ServerAddress server);

}  // namespace keel::db::postgres::internal
