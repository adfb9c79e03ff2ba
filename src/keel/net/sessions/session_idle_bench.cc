// What idle sessions cost their server: the part of a core that heartbeats take, memory, and how long one takes to
// begin.
//
//   net_sessions_session_idle_bench [sessions=10000] [heartbeat_sec=15] [seconds=15]
//
// The clients are a process of their own, over TCP, so that memory and CPU are the server's alone: what the process has
// resident, with the connections, without what the kernel keeps for sockets. Prints one line of JSON. Ends with 1 where
// a session did not come, was lost, or where fewer heartbeats came than there had to be.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "keel/net/listener.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/metrics.h"
#include "keel/net/messages/server.h"
#include "keel/net/run.h"
#include "keel/net/sessions/client.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"
#include "keel/observe/metric.h"
#include "keel/task/event.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::sessions {
namespace {

constexpr int few = 50;
constexpr int set_ups = 300;

double resident_kb() {
  long pages = 0, resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::abort();
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// --- the clients' process

Task<> hold_sessions(Address server, int count) {
  Handlers handlers;
  std::vector<std::unique_ptr<Client>> clients;
  Scope running;
  for (int i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<Client>(
        handlers, ClientOptions{.servers = {server}, .name = std::to_string(i), .reconnect_max = 1_s}));
    running.spawn(clients.back()->run(), OnError::Ignore);
    if (i % 50 == 49) co_await sleep_for(5_ms);
  }
  co_await running.join();
}

// One session after the other: from connecting to the server's welcome. Prints the median in microseconds.
Task<> begin_sessions(Address server, int count) {
  std::vector<double> took_us;
  for (int i = 0; i < count; ++i) {
    Event connected;
    Handlers handlers;
    handlers.on_event([&](Session&, const SessionEvent&) { connected.set(); });
    Client client(handlers, {.servers = {server}, .name = "set-up"});
    const Instant began = Host::system().now();
    Scope running;
    running.spawn(client.run(), OnError::Ignore);
    co_await connected.wait();
    took_us.push_back((Host::system().now() - began).count_seconds() * 1e6);
    client->end(Error(Code::Cancelled, "measured"));
    co_await running.join();
  }
  std::ranges::nth_element(took_us, took_us.begin() + count / 2);
  std::printf("%.1f\n", took_us[static_cast<std::size_t>(count / 2)]);
  std::fflush(stdout);
}

// --- the server's

// This program again, with what it prints in `said`.
pid_t start_clients(const char* what, const Address& server, int count, std::FILE*& said) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t process = fork();
  if (process == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl("/proc/self/exe", "clients", what, server.to_string().c_str(), std::to_string(count).c_str(), nullptr);
    std::abort();
  }
  close(ends[1]);
  said = fdopen(ends[0], "r");
  return process;
}

Task<> until_connected(const Registry& registry, std::uint64_t count) {
  while (registry.stats().connected < count) co_await sleep_for(20_ms);
}
Task<> until_begun(const Registry& registry, std::uint64_t count) {
  while (registry.stats().begun < count) co_await sleep_for(5_ms);
}
Task<> until_gone(const messages::Server& server, Server& sessions) {
  while (server.connections() != 0 || sessions.sessions() != 0) co_await sleep_for(5_ms);
}

struct Found {
  double idle_kb = 0, few_kb = 0, all_kb = 0;
  double core_percent = 0, heartbeats = 0, heartbeat_us = 0, set_up_us = 0;
};

