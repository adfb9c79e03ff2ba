// What a server holds behind its header.

#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "keel/http/server/internal/acceptor.h"
#include "keel/http/server/internal/server_metrics.h"
#include "keel/http/server/server.h"
#include "keel/io/runtime.h"

namespace keel::http {

struct Server::State {
  io::Runtime* runtime = nullptr;  // Null: on a loop of its caller's.
  std::vector<std::unique_ptr<Acceptor>> acceptors;
  std::atomic<int> open_acceptors = 0;
  std::unique_ptr<Metrics> metrics;  // Null: none.
};

}  // namespace keel::http
