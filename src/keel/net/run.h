// keel/net/run.h — a program of tasks: runs them until they end, or a signal ends them.
//
//   Task<> serve(Address at);
//   int main() { return run(serve(*Address::parse("0.0.0.0:7000"))) ? 0 : 1; }
//
// The same on several workers, each with a loop on a thread of its own and nothing shared:
//
//   Task<> serve(Worker& worker) {
//     Listener listener = co_await worker.listen(*Address::parse("0.0.0.0:7000"));
//     Scope connections;
//     while (auto peer = co_await until(worker.stopping(), listener.accept())) {
//       connections.spawn(talk(*std::move(peer)), OnError::Ignore);
//     }
//     co_await connections.join();                 // the program ends: those that are there have 10 s
//   }
//   int main() { return run({.workers = 4, .drain = 10_s}, &serve) ? 0 : 1; }
//
// SIGINT and SIGTERM stop the tasks: what they wait for ends with Cancelled, and so do they; that counts as success. A
// second one has the effect that it had before the call, usually the immediate end of the process without its drain,
// however soon it comes after the first. timeout(1) sends two, to its child and to its group: with --foreground it
// sends one. A service that is more than that (logs, configuration, health) is an app::App, which takes a second signal
// within 200 ms for the first.
//
// Result:   the error of a task that was not stopped. Unsupported when the engine is not to be had, ResourceExhausted
//           when there are no descriptors or threads.
// Threads:  called where no loop runs, and waits there; one run() in a process at a time.
// Lifetime: what the tasks refer to outlives the call; afterwards nothing of them is left.

#pragma once

#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/io/engine.h"
#include "keel/task/event.h"
#include "keel/task/task.h"

namespace keel {

class Listener;
namespace io {
struct Stall;
}
namespace metrics {
class Registry;
}

// One task on a loop of the calling thread.
Result<> run(Task<>&& main, io::EngineKind engine = io::EngineKind::Auto);

// Workers, engine and end of a program.
struct RunOptions {
  int workers = 1;  // Threads with a loop each; 0: one per core this process may run on.
  io::EngineKind engine = io::EngineKind::Auto;
  bool pin = false;     // Pins worker i to the i-th allowed core.
  Duration drain = {};  // After a signal: how long tasks that look at stopping() have until they are stopped.
  // When a worker has not come back to its loop for this time, on_stall is called with where
  Duration stall_after = {};
  // it is, on a thread of its own: io/stall_watch.h. Zero: not watched.
  Function<void(const io::Stall&)> on_stall = {};
  // Outlives the call. net_accepted_total, by worker: what the listeners of Worker::listen() have accepted. Null: not
  // counted.
  metrics::Registry* metrics = nullptr;
};

class Worker;

// One task on each of several workers: `begin` is called once on each, one after the other. A task that fails ends the
// others as a signal does, and its error says on which worker; the errors of several are one text, with the code of the
// first.
Result<> run(const RunOptions& options, FunctionRef<Task<>(Worker&)> begin);

// The worker of a task of run(). On that worker's thread; lives until run() returns.
class Worker {
 public:
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // 0 to workers() - 1.
  int index() const noexcept { return index_; }
  int workers() const noexcept;

  // This worker's listener at an address where every worker listens: of TCP one socket each (SO_REUSEPORT), over which
  // the kernel spreads connections by a hash; a Unix socket, and options.inherited, is one for all, and they take
  // turns. With port 0 all have the port that the first one got. Errors as Listener::bind(); AlreadyExists also when
  // another process shares its port.
  Result<Listener> listen(const Address& address, const io::ListenOptions& options = {});

  // Set when the program is to end: a signal has arrived, or another worker's task has failed.
  Event& stopping() noexcept { return stopping_; }

 private:
  friend Result<> run(const RunOptions& options, FunctionRef<Task<>(Worker&)> begin);
  struct Crew;
  Worker(Crew& crew, int index) noexcept : crew_(crew), index_(index) {}

  Crew& crew_;
  const int index_;
  Event stopping_;
};

}  // namespace keel
