// keel/db/postgres/internal/connection.h — one session with a server, on one loop, which runs one group of statements
// at a time.
//
// It connects, logs in, and serves until the connection ends; then it reconnects. It accepts these kinds of work:
//
//   a group          [parse, describe, sync] for each statement that is new on this connection, and after their
//                    descriptions [bind, execute] for each call and one sync. If a call fails, the server skips the
//                    calls after it, and the pool sends them again, each with a sync of its own.
//   a transaction    has the connection to itself. The commands that begin it, and set or undo savepoints, wait in
//                    `pending` and are sent with the next statement. Each statement is preceded by a savepoint, so that
//                    a statement that fails leaves the transaction unchanged, as on every other database (session.h).
//                    With the first statement, the savepoint is under the Sync of the statement: if the transaction
//                    has not begun, it fails, and the server skips the statement, which would be committed alone.
//
// Cancel: a CancelRequest is sent on a separate connection, and again after pauses that double, because a server
//         ignores a CancelRequest that arrives before it has read the statement. The session is not used for anything
//         else until the statement has ended; if that takes `cancel_grace`, the session's connection is closed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/list.h"
#include "keel/base/member.h"
#include "keel/base/wheel.h"
#include "keel/db/postgres/internal/call.h"
#include "keel/db/postgres/internal/copy.h"
#include "keel/db/postgres/internal/statements.h"
#include "keel/db/postgres/message.h"
#include "keel/db/postgres/options.h"
#include "keel/db/postgres/pipeline.h"
#include "keel/db/postgres/reader.h"
#include "keel/net/stream.h"
#include "keel/task/event.h"
#include "keel/task/start.h"
#include "keel/task/task.h"

namespace keel::db::postgres::internal {

class Pool;

class Connection {
 public:
  Connection(Pool& pool, int index);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Connects, and reconnects whenever the connection ends, until end().
  void begin();
  // Closes the session as soon as it is unused, and stops reconnecting.
  void end() noexcept;
  bool has_ended() const noexcept { return !keeping_.is_running(); }

  bool is_connected() const noexcept { return phase_ != Phase::Down; }
  Instant since() const noexcept { return since_; }  // The time at which the session was connected.
  // Whether the session is connected and runs neither a group nor a transaction.
  bool is_free() const noexcept {
    return phase_ == Phase::Idle && transaction_.number == 0 && !is_ending_ && !is_old_ && !is_held_by_cancel();
  }
  bool is_in_use() const noexcept { return is_connected() && !is_free(); }

  // Sends several reads, several writes that share a transaction, or a single call. Requires a free connection.
  void send(std::span<Call* const> calls);

  // --- a transaction

  // `begin` has the SQL that begins the transaction, which is sent with the first statement.
  void begin_transaction(std::uint64_t number, const Call& begin);
  std::uint64_t transaction() const noexcept { return transaction_.number; }
  void submit(Call& call) noexcept;
  void roll_back() noexcept;
  std::uint64_t add_savepoint();
  bool release(std::uint64_t savepoint);
  void roll_back_to(std::uint64_t savepoint) noexcept;

  // Call it when the task of a sent `call` is destroyed or cancelled.
  void cancel(Call& call) noexcept;

  // --- a COPY that has begun (connection_copy.cc)

  // Whether more data may be sent now.
  bool has_copy_room() const noexcept;
  void send_copy(std::string_view bytes);
  void finish_copying_in();
  // Call it when the task has taken the received rows.
  void resume_reading() noexcept;
  // Call it when the task no longer waits for the COPY: makes the server end it.
  void leave_copy() noexcept;

 private:
  enum class Phase : std::uint8_t { Down, Idle, Preparing, Executing, Ending };
  enum class Mark : std::uint8_t { None, Set, Failed };
  struct Slot {
    Call* call;  // Null when the call is complete, or no task waits for it any more.
    Statement* statement;
    bool is_done = false;  // The server has responded to the call, or the call was not sent.
    bool is_read = false;  // Copied from the call, which may be destroyed before the slot.
    bool repeats = false;  // The call had no effect, and is sent again.
  };
  struct Asked {
    Statement* statement;
    std::optional<Error> error;
    bool is_described = false;
  };
  struct Keeping final : Start<void> {
    explicit Keeping(Connection& c) noexcept : connection(c) {}
    static void done(StartCore& start) noexcept;
    Connection& connection;
  };
  // The transaction that has the connection.
  struct Open {
    std::uint64_t number = 0;  // 0: none.
    std::string pending;
    std::string beginning = {};  // The SQL that was sent to begin the transaction.
    Mark mark = Mark::None;
    bool has_begun = false;     // The SQL that begins the transaction was sent.
    bool is_confirmed = false;  // The server has begun the transaction.
    bool has_mark = false;      // The server has set the savepoint of a statement.
    bool is_expired = false;
    bool is_lost = false;
    bool wants_roll_back = false;
    std::vector<std::uint64_t> savepoints;
    std::uint64_t next_savepoint = 1;
    std::source_location place;  // The call that began the transaction; line 0: a stream or a COPY began it.
  };

