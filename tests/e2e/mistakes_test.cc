// What somebody who configures the service gets wrong: one clear line, and the right exit code.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "client.h"
#include "service.h"

#include "keel/base/sanitizers.h"

namespace e2e::mistakes_test {
namespace {

using namespace keel;

class Mistakes : public ::testing::Test {
 protected:
  // Ends with `code`, having written `line` and nothing else to standard error, and nothing to standard output.
  void expect_refused(int code, const std::string& line, std::vector<std::string> flags,
                      std::vector<std::string> environment = {}) {
    Service service(std::move(flags), std::move(environment));
    EXPECT_EQ(service.wait(10_s), code) << line;
    EXPECT_EQ(service.errors(), "fullstack: " + line + "\n");
    EXPECT_EQ(service.output(), "");
  }
  // The same for a mistake that is found when everything is configured.
  void expect_no_start(const std::string& part, std::vector<std::string> more) {
    Service service(folder_, std::move(more));
    EXPECT_EQ(service.wait(10_s), 1) << part;
    EXPECT_TRUE(service.errors().starts_with("fullstack: ")) << service.errors();
    EXPECT_NE(service.errors().find(part), std::string::npos) << service.errors();
    EXPECT_EQ(lines(service.errors()).size(), 1u) << service.errors();
    EXPECT_EQ(service.output(), "");
  }
  std::string config(const std::string& text) {
    folder_.write("service.yaml", text);
    return "--config=" + folder_ / "service.yaml";
  }

  Folder folder_;
};

TEST_F(Mistakes, in_the_file_are_named_with_line_and_key) {
  const std::string file = folder_ / "service.yaml";

  expect_refused(2, file + ":3: network.http.prot: unknown key; did you mean network.http.port?",
                 {config("network:\n  http:\n    prot: 80\n")});
  expect_refused(2, file + ":2: thread.pool_size: \"many\" is not an integer: expected an integer from 0 to 1024",
                 {config("thread:\n  pool_size: many\n")});
  expect_refused(2, file + ":4: network.http.port: 70000 is out of range: expected an integer from 0 to 65535",
                 {config("# where\nnetwork:\n  http:\n    port: 70000\n")});
}

TEST_F(Mistakes, a_file_that_is_named_must_exist) {
  expect_refused(2, folder_ / "none.yaml" + ": cannot be opened: No such file or directory",
                 {"--config", folder_ / "none.yaml"});
  expect_refused(2, "--config: needs a file: --config FILE", {"--config"});
}

TEST_F(Mistakes, on_the_command_line_are_named) {
  expect_refused(2, "--frobnicate: unknown option: --help lists all", {"--frobnicate"});
  expect_refused(2, "command line: unexpected argument \"serve\"", {"serve"});
  expect_refused(2, "--network.http.prot: unknown key; did you mean --network.http.port?", {"--network.http.prot=1"});
  expect_refused(2, "--network.http.zzzzzzzz: unknown key; --help lists all keys", {"--network.http.zzzzzzzz=1"});
}

TEST_F(Mistakes, in_the_environment_are_named) {
  expect_refused(2,
                 "KEEL_NETWORK__HTTP__PORT: network.http.port: \"x\" is not an integer: expected an integer from 0 to "
                 "65535",
                 {}, {"KEEL_NETWORK__HTTP__PORT=x"});
  expect_refused(2, "KEEL_NETWORK__HTTP__PROT: network.http.prot: unknown key; did you mean KEEL_NETWORK__HTTP__PORT?",
                 {}, {"KEEL_NETWORK__HTTP__PROT=1"});
}

TEST_F(Mistakes, all_are_told_at_once_a_line_each) {
  expect_refused(2,
                 "--frob: unknown option: --help lists all\n"
                 "fullstack: --network.http.prot: unknown key; did you mean --network.http.port?",
                 {"--frob", "--network.http.prot=1"});
}

TEST_F(Mistakes, are_found_without_starting_anything) {
  Service good({config("network:\n  http:\n    port: 1234\n"), "--check-config"}, {});
  EXPECT_EQ(good.wait(10_s), 0) << good.errors();
  EXPECT_EQ(good.output(), "the configuration is valid\n");
  expect_refused(2, "--network.http.port: \"x\" is not an integer: expected an integer from 0 to 65535",
                 {"--check-config", "--network.http.port=x"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "app.db"));
}

TEST_F(Mistakes, help_and_the_effective_configuration_are_printed) {
  Service help({"--help"}, {});
  EXPECT_EQ(help.wait(10_s), 0);
  EXPECT_EQ(help.errors(), "");
  for (const char* word : {"network.http.port", "KEEL_", "--config", "database.path", "drain_timeout_sec"}) {
    EXPECT_NE(help.output().find(word), std::string::npos) << word;
  }

  Service printed({config("network:\n  http:\n    port: 1234\n"), "--thread.pool_size=3", "--print-config"}, {});
  EXPECT_EQ(printed.wait(10_s), 0);
  EXPECT_EQ(printed.errors(), "");
  const auto says = [&](const std::string& setting, const std::string& origin) {
    for (const std::string& line : lines(printed.output())) {
      if (line.find(setting + " ") != std::string::npos && line.ends_with(" # " + origin)) return true;
    }
    return false;
  };
  EXPECT_TRUE(says("port: 1234", folder_ / "service.yaml" + ":3")) << printed.output();
  EXPECT_TRUE(says("pool_size: 3", "--thread.pool_size")) << printed.output();
  EXPECT_TRUE(says("max_body: 1MiB", "default, reloadable")) << printed.output();

  // What is printed is a configuration.
  Service again({config(printed.output()), "--check-config"}, {});
  EXPECT_EQ(again.wait(10_s), 0) << again.errors();
}

TEST_F(Mistakes, a_port_in_use_is_one_line) {
  Service first(folder_);
  ASSERT_TRUE(first.is_ready()) << first.errors();
  const std::string port = std::to_string(first.address().port());
  const std::string admin = std::to_string(first.admin().port());

  expect_no_start("127.0.0.1:" + port, {"--network.http.port=" + port});
  expect_no_start("127.0.0.1:" + admin, {"--monitoring.metrics.export_port=" + admin});

  EXPECT_EQ(call(first.address(), "GET", "/health").status, 200) << "the first one goes on";
  EXPECT_EQ(first.stop(), 0);
}

// A socket that listens, as another process's does.
class Taken {
 public:
  explicit Taken(const Address& address) : fd_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(::bind(fd_, address.system(), address.system_size()), 0);
    EXPECT_EQ(::listen(fd_, 0), 0);  // The first connection fills the queue.
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&storage), &size), 0);
    port_ = std::to_string(Address::from_system(reinterpret_cast<sockaddr*>(&storage), size).port());
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() { ::close(fd_); }

  const std::string& port() const noexcept { return port_; }

 private:
  int fd_;
  std::string port_;
};

