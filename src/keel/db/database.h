// keel/db/database.h — a Session that is opened, watched and closed by its owner; handlers take the Session.
//
// A back end makes a Database; an App makes the one that its settings name.
//
// Errors:   those of a Session (session.h).
// Lifetime: a Database outlives its tasks and what expose() returns. The loops on which it was used have stopped when
//           it is destroyed.
// Threads:  any thread, except where a function says something else.

#pragma once

#include <string>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/db/session.h"

namespace keel::io {
class Loop;
}
namespace keel::metrics {
class GaugeFunction;
class Registry;
}  // namespace keel::metrics

namespace keel::db {

// How full the connections are. SQLite: those of workers, of the pool and of the writer; what waits for the writer, or
// for the pool.
struct PoolStats {
  std::uint64_t connections = 0;
  std::uint64_t in_use = 0;    // Of these: a statement or a transaction is under way.
  std::uint64_t waiting = 0;   // Statements that wait for one now.
  std::uint64_t waits = 0;     // Statements that found none free,
  Duration wait_time;          // and for how long they waited, together.
  std::uint64_t timeouts = 0;  // Statements that failed because none was free in time.
};

class Database : public Session {
 public:
  // `on_change` is called, on any thread, when the database cannot be reached any more, and when it is again: ask
  // check_reads() then. Before attach(); until the last loop is detached. Of a database that is a file: when writes
  // begin to fail.
  virtual void watch(Function<void()> on_change) = 0;
  virtual PoolStats pool() const = 0;

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

  // Copies the database, as it is when this begins, into the file `path`, while it is read and written. A file that is
  // there is replaced when the copy is whole and on the disk; after an error or a cancellation it is as it was. The
  // copy is a database: to go back to it, stop the service, put it in the place of the database, and remove the -wal
  // and -shm files of that. InvalidArgument: the path is the database's own. Unsupported: the database is none of this
  // process; a server is backed up by its own means (pg_dump, pg_basebackup).
  virtual Task<> backup(std::string path);

  // Registers the counters and gauges of the database, db_…, for as long as the returned handles live. `registry`
  // outlives them.
  virtual std::vector<metrics::GaugeFunction> expose(metrics::Registry& registry) = 0;
};

}  // namespace keel::db
