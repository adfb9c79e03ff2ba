#include "keel/db/sqlite/database.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "keel/base/check.h"
#include "keel/db/sqlite/backup.h"
#include "keel/db/sqlite/database_metrics.h"
#include "keel/db/sqlite/internal/state.h"
#include "keel/db/sqlite/migrations.h"
#include "keel/io/loop.h"
#include "keel/observe/log.h"
#include "keel/observe/metric.h"
#include "keel/observe/span.h"
#include "keel/task/context.h"
#include "keel/task/leaf.h"

namespace keel::db::sqlite {
namespace {

// Returns the error that the caller of `sql` gets; if `sql` has no text, the operation is not a statement.
Error failure_of(const Sql& sql, Error&& error) noexcept {
  if (error.code() != Code::Cancelled && error.code() != Code::ResourceExhausted) {
    error = std::move(error).from_environment();
  }
  if (!sql.text().empty()) error = std::move(error).during(sql.text(), sql.place());
  return std::move(error);
}

// A database that Keel creates is private (connection.h); an existing database keeps the mode that an operator or an
// earlier version has set.
void warn_of_others(const DatabaseOptions& options) {
  if (options.vfs != nullptr) return;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const std::string file = options.path + suffix;
    struct stat facts{};
    if (::stat(file.c_str(), &facts) != 0 || (facts.st_mode & (S_IROTH | S_IWOTH)) == 0) continue;
    log::Logger("db").warn(
        "other users of this machine can access a file of the database: prevent that with chmod o-rwx",
        log::field("file", file), log::field("mode", fmt::format("{:04o}", facts.st_mode & 07777)));
  }
}

}  // namespace

// A statement that a task waits for; it runs immediately on the loop, or on the pool, or on the writer.
class DatabaseCall final : public Leaf {
 public:
  using Value = void;
  enum class Kind : std::uint8_t { Query, Execute, Body, Begin, Commit, Savepoint, Release, Fetch, BeginRead };

  // A statement whose rows are returned in parts.
  struct Stream {
    explicit Stream(Database::State& s) noexcept : state(s) {}
    ~Stream() {
      statement = Statement();  // Ends the snapshot.
      if (connection == nullptr) return;
      std::lock_guard lock(state.mutex);
      state.pool_connections.push_back(std::move(connection));
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    Database::State& state;
    std::unique_ptr<Connection> connection;
    Statement statement;
    Rows rows;
    bool has_ended = false;
  };

  DatabaseCall(Database::State& state, Kind kind, std::uint64_t transaction = 0, std::uint64_t savepoint = 0) noexcept
      : Leaf(&cancel), state_(state), kind_(kind), arrived_(*this), read_(*this) {
    write_.transaction = transaction;
    write_.savepoint = savepoint;
  }
  ~DatabaseCall() {
    if (reader_ != nullptr) reader_->give_rows(std::move(rows));
  }

  bool start() noexcept {
    const Span* const span = context().span();
    if (span != nullptr) stages_ = span->stages;
    if (kind_ == Kind::Fetch || kind_ == Kind::BeginRead || is_in_read()) return !push_read();
    if (kind_ != Kind::Query) return !push_write();
    if (write_.transaction != 0) {
      write_.rows = &rows;
      return !push_write();
    }
    try {
      return start_read();
    } catch (const std::bad_alloc&) {
      result_ = Error::from_exception();
      return true;
    }
  }
  bool start_read() {
    Result<Reader*> reader = state_.reader();
    if (!reader) {
      result_ = std::move(reader).error();
      return true;
    }
    if (io::Loop::current() != nullptr) {
      reader_ = *reader;
      rows = reader_->take_rows();
    }
    Result<Reader::Outcome> outcome = [&] {
      const StageTimer timer(Stage::Database, stages_);
      return (*reader)->read(sql, values, rows);
    }();
    if (!outcome) {
      result_ = std::move(outcome).error();
      return true;
    }
    switch (*outcome) {
      case Reader::Outcome::Done:
        return true;
      case Reader::Outcome::Writes:
        write_.rows = &rows;
        return !push_write();
      case Reader::Outcome::OverBudget:
        return !push_read();
    }
    return true;
  }
  Result<> take() noexcept {
    // If a body fails, its error is passed on unchanged.
    if (!result_ && kind_ != Kind::Body) [[unlikely]]
      return failure_of(sql, std::move(result_).error());
    return std::move(result_);
  }

