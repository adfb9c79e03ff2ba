// The part of Writer that executes and commits writes: in groups, alone after a group has failed, or as an interactive
// transaction.

#include <sqlite3.h>

#include "keel/db/sqlite/writer.h"

namespace keel::db::sqlite {
namespace {

constexpr const char* outcome_unknown =
    "the disk failed while this write was being committed: whether it took effect is unknown";
constexpr const char* undone = "the disk does not accept this write, which did not take effect";

}  // namespace

Result<> Writer::run(Write& write) noexcept {
  try {
    switch (write.kind) {
      case Write::Kind::Body:
        return (*write.body)(*connection_);
      case Write::Kind::Savepoint:
        return run_savepoint(write);
      case Write::Kind::Release:
        return run_release(write);
      default:
        return run_statement(write);
    }
  } catch (...) {
    return Error::from_exception();
  }
}

Result<> Writer::run_statement(Write& write) {
  KEEL_TRY(StatementCache::Entry * entry, connection_->statements().find(*write.sql));
  Statement& statement = entry->statement;
  const std::int64_t before = connection_->total_changes();
  connection_->forget_last_insert_id();
  if (write.rows != nullptr) {
    write.rows->clear();
    KEEL_TRY_VOID(statement.run(write.values, *write.rows, write.rows_bytes_max));
    statement.name_columns(*write.rows);
  } else {
    KEEL_TRY_VOID(statement.run(write.values));
  }
  write.written = {connection_->total_changes() != before ? connection_->changes() : 0, connection_->last_insert_id()};
  return {};
}

Writer::Outcome Writer::outcome_of_error(bool is_commit) noexcept {
  const int code = sqlite3_errcode(connection_->handle()) & 0xff;
  if (code == SQLITE_IOERR || code == SQLITE_FULL || code == SQLITE_READONLY) {
    disk_error_ = sqlite3_errmsg(connection_->handle());
    // A commit writes the frame that ends the transaction last. On a full disk this frame is incomplete or absent;
    // after a failed sync it may be in the file.
    disk_failure_ = is_commit && code == SQLITE_IOERR ? outcome_unknown : undone;
    return Outcome::DiskFailed;
  }
  return connection_->is_autocommit() ? Outcome::Lost : Outcome::Fine;
}

// A single statement undoes its changes when it fails; therefore it needs no savepoint, which would copy each page that
// the statement changes. If a write violates a deferred foreign key, or fails half-way because of `or fail`, its group
// is run again once; from then on, the same statement runs within a savepoint.
Writer::Outcome Writer::run_in_group(Write& write) noexcept {
  if (write.kind != Write::Kind::Statement) return run_in_savepoint(write);
  auto entry = connection_->statements().find(*write.sql);
  if (!entry) {
    write.result = std::move(entry).error();
    return Outcome::Fine;
  }
  if ((*entry)->needs_savepoint) return run_in_savepoint(write);
  const std::int64_t before = connection_->total_changes();
  write.result = run(write);
  if (!write.result) {
    if (const Outcome outcome = outcome_of_error(); outcome != Outcome::Fine) return outcome;
    if (connection_->total_changes() == before && !connection_->has_deferred_violations()) return Outcome::Fine;
  } else if (!connection_->has_deferred_violations()) {
    return Outcome::Fine;
  } else {
    write.result = fail(Code::Conflict, "FOREIGN KEY constraint failed");
  }
  (*entry)->needs_savepoint = true;
  return Outcome::Lost;
}

Writer::Outcome Writer::run_in_savepoint(Write& write) noexcept {
  write.result = savepoint_.run();
  if (!write.result) return outcome_of_error() == Outcome::DiskFailed ? Outcome::DiskFailed : Outcome::Lost;
  write.result = run(write);
  if (!write.result) {
    const Outcome outcome = outcome_of_error();
    if (outcome != Outcome::Fine) return outcome;
  } else if (connection_->is_autocommit()) {
    // A statement ended the transaction with an error, which the write's function ignored.
    write.result = fail(Code::Conflict, "an error in a statement ended the transaction");
    return Outcome::Lost;
  } else if (connection_->has_deferred_violations()) {
    write.result = fail(Code::Conflict, "FOREIGN KEY constraint failed");
  }
  if (!write.result && !roll_back_to_.run()) return Outcome::Lost;
  Result<> released = release_.run();
  if (released) return Outcome::Fine;
  const bool disk = outcome_of_error() == Outcome::DiskFailed;
  write.result = std::move(released);
  return disk ? Outcome::DiskFailed : Outcome::Lost;
}

Writer::Outcome Writer::commit() noexcept {
  commit_error_ = commit_.run();
  if (commit_error_) return Outcome::Fine;
  return outcome_of_error(true) == Outcome::DiskFailed ? Outcome::DiskFailed : Outcome::Lost;
}

bool Writer::are_checks(Writes& writes) noexcept {
  bool all = true;
  writes.for_each([&](const Write& write) { all = all && write.is_check; });
  return all;
}

void Writer::roll_back() noexcept {
  // SQLite may already have rolled the transaction back because of the error.
  if (!connection_->is_autocommit()) (void)roll_back_.run().is_ok();
}

// A write that is repeated is no longer in the queue, so SQLite waits for the lock in this call.
Result<> Writer::begin_again(const Write& write) noexcept {
  connection_->set_busy_timeout(write.locked_until - Host::current().now());
  Result<> begun = begin_.run();
  connection_->set_busy_timeout(Duration());
  return begun;
}

void Writer::commit_group(Writes& group) noexcept {
  std::uint64_t count = 0;
  Write* culprit = nullptr;
  Outcome outcome = Outcome::Fine;
  group.for_each([&](Write& write) {
    if (outcome != Outcome::Fine) return;
    outcome = run_in_group(write);
    if (outcome == Outcome::Lost) culprit = &write;
    if (write.result) ++count;
  });
  if (outcome == Outcome::Fine) outcome = commit();
  if (outcome == Outcome::Fine) {
    acknowledge(group, count);
    return;
  }
  roll_back();
  {
    std::lock_guard lock(mutex_);
    ++stats_.groups_lost;
  }
  if (outcome == Outcome::DiskFailed) {
    count_disk_error(are_checks(group));
    fail_all(group, Error(Code::Unavailable, disk_failure_));
    return;
  }
  if (culprit != nullptr) {
    group.remove(*culprit);
    Writes failed;
    failed.push_back(*culprit);
    acknowledge(failed, 0);
  }
  commit_alone(group);
}

void Writer::commit_alone(Writes& group) noexcept {
  while (Write* write = group.pop_front()) {
    Writes one;
    one.push_back(*write);
    if (Result<> begun = begin_again(*write); !begun) {
      fail_all(one, begun.error());
      continue;
    }
    Outcome outcome = run_in_savepoint(*write);
    if (outcome == Outcome::Fine && write->result) {
      outcome = commit();
      if (outcome == Outcome::Lost) write->result = std::move(commit_error_);
    }
    if (outcome == Outcome::Fine && write->result) {
      acknowledge(one, 1);
      continue;
    }
    roll_back();
    if (outcome == Outcome::DiskFailed) {
      one.splice_back(group);
      count_disk_error(are_checks(one));
      fail_all(one, Error(Code::Unavailable, disk_failure_));
      return;
    }
    acknowledge(one, 0);
  }
}

void Writer::commit_held(Write& write) noexcept {
  {
    // From now on, statements of the transaction are rejected. The Transaction may be destroyed before this thread
    // takes the lock again.
    std::lock_guard lock(mutex_);
    held_ = 0;
  }
  Outcome outcome = Outcome::Fine;
  if (connection_->has_deferred_violations()) {
    write.result = fail(Code::Conflict, "FOREIGN KEY constraint failed");
  } else {
    outcome = commit();
    write.result = std::move(commit_error_);
  }
  if (outcome == Outcome::DiskFailed) write.result = fail(Code::Unavailable, disk_failure_);
  if (write.result) {
    committed_.fetch_add(1, std::memory_order_acq_rel);
    bool recovers = false;
    {
      std::lock_guard lock(mutex_);
      ++stats_.transactions;
      ++stats_.groups;
      note_wal();
      recovers = std::exchange(stats_.disk_fails, false);
    }
    if (recovers) disk_has_changed();
  } else {
    roll_back();
    if (outcome == Outcome::DiskFailed) count_disk_error(false);
  }
  finish(write);
}

}  // namespace keel::db::sqlite
