// keel/db/postgres/testing/real_server.h — for tests: runs Debian's PostgreSQL server in a folder of its own.
//
//   if (!RealServer::is_installed()) GTEST_SKIP() << RealServer::missing;
//   RealServer server;                                   // initdb, then the server
//   auto database = Database::make({.url = server.url()});
//   server.kill();                                       // like a crash of the machine that keeps the disk
//   server.start();
//
// The server listens on a Unix socket in its folder, and with `has_tcp` also on TCP at 127.0.0.1. On this server, the
// user `keel` may do everything and needs no password. The server runs as a user other than root, without fsync, and
// ends when the process that started it ends. log() returns its log.
//
// Threads: one at a time.
// Cost:    initdb takes about a second for each RealServer.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "keel/db/testing/folder.h"

namespace keel::db::postgres::testing {

// The settings with which a server is started.
struct RealServerOptions {
  // Additional lines for postgresql.conf, such as "max_connections=20".
  std::vector<std::string> settings = {};
  // Additional lines for pg_hba.conf, which are placed before "local all keel trust": "host all all 127.0.0.1/32
  // scram-sha-256".
  std::vector<std::string> access = {};
  bool has_tcp = false;
  // The server stays in recovery from the files of initdb, so it is read-only like a standby, but follows no other
  // server.
  bool is_standby = false;
  // The server's certificate and key in PEM; if they are set, the server supports TLS.
  std::string certificate = {};
  std::string key = {};
};

class RealServer {
 public:
  static constexpr const char* missing = "PostgreSQL is not installed: scripts/setup test installs it";
  static bool is_installed();

  explicit RealServer(const RealServerOptions& options = {});
  RealServer(const RealServer&) = delete;
  RealServer& operator=(const RealServer&) = delete;
  ~RealServer();  // kill()

  // Starts the server again after stop() or kill(), and waits until it accepts connections.
  void start();
  // Shuts the server down cleanly: ends sessions and transactions, and writes all data to the disk.
  void stop();
  // Ends the server immediately, as a crash would.
  void kill();
  // Pauses the processes of the server until resume(): connections are accepted, but the server does not respond.
  void suspend();
  void resume();

  // The URL of the database `postgres` for the user `keel`, through the Unix socket.
  std::string url() const;
  // The URL with `rest` appended, for example "&sslmode=disable".
  std::string url(const std::string& rest) const { return url() + rest; }
  // Creates an empty database and returns its URL. Blocks.
  std::string make_database();
  const std::string& folder() const noexcept { return folder_.path(); }
  std::uint16_t port() const noexcept { return port_; }
  std::string log() const;

 private:
  std::string url_of(const std::string& database) const;
  void run(const std::vector<std::string>& command) const;
  pid_t begin(const std::vector<std::string>& command, const std::string& output) const;
  void end(int signal);
  void signal_all(int signal) const;

  db::testing::Folder folder_;
  const RealServerOptions options_;
  std::string programs_;
  std::uint16_t port_ = 5432;
  pid_t process_ = -1;
  int databases_ = 0;
};

}  // namespace keel::db::postgres::testing
