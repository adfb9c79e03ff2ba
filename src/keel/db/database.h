// keel/db/database.h — a Session that is opened, watched and closed by its owner; handlers take the Session.
//
// A back end makes a Database; an App makes the one that its settings name.
//
// Errors:   those of a Session (session.h).
// Lifetime: a Database outlives its tasks and what expose() returns. The loops on which it was used have stopped when
//           it is destroyed.
// Threads:  any thread, except where a function says something else.

#pragma once

#include <vector>

#include "keel/base/result.h"
#include "keel/db/session.h"

namespace keel::io {
class Loop;
}
namespace keel::metrics {
class GaugeFunction;
class Registry;
}  // namespace keel::metrics

namespace keel::db {

class Database : public Session {
 public:
  // Opens the connections that `loop` needs now, instead of at its first statement. On the loop's thread.
  virtual Result<> attach(io::Loop& loop) = 0;
  // Completes what `loop` has asked for and ends what attach() has opened, while the loop turns: before the loop ends.
  // On the loop's thread. Nothing to do where connections are no work of the loop's.
  virtual void detach(io::Loop&) noexcept {}
  // What detach() has begun has come to its end, on every loop.
  virtual bool is_detached() const { return true; }
  // Completes the statements that are queued and ends threads and connections. Later statements fail with Unavailable.
  // Idempotent. One thread.
  virtual void close() noexcept = 0;

  // No statement waits or runs.
  virtual bool is_idle() const = 0;

  // For health checks: reads something that is stored.
  virtual Task<> check_reads() = 0;
  // For health checks: success unless the last write failed because the database takes none; then the result of a write
  // that changes nothing.
  virtual Task<> check_writes() = 0;

  // Registers the counters and gauges of the database, db_…, for as long as the returned handles live. `registry`
  // outlives them.
  virtual std::vector<metrics::GaugeFunction> expose(metrics::Registry& registry) = 0;
};

}  // namespace keel::db
