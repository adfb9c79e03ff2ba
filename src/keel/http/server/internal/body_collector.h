// keel/http/server/internal/body_collector.h — collects the body of a request for a handler that does not read the body
// itself, after middleware has accepted the request.
//
// Internal to http: Request::whole_body() reads the body and passes its parts to the collector, which is the exchange
// of the request.
//
// Threads: the worker.

#pragma once

#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/http/server/body_reader.h"

namespace keel::http {

class BodyCollector {
 public:
  // Appends a part. ResourceExhausted: this part would exceed the memory limit for bodies; the rest of the body is then
  // not accepted.
  virtual Result<> keep(Chunk part) = 0;
  // Call this function when the body is complete: from then on, Request::body() returns the body.
  virtual void end_body() noexcept = 0;
  // The time limit of the handler, which begins now.
  virtual Duration handler_timeout() const noexcept = 0;

 protected:
  ~BodyCollector() = default;
};

}  // namespace keel::http
