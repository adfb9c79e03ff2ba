#include "keel/net/run.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "keel/io/runtime.h"
#include "keel/io/stall_watch.h"
#include "keel/net/listener.h"
#include "keel/observe/metric.h"
#include "keel/task/group.h"
#include "keel/task/timing.h"
#include "keel/task/until.h"

namespace keel::run_test {
namespace {

class Run : public ::testing::TestWithParam<io::EngineKind> {
 protected:
  void SetUp() override {
    if (!io::choose_engine(GetParam())) GTEST_SKIP() << "this engine is not to be had here";
  }
};
INSTANTIATE_TEST_SUITE_P(, Run, ::testing::Values(io::EngineKind::Uring, io::EngineKind::Epoll), [](const auto& kind) {
  return std::string(kind.param == io::EngineKind::Uring ? "uring" : "epoll");
});

Task<> converses(std::string& heard) {
  Listener listener = co_await Listener::bind(*Address::parse("127.0.0.1:0"));
  auto ends = co_await all(listener.accept(), Stream::connect(listener.address()));
  auto& [server, client] = ends;
  co_await client.write("hello");
  heard = std::string(co_await server.receive());
}
TEST_P(Run, ends_with_its_task) {
  std::string heard;
  EXPECT_TRUE(run(converses(heard), GetParam()).is_ok());
  EXPECT_EQ(heard, "hello");
}

Task<> ends_at_once(bool well) {
  if (!well) co_await fail(Code::Conflict, "not well");
}
TEST_P(Run, tells_the_error_of_its_task) {
  EXPECT_TRUE(run(ends_at_once(true), GetParam()).is_ok());
  EXPECT_EQ(run(ends_at_once(false), GetParam()).error().code(), Code::Conflict);
}

Task<> waits_for_a_peer(int signal, bool& cleaned_up) {
  struct CleanUp {
    bool& done;
    ~CleanUp() { done = true; }
  } clean_up{cleaned_up};
  Listener listener = co_await Listener::bind(*Address::parse("127.0.0.1:0"));
  Stream client = co_await Stream::connect(listener.address());
  co_await sleep_for(1_ms);
  ::raise(signal);
  co_await client.receive();
}
TEST_P(Run, a_signal_stops_the_task_and_is_no_error) {
  for (const int signal : {SIGINT, SIGTERM}) {
    bool cleaned_up = false;
    EXPECT_TRUE(run(waits_for_a_peer(signal, cleaned_up), GetParam()).is_ok());
    EXPECT_TRUE(cleaned_up);
  }
}

Task<> fails_when_stopped() {
  ::raise(SIGINT);
  const Result<> slept = co_await attempt(sleep_for(1_h));
  if (!slept) co_await fail(Code::Internal, "the end went wrong");
}
TEST_P(Run, an_error_at_the_end_is_told_though_a_signal_came) {
  EXPECT_EQ(run(fails_when_stopped(), GetParam()).error().code(), Code::Internal);
}

Task<> raises_twice() {
  ::raise(SIGINT);
  const Result<> slept = co_await attempt(sleep_for(1_h));
  if (!slept) ::raise(SIGINT);
}
TEST_P(Run, a_second_signal_does_what_it_did_before) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT((void)run(raises_twice(), GetParam()).is_ok(), ::testing::KilledBySignal(SIGINT), "");
}

// --- What was closed last.

// Ends the loop in the turn in which it ends itself: `idle` is destroyed in it, and something waits there.
Task<> ends_its_loop(Stream signal, Stream idle) {
  idle.watch();
  co_await signal.receive();
  io::Loop::current()->stop();
}
bool reads_the_end(int fd) {
  char byte = 0;
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, 5000) == 1 && ::recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}
struct Sockets {
  Sockets() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0); }
  ~Sockets() { ::close(ends[0]); }
  int ends[2];  // The second one is the worker's.
};
TEST_P(Run, a_runtime_that_stops_closes_the_streams_that_ended_in_its_last_turn) {
  Sockets signal;
  Sockets idle;
  Start<void> start;
  auto runtime = io::Runtime::make({.workers = 1, .engine = GetParam()}).value();
  ASSERT_TRUE(runtime->start());
  runtime->each([&](io::Loop&) {
    start.begin(ends_its_loop(Stream(signal.ends[1]), Stream(idle.ends[1])),
                [](StartCore& ended) noexcept { EXPECT_TRUE(static_cast<Start<void>&>(ended).take()); });
  });
  ASSERT_EQ(::write(signal.ends[0], "x", 1), 1);
  EXPECT_TRUE(reads_the_end(idle.ends[0]));
  EXPECT_TRUE(reads_the_end(signal.ends[0]));
  runtime->stop();
}

