// keel/app/lifecycle.h — the modules of a process: starts them in the order of their dependencies, measures the times,
// and stops them in reverse order.
//
//   app::Lifecycle lifecycle;
//   lifecycle.add({.name = "store", .start = [&] { return store.open(); }, .stop = [&] { store.close(); }});
//   lifecycle.add({.name = "cache", .needs = {"store"}, .start = [&] { return cache.load(); }});
//   lifecycle.add({.name = "reports", .needs = {"store"}, .start = [&] { return reports.open(); }, .lazy = true});
//   KEEL_TRY_VOID(lifecycle.start());           // store, then cache
//   KEEL_TRY_VOID(lifecycle.ensure("reports")); // at its first use
//   const StopReport report = lifecycle.stop(10_s);
//
// Modules that do not need each other start at the same time, each on a thread "start-N" made by the Host. A lazy
// module starts when ensure() is called for it, or when another module needs it. A call of ensure() within a module's
// start counts as a need of that module.
//
// In a simulation, which has no threads, modules start and stop one after the other inside the calls that start and
// stop them (ModuleThreads::None), and no timeout ends a start or a stop.
//
// Errors:    InvalidArgument, before any module starts, if a need is not the name of any module, or if needs form a
//            cycle; the message shows the cycle. While modules start: a module's own error, DeadlineExceeded because of
//            start_timeout, or Cancelled because of is_interrupted; each names the module, the time that it took and
//            the modules that waited for it. The error is Internal if `start` throws an exception, or if the system
//            cannot start a thread.
// Ownership: `start` and `stop` of a module are called at most once each time the module starts, and are destroyed with
//            the Lifecycle; objects that they refer to must outlive the Lifecycle.
// Threads:   add(), begin(), ensure(), record() and phases() on any thread; start() and stop() on one thread.
// Lifetime:  the destructor stops running modules and waits for them without a time limit. If stop() reported a module
//            that did not stop, end the process without running destructors.
// Cost:      ensure() of a running module takes a lock; the start uses a thread for each module that starts at the same
//            time as another.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "keel/app/program.h"
#include "keel/base/buffer.h"
#include "keel/base/function.h"
#include "keel/base/host.h"
#include "keel/base/result.h"
#include "keel/observe/log.h"

namespace keel::app {

// A part of the process: its name, what it needs, and how it is started and stopped.
struct Module {
  std::string name;  // Unique.
  // The modules that must be running before this module starts, and that keep running until this module has stopped.
  std::vector<std::string> needs = {};
  Function<Result<>()> start = {};  // Starts the module; empty: nothing has to be done.
  Function<void()> stop = {};       // Stops the module if `start` succeeded; empty: nothing has to be done.
  // Time limit of `start`, not counting the wait for the module's needs; 0: the time limit of the Lifecycle.
  Duration start_timeout = {};
  // If true, start() does not start the module; it is started by ensure(), or because another module needs it.
  bool lazy = false;
};

// The state of a module, or of a step that was added by record().
struct Phase {
  enum class State : std::uint8_t { Waiting, Starting, Running, Failed, Stopped };
  std::string name;
  // The time at which `start` began, or, while the module waits for its needs, the time at which the module was
  // requested.
  Instant began = {};
  Duration took = {};    // How long `start` took, or has taken so far.
  Duration waited = {};  // How long the module waited for its needs after it was requested.
  // The needed module that started last; empty if all needed modules were already running.
  std::string waited_for = {};
  std::string thread = {};  // The name of the thread, such as "start-2", or "main" for a step.
  State state = State::Running;
};
// The name of a state, as the report of the start shows it.
std::string_view to_string(Phase::State state) noexcept;

// Appends a table for people: one line for each phase in the order in which they began, with times in milliseconds
// since `origin`, and the total until `end`.
std::string phase_table(std::string_view name, const std::vector<Phase>& phases, Instant origin, Instant end);
// The phases of a start as one JSON object:
// {"name":…,"version":…,"keel":…,"total_ms":…,"phases":[{"name":…,"began_ms":…,"took_ms":…,"waited_ms":…,
// "waited_for":…,"thread":…,"state":…}]}
void write_phases(Buffer& out, const Program& program, const std::vector<Phase>& phases, Instant origin, Instant end);

// The result of stop(): each module with the time that it took to stop, and the error if the module did not stop
// cleanly.
struct StopReport {
  struct Part {
    std::string name;
    Duration took;             // How long stopping took; for a module that did not stop, the time until the deadline.
    bool is_stuck = false;     // True if the module was still stopping, or still starting, at the deadline.
    std::string problem = {};  // The text of an exception thrown by `stop`.
  };
  std::vector<Part> parts;  // The modules in the order in which they stopped.
  // The modules that were still running at the deadline, because an earlier module had not stopped.
  std::vector<std::string> left;
  Duration took;