TEST_F(Mistakes, ports_in_use_are_all_told_in_one_start) {
  const Address any = Address::parse("127.0.0.1:0").value();
  const Taken http(any), admin(any), probes(any);
  Service service(folder_, {"--network.http.port=" + http.port(), "--monitoring.metrics.export_port=" + admin.port(),
                            "--monitoring.probes.address=127.0.0.1", "--monitoring.probes.port=" + probes.port()});
  EXPECT_EQ(service.wait(10_s), 1);
  EXPECT_EQ(service.output(), "");
  const std::vector<std::string> said = lines(service.errors());
  ASSERT_EQ(said.size(), 3u) << service.errors();
  const std::string remedy = ": another process listens there: stop it (ss -ltnp shows its name), or change ";
  EXPECT_TRUE(said[0].starts_with("fullstack: admin listener (monitoring.metrics)" + remedy +
                                  "monitoring.metrics.export_port: "))
      << said[0];
  EXPECT_EQ(said[2], "fullstack: listener for probes (monitoring.probes)" + remedy +
                         "monitoring.probes.port: listening on 127.0.0.1:" + probes.port() +
                         ": bind: Address already in use");
  EXPECT_EQ(said[1], "fullstack: network.http" + remedy + "network.http.port: listening on 127.0.0.1:" + http.port() +
                         ": bind: Address already in use");
}

TEST_F(Mistakes, a_port_that_two_listeners_of_the_service_have_is_told_as_such) {
  std::string port;
  {
    port = Taken(Address::parse("127.0.0.1:0").value()).port();
  }

  expect_no_start(
      "network.http: this service itself listens there, for admin listener (monitoring.metrics): change "
      "network.http.port: listening on 0.0.0.0:" +
          port,
      {"--network.http.address=0.0.0.0", "--network.http.port=" + port, "--monitoring.metrics.export_port=" + port});
}

