#include "keel/db/postgres/internal/listening.h"

#include <algorithm>
#include <utility>

#include "keel/base/host.h"
#include "keel/db/postgres/encoder.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/connect.h"
#include "keel/db/postgres/internal/identifier.h"
#include "keel/db/postgres/internal/pool.h"
#include "keel/observe/log.h"
#include "keel/task/resume_on.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::internal {
namespace {

constexpr Duration connect_max = 10_s;  // Time limit of an attempt to connect.
// The maximum number of notifications that are kept while a LISTEN or UNLISTEN runs.
constexpr std::size_t received_max = 10'000;

bool is_of_the_task(const Error& error) {
  return error.code() == Code::Cancelled || error.code() == Code::DeadlineExceeded;
}

Error closed() { return Error(Code::Unavailable, "the database is closed"); }

Result<> check_channel(std::string_view channel) {
  constexpr std::size_t name_bytes_max = 63;
  if (!channel.empty() && channel.size() <= name_bytes_max && channel.find('\0') == std::string_view::npos) return {};
  return fail(Code::InvalidArgument, "the name of a channel must have 1 to 63 bytes, none of them zero");
}

std::string command(std::string_view word, std::string_view channel) {
  std::string sql(word);
  append_identifier(sql, channel);
  return sql;
}

}  // namespace

// Counts the tasks that use the connection.
struct Listening::Use {
  explicit Use(Listening& l) noexcept : listening(l) { ++listening.users_; }
  ~Use() {
    if (--listening.users_ == 0 && listening.pool_.is_closing()) {
      listening.stream_.reset();
      if (!listening.pool_.has_ended()) listening.pool_.is_free_again();
    }
  }
  Listening& listening;
};

Listening::Listening(Pool& pool) : pool_(pool) { pool.add(*this); }
Listening::~Listening() { unlink(); }

void Listening::close() noexcept {
  is_closing_.set();
  if (!stream_) return;
  if (users_ != 0) return stream_->shutdown();
  stream_.reset();
}

void Listening::disconnect(const Error& reason) noexcept {
  if (!std::exchange(stream_, std::nullopt)) return;
  chunk_ = {};
  if (!pool_.is_closing()) log::Logger("db").warn("the connection that listens for notifications has ended", reason);
}

Task<> Listening::connect() {
  // If an attempt fails, there is no connection afterwards.
  Result<Connected> connected = co_await attempt(with_timeout(connect_max, internal::connect(pool_, reader_)));
  if (!connected) {
    co_await checkpoint();  // If the task itself was stopped, it fails with the reason for the stop.
    const std::string why = connected.error().code() == Code::DeadlineExceeded ? std::string("no response within 10 s")
                                                                               : connected.error().describe();
    co_await Error::text(Code::Unavailable, "the database cannot be reached: " + why).from_environment();
  }
  stream_.emplace(std::move(connected->stream));
  chunk_ = {};
  std::string sql;
  for (const std::string& channel : channels_) sql += command("listen ", channel) + ";";
  if (sql.empty()) co_return;
  Result<> listens = co_await attempt(run(std::move(sql)));
  if (!listens) {
    stream_.reset();
    co_await std::move(listens);
  }
}

// Repeats the attempt to connect until one attempt succeeds.
Task<> Listening::connect_again() {
  const DatabaseOptions& options = pool_.settings().options;
  Duration pause = options.reconnect_min;
  bool is_first = true;
  while (true) {
    if (pool_.is_closing()) co_await closed();
    const Result<> connected = co_await attempt(connect());
    if (connected) {
      if (!is_first) log::Logger("db").info("the connection that listens for notifications is open again");
      co_return;
    }
    co_await checkpoint();
    if (std::exchange(is_first, false)) {
      log::Logger("db").warn("the connection that listens for notifications cannot be opened; trying again",
                             connected.error());
    }
    const std::int64_t most = std::min(options.reconnect_max, pause * 3).count_ns();
    const std::int64_t least = options.reconnect_min.count_ns();
    const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>(most - least, 1));
    pause = Duration::nanoseconds(least + static_cast<std::int64_t>(Host::current().random() % span));
    const Result<> woken = co_await attempt(with_timeout(pause, is_closing_.wait()));
    if (!woken) co_await checkpoint();
  }
}

