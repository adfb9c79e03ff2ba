// keel/http/exchange.h — a request in progress: its memory, its body and its task.
//
// Internal to http: a Connection has one while a request outlives the call that brought it. It lives in the worker's
// pool.
//
// Threads: the worker.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/http/answer.h"
#include "keel/http/body_decoder.h"
#include "keel/http/body_reader.h"
#include "keel/http/body_writer.h"
#include "keel/http/request.h"
#include "keel/http/response.h"
#include "keel/http/router.h"
#include "keel/task/start.h"

namespace keel::flight {
struct Activity;
}

namespace keel::http {

class Connection;

struct Exchange {
  static Exchange* make();
  static void free(Exchange* exchange) noexcept;
  // For a signal handler that asks what this worker is doing: `subject` is a Request.
  static flight::Activity tell(const void* subject);

  // Whether what is left of the body may be thrown away, so that another request can follow.
  bool can_discard() const noexcept;
  bool is_running() const noexcept { return run.is_running() || writing.is_running(); }
  void stop(Code reason) noexcept;

  Arena arena;
  RequestHead head;
  Request request;
  Router::Match match{};
  BodyDecoder decoder;        // Of the body, unless the route streams it:
  Buffer body;                // the whole of it,
  std::size_t body_held = 0;  // and what it takes of the acceptor's body_bytes.
  Instant until;              // Of its body, then of its task.
  bool is_due = false;        // A task waits to be begun: the handler's, or in Phase::Streaming the body's.
  bool streams_in = false;    // The handler reads the body.
  bool awaits_continue = false;
  struct Reader : BodyReader {
    Connection* owner = nullptr;
  } reader;
  Instant read_began;    // When the reader began to wait, and
  Duration read_waited;  // how long it did before.
  std::size_t discarded = 0;
  StageClock stages;      // When the request is measured, and
  Instant handler_began;  // when its handler was begun.
  struct Run : Start<Response> {
    Connection* owner = nullptr;
  } run;
  // The answer's body, when it is streamed.
  StreamedBody streamed;
  std::optional<BodyWriter> writer;
  struct Writing : Start<void> {
    Connection* owner = nullptr;
  } writing;
  Status status = Status::Ok;
  BodyEnd body_end = BodyEnd::Length;
  bool gathers = false;  // A task is being begun: what it writes leaves with what is there already.
};

}  // namespace keel::http
