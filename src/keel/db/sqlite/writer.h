// keel/db/sqlite/writer.h — performs all writes of a database in groups, on a thread of its own or as jobs of an
// executor.
//
// When the writer becomes free, all writes that are waiting are committed as one group, with one transaction and one
// fsync; then they are acknowledged. Each write succeeds or fails independently: a single statement is atomic in
// SQLite, and any other write runs within a savepoint. A write never waits for other writes to join its group.
//
// If a write fails, only that write is rolled back; a write that leaves a deferred foreign key violated fails with
// Conflict. If SQLite rolls back a whole group because of one write (`on conflict rollback`), or the COMMIT of the
// group fails, no write of the group counts as committed: the writes of the group, except the write that caused the
// rollback, run once more, each in its own transaction. After an I/O error, or on a full disk, nothing is repeated: all
// writes of the group fail with Unavailable, and it is unknown whether the file contains their changes. An entry is
// logged when the disk begins to fail, and another entry when a commit succeeds again; no other action is needed.
//
// If another process holds the database's lock, a write waits for the lock for at most the connection's busy_timeout;
// this time begins at push(), and includes the time that the write waits behind other writes. A write can be withdrawn
// until the writer has the lock.
//
// Ownership: a Write is intrusive, and must stay at its address until its `done` has run on `home`.
// Threads:   push(), withdraw() and the getters may be called on any thread; start() and stop() must be called on one
//            thread. An executor must be serial and support timers in its jobs (the simulation's pool does); each group
//            is a separate job.
// Cost:      a lock is taken once to queue each write, and once to take each group; no allocation.

#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/host.h"
#include "keel/base/list.h"
#include "keel/base/member.h"
#include "keel/db/session.h"
#include "keel/db/sqlite/connection.h"
#include "keel/exec/executor.h"
#include "keel/observe/log.h"
#include "keel/task/context.h"

namespace keel::db::sqlite {

// A write in the queue of the writer.
struct Write : Link {
  enum class Kind : std::uint8_t { Statement, Body, Begin, Commit, Savepoint, Release };
  enum class State : std::uint8_t { Idle, Queued, Begun };

