// keel/app/listeners.h — listening sockets that another process bound: a service manager or a predecessor.
//
//   KEEL_TRY(Listeners activated, Listeners::from_environment());      // before any thread
//   options.inherited = activated.find("http");
//   …server.start(runtime)…                                            // duplicates them
//
// Each socket has the name of the server that it is for: "http", "https", "admin", "probes" or "messages".
//
// Ownership: a Listeners object owns its descriptors and closes them when it is destroyed; duplicate a descriptor that
//            you need for longer.
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
    // The service manager keeps the socket open too, so the socket listens even when no process serves it.
    bool kept = false;
  };

  Listeners() = default;
  Listeners(Listeners&& other) noexcept : entries_(std::move(other.entries_)) { other.entries_.clear(); }
  Listeners& operator=(Listeners&& other) noexcept;
  ~Listeners() { clear(); }

  // Returns the sockets that the service manager passed with LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES. The variables
  // are removed from the environment, because they are meant for this process and not for its child processes; the
  // descriptors become close-on-exec. Returns no sockets if LISTEN_PID names another process. The known names are
  // "http", "https", "admin", "probes" and "messages"; if no socket has a known name (systemd's default is the name of
  // the unit), all sockets count as "http". InvalidArgument names the invalid variable or descriptor. Call this
  // function while the process has only one thread.
  static Result<Listeners> from_environment();

  // Takes ownership of `fd`, even if the call fails: InvalidArgument if `fd` is not a TCP or Unix stream socket that
  // listens.
  Result<> add(std::string name, int fd, bool kept);

  // The descriptors of the sockets named `name`; this object continues to own them.
  std::vector<int> find(std::string_view name) const;
  // The sockets named `name` that listen at `at` (with port 0: at any port), and all sockets of that name that a
  // service manager keeps open, which may listen at any address.
  std::vector<int> find(std::string_view name, const Address& at) const;
  // Whether the service manager keeps the sockets named `name` open.
  bool is_kept(std::string_view name) const noexcept;

  const std::vector<Entry>& entries() const noexcept { return entries_; }
  void clear() noexcept;

 private:
  std::vector<Entry> entries_;
};

}  // namespace keel::app
