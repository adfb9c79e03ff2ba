#include "load/run.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

#include "keel/base/host.h"
#include "keel/net/blocking/stream.h"
#include "keel/net/resolver.h"
#include "load/options.h"

namespace keel::load {
namespace {

constexpr Duration show_every = 500_ms;
// The time allowed for starting the threads, before the first request is due.
constexpr Duration lead = 20_ms;

sigset_t ending_signals() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

Result<> pin(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string names;
  for (const int core : cores) {
    CPU_SET(static_cast<unsigned>(core), &set);
    names += (names.empty() ? "" : ",") + std::to_string(core);
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    return Error::from_errno("sched_setaffinity", errno).because("--cores " + names);
  return {};
}

class Worker {
 public:
  Worker(const Mix& mix, const Plan& plan, int index) noexcept : mix_(mix), plan_(plan), index_(index) {}

  // Waits until the thread is ready for generate(); returns an error if the thread could not become ready.
  Result<> start(io::EngineKind engine, int core, Duration busy_poll) {
    thread_ = Host::system().start_thread("load", [this, engine, core, busy_poll] { body(engine, core, busy_poll); });
    state_.wait(State::Starting, std::memory_order_acquire);
    if (state_.load(std::memory_order_acquire) == State::Failed) {
      thread_->join();
      return std::move(*error_);
    }
    return {};
  }
  void generate(Instant begins) noexcept {
    begins_ = begins;
    set(State::Running);
  }
  // Called by another thread: ends the run in its next event-loop iteration.
  void stop() noexcept {
    is_stopping_.store(true, std::memory_order_release);
    loop_->post(wake_);
  }
  bool is_finished() const noexcept { return state_.load(std::memory_order_acquire) == State::Finished; }
  void join() { thread_->join(); }

  // Returns null until the thread has begun generate().
  Progress* progress() noexcept { return progress_.load(std::memory_order_acquire); }
  // The time that the thread spent polling without finding anything to do.
  Duration busy_polled() const noexcept {
    return Duration::nanoseconds(busy_polled_ns_.load(std::memory_order_relaxed));
  }
  // Valid after join().
  const Generator& generator() const noexcept { return *generator_; }

 private:
  enum class State : std::uint8_t { Starting, Ready, Failed, Running, Finished };
  void set(State state) noexcept {
    state_.store(state, std::memory_order_release);
    state_.notify_all();
  }
  void refuse(Error&& error) noexcept {
    error_ = std::make_unique<Error>(std::move(error));
    set(State::Failed);
  }

  void body(io::EngineKind kind, int core, Duration busy_poll) {
    if (core >= 0) {
      if (auto pinned = pin({core}); !pinned) return refuse(std::move(pinned).error());
    }
    auto engine = io::make_engine(kind);
    if (!engine) return refuse(std::move(engine).error());
    loop_ = std::make_unique<io::Loop>(*std::move(engine), Host::system(), index_);
    const io::Loop::Entered entered(*loop_);
    set(State::Ready);
    state_.wait(State::Ready, std::memory_order_acquire);
    generator_ = std::make_unique<Generator>(*loop_, mix_, plan_, index_, begins_);
    progress_.store(&generator_->progress(), std::memory_order_release);
    turn_until_finished(busy_poll);
    // This call also lets the layers over the connections, such as TLS with its close_notify, end properly.
    loop_->finish();
    set(State::Finished);
  }

  // If a client sleeps while it waits for a response, the server has to wake the client. The wake-up takes time on the
  // server's core, which lowers the measured rate by some percent.
  void turn_until_finished(Duration busy_poll) noexcept {
    Instant now = loop_->precise_now();
    Instant worked = now;
    while (!generator_->is_finished()) {
      const bool polls = now - worked < busy_poll;
      const bool found = loop_->turn(polls ? Instant() : generator_->next_due()) != 0;
      const bool sent = generator_->send_due();
      const Instant before = std::exchange(now, loop_->precise_now());
      if (found || sent) {
        worked = now;
      } else if (polls) {
        busy_polled_ns_.store((busy_polled() + (now - before)).count_ns(), std::memory_order_relaxed);
      }
      if (is_stopping_.load(std::memory_order_relaxed)) generator_->stop();
    }
  }

  const Mix& mix_;
  const Plan& plan_;
  const int index_;
  Instant begins_;
  std::unique_ptr<Thread> thread_;
  std::unique_ptr<io::Loop> loop_;
  std::unique_ptr<Generator> generator_;
  std::unique_ptr<Error> error_;
  std::atomic<State> state_ = State::Starting;
  std::atomic<Progress*> progress_ = nullptr;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<std::int64_t> busy_polled_ns_ = 0;
  Job wake_{[](Job&) noexcept {}};
};

// The CPU time that the client and the server have used up to some moment.
struct Moment {
  Instant at;
  Duration client;
  Duration busy_polled;  // The time that the client has spent in busy polling.
  std::optional<Duration> server;
};
Moment read_clocks(const std::vector<std::unique_ptr<Worker>>& workers,
                   const std::optional<CpuClock>& server) noexcept {
  Moment moment{Host::system().now(), *CpuClock::of_this_process().now(), Duration(),
                server ? server->now() : std::nullopt};
  for (const auto& worker : workers) moment.busy_polled = moment.busy_polled + worker->busy_polled();
  return moment;
}

int cores_of(int pid) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(pid, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// Shows what the workers have done since the last call.
class Watch {
 public:
  Watch(std::vector<std::unique_ptr<Worker>>& workers, Instant begins, Duration whole,
        FunctionRef<void(const View&)> show) noexcept
      : workers_(workers), begins_(begins), last_at_(begins), whole_(whole), show_(show) {}

  Instant next() const noexcept { return last_at_ + show_every; }
  void look(Instant now) {
    View view{now - begins_, whole_, 0, 0, 0, Duration()};
    std::uint64_t responses = 0;
    for (const auto& worker : workers_) {
      Progress* progress = worker->progress();
      if (progress == nullptr) continue;
      responses += progress->responses.get();
      view.errors += progress->errors.get();
      view.open += progress->open.get();
      const std::int64_t max = progress->latency_max_ns.exchange(0, std::memory_order_relaxed);
      view.latency_max = std::max(view.latency_max, Duration::nanoseconds(max));
    }
    const double seconds = (now - last_at_).count_seconds();
    view.rate = seconds > 0 ? static_cast<double>(responses - last_responses_) / seconds : 0;
    last_responses_ = responses;
    last_at_ = now;
    show_(view);
  }

 private:
  std::vector<std::unique_ptr<Worker>>& workers_;
  const Instant begins_;
  Instant last_at_;
  const Duration whole_;
  FunctionRef<void(const View&)> show_;
  std::uint64_t last_responses_ = 0;
};

void add_clocks(Measurement& result, const Moment& from, const Moment& to, int server_cores) noexcept {
  const double wall = (to.at - from.at).count_seconds();
  if (wall <= 0) return;
  const auto per_response = [&](double cpu) { return result.achieved > 0 ? cpu / wall / result.achieved * 1e6 : 0; };
  const Duration polled = to.busy_polled - from.busy_polled;
  // The result must not become negative: `polled` is wall-clock time, and is longer than the CPU time of a thread that
  // was preempted while it polled.
  const double client = std::max(Duration(), to.client - from.client - polled).count_seconds();
  result.client_busy_polling = polled.count_seconds() / wall / result.threads;
  result.client_utilisation = client / wall / result.threads;
  result.client_cpu_us = per_response(client);
  if (!from.server || !to.server) return;
  const double server = (*to.server - *from.server).count_seconds();
  result.server_utilisation = server / wall / server_cores;
  result.server_cpu_us = per_response(server);
}

}  // namespace

bool has_core_each(int threads, const std::vector<int>& cores) noexcept {
  return cores.empty() ? cores_of(0) > threads : static_cast<int>(cores.size()) >= threads;
}

Interrupts::Interrupts() {
  const sigset_t set = ending_signals();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

Interrupts::~Interrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool Interrupts::wait_until(Instant until) noexcept {
  const sigset_t set = ending_signals();
  for (;;) {
    const Duration left = std::max(Duration(), until - Host::system().now());
    if (has_come_) {
      // From now on, a signal has its original effect: a second Ctrl-C ends the process.
      Host::system().sleep(left);
      return true;
    }
    const timespec time{left.count_ns() / 1'000'000'000, left.count_ns() % 1'000'000'000};
    if (sigtimedwait(&set, nullptr, &time) >= 0) {
      has_come_ = true;
      pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
      return true;
    }
    if (errno == EAGAIN) return false;
  }
}

Result<CpuClock> CpuClock::of(int pid) noexcept {
  clockid_t id = 0;
  // kill(pid, 0) checks whether the process exists, because clock_getcpuclockid() does not check this.
  if (kill(pid, 0) != 0 && errno == ESRCH) return fail(Code::NotFound, "there is no such process");
  if (clock_getcpuclockid(pid, &id) != 0 || !CpuClock(id).now()) {
    return fail(Code::NotFound, "the process has no clock that can be read");
  }
  return CpuClock(id);
}

std::optional<Duration> CpuClock::now() const noexcept {
  timespec time{};
  if (clock_gettime(id_, &time) != 0) return std::nullopt;
  return Duration::seconds(time.tv_sec) + Duration::nanoseconds(time.tv_nsec);
}

Result<Address> reach(const Url& url, Duration timeout) {
  std::vector<Address> addresses;
  if (!url.unix_path.empty()) {
    KEEL_TRY(const Address address, Address::parse("unix:" + url.unix_path));
    addresses.push_back(address);
  } else {
    KEEL_TRY(addresses, Resolver::system_lookup(url.host));
  }
  for (std::size_t i = 0;; ++i) {
    if (!addresses[i].is_unix()) addresses[i].set_port(url.port);
    auto stream = blocking::Stream::connect(addresses[i], timeout);
    if (stream) return addresses[i];
    if (i + 1 == addresses.size()) return std::move(stream.error()).because(addresses[i].to_string());
  }
}

Result<Measurement> measure(const Mix& mix, const Plan& plan, const Setting& setting, Interrupts& interrupts,
                            FunctionRef<void(const View&)> show) {
  KEEL_TRY(const io::EngineChoice choice, io::choose_engine(setting.engine));
  std::optional<CpuClock> server;
  if (setting.server_pid != 0) {
    KEEL_TRY(server, CpuClock::of(setting.server_pid).because("--server-pid " + std::to_string(setting.server_pid)));
  }
  const Duration busy_poll =
      setting.busy_poll.value_or(has_core_each(plan.threads, setting.cores) ? busy_poll_default : Duration());
  // Pins this thread; the workers, which are pinned too, then leave the other cores to the server.
  if (!setting.cores.empty()) KEEL_TRY_VOID(pin(setting.cores));
  std::vector<std::unique_ptr<Worker>> workers;
  Result<> started;
  for (int i = 0; i < plan.threads && started; ++i) {
    workers.push_back(std::make_unique<Worker>(mix, plan, i));
    const std::size_t turn = static_cast<std::size_t>(i) % std::max<std::size_t>(setting.cores.size(), 1);
    started = workers.back()->start(choice.kind, setting.cores.empty() ? -1 : setting.cores[turn], busy_poll);
  }
  if (!started) workers.pop_back();
  const Instant begins = started ? Host::system().now() + lead : Instant::never();
  for (const auto& worker : workers) worker->generate(begins);
  Measurement result;
  if (!started) {
    for (const auto& worker : workers) worker->stop();
    for (const auto& worker : workers) worker->join();
    return std::move(started.error());
  }

  const Instant from = begins + plan.warmup;
  const Instant to = from + plan.duration;
  Watch watch(workers, begins, plan.warmup + plan.duration, show);
  const auto wait_until = [&](Instant until) {
    while (Host::system().now() < until) {
      if (interrupts.wait_until(std::min(until, watch.next()))) return result.is_interrupted = true;
      if (Host::system().now() >= watch.next()) watch.look(Host::system().now());
    }
    return false;
  };
  wait_until(from);
  const Moment first = read_clocks(workers, server);
  if (!result.is_interrupted) wait_until(to);
  const Moment last = read_clocks(workers, server);
  const auto all_finished = [&] {
    return std::all_of(workers.begin(), workers.end(), [](const auto& worker) { return worker->is_finished(); });
  };
  while (!result.is_interrupted && !all_finished()) wait_until(Host::system().now() + 10_ms);
  if (result.is_interrupted) {
    for (const auto& worker : workers) worker->stop();
  }
  for (const auto& worker : workers) worker->join();

  for (const auto& worker : workers) {
    result.counts.add(worker->generator().counts());
    result.measured = std::max(result.measured, worker->generator().measured());
  }
  const double seconds = result.measured.count_seconds();
  if (seconds > 0) {
    result.offered = static_cast<double>(result.counts.due) / seconds;
    result.achieved = static_cast<double>(result.counts.completed) / seconds;
  }
  result.is_open = plan.open.has_value();
  result.engine = choice.kind == io::EngineKind::Uring ? "uring" : "epoll";
  result.threads = plan.threads;
  const int cores = setting.server_cores > 0 ? setting.server_cores : cores_of(setting.server_pid);
  add_clocks(result, first, last, cores);
  return result;
}

}  // namespace keel::load
