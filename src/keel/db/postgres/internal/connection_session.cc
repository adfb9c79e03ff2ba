#include <algorithm>
#include <utility>

#include "keel/base/host.h"
#include "keel/db/postgres/encoder.h"
#include "keel/db/postgres/internal/connect.h"
#include "keel/db/postgres/internal/connection.h"
#include "keel/db/postgres/internal/pool.h"
#include "keel/io/loop.h"
#include "keel/observe/log.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::internal {
namespace {

constexpr std::size_t sent_bytes_kept = 64 * 1024;
// The first pause before a CancelRequest is repeated; each further pause is twice as long.
constexpr Duration cancel_again = 100_ms;

}  // namespace

void Connection::begin() {
  if (keeping_.begin(keep(), &Keeping::done)) Keeping::done(keeping_);
}

void Connection::Keeping::done(StartCore& start) noexcept {
  auto& keeping = static_cast<Keeping&>(start);
  static_cast<void>(keeping.take());
  keeping.connection.pool_.ended(keeping.connection);
}

void Connection::end() noexcept {
  if (is_ending_) return;
  is_ending_ = true;
  if (phase_ == Phase::Down) return keeping_.stop();
  Encoder(out_).terminate();
  flush();
}

Task<> Connection::keep() {
  const DatabaseOptions& options = pool_.settings().options;
  Duration pause = options.reconnect_min;
  while (!is_ending_) {
    farewell_.reset();
    Result<> ended = co_await attempt(live());
    Error reason = farewell_ ? std::move(*farewell_)
                   : !ended  ? std::move(ended).error()
                             : Error(Code::Unavailable, "the server closed the connection").from_environment();
    if (phase_ != Phase::Down) {
      if (phase_ != Phase::Idle || transaction_.number != 0) pool_.counters().lost.add();
      if (!is_ending_ && !is_retiring_) log::Logger("db").warn("a connection to the database has ended", reason);
      pause = options.reconnect_min;
      lose(reason);
      pool_.disconnected(nullptr);
    } else if (!is_ending_) {
      pool_.counters().connect_failures.add();
      pool_.disconnected(&reason);
    }
    if (is_ending_ || (is_retiring_ && pool_.is_closing())) co_return;
    if (std::exchange(is_retiring_, false)) continue;
    // Decorrelated jitter, so that clients that lost the same server do not reconnect at the same time.
    const auto span =
        static_cast<std::uint64_t>(std::max<std::int64_t>(pause.count_ns() * 3 - options.reconnect_min.count_ns(), 1));
    pause = std::min(
        options.reconnect_max,
        options.reconnect_min + Duration::nanoseconds(static_cast<std::int64_t>(Host::current().random() % span)));
    static_cast<void>(co_await attempt(sleep_for(pause)));
  }
}

Task<> Connection::live() {
  Connected connected = co_await connect(pool_, reader_);
  Stream stream = std::move(connected.stream);
  key_ = connected.key;
  server_ = std::move(connected.server);
  pipeline_ = std::make_unique<Pipeline>();
  out_.clear();
  has_output_.reset();
  wants_cancel_.reset();
  phase_ = Phase::Idle;
  is_old_ = is_retiring_ = false;
  since_ = pool_.loop().now();
  round_trip_ = Duration::forever();
  if (const Duration age = pool_.settings().options.max_age; age > Duration()) {
    // A random part of the age is subtracted, so that connections that were made at the same time are not replaced at
    // the same time.
    const auto jitter = static_cast<std::uint64_t>(age.count_ns() / 5 + 1);
    const auto less = Duration::nanoseconds(static_cast<std::int64_t>(Host::current().random() % jitter));
    pool_.loop().start_timer(age_, pool_.loop().now() + age - less);
  }
  stream_ = &stream;
  pool_.connected(*this);
  Result<> served = co_await attempt(serve(stream));
  stream_ = nullptr;
  if (silence_.is_running()) pool_.loop().stop_timer(silence_);
  if (age_.is_running()) pool_.loop().stop_timer(age_);
  co_await std::move(served);
}