  bool is_complete() const noexcept;
  // Logs how long each module took to stop; modules that did not stop cleanly or in time are logged at level error.
  void log(const log::Logger& log) const;
};

enum class ModuleThreads : std::uint8_t { Own, None };

class Lifecycle {
 public:
  static constexpr Duration usual_stop_timeout = 10_s;
  static constexpr Duration usual_start_timeout = 30_s;

  // `stop_timeout` limits how long the started modules may take to stop when start() fails. `start_timeout` applies to
  // each module that has no start_timeout of its own; an App passes common.start_timeout_sec.
  explicit Lifecycle(Duration stop_timeout = usual_stop_timeout, ModuleThreads threads = ModuleThreads::Own,
                     Duration start_timeout = usual_start_timeout);
  ~Lifecycle();
  Lifecycle(const Lifecycle&) = delete;
  Lifecycle& operator=(const Lifecycle&) = delete;

  // A name that another module already has is a bug.
  void add(Module module);
  // Records a step that is complete and is not a module, so that phases() contains it.
  void record(std::string_view name, Instant began, Duration took);

  // Starts every module that is not lazy, together with the modules that these need, and waits until all these modules
  // have started. While this function waits, it calls `is_interrupted` every few milliseconds on this thread. After an
  // error, the started modules are stopped in reverse order, including the modules that begin() and ensure() had
  // started earlier.
  Result<> start(FunctionRef<bool()> is_interrupted);
  Result<> start();
  // Starts a module and the modules that it needs, without waiting; the errors are those of ensure().
  Result<> begin(std::string_view name);
  // Starts a module and the modules that it needs, and waits until they have started. After an error all other modules
  // keep running; a further call for the failed module starts it again. FailedPrecondition if stop() has begun and the
  // module does not run.
  Result<> ensure(std::string_view name, FunctionRef<bool()> is_interrupted);
  Result<> ensure(std::string_view name);

  // Stops the running modules, one after the other in reverse order of starting, on a separate thread; a module that is
  // still starting is stopped after its start has ended. Returns when all modules have stopped, or at the deadline with
  // a report of the modules that have not stopped. Calls `while_waiting` every few milliseconds on this thread.
  // Idempotent.
  StopReport stop(Duration deadline, FunctionRef<void()> while_waiting);
  StopReport stop(Duration deadline);

  // If this thread is running the start of a module, throws an exception that ends this start with `error`. On any
  // other thread, this function does nothing.
  void leave_start(const Error& error) const;

  // Whether the module exists and has started.
  bool runs(std::string_view name) const;
  // The modules that were requested so far and every recorded step, in the order in which they began.
  std::vector<Phase> phases() const;
  // The modules that are not lazy, and the lazy modules that were requested.
  std::vector<std::string> wanted() const;

 private:
  struct Entry;
  struct Starter {
    int number;
    std::unique_ptr<Thread> thread;
    bool is_done = false;
  };
  using Lock = std::unique_lock<std::mutex>;
  // These functions are called with mutex_ held; they release mutex_ while they call a module.
  Entry* find(std::string_view name) const noexcept;
  Result<> check(Entry& entry, std::vector<Entry*>& path);
  Result<> add_need(Entry& of, Entry& need);
  void want(Entry& entry);
  Entry* next_ready() noexcept;
  void advance(Lock& lock);
  void work(Entry* entry, int thread);
  void run(Entry& entry, Lock& lock);
  Result<Entry*> begin_locked(std::string_view name, Lock& lock);
  Result<> wait(Lock& lock, const std::vector<Entry*>& wanted, FunctionRef<bool()> is_interrupted);
  std::string waiting_for(const Entry& entry) const;
  Entry* next_to_stop() noexcept;
  void stop_all();
  StopReport report() const;
  void join_finished(Lock& lock);

  Host& host_;
  const Duration stop_timeout_;
  const Duration start_timeout_;
  const ModuleThreads use_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Phase> steps_;
  std::vector<Starter> threads_;
  int threads_made_ = 0;
  int started_ = 0;
  bool stopping_ = false;
  bool stopped_ = false;
  Instant stop_began_;
  Instant stop_ended_;
  std::vector<StopReport::Part> stopped_parts_;
  std::unique_ptr<Thread> stopper_;
};

}  // namespace keel::app
