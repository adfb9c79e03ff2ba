// keel/db/database.h — a Session together with the functions with which its owner opens, watches and closes it;
// handlers get only the Session.
//
// Each back end has a Database; an App makes the one that its settings name.
//
// Errors:   those of a Session (session.h).
// Lifetime: a Database must outlive its tasks and the handles that expose() returns. The loops on which it was used
//           must have stopped before it is destroyed.
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

// How many connections are in use. On SQLite these are the connections of workers, of the pool and of the writer; calls
// wait for the writer or for the pool.
struct PoolStats {
  std::uint64_t connections = 0;
  std::uint64_t in_use = 0;    // The number of these that run a statement or a transaction.
  std::uint64_t waiting = 0;   // Statements that are waiting for a connection.
  std::uint64_t waits = 0;     // Statements that had to wait for a connection.
  Duration wait_time;          // The total time that they waited.
  std::uint64_t timeouts = 0;  // Statements that failed because no connection became free in time.
  // The maximum number of connections that all attached loops may open. 0: there is no fixed limit, as on SQLite, where
  // each stream and each read-only transaction has its own connection.
  std::uint64_t connections_max = 0;
  // The longest time that a statement waits for a connection; on SQLite, for another process's lock.
  Duration wait_max;
  Duration age;  // The age of the oldest open connection.
};

class Database : public Session {
 public:
  // `on_change` is called, on any thread, when the database becomes unreachable, when it is reachable again, and when
  // it begins to reject writes: then call check_reads() and check_writes(). For a database in a file, it is called only
  // because of writes. Call watch() before attach(); `on_change` stays set until the last loop is detached.
  virtual void watch(Function<void()> on_change) = 0;
  virtual PoolStats pool() const = 0;

  // Opens the connections of `loop` now, instead of at its first statement. Call it on the loop's thread.
  virtual Result<> attach(io::Loop& loop) = 0;
  // Completes the statements of `loop` and closes the connections that attach() has opened. The loop must run until
  // that is done. Call it on the loop's thread. Does nothing for a database whose connections do not use the loop.
  virtual void detach(io::Loop&) noexcept {}
  // Whether detach() has completed on every loop.
  virtual bool is_detached() const { return true; }
  // Completes the queued statements and ends threads and connections. Later statements fail with Unavailable.
  // Idempotent. Call it on one thread.
  virtual void close() noexcept = 0;

  // Whether no statement waits or runs.
  virtual bool is_idle() const = 0;

  // Reads some stored data; used by health checks.
  virtual Task<> check_reads() = 0;
  // For health checks: succeeds unless the last write failed because the database accepts no writes; then it attempts a
  // write that changes nothing, and returns its result. A failure of this write counts as a failed check, not as a
  // failed write or a disk error.
  virtual Task<> check_writes() = 0;

  // Copies the database, in its state at the beginning of the call, into the file `path`; reads and writes continue
  // during the copy. An existing file is replaced once the copy is complete and on the disk; after an error or a
  // cancellation the existing file is unchanged. The copy is a complete database: to restore it, stop the service, put
  // the copy in place of the database, and remove the database's -wal and -shm files. InvalidArgument: the path is that
  // of the database itself.
  // Unsupported: the database is not part of this process; back up a server with its own tools (pg_dump,
  // pg_basebackup).
  virtual Task<> backup(std::string path);

  // Registers the counters and gauges of the database, named db_…, for as long as the returned handles live. `registry`
  // must outlive them.
  virtual std::vector<metrics::GaugeFunction> expose(metrics::Registry& registry) = 0;
};

}  // namespace keel::db