void Connection::watch() noexcept {
  heard_ = pool_.loop().now();
  const DatabaseOptions& options = pool_.settings().options;
  if (options.statement_timeout <= Duration() || silence_.is_running()) return;
  pool_.loop().start_timer(silence_, heard_ + options.statement_timeout + options.cancel_grace);
}

void Connection::is_silent() noexcept {
  if (phase_ == Phase::Idle || stream_ == nullptr) return;
  const DatabaseOptions& options = pool_.settings().options;
  if (is_copy_) heard_ = pool_.loop().now();  // During a COPY the server may be silent because it waits for our data.
  const Instant end = heard_ + options.statement_timeout + options.cancel_grace;
  if (pool_.loop().now() < end) return pool_.loop().start_timer(silence_, end);
  farewell_ = Error(Code::Unavailable, "the server sent nothing for longer than the time limit of a statement");
  stream_->shutdown();
}

Task<> Connection::serve(Stream& stream) {
  Scope scope;
  scope.spawn(write_all(stream), OnError::Ignore);
  scope.spawn(cancel_all(stream), OnError::Ignore);
  Result<> read = co_await attempt(read_all(stream));
  scope.stop();
  static_cast<void>(co_await attempt(scope.join()));
  is_cancelling_ = false;
  co_await std::move(read);
}

Task<> Connection::read_all(Stream& stream) {
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
    heard_ = pool_.loop().now();
    co_await receive(chunk);
    while (is_paused()) {
      may_read_.reset();
      co_await may_read_.wait();
      heard_ = pool_.loop().now();
    }
  }
}

Task<> Connection::write_all(Stream& stream) {
  while (true) {
    co_await has_output_.wait();
    has_output_.reset();
    std::swap(out_, sending_);
    Stream::Write write = stream.write(sending_.view());
    // After a group was sent, nothing more is sent until its responses have arrived, so it does no harm if this task
    // continues late.
    write.set_unhurried(pipeline_ != nullptr && pipeline_->waiting() != 0 && !is_copy_);
    const Result<> written = co_await attempt(write);
    sending_.clear();
    if (copy_ != nullptr) {
      heard_ = pool_.loop().now();
      copy_->has_moved.set();
    }
    if (sending_.capacity() > sent_bytes_kept) sending_.release();
    // If the write failed, reading continues, because the server may have sent the reason for the failure.
    if (!written) co_return;
    if ((is_ending_ || is_retiring_) && out_.empty()) stream.shutdown();
  }
}

Task<> Connection::cancel_all(Stream& stream) {
  const Duration grace = pool_.settings().options.cancel_grace;
  while (true) {
    co_await wants_cancel_.wait();
    wants_cancel_.reset();
    if (cancels_ != groups_ || phase_ == Phase::Idle) {
      cancels_ = 0;
      if (phase_ == Phase::Idle) next();
      continue;
    }
    is_cancelling_ = true;
    pool_.counters().cancels.add();
    static_cast<void>(co_await attempt(with_timeout(grace, send_cancel())));
    // A server ignores a CancelRequest that arrives before the statement, so the request is repeated.
    const Instant end = pool_.loop().now() + grace;
    Duration pause = cancel_again;
    Result<> idle = co_await attempt(with_timeout(std::min(pause, grace), is_idle_.wait()));
    while (!idle && idle.error().code() == Code::DeadlineExceeded && pool_.loop().now() < end) {
      static_cast<void>(co_await attempt(with_timeout(end - pool_.loop().now(), send_cancel())));
      pause = std::min(pause * 2, end - pool_.loop().now());
      idle = co_await attempt(with_timeout(pause, is_idle_.wait()));
    }
    is_cancelling_ = false;
    cancels_ = 0;
    if (!idle && idle.error().code() != Code::DeadlineExceeded) co_return;
    if (!idle) {
      farewell_ = Error(Code::DeadlineExceeded, "the server has not responded to the cancellation of a statement");
      stream.shutdown();
      co_return;
    }
    next();
  }
}

// Uses a separate connection, which the server closes after it has processed the request.
Task<> Connection::send_cancel() {
  if (key_.process == 0) co_return;
  Stream stream = co_await dial(pool_, server_);
  Buffer out;
  Encoder(out).cancel_request(key_.process, key_.secret);
  co_await stream.write(out.view());
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
  }
}

}  // namespace keel::db::postgres::internal
