// keel/db/sqlite/reader.h — the reads of one loop: a Reader has a connection, and the reads of one event-loop iteration
// share a snapshot.
//
// The snapshot begins with the first read of an iteration and ends before the loop collects events again (Loop::defer).
// The snapshot is renewed at the first read after a commit of the writer, so that every read sees all acknowledged
// writes. On a thread without a loop, each read has its own snapshot.
//
// A read that takes more than `steps_max` steps of SQLite's virtual machine is interrupted and returns nothing; a
// statement that has been interrupted twice is not tried on the loop again. If `steps_max` is 0, no read is tried on
// the loop. A read whose rows have more than `rows_bytes_max` bytes counts as interrupted, too.
//
// The memory for rows is kept between reads if it is not larger than `buffer_bytes`.
//
// Threads:  one (the counters may be read on any thread).
// Lifetime: when the reader is destroyed, the loop must not run any more jobs.

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
    Done,        // The statement has ended, and the rows are complete.
    OverBudget,  // The statement exceeded the limits for a read on a loop; there are no rows.
    Writes,      // The statement writes, and was not run.
  };

  Reader(std::unique_ptr<Connection> connection, const Writer& writer, io::Loop* loop, int steps_max,
         std::size_t rows_bytes_max, std::size_t buffer_bytes);
  ~Reader();

  Result<Outcome> read(Sql sql, std::span<const Value> values, Rows& rows);

  // take_rows() lends memory for rows; give_rows() takes it back after use.
  Rows take_rows() noexcept { return std::move(spare_); }
  void give_rows(Rows&& rows) noexcept;

  SingleWriterCounter reads;            // Reads completed here.
  SingleWriterCounter budget_exceeded;  // Reads that exceeded the limit of steps or bytes.
  // Reads that were not tried, because the statement had already been interrupted twice.
  SingleWriterCounter known_long;
  SingleWriterCounter snapshots;  // Snapshots begun.
  // Snapshots that replaced another snapshot within an event-loop iteration, because a write had been committed.
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
  std::uint64_t seen_ = 0;  // The value that the writer's committed() had before the snapshot began.
  bool open_ = false;
  bool deferred_ = false;
};

}  // namespace keel::db::sqlite
