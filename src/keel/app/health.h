// keel/app/health.h — is the process alive, has it started, and may clients send requests to it?
//
//   auto store = health.add({.name = "store", .needs = {"database"}}, [&store] { return store.ping(); });
//   auto cache = health.add({.name = "cache", .degrades = true}, loop, [&cache] { return cache.check(); });  // Task<>
//   health.start(10_s);                        // from here on each check runs every 10 s
//   health.start_complete();
//   const bool ready = health.ready(body);     // 200 or 503
//
// Liveness fails only when a restart would help; a dependency that is down affects readiness instead. Each start-up
// check runs until it has passed once. Readiness requires that all start-up checks have passed, that start_complete()
// was called, and that no drain has begun: drain() makes readiness fail before the listeners close, so that a load
// balancer stops sending requests in time. A check that `degrades` never fails a probe: the failure is shown, and the
// status is "degraded".
//
// Checks run on their own schedule, at an interval; pages show the last results and their age, and never wait for a
// check. A check that takes longer than its timeout counts as failed from then on; it does not delay other checks, and
// is run again only after it has returned. A check is not run when a check that it needs has failed: "not checked:
// database failed".
//
//   {"status":"failing","checks":[{"name":"start","status":"ok"},
//    {"name":"database","status":"failing","since":"2026-01-31T12:00:00Z","duration_sec":0.0004,"age_sec":2.5,
//     "last_error":"open: No such file or directory"}]}
//
// `last_error` is kept after the check passes again; `since` is the time at which the status last changed. Metrics:
// health_check_up{check} (1 or 0) and health_check_duration_seconds{check}. A line is logged at level warn when a check
// begins to fail, and at level info when it passes again.
//
// Ownership: destroying a Check removes it from the Health; a Check must not outlive its Health. A loop must run until
//            the checks that run on it are destroyed.
// Threads:   any thread, but a Check that runs on a loop must not be destroyed on that loop's thread. A check that is a
//            function runs on a thread of the Health (which has two threads, and one more for each function that
//            hangs); a check that is a task runs on its loop; runs of one check do not overlap. Destroying a Check
//            waits for a run in progress, after which the check never runs again. A check must not add or destroy
//            checks.
// Cost:      a page takes a lock; each check costs as much as its function.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/function.h"
#include "keel/base/host.h"
#include "keel/base/result.h"
#include "keel/observe/log.h"
#include "keel/observe/metric.h"
#include "keel/task/task.h"

namespace keel::io {
class Loop;
class Runtime;
}  // namespace keel::io

namespace keel::app {

// What a failing check means: the process needs a restart, should receive no requests, or has not started yet.
enum class HealthKind : std::uint8_t { Liveness, Readiness, Startup };

// How often checks run, and how long a check may take.
struct HealthOptions {
  // The name of the check, for people and for the label `check` of metrics. Each check needs its own name; "start" and
  // "drain" are reserved.
  std::string name;
  HealthKind kind = HealthKind::Readiness;
  bool degrades = false;                // A failure of this check is shown, but does not make a probe fail.
  std::vector<std::string> needs = {};  // The names of checks, added earlier, that must pass before this check is run.
  Duration timeout = 5_s;               // A check that gives no result within this time has failed.
};

class Health {
 public:
  using Kind = HealthKind;
  class [[nodiscard]] Check;

  // Null: the Health has no metrics. `registry` must outlive the Health.
  explicit Health(metrics::Registry* registry = nullptr);
  ~Health();  // Aborts the process if a Check still exists.
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  // A duplicate name, or a need that does not exist, is a bug.
  Check add(HealthOptions options, Function<Result<>()> test);
  // `test` makes a task that runs on `loop`; the task is cancelled at its timeout.
  Check add(HealthOptions options, io::Loop& loop, Function<Task<>()> test);

  // Runs every check now, and then once every `interval`. Call it once.
  void start(Duration interval);
  // Runs the checks in a simulation, which has no threads: tasks and functions run on the first loop of `simulated`, in
  // virtual time. wait_checked() runs the loops; the destructor of a Check runs them too if the task of the Check is
  // running. The runtime must outlive the checks that are tasks; its loops must outlive the Health.
  void start(io::Runtime& simulated, Duration interval);
  // Waits until each check has a result; returns false if `limit` elapses first.
  bool wait_checked(Duration limit);

  // Runs the check `name`, and the checks that need it, as soon as possible instead of at the end of the interval. Call
  // this function after an event that may change the result of a check. The call has no effect if no check has this
  // name.
  void check_soon(std::string_view name);

  void start_complete();
  // From this call on, readiness fails with `reason`, such as "draining".
  void drain(std::string_view reason);

  // Appends the JSON, and returns whether the probe succeeds.
  bool live(Buffer& out);
  bool ready(Buffer& out);
  bool started(Buffer& out);

 private:
  struct Entry;
  struct Rounds;
  enum class Status : std::uint8_t { NotChecked, Ok, Failing };
  Check add_entry(std::unique_ptr<Entry> entry);
  void remove(std::uint64_t id) noexcept;
  bool render(Buffer& out, Kind kind);

  // The functions below are called while the lock is held.
  Entry* find(std::string_view name) noexcept;
  bool has_started() const noexcept;
  void add_thread();
  void work();
  void take_round() noexcept;
  void wake();
  void run_unlocked(std::unique_lock<std::mutex>& lock, Entry& entry);
  Entry* pick(Instant& wake);
  bool may_run(Entry& entry, Instant now);
  void begin_on_loop(Entry& entry);
  void finish(Entry& entry, Result<> result);
  void set(Entry& entry, Status status, std::string error);
  void report(std::unique_lock<std::mutex>& lock);

  metrics::Registry* const registry_;
  Host* clock_ = &Host::system();
  log::Logger log_;
  std::mutex mutex_;
  std::condition_variable wake_;      // Wakes the threads when a check may be due.
  std::condition_variable finished_;  // Notified when a check has a result, or when a change has been logged.
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<Thread>> threads_;
  // The changes that are not logged yet: the name of a check, and the reason why the check fails, or "" if the check
  // passes again.
  std::vector<std::pair<std::string, std::string>> changes_;
  Duration interval_;
  std::uint64_t last_id_ = 0;
  std::unique_ptr<Rounds> rounds_;  // Runs the checks in a simulation, which has no threads.
  int idle_ = 0;
  bool running_ = false;
  bool stopping_ = false;
  bool started_ = false;
  bool draining_ = false;
  std::string drain_reason_;
};

class Health::Check {
 public:
  Check() = default;
  Check(Check&& other) noexcept : health_(std::exchange(other.health_, nullptr)), id_(other.id_) {}
  Check& operator=(Check&& other) noexcept {
    std::swap(health_, other.health_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~Check() {
    if (health_ != nullptr) health_->remove(id_);
  }

 private:
  friend class Health;
  Check(Health& health, std::uint64_t id) : health_(&health), id_(id) {}
  Health* health_ = nullptr;
  std::uint64_t id_ = 0;
};

}  // namespace keel::app
