#include "keel/app/health.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <system_error>

#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/data/json.h"
#include "keel/io/loop.h"
#include "keel/io/runtime.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"

namespace keel::app {
namespace {

// Bounds each wait, because Duration::forever() cannot be added to a time.
constexpr Duration wait_max = 1_h;

// RFC 3339, with a precision of seconds.
std::string timestamp(std::int64_t wall_ns) {
  const std::time_t seconds = wall_ns / 1'000'000'000;
  std::tm parts{};
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts))};
}

std::string seconds(Duration duration) { return fmt::format("{:.3g} s", duration.count_seconds()); }

Task<> bounded(Duration timeout, const Function<Task<>()>& test) { co_await with_timeout(timeout, test()); }

Result<> run(const Function<Result<>()>& test) noexcept {
  try {
    return test();
  } catch (...) {
    return Error::from_exception();
  }
}

}  // namespace

struct Health::Entry : Job {
  struct Run : Start<void> {
    Entry* entry = nullptr;
  };

  Entry(Health& h, HealthOptions o) : Job(&begin), health(h), options(std::move(o)) {}
  static void begin(Job& job) noexcept;

  Health& health;
  const HealthOptions options;
  std::uint64_t id = 0;
  Function<Result<>()> test;
  Function<Task<>()> task;
  io::Loop* loop = nullptr;
  Run task_run;
  std::optional<metrics::Gauge> up;
  std::optional<metrics::Gauge> took;

  bool runs = false;
  bool late = false;   // Whether the current run has exceeded its timeout.
  bool again = false;  // check_soon() was called during the current run.
  Instant began;       // The time at which the current run began; between runs, the time at which the last run began.
  Instant next;        // The time at which the next run is due.
  Status status = Status::NotChecked;
  std::int64_t since_wall_ns = 0;
  bool has_run = false;
  Instant finished;
  Duration duration;
  std::string last_error;
};

// A simulation has no threads: this timer, on one loop, does their work instead.
struct Health::Rounds : Timer {
  Rounds(Health& h, io::Runtime& r)
      : Timer([](Timer& timer) noexcept { static_cast<Rounds&>(timer).health.take_round(); }),
        health(h),
        runtime(r),
        loop(r.loop(0)) {}
  ~Rounds() { loop.stop_timer(*this); }

  Health& health;
  io::Runtime& runtime;
  io::Loop& loop;
};

// On the loop.
void Health::Entry::begin(Job& job) noexcept {
  auto& entry = static_cast<Entry&>(job);
  entry.task_run.entry = &entry;
  const auto done = [](StartCore& start) noexcept {
    auto& run = static_cast<Run&>(start);
    Result<> result = run.take();
    Health& health = run.entry->health;
    const std::lock_guard lock(health.mutex_);
    health.finish(*run.entry, std::move(result));
  };
  if (entry.task_run.begin(bounded(entry.options.timeout, entry.task), done)) done(entry.task_run);
}

Health::Health(metrics::Registry* registry) : registry_(registry), log_("health") {}

Health::~Health() {
  {
    const std::lock_guard lock(mutex_);
    KEEL_CHECK(entries_.empty(), "a Health must outlive its checks");
    stopping_ = true;
    wake_.notify_all();
    rounds_.reset();
  }
  threads_.clear();
}

Health::Check Health::add(HealthOptions options, Function<Result<>()> test) {
  auto entry = std::make_unique<Entry>(*this, std::move(options));
  entry->test = std::move(test);
  return add_entry(std::move(entry));
}

Health::Check Health::add(HealthOptions options, io::Loop& loop, Function<Task<>()> test) {
  auto entry = std::make_unique<Entry>(*this, std::move(options));
  entry->task = std::move(test);
  entry->loop = &loop;
  return add_entry(std::move(entry));
}

