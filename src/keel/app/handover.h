// keel/app/handover.h — a restart during which no connection is rejected: a process passes its listening sockets to its
// successor.
//
// The running process listens on a Unix socket. A successor connects to the Unix socket of the running process, gets
// every listening socket, serves on these sockets and reports that it is ready; then the running process stops
// accepting and drains. The sockets are never closed or bound again: a waiting connection is accepted by one of the two
// processes, even if the other process has ended. When the successor ends before it is ready, the running process
// continues as if nothing had happened; when the running process ends first, the successor already has the sockets.
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
// Each packet (of the SOCK_SEQPACKET socket) is one message. Each side accepts only a peer that runs as the same user
// or as root.
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

// The running process's side of a hand-over.
//
// Threads: call make(), publish() and end() on one thread; a separate thread serves successors.
class Handover {
 public:
  enum class State : std::uint8_t {
    Kept,   // No other process has the listening sockets.
    Given,  // A successor has the sockets, but is not ready yet.
    Taken,  // A successor is ready.
  };

  // Prepares a socket in the folder of `path`; only the same user may connect to it. `taken` is called once, on another
  // thread, when a successor is ready. Errors: the folder does not exist or is not writable, or the path is too long.
  static Result<std::unique_ptr<Handover>> make(std::string path, std::string service, Function<void()> taken);
  ~Handover();  // Calls end().
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  // After this call, a successor finds this process at the path, instead of the previous process. Each successor gets
  // `listeners` and a secret, which is the text that `secret` returns: at most 16 KiB; an empty secret is not sent.
  // `secret` is called for each successor on the thread that serves successors.
  Result<> publish(Listeners listeners, Function<std::string()> secret = {});
  // Stops serving successors, and closes this object's descriptors of the listening sockets. Removes the path unless it
  // belongs to a successor. Idempotent.
  State end() noexcept;
  // The process id of the successor, when the state is Taken.
  pid_t successor() const noexcept;

 private:
  struct Server;
  explicit Handover(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

// The starting process's side of a hand-over.
class Predecessor {
 public:
  // Returns the process that serves `path`, with its listening sockets; empty when no process serves it, or when that
  // process ended during the call. Errors: Unavailable if there is no response within 5 s. FailedPrecondition if that
  // process rejects this process (the two are different services or different versions, or another successor came
  // first), or if the socket does not belong to a Handover. PermissionDenied if the socket belongs to a process of
  // another user.
  static Result<std::optional<Predecessor>> find(const std::string& path, const std::string& service);
  Predecessor(Predecessor&& other) noexcept;
  Predecessor& operator=(Predecessor&&) = delete;
  ~Predecessor();  // The running process continues to serve unless leave() was called.

  const Listeners& listeners() const noexcept { return listeners_; }
  // The secret that the predecessor sent; empty: the predecessor sent no secret. The destructor wipes the secret from
  // memory.
  const std::string& secret() const noexcept { return secret_; }
  pid_t process() const noexcept { return process_; }

  // Reports that this process is ready; the predecessor then drains and ends. Returns true when the predecessor
  // confirms within 5 s; false when the predecessor has ended or does not respond: in that case no other process has
  // the sockets.
  bool leave() noexcept;

 private:
  Predecessor(int fd, pid_t process) : fd_(fd), process_(process) {}
  int fd_;
  pid_t process_;
  Listeners listeners_;
  std::string secret_;
};

}  // namespace keel::app
