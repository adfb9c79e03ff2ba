#include "keel/db/sqlite/statement.h"

#include <sqlite3.h>

#include <new>

#include "keel/db/sqlite/connection.h"

namespace keel::db::sqlite {
namespace {

// Captures the current row of `statement`.
void capture(sqlite3_stmt* statement, Rows& rows) {
  const int columns = sqlite3_data_count(statement);
  NewRow row(rows, columns);
  for (int i = 0; i < columns; ++i) {
    switch (sqlite3_column_type(statement, i)) {
      case SQLITE_INTEGER:
        row.append(static_cast<std::int64_t>(sqlite3_column_int64(statement, i)));
        break;
      case SQLITE_FLOAT:
        row.append(sqlite3_column_double(statement, i));
        break;
      case SQLITE_TEXT: {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        row.append(std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, i))));
        break;
      }
      case SQLITE_BLOB: {
        const auto* blob = static_cast<const std::byte*>(sqlite3_column_blob(statement, i));
        row.append(std::span(blob, static_cast<std::size_t>(sqlite3_column_bytes(statement, i))));
        break;
      }
      default:
        row.append(Value());
        break;
    }
  }
  row.end();
}

}  // namespace

Statement::Statement(sqlite3_stmt* statement) noexcept
    : statement_(statement),
      parameters_(sqlite3_bind_parameter_count(statement)),
      is_readonly_(sqlite3_stmt_readonly(statement) != 0) {}

Statement::~Statement() {
  if (statement_ != nullptr) sqlite3_finalize(statement_);
}

int Statement::columns() const noexcept { return sqlite3_column_count(statement_); }
std::string_view Statement::column_name(int column) const noexcept {
  const char* name = sqlite3_column_name(statement_, column);
  return name != nullptr ? name : "";
}

Result<> Statement::bind(std::span<const Value> values) {
  if (static_cast<int>(values.size()) != parameters_) {
    return fail(Code::InvalidArgument, "a statement must be given as many values as it has parameters");
  }
  int index = 0;
  for (const Value& value : values) {
    ++index;
    int code = SQLITE_OK;
    switch (value.kind) {
      case ValueKind::Null:
        code = sqlite3_bind_null(statement_, index);
        break;
      case ValueKind::Integer:
        code = sqlite3_bind_int64(statement_, index, value.integer);
        break;
      case ValueKind::Real:
        code = sqlite3_bind_double(statement_, index, value.real);
        break;
      case ValueKind::Text:
        code = sqlite3_bind_text64(statement_, index, value.bytes, value.size, SQLITE_STATIC, SQLITE_UTF8);
        break;
      case ValueKind::Blob:
        code = sqlite3_bind_blob64(statement_, index, value.bytes, value.size, SQLITE_STATIC);
        break;
    }
    if (code != SQLITE_OK) [[unlikely]]
      return error_of(sqlite3_db_handle(statement_), code);
  }
  return {};
}

Result<> Statement::finish(int code) {
  if (code == SQLITE_DONE) [[likely]] {
    // The result of the reset is ignored, because it would only repeat the error of the step.
    sqlite3_reset(statement_);
    return {};
  }
  Error error = error_of(sqlite3_db_handle(statement_), code);
  sqlite3_reset(statement_);
  // The error need not come from the values, because the table may have been changed or dropped since the statement was
  // prepared.
  if ((code & 0xff) == SQLITE_ERROR && !is_right_still()) return std::move(error).as(Code::Internal);
  return error;
}

bool Statement::is_right_still() const noexcept {
  sqlite3_stmt* again = nullptr;
  const int code = sqlite3_prepare_v2(sqlite3_db_handle(statement_), sqlite3_sql(statement_), -1, &again, nullptr);
  sqlite3_finalize(again);
  return code == SQLITE_OK;
}

Result<> Statement::run(std::span<const Value> values, Rows& rows, std::size_t rows_bytes_max) {
  KEEL_TRY_VOID(bind(values));
  int code = sqlite3_step(statement_);
  while (code == SQLITE_ROW) {
    try {
      capture(statement_, rows);
    } catch (const std::bad_alloc&) {
      sqlite3_reset(statement_);
      return Error::from_exception();
    }
    if (rows.bytes() > rows_bytes_max) [[unlikely]] {
      sqlite3_reset(statement_);
      return fail(Code::ResourceExhausted, "the rows of one result are larger than their limit in bytes");
    }
    code = sqlite3_step(statement_);
  }
  return finish(code);
}

Result<bool> Statement::fetch(Rows& rows, std::size_t bytes) {
  int code = sqlite3_step(statement_);
  while (code == SQLITE_ROW) {
    try {
      capture(statement_, rows);
    } catch (const std::bad_alloc&) {
      sqlite3_reset(statement_);
      return Error::from_exception();
    }
    if (rows.bytes() >= bytes) return true;
    code = sqlite3_step(statement_);
  }
  KEEL_TRY_VOID(finish(code));
  return false;
}

void Statement::name_columns(Rows& rows) {
  if (rows.count() == 0) return;
  // When the schema has changed, SQLite prepares the statement again, and its columns may then have other names.
  const int prepared = 1 + sqlite3_stmt_status(statement_, SQLITE_STMTSTATUS_REPREPARE, 0);
  if (prepared != named_) [[unlikely]] {
    names_.clear();
    for (int i = 0, count = columns(); i < count; ++i) {
      names_.append(column_name(i));
      names_.push_back('\0');
    }
    named_ = prepared;
  }
  rows.set_names(names_.view());
}

Result<> Statement::run(std::span<const Value> values) {
  KEEL_TRY_VOID(bind(values));
  int code = sqlite3_step(statement_);
  while (code == SQLITE_ROW) code = sqlite3_step(statement_);
  return finish(code);
}

}  // namespace keel::db::sqlite
