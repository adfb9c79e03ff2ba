#include "keel/db/sqlite/reader.h"

#include <utility>

#include "keel/base/check.h"
#include "keel/db/sqlite/writer.h"
#include "keel/io/loop.h"

namespace keel::db::sqlite {
namespace {

constexpr int tries_max = 2;

}  // namespace

Reader::Reader(std::unique_ptr<Connection> connection, const Writer& writer, io::Loop* loop, int steps_max,
               std::size_t rows_bytes_max, std::size_t buffer_bytes)
    : connection_(std::move(connection)),
      writer_(writer),
      loop_(loop),
      steps_max_(steps_max),
      rows_bytes_max_(rows_bytes_max),
      buffer_bytes_(buffer_bytes),
      end_of_turn_(*this) {
  connection_->limit_steps(steps_max);
}

Reader::~Reader() { end_snapshot(); }

void Reader::give_rows(Rows&& rows) noexcept {
  rows.clear();
  rows.shrink(buffer_bytes_);
  spare_ = std::move(rows);
}

Result<Reader::Outcome> Reader::read(Sql sql, std::span<const Value> values, Rows& rows) {
  KEEL_TRY(StatementCache::Entry * entry, connection_->statements().find(sql));
  if (!entry->statement.is_readonly()) return Outcome::Writes;
  if (steps_max_ == 0) return Outcome::OverBudget;
  if (entry->budget_exceeded >= tries_max) {
    known_long.add();
    return Outcome::OverBudget;
  }
  KEEL_TRY_VOID(begin_snapshot());
  rows.clear();
  connection_->start_steps(entry->statement);
  Result<> result = entry->statement.run(values, rows, rows_bytes_max_);
  connection_->stop_steps();
  if (result) [[likely]] {
    // The names are set now, because another read may evict the statement while these rows are in use.
    entry->statement.name_columns(rows);
    reads.add();
    return Outcome::Done;
  }
  if (open_ && connection_->is_autocommit()) open_ = false;
  if (!connection_->step_limit_met() && rows.bytes() <= rows_bytes_max_) {
    return std::move(result).error();
  }
  ++entry->budget_exceeded;
  budget_exceeded.add();
  rows.clear();
  return Outcome::OverBudget;
}

Result<> Reader::begin_snapshot() {
  if (loop_ == nullptr) return {};
  // `committed` is read before the snapshot begins, so that the snapshot contains every write that has been
  // acknowledged.
  const std::uint64_t committed = writer_.committed();
  if (open_) {
    if (seen_ == committed) [[likely]]
      return {};
    end_snapshot();
    snapshots_renewed.add();
  }
  if (begin_.handle() == nullptr) {
    KEEL_TRY(begin_, connection_->prepare_control("begin"));
    KEEL_TRY(commit_, connection_->prepare_control("commit"));
  }
  KEEL_TRY_VOID(begin_.run());
  open_ = true;
  seen_ = committed;
  snapshots.add();
  if (!deferred_) {
    deferred_ = true;
    loop_->defer(end_of_turn_);
  }
  return {};
}

void Reader::end_snapshot() noexcept {
  if (!std::exchange(open_, false)) return;
  const Result<> ended = commit_.run();
  KEEL_CHECK(ended.has_value() || connection_->is_autocommit(), "a snapshot must have no open statements when it ends");
}

void Reader::EndOfTurn::ended(Job& job) noexcept {
  Reader& reader = static_cast<EndOfTurn&>(job).reader;
  reader.deferred_ = false;
  reader.end_snapshot();
}

}  // namespace keel::db::sqlite
