// keel/app/lifecycle.h — the modules of a process: started in the order of their dependencies, timed, and stopped in
// reverse order.
//
//   app::Lifecycle lifecycle;
//   lifecycle.add({.name = "store", .start = [&] { return store.open(); }, .stop = [&] { store.close(); }});
//   lifecycle.add({.name = "cache", .needs = {"store"}, .start = [&] { return cache.load(); }});
//   lifecycle.add({.name = "reports", .needs = {"store"}, .start = [&] { return reports.open(); }, .lazy = true});
//   KEEL_TRY_VOID(lifecycle.start());           // store, then cache
//   KEEL_TRY_VOID(lifecycle.ensure("reports")); // at its first use
//   const StopReport report = lifecycle.stop(10_s);
//
// Modules that do not need each other start at the same time, each on a thread "start-N" made by the Host. A lazy one
// starts when ensure() is called for it or a module needs it. ensure() within a module's own start counts as a need.
//
// In a simulation, which has no threads, modules start and stop one after the other inside the calls that need them
// (ModuleThreads::None), and no timeout ends them.
//
// Errors:    InvalidArgument, before any module starts, for a need that no module has as its name and for a circular
//            chain of needs, which the message shows; a module's own error, DeadlineExceeded (start_timeout) or
//            Cancelled (is_interrupted), with the module, its time and the modules that waited for it. An exception out
//            of `start` is Internal, and so is a thread that the system does not start.
// Ownership: `start` and `stop` of a module are called at most once each time the module starts, and are destroyed with
//            the Lifecycle; objects that they refer to must outlive the Lifecycle.
// Threads:   add(), begin(), ensure(), record() and phases() on any; start() and stop() on one.
// Lifetime:  the destructor stops running modules and waits for them without a time limit. If stop() reported a module
//            that is stuck, end the process without running destructors.
// Cost:      a lock for ensure() of a running module; at the start, a thread for each module that starts at the same
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
  std::string name;                     // Unique.
  std::vector<std::string> needs = {};  // Modules that run before this one starts, and until it has stopped.
  Function<Result<>()> start = {};      // Empty: there is nothing to do at the start.
  Function<void()> stop = {};           // Called only if `start` succeeded. Empty: nothing to do.
  Duration start_timeout = {};  // Time limit of `start`, not counting the wait for its needs; 0: the Lifecycle's.
  bool lazy = false;            // start() does not start it; the first module that needs it, or ensure(), does.
};

// The state of a module, or of a step that was record()ed.
struct Phase {
  enum class State : std::uint8_t { Waiting, Starting, Running, Failed, Stopped };
  std::string name;
  Instant began = {};           // When `start` began; while the module waits for its needs, when it was requested.
  Duration took = {};           // Duration of `start`, so far while it runs.
  Duration waited = {};         // How long the module waited for its needs after it was requested.
  std::string waited_for = {};  // The last of its needs to start; empty when all were already running.
  std::string thread = {};      // "start-2"; of a step: "main".
  State state = State::Running;
};
// The name of a state, as the report of the start shows it.
std::string_view to_string(Phase::State state) noexcept;

// A table for people: a line for each phase, ordered by its beginning, with times in milliseconds since `origin`, and
// the total until `end`.
std::string phase_table(std::string_view name, const std::vector<Phase>& phases, Instant origin, Instant end);
// The phases of a start as one JSON object:
// {"name":…,"version":…,"keel":…,"total_ms":…,"phases":[{"name":…,"began_ms":…,"took_ms":…,"waited_ms":…,
// "waited_for":…,"thread":…,"state":…}]}
void write_phases(Buffer& out, const Program& program, const std::vector<Phase>& phases, Instant origin, Instant end);

// The result of stop(): each module with the time it took, and the error of one that did not stop cleanly.
struct StopReport {
  struct Part {
    std::string name;
    Duration took;             // How long stopping took; for a module that did not stop, the time until the deadline.
    bool is_stuck = false;     // The module was still stopping, or still starting, at the deadline.
    std::string problem = {};  // The text of an exception out of `stop`.
  };
  std::vector<Part> parts;        // The modules, in the order in which they were stopped.
  std::vector<std::string> left;  // Modules that were not stopped, because an earlier one is stuck.
  Duration took;

  bool is_complete() const noexcept;
  // Logs how long each module took, and at error level those that did not stop cleanly or in time.
  void log(const log::Logger& log) const;
};

enum class ModuleThreads : std::uint8_t { Own, None };

class Lifecycle {
 public:
  static constexpr Duration usual_stop_timeout = 10_s;
  static constexpr Duration usual_start_timeout = 30_s;

  // `stop_timeout`: the time limit for stopping the started modules when start() fails. `start_timeout`: that of each
  // module without its own; an App has common.start_timeout_sec here.
  explicit Lifecycle(Duration stop_timeout = usual_stop_timeout, ModuleThreads threads = ModuleThreads::Own,
                     Duration start_timeout = usual_start_timeout);
  ~Lifecycle();
  Lifecycle(const Lifecycle&) = delete;
  Lifecycle& operator=(const Lifecycle&) = delete;

  // A name that is already in use is a bug.
  void add(Module module);
  // Records a completed step that is not a module, for phases().
  void record(std::string_view name, Instant began, Duration took);

  // Starts every module that is not lazy, with what these need, and waits for them. While it waits, it calls
  // `is_interrupted` every few milliseconds on this thread. On an error the started modules are stopped in reverse
  // order, including those that begin() and ensure() had started before.
  Result<> start(FunctionRef<bool()> is_interrupted);
  Result<> start();
  // Starts one module and its needs, without waiting; for errors see ensure().
  Result<> begin(std::string_view name);
  // Starts one module and its needs, and waits for them. After an error all other modules keep running; another call
  // for the failed module starts it again. FailedPrecondition for a module that does not run, once stop() has begun.
  Result<> ensure(std::string_view name, FunctionRef<bool()> is_interrupted);
  Result<> ensure(std::string_view name);

  // Stops the running modules, one after the other in reverse order of starting, on a separate thread; it waits for
  // modules that are still starting. Returns when all have stopped, or at the deadline with a report of those that have
  // not. Calls `while_waiting` every few milliseconds, on this thread. Idempotent.
  StopReport stop(Duration deadline, FunctionRef<void()> while_waiting);
  StopReport stop(Duration deadline);

  // Within the start of one of its modules, on the thread that runs it: throws an exception that ends that start with
  // `error`. Elsewhere it does nothing.
  void leave_start(const Error& error) const;

  // Whether the module exists and has started.
  bool runs(std::string_view name) const;
  // The modules that were requested so far and every recorded step, in the order in which they began.
  std::vector<Phase> phases() const;
  // The modules that are not lazy, and the lazy ones that were requested.
  std::vector<std::string> wanted() const;

 private:
  struct Entry;
  struct Starter {
    int number;
    std::unique_ptr<Thread> thread;
    bool is_done = false;
  };
  using Lock = std::unique_lock<std::mutex>;
  // All of these hold mutex_, except while they call a module.
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
