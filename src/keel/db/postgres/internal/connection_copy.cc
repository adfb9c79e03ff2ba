// The part of Connection for COPY, whose data is sent or received between the server's first and last response.

#include <string>
#include <utility>

#include "keel/db/postgres/encoder.h"
#include "keel/db/postgres/internal/connection.h"
#include "keel/db/postgres/internal/pool.h"
#include "keel/db/postgres/types.h"

namespace keel::db::postgres::internal {
namespace {

// In a COPY into a table, the task waits while more than this many bytes are unsent.
constexpr std::size_t waiting_bytes_max = 256 * 1024;
// In a COPY from a table, reading pauses while the received rows are larger than this.
constexpr std::size_t rows_bytes_kept = 64 * 1024;

}  // namespace

Result<> Connection::encode_copy(const Statement& statement) {
  const Columns& columns = statement.columns;
  if (columns.count() == 0) return fail(Code::InvalidArgument, "copy_out() needs a statement that returns rows");
  for (int i = 0; i < columns.count(); ++i) {
    if (columns.formats()[static_cast<std::size_t>(i)] == Format::Binary) continue;
    return Error::text(Code::Unsupported, "column '" + std::string(columns.name(i)) +
                                              "' has a type that is read as text: select it as ::text");
  }
  return Encoder(scratch_).query("copy (" + std::string(statement.sent()) + "\n) to stdout (format binary)");
}

Result<> Connection::begin_copy(Slot& slot, const Message& message) {
  Call* const call = slot.call;
  const bool is_in = message.type == MessageType::CopyInResponse;
  const Call::Kind expected = is_in ? Call::Kind::CopyIn : Call::Kind::CopyOut;
  if (call == nullptr || call->kind() != expected) {
    if (call == nullptr && !is_in) return {};  // Left.
    return Error(Code::Unsupported, "a statement cannot COPY from or to the client: use copy_in() or copy_out()");
  }
  if (call->is_cancelled) {
    if (is_in) {
      static_cast<void>(Encoder(out_).copy_fail("cancelled"));
      flush();
    }
    return {};
  }
  copy_ = call->copy;
  is_copy_sent_ = false;
  copy_->connection = this;
  copy_->columns = slot.statement != nullptr ? &slot.statement->columns : nullptr;
  slot.call = nullptr;
  call->finish({});
  pool_.call_over();
  return {};
}

Result<> Connection::receive_copy(std::string_view bytes) {
  if (copy_ == nullptr) return {};
  Slot* const slot = current_slot();
  if (slot == nullptr || slot->statement == nullptr) return {};
  KEEL_TRY_VOID(copy_->reader.receive(bytes, slot->statement->columns, copy_->rows));
  if (copy_->rows.count() != 0) copy_->has_moved.set();
  return {};
}

bool Connection::is_paused() const noexcept { return copy_ != nullptr && copy_->rows.bytes() >= rows_bytes_kept; }

void Connection::resume_reading() noexcept { may_read_.set(); }

bool Connection::has_copy_room() const noexcept { return out_.size() < waiting_bytes_max; }

void Connection::send_copy(std::string_view bytes) {
  const Result<> sent = Encoder(out_).copy_data(bytes);
  KEEL_CHECK(sent.has_value(), "each part of a COPY must fit into a message");
  flush();
}

void Connection::finish_copying_in() {
  is_copy_sent_ = true;
  Encoder(out_).copy_done();
  flush();
}

void Connection::leave_copy() noexcept {
  if (copy_ != nullptr) {
    copy_->connection = nullptr;
    if (!copy_->is_over) {
      copy_->is_over = true;
      copy_->result = transaction_.is_expired ? Error(Code::DeadlineExceeded,
                                                      "the transaction kept its connection for longer than hold_max")
                                              : Error(Code::Cancelled, "the COPY was abandoned");
      copy_->has_moved.set();
    }
    copy_ = nullptr;
  }
  may_read_.set();
  if (phase_ != Phase::Executing) return;
  if (pipeline_->is_copying_in() && !is_copy_sent_) {
    is_copy_sent_ = true;
    static_cast<void>(Encoder(out_).copy_fail("cancelled by the client"));
    return flush();
  }
  cancels_ = groups_;
  wants_cancel_.set();
}

void Connection::end_copy(Result<>&& result) noexcept {
  Copy& copy = *std::exchange(copy_, nullptr);
  copy.connection = nullptr;
  copy.is_over = true;
  copy.result = std::move(result);
  if (copy.columns != nullptr) {
    if (copy.result && !copy.reader.is_at_end()) {
      copy.result =
          Error(Code::Protocol, "the server ended a COPY before it had sent all of the data").from_environment();
    }
    std::exchange(copy.columns, nullptr)->name(copy.rows);
  }
  copy.has_moved.set();
}

}  // namespace keel::db::postgres::internal
