// keel/http/exchange.h — a request in progress: its memory, its body and its task.
//
// Internal to http: a Connection has one while a request outlives the call that brought it. It lives in the worker's
// pool.
//
// Threads: the worker.

#pragma once

#include <cstdint>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/http/chunk.h"
#include "keel/http/request.h"
#include "keel/http/response.h"
#include "keel/http/router.h"
#include "keel/task/start.h"

namespace keel::http {

class Connection;

struct Exchange {
  Arena arena;
  RequestHead head;
  Request request;
  Router::Match match{};
  Buffer body;
  std::uint64_t body_left = 0;
  std::uint64_t body_max = 0;
  std::size_t body_held = 0;  // Of the acceptor's body_bytes.
  Instant until;              // Of its body, then of its task.
  ChunkDecoder chunks;
  bool chunked = false;
  struct Run : Start<Response> {
    Connection* owner = nullptr;
  } run;
};

}  // namespace keel::http
