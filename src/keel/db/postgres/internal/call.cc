#include "keel/db/postgres/internal/call.h"

#include "keel/base/host.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/connection.h"
#include "keel/db/postgres/internal/pool.h"
#include "keel/observe/span.h"
#include "keel/task/context.h"

namespace keel::db::postgres::internal {

Error failure_of(const Sql& sql, Error&& error) noexcept {
  if (error.code() != Code::Cancelled && error.code() != Code::ResourceExhausted) {
    error = std::move(error).from_environment();
  }
  if (!sql.text().empty()) error = std::move(error).during(sql.text(), sql.place());
  return std::move(error);
}

Error failure_of_reading(Error&& error) {
  const ServerError* const server = server_error(error);
  if (server == nullptr || server->sqlstate != "25006") return std::move(error);
  return Error(Code::InvalidArgument, "the statement writes: only a statement that reads can return its rows in parts")
      .during(error.statement(), error.place());
}

bool Call::start() noexcept {
  Host& host = Host::current();
  since = host.now();
  const Span* const span = context().span();
  if (span != nullptr && span->stages != nullptr) {
    stages_ = span->stages;
    asked_ = sent_ = host.precise_now();
  }
  is_starting_ = true;
  pool_.submit(*this);
  is_starting_ = false;
  return is_finished_;
}

void Call::note_sent() noexcept {
  if (stages_ != nullptr) sent_ = Host::current().precise_now();
}

void Call::start_again() noexcept {
  rows.clear();
  written = {};
  is_too_large = false;
}

void Call::finish(Result<>&& result) noexcept {
  KEEL_DCHECK(!is_finished_, "a call can be finished only once");
  result_ = std::move(result);
  connection = nullptr;
  is_finished_ = true;
  if (stages_ != nullptr) {
    stages_->add(Stage::DatabaseWait, sent_ - asked_);
    stages_->add(Stage::Database, Host::current().precise_now() - sent_);
  }
  if (!is_starting_) wake();
}

Result<> Call::take() noexcept {
  if (!result_) [[unlikely]]
    return failure_of(sql, std::move(result_).error());
  return std::move(result_);
}

void Call::cancel(Leaf& leaf) noexcept {
  auto& call = static_cast<Call&>(leaf);
  call.is_cancelled = true;
  if (call.linked()) {
    call.pool_.withdraw(call);
    call.finish(fail(Code::Cancelled, "the statement was cancelled before it began"));
    return;
  }
  if (call.connection != nullptr) call.connection->cancel(call);
}

}  // namespace keel::db::postgres::internal