  Kind kind = Kind::Statement;
  State state = State::Idle;      // Guarded by Writer::mutex_.
  std::optional<Sql> sql;         // The SQL of a statement.
  std::span<const Value> values;  // The arguments of the statement; they must live until `done` is posted.
  Rows* rows = nullptr;           // Where the rows of the statement are stored; null if they are not needed.
  // If the rows take more bytes, the write fails with ResourceExhausted.
  std::size_t rows_bytes_max = rows_bytes_max_default;
  FunctionRef<Result<>(Connection&)>* body = nullptr;
  // The number of the interactive transaction to which the write belongs; 0 if there is none. A write of kind Begin
  // stores the new number here.
  std::uint64_t transaction = 0;
  // The number of a savepoint: a write of kind Savepoint stores it here, and a write of kind Release reads it.
  std::uint64_t savepoint = 0;
  const Context* context = nullptr;  // The context of the task that waits for the write; null if no task waits.
  bool has_waited = false;           // True if the write had to wait because the writer was busy; the writer sets this.
  std::source_location place;        // For kind Begin: the place of the call in the source.
  // The time at which this write stops waiting for a lock that another process holds; the writer sets this.
  Instant locked_until;
  Executor* home = nullptr;
  Job* done = nullptr;  // The job that is posted to `home` when the write has ended.
  Written written;
  bool is_check = false;  // True for a write that only checks whether the disk accepts writes.
  bool is_timed = false;  // Whether the writer sets `begun`.
  Instant begun;          // The time at which the writer began the write; set only if is_timed.
  Result<> result;
};

// The limits of the queue, of groups and of transactions.
struct WriterOptions {
  // The maximum number of waiting writes; further writes are rejected with ResourceExhausted.
  std::size_t queued_max = 8192;
  // The maximum number of writes in a group: larger groups save fsyncs, but make each write wait longer.
  int group_max = 512;
  // How long an interactive transaction may hold the writer; at most 1 h.
  Duration hold_max = 1_s;
};

// The counters of a writer.
struct WriterStats {
  std::uint64_t writes = 0;       // Writes that were committed and acknowledged.
  std::uint64_t refused = 0;      // Writes that were rejected because the queue was full.
  std::uint64_t failed = 0;       // Writes that ended with an error, not counting checks.
  std::uint64_t groups = 0;       // Commits.
  std::uint64_t group_max = 0;    // The largest number of writes in one commit.
  std::uint64_t groups_lost = 0;  // Groups that had to run again, or that failed as a whole.
  // I/O errors, and errors of a full or a read-only disk; errors that occurred only in checks are not counted.
  std::uint64_t disk_errors = 0;
  std::uint64_t checks_failed = 0;  // Checks of the disk that failed because the disk did not accept writes.
  bool disk_fails = false;          // Whether the last attempt to commit failed with an error of the disk.
  std::uint64_t transactions = 0;   // Interactive transactions that were committed.
  // Interactive transactions that were rolled back because they held the writer for too long.
  std::uint64_t expired = 0;
  std::size_t queued = 0;  // Writes that are waiting now.
  // Writes that had to wait because the writer was busy, or because another process held the lock.
  std::uint64_t waits = 0;
  Duration wait_time;             // The total waiting time of writes.
  std::uint64_t late = 0;         // Writes that failed because they did not get the lock in time.
  std::uint64_t wal_pages = 0;    // How many pages were in the WAL after the last commit.
  std::uint64_t checkpoints = 0;  // Checkpoints that moved all pages of the WAL into the file.
};

class Writer {
 public:
  // If `executor` is null, the writer starts a thread of its own.
  Writer(std::unique_ptr<Connection> connection, const WriterOptions& options, Executor* executor = nullptr);
  ~Writer();  // stop()

  Result<> start();
  // Commits the queued writes, moves the WAL into the file, and closes the connection. Idempotent. If the writer runs
  // on an executor, the writer must be idle when stop() is called, because stop() cannot wait for an executor.
  void stop() noexcept;

  // Queues `write`. Returns false if the write was rejected; in that case, `result` says why, and `done` is not posted.
  bool push(Write& write) noexcept;
  // Withdraws a write that has not begun. Returns false if the write has begun or has ended; in that case, `done` is
  // posted as usual.
  bool withdraw(Write& write) noexcept;
  // Rolls back an interactive transaction. Does nothing if the transaction has ended.
  void drop(std::uint64_t transaction) noexcept;
  // Rolls an interactive transaction back to one of its savepoints; this happens before the transaction's next
  // statement runs. Does nothing if the savepoint has ended.
  void drop(std::uint64_t transaction, std::uint64_t savepoint) noexcept;

  // The number that a task's context records while the task holds `transaction` (Context::note_held): a write of that
  // task outside of the transaction is rejected with Internal, because the task and the write would wait for each
  // other.
  static std::uint32_t held_number(std::uint64_t transaction) noexcept {
    return static_cast<std::uint32_t>(transaction % Context::numbers_max) + 1;
  }

  // A number that increases with each commit, before any write of that commit is acknowledged; therefore a read that
  // begins after the acknowledgment sees the commit.
  std::uint64_t committed() const noexcept { return committed_.load(std::memory_order_acquire); }
  // `on_change` is called on the writer's thread when the disk begins to fail, and when it accepts writes again. Call
  // watch() once, before the first write.
  void watch(Function<void()> on_change) noexcept;
  WriterStats stats() const noexcept;
  // Whether no write is queued or running, and no transaction holds the writer.
  bool is_idle() const noexcept;

 private:
  enum class Outcome : std::uint8_t { Fine, Lost, DiskFailed };
  using Writes = List<Write>;
  using Lock = std::unique_lock<std::mutex>;

