// What idle sessions cost their server: bytes of memory for each, and the part of a core that heartbeats take.
//
//   net_sessions_session_idle_bench [sessions=10000] [heartbeat_sec=15] [seconds=30]
//
// The clients are a process of their own, over a Unix socket, so that memory and CPU are the server's alone: what the
// process has resident, with the connections, without what the kernel keeps for sockets. Prints lines of JSON.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "keel/net/listener.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/server.h"
#include "keel/net/run.h"
#include "keel/net/sessions/client.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::sessions {
namespace {

double resident_bytes() {
  long pages = 0, resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::abort();
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Task<> run_clients(Address server, int count) {
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

Task<> until_connected(const Registry& registry, std::uint64_t count) {
  while (registry.stats().connected < count) co_await sleep_for(20_ms);
}

Task<> run_server(Address at, int count, Duration heartbeat, Duration measured) {
  Handlers handlers;
  const messages::Handlers requests;
  Registry registry;
  ServerOptions options;
  options.session.heartbeat = heartbeat;
  Server sessions(registry, handlers, std::move(options));
  messages::ServerOptions of_messages;
  of_messages.connections_max = 100'000;
  of_messages.peer.heartbeat = Duration();
  of_messages.on_open = [&](messages::Peer& peer) { sessions.open(peer); };
  messages::Server server(requests, std::move(of_messages));
  const io::ListenOptions listening{.backlog = 4096};
  Listener listener = co_await Listener::bind(at, listening);
  Event stopping;
  Scope serving;
  serving.spawn(server.serve(listener, stopping));
  const double empty = resident_bytes();
  for (const int stage : {50, count}) {
    const pid_t clients = fork();
    if (clients == 0) {
      execl("/proc/self/exe", "clients", "--clients", at.to_string().c_str(), std::to_string(stage).c_str(), nullptr);
      std::abort();
    }
    co_await with_timeout(120_s, until_connected(registry, static_cast<std::uint64_t>(stage)));
    co_await sleep_for(500_ms);
    const double bytes = (resident_bytes() - empty) / stage;
    const double before = cpu_seconds();
    const Duration wait = stage == count ? measured : 0_s;
    co_await sleep_for(wait);
    std::printf("{\"sessions\":%d,\"resident_bytes\":%.0f,\"bytes_a_session\":%.0f", stage, resident_bytes(), bytes);
    if (stage == count) {
      std::printf(",\"heartbeat_sec\":%.0f,\"core_percent\":%.3f,\"missed\":%llu", heartbeat.count_seconds(),
                  100 * (cpu_seconds() - before) / wait.count_seconds(),
                  static_cast<unsigned long long>(registry.stats().heartbeats_missed));
    }
    std::printf("}\n");
    std::fflush(stdout);
    kill(clients, SIGKILL);
    waitpid(clients, nullptr, 0);
    sessions.each([](Session& session) { session.end(Error(Code::Cancelled, "measured")); });
    while (server.connections() != 0) co_await sleep_for(20_ms);
  }
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
  if (argc == 4 && std::string(argv[1]) == "--clients") {
    return run(sessions::run_clients(*Address::parse(argv[2]), std::atoi(argv[3]))) ? 0 : 1;
  }
  const auto number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const Address at = *Address::parse("unix:keel_idle_" + std::to_string(getpid()) + ".sock");
  const Result<> ran = run(
      sessions::run_server(at, number(1, 10'000), Duration::seconds(number(2, 15)), Duration::seconds(number(3, 30))));
  if (!ran) std::fprintf(stderr, "%s\n", ran.error().describe().c_str());
  return ran ? 0 : 1;
}