Health::Check Health::add_entry(std::unique_ptr<Entry> entry) {
  const std::string& name = entry->options.name;
  if (registry_ != nullptr) {
    entry->up = registry_->gauge("health_check_up", "Whether the last run of the check passed", {{"check", name}});
    entry->took =
        registry_->gauge("health_check_duration_seconds", "Duration of the last run of the check", {{"check", name}});
  }
  const std::lock_guard lock(mutex_);
  KEEL_EXPECT(name != "start" && name != "drain" && find(name) == nullptr, "each health check needs its own name");
  for (const std::string& need : entry->options.needs) {
    KEEL_EXPECT(find(need) != nullptr, "a health check can depend only on checks that were added before it");
  }
  entry->id = ++last_id_;
  entries_.push_back(std::move(entry));
  wake();
  return Check(*this, last_id_);
}

void Health::remove(std::uint64_t id) noexcept {
  std::unique_lock lock(mutex_);
  const auto at = std::find_if(entries_.begin(), entries_.end(), [id](const auto& e) { return e->id == id; });
  Entry& entry = **at;
  entry.next = Instant::never();
  if (rounds_ != nullptr && entry.runs) {
    io::Runtime& runtime = rounds_->runtime;
    lock.unlock();
    runtime.wait_until([&entry] { return !entry.runs; }, Duration::forever());
    lock.lock();
  }
  finished_.wait(lock, [&entry] { return !entry.runs; });
  std::erase_if(entries_, [id](const auto& e) { return e->id == id; });
}

void Health::start(Duration interval) {
  const std::lock_guard lock(mutex_);
  KEEL_CHECK(!running_, "health checks can be started only once");
  running_ = true;
  interval_ = interval;
  add_thread();
}

void Health::start(io::Runtime& simulated, Duration interval) {
  const std::lock_guard lock(mutex_);
  KEEL_CHECK(!running_, "health checks can be started only once");
  running_ = true;
  interval_ = interval;
  rounds_ = std::make_unique<Rounds>(*this, simulated);
  clock_ = &rounds_->loop;
  wake();
}

bool Health::wait_checked(Duration limit) {
  std::unique_lock lock(mutex_);
  const auto done = [this] {
    return std::all_of(entries_.begin(), entries_.end(), [](const auto& e) { return e->has_run || e->late; });
  };
  if (rounds_ != nullptr) {
    io::Runtime& runtime = rounds_->runtime;
    lock.unlock();
    return runtime.wait_until(done, limit);
  }
  return finished_.wait_for(lock, std::chrono::nanoseconds(std::min(limit, wait_max).count_ns()), done);
}

void Health::check_soon(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (find(name) == nullptr) return;
  for (const auto& each : entries_) {
    Entry& entry = *each;
    const auto& needs = entry.options.needs;
    if (entry.options.name != name && std::find(needs.begin(), needs.end(), name) == needs.end()) continue;
    if (entry.next == Instant::never()) continue;
    if (entry.runs) {
      entry.again = true;
    } else {
      entry.next = clock_->now();
    }
  }
  wake();
}

void Health::start_complete() {
  const std::lock_guard lock(mutex_);
  started_ = true;
}

void Health::drain(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  draining_ = true;
  drain_reason_ = reason;
}

// --- Running -------------------------------------------------------------------------------------------------------

Health::Entry* Health::find(std::string_view name) noexcept {
  for (const auto& entry : entries_) {
    if (entry->options.name == name) return entry.get();
  }
  return nullptr;
}

void Health::add_thread() {
  const std::string name = "health-" + std::to_string(threads_.size());
  threads_.push_back(Host::system().start_thread(name.c_str(), [this] { work(); }));
}

// Each thread takes a due check and, before it runs this check, makes sure that another thread watches the other
// checks.
void Health::work() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    Instant wake = Instant::never();
    Entry* const entry = pick(wake);
    if (entry != nullptr) {
      try {
        idle_ == 0 ? add_thread() : wake_.notify_one();
      } catch (const std::system_error&) {
        // The system cannot start another thread, so the other checks wait until this check, or a check that hangs, has
        // returned.
      }
      run_unlocked(lock, *entry);
    } else if (!changes_.empty()) {
      report(lock);
    } else {
      ++idle_;
      const Duration left = std::min(wake - Host::system().now(), wait_max);
      wake_.wait_for(lock, std::chrono::nanoseconds(left.count_ns()));
      --idle_;
    }
  }
}

