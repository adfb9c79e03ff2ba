#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "keel/base/host.h"
#include "keel/db/postgres/encoder.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/connection.h"
#include "keel/db/postgres/internal/pool.h"
#include "keel/db/postgres/login.h"
#include "keel/io/loop.h"
#include "keel/io/socket_options.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/stream.h"
#include "keel/observe/log.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::internal {
namespace {

constexpr std::size_t sent_bytes_kept = 64 * 1024;

std::string name_of_server(const ServerAddress& server) {
  return server.is_unix() ? server.socket_path() : fmt::format("{}:{}", server.host, server.port);
}

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

// Connects, serves, and connects again.
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
      if (!is_ending_) log::Logger("db").warn("a connection to the database has ended", reason);
      pause = options.reconnect_min;
      lose(reason);
      pool_.disconnected(nullptr);
    } else if (!is_ending_) {
      pool_.counters().connect_failures.add();
      pool_.disconnected(&reason);
    }
    if (is_ending_) co_return;
    // Decorrelated jitter: clients that lost the same server do not come back together.
    const auto span =
        static_cast<std::uint64_t>(std::max<std::int64_t>(pause.count_ns() * 3 - options.reconnect_min.count_ns(), 1));
    pause = std::min(
        options.reconnect_max,
        options.reconnect_min + Duration::nanoseconds(static_cast<std::int64_t>(Host::current().random() % span)));
    static_cast<void>(co_await attempt(sleep_for(pause)));
  }
}

Task<> Connection::live() {
  Stream stream = co_await connect();
  pipeline_ = std::make_unique<Pipeline>();
  out_.clear();
  has_output_.reset();
  wants_cancel_.reset();
  phase_ = Phase::Idle;
  stream_ = &stream;
  pool_.connected(*this);
  Result<> served = co_await attempt(serve(stream));
  stream_ = nullptr;
  if (silence_.is_running()) pool_.loop().stop_timer(silence_);
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
  const Instant end = heard_ + options.statement_timeout + options.cancel_grace;
  if (pool_.loop().now() < end) return pool_.loop().start_timer(silence_, end);
  farewell_ = Error(Code::Unavailable, "the server has said nothing for longer than a statement may take");
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
  }
}

Task<> Connection::write_all(Stream& stream) {
  while (true) {
    co_await has_output_.wait();
    has_output_.reset();
    std::swap(out_, sending_);
    const Result<> written = co_await attempt(stream.write(sending_.view()));
    sending_.clear();
    if (sending_.capacity() > sent_bytes_kept) sending_.release();
    // The reader then ends with what was still to be read, which may say why.
    if (!written) co_return;
    if (is_ending_ && out_.empty()) stream.shutdown();
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
    const Result<> answered = co_await attempt(with_timeout(grace, is_answered_.wait()));
    is_cancelling_ = false;
    cancels_ = 0;
    if (!answered) {
      farewell_ = Error(Code::DeadlineExceeded, "the server has not answered a statement that was cancelled");
      stream.shutdown();
      co_return;
    }
    next();
  }
}

// On a connection of its own, which the server closes once it has passed it on.
Task<> Connection::send_cancel() {
  if (key_.process == 0) co_return;
  Stream stream = co_await dial(server_);
  Buffer out;
  Encoder(out).cancel_request(key_.process, key_.secret);
  co_await stream.write(out.view());
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
  }
}

// To the first server that lets us in.
Task<Stream> Connection::connect() {
  const ConnectOptions& options = pool_.settings().server;
  std::string tried;
  Code code = Code::Unavailable;
  for (std::size_t i = 0; i < options.servers.size(); ++i) {
    ServerAddress server = options.servers[i];
    const Duration limit = options.connect_timeout > Duration() ? options.connect_timeout : Duration::forever();
    Result<Stream> stream = co_await attempt(with_timeout(limit, connect_to(server)));
    if (stream) {
      server_ = std::move(server);
      co_return *std::move(stream);
    }
    Error error = std::move(stream).error();
    if (is_ending_) co_return std::move(error);
    code = error.code() == Code::DeadlineExceeded ? Code::Unavailable : error.code();
    if (!tried.empty()) tried += "; ";
    tried += name_of_server(server) + ": ";
    tried +=
        error.code() == Code::DeadlineExceeded ? std::string("no answer within the connect_timeout") : error.describe();
  }
  co_return Error::text(code, tried).from_environment();
}

