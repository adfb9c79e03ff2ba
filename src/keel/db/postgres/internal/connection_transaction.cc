#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "keel/base/host.h"
#include "keel/db/postgres/encoder.h"
#include "keel/db/postgres/internal/connection.h"
#include "keel/db/postgres/internal/pool.h"
#include "keel/io/loop.h"
#include "keel/observe/log.h"

namespace keel::db::postgres::internal {
namespace {

std::string text_of(const std::source_location& place) { return fmt::format("{}:{}", place.file_name(), place.line()); }

}  // namespace

void Connection::begin_transaction(std::uint64_t number, const Call& begin) {
  transaction_ = Open();
  transaction_.number = number;
  transaction_.pending = begin.script;
  pool_.counters().transactions.add();
  if (begin.is_unbounded) return;
  transaction_.place = begin.place;
  if (const Duration limit = pool_.settings().options.held_warning; limit > Duration()) {
    pool_.loop().start_timer(long_, pool_.loop().now() + limit);
  }
  pool_.loop().start_timer(hold_, pool_.loop().now() + pool_.settings().options.hold_max);
}

// Adds the SQL that ends the savepoint of the previous statement. If the previous statement failed, first adds the SQL
// that undoes that statement.
void Connection::leave_mark() {
  std::string& text = transaction_.pending;
  if (transaction_.mark == Mark::Failed) text += ";rollback to savepoint keel";
  if (transaction_.mark != Mark::None) text += ";release savepoint keel";
  transaction_.mark = Mark::None;
}

// Sends the SQL that must precede the next statement; only the first call for a group has an effect. With `is_alone`,
// the caller sends the statement only after the response to this SQL. Otherwise, if is_setting_mark_ is true
// afterwards, the caller must call send_mark() before it sends the statement.
void Connection::send_prologue(bool is_alone) {
  if (std::exchange(is_marked_, true)) return;
  leave_mark();
  std::string text = std::exchange(transaction_.pending, {});
  if (!transaction_.is_confirmed) transaction_.beginning = text;
  is_setting_mark_ = !is_alone && !transaction_.is_confirmed;
  if (!is_setting_mark_) text += ";savepoint keel";
  transaction_.mark = Mark::Set;
  transaction_.has_begun = true;
  const Result<> sent = Encoder(out_).query(text);
  KEEL_CHECK(sent.has_value(), "the SQL that begins a transaction must be short");
  add_step(Step::Query);
  is_in_prologue_ = true;
  ++syncs_;
}

// If the Query that begins the transaction fails, the server does not skip the messages after it. Therefore the
// savepoint is sent with the extended protocol: outside of a transaction, the savepoint fails, and then the server
// skips the statement.
void Connection::send_mark() {
  Encoder encoder(out_);
  const bool sent = encoder.parse({}, "savepoint keel") && encoder.bind({}, {}, {}, {}, {}) && encoder.execute({});
  KEEL_CHECK(sent, "the messages that set a savepoint must fit into the buffer");
  for (const Step step : {Step::Parse, Step::Bind, Step::Execute}) add_step(step);
}

// Called when the server has responded to a part of the transaction's work.
void Connection::note_status() {
  if (status_ != TransactionStatus::Idle) {
    transaction_.is_confirmed = true;
  } else if (is_in_prologue_ && !transaction_.is_confirmed) {
    // The transaction has not begun, so the next statement must begin it again.
    transaction_.has_begun = false;
    transaction_.mark = Mark::None;
    transaction_.pending.insert(0, transaction_.beginning);
    if (!group_error_)
      group_error_ = Error(Code::Protocol, "the server did not begin a transaction").from_environment();
  }
}

// The transaction failed before its first savepoint was set, so the transaction has had no effect; the next statement
// begins the transaction again.
void Connection::begin_again() {
  transaction_.mark = Mark::None;
  transaction_.is_confirmed = false;
  transaction_.pending.insert(0, "rollback;" + transaction_.beginning);
}

void Connection::submit(Call& call) noexcept {
  call.connection = this;
  own_.push_back(call);
  if (phase_ == Phase::Idle && !is_held_by_cancel()) next();
}

// Called when the connection has become idle: begins the next piece of work.
void Connection::next() noexcept {
  if (transaction_.number == 0) return is_free_again();
  if (transaction_.wants_roll_back) return send_roll_back();
  while (phase_ == Phase::Idle && transaction_.number != 0) {
    Call* call = own_.pop_front();
    if (call == nullptr) return;
    if (call->kind() == Call::Kind::Commit) {
      if (!transaction_.has_begun) {  // The transaction has run no statement, so there is nothing to commit.
        transaction_over();
        call->finish({});
        pool_.call_over();
        return is_free_again();
      }
      leave_mark();
      commit_ = std::move(transaction_.pending) + ";commit";
      transaction_.pending.clear();
      call->script = commit_;
    }
    Call* const one[] = {call};
    send(one);
  }
}

void Connection::transaction_over() noexcept {
  if (hold_.is_running()) pool_.loop().stop_timer(hold_);
  if (long_.is_running()) pool_.loop().stop_timer(long_);
  const std::uint64_t number = std::exchange(transaction_.number, 0);
  if (transaction_.is_expired || transaction_.is_lost) {
    pool_.ended_early(number, transaction_.is_expired ? Pool::Early::Expired : Pool::Early::Lost);
  }
  transaction_ = Open();
  while (Call* const call = own_.pop_front()) {
    call->finish(pool_.why_over(number));
    pool_.call_over();
  }
}

void Connection::roll_back() noexcept {
  transaction_.wants_roll_back = true;
  if (phase_ == Phase::Idle && !is_held_by_cancel()) next();
}

void Connection::send_roll_back() noexcept {
  if (!transaction_.has_begun) {
    transaction_over();
    return is_free_again();
  }
  ++groups_;
  is_idle_.reset();
  at_ = 0;
  syncs_ = 0;
  is_in_prologue_ = false;
  group_error_.reset();
  phase_ = Phase::Ending;
  const Result<> sent = Encoder(out_).query("rollback");
  KEEL_CHECK(sent.has_value(), "the SQL that ends a transaction must be short");
  add_step(Step::Query);
  ++syncs_;
  flush();
}

std::uint64_t Connection::add_savepoint() {
  leave_mark();
  const std::uint64_t savepoint = transaction_.next_savepoint++;
  transaction_.pending += ";savepoint s" + std::to_string(savepoint);
  transaction_.savepoints.push_back(savepoint);
  return savepoint;
}

bool Connection::release(std::uint64_t savepoint) {
  auto& all = transaction_.savepoints;
  const auto found = std::find(all.begin(), all.end(), savepoint);
  if (found == all.end()) return false;
  all.erase(found, all.end());
  leave_mark();
  transaction_.pending += ";release savepoint s" + std::to_string(savepoint);
  return true;
}

void Connection::roll_back_to(std::uint64_t savepoint) noexcept {
  auto& all = transaction_.savepoints;
  const auto found = std::find(all.begin(), all.end(), savepoint);
  if (found == all.end()) return;
  all.erase(found, all.end());
  // The savepoint of the last statement was set later than this savepoint, and is removed together with it.
  transaction_.mark = Mark::None;
  const std::string name = std::to_string(savepoint);
  transaction_.pending += ";rollback to savepoint s" + name + ";release savepoint s" + name;
}

void Connection::held_long() noexcept {
  log::Logger("db").warn("a transaction has been open for longer than held_warning: commit it earlier, or destroy it",
                         log::field("begun_at", text_of(transaction_.place)));
}

// --- the age of the connection

void Connection::is_free_again() noexcept {
  if (is_old_) return retire();
  pool_.is_free_again();
}

void Connection::is_aged() noexcept {
  const bool was_free = is_free();
  is_old_ = true;
  if (was_free) retire();
}

// For an idle connection: ends the session, after which keep() reconnects.
void Connection::retire() noexcept {
  if (is_retiring_ || is_ending_) return;
  is_retiring_ = true;
  pool_.counters().retired.add();
  Encoder(out_).terminate();
  flush();
}

void Connection::hold_expired() noexcept {
  transaction_.is_expired = true;
  transaction_.wants_roll_back = true;
  pool_.counters().expired.add();
  log::Logger("db").warn("a transaction was rolled back, because it kept its connection for hold_max",
                         log::field("begun_at", text_of(transaction_.place)));
  if (copy_ != nullptr) return leave_copy();
  if (phase_ == Phase::Idle && !is_held_by_cancel()) return next();
  // A statement is running, so it must be cancelled first.
  cancels_ = groups_;
  wants_cancel_.set();
}

}  // namespace keel::db::postgres::internal