void Health::take_round() noexcept {
  std::unique_lock lock(mutex_);
  Instant next = Instant::never();
  while (Entry* const entry = pick(next)) {
    run_unlocked(lock, *entry);
    next = Instant::never();
  }
  if (!changes_.empty()) report(lock);
  if (next.is_never()) {
    rounds_->loop.stop_timer(*rounds_);
  } else {
    rounds_->loop.start_timer(*rounds_, next);
  }
}

void Health::run_unlocked(std::unique_lock<std::mutex>& lock, Entry& entry) {
  lock.unlock();
  Result<> result = run(entry.test);
  lock.lock();
  finish(entry, std::move(result));
}

// Called when a check may be due.
void Health::wake() {
  wake_.notify_all();
  if (rounds_ != nullptr) rounds_->loop.start_timer(*rounds_, clock_->now());
}

// Returns a due function, after marking it as running; also starts the tasks that are due. Returns null if no function
// is due. Lowers `wake` to the time at which the next check may be due.
Health::Entry* Health::pick(Instant& wake) {
  const Instant now = clock_->now();
  for (const auto& each : entries_) {
    Entry& entry = *each;
    if (entry.runs) {
      const Instant limit = entry.began + entry.options.timeout;
      if (!entry.late && now >= limit) {
        entry.late = true;
        set(entry, Status::Failing, "no result for " + seconds(entry.options.timeout));
      }
      if (!entry.late) wake = std::min(wake, limit);
    } else if (now < entry.next) {
      wake = std::min(wake, entry.next);
    } else if (may_run(entry, now)) {
      entry.runs = true;
      entry.began = now;
      if (entry.loop == nullptr) return &entry;
      entry.loop->post(entry);
      wake = std::min(wake, now + entry.options.timeout);
    } else if (now < entry.next) {
      wake = std::min(wake, entry.next);
    }
  }
  return nullptr;
}

// Whether all checks that `entry` needs have passed. If a needed check has not passed, the result of `entry` names the
// needed check.
bool Health::may_run(Entry& entry, Instant now) {
  for (const std::string& name : entry.options.needs) {
    const Entry* const need = find(name);
    if (need == nullptr) continue;
    // The check that this entry needs runs first; once that check has a result, this entry is examined again.
    if (need->runs ? !need->late : now >= need->next) return false;
    if (need->status == Status::Ok) continue;
    entry.has_run = true;
    entry.finished = now;
    entry.duration = Duration();
    entry.next = now + interval_;
    set(entry, Status::NotChecked, "not checked: " + name + " failed");
    return false;
  }
  return true;
}

void Health::finish(Entry& entry, Result<> result) {
  const Instant now = clock_->now();
  entry.duration = now - entry.began;
  entry.finished = now;
  entry.runs = false;
  entry.has_run = true;
  const bool late = std::exchange(entry.late, false) || entry.duration >= entry.options.timeout;
  if (late) {
    set(entry, Status::Failing, "took " + seconds(entry.duration) + "; the limit is " + seconds(entry.options.timeout));
  } else if (result) {
    set(entry, Status::Ok, {});
  } else {
    set(entry, Status::Failing, result.error().describe());
  }
  const bool is_over = entry.options.kind == Kind::Startup && entry.status == Status::Ok;
  const bool is_due = std::exchange(entry.again, false) || late;
  if (entry.next != Instant::never()) entry.next = is_over ? Instant::never() : is_due ? now : entry.began + interval_;
  wake();
}

