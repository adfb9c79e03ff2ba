// keel/db/sqlite/reader.h — the reads of one loop: it has a connection, and the reads of one event-loop iteration share
// a snapshot.
//
// The snapshot begins with the first read of an iteration and ends before the loop collects events again (Loop::defer).
// The snapshot is renewed as soon as the writer has committed, so that every read sees all acknowledged writes. On a
// thread without a loop each read has its own snapshot.
//
// A read that takes more than `steps_max` steps of SQLite's virtual machine is interrupted and returns nothing; after
// two interruptions a statement is not tried again. With `steps_max` 0 no read is tried. A read with more than
// `rows_bytes_max` bytes of rows also counts as a long read.
//
// The memory for rows is kept between reads if it is no more than `buffer_bytes`.
//
// Threads:  one (the counters may be read on any).
// Lifetime: the loop must not run any more jobs when the reader is destroyed.

#pragma once

#include <memory>

#include "keel/base/single_writer_counter.h"
#include "keel/db/sqlite/connection.h"
#include "keel/exec/executor.h"

namespace keel::io {
class Loop;
}

namespace keel::db::sqlite {

class Writer;

class Reader {
 public:
  enum class Outcome : std::uint8_t {
    Done,        // The rows are complete.
    OverBudget,  // The statement took more steps than are allowed on a loop; there are no rows.
    Writes,      // The statement writes, and was not run.
  };

  Reader(std::unique_ptr<Connection> connection, const Writer& writer, io::Loop* loop, int steps_max,
         std::size_t rows_bytes_max, std::size_t buffer_bytes);
  ~Reader();

  Result<Outcome> read(Sql sql, std::span<const Value> values, Rows& rows);

  // Lend memory for rows, and take it back after use.
  Rows take_rows() noexcept { return std::move(spare_); }
  void give_rows(Rows&& rows) noexcept;

  SingleWriterCounter reads;            // Reads completed here.
  SingleWriterCounter budget_exceeded;  // Reads that were interrupted, or had too many bytes.
  // Reads that were not tried because the statement had been interrupted twice before.
  SingleWriterCounter known_long;
  SingleWriterCounter snapshots;  // Snapshots begun.
  // The number of these snapshots that began because of a commit within an iteration.
  SingleWriterCounter snapshots_renewed;

 private:
  struct EndOfTurn : Job {
    explicit EndOfTurn(Reader& r) noexcept : Job(&ended), reader(r) {}
    static void ended(Job& job) noexcept;
    Reader& reader;
  };
  Result<> begin_snapshot();
  void end_snapshot() noexcept;

  std::unique_ptr<Connection> connection_;
  const Writer& writer_;
  io::Loop* const loop_;
  const int steps_max_;
  const std::size_t rows_bytes_max_;
  const std::size_t buffer_bytes_;
  Statement begin_;
  Statement commit_;
  Rows spare_;
  EndOfTurn end_of_turn_;
  std::uint64_t seen_ = 0;  // The value of the writer's committed() before the snapshot began.
  bool open_ = false;
  bool deferred_ = false;
};

}  // namespace keel::db::sqlite
