// The private state of a server.

#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "keel/http/server/internal/server_metrics.h"
#include "keel/http/server/internal/server_worker.h"
#include "keel/http/server/server.h"
#include "keel/io/runtime.h"

namespace keel::http {

struct Server::State {
  io::Runtime* runtime = nullptr;  // Null: the server runs on its caller's loop.
  std::vector<std::unique_ptr<ServerWorker>> workers;
  std::atomic<int> open_workers = 0;
  std::unique_ptr<ServerMetrics> metrics;  // Null: no metrics.
};

}  // namespace keel::http
