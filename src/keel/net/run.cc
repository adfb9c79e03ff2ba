#include "keel/net/run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/io/loop.h"
#include "keel/io/runtime.h"
#include "keel/io/stall_watch.h"
#include "keel/net/listener.h"
#include "keel/observe/metric.h"
#include "keel/task/start.h"

namespace keel {
namespace {

// An object that waits for a signal. The signal handler wakes the object with an atomic store and a write(2).
struct Sleeper {
  void (*wake)(Sleeper&) noexcept;
};
std::atomic<Sleeper*> sleeper = nullptr;
std::atomic<bool> is_signalled = false;

void on_signal(int) {
  const int before = errno;
  is_signalled.store(true);
  if (Sleeper* const waits = sleeper.load()) waits->wake(*waits);
  errno = before;
}

// Wakes `who` at the first SIGINT and the first SIGTERM.
class StopSignals {
 public:
  explicit StopSignals(Sleeper& who) noexcept {
    KEEL_CHECK(sleeper.exchange(&who) == nullptr, "only one run() can be active in a process");
    is_signalled.store(false);
    struct sigaction action = {};
    action.sa_handler = &on_signal;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, &interrupt_before_);
    ::sigaction(SIGTERM, &action, &terminate_before_);
  }
  ~StopSignals() {
    restore();
    sleeper.store(nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool arrived() const noexcept { return is_signalled.load(); }
  void restore() const noexcept {
    ::sigaction(SIGINT, &interrupt_before_, nullptr);
    ::sigaction(SIGTERM, &terminate_before_, nullptr);
  }

 private:
  struct sigaction interrupt_before_ = {};
  struct sigaction terminate_before_ = {};
};

// --- One loop, on the calling thread.

struct SleepingLoop : Sleeper {
  explicit SleepingLoop(io::Loop& l) noexcept
      : Sleeper{[](Sleeper& self) noexcept { static_cast<SleepingLoop&>(self).loop.stop(); }}, loop(l) {}
  io::Loop& loop;
};

struct Main : Start<void> {
  explicit Main(io::Loop& l) noexcept : loop(l) {}
  static void ended(StartCore& start) noexcept { static_cast<Main&>(start).loop.stop(); }
  io::Loop& loop;
};

// --- Several loops, each on its own thread.

// The wait of the calling thread, which ends when a signal arrives or the workers have ended.
class MainSleep : public Sleeper {
 public:
  MainSleep() noexcept
      : Sleeper{[](Sleeper& self) noexcept { static_cast<MainSleep&>(self).end(); }},
        fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~MainSleep() {
    if (fd_ >= 0) ::close(fd_);
  }
  MainSleep(const MainSleep&) = delete;
  MainSleep& operator=(const MainSleep&) = delete;

  bool is_there() const noexcept { return fd_ >= 0; }
  void end() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_, &one, sizeof one);
  }
  // Waits until a signal arrives, end() is called, or `until` has passed; may return early.
  void wait(Instant until) const noexcept {
    pollfd woken{.fd = fd_, .events = POLLIN, .revents = 0};
    const Duration left = until - Host::system().now();
    const bool is_long = left >= 1_h;
    ::poll(&woken, 1, is_long ? 3'600'000 : static_cast<int>(std::max<std::int64_t>(left.count_ms() + 1, 0)));
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(fd_, &count, sizeof count);
  }

 private:
  const int fd_;
};

// Opens the listening socket that the workers share; no engine owns its descriptor.
Result<int> open_shared(const Address& address, const io::ListenOptions& options) {
  io::Engine& engine = io::Loop::current()->engine();
  KEEL_TRY(const int fd, engine.open_listener(address, options));
  auto copy = or_errno("dup", ::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  engine.close(fd);
  return copy;
}

}  // namespace

// The workers of one run().
struct Worker::Crew {
  struct Member : Start<void> {
    Member(Crew& crew, int index) noexcept : worker(crew, index) {}
    static void ended(StartCore& start) noexcept {
      auto& self = static_cast<Member&>(start);
      self.worker.crew_.ended(self.worker.index_, self.take());
    }
    Worker worker;
    std::optional<metrics::Counter> accepted;
  };
  // An address at which all workers listen.
  struct Place {
    bool is_for(int worker, const Address& address, const io::ListenOptions& options) const noexcept {
      return asked == address && inherited == options.inherited && !has_listened[static_cast<std::size_t>(worker)];
    }
    Address asked;
    int inherited;
    Address bound;    // The address with the port that the first listener got.
    int socket = -1;  // The shared socket, until all workers have it.
    std::vector<bool> has_listened;
  };

  Crew(int count, const MainSleep& b, metrics::Registry* registry) : main_sleep(b), running(count) {
    for (int i = 0; i < count; ++i) {
      members.emplace_back(*this, i);
      if (registry == nullptr) continue;
      members.back().accepted =
          registry->counter("net_accepted_total", "Connections accepted", {{"worker", std::to_string(i)}});
    }
  }
  ~Crew() {
    for (const Place& place : places) {
      if (place.socket >= 0) ::close(place.socket);
    }
  }

  // The next three functions are called on the worker's thread.
  void begin(int index, FunctionRef<Task<>(Worker&)> task) noexcept {
    Member& member = members[static_cast<std::size_t>(index)];
    if (member.begin(task(member.worker), &Member::ended)) Member::ended(member);
  }
  void ended(int index, Result<>&& result) noexcept {
    if (!result && !(is_ending.load() && result.error().code() == Code::Cancelled)) {
      const std::lock_guard lock(mutex);
      errors.emplace_back(index, std::move(result).error());
      has_failed.store(true);
    }
    running.fetch_sub(1);
    main_sleep.end();
  }
  Result<Listener> listen(int index, const Address& address, io::ListenOptions options);

