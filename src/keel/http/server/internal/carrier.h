// keel/http/server/internal/carrier.h — what an exchange asks of the connection that carries it.
//
// Internal to http. A connection frames the bytes of requests and responses as its version of HTTP does: an HTTP/1.1
// connection carries one exchange at a time, one of HTTP/2 would carry many. A request that is answered synchronously
// needs none of this but upgrade(): its connection writes the response itself.
//
// Calls come from the exchange's own tasks, or from inside a call of the connection's to the exchange. The connection
// frees the exchange, in end() or later.
//
// Threads: the worker.

#pragma once

#include <string_view>

#include "keel/http/server/response.h"

namespace keel::http {

class Exchange;
class PendingExchange;

class Carrier {
 public:
  // The handler waits for bytes of the request's body. It is inside its read: they must not arrive before this returns.
  virtual void read_body(PendingExchange& exchange) noexcept = 0;
  // Frames and queues the head of the response, and its body unless that is streamed.
  virtual void write_head(PendingExchange& exchange, Response& response) = 0;
  // Queues as much of `rest`, a part of a streamed body, as there is room for. True: all of it is queued, or nothing
  // more of it will ever be. Later the connection calls PendingExchange::go_on_writing().
  virtual bool write_body(PendingExchange& exchange, std::string_view& rest) noexcept = 0;
  // The response is complete, or the exchange was abandoned and its task has ended. The exchange may be gone
  // afterwards.
  virtual void end(PendingExchange& exchange) = 0;
  // The response will never be complete: before its head has been written, or in the middle of its body. The exchange
  // may be gone afterwards.
  virtual void reset(PendingExchange& exchange) = 0;
  // A task of the exchange has ended: the connection calls `step` of it, and goes on with what has become possible.
  virtual void resume(PendingExchange& exchange, void (PendingExchange::*step)()) noexcept = 0;
  // The response to a request whose handler wants to leave HTTP: `wanted`, or a rejection.
  virtual Response upgrade(const Exchange& exchange, Response wanted) = 0;

 protected:
  ~Carrier() = default;
};

}  // namespace keel::http
