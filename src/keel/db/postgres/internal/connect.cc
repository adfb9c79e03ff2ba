#include "keel/db/postgres/internal/connect.h"

#include <fmt/core.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/host.h"
#include "keel/db/postgres/encoder.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/pool.h"
#include "keel/db/postgres/login.h"
#include "keel/db/postgres/pipeline.h"
#include "keel/io/socket_options.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/stream.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::internal {
namespace {

std::string name_of_server(const ServerAddress& server) {
  return server.is_unix() ? server.socket_path() : fmt::format("{}:{}", server.host, server.port);
}

Task<Stream> put_tls_over(Pool& pool, Stream plain, std::string host) {
  Buffer out;
  Encoder(out).ssl_request();
  co_await plain.write(out.view());
  char byte[1] = {};
  co_await plain.read_exact(byte);
  std::string_view said(byte, 1);
  const bool is_encrypted = co_await Reader::encryption_response(said);
  if (!is_encrypted) {
    if (pool.settings().server.ssl_mode == SslMode::Prefer) co_return std::move(plain);
    co_return fail(Code::Unavailable, "the server does not support TLS, which sslmode requires");
  }
  // If the server sent more bytes after its response, that cleartext would be mistaken for decrypted data
  // (CVE-2021-23222).
  co_await plain.end_reading();
  tls::ClientContext context = *pool.settings().tls;
  co_return co_await tls::connect(std::move(context), std::move(host), std::move(plain));
}

Task<BackendKeyData> log_in(Pool& pool, Reader& reader, Stream& stream, ServerAddress server) {
  const Settings& settings = pool.settings();
  const ConnectOptions& to = settings.server;
  const std::optional<std::string> password = to.password_for(server, settings.passwords);
  std::array<std::byte, 18> nonce;
  Host::current().secret(nonce);
  const std::string timeout = std::to_string((settings.options.statement_timeout.count_ns() + 999'999) / 1'000'000);
  std::vector<StartupParameter> parameters = {{"client_encoding", "UTF8"}, {"datestyle", "ISO"}};
  if (!to.application_name.empty()) parameters.push_back({"application_name", to.application_name});
  if (!to.options.empty()) parameters.push_back({"options", to.options});
  // statement_timeout is not sent to a pooler, because a pooler rejects settings that it does not know.
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
  reader = Reader(Reader::Options{.message_bytes_max = settings.options.message_bytes_max});
  Buffer out;
  co_await login.begin(out);
  co_await stream.write(out.view());
  bool is_ready = false;
  while (!is_ready) {
    out.clear();
    Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return fail(Code::Unavailable, "the server closed the connection during the login");
    while (!is_ready) {
      const std::optional<Message> message = co_await reader.next(chunk);
      if (!message) break;
      is_ready = co_await login.receive(*message, out);
    }
    if (is_ready && !chunk.empty()) co_return fail(Code::Protocol, "the server sent more data than was requested");
    if (!out.empty()) co_await stream.write(out.view());
  }
  co_return login.key();
}

// Runs a statement and returns the only value of its result, as text.
Task<std::string> ask(Reader& reader, Stream& stream, std::string_view sql) {
  Buffer out;
  co_await Encoder(out).query(sql);
  co_await stream.write(out.view());
  Pipeline pipeline;
  co_await pipeline.add(Step::Query);
  std::string value;
  std::optional<Error> error;
  while (pipeline.waiting() != 0) {
    Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return fail(Code::Unavailable, "the server closed the connection after the login");
    while (true) {
      const std::optional<Message> message = co_await reader.next(chunk);
      if (!message) break;
      co_await pipeline.receive(message->type);
      if (message->type == MessageType::ErrorResponse) {
        const ErrorResponse response = co_await ErrorResponse::read(message->body);
        error = error_of(response);
      } else if (message->type == MessageType::DataRow) {
        DataRow row = co_await DataRow::read(message->body);
        const Cell cell = co_await row.next();
        value = cell.bytes;
      }
    }
  }
  if (error) co_return std::move(*error);
  co_return std::move(value);
}

// Fails if the session is not of the kind that target_session_attrs requires. The queries are those that libpq sends to
// servers before version 14, which do not report the kind during the login; poolers do not report it either.
Task<> check_target(Reader& reader, Stream& stream, TargetSession target) {
  if (target == TargetSession::Any) co_return;
  const bool is_of_role = target == TargetSession::Primary || target == TargetSession::Standby;
  const std::string setting =
      co_await ask(reader, stream, is_of_role ? "select pg_catalog.pg_is_in_recovery()" : "show transaction_read_only");
  const bool is_yes = setting == "t" || setting == "on";
  if (is_yes == (target == TargetSession::Standby || target == TargetSession::ReadOnly)) co_return;
  const std::string_view what =
      is_of_role ? (is_yes ? "a standby" : "no standby") : (is_yes ? "read-only" : "not read-only");
  Result<> other = Error::text(Code::Unavailable,
                               fmt::format("the server is {}, but target_session_attrs requires another kind", what))
                       .from_environment();
  co_await std::move(other);
}

Task<Connected> connect_to(Pool& pool, Reader& reader, ServerAddress server, TargetSession target) {
  Stream stream = co_await dial(pool, server);
  const BackendKeyData key = co_await log_in(pool, reader, stream, server);
  co_await check_target(reader, stream, target);
  co_return Connected(std::move(stream), key, std::move(server));
}

Task<Connected> connect_to_first(Pool& pool, Reader& reader, TargetSession target) {
  const ConnectOptions& options = pool.settings().server;
  std::string tried;
  Code code = Code::Unavailable;
  for (std::size_t i = 0; i < options.servers.size(); ++i) {
    ServerAddress server = options.servers[i];
    const Duration limit = options.connect_timeout > Duration() ? options.connect_timeout : Duration::forever();
    Result<Connected> connected = co_await attempt(with_timeout(limit, connect_to(pool, reader, server, target)));
    if (connected) co_return *std::move(connected);
    Error error = std::move(connected).error();
    if (error.code() == Code::Cancelled) co_return std::move(error);
    code = error.code() == Code::DeadlineExceeded ? Code::Unavailable : error.code();
    if (!tried.empty()) tried += "; ";
    tried += name_of_server(server) + ": ";
    tried += error.code() == Code::DeadlineExceeded ? std::string("no response within the connect_timeout")
                                                    : error.describe();
  }
  co_return Error::text(code, tried).from_environment();
}

}  // namespace

Task<Stream> dial(Pool& pool, ServerAddress server) {
  if (server.is_unix()) {
    const Address at = co_await Address::parse("unix:" + server.socket_path());
    co_return co_await Stream::connect(at);
  }
  const std::string host = server.address.empty() ? server.host : server.address;
  Stream plain = co_await Stream::connect(pool.resolver(), host, server.port);
  io::SocketOptions socket;
  socket.no_delay = true;
  socket.keep_alive = io::KeepAlive{.idle = 30_s, .interval = 5_s, .count = 4};
  // If the system rejects an option, the connection still works, so the error is ignored.
  static_cast<void>(plain.set_options(socket));
  if (!pool.settings().tls) co_return std::move(plain);
  co_return co_await put_tls_over(pool, std::move(plain), server.host);
}

Task<Connected> connect(Pool& pool, Reader& reader) {
  TargetSession target = pool.settings().server.target_session;
  if (target == TargetSession::PreferStandby) {
    Result<Connected> standby = co_await attempt(connect_to_first(pool, reader, TargetSession::Standby));
    if (standby) co_return *std::move(standby);
    if (standby.error().code() == Code::Cancelled) co_return std::move(standby).error();
    target = TargetSession::Any;
  }
  co_return co_await connect_to_first(pool, reader, target);
}

}  // namespace keel::db::postgres::internal
