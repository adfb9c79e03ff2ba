// keel/http/server/internal/carrier.h — the interface through which an exchange uses its connection.
//
// Internal to http. A carrier does the framing of one request and its response, for one version of HTTP. An HTTP/1.1
// connection has one carrier at a time (connection_carrier.h); an HTTP/2 connection would have one carrier for each
// stream. A request that is handled synchronously needs no carrier, because the connection writes the response
// directly.
//
// The functions of a carrier are called by the exchange's own tasks, or during a call of the exchange. The carrier
// frees the exchange, in end() or later.
//
// Threads: the worker.

#pragma once

#include <string_view>

#include "keel/http/server/response.h"

namespace keel::http {

class PendingExchange;

class Carrier {
 public:
  // Called when the handler has used all bytes that it received so far, and either waits for more bytes of the body or
  // has read the body to its end. The handler is suspended in its read and must not be woken yet: no bytes may be
  // delivered before this function returns.
  virtual void read_body() noexcept = 0;
  // Frames and queues the head of the response, and its body unless the body is streamed.
  virtual void write_head(Response& response) = 0;
  // Removes the head of a streamed response and the queued part of its body from the queue, so that another response
  // can replace them. Returns false if a part of the response was already sent.
  virtual bool take_back() noexcept = 0;
  // Queues the beginning of `rest`, as much as there is room for; `rest` is a part of a streamed body. Returns true if
  // all of `rest` is queued, or if nothing more can be queued because the connection has ended. When there is room
  // again, the carrier calls PendingExchange::go_on_writing().
  virtual bool write_body(std::string_view& rest) noexcept = 0;
  // Called when the response is complete, or when the exchange was abandoned and its task has ended. The exchange may
  // have been destroyed when this function returns.
  virtual void end() = 0;
  // Called when the response cannot be completed: its head was not written, or its body has failed. The exchange may
  // have been destroyed when this function returns.
  virtual void reset() = 0;
  // Called when a task of the exchange has ended: calls `step` on the exchange, and continues with the work of the
  // connection that has become possible.
  virtual void resume(void (PendingExchange::*step)()) noexcept = 0;
  // Whether the connection can be upgraded with this response.
  virtual bool can_upgrade() const noexcept = 0;

 protected:
  ~Carrier() = default;
};

}  // namespace keel::http