  // --- tasks
  Task<> keep();
  Task<> live();
  Task<> serve(Stream& stream);
  Task<> read_all(Stream& stream);
  Task<> write_all(Stream& stream);
  Task<> cancel_all(Stream& stream);
  Task<> send_cancel();
  void is_silent() noexcept;
  void watch() noexcept;

  // --- a group
  void advance();
  void close_statements();
  bool ask_for_statements();
  void execute_slots();
  bool encode(Slot& slot);
  void add_step(Step step);
  void send_prologue(bool is_alone);
  void send_mark();
  void flush() noexcept;
  Result<> receive(std::string_view bytes);
  Result<> receive(const Message& message);
  Result<> receive_asked(Step step, const Message& message);
  [[gnu::always_inline]] Result<> receive_slot(const Message& message);
  Result<> receive_sync(const Message& message);
  void fail_slot(Slot& slot, Error&& error);
  bool was_slow() noexcept;
  void finish_slot(Slot& slot);
  void phase_over();
  void finish_group();
  void group_over();
  void repeat(Call& call);
  bool is_held_by_cancel() const noexcept { return is_cancelling_ || (cancels_ != 0 && cancels_ == groups_); }
  void release_statements() noexcept;
  void lose(const Error& reason) noexcept;
  Slot* current_slot() noexcept { return at_ < slots_.size() ? &slots_[at_] : nullptr; }

  // --- a COPY
  Result<> encode_copy(const Statement& statement);
  Result<> begin_copy(Slot& slot, const Message& message);
  Result<> receive_copy(std::string_view bytes);
  void end_copy(Result<>&& result) noexcept;
  bool is_paused() const noexcept;

  // --- a transaction
  void leave_mark();
  void note_status();
  void begin_again();
  void transaction_over() noexcept;
  void send_roll_back() noexcept;
  void next() noexcept;
  void hold_expired() noexcept;
  void held_long() noexcept;
  void is_free_again() noexcept;
  void is_aged() noexcept;
  void retire() noexcept;

  Pool& pool_;
  const int index_;
  Phase phase_ = Phase::Down;
  bool is_ending_ = false;
  TransactionStatus status_ = TransactionStatus::Idle;
  Statements statements_;
  Reader reader_;
  std::unique_ptr<Pipeline> pipeline_;
  BackendKeyData key_;
  ServerAddress server_;           // The server that this session is connected to.
  std::optional<Error> farewell_;  // The server's last error before it closed the connection.

  std::vector<Slot> slots_;
  std::vector<Asked> asked_;
  std::size_t at_ = 0;  // The index of the slot, or of the requested description, whose responses arrive now.
  int syncs_ = 0;       // The number of Syncs that have no response yet.
  bool is_committing_ = false;
  bool is_marked_ = false;            // The savepoint of the statement was sent.
  bool is_in_prologue_ = false;       // The first response belongs to a Query before the group.
  bool is_setting_mark_ = false;      // The next CommandComplete belongs to the savepoint of the first statement.
  std::optional<Error> group_error_;  // The error of a part that belongs to no call: the prologue, a rollback, a Sync.
  Buffer scratch_;
  std::string commit_;  // The text that a commit sends.

  Open transaction_;
  List<Call> own_;  // Statements of the transaction that wait for the previous one.
  Member<Timer, Connection, &Connection::hold_expired> hold_{*this};
  Member<Timer, Connection, &Connection::held_long> long_{*this};

  Instant since_;
  Instant responded_;  // The time of the response to the last statement of the group, or when the group was sent.
  // The shortest time between a part of a group and its first response, in this session: about a round trip.
  Duration round_trip_ = Duration::forever();
  bool is_first_response_ = false;
  Member<Timer, Connection, &Connection::is_aged> age_{*this};
  bool is_old_ = false;       // The connection is replaced as soon as no statement uses it.
  bool is_retiring_ = false;  // The connection is closing, and a new one will take its place.

  // A server that sends nothing for longer than a statement may take counts as lost.
  Member<Timer, Connection, &Connection::is_silent> silence_{*this};
  Instant heard_;

  Copy* copy_ = nullptr;       // The COPY that has begun, while a task waits for it.
  Event may_read_;             // The received rows of a COPY were taken.
  bool is_copy_ = false;       // The group is a COPY.
  bool is_copy_sent_ = false;  // All data, or the end of the data, was sent.

  Stream* stream_ = nullptr;  // Null while the session is not connected.
  Buffer out_;
  Buffer sending_;
  Event has_output_;
  Event wants_cancel_;
  Event is_idle_;  // Set while no request waits for a response.
  bool is_cancelling_ = false;
  std::uint64_t groups_ = 0;   // The number of groups begun.
  std::uint64_t cancels_ = 0;  // The number of the group to be cancelled.
  Keeping keeping_{*this};
};

}  // namespace keel::db::postgres::internal
