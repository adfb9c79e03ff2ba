// keel/http/server/internal/body_collector.h — collects the body of a request whose handler does not read it itself,
// after middleware has decided that the body is accepted.
//
// Internal to http: Request::whole_body() reads the body and gives its parts to a collector, which is the exchange that
// the request belongs to.
//
// Threads: the worker.

#pragma once

#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/http/server/body_reader.h"

namespace keel::http {

class BodyCollector {
 public:
  // Appends a part. ResourceExhausted: with this part the memory limit for bodies would be exceeded; the rest is not
  // accepted.
  virtual Result<> keep(Chunk part) = 0;
  // The body is complete: from now on it is Request::body().
  virtual void end_body() noexcept = 0;
  // The time limit of the handler, counted from now on.
  virtual Duration handler_timeout() const noexcept = 0;

 protected:
  ~BodyCollector() = default;
};

}  // namespace keel::http