TEST_F(Mistakes, a_unix_socket_in_use_is_one_line_with_the_program_that_finds_its_process) {
  const Taken http(Address::parse("unix:" + folder_ / "http.sock").value());
  const Taken admin(Address::parse("unix:" + folder_ / "admin.sock").value());
  const std::string remedy = ": another process listens there: stop it (ss -lxp shows its name), or change ";

  expect_no_start("network.http" + remedy + "network.http.address: ",
                  {"--network.http.address=unix:" + folder_ / "http.sock"});

  Service service(folder_, {"--network.http.address=unix:" + folder_ / "http.sock",
                            "--monitoring.metrics.export_address=unix:" + folder_ / "admin.sock"});
  EXPECT_EQ(service.wait(10_s), 1);
  const std::vector<std::string> said = lines(service.errors());
  ASSERT_EQ(said.size(), 2u) << service.errors();
  EXPECT_NE(said[0].find(remedy + "monitoring.metrics.export_address: "), std::string::npos) << said[0];
  EXPECT_NE(said[1].find(remedy + "network.http.address: "), std::string::npos) << said[1];
}

TEST_F(Mistakes, the_version_is_printed) {
  Service service({"--version"}, {});
  EXPECT_EQ(service.wait(10_s), 0);
  EXPECT_EQ(service.errors(), "");
  EXPECT_TRUE(service.output().starts_with("fullstack (Keel ")) << service.output();
}

TEST_F(Mistakes, a_data_base_that_cannot_be_used_is_one_line) {
  folder_.write("file", "not a data base, and long enough to be looked at by somebody who expects a header\n");

  expect_no_start("database.path: creating the folder '" + folder_ / "file" + "'",
                  {"--database.path=" + folder_ / "file" + "/app.db"});
  expect_no_start("database.path: " + folder_.path() + ": unable to open database file: Is a directory",
                  {"--database.path=" + folder_.path()});
  expect_no_start("database.path: " + folder_ / "file" + ": file is not a database",
                  {"--database.path=" + folder_ / "file"});
}

// Whatever part of the start meets it.
TEST_F(Mistakes, a_limit_of_descriptors_that_is_too_low_is_said_with_its_remedy) {
  if (KEEL_SANITIZED)
    GTEST_SKIP() << "UBSan opens a pipe to check an object's type, and calls it broken when it cannot";
  Service service(folder_, {}, [] {
    const rlimit limit{8, 8};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  });

  EXPECT_EQ(service.wait(10_s), 1);
  EXPECT_TRUE(
      service.errors().contains("fullstack: the process has reached its limit of open files, 8 (RLIMIT_NOFILE): raise "
                                "LimitNOFILE of its unit, or "
                                "ulimit -n: "))
      << service.errors();
  EXPECT_TRUE(service.errors().contains("Too many open files")) << service.errors();
}

TEST_F(Mistakes, a_log_file_that_cannot_be_written_is_one_line) {
  expect_no_start(folder_.path(), {"--logging.sinks=[{type: file, path: '" + folder_.path() + "'}]"});
}

TEST_F(Mistakes, a_broken_migration_is_named_with_its_line) {
  std::filesystem::create_directory(folder_ / "migrations");
  folder_.write("migrations/0001_good.sql", "create table a (id integer primary key);\n");
  folder_.write("migrations/0002_broken.sql", "-- Rows.\ncreate table b (\n  id integer primary kay\n);\n");

  expect_no_start("0002_broken.sql:3: near \"kay\"", {"--database.migrations=" + folder_ / "migrations"});
  expect_no_start(folder_ / "none", {"--database.migrations=" + folder_ / "none"});
}

TEST_F(Mistakes, an_address_that_is_not_one_is_named) {
  Service service(folder_, {"--network.http.address=localhost.example"});
  EXPECT_EQ(service.wait(10_s), 2);
  EXPECT_EQ(
      service.errors(),
      "fullstack: --network.http.address: address: 'localhost.example' is not an IPv4 or IPv6 address (host names "
      "are not resolved here)\n");
}

}  // namespace
}  // namespace e2e::mistakes_test
