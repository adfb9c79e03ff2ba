#include "keel/db/postgres/internal/connection.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/db/postgres/encoder.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/pool.h"
#include "keel/io/loop.h"

namespace keel::db::postgres::internal {
namespace {

constexpr std::size_t kept_bytes = 256 * 1024;

Error lost_write(const Error& why) {
  return Error::text(Code::Unavailable, fmt::format("the connection to the database was lost while the statement was "
                                                    "running, so whether it took effect is unknown: {}",
                                                    why.describe()))
      .from_environment();
}

}  // namespace

Connection::Connection(Pool& pool, int index)
    : pool_(pool),
      index_(index),
      statements_(pool.settings().options.statements_max),
      reader_(Reader::Options{.message_bytes_max = pool.settings().options.message_bytes_max}) {
  slots_.reserve(pool.settings().options.group_max);
}

Connection::~Connection() {
  KEEL_CHECK(has_ended(), "the connections of a database must end before their loop: detach() the loop");
}

// --- sending

void Connection::add_step(Step step) {
  const Result<> added = pipeline_->add(step);
  KEEL_CHECK(added.has_value(), "a group must fit into the pipeline");
}

void Connection::flush() noexcept {
  if (out_.empty()) return;
  has_output_.set();
  watch();
}

void Connection::send(std::span<Call* const> calls) {
  KEEL_DCHECK(phase_ == Phase::Idle, "a connection can have only one group at a time");
  ++groups_;
  is_idle_.reset();
  at_ = 0;
  syncs_ = 0;
  is_in_prologue_ = false;
  is_marked_ = false;
  is_setting_mark_ = false;
  group_error_.reset();
  phase_ = Phase::Preparing;
  is_committing_ = calls.front()->kind() == Call::Kind::Commit;
  is_copy_ = calls.front()->kind() == Call::Kind::CopyIn || calls.front()->kind() == Call::Kind::CopyOut;
  for (Call* const call : calls) {
    call->connection = this;
    call->note_sent();
    slots_.push_back({.call = call, .statement = nullptr, .is_read = call->is_read});
  }
  pool_.counters().groups.add();
  advance();
}

// Sends the next part of the group, or ends the group if nothing remains to be sent.
void Connection::advance() {
  Call* const first = slots_.front().call;
  const bool has_sql = first == nullptr || first->has_statement();
  if (has_sql && ask_for_statements()) {
    phase_ = Phase::Preparing;
    flush();
    return;
  }
  // The server does not skip a Query after an error, so a Query waits until the server has begun the transaction.
  if (first != nullptr && first->is_simple() && transaction_.number != 0 && !transaction_.is_confirmed &&
      first->kind() != Call::Kind::Commit) {
    asked_.clear();
    responded_ = pool_.loop().now();
    send_prologue(true);
    flush();
    return;
  }
  phase_ = Phase::Executing;
  at_ = 0;
  execute_slots();
  if (syncs_ == 0) return group_over();
  flush();
}

void Connection::close_statements() {
  Encoder encoder(out_);
  for (const std::string& name : statements_.to_close()) {
    if (!pool_.settings().options.pooler && encoder.close_statement(name)) add_step(Step::Close);
  }
  statements_.to_close().clear();
}

bool Connection::ask_for_statements() {
  asked_.clear();
  at_ = 0;
  responded_ = pool_.loop().now();
  Statement* last = nullptr;
  for (Slot& slot : slots_) {
    if (slot.call == nullptr) continue;
    if (slot.statement == nullptr) {
      // The calls of a group often run the same statement, which is then looked up only once.
      const bool is_same = last != nullptr && last->text.data() == slot.call->sql.text().data() &&
                           last->text.size() == slot.call->sql.text().size();
      slot.statement = is_same ? last : &statements_.find(slot.call->sql);
      ++slot.statement->users;
    }
    last = slot.statement;
    if (slot.statement->is_described || slot.statement->is_asked_for) continue;
    slot.statement->is_asked_for = true;
    asked_.push_back({.statement = slot.statement, .error = std::nullopt});
  }
  if (asked_.empty()) return false;
  if (transaction_.number != 0) send_prologue(true);
  close_statements();
  const std::string_view none;
  for (Asked& asked : asked_) {
    const bool is_named = !pool_.settings().options.pooler;
    const std::string_view name = is_named ? std::string_view(asked.statement->name) : none;
    Encoder encoder(out_);
    Result<> encoded = encoder.parse(name, asked.statement->sent());
    if (encoded) {
      add_step(Step::Parse);
      encoded = encoder.describe_statement(name);
      if (encoded) add_step(Step::DescribeStatement);
    }
    if (!encoded) asked.error = std::move(encoded).error();
    encoder.sync();
    add_step(Step::Sync);
    ++syncs_;
    pool_.counters().prepared.add();
  }
  return true;
}

bool Connection::encode(Slot& slot) {
  Call& call = *slot.call;
  Encoder encoder(scratch_);
  if (call.is_simple()) {
    Result<> encoded = call.kind() == Call::Kind::CopyOut ? encode_copy(*slot.statement) : encoder.query(call.script);
    if (encoded) return true;
    fail_slot(slot, std::move(encoded).error());
    return false;
  }
  const std::size_t before = scratch_.size();
  const Statement& statement = *slot.statement;
  const bool is_named = !pool_.settings().options.pooler;
  const std::string_view name = is_named ? std::string_view(statement.name) : std::string_view();
  Result<> encoded;
  if (call.values.size() != statement.parameters.size()) {
    encoded = Error::text(Code::Internal,
                          fmt::format("the statement has {} parameters on the server, but {} arguments were given",
                                      statement.parameters.size(), call.values.size()));
  }
  // A Query destroys the unnamed portal, so a Fetch uses a named portal.
  const std::string_view portal = call.kind() == Call::Kind::Fetch ? "keel" : "";
  if (call.binds()) {
    if (encoded && !is_named) encoded = encoder.parse({}, statement.sent(), statement.parameters);
    if (encoded) encoded = encoder.bind(portal, name, call.values, statement.parameters, statement.columns.formats());
  }
  if (encoded) encoded = encoder.execute(portal, call.rows_max);
  if (encoded) return true;
  scratch_.resize(before);
  fail_slot(slot, std::move(encoded).error());
  return false;
}

void Connection::execute_slots() {
  scratch_.clear();
  const bool is_named = !pool_.settings().options.pooler;
  int count = 0;
  responded_ = pool_.loop().now();
  is_first_response_ = true;
  for (Slot& slot : slots_) {
    if (slot.call != nullptr && encode(slot)) {
      ++count;
    } else {
      slot.is_done = true;
    }
  }
  if (count == 0) return;
  const Call* const call = [&]() -> const Call* {
    for (const Slot& slot : slots_) {
      if (slot.call != nullptr) return slot.call;
    }
    return nullptr;
  }();
  const bool is_simple = call != nullptr && call->is_simple();
  const bool binds = call == nullptr || call->binds();
  // A portal that is read in several parts needs only the savepoint before its first part.
  if (transaction_.number != 0 && (call == nullptr || call->kind() != Call::Kind::Commit) && binds) {
    send_prologue(false);
  }
  if (!is_simple) close_statements();
  if (is_setting_mark_) send_mark();
  out_.append(scratch_.view());
  if (scratch_.capacity() > kept_bytes) scratch_.release();
  for (const Slot& slot : slots_) {
    if (slot.is_done) continue;
    if (is_simple) {
      add_step(Step::Query);
      continue;
    }
    if (!is_named && binds) add_step(Step::Parse);
    if (binds) add_step(Step::Bind);
    add_step(Step::Execute);
  }
  if (!is_simple) {
    Encoder(out_).sync();
    add_step(Step::Sync);
  }
  ++syncs_;
  while (at_ < slots_.size() && slots_[at_].is_done) ++at_;
}

// --- receiving

Result<> Connection::receive(std::string_view bytes) {
  while (true) {
    Message whole{};
    if (reader_.next_whole(bytes, whole)) {
      const bool is_usual = phase_ == Phase::Executing && !is_in_prologue_ && pipeline_->receive_usual(whole.type);
      if (is_usual && whole.type == MessageType::BindComplete) continue;
      KEEL_TRY_VOID(is_usual ? receive_slot(whole) : receive(whole));
      continue;
    }
    KEEL_TRY(const std::optional<Message> message, reader_.next(bytes));
    if (!message) return {};
    KEEL_TRY_VOID(receive(*message));
  }
}

Result<> Connection::receive(const Message& message) {
  KEEL_TRY(const StepMessage received, pipeline_->receive(message.type));
  if (received.is_asynchronous()) {
    if (message.type == MessageType::ErrorResponse) {
      KEEL_TRY(const ErrorResponse response, ErrorResponse::read(message.body));
      farewell_ = error_of(response);
    }
    return {};
  }
  if (message.type == MessageType::ReadyForQuery) return receive_sync(message);
  if (message.type == MessageType::ErrorResponse) {
    KEEL_TRY(const ErrorResponse response, ErrorResponse::read(message.body));
    Error error = error_of(response);
    if (response.is_fatal()) {  // The error has ended the session, so the server rolls back the session's transaction.
      farewell_ = std::move(error);
      return {};
    }
    if (is_in_prologue_) {
      group_error_ = std::move(error);
    } else if (phase_ == Phase::Preparing) {
      if (at_ < asked_.size()) asked_[at_].error = std::move(error);
    } else if (Slot* const slot = current_slot(); slot != nullptr && received.step != Step::Sync) {
      fail_slot(*slot, std::move(error));
    } else {
      group_error_ = std::move(error);
    }
    return {};
  }
  if (is_in_prologue_ || phase_ == Phase::Ending) return {};
  if (phase_ == Phase::Preparing) return receive_asked(received.step, message);
  return receive_slot(message);
}

Result<> Connection::receive_asked(Step step, const Message& message) {
  if (step != Step::DescribeStatement || at_ >= asked_.size()) return {};
  Statement& statement = *asked_[at_].statement;
  if (message.type == MessageType::ParameterDescription) {
    KEEL_TRY(const ParameterDescription parameters, ParameterDescription::read(message.body));
    statement.parameters.clear();
    for (int i = 0; i < parameters.count(); ++i) statement.parameters.push_back(parameters.type(i));
  } else if (message.type == MessageType::RowDescription) {
    KEEL_TRY(const RowDescription rows, RowDescription::read(message.body));
    KEEL_TRY(statement.columns, Columns::of(rows));
    asked_[at_].is_described = true;
  } else if (message.type == MessageType::NoData) {
    statement.columns = Columns();
    asked_[at_].is_described = true;
  }
  return {};
}

inline Result<> Connection::receive_slot(const Message& message) {
  Slot* const slot = current_slot();
  if (slot == nullptr) return {};
  Call* const call = slot->call;
  switch (message.type) {
    case MessageType::DataRow: {
      // Rows of a cancelled call are kept, too: if the server completes the call despite the cancellation, the rows are
      // its result.
      if (call == nullptr || call->is_too_large || slot->statement == nullptr) return {};
      if (call->kind() == Call::Kind::Execute && call->rows.count() != 0) return {};
      KEEL_TRY_VOID(slot->statement->columns.append(message.body, call->rows));
      if (call->rows.bytes() > pool_.settings().options.rows_bytes_max) {
        call->rows = Rows();
        call->is_too_large = true;
        cancels_ = groups_;
        wants_cancel_.set();
      }
      return {};
    }
    case MessageType::CommandComplete: {
      if (std::exchange(is_setting_mark_, false)) {
        transaction_.has_mark = true;
        return {};
      }
      KEEL_TRY(const CommandComplete complete, CommandComplete::read(message.body));
      if (copy_ != nullptr) copy_->count = complete.changes;
      if (call != nullptr) {
        call->written.changes = complete.changes;
        // Only the last CommandComplete tells whether the commit succeeded, because "rollback to" may precede the
        // commit.
        if (call->kind() == Call::Kind::Commit) {
          group_error_.reset();
          if (complete.tag == "ROLLBACK") {
            group_error_ =
                Error(Code::Conflict, "the transaction was rolled back, because a statement in it had failed");
          }
        }
      }
      if (slot->statement != nullptr) finish_slot(*slot);
      return {};
    }
    case MessageType::PortalSuspended:
      if (call != nullptr) call->has_more = true;
      finish_slot(*slot);
      return {};
    case MessageType::EmptyQueryResponse:
      if (slot->statement != nullptr) finish_slot(*slot);
      return {};
    case MessageType::CopyInResponse:
    case MessageType::CopyOutResponse:
      return begin_copy(*slot, message);
    case MessageType::CopyData:
      return receive_copy(message.body);
    default:
      return {};
  }
}

// Whether the statement to which the server has just responded took longer than fluctuations of the round trip can
// explain.
bool Connection::was_slow() noexcept {
  const Instant now = pool_.loop().now();
  Duration took = now - std::exchange(responded_, now);
  if (std::exchange(is_first_response_, false)) {
    round_trip_ = std::min(round_trip_, took);
    took = took - round_trip_;
  }
  return took >= Pool::slow_read && took >= round_trip_ * 2;
}

// Called when the server has executed the statement. A read is complete now; a write is complete when the response to
// the Sync shows that it is committed.
void Connection::finish_slot(Slot& slot) {
  slot.is_done = true;
  do {
    ++at_;
  } while (at_ < slots_.size() && slots_[at_].is_done);
  Call* const call = slot.call;
  if (call == nullptr) return;
  const Columns& columns = slot.statement->columns;
  if (call->kind() == Call::Kind::Query || call->kind() == Call::Kind::Fetch) {
    columns.name(call->rows);
  } else if (call->written.changes != 0 && call->rows.count() != 0) {
    auto keep = [call](const Row& row) {
      if (row.columns() != 0 && row.kind(0) == ValueKind::Integer) call->written.last_insert_id = row.integer(0);
    };
    static_cast<void>(call->rows.for_each(keep));
  }
  if (slot.is_read && transaction_.number == 0 && !call->is_too_large) {
    slot.call = nullptr;
    pool_.counters().reads.add();
    const bool is_slow = was_slow();
    if (is_slow || call->is_alone) [[unlikely]]
      pool_.note_read(call->sql, is_slow);
    call->finish({});
    pool_.call_over();
  }
}

void Connection::fail_slot(Slot& slot, Error&& error) {
  Call* const call = slot.call;
  slot.is_done = true;
  if (syncs_ != 0) {
    // If an earlier part of the group failed, that is the reason for this failure.
    if (group_error_) {
      error = group_error_->clone();
    } else {
      group_error_ = error.clone();
    }
  }
  if (call == nullptr) return;
  // The prepared statement is no longer valid on the server, so the server has executed nothing.
  if (slot.statement != nullptr && (is_unknown_statement(error) || is_stale_statement(error)) && !call->was_renewed) {
    if (slot.statement->is_described) statements_.renew(*slot.statement);
    call->was_renewed = slot.repeats = true;
    return;
  }
  // The server cancelled this call, but the cancellation was meant for another call.
  if (error.code() == Code::Cancelled && !call->is_cancelled && !call->is_too_large && !call->was_lost) {
    call->was_lost = slot.repeats = true;
    return;
  }
  if (call->is_group && slots_.size() > 1) return;  // The call is run again, in a group of its own.
  // Within a transaction, the call completes only after the remaining Syncs, because then the state of the transaction
  // is known.
  if (transaction_.number != 0 && syncs_ != 0) return;
  slot.call = nullptr;
  pool_.rejected(*call, error);
  if (call->is_too_large) error = Error(Code::ResourceExhausted, "the result is larger than rows_bytes_max");
  call->finish(std::move(error));
  pool_.call_over();
}

Result<> Connection::receive_sync(const Message& message) {
  KEEL_TRY(const ReadyForQuery ready, ReadyForQuery::read(message.body));
  status_ = ready.status;
  --syncs_;
  if (transaction_.number == 0 && status_ != TransactionStatus::Idle) [[unlikely]] {
    // A transaction is left open, for example, if a script has begun it. The caller closes the connection, so the
    // server rolls the transaction back.
    return Error(Code::FailedPrecondition, "a statement left a transaction open on a connection of the pool");
  }
  if (transaction_.number != 0 && phase_ != Phase::Ending) note_status();
  if (is_in_prologue_) {
    is_in_prologue_ = false;
    if (!group_error_ && !is_setting_mark_) transaction_.has_mark = true;
    if (syncs_ == 0) phase_over();
    return {};
  }
  if (phase_ == Phase::Preparing && at_ < asked_.size()) {
    Asked& asked = asked_[at_++];
    asked.statement->is_asked_for = false;
    if (!asked.error && !asked.is_described)
      return Error(Code::Protocol,
                   "the server did not send the description of "
                   "a statement");
    asked.statement->is_described = !asked.error;
    if (asked.error && transaction_.has_begun) transaction_.mark = Mark::Failed;
  }
  if (syncs_ == 0) phase_over();
  return {};
}

void Connection::phase_over() {
  if (phase_ == Phase::Ending) return group_over();
  if (phase_ == Phase::Executing) return finish_group();
  // In the phase Preparing, the server has executed no call.
  round_trip_ = std::min(round_trip_, pool_.loop().now() - responded_);
  // A call fails if its statement could not be prepared.
  for (Asked& asked : asked_) {
    if (!asked.error) continue;
    for (Slot& slot : slots_) {
      if (slot.statement != asked.statement || slot.call == nullptr) continue;
      Call* const call = std::exchange(slot.call, nullptr);
      slot.is_done = true;
      // The server cancelled this call, but the cancellation was meant for another call.
      if (asked.error->code() == Code::Cancelled && !call->was_lost) {
        call->was_lost = true;
        repeat(*call);
        continue;
      }
      pool_.rejected(*call, *asked.error);
      call->finish(asked.error->clone());
      pool_.call_over();
    }
  }
  if (group_error_) {
    for (Slot& slot : slots_) {
      if (slot.call == nullptr || slot.call->is_cancelled || slot.call->was_lost) continue;
      if (group_error_->code() == Code::Cancelled)
        slot.call->was_lost = slot.repeats = true;  // The cancellation was meant for another call.
    }
    return finish_group();
  }
  advance();
}

// Sends again a call that the server skipped, or that was rolled back because another call failed.
void Connection::repeat(Call& call) {
  call.is_alone = true;
  call.connection = nullptr;
  call.start_again();
  pool_.counters().repeated.add();
  if (transaction_.number != 0) {
    own_.push_front(call);
  } else {
    pool_.send_again(call);
  }
}

// Called when all responses of the group have arrived.
void Connection::finish_group() {
  const bool failed = group_error_.has_value();
  if (failed && transaction_.has_begun) transaction_.mark = Mark::Failed;
  const bool is_single = slots_.size() == 1;
  bool is_commit = false;
  for (Slot& slot : slots_) {
    Call* const call = std::exchange(slot.call, nullptr);
    if (call == nullptr) continue;
    is_commit = is_commit || call->kind() == Call::Kind::Commit;
    if (failed && (slot.repeats || !is_single)) {
      repeat(*call);
      continue;
    }
    Result<> result;
    if (failed) pool_.rejected(*call, *group_error_);
    if (call->is_too_large) {
      result = Error(Code::ResourceExhausted, "the result is larger than rows_bytes_max");
    } else if (failed) {
      result = group_error_->clone();
    }
    (call->is_read ? pool_.counters().reads : pool_.counters().writes).add();
    call->finish(std::move(result));
    pool_.call_over();
  }
  if (copy_ != nullptr) end_copy(failed ? Result<>(group_error_->clone()) : Result<>());
  if (is_commit || is_committing_) {
    // If the server runs a COMMIT, the transaction ends, whether the COMMIT succeeds or fails. If a message before the
    // COMMIT fails, the server skips the COMMIT.
    if (status_ == TransactionStatus::Idle) {
      transaction_over();
    } else {
      transaction_.wants_roll_back = true;
    }
  }
  group_over();
}

void Connection::release_statements() noexcept {
  for (Slot& slot : slots_) {
    if (slot.statement != nullptr) --slot.statement->users;
  }
  for (Asked& asked : asked_) asked.statement->is_asked_for = false;
}

void Connection::group_over() {
  release_statements();
  slots_.clear();
  asked_.clear();
  const bool was_ending = phase_ == Phase::Ending;
  phase_ = Phase::Idle;
  is_idle_.set();
  if (was_ending) transaction_over();
  if (transaction_.mark == Mark::Failed && !transaction_.has_mark) begin_again();
  if (is_held_by_cancel()) return;  // cancel_all() continues.
  next();
}

// Called when the session has ended.
void Connection::lose(const Error& reason) noexcept {
  const bool was_executing = phase_ == Phase::Executing;
  phase_ = Phase::Down;
  syncs_ = 0;
  cancels_ = 0;
  release_statements();
  // The column names must be copied into the rows now, because the statement is about to be released.
  if (copy_ != nullptr && copy_->columns != nullptr) {
    std::exchange(copy_->columns, nullptr)->name(copy_->rows);
  }
  statements_.forget();
  asked_.clear();
  out_.clear();
  pipeline_.reset();
  const bool is_transaction = transaction_.number != 0;
  std::vector<Slot> slots = std::move(slots_);
  slots_.clear();
  slots_.reserve(slots.size());
  if (is_transaction) {
    transaction_.is_lost = true;
    transaction_over();
  }
  if (copy_ != nullptr) {
    end_copy(Error::text(Code::Unavailable, "the connection to the database was lost: " + reason.describe())
                 .from_environment());
  }
  for (Slot& slot : slots) {
    Call* const call = slot.call;
    if (call == nullptr) continue;
    if (call->is_too_large) {  // The result was too large, and the server was still sending it.
      call->finish(Error(Code::ResourceExhausted, "the result is larger than rows_bytes_max"));
      pool_.call_over();
      continue;
    }
    const bool may_repeat = !is_transaction && (slot.is_read || !was_executing) && !call->was_lost &&
                            !call->is_cancelled && !pool_.is_closing();
    if (may_repeat) {
      call->was_lost = true;
      call->connection = nullptr;
      call->start_again();
      pool_.counters().repeated.add();
      pool_.send_again(*call);
      continue;
    }
    if (call->is_cancelled) {
      call->finish(slot.is_read ? Error(Code::Cancelled, "the statement was cancelled, and its connection was lost")
                                : lost_write(reason));
    } else if (slot.is_read && call->kind() != Call::Kind::Commit) {
      call->finish(Error::text(Code::Unavailable, "the connection to the database was lost: " + reason.describe())
                       .from_environment());
    } else if (is_transaction && call->kind() != Call::Kind::Commit) {
      call->finish(Error::text(Code::Unavailable,
                               "the connection to the database was lost, and the transaction is rolled back: " +
                                   reason.describe())
                       .from_environment());
    } else {
      call->finish(lost_write(reason));
    }
    pool_.call_over();
  }
}

// --- cancelling

void Connection::cancel(Call& call) noexcept {
  for (Slot& slot : slots_) {
    if (slot.call != &call) continue;
    cancels_ = groups_;
    wants_cancel_.set();
    // The call ends immediately if the server has not begun to execute it, or if it is a read outside of a transaction;
    // in both cases the group can continue without the call. Otherwise the server's response decides.
    if (phase_ != Phase::Preparing && !(slot.is_read && transaction_.number == 0)) return;
    slot.call = nullptr;
    call.finish(fail(Code::Cancelled, "the statement was cancelled"));
    pool_.call_over();
    return;
  }
}

}  // namespace keel::db::postgres::internal
