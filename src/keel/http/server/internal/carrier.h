// keel/http/server/internal/carrier.h — the interface through which an exchange uses its connection.
//
// Internal to http. A carrier frames the bytes of one request and its response as its version of HTTP requires. An
// HTTP/1.1 connection has one at a time (connection_carrier.h); an HTTP/2 connection would have many, one for each
// stream. A request that is handled synchronously needs no carrier: its connection writes the response itself.
//
// The carrier is called by the exchange's own tasks, or from inside a call to the exchange. The carrier frees the
// exchange, in end() or later.
//
// Threads: the worker.

#pragma once

#include <string_view>

#include "keel/http/server/response.h"

namespace keel::http {

class PendingExchange;

class Carrier {
 public:
  // The handler waits for bytes of the request's body, or has read it to its end: the bytes it received before have
  // been used. The handler is inside its read: no bytes may be delivered before this function returns.
  virtual void read_body() noexcept = 0;
  // Frames and queues the head of the response, and its body unless that is streamed.
  virtual void write_head(Response& response) = 0;
  // Takes back the head of a streamed response and the queued part of its body, so that another response can replace
  // it. False: a part of it was already sent.
  virtual bool take_back() noexcept = 0;
  // Queues as much of `rest`, a part of a streamed body, as there is room for. True: all of it is queued, or no more of
  // it ever will be. When there is room again, PendingExchange::go_on_writing() is called.
  virtual bool write_body(std::string_view& rest) noexcept = 0;
  // The response is complete, or the exchange was abandoned and its task has ended. The exchange may be destroyed when
  // this returns.
  virtual void end() = 0;
  // The response will never be complete: its head has not been written, or its body has failed. The exchange may be
  // destroyed when this returns.
  virtual void reset() = 0;
  // A task of the exchange has ended: calls `step` of the exchange, and continues with the work that has become
  // possible.
  virtual void resume(void (PendingExchange::*step)()) noexcept = 0;
  // Whether the connection can leave HTTP with this response.
  virtual bool can_upgrade() const noexcept = 0;

 protected:
  ~Carrier() = default;
};

}  // namespace keel::http
