// The conformance server in a process of its own.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "keel/base/time.h"

namespace conformance {

class Process {
 public:
  // Starts it on ports of the system's choice and waits until it listens. `data` is its file. With a file of a
  // certificate it speaks TLS.
  Process(const std::string& engine, const std::string& data, const std::string& certificate = "");
  ~Process();  // SIGKILL, when it still runs.
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  bool is_ready() const noexcept { return port_ != 0; }
  std::uint16_t port() const noexcept { return port_; }
  std::uint16_t describe_port() const noexcept { return describe_port_; }
  void signal(int number) const;
  // The exit code, 128 + the number of the signal that ended it, or nothing when it still runs after `timeout`.
  std::optional<int> wait(keel::Duration timeout);

 private:
  void read_ports(int from);
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
  std::uint16_t describe_port_ = 0;
  std::optional<int> ended_;
};

}  // namespace conformance