Task<Stream> Connection::connect_to(ServerAddress server) {
  Stream stream = co_await dial(server);
  co_await log_in(stream, server);
  co_return std::move(stream);
}

Task<Stream> Connection::dial(ServerAddress server) {
  if (server.is_unix()) {
    const Address at = co_await Address::parse("unix:" + server.socket_path());
    co_return co_await Stream::connect(at);
  }
  const std::string host = server.address.empty() ? server.host : server.address;
  Stream plain = co_await Stream::connect(pool_.resolver(), host, server.port);
  io::SocketOptions socket;
  socket.no_delay = true;
  socket.keep_alive = io::KeepAlive{.idle = 30_s, .interval = 5_s, .count = 4};
  // What the system does not grant, it does without.
  static_cast<void>(plain.set_options(socket));
  if (!pool_.settings().tls) co_return std::move(plain);
  co_return co_await put_tls_over(std::move(plain), server.host);
}

Task<Stream> Connection::put_tls_over(Stream plain, std::string host) {
  Buffer out;
  Encoder(out).ssl_request();
  co_await plain.write(out.view());
  char answer[1] = {};
  co_await plain.read_exact(answer);
  std::string_view said(answer, 1);
  const bool is_encrypted = co_await Reader::encryption_answer(said);
  if (!is_encrypted) {
    if (pool_.settings().server.ssl_mode == SslMode::Prefer) co_return std::move(plain);
    co_return fail(Code::Unavailable, "the server has no TLS, and sslmode demands it");
  }
  // What follows the answer in clear text would be taken for something that came encrypted (CVE-2021-23222).
  co_await plain.end_reading();
  tls::ClientContext context = *pool_.settings().tls;
  co_return co_await tls::connect(std::move(context), std::move(host), std::move(plain));
}

Task<> Connection::log_in(Stream& stream, ServerAddress server) {
  const Settings& settings = pool_.settings();
  const ConnectOptions& to = settings.server;
  const std::optional<std::string> password = to.password_for(server, settings.passwords);
  std::array<std::byte, 18> nonce;
  Host::current().secret(nonce);
  const std::string timeout = std::to_string((settings.options.statement_timeout.count_ns() + 999'999) / 1'000'000);
  std::vector<StartupParameter> parameters = {{"client_encoding", "UTF8"}, {"datestyle", "ISO"}};
  if (!to.application_name.empty()) parameters.push_back({"application_name", to.application_name});
  if (!to.options.empty()) parameters.push_back({"options", to.options});
  // A pooler takes no settings that it does not know.
  if (settings.options.statement_timeout > Duration() && !settings.options.pooler) {
    parameters.push_back({"statement_timeout", timeout});
  }
  const tls::Records* const records = tls::connection_of(stream);
  const std::string binding = records != nullptr ? records->server_end_point() : std::string();
  LoginOptions options{.user = to.user};
  options.channel_binding_data = binding;
  options.database = to.database;
  if (password) options.password = *password;
  options.parameters = parameters;
  options.channel_binding = to.channel_binding;
  options.nonce = nonce;
  options.allows_cleartext_password = to.allows_cleartext_password;
  options.allows_md5_password = to.allows_md5_password;
  Login login(options);
  reader_ = Reader(Reader::Options{.message_bytes_max = settings.options.message_bytes_max});
  Buffer out;
  co_await login.begin(out);
  co_await stream.write(out.view());
  bool is_ready = false;
  while (!is_ready) {
    out.clear();
    Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_await fail(Code::Unavailable, "the server closed the connection during the login");
    while (!is_ready) {
      const std::optional<Message> message = co_await reader_.next(chunk);
      if (!message) break;
      is_ready = co_await login.receive(*message, out);
    }
    if (is_ready && !chunk.empty()) co_await fail(Code::Protocol, "the server sent more than was asked for");
    if (!out.empty()) co_await stream.write(out.view());
  }
  key_ = login.key();
}

}  // namespace keel::db::postgres::internal
