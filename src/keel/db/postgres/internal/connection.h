// keel/db/postgres/internal/connection.h — one session with a server, on one loop, which runs one group of statements
// at a time.
//
// A connection connects, logs in, and serves until the session ends; then it reconnects. A connection accepts two kinds
// of work:
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
// Cancel: a CancelRequest is sent on a separate connection. The CancelRequest is repeated after pauses that double,
//         because a server ignores a CancelRequest that arrives before the statement. The session is not used for other
//         work until the statement has ended; if that takes longer than `cancel_grace`, the session's connection is
//         closed.

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

  // Connects, and reconnects whenever the session ends, until end() is called.
  void begin();
  // Closes the session as soon as it is unused, and does not reconnect.
  void end() noexcept;
  bool has_ended() const noexcept { return !keeping_.is_running(); }

  bool is_connected() const noexcept { return phase_ != Phase::Down; }
  Instant since() const noexcept { return since_; }  // The time at which the session was connected.
  // Whether the session is connected, runs nothing, and may be given work.
  bool is_free() const noexcept {
    return phase_ == Phase::Idle && transaction_.number == 0 && !is_ending_ && !is_old_ && !is_held_by_cancel();
  }
  bool is_in_use() const noexcept { return is_connected() && !is_free(); }

  // Sends a group: several reads, several writes that share a transaction, or a single call. The connection must be
  // free (is_free()).
  void send(std::span<Call* const> calls);

  // --- a transaction

  // `begin` contains the SQL that begins the transaction; this SQL is sent with the first statement.
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

  // Whether more data of the COPY may be sent now.
  bool has_copy_room() const noexcept;
  void send_copy(std::string_view bytes);
  void finish_copying_in();
  // Call it when the task has taken the rows that were received.
  void resume_reading() noexcept;
  // Call it when the task no longer waits for the COPY: the connection then makes the server end the COPY.
  void leave_copy() noexcept;

 private:
  enum class Phase : std::uint8_t { Down, Idle, Preparing, Executing, Ending };
  enum class Mark : std::uint8_t { None, Set, Failed };
  struct Slot {
    Call* call;  // Null when the call is complete, or when no task waits for the call any more.
    Statement* statement;
    bool is_done = false;  // The server has responded to the call, or the call was not sent.
    bool is_read = false;  // Copied from the call, because the call may be destroyed before the slot.
    bool repeats = false;  // The call had no effect, and will be sent again.
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
  // The transaction that occupies the connection.
  struct Open {
    std::uint64_t number = 0;  // 0: none.
    std::string pending;
    std::string beginning = {};  // The SQL that was sent to begin the transaction.
    Mark mark = Mark::None;
    bool has_begun = false;     // Whether the SQL that begins the transaction was sent.
    bool is_confirmed = false;  // Whether the server has confirmed that the transaction has begun.
    bool has_mark = false;      // Whether the server has set the savepoint of a statement.
    bool is_expired = false;
    bool is_lost = false;
    bool wants_roll_back = false;
    std::vector<std::uint64_t> savepoints;
    std::uint64_t next_savepoint = 1;
    std::source_location place;  // The call that began the transaction; line 0 if a stream or a COPY began it.
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
  std::optional<Error> farewell_;  // The error that the server sent before it closed the connection.

  std::vector<Slot> slots_;
  std::vector<Asked> asked_;
  // The index of the slot, or of the requested description, to which the responses that arrive now belong.
  std::size_t at_ = 0;
  int syncs_ = 0;  // How many Syncs have no response yet.
  bool is_committing_ = false;
  bool is_marked_ = false;       // Whether the savepoint of the current statement was sent.
  bool is_in_prologue_ = false;  // Whether the next response belongs to a Query that was sent before the group.
  // Whether the next CommandComplete belongs to the savepoint of the first statement.
  bool is_setting_mark_ = false;
  std::optional<Error> group_error_;  // The error of a part that belongs to no call: the prologue, a rollback, a Sync.
  Buffer scratch_;
  std::string commit_;  // The SQL text that a commit sends.

  Open transaction_;
  List<Call> own_;  // Statements of the transaction that wait until the previous statement has completed.
  Member<Timer, Connection, &Connection::hold_expired> hold_{*this};
  Member<Timer, Connection, &Connection::held_long> long_{*this};

  Instant since_;
  // The time at which the response to the group's previous statement arrived; at first, the time at which the group was
  // sent.
  Instant responded_;
  // The shortest time in this session between sending a part of a group and receiving the first response to that part:
  // about a round trip.
  Duration round_trip_ = Duration::forever();
  bool is_first_response_ = false;
  Member<Timer, Connection, &Connection::is_aged> age_{*this};
  bool is_old_ = false;  // The connection has reached max_age, and is replaced as soon as no statement uses it.
  // The session is closing because it is replaced, so the next attempt to connect needs no pause.
  bool is_retiring_ = false;

  // Detects that the server has sent nothing for longer than a statement may take; the connection then counts as lost.
  Member<Timer, Connection, &Connection::is_silent> silence_{*this};
  Instant heard_;

  Copy* copy_ = nullptr;       // The COPY that has begun; null when no task waits for it.
  Event may_read_;             // Set when the task has taken the received rows of a COPY.
  bool is_copy_ = false;       // Whether the current group is a COPY.
  bool is_copy_sent_ = false;  // True once a CopyDone or a CopyFail has ended the data.

  Stream* stream_ = nullptr;  // Null while the session is not connected.
  Buffer out_;
  Buffer sending_;
  Event has_output_;
  Event wants_cancel_;
  Event is_idle_;  // Set while no request waits for a response.
  bool is_cancelling_ = false;
  std::uint64_t groups_ = 0;   // How many groups have begun.
  std::uint64_t cancels_ = 0;  // The number of the group that is to be cancelled.
  Keeping keeping_{*this};
};

}  // namespace keel::db::postgres::internal
