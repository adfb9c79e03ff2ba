// A whole measurement: starts threads with a generator each, reads the CPU clocks of client and server, and handles
// Ctrl-C.
//
// Errors:  a measurement fails if the engine cannot be used, if a thread cannot run on a core, or if the server's
//          process id is wrong; it fails with Unavailable if the server cannot be reached.
// Threads: the calling thread waits; `plan.threads` other threads make the load.

#pragma once

#include <signal.h>

#include <optional>
#include <string>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/io/engine.h"
#include "load/generator.h"

namespace keel::load {

// While an Interrupts exists, it collects SIGINT and SIGTERM, also for threads that are started later. A second signal
// ends the process.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Waits until the time `until` or until the first signal; returns whether a signal has arrived.
  bool wait_until(Instant until) noexcept;

 private:
  sigset_t before_;
  bool has_come_ = false;
};

// The CPU time of a process, which may be this process.
class CpuClock {
 public:
  static CpuClock of_this_process() noexcept { return CpuClock(CLOCK_PROCESS_CPUTIME_ID); }
  // Fails with NotFound if there is no such process.
  static Result<CpuClock> of(int pid) noexcept;
  // Returns nothing if the process has ended.
  std::optional<Duration> now() const noexcept;

 private:
  explicit CpuClock(clockid_t id) noexcept : id_(id) {}
  clockid_t id_;
};

struct Setting {
  io::EngineKind engine = io::EngineKind::Auto;
  std::vector<int> cores;
  int server_pid = 0;
  int server_cores = 0;
  // The time that a thread polls for responses before it sleeps. If absent, the time is busy_poll_default if
  // has_core_each() is true, and otherwise 0.
  std::optional<Duration> busy_poll;
};
constexpr Duration busy_poll_default = 20_us;
// True if every thread has its own core and a core is left for other processes. The client may use all of `cores`; if
// `cores` is empty, the client may use all but the last of the cores that the process may run on.
bool has_core_each(int threads, const std::vector<int>& cores) noexcept;

struct Measurement {
  Counts counts;
  Duration measured;
  double offered = 0;   // Requests due per second of the measured time.
  double achieved = 0;  // Responses per second within the measured time.
  bool is_open = false;
  bool is_interrupted = false;
  std::string engine;
  int threads = 1;
  // The CPU seconds of the client per second and per thread, without busy polling.
  double client_utilisation = 0;
  // The average share of a thread's time that was spent on busy polling with nothing to do.
  double client_busy_polling = 0;
  // The client's CPU time per response in microseconds, without busy polling.
  double client_cpu_us = 0;
  std::optional<double> server_utilisation;  // The CPU seconds of the server per second and per core.
  std::optional<double> server_cpu_us;       // Per response.
  bool is_client_bound() const noexcept { return server_utilisation && *server_utilisation < 0.95; }
};

// The state of the running measurement, which is shown every half second.
struct View {
  Duration elapsed;  // The time since the first connection.
  Duration whole;
  double rate;  // The responses per second since the state was last shown.
  std::uint64_t errors;
  std::uint64_t open;
  Duration latency_max;  // The recent maximum.
};

// Connects to the addresses of the URL's host in turn; returns the first address that accepts the connection.
struct Url;
Result<Address> reach(const Url& url, Duration timeout);

Result<Measurement> measure(const Mix& mix, const Plan& plan, const Setting& setting, Interrupts& interrupts,
                            FunctionRef<void(const View&)> show);

}  // namespace keel::load