  void work() noexcept;
  void run_job() noexcept;
  void on_timer() noexcept;
  void wake() noexcept;
  bool has_work() const noexcept;
  void step(Lock& lock) noexcept;
  bool take_group(Writes& group) noexcept;
  void take_from_queue(Write& write) noexcept;
  void wait_for_lock(Lock& lock, const Error& error) noexcept;
  void commit_group(Writes& group) noexcept;
  void commit_alone(Writes& group) noexcept;
  void begin_hold(Write& begin) noexcept;
  void step_held(Lock& lock) noexcept;
  bool serve_held(Write& write, std::uint64_t undo_to) noexcept;
  void commit_held(Write& write) noexcept;
  std::size_t savepoints_from(std::uint64_t savepoint) const noexcept;
  Result<> end_savepoints(std::size_t count) noexcept;
  Result<> undo_savepoints(std::size_t count) noexcept;
  Result<> run_release(Write& write) noexcept;
  Result<> run_savepoint(Write& write);
  void end_hold() noexcept;
  Outcome run_in_group(Write& write) noexcept;
  Outcome run_in_savepoint(Write& write) noexcept;
  Outcome commit() noexcept;
  Result<> begin_again(const Write& write) noexcept;
  Result<> run(Write& write) noexcept;
  Result<> run_statement(Write& write);
  // `is_commit`: the statement that failed is the commit.
  Outcome outcome_of_error(bool is_commit = false) noexcept;
  static bool are_checks(Writes& writes) noexcept;
  // `of_checks`: the error occurred only in writes that are checks.
  void count_disk_error(bool of_checks) noexcept;
  void count_failed(std::uint64_t writes, std::uint64_t checks) noexcept;
  void disk_has_changed() noexcept;
  void roll_back() noexcept;
  void note_wal() noexcept;
  void acknowledge(Writes& group, std::uint64_t committed) noexcept;
  void fail_all(Writes& group, const Error& error) noexcept;
  void finish(Write& write) noexcept;
  void finish_all(Writes& group) noexcept;

  std::unique_ptr<Connection> connection_;
  Statement begin_, commit_, roll_back_, savepoint_, release_, roll_back_to_;
  const WriterOptions options_;
  const Duration lock_timeout_;
  Executor* const executor_;
  const log::Logger log_;
  std::unique_ptr<Thread> thread_;
  Member<Job, Writer, &Writer::run_job> job_{*this};
  // Used only on an executor; the writer's own thread waits on wake_ instead.
  Member<Timer, Writer, &Writer::on_timer> timer_{*this};
  Instant hold_until_;
  std::source_location held_place_;  // The place of the call that began the interactive transaction.
  Result<> commit_error_;
  std::string disk_error_;              // SQLite's message for the last error of the disk.
  const char* disk_failure_ = nullptr;  // The message of the writes that failed with it.

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Writes queue_;
  // How often the writer has tried again because another process has the lock; 0 if no other process is known to have
  // the lock.
  int lock_retries_ = 0;
  Instant retry_at_;
  Writes held_queue_;  // The writes of the interactive transaction that are waiting.
  // The transaction that holds the writer, and whose statements are accepted; 0 if there is none.
  std::uint64_t held_ = 0;
  // Whether an interactive transaction has begun, and has not yet been rolled back or committed.
  bool holds_ = false;
  bool dropped_ = false;
  // The transaction that was last rolled back because it held the writer for too long.
  std::uint64_t expired_ = 0;
  // The savepoints of the interactive transaction; the innermost one is the last.
  std::vector<std::uint64_t> savepoints_;
  std::uint64_t savepoints_begun_ = 0;
  // The outermost savepoint that was dropped since the last statement; 0 if there is none.
  std::uint64_t undo_to_ = 0;
  Function<void()> on_change_;  // Set once.
  bool stopping_ = false;
  bool sleeping_ = false;  // True if wake() is needed: the thread is waiting, or no job is posted.
  WriterStats stats_;

  alignas(64) std::atomic<std::uint64_t> committed_{1};
};

}  // namespace keel::db::sqlite
