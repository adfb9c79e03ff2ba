// keel/db/sqlite/reader.h — reads of one loop: a connection, and a snapshot that the reads of one turn share.
//
// The snapshot begins with the first read of a turn and ends before the loop harvests again (Loop::defer). It is
// begun anew as soon as the writer has committed meanwhile, so no read is older than any acknowledged write. On a
// thread without a loop each read has its own.
//
// A read that takes more than `steps_max` steps of SQLite's virtual machine is interrupted and gives nothing; one that
// did so twice is not tried again. `steps_max` 0: no read is tried. Rows of more than `rows_bytes_max` bytes are taken
// for a long read, too.
//
// The memory for rows is kept between reads when it is no more than `buffer_bytes`.
//
// Threads: one (the counters may be read on any).  Lifetime: the loop runs no jobs any more when it is destroyed.

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
    OverBudget,  // Too long for a loop: no rows.
    Writes,      // Not a read at all: not run.
  };

  Reader(std::unique_ptr<Connection> connection, const Writer& writer, io::Loop* loop, int steps_max,
         std::size_t rows_bytes_max, std::size_t buffer_bytes);
  ~Reader();

  Result<Outcome> read(Sql sql, std::span<const Value> values, Rows& rows);

  // Lends the memory for rows, and takes it back.
  Rows take_rows() noexcept { return std::move(spare_); }
  void give_rows(Rows&& rows) noexcept;

  SingleWriterCounter reads;              // Completed here.
  SingleWriterCounter budget_exceeded;    // Interrupted, or too many bytes.
  SingleWriterCounter known_long;         // Not tried, because it was too long twice.
  SingleWriterCounter snapshots;          // Begun.
  SingleWriterCounter snapshots_renewed;  // Of these: because of a commit within a turn.

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
  std::uint64_t seen_ = 0;  // The writer's committed() before the snapshot began.
  bool open_ = false;
  bool deferred_ = false;
};

}  // namespace keel::db::sqlite
