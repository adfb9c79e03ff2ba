// keel/db/database.h — a database as its owner sees it: a Session, and the functions that open, watch and close the
// database; handlers get only the Session.
//
// Each back end has a class that implements Database; an App creates the Database that its settings name.
//
// Errors:   those of a Session (session.h).
// Lifetime: a Database must outlive its tasks and the handles that expose() returns. Before a Database is destroyed,
//           the loops on which it was used must have stopped.
// Threads:  any thread, except where a function states another rule.

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

// Statistics of a database's connections. On SQLite, the connections are those of the workers, of the pool and of the
// writer, and a statement may wait for the writer or for the pool.
struct PoolStats {
  std::uint64_t connections = 0;
  std::uint64_t in_use = 0;    // How many of the connections run a statement or a transaction.
  std::uint64_t waiting = 0;   // Statements that are waiting for a connection.
  std::uint64_t waits = 0;     // Statements that had to wait for a connection.
  Duration wait_time;          // The waiting time of statements for a connection, summed over all statements.
  std::uint64_t timeouts = 0;  // Statements that failed because no connection became free in time.
  // The maximum number of connections that all attached loops together may open. 0: there is no fixed limit, as on
  // SQLite, where each stream and each read-only transaction has its own connection.
  std::uint64_t connections_max = 0;
  // How long a statement waits for a connection before it fails; on SQLite, how long a statement waits for the lock of
  // another process.
  Duration wait_max;
  Duration age;  // The age of the oldest open connection.
};

class Database : public Session {
 public:
  // Calls `on_change`, on any thread, when the database becomes unreachable, when it is reachable again, and when it
  // begins to reject writes; the owner should then call check_reads() and check_writes(). For a database in a file,
  // `on_change` is called only when the database begins to reject writes. Call watch() before attach(); `on_change`
  // stays set until the last loop is detached.
  virtual void watch(Function<void()> on_change) = 0;
  virtual PoolStats pool() const = 0;

  // Opens the connections of `loop` now, instead of when the loop runs its first statement. Call it on the loop's
  // thread.
  virtual Result<> attach(io::Loop& loop) = 0;
  // Completes the statements of `loop`, and closes the connections that attach() opened for it. The loop must keep
  // running until is_detached(). Call it on the loop's thread. Does nothing for a database whose connections do not use
  // the loop.
  virtual void detach(io::Loop&) noexcept {}
  // Whether detach() has completed on every loop.
  virtual bool is_detached() const { return true; }
  // Completes the queued statements, and ends the database's threads and connections. Later statements fail with
  // Unavailable. Idempotent. Only one thread may call it.
  virtual void close() noexcept = 0;

  // True if no statement is waiting or running.
  virtual bool is_idle() const = 0;

  // For health checks: reads some stored data.
  virtual Task<> check_reads() = 0;
  // For health checks. If the last write failed because the database accepts no writes, attempts a write that changes
  // nothing, and returns the result of this attempt; otherwise succeeds. If the attempt fails, it counts as a failed
  // check, not as a failed write or a disk error.
  virtual Task<> check_writes() = 0;

  // Copies the state that the database has at the beginning of the call into the file `path`; reads and writes continue
  // during the copy. An existing file at `path` is replaced when the copy is complete and on the disk; after an error
  // or a cancellation, the existing file is unchanged. The copy is a complete database: to restore it, stop the
  // service, put the copy in place of the database, and remove the database's -wal and -shm files. InvalidArgument:
  // `path` is the path of the database itself.
  // Unsupported: the database runs outside of this process; use the tools of its server for a backup (pg_dump,
  // pg_basebackup).
  virtual Task<> backup(std::string path);

  // Registers the counters and gauges of the database, named db_…, for as long as the returned handles live. `registry`
  // must outlive the handles.
  virtual std::vector<metrics::GaugeFunction> expose(metrics::Registry& registry) = 0;
};

}  // namespace keel::db
