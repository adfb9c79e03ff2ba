#include "keel/http/server/server.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "keel/base/check.h"
#include "keel/http/server/internal/acceptor.h"
#include "keel/http/server/internal/server_state.h"

namespace keel::http {
namespace {

constexpr std::string_view class_names[5] = {"1xx", "2xx", "3xx", "4xx", "5xx"};

// How often accepting stopped, by why.
constexpr std::string_view pauses_name = "http_accept_pauses_total";
constexpr std::string_view pauses_help =
    "Times that a worker stopped accepting: limit of connections, no descriptors, "
    "no memory";

// What a parser would abort at, with the first request.
Result<> check(const Limits& limits) {
  if (limits.head.fields_max <= RequestHead::fields_capacity) return {};
  return fail(Code::InvalidArgument, "Limits::head.fields_max is above 128, for which a head has room");
}

// Of one worker, when `parts` workers have a listener.
std::uint32_t share_of(std::uint32_t connections_max, std::size_t parts) {
  const auto workers = static_cast<std::uint32_t>(parts);
  return std::max(1u, connections_max / workers + (connections_max % workers != 0 ? 1 : 0));
}

}  // namespace

Server::Metrics::Metrics(metrics::Registry& registry, const Server& server)
    : refused{registry.counter("http_refused_total", "Requests refused by the parser or a limit, before any handler",
                               {{"server", server.options_.name}, {"status_class", "4xx"}}),
              registry.counter("http_refused_total", "Requests refused by the parser or a limit, before any handler",
                               {{"server", server.options_.name}, {"status_class", "5xx"}})} {
  const std::string_view name = server.options_.name;
  auto add_route = [&](std::string_view method, std::string_view pattern) {
    const auto by_class = [&](int i) {
      return registry.counter(
          "http_requests_total", "Requests answered",
          {{"server", name}, {"method", method}, {"route", pattern}, {"status_class", class_names[i]}});
    };
    routes.push_back(
        {{by_class(0), by_class(1), by_class(2), by_class(3), by_class(4)},
         registry.histogram("http_request_duration_seconds", "From the last byte of a request's head to its answer",
                            metrics::latency_seconds, {{"server", name}, {"method", method}, {"route", pattern}})});
  };
  for (int i = 0; i < cut_count; ++i) {
    cut.push_back(
        registry.counter("http_requests_cut_total",
                         "Requests whose connection ended before they were answered, by how far they had come",
                         {{"server", name}, {"during", to_string(static_cast<Cut>(i))}}));
  }
  for (int i = 0; i < stage_count; ++i) {
    stages.push_back(registry.histogram(
        "http_stage_duration_seconds", "How long measured requests were in a stage, of those that were in it",
        metrics::latency_seconds, {{"server", name}, {"stage", to_string(static_cast<Stage>(i))}}));
  }
  for (const Router::RouteName& route : server.router_.routes()) add_route(to_string(route.method), route.pattern);
  add_route("", "");
}

void Server::Metrics::expose(metrics::Registry& registry, const Server& server) {
  const std::string_view name = server.options_.name;
  const auto total = [&](std::string_view metric, std::string_view help, std::uint64_t Stats::* field) {
    functions.push_back(registry.counter(metric, help, {{"server", name}},
                                         [&server, field] { return static_cast<double>(server.stats().*field); }));
  };
  functions.push_back(registry.gauge("http_connections", "Connections open now", {{"server", name}},
                                     [&server] { return static_cast<double>(server.stats().connections); }));
  for (std::size_t worker = 0; worker < server.connections_by_worker().size(); ++worker) {
    functions.push_back(registry.gauge("http_worker_connections", "Connections open now on one worker",
                                       {{"server", name}, {"worker", std::to_string(worker)}}, [&server, worker] {
                                         return static_cast<double>(server.connections_by_worker()[worker]);
                                       }));
  }
  total("http_accepted_total", "Connections accepted", &Stats::accepted);
  total("http_timeouts_total", "Connections on which a time limit was met", &Stats::timeouts);
  total("http_idle_closed_total", "Idle connections closed to make room for others", &Stats::idle_closed);
  total("http_aborted_total", "Connections that ended with an answer unsent", &Stats::aborted);
  total("http_slow_readers_total", "Connections cut because their answer was taken too slowly", &Stats::slow_readers);
  total("http_bodies_refused_total", "Bodies refused because too much memory was held for bodies",
        &Stats::bodies_refused);
  total("http_requests_too_big_total", "Requests that needed more memory than one may", &Stats::requests_too_big);
  total("http_overload_refused_total", "Requests refused because their worker was late with all", &Stats::overloaded);
  const auto pauses = [&](std::string_view reason, std::uint64_t Stats::* field) {
    functions.push_back(registry.counter(pauses_name, pauses_help, {{"server", name}, {"reason", reason}},
                                         [&server, field] { return static_cast<double>(server.stats().*field); }));
  };
  pauses("limit", &Stats::paused_full);
  pauses("descriptors", &Stats::paused_descriptors);
  pauses("memory", &Stats::paused_memory);
  const auto gauge = [&](std::string_view metric, std::string_view help, std::uint64_t Stats::* field) {
    functions.push_back(registry.gauge(metric, help, {{"server", name}},
                                       [&server, field] { return static_cast<double>(server.stats().*field); }));
  };
  gauge("http_connections_max", "Connections above which accepting stops", &Stats::connections_max);
  gauge("http_upgraded_connections", "Connections that have left HTTP and are open", &Stats::upgraded);
  gauge("http_body_bytes", "Memory held for bodies now", &Stats::body_bytes);
  gauge("http_body_bytes_max", "Memory that bodies may hold", &Stats::body_bytes_max);
}

Server::Server(const Router& router, ServerOptions options)
    : router_(router), options_(std::move(options)), address_(options_.address), state_(new State) {}

Server::~Server() {
  stop();
  delete state_;
}

bool Server::is_drained() const noexcept { return state_->open_acceptors.load(std::memory_order_acquire) == 0; }

Result<> Server::start(io::Runtime& runtime, const std::vector<int>& inherited) {
  router_.seal();
  state_->runtime = &runtime;
  const bool binds = inherited.empty();
  const bool is_unix = options_.address.is_unix();
  Result<> result;
  // Ports are shared by our own workers; a second instance would silently take a part of the connections. So first ask
  // without sharing.
  if (binds && !is_unix && options_.address.port() != 0) {
    runtime.each([&](io::Loop& loop) {
      if (loop.index() != 0) return;
      auto probe = loop.engine().open_listener(options_.address, options_.listen);
      if (probe) {
        loop.engine().close(*probe);
      } else {
        result = std::unexpected(std::move(probe).error());
      }
    });
    // The close of the probe leaves with the engine's next submission.
    runtime.each([](io::Loop&) {});
  }
  options_.listen.reuse_port = binds && !is_unix;
  if (result && options_.metrics != nullptr) state_->metrics = std::make_unique<Metrics>(*options_.metrics, *this);
  int unix_listener = -1;  // Of worker 0, for all.
  runtime.each([&](io::Loop& loop) {
    if (!result) return;
    if (!binds) {
      result = listen_on_inherited(loop, inherited, loop.index(), runtime.workers());
    } else if (is_unix) {
      result = listen_on(loop, {unix_listener, runtime.workers() > 1, unix_listener < 0}, runtime.workers());
      if (result && unix_listener < 0) unix_listener = state_->acceptors.back()->listener();
    } else {
      result = listen_on(loop, {}, runtime.workers());
    }
  });
  if (result && state_->metrics != nullptr) state_->metrics->expose(*options_.metrics, *this);
  if (!result) stop();
  return result;
}

Result<> Server::start(io::Runtime& runtime, int worker, const std::vector<int>& inherited) {
  KEEL_CHECK(worker >= 0 && worker < runtime.workers(), "a server listens on a worker that is there");
  router_.seal();
  state_->runtime = &runtime;
  if (options_.metrics != nullptr) state_->metrics = std::make_unique<Metrics>(*options_.metrics, *this);
  Result<> result;
  runtime.each([&](io::Loop& loop) {
    if (loop.index() != worker) return;
    result = inherited.empty() ? listen_on(loop, {}, 1) : listen_on_inherited(loop, inherited, 0, 1);
  });
  if (result && state_->metrics != nullptr) state_->metrics->expose(*options_.metrics, *this);
  if (!result) stop();
  return result;
}

Result<> Server::start(io::Loop& loop) {
  router_.seal();
  if (options_.metrics != nullptr) state_->metrics = std::make_unique<Metrics>(*options_.metrics, *this);
  KEEL_TRY_VOID(listen_on(loop, {}, 1));
  if (state_->metrics != nullptr) state_->metrics->expose(*options_.metrics, *this);
  return {};
}

// The share of `worker`: with fewer sockets than workers, sockets are shared; with more, workers have several.
Result<> Server::listen_on_inherited(io::Loop& loop, const std::vector<int>& inherited, int worker, int workers) {
  const int sockets = static_cast<int>(inherited.size());
  const int parts = std::max(sockets, workers);
  for (int part = worker; part < parts; part += workers) {
    const int socket = inherited[static_cast<std::size_t>(part % sockets)];
    KEEL_TRY_VOID(listen_on(loop, {socket, parts > sockets, part < sockets}, parts));
  }
  return {};
}

Result<> Server::listen_on(io::Loop& loop, const Part& part, int parts) {
  KEEL_TRY_VOID(check(options_.limits));
  io::ListenOptions listen = options_.listen;
  listen.inherited = part.inherited;
  KEEL_TRY(int listener, loop.engine().open_listener(address_, listen));
  // The first listener of port 0 decides the port for all.
  if (state_->acceptors.empty()) address_ = loop.engine().local_address(listener);
  const std::uint32_t most = share_of(options_.limits.connections_max, static_cast<std::size_t>(parts));
  state_->acceptors.push_back(
      std::make_unique<Acceptor>(*this, loop, Acceptor::Listener{listener, part.shared, part.first}, most,
                                 options_.limits.bodies_bytes_max / static_cast<std::size_t>(parts)));
  state_->open_acceptors.fetch_add(1, std::memory_order_acq_rel);
  state_->acceptors.back()->begin();
  return {};
}

std::vector<int> Server::duplicate_listeners() {
  std::vector<int> copies;
  on_every_loop([&](Acceptor& acceptor) {
    const int copy = acceptor.is_first() && acceptor.listener() >= 0 && !acceptor.is_draining()
                         ? ::fcntl(acceptor.listener(), F_DUPFD_CLOEXEC, 0)
                         : -1;
    if (copy >= 0) copies.push_back(copy);
  });
  return copies;
}

void Server::on_every_loop(FunctionRef<void(Acceptor&)> f) {
  if (state_->runtime == nullptr) {
    for (auto& acceptor : state_->acceptors) f(*acceptor);
    return;
  }
  state_->runtime->each([&](io::Loop& loop) {
    for (auto& acceptor : state_->acceptors) {
      if (&acceptor->loop() == &loop) f(*acceptor);
    }
  });
}

void Server::change(const Limits& limits, bool access_log) {
  KEEL_CHECK(check(limits), "a head has room for 128 fields");
  const std::uint32_t most = share_of(limits.connections_max, std::max<std::size_t>(state_->acceptors.size(), 1));
  const std::size_t bodies = limits.bodies_bytes_max / std::max<std::size_t>(state_->acceptors.size(), 1);
  on_every_loop([&](Acceptor& acceptor) { acceptor.change(limits, access_log, most, bodies); });
}

void Server::begin_drain(Duration grace, Listening listening) {
  on_every_loop([=](Acceptor& acceptor) { acceptor.begin_drain(grace, listening); });
}

bool Server::drain(Duration deadline, Listening listening) {
  begin_drain(std::min(listening == Listening::GoesOn ? Duration(2_s) : Duration(250_ms), deadline / 4), listening);
  KEEL_CHECK(state_->runtime != nullptr || is_drained(),
             "on a loop of its own thread a server drains by begin_drain()");
  const Instant until = Host::system().now() + deadline;
  while (!is_drained() && Host::system().now() < until) Host::system().sleep(5_ms);
  const bool all = is_drained();
  stop();
  return all;
}

void Server::stop() {
  if (!is_drained()) on_every_loop([](Acceptor& acceptor) { acceptor.abort_all(); });
  if (state_->runtime != nullptr) {
    for (int open; (open = state_->open_acceptors.load(std::memory_order_acquire)) != 0;)
      state_->open_acceptors.wait(open);
    // The worker that said so may still be on its way out of the acceptor.
    if (!state_->acceptors.empty()) on_every_loop([](Acceptor&) {});
  }
  KEEL_CHECK(is_drained(), "the loop turns until a server that was told to stop is drained");
  // Another server of this registry may still be asked for metrics: nobody may be inside stats().
  state_->metrics.reset();
  state_->acceptors.clear();
}

Server::Stats Server::stats() const noexcept {
  Stats sum;
  for (const auto& acceptor : state_->acceptors) {
    sum.connections += acceptor->tally.connections.get();
    sum.accepted += acceptor->tally.accepted.get();
    sum.requests += acceptor->tally.requests.get();
    sum.refused += acceptor->tally.refused.get();
    sum.timeouts += acceptor->tally.timeouts.get();
    sum.aborted += acceptor->tally.aborted.get();
    sum.paused_full += acceptor->tally.paused_full.get();
    sum.paused_descriptors += acceptor->tally.paused_descriptors.get();
    sum.paused_memory += acceptor->tally.paused_memory.get();
    sum.idle_closed += acceptor->tally.idle_closed.get();
    sum.body_bytes += acceptor->tally.body_bytes.get();
    sum.bodies_refused += acceptor->tally.bodies_refused.get();
    sum.overloaded += acceptor->tally.overloaded.get();
    sum.cut += acceptor->tally.cut.get();
    sum.slow_readers += acceptor->tally.slow_readers.get();
    sum.upgraded += acceptor->tally.upgraded.get();
    sum.requests_too_big += acceptor->tally.requests_too_big.get();
    sum.connections_max += acceptor->tally.connections_max.get();
    sum.body_bytes_max += acceptor->tally.body_bytes_max.get();
  }
  return sum;
}

std::vector<RouteStages> Server::stage_times() const {
  std::vector<RouteStages> times;
  for (const Router::RouteName& route : router_.routes()) {
    times.emplace_back();
    times.back().method = route.method;
    times.back().pattern = route.pattern;
  }
  times.emplace_back();
  for (const auto& acceptor : state_->acceptors) {
    const Stages& stages = acceptor->stages();
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

std::vector<std::uint64_t> Server::connections_by_worker() const {
  std::vector<std::uint64_t> connections;
  for (const auto& acceptor : state_->acceptors) {
    const auto worker = static_cast<std::size_t>(acceptor->loop().index());
    if (connections.size() <= worker) connections.resize(worker + 1);
    connections[worker] += acceptor->tally.connections.get();
  }
  return connections;
}

}  // namespace keel::http
