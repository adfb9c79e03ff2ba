#include "postgres/link.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "keel/base/host.h"
#include "keel/db/postgres/encoder.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/login.h"
#include "keel/db/postgres/message.h"

namespace keel::tool {
namespace {

using namespace db::postgres;

constexpr std::size_t read_bytes = 64 * 1024;

Result<int> connect_to_socket(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof at.sun_path) return Error::from_errno("connect", ENAMETOOLONG);
  std::memcpy(at.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Error::from_errno("socket", errno);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return fd;
  const int error = errno;
  ::close(fd);
  return Error::from_errno("connect", error);
}

Result<int> connect_to_host(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found); error != 0) {
    return Error::text(Code::Unavailable, ::gai_strerror(error));
  }
  int error = ECONNREFUSED;
  int fd = -1;
  for (const addrinfo* one = found; one != nullptr && fd < 0; one = one->ai_next) {
    fd = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (fd >= 0 && ::connect(fd, one->ai_addr, one->ai_addrlen) != 0) {
      error = errno;
      ::close(fd);
      fd = -1;
    }
  }
  ::freeaddrinfo(found);
  if (fd < 0) return Error::from_errno("connect", error);
  return fd;
}

}  // namespace

Result<std::unique_ptr<PostgresLink>> PostgresLink::open(const std::string& url) {
  KEEL_TRY(ConnectOptions options, ConnectOptions::parse(url, process_environment));
  std::unique_ptr<PostgresLink> link(new PostgresLink(std::move(options)));
  Result<> connected = fail(Code::Unavailable, "the URL names no server");
  for (const ServerAddress& server : link->options_.servers) {
    connected = link->connect(server);
    if (connected) return link;
  }
  return std::move(connected).error().because(link->options_.describe());
}

PostgresLink::~PostgresLink() {
  if (fd_ < 0) return;
  out_.clear();
  Encoder(out_).terminate();
  static_cast<void>(send());
  ::close(fd_);
}

Result<> PostgresLink::connect(const ServerAddress& server) {
  if (options_.ssl_mode >= SslMode::Require && !server.is_unix()) {
    return fail(Code::Unsupported,
                "this command does not use TLS: name a server that accepts connections without TLS, with a Unix socket "
                "or sslmode=disable");
  }
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (server.is_unix()) {
    KEEL_TRY(fd_, connect_to_socket(server.socket_path()));
  } else {
    KEEL_TRY(fd_, connect_to_host(server.address.empty() ? server.host : server.address, server.port));
  }
  return log_in(server);
}

Result<> PostgresLink::log_in(const ServerAddress& server) {
  std::array<std::byte, 18> nonce;
  Host::system().secret(nonce);
  KEEL_TRY(const std::string passwords, options_.read_password_file());
  const std::optional<std::string> password = options_.password_for(server, passwords);
  const std::array<StartupParameter, 2> parameters = {{{"application_name", "keel"}, {"client_encoding", "UTF8"}}};
  LoginOptions options{.user = options_.user, .database = options_.database, .parameters = parameters, .nonce = nonce};
  if (password) options.password = *password;
  options.allows_cleartext_password = options_.allows_cleartext_password;
  options.allows_md5_password = options_.allows_md5_password;
  Login login(options);
  out_.clear();
  reader_ = Reader();
  rest_ = {};
  KEEL_TRY_VOID(login.begin(out_));
  bool is_ready = false;
  while (!is_ready) {
    KEEL_TRY_VOID(send());
    KEEL_TRY(const Message message, receive());
    KEEL_TRY(is_ready, login.receive(message, out_));
  }
  return {};
}

Result<> PostgresLink::send() {
  std::string_view bytes = out_.view();
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Error::from_errno("send", errno);
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  out_.clear();
  return {};
}

Result<Message> PostgresLink::receive() {
  while (true) {
    KEEL_TRY(const std::optional<Message> message, reader_.next(rest_));
    if (message) return *message;
    in_.resize(read_bytes);
    ssize_t got = -1;
    do {
      got = ::recv(fd_, in_.data(), in_.size(), 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return Error::from_errno("recv", errno);
    if (got == 0) return Error(Code::Unavailable, "the server has closed the connection");
    rest_ = std::string_view(in_).substr(0, static_cast<std::size_t>(got));
  }
}

template <class F>
Result<> PostgresLink::exchange(F take) {
  KEEL_TRY_VOID(send());
  Result<> result;
  while (true) {
    KEEL_TRY(const Message message, receive());
    if (message.type == MessageType::ReadyForQuery) return result;
    if (message.type == MessageType::ErrorResponse) {
      KEEL_TRY(const ErrorResponse response, ErrorResponse::read(message.body));
      if (result) result = error_of(response);
      if (response.is_fatal()) return result;
    } else if (result) {
      result = take(message);
    }
  }
}

Result<std::vector<PostgresLink::Cells>> PostgresLink::query(std::string_view sql) {
  std::vector<Cells> rows;
  KEEL_TRY_VOID(Encoder(out_).query(sql));
  KEEL_TRY_VOID(exchange([&](const Message& message) -> Result<> {
    if (message.type != MessageType::DataRow) return {};
    KEEL_TRY(DataRow row, DataRow::read(message.body));
    rows.emplace_back();
    for (int i = 0; i < row.columns(); ++i) {
      KEEL_TRY(const Cell cell, row.next());
      rows.back().emplace_back(cell.bytes);
    }
    return {};
  }));
  return rows;
}

Result<PostgresLink::Description> PostgresLink::describe(std::string_view sql) {
  Description description;
  Encoder encoder(out_);
  KEEL_TRY_VOID(encoder.parse("", sql));
  KEEL_TRY_VOID(encoder.describe_statement(""));
  encoder.sync();
  KEEL_TRY_VOID(exchange([&](const Message& message) -> Result<> {
    if (message.type == MessageType::ParameterDescription) {
      KEEL_TRY(const ParameterDescription parameters, ParameterDescription::read(message.body));
      for (int i = 0; i < parameters.count(); ++i) description.parameters.push_back(parameters.type(i));
    } else if (message.type == MessageType::RowDescription) {
      KEEL_TRY(const RowDescription rows, RowDescription::read(message.body));
      for (const ColumnDescription& column : rows) {
        description.columns.push_back({std::string(column.name), column.table, column.number, column.type});
      }
    }
    return {};
  }));
  return description;
}

}  // namespace keel::tool
