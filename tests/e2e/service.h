// The real program in a process of its own: started with a folder of its own, killed and reaped at the end.
//
//   e2e::Service service(folder, {"--network.engine=epoll"});
//   ASSERT_TRUE(service.is_ready()) << service.errors();
//   e2e::call(service.address(), "GET", "/health");
//   service.signal(SIGTERM);
//   EXPECT_EQ(service.wait(10_s), 0);

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/sanitizers.h"
#include "keel/base/time.h"
#include "keel/db/testing/folder.h"
#include "keel/io/address.h"

namespace e2e {

using keel::db::testing::Folder;

// Flags for a service whose files are in `folder`, on ports of the system's choice, with two workers.
std::vector<std::string> usual_flags(const Folder& folder);

struct Program {
  explicit Program(std::string at) : path(std::move(at)) {}
  std::string path;
};

class Service {
 public:
  // Starts it with usual_flags() and `more`, and waits until it says that it is ready or ends. `in_child` runs in the
  // new process before the program and may make system calls only.
  Service(const Folder& folder, std::vector<std::string> more = {}, void (*in_child)() = nullptr);
  // The same with exactly these flags, and `environment` added.
  Service(std::vector<std::string> flags, std::vector<std::string> environment, void (*in_child)() = nullptr);
  // The same, and `sockets` are passed to it as a service manager does, with LISTEN_FDNAMES in `environment`.
  Service(std::vector<std::string> flags, std::vector<std::string> environment, std::vector<int> sockets);
  // Another program than the full-stack service, with exactly these flags.
  Service(std::vector<std::string> flags, const Program& program);
  ~Service();  // SIGKILL, when it still runs.
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  bool is_ready() const noexcept { return address_.family() != AF_UNSPEC; }
  const keel::Address& address() const noexcept { return address_; }
  const keel::Address& admin() const noexcept { return admin_; }
  // What it has written to standard output until it was ready, or until its end; and to standard error.
  const std::string& output() const noexcept { return output_; }
  std::string errors() const;
  pid_t pid() const noexcept { return pid_; }

  void signal(int number) const;
  // The exit code, 128 + the number of the signal that ended it, or nothing when it still runs after `timeout`.
  std::optional<int> wait(keel::Duration timeout);
  // SIGTERM and wait().
  std::optional<int> stop();

 private:
  void start(const Program& program, const std::vector<std::string>& flags, std::vector<std::string> environment,
             void (*in_child)(), const std::vector<int>& sockets);
  void read_output();
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::optional<int> ended_;
  std::string output_;
  keel::Address address_;
  keel::Address admin_;
};

// Whether this machine lets us have `engine` ("uring", "epoll").
bool has_engine(const std::string& engine);

// The whole file; "" when there is none.
std::string read_file(const std::string& path);
std::vector<std::string> lines(const std::string& text);

}  // namespace e2e
