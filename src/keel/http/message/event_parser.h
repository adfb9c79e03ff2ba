// keel/http/message/event_parser.h — reads server-sent events (text/event-stream, HTML Living Standard §9.2.6).
//
//   EventParser parser;
//   std::string_view rest = chunk;
//   while (true) {
//     const Result<std::optional<ServerEvent>> event = parser.next(rest);    // takes bytes from the front of rest
//     if (!event || !*event) break;                                          // an error; or rest is empty
//     use((*event)->data);
//   }
//
// The parser does no input or output; http::EventReader (client/event_reader.h) reads the events of a response. The
// events do not depend on how the bytes are divided into chunks. If the stream ends within an event, that event is
// lost.
//
// Errors:   OutOfRange if an event, or a line of an event, is longer than `event_bytes_max`; after this error, the
//           parser must not be used.
// Lifetime: an event is valid until the next call of next().
// Threads:  a value.
// Cost:     linear in the number of bytes; each byte is copied once or twice. The parser keeps the memory of its
//           largest event.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/base/time.h"

namespace keel::http {

// One event of a stream.
struct ServerEvent {
  std::string_view data;              // The lines of the event's data, separated by "\n".
  std::string_view type = "message";  // The value of the field `event`.
  // The last `id` in the stream so far, which was sent with this event or an earlier event; may be empty.
  std::string_view id = {};
};

class EventParser {
 public:
  explicit EventParser(std::size_t event_bytes_max = std::size_t{1} << 20) noexcept
      : event_bytes_max_(event_bytes_max) {}

  // Takes bytes from the front of `bytes`, up to the end of the next event. Returns nullopt if all bytes were taken and
  // the next event is not complete yet.
  Result<std::optional<ServerEvent>> next(std::string_view& bytes);
  // The `id` of the last complete event that had an `id`; it is the Last-Event-ID to send after a reconnect.
  std::string_view last_id() const noexcept { return id_.view(); }
  // The time that the server asks the client to wait before reconnecting, at most a day; nullopt if the server has not
  // sent `retry`.
  std::optional<Duration> retry() const noexcept { return retry_; }

 private:
  // Handles the complete line in line_. Returns true if the line ends an event.
  bool end_line();
  void set_field(std::string_view name, std::string_view value);

  std::size_t event_bytes_max_;
  Buffer line_;
  Buffer data_;  // The lines of data so far, each with its "\n".
  Buffer type_;
  Buffer id_;
  Buffer next_id_;  // The value of the last field `id`; it becomes id_ when the event ends.
  std::optional<Duration> retry_;
  bool is_first_line_ = true;
  bool after_return_ = false;  // The last byte was "\r": if the next byte is "\n", it belongs to the same line end.
  bool was_given_ = false;     // The event in data_ and type_ was returned, so the next call clears them.
};

}  // namespace keel::http