  Sql sql{""};
  std::span<const db::Value> values;
  FunctionRef<Result<>(Connection&)>* body = nullptr;
  Stream* stream = nullptr;                 // For Fetch: the stream to which the rows belong.
  FunctionRef<Result<>()>* step = nullptr;  // For Fetch: a function that runs without a connection.
  Rows rows;
  Written written() const noexcept { return write_.written; }
  std::uint64_t transaction() const noexcept { return write_.transaction; }
  std::uint64_t savepoint() const noexcept { return write_.savepoint; }
  void begun_at(std::source_location place) noexcept { write_.place = place; }
  void is_check() noexcept { write_.is_check = true; }

 private:
  struct Arrived : ::keel::Job {
    explicit Arrived(DatabaseCall& c) noexcept : ::keel::Job(&run_arrived), call(c) {}
    DatabaseCall& call;
  };
  struct Read : ::keel::Job {
    explicit Read(DatabaseCall& c) noexcept : ::keel::Job(&run_read), call(c) {}
    DatabaseCall& call;
  };

  bool push_write() noexcept {
    static constexpr Write::Kind kinds[] = {Write::Kind::Statement, Write::Kind::Statement, Write::Kind::Body,
                                            Write::Kind::Begin,     Write::Kind::Commit,    Write::Kind::Savepoint,
                                            Write::Kind::Release};
    go_elsewhere();
    write_.kind = kinds[static_cast<int>(kind_)];
    write_.sql = sql;
    write_.values = values;
    write_.rows_bytes_max = state_.options.rows_bytes_max;
    write_.body = body;
    write_.context = &context();
    write_.home = home_;
    write_.done = &arrived_;
    write_.is_timed = stages_ != nullptr;
    on_writer_ = true;
    if (state_.writer->push(write_)) return true;
    result_ = std::move(write_.result);
    on_writer_ = false;
    return false;
  }
  bool push_read() noexcept {
    go_elsewhere();
    if (state_.closed.load(std::memory_order_acquire)) {
      result_ = fail(Code::Unavailable, "the database is closed");
      return false;
    }
    posted_ = Host::current().now();
    has_waited_ = state_.is_pool_busy();
    if (state_.post_read(read_)) return true;
    result_ = fail(Code::ResourceExhausted, "the queue of reads is full");
    return false;
  }
  void go_elsewhere() noexcept {
    if (stages_ != nullptr) asked_ = Host::current().precise_now();
    home_ = Executor::current();
    KEEL_CHECK(home_ != nullptr, "a database call that needs another thread must be awaited on an executor");
  }

  static void run_arrived(::keel::Job& job) noexcept {
    DatabaseCall& call = static_cast<Arrived&>(job).call;
    if (call.on_writer_) call.result_ = std::move(call.write_.result);
    if (call.kind_ == Kind::Begin && call.result_) {
      call.context().note_held(Writer::held_number(call.transaction()));
    }
    if (call.stages_ != nullptr) call.count_stages(call.on_writer_ ? call.write_.begun : call.begun_);
    call.wake();
  }

  static void run_read(::keel::Job& job) noexcept {
    DatabaseCall& call = static_cast<Read&>(job).call;
    call.result_ = call.read_on_pool();
    if (call.state_.pool == nullptr) {
      std::lock_guard lock(call.state_.mutex);
      --call.state_.executor_reads;
    }
    call.home_->post(call.arrived_);  // Destroyed after this.
  }
  // Call count_stages() when the result of another thread's work has arrived; that work began at `begun`.
  void count_stages(Instant begun) noexcept {
    stages_->add(Stage::DatabaseWait, begun - asked_);
    stages_->add(Stage::Database, Host::current().precise_now() - begun);
  }

