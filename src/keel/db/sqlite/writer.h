// keel/db/sqlite/writer.h — performs all writes, in groups: on its own thread, or as jobs of an executor.
//
// When the writer becomes free, all waiting writes are committed as one group, with one transaction and one fsync, and
// are then acknowledged. Each write succeeds or fails alone: a single statement is atomic in SQLite, and any other
// write runs within its own savepoint. No write waits for others to join its group.
//
// A write that fails is rolled back alone; one that leaves a deferred foreign key violated fails with Conflict. A group
// that SQLite has rolled back (`on conflict rollback`), or whose COMMIT fails, is not acknowledged: its other writes
// run once more, each in its own transaction. After an I/O error or on a full disk nothing is repeated: all writes of
// the group get Unavailable, and it is unknown whether they are in the file. The log gets an entry when the disk begins
// to fail, and one when a commit succeeds again; no other action is needed.
//
// A write waits for a lock that another process holds for the connection's busy_timeout, which counts from push() and
// includes the time behind other waiting writes. A write can be withdrawn until the lock is obtained.
//
// Ownership: a Write is intrusive and must stay in place until its `done` has run on `home`.
// Threads:   push(), withdraw() and the getters on any thread; start() and stop() on one. An executor must be serial
//            and support timers in its jobs (the simulation's pool does); each group is a job.
// Cost:      taking a lock once to queue each write, and once to take each group; no allocation.

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
  State state = State::Idle;      // Guarded by the lock of the writer.
  std::optional<Sql> sql;         // The SQL of a statement.
  std::span<const Value> values;  // The arguments of a statement; they must live until `done` is posted.
  Rows* rows = nullptr;           // Receives the rows of a statement; null when they are not needed.
  std::size_t rows_bytes_max = rows_bytes_max_default;  // Rows beyond it fail with ResourceExhausted.
  FunctionRef<Result<>(Connection&)>* body = nullptr;
  // The number of the interactive transaction to which the write belongs, or 0. Begin stores the new number here.
  std::uint64_t transaction = 0;
  std::uint64_t savepoint = 0;       // The number of a savepoint: kind Savepoint stores it here, kind Release reads it.
  const Context* context = nullptr;  // The context of the task that waits for the write, if there is one.
  bool has_waited = false;           // Set by the writer when the write had to wait because the writer was busy.
  std::source_location place;        // The place of the call; only for Begin.
  // Set by the writer: the time at which this write stops waiting for a lock that another process holds.
  Instant locked_until;
  Executor* home = nullptr;
  Job* done = nullptr;  // The job posted to `home`.
  Written written;
  bool is_check = false;  // Whether the write only checks that the disk accepts writes.
  bool is_timed = false;  // Whether the writer records when the write has begun.
  Instant begun;          // The time at which the write has begun; only if is_timed.
  Result<> result;
};

// Limits of the queue, of groups and of transactions.
struct WriterOptions {
  // The maximum number of waiting writes; further writes are rejected with ResourceExhausted.
  std::size_t queued_max = 8192;
  int group_max = 512;  // Writes per commit: larger groups save fsyncs and make each write wait longer.
  // How long an interactive transaction may hold the writer; at most 1 h.
  Duration hold_max = 1_s;
};

// The counters of a writer.
struct WriterStats {
  std::uint64_t writes = 0;         // Writes acknowledged as committed.
  std::uint64_t refused = 0;        // Writes rejected because the queue was full.
  std::uint64_t failed = 0;         // Writes that ended with an error, except checks.
  std::uint64_t groups = 0;         // Commits.
  std::uint64_t group_max = 0;      // The largest number of writes in one commit.
  std::uint64_t groups_lost = 0;    // Groups that had to run again or failed as a whole.
  std::uint64_t disk_errors = 0;    // Errors from I/O, a full disk or a read-only disk, except those of checks.
  std::uint64_t checks_failed = 0;  // Failed checks of whether the disk accepts writes.
  bool disk_fails = false;          // Whether the last attempted commit had such an error.
  std::uint64_t transactions = 0;   // Interactive transactions that were committed.
  std::uint64_t expired = 0;        // Interactive transactions that held the writer for too long.
  std::size_t queued = 0;           // Writes that wait now.
  std::uint64_t waits = 0;          // Writes that found the writer busy, or the lock held by another process.
  Duration wait_time;               // The total time that they waited.
  std::uint64_t late = 0;           // Writes that did not get the lock in time.
  std::uint64_t wal_pages = 0;      // The number of pages in the WAL after the last commit.
  std::uint64_t checkpoints = 0;    // Checkpoints that moved all of the WAL into the file.
};

