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
// No input or output: http::EventReader (client/event_reader.h) reads the events of a response. However the bytes are
// divided into chunks, the events are the same. If the stream ends within an event, that event is lost.
//
// Errors:   OutOfRange: an event, or a line of one, is longer than `event_bytes_max`; the parser can no longer be used.
// Lifetime: an event is valid until the next call.
// Threads:  a value.
// Cost:     linear; each byte is copied once or twice. The parser keeps the memory of its largest event.

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
  std::string_view data;              // Its lines, separated by "\n".
  std::string_view type = "message";  // The value of the field `event`.
  std::string_view id = {};           // The last `id` of the stream, of this event or an earlier one; may be empty.
};

class EventParser {
 public:
  explicit EventParser(std::size_t event_bytes_max = std::size_t{1} << 20) noexcept
      : event_bytes_max_(event_bytes_max) {}

  // Takes bytes from the front of `bytes` up to the end of the next event. nullopt: all bytes were taken, and no event
  // is complete yet.
  Result<std::optional<ServerEvent>> next(std::string_view& bytes);
  // The last `id` whose event is complete: the Last-Event-ID of the next request.
  std::string_view last_id() const noexcept { return id_.view(); }
  // How long the server asks a client to wait before it connects again; at most a day. nullopt: the server has not sent
  // `retry`.
  std::optional<Duration> retry() const noexcept { return retry_; }

 private:
  // The line in line_ is complete. True: the line ends an event.
  bool end_line();
  void set_field(std::string_view name, std::string_view value);

  std::size_t event_bytes_max_;
  Buffer line_;
  Buffer data_;  // The data, each line with its "\n".
  Buffer type_;
  Buffer id_;
  Buffer next_id_;  // The value of the last field `id`; it is the id_ from the end of its event on.
  std::optional<Duration> retry_;
  bool is_first_line_ = true;
  bool after_return_ = false;  // The last byte was "\r": a "\n" after it belongs to the same line end.
  bool was_given_ = false;     // The event in data_ and type_ was returned.
};

}  // namespace keel::http