  Result<> read_on_pool() noexcept {
    if (stages_ != nullptr) begun_ = Host::current().now();
    try {
      if (step != nullptr) return (*step)();
      return read_on_pool_connection();
    } catch (const std::bad_alloc&) {
      return Error::from_exception();
    }
  }
  Result<> read_on_pool_connection() {
    std::unique_ptr<Connection> connection;
    {
      std::lock_guard lock(state_.mutex);
      if (has_waited_) {
        ++state_.pool_waits;
        state_.pool_wait_time = state_.pool_wait_time + (Host::current().now() - posted_);
      }
      if (cancelled_) return fail(Code::Cancelled, "the query was cancelled before it began");
      if (is_in_read()) {
        KEEL_TRY(connection, state_.read_transactions.take(write_.transaction));
        running_ = connection.get();
      } else if (stream != nullptr && stream->connection != nullptr) {
        connection = std::move(stream->connection);
        running_ = connection.get();
      } else if (!state_.pool_connections.empty()) {
        connection = std::move(state_.pool_connections.back());
        state_.pool_connections.pop_back();
        running_ = connection.get();
      }
    }
    if (connection == nullptr) {
      KEEL_TRY(connection, Connection::open(state_.connection_options(Access::ReadOnly)));
      std::lock_guard lock(state_.mutex);
      if (cancelled_) return fail(Code::Cancelled, "the query was cancelled before it began");
      ++state_.pool_opened;
      running_ = connection.get();
    }
    Result<> result = [&]() -> Result<> {
      try {
        if (kind_ == Kind::BeginRead) {
          KEEL_TRY(write_.transaction, state_.read_transactions.begin(connection, write_.place));
          state_.watch_held();
          return {};
        }
        return stream != nullptr ? fetch_on(*connection) : run_on(*connection);
      } catch (const std::bad_alloc&) {
        return Error::from_exception();
      }
    }();
    std::lock_guard lock(state_.mutex);
    running_ = nullptr;
    if (result) ++state_.pool_reads;
    if (is_in_read() && kind_ != Kind::BeginRead) {
      // After an I/O error SQLite ends the transaction, and the snapshot with it, so the read transaction ends, too.
      if (connection->is_autocommit()) state_.read_transactions.end(write_.transaction);
      connection = state_.read_transactions.give_back(write_.transaction, std::move(connection));
    }
    if (stream != nullptr) {
      stream->connection = std::move(connection);
    } else if (connection != nullptr) {
      state_.pool_connections.push_back(std::move(connection));
    }
    return result;
  }
  Result<> fetch_on(Connection& connection) {
    constexpr std::size_t bytes_at_once = 64 * 1024;
    Stream& from = *stream;
    if (from.statement.handle() == nullptr) {
      Result<Statement> prepared = connection.prepare(sql.text());
      if (!prepared) {
        Error error = std::move(prepared).error();
        // As in StatementCache: the text is part of the program, so the mistake is not in the user's input.
        if (error.code() == Code::InvalidArgument) return std::move(error).as(Code::Internal);
        return error;
      }
      from.statement = *std::move(prepared);
      if (!from.statement.is_readonly())
        return fail(Code::InvalidArgument, "stream() accepts only statements that read");
      KEEL_TRY_VOID(from.statement.begin(values));
    }
    from.rows.clear();
    KEEL_TRY(const bool has_more, from.statement.fetch(from.rows, bytes_at_once));
    from.has_ended = !has_more;
    from.statement.name_columns(from.rows);
    return {};
  }
  Result<> run_on(Connection& connection) {
    KEEL_TRY(StatementCache::Entry * entry, connection.statements().find(sql));
    if (is_in_read() && !entry->statement.is_readonly()) {
      return fail(Code::FailedPrecondition, "the transaction is read-only, but the statement writes");
    }
    rows.clear();
    KEEL_TRY_VOID(entry->statement.run(values, rows, state_.options.rows_bytes_max));
    entry->statement.name_columns(rows);
    return {};
  }

  bool is_in_read() const noexcept { return ReadTransactions::has(write_.transaction); }

  static void cancel(Leaf& leaf) noexcept {
    auto& call = static_cast<DatabaseCall&>(leaf);
    if (call.on_writer_) {
      if (call.kind_ == Kind::Commit || !call.state_.writer->withdraw(call.write_)) return;
      call.on_writer_ = false;
      call.result_ = fail(Code::Cancelled, "the write was cancelled before it began");
      call.wake();
      return;
    }
    std::lock_guard lock(call.state_.mutex);
    call.cancelled_ = true;
    if (call.running_ != nullptr) call.running_->interrupt();
  }

