#include "keel/db/sqlite/connection.h"

#include <sqlite3.h>
#include <strings.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/db/sqlite/memory.h"

namespace keel::db::sqlite {
namespace {

constexpr int links_max = 40;  // The kernel's limit.

Code code_of(int extended) noexcept {
  switch (extended) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
      return Code::AlreadyExists;
    case SQLITE_CONSTRAINT_FOREIGNKEY:
    case SQLITE_CONSTRAINT_TRIGGER:
    case SQLITE_BUSY_SNAPSHOT:
      return Code::Conflict;
    case SQLITE_CONSTRAINT_CHECK:
    case SQLITE_CONSTRAINT_NOTNULL:
    case SQLITE_CONSTRAINT_DATATYPE:
      return Code::InvalidArgument;
    default:
      break;
  }
  switch (extended & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_READONLY:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PROTOCOL:
      return Code::Unavailable;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return Code::ResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::DataLoss;
    case SQLITE_INTERRUPT:
      return Code::Cancelled;
    case SQLITE_CONSTRAINT:
      return Code::Conflict;
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
      return Code::InvalidArgument;
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Code::PermissionDenied;
    default:
      return Code::Internal;
  }
}

bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

// SQLite treats a byte order mark as white space everywhere.
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// For a statement that would change the transactions, settings or files on which Database relies, returns the advice
// that the error message gives. Returns null for all other statements.
const char* instead_of_control(std::string_view text) noexcept {
  static constexpr const char* transaction =
      "begin a transaction with begin() of the database, and end it with commit() or by destroying it";
  static constexpr const char* savepoint = "make a savepoint with savepoint() of the transaction";
  static constexpr const char* setting = "set the settings and files of the database in its options";
  static constexpr std::pair<std::string_view, const char*> words[] = {
      {"begin", transaction},   {"commit", transaction}, {"end", transaction}, {"rollback", transaction},
      {"savepoint", savepoint}, {"release", savepoint},  {"attach", setting},  {"detach", setting},
      {"pragma", setting},      {"vacuum", setting}};
  const std::string_view first = text.substr(skip_blank(text));
  for (const auto& [word, instead] : words) {
    if (first.size() < word.size() || strncasecmp(first.data(), word.data(), word.size()) != 0) continue;
    if (first.size() == word.size()) return instead;
    const char next = first[word.size()];
    if (!(next == '_' || ascii::is_alphanumeric(next))) return instead;
  }
  return nullptr;
}
bool is_control(std::string_view text) noexcept { return instead_of_control(text) != nullptr; }

int line_of(std::string_view text, std::size_t offset) noexcept {
  return 1 + static_cast<int>(std::count(
                 text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size())), '\n'));
}

// SQLite itself would create a database that every user can read; the WAL and its index get the mode of the database
// file. The file is created by mknod(), which opens no descriptor, because closing a descriptor of the file would
// release the locks that this process has on the file.
void make_private_file(const ConnectionOptions& options) {
  if (options.vfs != nullptr || options.path.empty() || options.path == ":memory:") return;
  std::filesystem::path file = options.path;
  for (int links = 0; links < links_max; ++links) {
    // If the path is wrong, SQLite reports an error when it opens the file.
    if (::mknod(file.c_str(), S_IFREG | S_IRUSR | S_IWUSR, 0) == 0 || errno != EEXIST) return;
    std::error_code is_no_link;
    const std::filesystem::path target = std::filesystem::read_symlink(file, is_no_link);
    if (is_no_link) return;
    file = file.parent_path() / target;  // If the target of the link is an absolute path, operator/ returns that path.
  }
}

}  // namespace

std::size_t skip_blank(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    if (is_space(text[at]) || text[at] == ';') {
      ++at;
    } else if (text.substr(at, byte_order_mark.size()) == byte_order_mark) {
      at += byte_order_mark.size();
    } else if (text.substr(at, 2) == "--") {
      while (at < text.size() && text[at] != '\n') ++at;
    } else if (text.substr(at, 2) == "/*") {
      const std::size_t end = text.find("*/", at + 2);
      at = end == text.npos ? text.size() : end + 2;
    } else {
      break;
    }
  }
  return at;
}

Error error_of(sqlite3* handle, int code) {
  const int extended = handle != nullptr ? sqlite3_extended_errcode(handle) : code;
  const int kind = extended & 0xff;
  if (const int number = handle != nullptr ? sqlite3_system_errno(handle) : 0;
      number != 0 && kind == (code & 0xff) && (kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR)) {
    return Error::from_errno(sqlite3_errstr(kind), number).as(code_of(extended));
  }
  const char* text = handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
  return Error::text(code_of((extended & 0xff) == (code & 0xff) ? extended : code), text).from_environment();
}

Connection::Connection(sqlite3* handle, const ConnectionOptions& options)
    : handle_(handle), wal_(handle, options.checkpoint_pages), statements_(*this, options.statements_max) {
  set_busy_timeout(options.busy_timeout);
}

