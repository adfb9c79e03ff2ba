// dev/generations.h — the successive processes of a service: the process that serves, its successor, and the processes
// that drain.
//
//   KEEL_TRY(auto processes, Generations::make());
//   KEEL_TRY_VOID(processes.start({.words = {"build/dev/shop"}}, now));
//   …SIGCHLD, or fd() is readable…
//   for (const Event& event : processes.events(now)) …
//
// A successor is started while the old process still serves. The successor takes over the listening sockets (through
// the setting network.handover.path of keel::app, which Generations sets in the environment), and reports that it is
// ready (NOTIFY_SOCKET); then the old process drains and ends. When a successor ends before it is ready, or takes
// longer than start_timeout, the old process continues.
//
// Errors:    start() fails if the program cannot be started; make() fails if the folder for its sockets cannot be
//            created in TMPDIR.
// Threads:   one.
// Ownership: Generations owns the folder of the sockets, and removes it when it is destroyed.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "dev/child.h"
#include "dev/notify_socket.h"
#include "keel/base/result.h"
#include "keel/base/time.h"

namespace keel::dev {

class Generations {
 public:
  static constexpr Duration start_timeout = 60_s;

  struct Event {
    enum class Kind {
      // It serves. `status` is the status that the process reports, and `follows` says whether another process served
      // before this process.
      Ready,
      NotReady,  // The process ended before it was ready, with `code`.
      TooSlow,   // The process was not ready within start_timeout, and was killed.
      Ended,     // The serving process ended with `code`, but not because a successor took over.
    };
    Kind kind;
    pid_t process = 0;
    int code = 0;
    Duration took = {};
    bool follows = false;
    std::string status = {};
  };

  static Result<Generations> make();
  Generations(Generations&&) noexcept;
  ~Generations();

  // A descriptor that becomes readable when a process sends a message.
  int fd() const noexcept { return socket_.fd(); }
  // Starts a process that will serve; an earlier process that is not ready yet is killed. Adds variables to the
  // environment of `launch`.
  Result<> start(Launch launch, Instant now);
  std::vector<Event> events(Instant now);
  // The time at which events() must be called even if no process has sent a message.
  std::optional<Instant> deadline() const noexcept;

  // The id of the process that serves; 0 if no process serves.
  pid_t serving() const noexcept { return serving_ ? serving_->pid() : 0; }
  bool is_starting() const noexcept { return successor_.has_value(); }
  // The number of processes that serve, start or drain.
  std::size_t count() const noexcept { return leaving_.size() + (serving_ ? 1 : 0) + (successor_ ? 1 : 0); }
  bool is_empty() const noexcept { return count() == 0; }
  // Sends the signal to all processes.
  void signal(int number) const noexcept;

 private:
  struct Starting {
    Child child;
    Instant began;
  };
  Generations(std::string folder, NotifySocket socket) : folder_(std::move(folder)), socket_(std::move(socket)) {}
  void hear(Instant now, std::vector<Event>& events);

  std::string folder_;
  NotifySocket socket_;
  std::optional<Child> serving_;
  pid_t left_ = 0;  // The process that served before and ended with exit code 0 while its successor was not ready yet.
  std::optional<Starting> successor_;
  std::vector<Child> leaving_;
};

}  // namespace keel::dev
