// keel/app/handover.h — a restart that rejects no connection: listening sockets are passed from a process to its
// successor.
//
// The running process listens on a Unix socket. A successor connects there, gets every listening socket, serves on them
// and says so; then the running one stops accepting and drains. The sockets are never closed and never bound anew: a
// waiting connection is accepted by whichever process is there. When the successor ends before it is ready, the running
// process continues as if nothing had happened; when the running one ends first, the successor has what it needs.
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
// One message per packet (SOCK_SEQPACKET). Both sides speak only with processes of their own user, or root.
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

// The running process's side.
//
// Threads: made, published and ended on one thread. It serves successors on a thread of its own.
class Handover {
 public:
  enum class State : std::uint8_t {
    Kept,   // No other process has the listening sockets.
    Given,  // A successor has them and is not ready.
    Taken,  // A successor is ready.
  };

  // Prepares a socket beside `path`, which only this user may connect to. `taken` is called on another thread when a
  // successor is ready, once. Errors: the folder is not there, or may not be written to; the path is too long.
  static Result<std::unique_ptr<Handover>> make(std::string path, std::string service, Function<void()> taken);
  ~Handover();  // end()
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  // From now on successors find this process at the path, and no longer the one that was there before. They get
  // `listeners`, and the result of `secret`, which is called on the thread for each of them: at most 16 KiB; empty:
  // nothing.
  Result<> publish(Listeners listeners, Function<std::string()> secret = {});
  // No successor is served any more, and our descriptors of the listening sockets are closed. The path is removed
  // unless it is a successor's. Idempotent.
  State end() noexcept;
  // The successor's process, when the state is Taken.
  pid_t successor() const noexcept;

 private:
  struct Server;
  explicit Handover(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

// The starting process's side.
class Predecessor {
 public:
  // The process at `path`, and its listening sockets; nothing when there is none, or when it ended during the call.
  // Errors: Unavailable (no response within 5 s); FailedPrecondition (it rejects and says why: another service, another
  // version, a successor that came first; or what is there is no Handover); PermissionDenied.
  static Result<std::optional<Predecessor>> find(const std::string& path, const std::string& service);
  Predecessor(Predecessor&& other) noexcept;
  Predecessor& operator=(Predecessor&&) = delete;
  ~Predecessor();  // Without leave(), the running process continues.

  const Listeners& listeners() const noexcept { return listeners_; }
  // The secret that the predecessor's publish() had for this process; empty: none. Wiped at the end.
  const std::string& secret() const noexcept { return secret_; }
  pid_t process() const noexcept { return process_; }

  // Says that we are ready: it drains and ends. True when it confirms that within 5 s; false when it has ended or does
  // not respond: then no other process has the sockets.
  bool leave() noexcept;

 private:
  Predecessor(int fd, pid_t process) : fd_(fd), process_(process) {}
  int fd_;
  pid_t process_;
  Listeners listeners_;
  std::string secret_;
};

}  // namespace keel::app
