// keel/db/postgres/internal/connect.h — connects to the server, with TLS if it is configured, and logs in.

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

// Connects to the first server that accepts the login and is of the kind that target_session_attrs requires. The
// connect_timeout applies to each server separately. `reader` is reset first; after the login, it continues to read the
// messages of the session.
Task<Connected> connect(Pool& pool, Reader& reader);

// Connects without logging in, with TLS if it is configured: for a CancelRequest.
Task<Stream> dial(Pool& pool, ServerAddress server);

}  // namespace keel::db::postgres::internal