class Writer {
 public:
  // If `executor` is null, the writer uses its own thread.
  Writer(std::unique_ptr<Connection> connection, const WriterOptions& options, Executor* executor = nullptr);
  ~Writer();  // stop()

  Result<> start();
  // Commits the queued writes, then moves the WAL into the file and closes it. Idempotent. A writer on an executor must
  // be idle when this is called, because this call cannot wait for an executor.
  void stop() noexcept;

  // Queues `write`. False: the write was rejected, `result` says why, and `done` is not posted.
  bool push(Write& write) noexcept;
  // Withdraws a write that has not begun. False: the write has begun, or is done; `done` is posted as usual.
  bool withdraw(Write& write) noexcept;
  // Rolls back an interactive transaction. Does nothing when the transaction has ended.
  void drop(std::uint64_t transaction) noexcept;
  // Rolls an interactive transaction back to one of its savepoints, before its next statement runs. Does nothing when
  // the savepoint has ended.
  void drop(std::uint64_t transaction, std::uint64_t savepoint) noexcept;

  // The number that a task's context records while it holds `transaction` (Context::note_held): writes of that task
  // outside of the transaction are rejected with Internal, because the task and the write would wait for each other.
  static std::uint32_t held_number(std::uint64_t transaction) noexcept {
    return static_cast<std::uint32_t>(transaction % Context::numbers_max) + 1;
  }

  // Increases with each commit before any write of that commit is acknowledged, so that reads that begin after the
  // acknowledgment see the commit.
  std::uint64_t committed() const noexcept { return committed_.load(std::memory_order_acquire); }
  // `on_change` is called on the writer's thread when the disk begins to fail, and when it accepts writes again. Call
  // it once, before the first write.
  void watch(Function<void()> on_change) noexcept;
  WriterStats stats() const noexcept;
  // Whether nothing is queued or running, and no transaction holds the writer.
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
  Outcome outcome_of_error() noexcept;
  static bool are_checks(Writes& writes) noexcept;
  // `of_checks`: only checks have met the error.
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
  Member<Timer, Writer, &Writer::on_timer> timer_{*this};  // The timer is used on an executor; a thread waits instead.
  Instant hold_until_;
  std::source_location held_place_;  // The place of the call that began the interactive transaction.
  Result<> commit_error_;
  std::string disk_error_;  // SQLite's message for the last failure of the disk.

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Writes queue_;
  // The number of retries while another process has held the lock; 0: no process is known to hold it.
  int lock_retries_ = 0;
  Instant retry_at_;
  Writes held_queue_;       // The waiting writes of the interactive transaction.
  std::uint64_t held_ = 0;  // The transaction that holds the writer and may still be served; 0: none.
  bool holds_ = false;      // Whether an interactive transaction has begun and is not yet rolled back or committed.
  bool dropped_ = false;
  std::uint64_t expired_ = 0;              // The transaction that held the writer for too long most recently.
  std::vector<std::uint64_t> savepoints_;  // Savepoints of the interactive transaction, the innermost last.
  std::uint64_t savepoints_begun_ = 0;
  std::uint64_t undo_to_ = 0;   // The outermost savepoint dropped since the last statement; 0: none.
  Function<void()> on_change_;  // Set once.
  bool stopping_ = false;
  bool sleeping_ = false;  // Whether the thread waits, or no job is posted: then wake() is needed.
  WriterStats stats_;

  alignas(64) std::atomic<std::uint64_t> committed_{1};
};

}  // namespace keel::db::sqlite
