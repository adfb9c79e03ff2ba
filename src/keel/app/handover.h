// keel/app/handover.h — a restart that rejects no connection: listening sockets are passed from a process to its
// successor.
//
// The running process listens on a Unix socket. A successor connects there, gets every listening socket, serves on them
// and reports that it is ready; then the running process stops accepting and drains. The sockets are never closed or
// bound again: a waiting connection is accepted by whichever process is running. When the successor ends before it is
// ready, the running process continues as if nothing had happened; when the running process ends first, the successor
// already has the sockets.
//
//   successor                                         predecessor
//     Predecessor::find() ── "keel-handover 1 NAME" ──▶
//                         ◀── "listeners N", then N times "listener http" with a descriptor ──
//                             (with "listeners N" there is a pipe with the secret, where there is one)
//     …serves…
//     leave()             ── "ready" ─────────────────▶ taken(): stop accepting, drain, exit
//                         ◀── "taken" ──
//     Handover::publish()
//
// Each packet (SOCK_SEQPACKET) is one message. Each side accepts only a peer that runs as the same user or as root.
//
// Source: unix(7): SCM_RIGHTS, SO_PEERCRED.

#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "keel/app/listeners.h"
#include "keel/base/function.h"
#include "keel/base/result.h"

namespace keel::app {

// The side of the running process.
//
// Threads: make(), publish() and end() on one thread; a separate thread serves successors.
class Handover {
 public:
  enum class State : std::uint8_t {
    Kept,   // No other process has the listening sockets.
    Given,  // A successor has them and is not ready.
    Taken,  // A successor is ready.
  };

  // Prepares a socket in the folder of `path`; only the same user may connect to it. `taken` is called once, on another
  // thread, when a successor is ready. Errors: the folder does not exist or is not writable, or the path is too long.
  static Result<std::unique_ptr<Handover>> make(std::string path, std::string service, Function<void()> taken);
  ~Handover();  // Calls end().
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  // From now on successors find this process at the path, instead of the previous one. Each successor gets `listeners`
  // and a secret, the text that `secret` returns: at most 16 KiB; an empty one is not sent. `secret` is called for each
  // successor on the thread that serves successors.
  Result<> publish(Listeners listeners, Function<std::string()> secret = {});
  // Stops serving successors, and closes this object's descriptors of the listening sockets. Removes the path unless it
  // belongs to a successor. Idempotent.
  State end() noexcept;
  // The successor's process, when the state is Taken.
  pid_t successor() const noexcept;

 private:
  struct Server;
  explicit Handover(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

// The side of the starting process.
class Predecessor {
 public:
  // Returns the process that serves `path`, with its listening sockets; empty when there is none, or when it ended
  // during the call. Errors: Unavailable (no response within 5 s); FailedPrecondition (that process rejects this one
  // because it is another service or another version, or because another successor came first; or the socket does not
  // belong to a Handover); PermissionDenied.
  static Result<std::optional<Predecessor>> find(const std::string& path, const std::string& service);
  Predecessor(Predecessor&& other) noexcept;
  Predecessor& operator=(Predecessor&&) = delete;
  ~Predecessor();  // The running process continues unless leave() was called.

  const Listeners& listeners() const noexcept { return listeners_; }
  // The secret that the predecessor sent; empty: none. It is wiped from memory by the destructor.
  const std::string& secret() const noexcept { return secret_; }
  pid_t process() const noexcept { return process_; }

  // Reports that this process is ready; the predecessor then drains and ends. True when the predecessor confirms within
  // 5 s; false when it has ended or does not respond: then no other process has the sockets.
  bool leave() noexcept;

 private:
  Predecessor(int fd, pid_t process) : fd_(fd), process_(process) {}
  int fd_;
  pid_t process_;
  Listeners listeners_;
  std::string secret_;
};

}  // namespace keel::app
