// A whole measurement: threads with a generator each, the CPU clocks of both processes, and Ctrl-C.
//
// Errors:  those of the engine, the cores or the server's process id; Unavailable when the server cannot be reached.
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

// While it exists, collects SIGINT and SIGTERM, also for threads that are started after it. A second signal ends the
// process.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Waits until that time, or until the first signal; true: a signal has arrived.
  bool wait_until(Instant until) noexcept;

 private:
  sigset_t before_;
  bool has_come_ = false;
};

// The CPU time of a process, which may be this one.
class CpuClock {
 public:
  static CpuClock of_this_process() noexcept { return CpuClock(CLOCK_PROCESS_CPUTIME_ID); }
  // NotFound when there is no such process.
  static Result<CpuClock> of(int pid) noexcept;
  // Returns nothing when the process has ended.
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
  // How long a thread polls for responses before it sleeps; none: busy_poll_default if has_core_each(), otherwise not
  // at all.
  std::optional<Duration> busy_poll;
};
constexpr Duration busy_poll_default = 20_us;
// Whether every thread has its own core, and a core is left for other processes. The client may use all of `cores`; if
// none are given, all cores that the process may run on except the last.
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
  double client_utilisation = 0;             // CPU seconds per second and thread, without busy polling.
  double client_busy_polling = 0;            // The average share of its time in which a thread had nothing to do.
  double client_cpu_us = 0;                  // The CPU time for each response, without busy polling.
  std::optional<double> server_utilisation;  // CPU seconds per second and core of the server.
  std::optional<double> server_cpu_us;       // Per response.
  bool is_client_bound() const noexcept { return server_utilisation && *server_utilisation < 0.95; }
};

// A view of the running measurement, every half second.
struct View {
  Duration elapsed;  // The time since the first connection.
  Duration whole;
  double rate;  // Recent responses per second.
  std::uint64_t errors;
  std::uint64_t open;
  Duration latency_max;  // The recent maximum.
};

// Connects to the URL's host, at the first of its addresses that accepts a connection.
struct Url;
Result<Address> reach(const Url& url, Duration timeout);

Result<Measurement> measure(const Mix& mix, const Plan& plan, const Setting& setting, Interrupts& interrupts,
                            FunctionRef<void(const View&)> show);

}  // namespace keel::load