Connection::~Connection() {
  // The statements in the cache are destroyed after this call; close_v2 keeps the connection until they are finalized.
  sqlite3_close_v2(handle_);
}

Result<std::unique_ptr<Connection>> Connection::open(const ConnectionOptions& options) {
  use_pool_memory();
  const bool writes = options.access == Access::ReadWrite;
  sqlite3* handle = nullptr;
  // A reader also opens the file for writing, because it may have to recover the WAL; query_only prevents other writes.
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (writes) {
    flags |= SQLITE_OPEN_CREATE;
    make_private_file(options);
  }
  const int code = sqlite3_open_v2(options.path.c_str(), &handle, flags, options.vfs);
  if (code != SQLITE_OK) {
    Error error = error_of(handle, code);
    sqlite3_close_v2(handle);
    return std::move(error).because(options.path);
  }
  std::unique_ptr<Connection> connection(new Connection(handle, options));
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  std::string settings = "pragma foreign_keys=on; pragma mmap_size=0; pragma temp_store=memory; pragma cache_size=-";
  settings += std::to_string(std::max(options.cache_kib, 64));
  settings += options.synchronous == Synchronous::Full     ? "; pragma synchronous=full"
              : options.synchronous == Synchronous::Normal ? "; pragma synchronous=normal"
                                                           : "; pragma synchronous=off";
  settings += writes ? "; pragma journal_mode=wal" : "; pragma query_only=on";
  if (Result<> set = connection->run_script(settings); !set) return std::move(set).because(options.path).error();
  if (writes && options.synchronous != Synchronous::Off) {
    if (Result<> synced = connection->sync_wal(); !synced) return std::move(synced).because(options.path).error();
  }
  return connection;
}

Result<Statement> Connection::prepare(std::string_view text) {
  if (const char* instead = instead_of_control(text); instead != nullptr) {
    return Error::text(Code::InvalidArgument, std::string(instead) + ", not with a statement: " + std::string(text));
  }
  return prepare_control(text);
}

Result<Statement> Connection::prepare_control(std::string_view text) {
  // SQLite reads `$1` as a name, and numbers names by their first occurrence; therefore `$1` is replaced by `?1`, which
  // is a number. Named placeholders stay unchanged.
  std::string numbered(text);
  int parameters = count_parameters(text);
  if (parameters >= 0) {
    for_each_placeholder(text, [&](const Placeholder& placeholder) { numbered[placeholder.offset] = '?'; });
  } else {
    parameters = count_names(text);
  }
  if (parameters < 0) {
    return Error::text(Code::InvalidArgument,
                       "placeholders must be $1, $2, … without gaps, or must all be names: " + std::string(text));
  }
  sqlite3_stmt* prepared = nullptr;
  const char* tail = nullptr;
  const int code = sqlite3_prepare_v3(handle_, numbered.data(), static_cast<int>(numbered.size()),
                                      SQLITE_PREPARE_PERSISTENT, &prepared, &tail);
  if (code != SQLITE_OK) return error_of(handle_, code);
  if (prepared == nullptr) return fail(Code::InvalidArgument, "SQL text must contain a statement");
  Statement statement(prepared);
  const std::string_view rest(tail, static_cast<std::size_t>(numbered.data() + numbered.size() - tail));
  if (skip_blank(rest) != rest.size()) return fail(Code::InvalidArgument, "SQL text must contain only one statement");
  if (statement.parameters() != parameters) {
    return Error::text(Code::InvalidArgument, "placeholders must be $1, $2, … or names: " + std::string(text));
  }
  return statement;
}

Result<> Connection::run_values(Sql sql, std::span<const Value> values, Rows* rows) {
  Result<> result = [&]() -> Result<> {
    KEEL_TRY(StatementCache::Entry * entry, statements_.find(sql));
    if (rows == nullptr) return entry->statement.run(values);
    KEEL_TRY_VOID(entry->statement.run(values, *rows));
    entry->statement.name_columns(*rows);
    return {};
  }();
  if (!result) return std::move(result).error().during(sql.text(), sql.place());
  return {};
}

