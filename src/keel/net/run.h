// keel/net/run.h — runs the tasks of a program until they end or a signal stops them.
//
//   Task<> serve(Address at);
//   int main() { return run(serve(*Address::parse("0.0.0.0:7000"))) ? 0 : 1; }
//
// A program runs on several workers, each with a thread and a loop of its own, and without shared state:
//
//   Task<> serve(Worker& worker) {
//     Listener listener = co_await worker.listen(*Address::parse("0.0.0.0:7000"));
//     Scope connections;
//     while (auto peer = co_await until(worker.stopping(), listener.accept())) {
//       connections.spawn(talk(*std::move(peer)), OnError::Ignore);
//     }
//     co_await connections.join();                 // the program ends: open connections have 10 s to end
//   }
//   int main() { return run({.workers = 4, .drain = 10_s}, &serve) ? 0 : 1; }
//
// SIGINT and SIGTERM stop the tasks: the operations for which the tasks wait end with Cancelled, and so do the tasks;
// run() then returns success. A second signal, however soon it arrives, has the effect that it had before the call of
// run(): usually the signal ends the process immediately, without a drain. timeout(1) sends two signals, one to its
// child and one to the child's group; timeout --foreground sends one. A service that also needs logs, configuration or
// health checks is an app::App, which treats a second signal within 200 ms as part of the first.
//
// Result:   the error of a task that failed without being stopped. Unsupported when the engine is not available,
//           ResourceExhausted when the system has no more descriptors or threads.
// Threads:  call run() on a thread that runs no loop; run() blocks that thread; only one run() can be active in a
//           process.
// Lifetime: objects that the tasks refer to must outlive the call; when the call returns, all tasks are destroyed.

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

// Runs one task on a loop of the calling thread.
Result<> run(Task<>&& main, io::EngineKind engine = io::EngineKind::Auto);

// Workers, engine and shutdown of a program.
struct RunOptions {
  int workers = 1;  // The number of threads, each with an event loop; 0: one per core that this process may use.
  io::EngineKind engine = io::EngineKind::Auto;
  bool pin = false;     // Pins worker i to the i-th allowed core.
  Duration drain = {};  // After a signal, tasks that watch stopping() have this much time before they are stopped.
  // When a worker has not returned to its loop for this time, on_stall is called, on a separate thread, with the place
  // where the worker is (io/stall_watch.h). Zero: not watched.
  Duration stall_after = {};
  Function<void(const io::Stall&)> on_stall = {};
  // Counts the connections that the listeners of Worker::listen() accept, in net_accepted_total by worker. The registry
  // must outlive the call. Null: not counted.
  metrics::Registry* metrics = nullptr;
};

class Worker;

// Runs one task on each of several workers: `begin` is called once on each worker, one worker after the other. A task
// that fails stops the other tasks as a signal does, and the error names the worker of the failed task. Several errors
// are combined into one, which has all messages and the code of the first error.
Result<> run(const RunOptions& options, FunctionRef<Task<>(Worker&)> begin);

// The worker on which a task of run() runs. Use a Worker only on the thread of that worker; the Worker lives until
// run() returns.
class Worker {
 public:
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The index of this worker, from 0 to workers() - 1.
  int index() const noexcept { return index_; }
  int workers() const noexcept;

  // This worker's listener at an address where every worker listens: with TCP each worker has its own socket
  // (SO_REUSEPORT), and the kernel distributes connections by a hash. All workers share a Unix socket or the sockets of
  // options.inherited, and take turns in accepting. With port 0 the system chooses a port for the first worker, and all
  // workers use it. Errors are those of Listener::bind(); AlreadyExists also when another process shares the port.
  Result<Listener> listen(const Address& address, const io::ListenOptions& options = {});

  // This event is set when the program is to end: a signal has arrived, or another worker's task has failed.
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
