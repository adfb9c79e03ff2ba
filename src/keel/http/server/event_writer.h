// keel/http/server/event_writer.h — a response of server-sent events (text/event-stream, HTML Living Standard §9.2).
//
//   Task<> Prices::follow(http::EventWriter& events, std::string last_id) {
//     for (Price price = co_await after(last_id);; price = co_await next()) {
//       co_await events.send(json::write(price), "price", price.id);
//     }
//   }
//   http::Response Prices::events(http::Request& request) {
//     return http::Response::events(*this, &Prices::follow, std::string(request.header("Last-Event-ID").value_or("")));
//   }
//
// Response::events() takes a function and its arguments as Response::stream() does (response.h), and adds
// `Cache-Control: no-store` and `X-Accel-Buffering: no`, so that neither caches nor nginx hold events back. While the
// function waits, the stream sends a comment every 15 seconds, so that proxies keep the connection and the server
// notices when a client is gone. When the function returns, the response ends, and a browser connects again.
//
// Errors:    send: a bug (base/bug.h) for a type or an id with a line break, and for an id with a NUL; nothing is sent
//            then. retry: the same for a time below zero. Otherwise as BodyWriter::write(). An error of the function
//            ends the response as it does for a stream().
// Cancel:    as for a BodyWriter (body_writer.h): the task is stopped when the client disconnects or receives no bytes,
//            and when the server drains. After a cancelled send it is unknown how much of the event is queued.
// Threads:   the worker. Several tasks may send; their calls are executed one after the other.
// Cost:      an event is copied twice; no heap in steady state. A timer, and a task that sends the comments.

#pragma once

#include <source_location>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/http/server/body_writer.h"
#include "keel/task/mutex.h"
#include "keel/task/task.h"

namespace keel::http {

class EventWriter {
 public:
  using Callable = Function<Task<>(EventWriter&)>;

  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // Sends one event. `data` is any text, each line of which becomes a line of the event; clients see the type "message"
  // if `type` is empty; a client that connects again sends the last `id` that was not empty as Last-Event-ID. The texts
  // must be valid until then.
  Task<> send(std::string_view data, std::string_view type = {}, std::string_view id = {},
              std::source_location place = std::source_location::current());
  // Asks the client to wait this long before it connects again, when this response has ended: whole milliseconds, 0 or
  // more.
  Task<> retry(Duration wait, std::source_location place = std::source_location::current());

  // The body of Response::events(): runs `follow` to its end.
  static Task<> write_body(BodyWriter& out, Callable& follow);

 private:
  explicit EventWriter(BodyWriter& out) noexcept : out_(out) {}
  Task<> keep_alive();

  BodyWriter& out_;
  Mutex sending_;
  Buffer text_;  // The lines that are being sent.
};

}  // namespace keel::http