// --- On several workers. Signals come to the calling thread: workers block them.

class RunOnWorkers : public Run {
 protected:
  static RunOptions on(int workers, Duration drain = {}) {
    return {.workers = workers, .engine = GetParam(), .drain = drain};
  }
};
INSTANTIATE_TEST_SUITE_P(, RunOnWorkers, ::testing::Values(io::EngineKind::Uring, io::EngineKind::Epoll),
                         [](const auto& kind) { return kind.param == io::EngineKind::Uring ? "uring" : "epoll"; });

struct Seen {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<int> indices;
};
Task<> notes(Worker& worker, Seen& seen) {
  co_await sleep_for(1_ms);
  const std::lock_guard lock(seen.mutex);
  seen.threads.insert(std::this_thread::get_id());
  seen.indices.push_back(worker.index());
  EXPECT_EQ(worker.workers(), 3);
  EXPECT_EQ(io::Loop::current()->index(), worker.index());
}
TEST_P(RunOnWorkers, one_task_runs_on_each) {
  Seen seen;
  EXPECT_TRUE(run(on(3), [&](Worker& worker) { return notes(worker, seen); }));
  EXPECT_EQ(seen.threads.size(), 3u);
  std::ranges::sort(seen.indices);
  EXPECT_EQ(seen.indices, (std::vector{0, 1, 2}));
}
TEST_P(RunOnWorkers, there_is_one_for_each_core_where_nothing_is_said) {
  std::atomic<int> count = 0;
  RunOptions options = on(0);
  options.pin = true;
  EXPECT_TRUE(run(options, [&](Worker&) -> Task<> {
    ++count;
    return ends_at_once(true);
  }));
  EXPECT_GE(count, 1);
}

// The others sleep until they are stopped.
Task<> fails_on(Worker& worker, int which, Duration after, std::atomic<int>& stopped) {
  if (worker.index() == which) {
    co_await sleep_for(after);
    co_await fail(Code::Conflict, "not well");
  }
  const Result<> slept = co_await attempt(sleep_for(1_h));
  if (!slept) ++stopped;
}
TEST_P(RunOnWorkers, the_error_of_one_is_told_and_ends_the_others) {
  for (const Duration after : {Duration(), 2_ms}) {
    std::atomic<int> stopped = 0;
    const Result<> ended = run(on(3), [&](Worker& worker) { return fails_on(worker, 1, after, stopped); });
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code(), Code::Conflict);
    EXPECT_EQ(ended.error().describe(), "worker 1: not well");
    EXPECT_EQ(stopped, 2);
  }
}
TEST_P(RunOnWorkers, the_errors_of_several_are_all_told) {
  const Result<> ended = run(on(2), [](Worker& worker) { return ends_at_once(worker.index() > 1); });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), Code::Conflict);
  EXPECT_EQ(ended.error().describe(), "worker 0: not well; worker 1: not well");
}
TEST_P(RunOnWorkers, a_single_one_needs_no_name) {
  const Result<> ended = run(on(1), [](Worker&) { return ends_at_once(false); });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().describe(), "not well");
}
Task<> cancels_itself() { co_await fail(Code::Cancelled, "gave up"); }
TEST_P(RunOnWorkers, a_task_that_ends_with_cancelled_unasked_has_failed) {
  EXPECT_EQ(run(on(2), [](Worker&) { return cancels_itself(); }).error().code(), Code::Cancelled);
}

// The first worker is signalled once both have begun.
Task<> is_signalled(Worker& worker, int signal, std::atomic<int>& stopped) {
  if (worker.index() == 0) {
    co_await sleep_for(1_ms);
    ::kill(::getpid(), signal);
  }
  const Result<> slept = co_await attempt(sleep_for(1_h));
  if (!slept) ++stopped;
  co_await sleep_for(1_ms);  // Refused.
  stopped = -1;
}
TEST_P(RunOnWorkers, a_signal_stops_all_and_is_no_error) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::atomic<int> stopped = 0;
    EXPECT_TRUE(run(on(2), [&](Worker& worker) { return is_signalled(worker, signal, stopped); }));
    EXPECT_EQ(stopped, 2);
  }
}
Task<> kills_twice() {
  ::kill(::getpid(), SIGINT);
  const Result<> slept = co_await attempt(sleep_for(1_h));
  if (!slept) ::kill(::getpid(), SIGINT);
}
TEST_P(RunOnWorkers, a_second_signal_does_what_it_did_before) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT((void)run(on(2), [](Worker&) { return kills_twice(); }).is_ok(), ::testing::KilledBySignal(SIGINT), "");
}

