#include "keel/db/postgres/testing/real_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "keel/base/check.h"
#include "keel/base/host.h"

namespace keel::db::postgres::testing {
namespace {

namespace fs = std::filesystem;

// The folder of PostgreSQL's programs, such as "/usr/lib/postgresql/15/bin"; empty if PostgreSQL is not installed.
std::string find_programs() {
  std::vector<std::string> found;
  std::error_code none;
  for (const fs::directory_entry& version : fs::directory_iterator("/usr/lib/postgresql", none)) {
    if (fs::exists(version.path() / "bin" / "initdb")) found.push_back((version.path() / "bin").string());
  }
  std::sort(found.begin(), found.end());
  return found.empty() ? std::string() : found.back();
}

// The user for the server's processes if the test runs as root, because the server refuses to run as root.
const passwd* other_user() {
  if (geteuid() != 0) return nullptr;
  const passwd* user = getpwnam("postgres");
  return user != nullptr ? user : getpwnam("nobody");
}

std::string read_all(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::uint16_t free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  KEEL_CHECK(bind(fd, reinterpret_cast<const sockaddr*>(&at), size) == 0, "there must be a free port");
  getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  close(fd);
  return ntohs(at.sin_port);
}

}  // namespace

bool RealServer::is_installed() { return !find_programs().empty(); }

RealServer::RealServer(const RealServerOptions& options) : options_(options), programs_(find_programs()) {
  if (options_.has_tcp) port_ = free_port();
  const std::string data = folder_ / "data";
  const passwd* const user = other_user();
  if (user != nullptr) {
    KEEL_CHECK(chown(folder_.path().c_str(), user->pw_uid, user->pw_gid) == 0,
               "root must be able to change the owner of a folder");
  }
  run({programs_ + "/initdb", "-D", data, "-U", "keel", "-E", "UTF8", "--locale=C", "--no-sync", "--auth=trust"});
  {
    std::ofstream settings(data + "/postgresql.conf", std::ios::app);
    settings << "unix_socket_directories = '" << folder_.path() << "'\nfsync = off\nshared_buffers = 16MB\n"
             << "listen_addresses = '" << (options_.has_tcp ? "127.0.0.1" : "") << "'\nport = " << port_ << '\n'
             << "log_min_messages = warning\nmax_wal_size = 64MB\n";
    if (!options_.certificate.empty()) settings << "ssl = on\n";
    for (const std::string& line : options_.settings) settings << line << '\n';
    std::ofstream access(data + "/pg_hba.conf", std::ios::trunc);
    for (const std::string& line : options_.access) access << line << '\n';
    access << "local all keel trust\nhost all keel 127.0.0.1/32 trust\n";
  }
  if (!options_.certificate.empty()) {
    for (const auto& [name, text] : {std::pair{"server.crt", options_.certificate}, {"server.key", options_.key}}) {
      const std::string file = data + "/" + name;
      std::ofstream(file) << text;
      KEEL_CHECK(chmod(file.c_str(), 0600) == 0, "a test must be able to change the mode of its own file");
      if (user != nullptr) {
        KEEL_CHECK(chown(file.c_str(), user->pw_uid, user->pw_gid) == 0,
                   "root must be able to change the owner of a file");
      }
    }
  }
  if (options_.is_standby) std::ofstream(data + "/standby.signal");
  start();
}

RealServer::~RealServer() {
  if (process_ > 0) kill();
}

pid_t RealServer::begin(const std::vector<std::string>& command, const std::string& output) const {
  std::vector<std::string> words;
  if (const passwd* const user = other_user()) {
    words = {"setpriv", "--reuid=" + std::to_string(user->pw_uid), "--regid=" + std::to_string(user->pw_gid),
             "--clear-groups", "--pdeathsig=QUIT"};
  }
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string folder = folder_.path();
  const pid_t child = fork();
  KEEL_CHECK(child >= 0, "a test must be able to start a process");
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  const int log = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  dup2(log, 1);
  dup2(log, 2);
  setpgid(0, 0);
  if (chdir(folder.c_str()) == 0) execvp(arguments[0], arguments.data());
  _exit(127);
}

void RealServer::run(const std::vector<std::string>& command) const {
  const std::string output = folder_ / "command.log";
  const pid_t child = begin(command, output);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::fputs(read_all(output).c_str(), stderr);
  KEEL_CHECK(status == 0, "every program of PostgreSQL that a test runs must succeed");
}

void RealServer::start() {
  KEEL_CHECK(process_ < 0, "the server can be started only once");
  process_ = begin({programs_ + "/postgres", "-D", folder_ / "data"}, folder_ / "server.log");
  const std::string state = folder_ / "data/postmaster.pid";
  for (int i = 0; i < 6000; ++i) {
    if (read_all(state).find("ready") != std::string::npos) return;
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) == process_) break;
    Host::system().sleep(5_ms);
  }
  std::fputs(log().c_str(), stderr);
  KEEL_CHECK(false, "the PostgreSQL server must start");
}

void RealServer::end(int signal) {
  ::kill(process_, SIGCONT);
  ::kill(process_, signal);
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
}
void RealServer::stop() { end(SIGINT); }
void RealServer::kill() {
  end(SIGQUIT);
  std::error_code none;
  fs::remove(folder_ / "data/postmaster.pid", none);
}

// Sends a signal to the server and to the processes of its sessions.
void RealServer::signal_all(int signal) const {
  const std::string id = std::to_string(process_);
  std::istringstream children(read_all("/proc/" + id + "/task/" + id + "/children"));
  ::kill(process_, signal);
  for (pid_t child = 0; children >> child;) ::kill(child, signal);
}
void RealServer::suspend() { signal_all(SIGSTOP); }
void RealServer::resume() { signal_all(SIGCONT); }

std::string RealServer::url() const { return url_of("postgres"); }

std::string RealServer::url_of(const std::string& database) const {
  return "postgres:///" + database + "?host=" + folder_.path() + "&port=" + std::to_string(port_) + "&user=keel";
}

std::string RealServer::make_database() {
  const std::string name = "made" + std::to_string(++databases_);
  run({programs_ + "/createdb", "--host=" + folder_.path(), "--port=" + std::to_string(port_), "--username=keel",
       name});
  return url_of(name);
}

std::string RealServer::log() const { return read_all(folder_ / "server.log"); }

}  // namespace keel::db::postgres::testing