Task<> measure(int count, Duration heartbeat, Duration measured) {
  Handlers handlers;
  const messages::Handlers requests;
  metrics::Registry counted;
  const messages::MessageMetrics frames(counted, "idle");
  Registry registry;
  ServerOptions options;
  options.session.heartbeat = heartbeat;
  Server sessions(registry, handlers, std::move(options));
  messages::ServerOptions of_messages;
  of_messages.connections_max = 100'000;
  of_messages.peer.heartbeat = Duration();
  of_messages.metrics = &frames;
  of_messages.on_open = [&](messages::Peer& peer) { sessions.open(peer); };
  messages::Server server(requests, std::move(of_messages));
  const io::ListenOptions listening{.backlog = 4096};
  const Address any = co_await Address::parse("127.0.0.1:0");
  Listener listener = co_await Listener::bind(any, listening);
  Event stopping;
  Scope serving;
  serving.spawn(server.serve(listener, stopping));
  Found found;
  found.idle_kb = resident_kb();
  for (const int stage : {few, count}) {
    std::FILE* said = nullptr;
    const pid_t clients = start_clients("--hold", listener.address(), stage, said);
    co_await with_timeout(40_s, until_connected(registry, static_cast<std::uint64_t>(stage)));
    co_await sleep_for(500_ms);
    (stage == few ? found.few_kb : found.all_kb) = resident_kb();
    if (stage == count) {
      const double used = cpu_seconds();
      const std::uint64_t came = frames.received.value();
      co_await sleep_for(measured);
      found.core_percent = 100 * (cpu_seconds() - used) / measured.count_seconds();
      found.heartbeats = static_cast<double>(frames.received.value() - came);
      found.heartbeat_us = found.core_percent / 100 * measured.count_seconds() * 1e6 / found.heartbeats;
      // A client's heartbeats are due once in each interval; one that is due at an end of the time may be outside.
      const double whole = std::floor(measured.count_seconds() / heartbeat.count_seconds());
      const bool is_whole = registry.stats().connected == static_cast<std::uint64_t>(count);
      if (!is_whole || registry.stats().heartbeats_missed != 0 || found.heartbeats < 0.95 * count * whole) {
        co_await fail(Code::FailedPrecondition, "a session was lost, or did not send its heartbeats");
      }
    }
    kill(clients, SIGKILL);
    waitpid(clients, nullptr, 0);
    std::fclose(said);
    sessions.each([](Session& session) { session.end(Error(Code::Cancelled, "measured")); });
    co_await with_timeout(40_s, until_gone(server, sessions));
  }
  std::FILE* said = nullptr;
  const pid_t clients = start_clients("--begin", listener.address(), set_ups, said);
  co_await with_timeout(40_s, until_begun(registry, static_cast<std::uint64_t>(few + count + set_ups)));
  co_await with_timeout(40_s, until_gone(server, sessions));
  const bool has_said = std::fscanf(said, "%lf", &found.set_up_us) == 1;
  std::fclose(said);
  waitpid(clients, nullptr, 0);
  if (!has_said) co_await fail(Code::FailedPrecondition, "the clients did not begin their sessions");
  std::printf(
      "{\"core_percent\":%.4f,\"heartbeat_us\":%.3f,\"heartbeats\":%.0f,\"idle_kb\":%.0f,\"few_kb\":%.0f,"
      "\"all_kb\":%.0f,\"bytes_a_session\":%.1f,\"set_up_us\":%.1f}\n",
      found.core_percent, found.heartbeat_us, found.heartbeats, found.idle_kb, found.few_kb, found.all_kb,
      1024 * (found.all_kb - found.idle_kb) / count, found.set_up_us);
  std::fflush(stdout);
  stopping.set();
  co_await serving.join();
  co_await sessions.stop();
}

}  // namespace
}  // namespace keel::sessions

int main(int argc, char** argv) {
  using namespace keel;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const std::string what = argc == 4 ? argv[1] : "";
  if (what == "--hold") return run(sessions::hold_sessions(*Address::parse(argv[2]), std::atoi(argv[3]))) ? 0 : 1;
  if (what == "--begin") return run(sessions::begin_sessions(*Address::parse(argv[2]), std::atoi(argv[3]))) ? 0 : 1;
  const auto number = [&](int i, int otherwise) { return argc > i ? std::max(1, std::atoi(argv[i])) : otherwise; };
  const Result<> ran =
      run(sessions::measure(number(1, 10'000), Duration::seconds(number(2, 15)), Duration::seconds(number(3, 15))));
  if (!ran) std::fprintf(stderr, "%s\n", ran.error().describe().c_str());
  return ran ? 0 : 1;
}