// As a user that the limit of threads applies to; prints what run() returned.
[[noreturn]] void runs_with_threads(rlim_t threads, const RunOptions& options) {
  const rlimit limit{.rlim_cur = threads, .rlim_max = threads};
  if (::setrlimit(RLIMIT_NPROC, &limit) != 0 || (::geteuid() == 0 && ::setuid(65'534) != 0)) ::_exit(2);
  const Result<> ran = run(options, [](Worker&) -> Task<> { co_return; });
  std::fprintf(stderr, "%s\n", ran ? "it ran" : ran.error().describe().c_str());
  ::_exit(!ran && ran.error().code() == Code::ResourceExhausted ? 0 : 1);
}
TEST_P(RunOnWorkers, the_lack_of_a_thread_is_an_error) {
  if (GetParam() != io::EngineKind::Epoll) GTEST_SKIP() << "the rings of another user need memory that it may lock";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(runs_with_threads(2, on(3)), ::testing::ExitedWithCode(0), "starting a worker: cannot start a thread: ");
  RunOptions watched = on(1);
  watched.stall_after = 1_s;
  watched.on_stall = [](const io::Stall&) {};
  EXPECT_EXIT(runs_with_threads(2, watched), ::testing::ExitedWithCode(0), "cannot start a thread: ");
}

// --- Time to finish.

Task<> finishes(Worker& worker, Duration needs, std::atomic<int>& finished) {
  if (worker.index() == 0) {
    co_await sleep_for(1_ms);
    ::kill(::getpid(), SIGINT);
  }
  co_await worker.stopping().wait();
  co_await sleep_for(needs);
  ++finished;
}
TEST_P(RunOnWorkers, those_who_look_have_time_to_finish) {
  std::atomic<int> finished = 0;
  const Instant began = Host::system().now();
  EXPECT_TRUE(run(on(2, 1_h), [&](Worker& worker) { return finishes(worker, 5_ms, finished); }));
  EXPECT_EQ(finished, 2);
  EXPECT_LT(Host::system().now() - began, 60_s);
}
TEST_P(RunOnWorkers, the_time_to_finish_ends_and_is_none_by_default) {
  for (const Duration drain : {Duration(), 20_ms}) {
    std::atomic<int> finished = 0;
    const Instant began = Host::system().now();
    EXPECT_TRUE(run(on(2, drain), [&](Worker& worker) { return finishes(worker, 1_h, finished); }));
    EXPECT_EQ(finished, 0);
    EXPECT_GE(Host::system().now() - began, drain);
    EXPECT_LT(Host::system().now() - began, 60_s);
  }
}
Task<> fails_beside(Worker& worker, std::atomic<int>& finished) {
  if (worker.index() == 1) co_await fail(Code::Conflict, "not well");
  co_await worker.stopping().wait();
  co_await sleep_for(1_ms);
  ++finished;
}
TEST_P(RunOnWorkers, others_have_time_to_finish_when_one_fails) {
  std::atomic<int> finished = 0;
  const Result<> ended = run(on(3, 1_h), [&](Worker& worker) { return fails_beside(worker, finished); });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), Code::Conflict);
  EXPECT_EQ(finished, 2);
}
Task<> fails_at_the_end(Worker& worker) {
  if (worker.index() == 0) ::kill(::getpid(), SIGTERM);
  co_await worker.stopping().wait();
  co_await fail(Code::DataLoss, "not written");
}
TEST_P(RunOnWorkers, errors_at_the_end_are_told_though_a_signal_came) {
  const Result<> ended = run(on(2, 1_h), [](Worker& worker) { return fails_at_the_end(worker); });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), Code::DataLoss);
}

// --- Stalls.

