// keel/app/listeners.h — listening sockets that this process did not bind: a service manager's, or a predecessor's.
//
//   KEEL_TRY(Listeners activated, Listeners::from_environment());      // before any thread
//   options.inherited = activated.find("http");
//   …server.start(runtime)…                                            // duplicates them
//
// Each socket has the name of the server that it is for: "http", "https", "admin", "probes" or "messages".
//
// Ownership: owns its descriptors and closes them when it is destroyed; duplicate one that you need for longer.
// Source:    sd_listen_fds(3).

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "keel/base/result.h"
#include "keel/io/address.h"

namespace keel::app {

class Listeners {
 public:
  struct Entry {
    std::string name;
    int fd = -1;
    bool kept = false;  // The service manager keeps it open too, so it listens even when no process serves it.
  };

  Listeners() = default;
  Listeners(Listeners&& other) noexcept : entries_(std::move(other.entries_)) { other.entries_.clear(); }
  Listeners& operator=(Listeners&& other) noexcept;
  ~Listeners() { clear(); }

  // The sockets that the service manager passed with LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES. The variables are
  // removed from the environment, so that a child process does not mistake the sockets for its own; the descriptors
  // become close-on-exec. Returns no sockets when LISTEN_PID is another process. The known names are "http", "https",
  // "admin", "probes" and "messages"; when no socket has one of them (systemd's default is the name of the unit), all
  // sockets are "http". InvalidArgument names the invalid variable or descriptor. Call it while the process has only
  // one thread.
  static Result<Listeners> from_environment();

  // Takes ownership of `fd`, even if the call fails: InvalidArgument when it is not a TCP or Unix stream socket that
  // listens.
  Result<> add(std::string name, int fd, bool kept);

  // The descriptors with the name `name`; they stay owned by this object.
  std::vector<int> find(std::string_view name) const;
  // The sockets with the name `name` that listen at `at` (with port 0: at any port), and those that a service manager
  // keeps, whatever their address.
  std::vector<int> find(std::string_view name, const Address& at) const;
  // Whether the service manager keeps the sockets of `name` open.
  bool is_kept(std::string_view name) const noexcept;

  const std::vector<Entry>& entries() const noexcept { return entries_; }
  void clear() noexcept;

 private:
  std::vector<Entry> entries_;
};

}  // namespace keel::app
