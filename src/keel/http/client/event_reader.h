// keel/http/client/event_reader.h — the server-sent events of a response (text/event-stream).
//
//   http::ClientRequest request(http::Method::Get, "/prices");
//   request.header("Accept", "text/event-stream");
//   if (!last_id.empty()) request.header("Last-Event-ID", last_id);
//   http::ClientStream response = co_await client.open(std::move(request));
//   http::EventReader events(response);
//   while (const auto event = co_await events.next()) use(event->type, event->data);
//   last_id = events.last_id();
//
// The reader does not reconnect when the connection ends: open the stream in a loop that waits for retry()
// (docs/server_sent_events.md). At most ClientOptions::read_timeout may pass between two events or comments of the
// server.
//
// Errors:   Upstream if the status is not 200, the content is not text/event-stream, or an event is longer than
//           `event_bytes_max`. All further errors are those of ClientStream::read().
// Lifetime: the response outlives the reader; an event is valid until the next call of next().
// Threads:  the worker of the client. Only one task may call next() at a time.
// Cancel:   a cancelled next() loses no bytes that were already read, but it closes the connection, like a cancelled
//           read.
// Cost:     the cost of EventParser (message/event_parser.h), and one coroutine frame for each call.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "keel/base/time.h"
#include "keel/http/client/client.h"
#include "keel/http/message/event_parser.h"
#include "keel/task/task.h"

namespace keel::http {

class EventReader {
 public:
  explicit EventReader(ClientStream& response, std::size_t event_bytes_max = std::size_t{1} << 20) noexcept
      : response_(response), parser_(event_bytes_max) {}
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  // The next event; nullopt: the server has ended the response, and there are no more events.
  Task<std::optional<ServerEvent>> next();
  // As of EventParser.
  std::string_view last_id() const noexcept { return parser_.last_id(); }
  std::optional<Duration> retry() const noexcept { return parser_.retry(); }

 private:
  Result<> check_head() const;

  ClientStream& response_;
  EventParser parser_;
  std::string_view rest_;  // The part of the last chunk that has not been passed to the parser yet.
  bool is_checked_ = false;
};

}  // namespace keel::http
