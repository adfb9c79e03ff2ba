#include "keel/app/lifecycle.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "keel/app/internal/options.h"
#include "keel/base/bug.h"
#include "keel/config/version.h"
#include "keel/data/json.h"

namespace keel::app {
namespace {

// How often a waiting thread checks conditions other than the states of modules.
constexpr std::chrono::milliseconds glance{5};

constexpr char interrupted[] = "the start was interrupted";

double milliseconds(Duration duration) { return duration.count_seconds() * 1e3; }

std::string in_quotes(std::string_view name) { return '"' + std::string(name) + '"'; }

}  // namespace

struct Lifecycle::Entry {
  enum class State : std::uint8_t { Idle, Waiting, Starting, Running, Failed, Stopping, Stopped };
  Module module;
  std::vector<Entry*> needs;  // The entries of the modules in module.needs; set when the needs have been checked.
  std::vector<Entry*> below;  // The needs of the module, including indirect ones.
  bool is_checked = false;
  State state = State::Idle;
  int order = 0;  // The position of the module in the order of starting.
  Instant asked, began, ended, stop_began;
  std::string waited_for;
  std::string thread;
  Result<> result;

  bool reaches(const Entry& other) const noexcept { return std::ranges::find(below, &other) != below.end(); }
};

namespace {

// The module whose start runs on this thread, so that a call of ensure() on this thread counts as a need of that
// module.
thread_local const Lifecycle* current_lifecycle = nullptr;
thread_local void* current_entry = nullptr;

// Thrown to leave the start of a module; `error` becomes the result of that start.
struct StartLeft : std::runtime_error {
  explicit StartLeft(const Error& cause) : std::runtime_error(cause.describe()), error(cause.clone()) {}
  Error error;
};

}  // namespace

std::string_view to_string(Phase::State state) noexcept {
  switch (state) {
    case Phase::State::Waiting:
      return "waiting";
    case Phase::State::Starting:
      return "starting";
    case Phase::State::Running:
      return "running";
    case Phase::State::Failed:
      return "failed";
    case Phase::State::Stopped:
      return "stopped";
  }
  return "";
}

std::string phase_table(std::string_view name, const std::vector<Phase>& phases, Instant origin, Instant end) {
  std::size_t width = 5;
  for (const Phase& phase : phases) width = std::max(width, phase.name.size());
  std::string text = fmt::format("start of {}\n  {:<{}}  {:>9}  {:>9}  {:<8}  {}\n", name, "phase", width, "at ms",
                                 "took ms", "on", "waited for");
  for (const Phase& phase : phases) {
    text += fmt::format("  {:<{}}  {:>9.2f}  {:>9.2f}  {:<8}", phase.name, width, milliseconds(phase.began - origin),
                        milliseconds(phase.took), phase.thread);
    if (!phase.waited_for.empty())
      text += fmt::format("  {} ({:.2f} ms)", phase.waited_for, milliseconds(phase.waited));
    if (phase.state != Phase::State::Running) text += fmt::format("  {}", to_string(phase.state));
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text + fmt::format("  {:<{}}  {:>9}  {:>9.2f}\n", "total", width, "", milliseconds(end - origin));
}

void write_phases(Buffer& out, const Program& program, const std::vector<Phase>& phases, Instant origin, Instant end) {
  json::Writer json(out);
  json.begin_object().key("name").string(program.name).key("version").string(program.version);
  json.key("keel").string(keel_version()).key("total_ms").number(milliseconds(end - origin));
  json.key("phases").begin_array();
  for (const Phase& phase : phases) {
    json.begin_object().key("name").string(phase.name);
    json.key("began_ms").number(milliseconds(phase.began - origin));
    json.key("took_ms").number(milliseconds(phase.took));
    json.key("waited_ms").number(milliseconds(phase.waited));
    json.key("waited_for").string(phase.waited_for);
    json.key("thread").string(phase.thread);
    json.key("state").string(to_string(phase.state)).end_object();
  }
  json.end_array().end_object();
}

bool StopReport::is_complete() const noexcept {
  return left.empty() && std::ranges::none_of(parts, [](const Part& part) { return part.is_stuck; });
}

void StopReport::log(const log::Logger& log) const {
  for (const Part& part : parts) {
    if (!part.problem.empty()) {
      log.error("a module did not stop cleanly", log::field("module", part.name), log::field("problem", part.problem));
    }
    log.debug("stop phase", log::field("phase", part.name), log::field("took", part.took),
              log::field("stuck", part.is_stuck));
    if (!part.is_stuck) continue;
    log.error("a module was still stopping at the deadline", log::field("module", part.name),
              log::field("took", part.took));
  }
}

Lifecycle::Lifecycle(Duration stop_timeout, ModuleThreads threads, Duration start_timeout)
    : host_(Host::current()), stop_timeout_(stop_timeout), start_timeout_(start_timeout), use_(threads) {}

Lifecycle::~Lifecycle() { stop(Duration::forever()); }

void Lifecycle::add(Module module) {
  const std::lock_guard lock(mutex_);
  KEEL_EXPECT(find(module.name) == nullptr, "each module needs its own name");
  entries_.push_back(std::make_unique<Entry>());
  if (module.start_timeout == Duration()) module.start_timeout = start_timeout_;
  entries_.back()->module = std::move(module);
}

void Lifecycle::record(std::string_view name, Instant began, Duration took) {
  const std::lock_guard lock(mutex_);
  steps_.push_back({.name = std::string(name), .began = began, .took = took, .thread = "main"});
}

Lifecycle::Entry* Lifecycle::find(std::string_view name) const noexcept {
  for (const auto& entry : entries_) {
    if (entry->module.name == name) return entry.get();
  }
  return nullptr;
}

// `path`: the entries that lead to this entry.
Result<> Lifecycle::check(Entry& entry, std::vector<Entry*>& path) {
  if (entry.is_checked) return {};
  const auto chain = [&](std::string_view last) {
    std::string text;
    for (const Entry* at : path) text += in_quotes(at->module.name) + " needs ";
    return text + in_quotes(last);
  };
  if (std::ranges::find(path, &entry) != path.end()) {
    return Error::text(Code::InvalidArgument, "modules depend on each other in a cycle: " + chain(entry.module.name));
  }
  path.push_back(&entry);
  std::vector<Entry*> needs;
  std::vector<Entry*> below;
  for (const std::string& name : entry.module.needs) {
    Entry* const need = find(name);
    if (need == nullptr) {
      return Error::text(Code::InvalidArgument, chain(name) + ": there is no module with that name");
    }
    KEEL_TRY_VOID(check(*need, path));
    needs.push_back(need);
    below.push_back(need);
    below.insert(below.end(), need->below.begin(), need->below.end());
  }
  std::ranges::sort(below);
  below.erase(std::unique(below.begin(), below.end()), below.end());
  path.pop_back();
  entry.needs = std::move(needs);
  entry.below = std::move(below);
  entry.is_checked = true;
  return {};
}

Result<> Lifecycle::add_need(Entry& of, Entry& need) {
  if (of.reaches(need)) return {};
  of.module.needs.push_back(need.module.name);
  for (auto& entry : entries_) entry->is_checked = false;
  std::vector<Entry*> path;
  Result<> checked = check(of, path);
  if (!checked) of.module.needs.pop_back();
  // Every module that needs this module now depends on the new need too. If the needs of such a module contain a
  // mistake, the mistake is reported when that module starts.
  for (auto& entry : entries_) {
    path.clear();
    static_cast<void>(check(*entry, path));
  }
  return checked;
}

// Requires that the needs of the module have been checked.
void Lifecycle::want(Entry& entry) {
  if (entry.state != Entry::State::Idle && entry.state != Entry::State::Failed) return;
  entry.state = Entry::State::Waiting;
  entry.asked = host_.now();
  entry.result = Result<>();
  for (Entry* need : entry.needs) want(*need);
}

// Finds a module that can start now, marks it as starting, and returns it; returns null if no module can start.
Lifecycle::Entry* Lifecycle::next_ready() noexcept {
  if (stopping_) return nullptr;
  const auto runs = [](const Entry* need) { return need->state == Entry::State::Running; };
  for (const auto& entry : entries_) {
    if (entry->state != Entry::State::Waiting || !std::ranges::all_of(entry->needs, runs)) continue;
    entry->state = Entry::State::Starting;
    entry->began = host_.now();
    entry->waited_for.clear();
    const auto last = std::ranges::max_element(entry->needs, {}, &Entry::ended);
    if (last != entry->needs.end() && (*last)->ended > entry->asked) entry->waited_for = (*last)->module.name;
    return entry.get();
  }
  return nullptr;
}

void Lifecycle::advance(Lock& lock) {
  while (Entry* const entry = next_ready()) {
    if (use_ == ModuleThreads::None) {
      run(*entry, lock);
      continue;
    }
    const int number = ++threads_made_;
    const std::string name = "start-" + std::to_string(number);
    try {
      threads_.push_back({number, host_.start_thread(name.c_str(), [this, entry, number] { work(entry, number); })});
    } catch (const std::system_error&) {
      entry->ended = host_.now();
      entry->result = Error::from_exception();
      entry->state = Entry::State::Failed;
    }
  }
}

void Lifecycle::work(Entry* entry, int thread) {
  Lock lock(mutex_);
  while (entry != nullptr) {
    entry->thread = "start-" + std::to_string(thread);
    run(*entry, lock);
    // This thread continues with one of the modules that have become ready; other threads start the other ready
    // modules.
    entry = next_ready();
    advance(lock);
    changed_.notify_all();
  }
  for (Starter& starter : threads_) starter.is_done = starter.is_done || starter.number == thread;
}

void Lifecycle::run(Entry& entry, Lock& lock) {
  entry.began = host_.now();
  lock.unlock();
  const Lifecycle* const lifecycle_before = std::exchange(current_lifecycle, this);
  void* const entry_before = std::exchange(current_entry, &entry);
  Result<> result;
  try {
    if (entry.module.start) result = entry.module.start();
  } catch (const StartLeft& left) {
    result = left.error.clone();
  } catch (...) {
    result = Error::from_exception();
  }
  current_lifecycle = lifecycle_before;
  current_entry = entry_before;
  lock.lock();
  entry.ended = host_.now();
  entry.state = result ? Entry::State::Running : Entry::State::Failed;
  if (result) entry.order = ++started_;
  entry.result = std::move(result);
}

Result<> Lifecycle::start() {
  return start([] { return false; });
}

Result<> Lifecycle::start(FunctionRef<bool()> is_interrupted) {
  Lock lock(mutex_);
  std::vector<Entry*> wanted;
  Result<> result;
  for (const auto& entry : entries_) {
    std::vector<Entry*> path;
    if (result) result = check(*entry, path);
    if (!entry->module.lazy) wanted.push_back(entry.get());
  }
  if (result && is_interrupted()) result = fail(Code::Cancelled, interrupted);
  if (result) {
    for (Entry* entry : wanted) want(*entry);
    advance(lock);
    result = wait(lock, wanted, is_interrupted);
  }
  lock.unlock();
  if (!result) stop(stop_timeout_);
  return result;
}

Result<Lifecycle::Entry*> Lifecycle::begin_locked(std::string_view name, Lock& lock) {
  Entry* const entry = find(name);
  if (entry == nullptr) return Error::text(Code::InvalidArgument, "there is no module " + in_quotes(name));
  if (entry->state == Entry::State::Running) {
    // The recorded need makes stop() wait: it stops this module only after the start that uses this module has ended. A
    // need that would form a cycle is not recorded.
    if (current_lifecycle == this) static_cast<void>(add_need(*static_cast<Entry*>(current_entry), *entry));
    return entry;
  }
  if (stopping_)
    return Error::text(Code::FailedPrecondition,
                       "module " + in_quotes(name) + " is not started, because the modules are being stopped");
  std::vector<Entry*> path;
  KEEL_TRY_VOID(check(*entry, path));
  if (current_lifecycle == this) KEEL_TRY_VOID(add_need(*static_cast<Entry*>(current_entry), *entry));
  want(*entry);
  advance(lock);
  return entry;
}

Result<> Lifecycle::begin(std::string_view name) {
  Lock lock(mutex_);
  KEEL_TRY_VOID(begin_locked(name, lock));
  return {};
}

Result<> Lifecycle::ensure(std::string_view name) {
  return ensure(name, [] { return false; });
}

Result<> Lifecycle::ensure(std::string_view name, FunctionRef<bool()> is_interrupted) {
  Lock lock(mutex_);
  KEEL_TRY(Entry* const entry, begin_locked(name, lock));
  return wait(lock, {entry}, is_interrupted);
}

Result<> Lifecycle::wait(Lock& lock, const std::vector<Entry*>& wanted, FunctionRef<bool()> is_interrupted) {
  const auto concerns = [&](const Entry& entry) {
    return std::ranges::any_of(wanted, [&](const Entry* one) { return one == &entry || one->reaches(entry); });
  };
  while (true) {
    bool all = true;
    for (const auto& entry : entries_) {
      if (entry->state == Entry::State::Running || !concerns(*entry)) continue;
      all = false;
      if (entry->state == Entry::State::Failed) {
        const Error error = internal::with_remedy(entry->result.error().clone());
        const double took = milliseconds(entry->ended - entry->began);
        return Error::text(error.code(), fmt::format("{} (module {} failed after {:.1f} ms{})", error.describe(),
                                                     in_quotes(entry->module.name), took, waiting_for(*entry)));
      }
      if (entry->state == Entry::State::Starting && host_.now() - entry->began > entry->module.start_timeout) {
        return Error::text(Code::DeadlineExceeded,
                           fmt::format("module {} did not start within {} ms{}", in_quotes(entry->module.name),
                                       entry->module.start_timeout.count_ms(), waiting_for(*entry)));
      }
    }
    if (all) {
      join_finished(lock);
      return {};
    }
    if (stopping_)
      return fail(Code::FailedPrecondition, "a module is not started, because the modules are being stopped");
    lock.unlock();
    const bool is_over = is_interrupted();
    lock.lock();
    if (is_over) return fail(Code::Cancelled, interrupted);
    changed_.wait_for(lock, glance);
  }
}

// `; "cache", "server" waited for it`
std::string Lifecycle::waiting_for(const Entry& entry) const {
  std::string names;
  for (const auto& other : entries_) {
    if (other->state != Entry::State::Waiting || !other->reaches(entry)) continue;
    names += (names.empty() ? "; " : ", ") + in_quotes(other->module.name);
  }
  return names.empty() ? names : names + " waited for it";
}

// Removes from the list the threads that have finished.
void Lifecycle::join_finished(Lock& lock) {
  std::vector<Starter> finished;
  for (auto at = threads_.begin(); at != threads_.end();) {
    if (at->is_done) {
      finished.push_back(std::move(*at));
      at = threads_.erase(at);
    } else {
      ++at;
    }
  }
  lock.unlock();
  finished.clear();
  lock.lock();
}

// Of the running modules that no starting module needs, returns the module that started last.
Lifecycle::Entry* Lifecycle::next_to_stop() noexcept {
  Entry* last = nullptr;
  for (const auto& entry : entries_) {
    if (entry->state != Entry::State::Running || (last != nullptr && last->order > entry->order)) continue;
    const bool used = std::ranges::any_of(
        entries_, [&](const auto& other) { return other->state == Entry::State::Starting && other->reaches(*entry); });
    if (!used) last = entry.get();
  }
  return last;
}

void Lifecycle::stop_all() {
  Lock lock(mutex_);
  while (true) {
    Entry* const entry = next_to_stop();
    if (entry == nullptr) {
      const auto starts = [](const auto& one) { return one->state == Entry::State::Starting; };
      if (std::ranges::none_of(entries_, starts)) break;
      changed_.wait(lock);
      continue;
    }
    entry->state = Entry::State::Stopping;
    entry->stop_began = host_.now();
    StopReport::Part part{.name = entry->module.name, .took = {}};
    lock.unlock();
    try {
      if (entry->module.stop) entry->module.stop();
    } catch (...) {
      part.problem = Error::from_exception().message();
    }
    lock.lock();
    entry->state = Entry::State::Stopped;
    part.took = host_.now() - entry->stop_began;
    stopped_parts_.push_back(std::move(part));
  }
  stopped_ = true;
  stop_ended_ = host_.now();
  changed_.notify_all();
}

StopReport Lifecycle::stop(Duration deadline) {
  return stop(deadline, [] {});
}

StopReport Lifecycle::stop(Duration deadline, FunctionRef<void()> while_waiting) {
  const Instant end = host_.now() + deadline;
  Lock lock(mutex_);
  if (!stopping_) {
    stopping_ = true;
    stop_began_ = host_.now();
    for (auto& entry : entries_) {
      if (entry->state == Entry::State::Waiting) entry->state = Entry::State::Idle;
    }
    changed_.notify_all();
    if (use_ == ModuleThreads::None) {
      lock.unlock();
      stop_all();
      lock.lock();
    } else {
      try {
        stopper_ = host_.start_thread("stop", [this] { stop_all(); });
        // The system has no memory or cannot start another thread; the start may have failed for the same reason. The
        // modules are then stopped on this thread.
      } catch (const std::system_error&) {
        lock.unlock();
        stop_all();
        lock.lock();
      }
    }
  }
  while (!stopped_ && host_.now() < end) {
    lock.unlock();
    while_waiting();
    lock.lock();
    if (!stopped_) changed_.wait_for(lock, glance);
  }
  join_finished(lock);
  if (!stopped_) return report();
  std::unique_ptr<Thread> stopper = std::move(stopper_);
  lock.unlock();
  stopper.reset();
  lock.lock();
  return report();
}

StopReport Lifecycle::report() const {
  const Instant now = stopped_ ? stop_ended_ : host_.now();
  StopReport report{.parts = stopped_parts_, .left = {}, .took = now - stop_began_};
  for (const auto& entry : entries_) {
    const bool starts = entry->state == Entry::State::Starting;
    if (starts || entry->state == Entry::State::Stopping) {
      report.parts.push_back({entry->module.name, now - (starts ? stop_began_ : entry->stop_began), true});
    } else if (entry->state == Entry::State::Running) {
      report.left.push_back(entry->module.name);
    }
  }
  return report;
}

void Lifecycle::leave_start(const Error& error) const {
  if (current_lifecycle == this) throw StartLeft(error);
}

bool Lifecycle::runs(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = find(name);
  return entry != nullptr && entry->state == Entry::State::Running;
}

std::vector<Phase> Lifecycle::phases() const {
  const std::lock_guard lock(mutex_);
  std::vector<Phase> phases = steps_;
  const Instant now = host_.now();
  for (const auto& entry : entries_) {
    Phase phase{.name = entry->module.name, .began = entry->began, .took = entry->ended - entry->began};
    switch (entry->state) {
      case Entry::State::Idle:
        continue;
      case Entry::State::Waiting:
        phase.state = Phase::State::Waiting;
        phase.began = entry->asked;
        phase.took = {};
        phase.waited = now - entry->asked;
        break;
      case Entry::State::Starting:
        phase.state = Phase::State::Starting;
        phase.took = now - entry->began;
        break;
      case Entry::State::Failed:
        phase.state = Phase::State::Failed;
        break;
      case Entry::State::Stopped:
        phase.state = Phase::State::Stopped;
        break;
      case Entry::State::Running:
      case Entry::State::Stopping:
        break;
    }
    if (entry->state != Entry::State::Waiting) {
      phase.waited_for = entry->waited_for;
      if (!entry->waited_for.empty()) phase.waited = entry->began - entry->asked;
      phase.thread = entry->thread;
    }
    phases.push_back(std::move(phase));
  }
  // Sorts the phases by the time at which they began; phases that began at the same time keep their order.
  // std::stable_sort is not used, because the library's version calls a function that Clang reports as deprecated.
  for (auto at = phases.begin(); at != phases.end(); ++at) {
    std::rotate(std::ranges::upper_bound(phases.begin(), at, at->began, {}, &Phase::began), at, at + 1);
  }
  return phases;
}

std::vector<std::string> Lifecycle::wanted() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& entry : entries_) {
    if (!entry->module.lazy || entry->state != Entry::State::Idle) names.push_back(entry->module.name);
  }
  return names;
}

}  // namespace keel::app