Task<> blocks(Worker& worker, std::atomic<bool>& is_told) {
  const Instant limit = Host::system().now() + 20_s;
  while (worker.index() == 1 && !is_told && Host::system().now() < limit) ::usleep(100);
  co_return;
}
TEST_P(RunOnWorkers, a_worker_that_does_not_come_back_to_its_loop_is_told_of) {
  std::atomic<bool> is_told = false;
  RunOptions options = on(2);
  options.stall_after = 10_ms;
  options.on_stall = [&](const io::Stall& stall) {
    EXPECT_EQ(stall.worker, 1);
    EXPECT_TRUE(!stall.is_first || stall.stack.find("blocks") != std::string::npos) << stall.stack;
    is_told = true;
  };
  EXPECT_TRUE(run(options, [&](Worker& worker) { return blocks(worker, is_told); }));
  EXPECT_TRUE(is_told);
}

// --- Listening.

Address any_port() { return Address::parse("127.0.0.1:0").value(); }

struct Ports {
  std::mutex mutex;
  std::vector<std::uint16_t> first;
  std::vector<std::uint16_t> second;
};
Task<> listens_twice(Worker& worker, Ports& ports) {
  Listener first = co_await worker.listen(any_port());
  Listener second = co_await worker.listen(any_port());
  const std::lock_guard lock(ports.mutex);
  ports.first.push_back(first.address().port());
  ports.second.push_back(second.address().port());
}
TEST_P(RunOnWorkers, all_listen_at_the_port_that_the_first_one_got) {
  Ports ports;
  EXPECT_TRUE(run(on(3), [&](Worker& worker) { return listens_twice(worker, ports); }));
  ASSERT_EQ(ports.first.size(), 3u);
  EXPECT_NE(ports.first[0], ports.second[0]);
  EXPECT_EQ(ports.first, std::vector(3, ports.first[0]));
  EXPECT_EQ(ports.second, std::vector(3, ports.second[0]));
}

// A listening socket of the test's own.
class Listening {
 public:
  explicit Listening(const Address& address) : fd_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    EXPECT_EQ(::setsockopt(fd_, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    EXPECT_EQ(::bind(fd_, address.system(), address.system_size()), 0);
    EXPECT_EQ(::listen(fd_, 64), 0);
  }
  ~Listening() { ::close(fd_); }
  int fd() const { return fd_; }
  Address address() const {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&storage), &size), 0);
    return Address::from_system(reinterpret_cast<sockaddr*>(&storage), size);
  }

 private:
  const int fd_;
};
Task<> listens(Worker& worker, Address at, io::ListenOptions options) {
  Listener listener = co_await worker.listen(at, options);
  EXPECT_EQ(listener.address().port(), at.port());
}
TEST_P(RunOnWorkers, a_port_that_another_process_shares_is_taken) {
  const Listening other(any_port());
  const Address at = other.address();
  const Result<> ended = run(on(2), [&](Worker& worker) { return listens(worker, at, {}); });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), Code::AlreadyExists);
  EXPECT_NE(ended.error().describe().find("worker 1"), std::string::npos) << ended.error().describe();
  EXPECT_TRUE(run(on(2), [&](Worker& worker) { return listens(worker, at, {.reuse_port = true}); }))
      << "unless it is to be shared";
}
TEST_P(RunOnWorkers, an_address_that_is_not_there_is_an_error_of_each) {
  for (const char* const text : {"192.0.2.1:0", "unix:/nowhere/at/all.sock"}) {
    const Address at = Address::parse(text).value();
    const Result<> ended = run(on(2), [&](Worker& worker) { return listens(worker, at, {}); });
    ASSERT_FALSE(ended);
    EXPECT_NE(ended.error().describe().find("worker 0: "), std::string::npos) << ended.error().describe();
    EXPECT_NE(ended.error().describe().find("worker 1: "), std::string::npos) << ended.error().describe();
  }
}
// Begun one after the other, each ends its listener before the next one listens.
Task<> listens_in_turn(Worker& worker, Address at, std::atomic<int>& ended) {
  {
    Listener listener = co_await worker.listen(at);
  }
  ++ended;
  while (ended < worker.workers()) co_await sleep_for(1_ms);
  bool is_answered = true;
  for (int i = 0; i < 200 && is_answered; ++i) {
    co_await sleep_for(10_ms);
    const Result<Stream> peer = co_await attempt(Stream::connect(at));
    is_answered = peer.is_ok();
  }
  EXPECT_FALSE(is_answered);
}
TEST_P(RunOnWorkers, a_unix_socket_lasts_until_all_have_listened_there_and_their_listeners_have_ended) {
  const std::string path = ::testing::TempDir() + "keel_run_" + std::to_string(getpid()) + ".sock";
  const Address at = Address::parse("unix:" + path).value();
  std::atomic<int> ended = 0;
  EXPECT_TRUE(run(on(3), [&](Worker& worker) { return listens_in_turn(worker, at, ended); }));
  EXPECT_EQ(ended, 3);
  std::remove(path.c_str());
}

