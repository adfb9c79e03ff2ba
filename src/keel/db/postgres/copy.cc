#include "keel/db/postgres/copy.h"

#include <algorithm>
#include <utility>

#include "keel/db/postgres/copy_text.h"
#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/copy.h"
#include "keel/db/postgres/internal/identifier.h"
#include "keel/db/postgres/internal/state.h"

namespace keel::db::postgres {
namespace {

using internal::Call;
using internal::Copy;
using internal::Pool;

constexpr std::size_t sent_at_once = 64 * 1024;

// Abandons the COPY if its task ends before the COPY does.
struct Leave {
  Copy& copy;
  ~Leave() {
    if (copy.connection != nullptr) copy.connection->leave_copy();
  }
};

// Makes the error for a COPY that ended before all rows were sent.
Error why_over(const Copy& copy) {
  if (!copy.result) return copy.result.error().clone();
  return Error(Code::Protocol, "the server ended a COPY before all rows were sent").from_environment();
}

}  // namespace

std::string internal::copy_text(std::string_view table, std::span<const std::string_view> columns) {
  std::string text("copy ");
  for (bool is_first = true; is_first || !table.empty(); is_first = false) {
    const std::size_t end = std::min(table.find('.'), table.size());
    if (!is_first) text += '.';
    append_identifier(text, table.substr(0, end));
    table.remove_prefix(std::min(end + 1, table.size()));
  }
  char separator = '(';
  text += ' ';
  for (const std::string_view column : columns) {
    text += std::exchange(separator, ',');
    append_identifier(text, column);
  }
  return text + ") from stdin";
}

void CopySink::append(std::span<const Value> values) {
  ++line_;
  if (!failed_) return;
  Result<> appended = append_copy_row(rows_, values);
  if (!appended) failed_ = std::move(appended).error().because("COPY, line " + std::to_string(line_));
}

Task<> CopySink::settle() {
  if (!failed_) co_await failed_.error().clone();
  if (copy_.is_over) co_await why_over(copy_);
  if (rows_.size() >= sent_at_once) co_await send();
}

Task<> CopySink::send() {
  while (!copy_.is_over && !copy_.connection->has_copy_room()) {
    copy_.has_moved.reset();
    co_await copy_.has_moved.wait();
  }
  if (copy_.is_over) co_await why_over(copy_);
  copy_.connection->send_copy(rows_.view());
  rows_.clear();
  if (rows_.capacity() > 4 * sent_at_once) rows_.release();
}

Task<> CopySink::finish() {
  co_await settle();
  co_await send();
  copy_.connection->finish_copying_in();
  while (!copy_.is_over) {
    copy_.has_moved.reset();
    co_await copy_.has_moved.wait();
  }
  co_await std::move(copy_.result);
}

Task<std::size_t> Database::copy_rows_in(std::string sql, FunctionRef<Task<>(CopySink&)> body,
                                         std::uint64_t transaction) {
  if (transaction == 0) {
    Transaction own = co_await begin_unbounded("begin;set local statement_timeout to 0");
    const std::size_t count = co_await copy_rows_in(std::move(sql), body, number_of(own));
    co_await own.commit();
    co_return count;
  }
  Pool* const pool = co_await state_->pool();
  Copy copy;
  const Leave leave{copy};
  Call call(*pool, Call::Kind::CopyIn, transaction);
  call.script = sql;
  call.copy = &copy;
  co_await call;
  CopySink sink(copy);
  co_await body(sink);
  co_await sink.finish();
  co_return static_cast<std::size_t>(copy.count);
}

Task<std::size_t> Database::copy_rows_out(Sql sql, FunctionRef<Task<>(Rows&)> on_rows, std::uint64_t transaction) {
  if (transaction == 0) {
    const Transaction own = co_await begin_unbounded("begin read only;set local statement_timeout to 0");
    co_return co_await copy_rows_out(sql, on_rows, number_of(own));
  }
  Pool* const pool = co_await state_->pool();
  Copy copy;
  copy.reader = CopyReader(options().message_bytes_max);
  const Leave leave{copy};
  Call call(*pool, Call::Kind::CopyOut, transaction);
  call.sql = sql;
  call.copy = &copy;
  Result<> begun = co_await attempt(call);
  if (!begun) co_return internal::failure_of_reading(std::move(begun).error());
  Rows rows;
  std::size_t count = 0;
  while (true) {
    while (!copy.is_over && copy.rows.count() == 0) {
      copy.has_moved.reset();
      co_await copy.has_moved.wait();
    }
    if (copy.is_over && !copy.result) co_return internal::failure_of(sql, std::move(copy.result).error());
    if (copy.rows.count() == 0) co_return count;
    copy.take(rows);
    if (copy.connection != nullptr) copy.connection->resume_reading();
    count += rows.count();
    co_await on_rows(rows);
  }
}

}  // namespace keel::db::postgres