  Result<> result();

  const MainSleep& main_sleep;
  std::deque<Member> members;
  std::atomic<int> running;
  std::atomic<bool> has_failed{false};
  std::atomic<bool> is_ending{false};
  std::mutex mutex;  // Guards `places` and `errors`.
  std::vector<Place> places;
  std::vector<std::pair<int, Error>> errors;  // Each worker that failed and its error, in the order of the failures.
};

Result<Listener> Worker::Crew::listen(int index, const Address& address, io::ListenOptions options) {
  if (members.size() == 1) return Listener::bind(address, options);
  const std::lock_guard lock(mutex);
  const bool is_one_for_all = address.is_unix() || options.inherited >= 0;
  auto place = std::ranges::find_if(places, [&](const Place& p) { return p.is_for(index, address, options); });
  if (place == places.end()) {
    Place made{address, options.inherited, address, -1, std::vector<bool>(members.size())};
    if (is_one_for_all) {
      KEEL_TRY(made.socket, open_shared(address, options));
    } else if (!options.reuse_port) {
      KEEL_TRY_VOID(io::check_vacant(io::Loop::current()->engine(), address, options));
    }
    place = places.insert(places.end(), std::move(made));
  }
  options.inherited = place->socket;
  options.shared = is_one_for_all;
  options.reuse_port = !is_one_for_all;
  KEEL_TRY(Listener listener, Listener::bind(place->bound, options));
  place->bound = listener.address();
  place->has_listened[static_cast<std::size_t>(index)] = true;
  // The shared socket is closed when the last worker has its own descriptor of the socket.
  const auto& all = place->has_listened;
  if (place->socket >= 0 && std::find(all.begin(), all.end(), false) == all.end()) {
    ::close(std::exchange(place->socket, -1));
  }
  return listener;
}

Result<> Worker::Crew::result() {
  if (errors.empty()) return {};
  if (members.size() == 1) return std::move(errors.front().second);
  const auto name = [](int index) { return "worker " + std::to_string(index); };
  if (errors.size() == 1) return std::move(errors.front().second).because(name(errors.front().first));
  std::string text;
  for (const auto& [index, error] : errors) {
    text += (text.empty() ? "" : "; ") + name(index) + ": " + error.describe();
  }
  return Error::text(errors.front().second.code(), text);
}

int Worker::workers() const noexcept { return static_cast<int>(crew_.members.size()); }

Result<Listener> Worker::listen(const Address& address, const io::ListenOptions& options) {
  KEEL_TRY(Listener listener, crew_.listen(index_, address, options));
  const auto& accepted = crew_.members[static_cast<std::size_t>(index_)].accepted;
  if (accepted) listener.count_accepted(*accepted);
  return listener;
}

Result<> run(Task<>&& main, io::EngineKind kind) {
  KEEL_CHECK(io::Loop::current() == nullptr, "run() must be called on a thread that runs no loop");
  KEEL_TRY(const io::EngineChoice choice, io::choose_engine(kind));
  KEEL_TRY(auto engine, io::make_engine(choice.kind));
  io::Loop loop(std::move(engine), Host::system());
  const io::Loop::Entered entered(loop);
  SleepingLoop sleeping(loop);
  const StopSignals signals(sleeping);
  Main start(loop);
  if (!start.begin(std::move(main), &Main::ended)) {
    while (start.is_running()) {
      loop.run();
      if (!signals.arrived()) continue;
      signals.restore();
      start.stop();
    }
  }
  Result<> result = start.take();
  loop.finish();
  if (!result && signals.arrived() && result.error().code() == Code::Cancelled) return {};
  return result;
}

Result<> run(const RunOptions& options, FunctionRef<Task<>(Worker&)> begin) {
  KEEL_CHECK(io::Loop::current() == nullptr, "run() must be called on a thread that runs no loop");
  MainSleep main_sleep;
  if (!main_sleep.is_there()) return Error::from_errno("eventfd", errno);
  const StopSignals signals(main_sleep);
  KEEL_TRY(auto runtime, io::Runtime::make({.workers = options.workers, .engine = options.engine, .pin = options.pin}));
  KEEL_TRY_VOID(runtime->start());
  std::optional<io::StallWatch> watch;
  if (options.stall_after > Duration()) {
    KEEL_CHECK(static_cast<bool>(options.on_stall),
               "reporting stalls needs a function that receives the reports: on_stall");
    try {
      watch.emplace(*runtime, options.stall_after, [&](const io::Stall& stall) { options.on_stall(stall); });
    } catch (const std::system_error& problem) {
      return Error::text(Code::ResourceExhausted, problem.what()).because("watching the workers for stalls");
    }
  }
  Worker::Crew crew(runtime->workers(), main_sleep, options.metrics);
  runtime->each([&](io::Loop& loop) { crew.begin(loop.index(), begin); });
  Instant limit = Instant::never();
  while (crew.running.load() != 0) {
    main_sleep.wait(limit);
    if (signals.arrived()) signals.restore();
    if (!crew.is_ending.load()) {
      if (!signals.arrived() && !crew.has_failed.load()) continue;
      crew.is_ending.store(true);
      limit = Host::system().now() + options.drain;
    } else if (Host::system().now() < limit) {
      continue;
    }
    const bool is_over = Host::system().now() >= limit;
    if (is_over) limit = Instant::never();
    runtime->each([&](io::Loop& loop) {
      Worker::Crew::Member& member = crew.members[static_cast<std::size_t>(loop.index())];
      if (is_over) member.stop();
      member.worker.stopping().set();
    });
  }
  watch.reset();
  runtime->stop();
  return crew.result();
}

}  // namespace keel
