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
// Response::events() takes a function and its arguments, like Response::stream() (response.h). Response::events() adds
// `Cache-Control: no-store` and `X-Accel-Buffering: no`, so that neither caches nor nginx hold events back. While the
// function waits, the stream sends a comment every 15 seconds, so that proxies keep the connection open and the server
// notices when a client has disconnected. When the function returns, the response ends; a browser then reconnects.
//
// Errors:    send: a type or an id with a line break, and an id with a NUL, are a bug (base/bug.h), and nothing is
//            sent. retry: a time below zero is a bug as well. Otherwise as BodyWriter::write(). If the function fails,
//            the response ends as it does for stream().
// Cancel:    as for a BodyWriter (body_writer.h), the task is stopped when the client disconnects or receives no bytes,
//            and when the server drains. After a cancelled send, it is unknown how many bytes of the event are queued.
// Threads:   the worker. Several tasks may send at the same time; their events are sent one after the other.
// Cost:      each event is copied twice; in steady state, no memory is allocated from the heap. Each stream also has a
//            timer, and a task that sends the comments.

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

  // Sends one event. `data` is any text; each of its lines becomes a line of the event. If `type` is empty, clients see
  // the type "message". A client that reconnects sends the last `id` that was not empty as Last-Event-ID. `data`,
  // `type` and `id` must be valid until the task completes.
  Task<> send(std::string_view data, std::string_view type = {}, std::string_view id = {},
              std::source_location place = std::source_location::current());
  // Asks the client to wait for this time before it reconnects after the end of this response; the time is in whole
  // milliseconds, 0 or more.
  Task<> retry(Duration wait, std::source_location place = std::source_location::current());

  // The body of Response::events(): runs `follow` to its end.
  static Task<> write_body(BodyWriter& out, Callable& follow);

 private:
  explicit EventWriter(BodyWriter& out) noexcept : out_(out) {}
  Task<> keep_alive();

  BodyWriter& out_;
  Mutex sending_;
  Buffer text_;  // The lines of the event that is being sent.
};

}  // namespace keel::http