Result<bool> Listening::take() {
  while (true) {
    KEEL_TRY(const std::optional<Message> message, reader_.next(chunk_));
    if (!message) return false;
    switch (message->type) {
      case MessageType::NotificationResponse: {
        KEEL_TRY(const NotificationResponse what, NotificationResponse::read(message->body));
        if (received_.size() >= received_max) {
          return Error(Code::ResourceExhausted,
                       "too many notifications arrived while a channel was added (limit: "
                       "10000)");
        }
        received_.push_back(
            {.channel = std::string(what.channel), .payload = std::string(what.payload), .process = what.process});
        break;
      }
      case MessageType::ErrorResponse: {
        KEEL_TRY(const ErrorResponse response, ErrorResponse::read(message->body));
        if (response.is_fatal()) return error_of(response);
        failed_ = error_of(response);
        break;
      }
      case MessageType::ReadyForQuery:
        return true;
      case MessageType::CommandComplete:
      case MessageType::NoticeResponse:
      case MessageType::ParameterStatus:
        break;
      default:
        return Error::text(Code::Protocol, "the server sent " + std::string(to_string(message->type)) +
                                               " on a connection that only listens")
            .from_environment();
    }
  }
}

Task<> Listening::run(std::string sql) {
  Buffer out;
  co_await Encoder(out).query(sql);
  co_await stream_->write(out.view());
  failed_.reset();
  while (true) {
    const bool is_ready = co_await take();
    if (is_ready) break;
    chunk_ = co_await stream_->receive();
    if (chunk_.empty()) co_await Error(Code::Unavailable, "the server closed the connection").from_environment();
  }
  if (failed_) co_await std::move(*std::exchange(failed_, std::nullopt));
}

Task<Notification> Listening::next() {
  const Use use(*this);
  while (true) {
    if (!received_.empty()) {
      Notification first = std::move(received_.front());
      received_.pop_front();
      co_return std::move(first);
    }
    if (pool_.is_closing()) co_return closed();
    if (!stream_) {
      co_await connect_again();
      Notification gap;
      gap.is_gap = true;
      co_return std::move(gap);
    }
    Result<Chunk> chunk = Chunk();
    if (chunk_.empty()) {
      chunk = co_await attempt(stream_->receive());
      if (!chunk && is_of_the_task(chunk.error())) co_return std::move(chunk).error();
      if (chunk) chunk_ = *chunk;
      if (chunk && chunk_.empty()) {
        chunk = Error(Code::Unavailable, "the server closed the connection").from_environment();
      }
    }
    Result<bool> taken = chunk ? take() : Result<bool>(std::move(chunk).error());
    if (!taken) disconnect(taken.error());
  }
}

Task<> Listening::add(std::string channel) {
  const Use use(*this);
  co_await check_channel(channel);
  if (pool_.is_closing()) co_await closed();
  if (std::find(channels_.begin(), channels_.end(), channel) != channels_.end()) co_return;
  const bool is_first = channels_.empty() && !stream_;
  channels_.push_back(channel);
  if (is_first) {
    Result<> connected = co_await attempt(connect());
    if (!connected) channels_.clear();
    co_await std::move(connected);
  } else if (stream_) {
    Result<> listens = co_await attempt(run(command("listen ", channel)));
    // If the exchange was not completed, the connection is unusable; next() reconnects.
    if (!listens) disconnect(listens.error());
    if (!listens && is_of_the_task(listens.error())) co_await std::move(listens);
  }
}

Task<> Listening::remove(std::string channel) {
  const Use use(*this);
  const auto found = std::find(channels_.begin(), channels_.end(), channel);
  if (found == channels_.end()) co_return;
  channels_.erase(found);
  if (!stream_) co_return;
  Result<> done = co_await attempt(run(command("unlisten ", channel)));
  if (!done) disconnect(done.error());
  if (!done && is_of_the_task(done.error())) co_await std::move(done);
}

}  // namespace keel::db::postgres::internal

namespace keel::db::postgres {

Notifications::Notifications(std::unique_ptr<internal::Listening> listening) noexcept
    : listening_(std::move(listening)) {}
Notifications::Notifications(Notifications&& other) noexcept = default;
Notifications& Notifications::operator=(Notifications&& other) noexcept = default;
Notifications::~Notifications() = default;

Task<Notification> Notifications::next() { return listening_->next(); }
Task<> Notifications::add(std::string channel) { return listening_->add(std::move(channel)); }
Task<> Notifications::remove(std::string channel) { return listening_->remove(std::move(channel)); }

}  // namespace keel::db::postgres