Result<> Connection::run_script(std::string_view text, int* line, Control control) {
  // SQLite stops at a NUL byte, and would ignore the text after it.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    if (line != nullptr) *line = line_of(text, nul);
    return fail(Code::InvalidArgument, "the SQL text contains a NUL byte");
  }
  std::string_view rest = text;
  while (true) {
    rest.remove_prefix(skip_blank(rest));
    if (rest.empty()) return {};
    const std::size_t start = text.size() - rest.size();
    if (control == Control::Refused && is_control(rest)) {
      if (line != nullptr) *line = line_of(text, start);
      return fail(Code::InvalidArgument,
                  "this SQL text must not contain a statement that changes transactions, "
                  "settings or files");
    }
    sqlite3_stmt* prepared = nullptr;
    const char* tail = nullptr;
    int code = sqlite3_prepare_v2(handle_, rest.data(), static_cast<int>(rest.size()), &prepared, &tail);
    if (code != SQLITE_OK) {
      const int offset = sqlite3_error_offset(handle_);
      if (line != nullptr) *line = line_of(text, start + static_cast<std::size_t>(std::max(offset, 0)));
      return error_of(handle_, code);
    }
    if (prepared == nullptr) return {};
    do {
      code = sqlite3_step(prepared);
    } while (code == SQLITE_ROW);
    Result<> done;
    if (code != SQLITE_DONE) done = error_of(handle_, code);
    sqlite3_finalize(prepared);
    if (!done) {
      if (line != nullptr) *line = line_of(text, start);
      return done;
    }
    rest.remove_prefix(static_cast<std::size_t>(tail - rest.data()));
  }
}

std::int64_t Connection::changes() const noexcept { return sqlite3_changes64(handle_); }
std::int64_t Connection::total_changes() const noexcept { return sqlite3_total_changes64(handle_); }
std::int64_t Connection::last_insert_id() const noexcept { return sqlite3_last_insert_rowid(handle_); }
void Connection::forget_last_insert_id() noexcept { sqlite3_set_last_insert_rowid(handle_, 0); }
bool Connection::is_autocommit() const noexcept { return sqlite3_get_autocommit(handle_) != 0; }

void Connection::set_busy_timeout(Duration timeout) noexcept {
  busy_timeout_ = timeout;
  sqlite3_busy_timeout(handle_, static_cast<int>(std::clamp<std::int64_t>(timeout.count_ms(), 0, 1'000'000)));
}

bool Connection::has_deferred_violations() const noexcept {
  int now = 0;
  int highest = 0;
  sqlite3_db_status(handle_, SQLITE_DBSTATUS_DEFERRED_FKS, &now, &highest, 0);
  return now != 0;
}

void Connection::limit_steps(int steps) noexcept {
  sqlite3_progress_handler(handle_, steps, steps > 0 ? &on_steps : nullptr, this);
}

void Connection::start_steps(Statement& statement) noexcept {
  counts_steps_ = true;
  step_limit_met_ = false;
  // Resets the statement's step count to 0: SQLite calls the handler when the step count reaches the limit.
  sqlite3_stmt_status(statement.handle(), SQLITE_STMTSTATUS_VM_STEP, 1);
}

int Connection::on_steps(void* at) noexcept {
  // If the step count of a statement is not reset (as for the statement that ends a snapshot), the steps add up over
  // all runs and finally reach the limit; this must not interrupt the statement.
  auto& connection = *static_cast<Connection*>(at);
  connection.step_limit_met_ = connection.counts_steps_;
  return connection.counts_steps_ ? 1 : 0;
}

void Connection::interrupt() noexcept { sqlite3_interrupt(handle_); }

// Data that is found in a WAL may exist only in the system's cache: after a failed sync, the system considers that data
// written, and at the next start SQLite considers it committed. Anything that is committed after such unsynced data, or
// moved into the file, would be lost or damaged in a power failure. If the same bytes are written again, the next sync
// writes them to the disk. Nobody appends meanwhile.
Result<> Connection::sync_wal() {
  constexpr int at_once = 64 * 1024;
  const int begun = sqlite3_exec(handle_, "begin immediate", nullptr, nullptr, nullptr);
  switch (begun & 0xff) {
    case SQLITE_OK:
      break;
    case SQLITE_BUSY:      // Another connection is writing; it already rewrote the frames when it was opened.
    case SQLITE_READONLY:  // A database that is read-only gets no further writes to the WAL.
      return {};
    default:
      return error_of(handle_, begun);
  }
  sqlite3_file* wal = nullptr;
  sqlite3_int64 size = 0;
  int code = sqlite3_file_control(handle_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
  const bool is_there = code == SQLITE_OK && wal != nullptr && wal->pMethods != nullptr;
  if (is_there) code = wal->pMethods->xFileSize(wal, &size);
  const auto bytes = std::make_unique_for_overwrite<char[]>(at_once);
  for (sqlite3_int64 at = 0; code == SQLITE_OK && at < size; at += at_once) {
    const int count = static_cast<int>(std::min<sqlite3_int64>(size - at, at_once));
    code = wal->pMethods->xRead(wal, bytes.get(), count, at);
    if (code == SQLITE_OK) code = wal->pMethods->xWrite(wal, bytes.get(), count, at);
  }
  if (code == SQLITE_OK && size != 0) code = wal->pMethods->xSync(wal, SQLITE_SYNC_FULL);
  sqlite3_exec(handle_, "rollback", nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return Error::text(code_of(code), std::string("its WAL: ") + sqlite3_errstr(code));
  return {};
}

Result<> Connection::checkpoint() {
  const int code = sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  if (code != SQLITE_OK) return error_of(handle_, code);
  return {};
}

}  // namespace keel::db::sqlite