  Database::State& state_;
  const Kind kind_;
  // The reader that owns the memory of `rows`: it is the reader of the loop, because this operation ends on the loop
  // where it began.
  Reader* reader_ = nullptr;
  Executor* home_ = nullptr;
  // Null unless the request is being measured; asked_ and begun_ are set only while `stages_` is not null.
  StageClock* stages_ = nullptr;
  Instant asked_;  // The time at which the operation began to wait for another thread.
  Instant begun_;  // The time at which the pool began to read.
  Arrived arrived_;
  Read read_;
  Write write_;
  Instant posted_;           // The time at which the operation was posted to the pool.
  bool has_waited_ = false;  // Whether all threads of the pool were busy when the operation was posted.
  bool on_writer_ = false;
  bool cancelled_ = false;         // Guarded by State::mutex.
  Connection* running_ = nullptr;  // Guarded by State::mutex.
  Result<> result_;
};

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::~Database() {
  {
    // The WAL can be emptied only after the snapshots of the readers have ended.
    std::lock_guard lock(state_->mutex);
    state_->readers.clear();
  }
  close();
}

Result<std::unique_ptr<Database>> Database::open(const DatabaseOptions& options) {
  if (options.path.empty() || options.path == ":memory:") {
    return fail(Code::InvalidArgument, "database.path must name a file");
  }
  if (options.executor != nullptr && !options.executor->has_clock()) {
    return fail(Code::InvalidArgument,
                "DatabaseOptions::executor must be able to delay jobs, like the pool of a simulation; to test an "
                "application with its database, use app::TestApp");
  }
  auto state = std::make_unique<State>(options);
  KEEL_TRY(std::unique_ptr<Connection> connection, Connection::open(state->connection_options(Access::ReadWrite)));
  warn_of_others(options);
  if (!options.migrations.empty()) {
    KEEL_TRY_VOID(migrate(*connection, options.migrations));
  }
  state->writer = std::make_unique<Writer>(std::move(connection), options.writer, options.executor);
  KEEL_TRY_VOID(state->writer->start());
  if (options.executor == nullptr) {
    state->pool = std::make_unique<ThreadPool>(ThreadPoolOptions{
        .name = "database", .threads = std::max(options.pool_size, 1), .queue_max = options.pool_queued_max});
  }
  return std::unique_ptr<Database>(new Database(std::move(state)));
}

void Database::close() noexcept {
  State& state = *state_;
  if (state.closed.exchange(true)) return;
  KEEL_CHECK(state.executor_reads == 0, "a database on an executor must be idle when it is closed");
  if (state.pool != nullptr) state.pool->stop();
  {
    std::lock_guard lock(state.mutex);
    state.pool_connections.clear();
  }
  state.read_transactions.clear();
  state.writer->stop();
}

Result<> Database::attach(io::Loop& loop) {
  KEEL_TRY_VOID(state_->reader_of(&loop));
  return {};
}

Task<std::size_t> Database::query_rows(Sql sql, Arguments arguments, FunctionRef<void(const Row&)> on_row,
                                       std::uint64_t transaction) {
  DatabaseCall call(*state_, DatabaseCall::Kind::Query, transaction);
  call.sql = sql;
  call.values = arguments.values();
  co_await call;
  Result<> read = call.rows.for_each(on_row);
  if (!read) co_return failure_of(sql, std::move(read).error());
  co_return call.rows.count();
}

Task<Written> Database::execute_values(Sql sql, Arguments arguments, std::uint64_t transaction) {
  DatabaseCall call(*state_, DatabaseCall::Kind::Execute, transaction);
  call.sql = sql;
  call.values = arguments.values();
  co_await call;
  co_return call.written();
}

Task<std::size_t> Database::stream_rows(Sql sql, Arguments arguments, FunctionRef<Task<>(Rows&)> on_rows) {
  DatabaseCall::Stream stream(*state_);
  std::size_t count = 0;
  while (!stream.has_ended) {
    DatabaseCall call(*state_, DatabaseCall::Kind::Fetch);
    call.sql = sql;
    call.values = arguments.values();
    call.stream = &stream;
    co_await call;
    if (stream.rows.count() == 0) break;
    count += stream.rows.count();
    co_await on_rows(stream.rows);
  }
  co_return count;
}

Task<> Database::backup(std::string path) {
  std::unique_ptr<Backup> copy;
  bool is_done = false;
  auto copy_some = [&]() -> Result<> {
    if (copy == nullptr) {
      KEEL_TRY(copy, Backup::begin({.source = state_->options.path, .target = path, .vfs = state_->options.vfs}));
    }
    KEEL_TRY(is_done, copy->step());
    return {};
  };
  FunctionRef<Result<>()> step = copy_some;
  while (!is_done) {
    DatabaseCall call(*state_, DatabaseCall::Kind::Fetch);
    call.step = &step;
    co_await call;
  }
  std::lock_guard lock(state_->mutex);
  ++state_->backups;
}

Result<std::size_t> Database::read_values_now(Sql sql, std::span<const Value> values,
                                              FunctionRef<void(const Row&)> on_row) {
  KEEL_TRY(Reader * reader, state_->reader());
  Rows rows = reader->take_rows();
  Result<Reader::Outcome> outcome = [&] {
    const StageTimer timer(Stage::Database);
    return reader->read(sql, values, rows);
  }();
  Result<std::size_t> result = rows.count();
  if (!outcome) {
    result = std::move(outcome).error();
  } else if (*outcome == Reader::Outcome::OverBudget) {
    result = fail(Code::Unavailable, "this read takes too long for a loop: await query() instead");
  } else if (*outcome == Reader::Outcome::Writes) {
    result = fail(Code::InvalidArgument, "read_now() accepts only statements that read");
  } else if (Result<> read = rows.for_each(on_row); !read) {
    result = std::move(read).error();
  }
  reader->give_rows(std::move(rows));
  if (!result) return failure_of(sql, std::move(result).error());
  return result;
}

Task<> Database::transact(FunctionRef<Result<>(Connection&)> body) {
  DatabaseCall call(*state_, DatabaseCall::Kind::Body);
  call.body = &body;
  co_await call;
}

Task<> Database::check_reads() {
  auto ignore = [](const Row&) {};
  co_await query("select count(*) from sqlite_schema", ignore);
}

Task<> Database::check_writes() {
  if (stats().writer.disk_fails) co_await try_write();
}

Task<> Database::try_write() {
  auto touch = [](Connection& connection) -> Result<> {
    std::int64_t version = 0;
    auto keep = [&version](const Row& row) { version = row.integer(0); };
    KEEL_TRY_VOID(connection.query("select user_version from pragma_user_version", keep));
    // SQLite writes the page although the number does not change.
    return connection.run_script("pragma user_version = " + std::to_string(version));
  };
  FunctionRef<Result<>(Connection&)> body = touch;
  DatabaseCall call(*state_, DatabaseCall::Kind::Body);
  call.body = &body;
  call.is_check();
  co_await call;
}

Task<Transaction> Database::begin_transaction(TransactionOptions options, std::source_location place) {
  DatabaseCall call(*state_, options.read_only ? DatabaseCall::Kind::BeginRead : DatabaseCall::Kind::Begin);
  call.begun_at(place);
  co_await call;
  co_return Transaction(*this, call.transaction());
}

Task<> Database::commit(std::uint64_t transaction) {
  if (ReadTransactions::has(transaction)) {
    if (!state_->read_transactions.is_open(transaction)) co_await fail(Code::Conflict, "the transaction has ended");
    roll_back(transaction);
    co_return;
  }
  DatabaseCall call(*state_, DatabaseCall::Kind::Commit, transaction);
  co_await call;
}

void Database::roll_back(std::uint64_t transaction) noexcept {
  if (!ReadTransactions::has(transaction)) return state_->writer->drop(transaction);
  std::unique_ptr<Connection> connection = state_->read_transactions.end(transaction);
  if (connection == nullptr) return;
  std::lock_guard lock(state_->mutex);
  if (!state_->closed) state_->pool_connections.push_back(std::move(connection));
}

Task<Savepoint> Database::savepoint(std::uint64_t transaction) {
  if (ReadTransactions::has(transaction)) {
    const std::uint64_t made = co_await state_->read_transactions.savepoint(transaction);
    co_return Savepoint(*this, transaction, made);
  }
  DatabaseCall call(*state_, DatabaseCall::Kind::Savepoint, transaction);
  co_await call;
  co_return Savepoint(*this, transaction, call.savepoint());
}

Task<> Database::release(std::uint64_t transaction, std::uint64_t savepoint) {
  if (ReadTransactions::has(transaction)) {
    const bool released = state_->read_transactions.release(transaction, savepoint);
    if (!released) co_await fail(Code::Conflict, "the savepoint has ended");
    co_return;
  }
  DatabaseCall call(*state_, DatabaseCall::Kind::Release, transaction, savepoint);
  co_await call;
}

void Database::roll_back_to(std::uint64_t transaction, std::uint64_t savepoint) noexcept {
  if (ReadTransactions::has(transaction)) {
    state_->read_transactions.release(transaction, savepoint);
  } else {
    state_->writer->drop(transaction, savepoint);
  }
}

std::vector<metrics::GaugeFunction> Database::expose(metrics::Registry& registry) {
  return sqlite::expose(*this, registry);
}

const DatabaseOptions& Database::options() const noexcept { return state_->options; }

}  // namespace keel::db::sqlite
