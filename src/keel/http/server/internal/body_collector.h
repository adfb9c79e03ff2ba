// keel/http/server/internal/body_collector.h — puts the body of a request together where its handler does not read it
// itself, and where middleware decides first whether it is taken.
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
  // Appends a part. ResourceExhausted: with it more is held for bodies than may be; the rest is not taken.
  virtual Result<> keep(Chunk part) = 0;
  // The body is whole: from here on it is Request::body().
  virtual void end_body() noexcept = 0;
  // How long the handler has, from now on.
  virtual Duration handler_timeout() const noexcept = 0;

 protected:
  ~BodyCollector() = default;
};

}  // namespace keel::http
