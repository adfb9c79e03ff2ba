// keel/http/server/internal/carrier.h — what an exchange asks of whatever carries it over its connection.
//
// Internal to http. A carrier frames the bytes of one request and its response as its version of HTTP does. An HTTP/1.1
// connection has one at a time (connection_carrier.h); one of HTTP/2 would have many, each a stream of its own. A
// request that is answered synchronously needs none: its connection writes the response itself.
//
// Calls come from the exchange's own tasks, or from inside a call to the exchange. The carrier frees the exchange, in
// end() or later.
//
// Threads: the worker.

#pragma once

#include <string_view>

#include "keel/http/server/response.h"

namespace keel::http {

class PendingExchange;

class Carrier {
 public:
  // The handler waits for bytes of the request's body, or has read it to its end: what it was given before is used. It
  // is inside its read: bytes must not arrive before this returns.
  virtual void read_body() noexcept = 0;
  // Frames and queues the head of the response, and its body unless that is streamed.
  virtual void write_head(Response& response) = 0;
  // Takes the head of a response whose body is streamed back, and what is queued of its body: another response takes
  // its place. False: some of it has left.
  virtual bool take_back() noexcept = 0;
  // Queues as much of `rest`, a part of a streamed body, as there is room for. True: all of it is queued, or nothing
  // more of it will ever be. Where there is room again PendingExchange::go_on_writing() is called.
  virtual bool write_body(std::string_view& rest) noexcept = 0;
  // The response is complete, or the exchange was abandoned and its task has ended. The exchange may be gone
  // afterwards.
  virtual void end() = 0;
  // The response will never be complete: its head has not been written, or its body has failed. The exchange may be
  // gone afterwards.
  virtual void reset() = 0;
  // A task of the exchange has ended: calls `step` of it, and continues with what has become possible.
  virtual void resume(void (PendingExchange::*step)()) noexcept = 0;
  // Whether the connection can leave HTTP with this response.
  virtual bool can_upgrade() const noexcept = 0;

 protected:
  ~Carrier() = default;
};

}  // namespace keel::http