// --- How connections spread.

constexpr int connection_count = 64;

struct Spread {
  Address address() {
    const std::lock_guard lock(mutex);
    return bound;
  }
  std::mutex mutex;
  Address bound;
  std::atomic<int> listening = 0;
  std::atomic<int> thread[2] = {0, 0};  // Of each worker.
  std::atomic<int> accepted[2] = {0, 0};
};
// Whether a thread waits: its state is the first letter after the name, which is in parentheses.
bool is_waiting(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text[name_end + 2] == 'S';
}
Task<> accepts(Worker& worker, Address at, io::ListenOptions options, Spread& spread) {
  Listener listener = co_await worker.listen(at, options);
  {
    const std::lock_guard lock(spread.mutex);
    spread.bound = listener.address();
  }
  spread.thread[worker.index()] = static_cast<int>(::syscall(SYS_gettid));
  ++spread.listening;
  std::vector<Stream> peers;
  while (auto peer = co_await until(worker.stopping(), listener.accept())) {
    peers.push_back(*std::move(peer));
    ++spread.accepted[worker.index()];
  }
}
template <class Reached>
bool within_limit(Reached reached) {
  const Instant limit = Host::system().now() + 20_s;
  while (!reached() && Host::system().now() < limit) Host::system().sleep(100_us);
  return reached();
}
// One after the other, each when the last one has been accepted and both workers wait again, since otherwise a busy
// machine decides who is first; then ends the program.
void connect_all(Spread& spread) {
  std::vector<int> clients;
  EXPECT_TRUE(within_limit([&] { return spread.listening == 2; }));
  const Address address = spread.address();
  for (int i = 0; i < connection_count && !::testing::Test::HasFailure(); ++i) {
    EXPECT_TRUE(within_limit([&] { return is_waiting(spread.thread[0]) && is_waiting(spread.thread[1]); }));
    clients.push_back(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(clients.back(), address.system(), address.system_size()), 0);
    EXPECT_TRUE(within_limit([&] { return spread.accepted[0] + spread.accepted[1] == i + 1; }));
  }
  ::kill(::getpid(), SIGTERM);
  for (const int fd : clients) {
    EXPECT_TRUE(reads_the_end(fd));
    ::close(fd);
  }
}

// The kernel gives each connection to a listener of its own by a hash of its addresses and ports with a secret: a fair
// coin for each. Of 64 one of two workers has fewer than 13 with a probability of 4.6e-7 (twice the sum over k < 13 of
// C(64, k) / 2^64). Those who share a listener take turns: whoever has accepted goes to the end of the line.
TEST_P(RunOnWorkers, connections_spread_over_the_workers) {
  const std::string path = ::testing::TempDir() + "keel_run_" + std::to_string(getpid()) + ".sock";
  const Listening inherited(any_port());
  struct Case {
    Address at;
    io::ListenOptions options;
  };
  for (const Case& c : {Case{any_port(), {}}, Case{Address::parse("unix:" + path).value(), {}},
                        Case{inherited.address(), {.inherited = inherited.fd()}}}) {
    SCOPED_TRACE(c.at.to_string());
    metrics::Registry registry;
    Spread spread;
    RunOptions options = on(2, 1_h);
    options.metrics = &registry;
    std::thread clients([&] { connect_all(spread); });
    EXPECT_TRUE(run(options, [&](Worker& worker) { return accepts(worker, c.at, c.options, spread); }));
    clients.join();
    const int by_worker[] = {spread.accepted[0], spread.accepted[1]};
    std::printf("%d and %d of %d\n", by_worker[0], by_worker[1], connection_count);
    EXPECT_EQ(by_worker[0] + by_worker[1], connection_count);
    EXPECT_GE(std::min(by_worker[0], by_worker[1]), 13);
    for (int i = 0; metrics::is_recorded && i < 2; ++i) {
      const metrics::Counter counted =
          registry.counter("net_accepted_total", "Connections accepted", {{"worker", std::to_string(i)}});
      EXPECT_EQ(counted.value(), static_cast<std::uint64_t>(by_worker[i]));
    }
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace keel::run_test
