// keel/db/postgres/testing/real_server.h — for tests: a PostgreSQL server of Debian in a folder of its own.
//
//   if (!RealServer::is_installed()) GTEST_SKIP() << RealServer::missing;
//   RealServer server;                                   // initdb, then the server
//   auto database = Database::make({.url = server.url()});
//   server.kill();                                       // as a crash of the machine does, but for its disk
//   server.start();
//
// It listens on a Unix socket in its folder, and on TCP at 127.0.0.1 where the options say so. The user `keel` may do
// everything and needs no password there. It runs as another user than root, without fsync, and ends with the process
// that made it. What it says is in log().
//
// Threads: one at a time.  Cost: initdb takes about a second.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "keel/db/testing/folder.h"

namespace keel::db::postgres::testing {

// The settings of the server that is started.
struct RealServerOptions {
  // Of postgresql.conf: "max_connections=20".
  std::vector<std::string> settings = {};
  // Of pg_hba.conf, before "local all keel trust": "host all all 127.0.0.1/32 scram-sha-256".
  std::vector<std::string> access = {};
  bool has_tcp = false;
  // It recovers for good, from what initdb has made: it is read as a standby is, and never follows another server.
  bool is_standby = false;
  // In PEM; with them it speaks TLS.
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

  // After stop() or kill(): waits until it takes connections.
  void start();
  // Ends sessions and transactions, and writes everything down.
  void stop();
  // Ends it without any of that.
  void kill();
  // It does not run until resume(): a server that is there and does not answer.
  void suspend();
  void resume();

  // The user `keel` by the Unix socket.
  std::string url() const;
  // The same with `rest` at the end: "&sslmode=disable".
  std::string url(const std::string& rest) const { return url() + rest; }
  const std::string& folder() const noexcept { return folder_.path(); }
  std::uint16_t port() const noexcept { return port_; }
  std::string log() const;

 private:
  void run(const std::vector<std::string>& command) const;
  pid_t begin(const std::vector<std::string>& command, const std::string& output) const;
  void end(int signal);
  void signal_all(int signal) const;

  db::testing::Folder folder_;
  const RealServerOptions options_;
  std::string programs_;
  std::uint16_t port_ = 5432;
  pid_t process_ = -1;
};

}  // namespace keel::db::postgres::testing