void Health::set(Entry& entry, Status status, std::string error) {
  if (entry.status != status || entry.since_wall_ns == 0) entry.since_wall_ns = clock_->wall_ns();
  const bool recovers = status == Status::Ok && !entry.last_error.empty() && entry.status != Status::Ok;
  if (recovers || (status == Status::Failing && entry.status != Status::Failing)) {
    changes_.emplace_back(entry.options.name, error);
  }
  entry.status = status;
  if (!error.empty()) entry.last_error = std::move(error);
  if (entry.up) entry.up->set(status == Status::Ok ? 1 : 0);
  if (entry.took) entry.took->set(entry.duration.count_seconds());
  finished_.notify_all();
}

// Writing the log may wait for a disk, so it is done without holding the lock, which the pages need.
void Health::report(std::unique_lock<std::mutex>& lock) {
  const auto changes = std::exchange(changes_, {});
  lock.unlock();
  for (const auto& [name, error] : changes) {
    if (error.empty()) {
      log_.info("a health check succeeds again", log::field("check", name));
    } else {
      log_.warn("a health check failed", log::field("check", name), log::field("reason", error));
    }
  }
  lock.lock();
}

// --- Pages ---------------------------------------------------------------------------------------------------------

bool Health::has_started() const noexcept {
  return started_ && std::all_of(entries_.begin(), entries_.end(), [](const auto& e) {
           return e->options.kind != Kind::Startup || e->options.degrades || e->status == Status::Ok;
         });
}

bool Health::live(Buffer& out) { return render(out, Kind::Liveness); }
bool Health::ready(Buffer& out) { return render(out, Kind::Readiness); }
bool Health::started(Buffer& out) { return render(out, Kind::Startup); }

bool Health::render(Buffer& out, Kind kind) {
  const std::lock_guard lock(mutex_);
  // The verdict is the first member of the JSON but is known last, so the checks are written to a separate buffer.
  Buffer aside;
  json::Writer checks(aside);
  bool well = true;
  bool degraded = false;
  const auto add_own = [&](std::string_view name, std::string_view error) {
    well = well && error.empty();
    checks.begin_object().key("name").string(name).key("status").string(error.empty() ? "ok" : "failing");
    if (!error.empty()) checks.key("last_error").string(error);
    checks.end_object();
  };
  checks.begin_array();
  if (kind == Kind::Readiness) {
    add_own("start", has_started() ? "" : "not complete");
    if (draining_) add_own("drain", drain_reason_);
  } else if (kind == Kind::Startup) {
    add_own("start", started_ ? "" : "not complete");
  }
  const Instant now = clock_->now();
  for (const auto& each : entries_) {
    const Entry& e = *each;
    if (e.options.kind != kind) continue;
    // An entry without a result says nothing about the process, so it must not cause a restart.
    const bool good = e.status == Status::Ok || (kind == Kind::Liveness && e.status == Status::NotChecked);
    degraded = degraded || !good;
    well = well && (good || e.options.degrades);
    const std::string_view bad = e.options.degrades ? "degraded" : "failing";
    checks.begin_object().key("name").string(e.options.name).key("status");
    checks.string(e.status == Status::Ok ? "ok" : e.status == Status::Failing ? bad : "not checked");
    if (e.since_wall_ns != 0) checks.key("since").string(timestamp(e.since_wall_ns));
    if (e.late) {
      checks.key("duration_sec").number((now - e.began).count_seconds()).key("age_sec").number(0);
    } else if (e.has_run) {
      checks.key("duration_sec").number(e.duration.count_seconds());
      checks.key("age_sec").number((now - e.finished).count_seconds());
    }
    if (!e.last_error.empty()) checks.key("last_error").string(e.last_error);
    checks.end_object();
  }
  checks.end_array();
  json::Writer(out)
      .begin_object()
      .key("status")
      .string(!well      ? "failing"
              : degraded ? "degraded"
                         : "ok")
      .key("checks")
      .raw(aside.view())
      .end_object();
  return well;
}

}  // namespace keel::app
