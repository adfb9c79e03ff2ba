#include "keel/http/server/server.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "keel/base/check.h"
#include "keel/http/server/internal/server_metrics.h"
#include "keel/http/server/internal/server_state.h"
#include "keel/http/server/internal/server_worker.h"
#include "keel/net/transport.h"

namespace keel::http {
namespace {

// Rejects limits with which the parser would abort at the first request.
Result<> check(const Limits& limits) {
  if (limits.head.fields_max <= RequestHead::fields_capacity) return {};
  return fail(Code::InvalidArgument,
              "Limits::head.fields_max is above 128, the maximum number of fields in a request head");
}

// The share of one worker if `parts` workers have a listener.
std::uint32_t share_of(std::uint32_t connections_max, std::size_t parts) {
  const auto workers = static_cast<std::uint32_t>(parts);
  return std::max(1u, connections_max / workers + (connections_max % workers != 0 ? 1 : 0));
}

ServerWorker::Shares shares_of(const Limits& limits, std::size_t parts) {
  const std::uint32_t connections = share_of(limits.connections_max, parts);
  const std::size_t bodies = limits.bodies_bytes_max / parts;
  return {
      .connections = connections,
      .body_bytes = bodies,
      .response_bytes = limits.responses_bytes_max / parts,
      .received_bytes = limits.received_bytes_max / parts,
      .client_connections = limits.client_connections_max != 0 ? share_of(limits.client_connections_max, parts)
                                                               : std::max(1u, connections / 2),
      .client_body_bytes = limits.client_bodies_bytes_max != 0 ? limits.client_bodies_bytes_max / parts : bodies / 2};
}

}  // namespace

Server::Server(const Router& router, ServerOptions options)
    : router_(router), options_(std::move(options)), address_(options_.address), state_(Owned<State>::make()) {}

Server::~Server() { stop(); }

bool Server::is_drained() const noexcept { return state_->open_workers.load(std::memory_order_acquire) == 0; }

void Server::make_metrics() {
  if (options_.metrics == nullptr) return;
  state_->metrics = std::make_unique<ServerMetrics>(*options_.metrics, options_.name, router_);
}

Result<> Server::start(io::Runtime& runtime, const std::vector<int>& inherited) {
  router_.seal();
  state_->runtime = &runtime;
  const bool binds = inherited.empty();
  const bool is_unix = options_.address.is_unix();
  Result<> result;
  // The workers share the port, so without this check a second process could share the port too.
  runtime.each([&](io::Loop& loop) {
    if (binds && loop.index() == 0) result = io::check_vacant(loop.engine(), options_.address, options_.listen);
  });
  options_.listen.reuse_port = binds && !is_unix;
  if (result) make_metrics();
  int unix_listener = -1;  // The listener of worker 0; all workers use this listener.
  runtime.each([&](io::Loop& loop) {
    if (!result) return;
    if (!binds) {
      result = listen_on_inherited(loop, inherited, loop.index(), runtime.workers());
    } else if (is_unix) {
      result =
          listen_on(loop, ListenerPart{unix_listener, runtime.workers() > 1, unix_listener < 0}, runtime.workers());
      if (result && unix_listener < 0) unix_listener = state_->workers.back()->acceptor().listener();
    } else {
      result = listen_on(loop, ListenerPart(), runtime.workers());
    }
  });
  if (result && state_->metrics != nullptr) state_->metrics->expose(*options_.metrics, *this);
  if (!result) stop();
  return result;
}

Result<> Server::start(io::Runtime& runtime, int worker, const std::vector<int>& inherited) {
  KEEL_CHECK(worker >= 0 && worker < runtime.workers(), "a server can listen only on an existing worker");
  router_.seal();
  state_->runtime = &runtime;
  make_metrics();
  Result<> result;
  runtime.each([&](io::Loop& loop) {
    if (loop.index() != worker) return;
    result = inherited.empty() ? listen_on(loop, ListenerPart(), 1) : listen_on_inherited(loop, inherited, 0, 1);
  });
  if (result && state_->metrics != nullptr) state_->metrics->expose(*options_.metrics, *this);
  if (!result) stop();
  return result;
}

Result<> Server::start(io::Loop& loop) {
  router_.seal();
  make_metrics();
  KEEL_TRY_VOID(listen_on(loop, ListenerPart(), 1));
  if (state_->metrics != nullptr) state_->metrics->expose(*options_.metrics, *this);
  return {};
}

// Gives `worker` its share of the inherited sockets: if there are fewer sockets than workers, several workers share a
// socket; if there are more, a worker has several sockets.
Result<> Server::listen_on_inherited(io::Loop& loop, const std::vector<int>& inherited, int worker, int workers) {
  const int sockets = static_cast<int>(inherited.size());
  const int parts = std::max(sockets, workers);
  for (int part = worker; part < parts; part += workers) {
    const int socket = inherited[static_cast<std::size_t>(part % sockets)];
    KEEL_TRY_VOID(listen_on(loop, ListenerPart{socket, parts > sockets, part < sockets}, parts));
  }
  return {};
}

// `part.fd` is an inherited listening socket; if it is below 0, the address is bound.
Result<> Server::listen_on(io::Loop& loop, ListenerPart part, int parts) {
  KEEL_TRY_VOID(check(options_.limits));
  if (options_.proxy_protocol && options_.trusted_proxies.empty()) {
    return fail(Code::InvalidArgument, "ServerOptions::proxy_protocol needs trusted_proxies");
  }
  io::ListenOptions listen = options_.listen;
  listen.inherited = part.fd;
  listen.user_timeout = options_.limits.user_timeout;
  KEEL_TRY(part.fd, loop.engine().open_listener(address_, listen));
  // If the port is 0, all listeners use the port that the system has chosen for the first listener.
  if (state_->workers.empty()) address_ = loop.engine().local_address(part.fd);
  const ServerWorker::Shared shared{router_, options_, state_->metrics.get(), state_->open_workers};
  state_->workers.push_back(
      std::make_unique<ServerWorker>(shared, loop, part, shares_of(options_.limits, static_cast<std::size_t>(parts))));
  state_->open_workers.fetch_add(1, std::memory_order_acq_rel);
  state_->workers.back()->begin();
  return {};
}

std::vector<int> Server::duplicate_listeners() {
  std::vector<int> copies;
  on_every_loop([&](ServerWorker& worker) {
    const int copy = worker.acceptor().is_first() && worker.acceptor().listener() >= 0 && !worker.is_draining()
                         ? ::fcntl(worker.acceptor().listener(), F_DUPFD_CLOEXEC, 0)
                         : -1;
    if (copy >= 0) copies.push_back(copy);
  });
  return copies;
}

void Server::on_every_loop(FunctionRef<void(ServerWorker&)> f) {
  if (state_->runtime == nullptr) {
    for (auto& worker : state_->workers) f(*worker);
    return;
  }
  state_->runtime->each([&](io::Loop& loop) {
    for (auto& worker : state_->workers) {
      if (&worker->loop() == &loop) f(*worker);
    }
  });
}

void Server::change(const Limits& limits, bool access_log) {
  KEEL_CHECK(check(limits), "Limits::head.fields_max is above 128, the maximum number of fields in a request head");
  const ServerWorker::Shares shares = shares_of(limits, std::max<std::size_t>(state_->workers.size(), 1));
  on_every_loop([&](ServerWorker& worker) { worker.change(limits, access_log, shares); });
}

void Server::begin_drain(Duration grace, Listening listening) {
  on_every_loop([=](ServerWorker& worker) { worker.begin_drain(grace, listening); });
}

bool Server::drain(Duration deadline, Listening listening) {
  begin_drain(std::min(listening == Listening::GoesOn ? Duration(2_s) : Duration(250_ms), deadline / 4), listening);
  KEEL_CHECK(state_->runtime != nullptr || is_drained(),
             "a server on the loop of the calling thread must be drained with begin_drain(), not with drain()");
  const bool all = is_drained() || state_->runtime->wait_until([this] { return is_drained(); }, deadline);
  stop();
  return all;
}

void Server::stop() {
  if (!is_drained()) on_every_loop([](ServerWorker& worker) { worker.abort_all(); });
  if (state_->runtime != nullptr) {
    state_->runtime->wait_until([this] { return is_drained(); }, Duration::forever());
    // The worker that reported the end of the drain may still be executing the call that made the report.
    if (!state_->workers.empty()) on_every_loop([](ServerWorker&) {});
  }
  KEEL_CHECK(is_drained(), "the loop must run until its server has drained");
  // A scrape for another server of this registry may be running now. When reset() returns, no thread is inside stats(),
  // but the jobs that a call of stats() has posted to the workers must still run.
  state_->metrics.reset();
  if (state_->runtime != nullptr && !state_->workers.empty()) on_every_loop([](ServerWorker&) {});
  state_->workers.clear();
}

Server::Stats Server::stats() const noexcept {
  Stats stats = sum_of(state_->workers);
  if (options_.https != nullptr) stats.handshakes_waiting = options_.https->waiting_handshakes();
  return stats;
}

std::vector<RouteStages> Server::stage_times() const {
  std::vector<RouteStages> times;
  for (const Router::RouteName& route : router_.routes()) {
    times.emplace_back();
    times.back().method = route.method;
    times.back().pattern = route.pattern;
  }
  times.emplace_back();
  for (const auto& worker : state_->workers) {
    const Stages& stages = worker->records().stages();
    for (std::size_t route = 0; route < times.size(); ++route) {
      times[route].measured += stages.measured(route);
      times[route].written += stages.written(route);
      for (int i = 0; i < stage_count; ++i) {
        const auto ns = static_cast<std::int64_t>(stages.nanoseconds(route, static_cast<Stage>(i)));
        times[route].of[i] = times[route].of[i] + Duration::nanoseconds(ns);
      }
    }
  }
  return times;
}

std::uint64_t Server::kernel_send_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& worker : state_->workers) {
    if (state_->runtime != nullptr) {
      bytes += worker->kernel_bytes().ask();
    } else if (io::Loop::current() == &worker->loop()) {
      bytes += worker->kernel_bytes().look();
    }
  }
  return bytes;
}

std::vector<std::uint64_t> Server::connections_by_worker() const {
  std::vector<std::uint64_t> connections;
  for (const auto& worker : state_->workers) {
    const auto index = static_cast<std::size_t>(worker->loop().index());
    if (connections.size() <= index) connections.resize(index + 1);
    connections[index] += worker->open_connections();
  }
  return connections;
}

}  // namespace keel::http
