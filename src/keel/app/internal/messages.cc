#include "keel/app/internal/messages.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "keel/app/internal/message_options.h"
#include "keel/base/check.h"
#include "keel/data/json.h"
#include "keel/io/sockets.h"
#include "keel/net/listener.h"
#include "keel/observe/log.h"
#include "keel/task/event.h"
#include "keel/task/scope.h"
#include "keel/task/start.h"
#include "keel/task/until.h"

namespace keel::app::internal {
namespace {

constexpr std::size_t peers_shown_max = 100;  // Of each worker.

const log::Logger& messages_logger() {
  static const log::Logger log("app");
  return log;
}

// A row of /admin/messages: one peer.
struct PeerRow {
  std::string address, identity;
  std::size_t queued_bytes, outstanding, handling;
  double silent_seconds;
};

// A row of /admin/messages: one worker.
struct WorkerRow {
  int worker;
  std::size_t connections, sessions;
  std::vector<PeerRow> peers;
};

}  // namespace

// The server's part on one worker; it is made, used and destroyed on that worker.
struct Messages::OnWorker {
  OnWorker(Messages& owner, io::Loop& on) : of(owner), loop(on) {}

  // Serves until `stopping` is set, and then drains.
  static Task<> run(OnWorker& worker);
  static Task<> accept(OnWorker& worker, Listener& listener);
  void begin() {
    if (running.begin(run(*this), [](StartCore& core) noexcept { static_cast<Running&>(core).end(); })) running.end();
  }

  struct Running : Start<void> {
    explicit Running(OnWorker& owner) : worker(owner) {}
    void end() noexcept {
      static_cast<void>(take());
      worker.has_ended.store(true, std::memory_order_release);
    }
    OnWorker& worker;
  };

  Messages& of;
  io::Loop& loop;
  std::vector<Listener> listeners;
  Address address;       // Where they listen.
  bool is_first = true;  // False: another worker already listens on the same sockets.
  std::optional<sessions::Server> sessions;
  std::optional<messages::Server> server;
  Event stopping;
  std::atomic<bool> has_ended = false;
  Running running{*this};
};

Task<> Messages::OnWorker::accept(OnWorker& worker, Listener& listener) {
  while (auto stream = co_await until(worker.stopping, listener.accept())) worker.server->add(*std::move(stream));
  co_await worker.server->take_rest(listener);
}

Task<> Messages::OnWorker::run(OnWorker& worker) {
  Scope accepting;
  for (Listener& listener : worker.listeners) accepting.spawn(accept(worker, listener));
  const Result<> accepted = co_await attempt(accepting.join());
  if (!accepted) {
    worker.of.has_failed_ = true;
    messages_logger().error("a worker no longer accepts connections for messages: restart the service",
                            accepted.error());
    co_await worker.stopping.wait();
  }
  co_await worker.server->stop();
  if (worker.sessions) co_await worker.sessions->stop();
}

Messages::Messages(const Registrar& registrar, Workers& workers, Succession& succession, Certificates& certificates,
                   Addresses& addresses)
    : registrar_(registrar),
      workers_(workers),
      succession_(succession),
      certificates_(certificates),
      addresses_(addresses),
      applier_(registrar.on_reload("network.messages", [this](const Settings& now) -> Result<> {
        change(now.network.messages);
        return {};
      })) {}
Messages::~Messages() = default;

template <class F>
void Messages::each(F f) {
  workers_.runtime().each([&](io::Loop& loop) {
    for (const std::unique_ptr<OnWorker>& worker : on_workers_) {
      if (&worker->loop == &loop) f(*worker);
    }
  });
}

// --- Before the start.

Result<> Messages::prepare() {
  if (std::exchange(is_served_, true)) return {};
  const Settings& settings = registrar_.settings;
  Result<Address> address = settings.network.messages.listen_address();
  if (!address) return std::move(address).error().because("network.messages.address");
  address_ = *address;
  addresses_.add("messages", address_, "network.messages", "network.messages.",
                 settings.network.messages.listen_mode().value_or(0));
  if (settings.network.messages.tls) {
    KEEL_TRY_VOID(certificates_.load(settings.network.https).because("network.https"));
  }
  return {};
}

Result<> Messages::serve(const messages::Handlers& handlers, messages::ServerOptions&& options) {
  KEEL_CHECK(handlers_ == nullptr, "App::messages() can be called only once");
  handlers_ = &handlers;
  options_ = std::move(options);
  return prepare();
}

Result<sessions::Registry*> Messages::serve(const sessions::Handlers& handlers, sessions::ServerOptions&& options) {
  KEEL_CHECK(session_handlers_ == nullptr, "App::sessions() can be called only once");
  session_handlers_ = &handlers;
  session_options_ = std::move(options);
  sessions::RegistryOptions of_registry{.sessions_max = registrar_.settings.network.messages.sessions.sessions_max};
  if (registrar_.settings.monitoring.enabled) of_registry.metrics = &registrar_.metrics;
  registry_ = std::make_unique<sessions::Registry>(of_registry);
  KEEL_TRY_VOID(prepare());
  return registry_.get();
}

// Calls f(key, setting, option) for each option that the configuration can set.
template <class F>
void Messages::each_option(const MessagesSettings& from, Limits& to, F f) {
  each_message_server_option(from, to, f);
  each_peer_option(from.peer, to.peer, f);
  const auto of_sessions = [&f](const char* key, const auto& setting, auto& option) {
    f(std::string("sessions.") + key, setting, option);
  };
  each_session_option(from.sessions, to, of_sessions);
  f("heartbeat_sec", from.peer.heartbeat, to.session.heartbeat);
  f("sessions.max_sessions", from.sessions.sessions_max, to.sessions_max);
}

// A key that is set in the configuration overrides the application's option.
void Messages::add_module() {
  if (!is_served_) return;
  const MessagesSettings& from = registrar_.settings.network.messages;
  limits_at_start_ = {.peer = options_.peer,
                      .connections_max = options_.connections_max,
                      .drain = options_.drain,
                      .session = session_options_.session,
                      .expiry = session_options_.expiry,
                      .sessions_max = from.sessions.sessions_max};
  each_option(from, limits_at_start_, [this](const std::string& key, const auto& setting, auto& option) {
    if (registrar_.config.origins().is_set("network.messages." + key)) option = setting;
  });
  limits_ = limits_at_start_;
  if (from.tls) options_.layers = &certificates_.layers(Certificates::Messages);
  if (options_.metrics == nullptr && registrar_.settings.monitoring.enabled) {
    options_.metrics = &metrics_.emplace(registrar_.metrics, "messages");
  }
  registrar_.add({.name = "messages",
                  .needs = registrar_.lifecycle.wanted(),
                  .start = [this] { return start(); },
                  .stop = [this] { stop(); }});
}

Messages::Limits Messages::limits_of(const MessagesSettings& now) const {
  const auto number = [](const auto& setting) {
    if constexpr (std::is_same_v<std::decay_t<decltype(setting)>, Duration>) {
      return setting.count_ns();
    } else {
      return static_cast<std::int64_t>(setting);
    }
  };
  Limits limits = limits_at_start_;
  std::vector<std::int64_t> at_start;
  each_option(registrar_.settings.network.messages, limits,
              [&](const auto&, const auto& setting, auto&) { at_start.push_back(number(setting)); });
  auto before = at_start.begin();
  each_option(now, limits, [&](const auto&, const auto& setting, auto& option) {
    if (number(setting) != *before++) option = setting;
  });
  return limits;
}

std::size_t Messages::connections_max_of_worker() const noexcept {
  const auto workers = static_cast<std::size_t>(workers_.runtime().workers());
  return std::max<std::size_t>(1, (limits_.connections_max + workers - 1) / workers);
}

void Messages::change(const MessagesSettings& now) {
  if (!is_served_) return;
  limits_ = limits_of(now);
  if (registry_ != nullptr) registry_->change(limits_.sessions_max);
  const std::lock_guard lock(mutex_);
  if (on_workers_.empty()) return;
  each([this](OnWorker& worker) {
    worker.server->change(limits_.peer, connections_max_of_worker(), limits_.drain);
    if (worker.sessions) worker.sessions->change(limits_.session, limits_.expiry);
  });
}

// --- From the start to the end.

Result<> Messages::start() {
  const Succession::Inherited inherited = succession_.find("messages", address_);
  is_kept_ = inherited.is_kept;
  Result<> result;
  std::vector<std::unique_ptr<OnWorker>> started;
  workers_.runtime().each([&](io::Loop& loop) {
    if (inherited.sockets.empty() && loop.index() == 0) result = io::check_vacant(loop.engine(), address_, {});
    if (result) result = begin(loop, inherited.sockets, started);
  });
  {
    const std::lock_guard lock(mutex_);
    on_workers_ = std::move(started);
  }
  // If port 0 is configured, the first listener determines the port for all listeners.
  if (!on_workers_.empty()) {
    const std::lock_guard lock(address_mutex_);
    address_ = on_workers_.front()->address;
  }
  if (!result) {
    stop();
    return addresses_.report("messages", std::move(result));
  }
  KEEL_TRY_VOID(addresses_.report("messages", {}));
  check_ = registrar_.health.add({.name = "messages"}, [this] { return check(); });
  if (!registrar_.platform.is_simulated()) messages_logger().info("messages are served", log::field("at", place()));
  return {};
}

Result<> Messages::begin(io::Loop& loop, const std::vector<int>& inherited,
                         std::vector<std::unique_ptr<OnWorker>>& started) {
  const int workers = workers_.runtime().workers();
  auto worker = std::make_unique<OnWorker>(*this, loop);
  io::ListenOptions listen = {.no_delay = registrar_.settings.network.http.server.listen.no_delay};
  listen.socket_mode = registrar_.settings.network.messages.listen_mode().value_or(0);
  const auto add = [&]() -> Result<> {
    KEEL_TRY(Listener listener, Listener::bind(started.empty() ? address_ : started.front()->address, listen));
    worker->listeners.push_back(std::move(listener));
    return {};
  };
  if (!inherited.empty()) {
    // If there are fewer sockets than workers, several workers share a socket; if there are more, some workers have
    // several sockets.
    const int sockets = static_cast<int>(inherited.size());
    worker->is_first = loop.index() < sockets;
    listen.shared = sockets < workers;
    for (int part = loop.index(); part < std::max(sockets, workers); part += workers) {
      listen.inherited = inherited[static_cast<std::size_t>(part % sockets)];
      KEEL_TRY_VOID(add());
    }
  } else if (address_.is_unix()) {
    listen.shared = workers > 1;
    worker->is_first = started.empty();
    if (!worker->is_first) listen.inherited = started.front()->listeners.front().native_handle();
    KEEL_TRY_VOID(add());
  } else {
    listen.reuse_port = true;
    KEEL_TRY_VOID(add());
  }
  worker->address = worker->listeners.front().address();
  if (session_handlers_ != nullptr) {
    sessions::ServerOptions options;
    options.session = limits_.session;
    options.expiry = limits_.expiry;
    if (session_options_.authenticate) {
      options.authenticate = [this](const sessions::Greeting& client) { return session_options_.authenticate(client); };
    }
    worker->sessions.emplace(*registry_, *session_handlers_, std::move(options));
  }
  worker->server.emplace(handlers_ != nullptr ? *handlers_ : no_handlers_, options_on(*worker));
  worker->begin();
  started.push_back(std::move(worker));
  return {};
}

messages::ServerOptions Messages::options_on(OnWorker& worker) const {
  messages::ServerOptions options;
  options.peer = limits_.peer;
  options.connections_max = connections_max_of_worker();
  options.drain = limits_.drain;
  options.layers = options_.layers;
  options.metrics = options_.metrics;
  if (session_handlers_ != nullptr || options_.on_open) {
    options.on_open = [this, &worker](messages::Peer& peer) {
      if (worker.sessions) worker.sessions->open(peer);
      if (options_.on_open) options_.on_open(peer);
    };
  }
  if (options_.on_closed) {
    options.on_closed = [this](messages::Peer& peer, const Error& reason) { options_.on_closed(peer, reason); };
  }
  return options;
}

void Messages::stop() {
  check_ = {};
  io::Runtime& runtime = workers_.runtime();
  const bool ends = succession_.after_stop(is_kept_) == http::Listening::Ends;
  each([ends](OnWorker& worker) {
    // From now on the kernel rejects new connections; otherwise the kernel would accept and then reset these
    // connections.
    for (const Listener& listener : worker.listeners) {
      if (ends && worker.is_first) worker.loop.engine().turn_away(listener.native_handle());
    }
    worker.stopping.set();
  });
  // This wait has no limit, because a handler that ignores the stop is reported when common.stop_timeout ends.
  runtime.wait_until(
      [this] { return std::ranges::all_of(on_workers_, [](const auto& worker) { return worker->has_ended.load(); }); },
      Duration::forever());
  std::vector<std::unique_ptr<OnWorker>> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(on_workers_);
  }
  runtime.each([&](io::Loop& loop) {
    for (std::unique_ptr<OnWorker>& worker : ended) {
      if (worker != nullptr && &worker->loop == &loop) worker.reset();
    }
  });
}

Result<> Messages::check() const {
  if (has_failed_) return fail(Code::Unavailable, "a worker no longer accepts connections for messages");
  return {};
}

std::vector<int> Messages::duplicate_listeners() {
  std::vector<int> copies;
  const std::lock_guard lock(mutex_);
  each([&](OnWorker& worker) {
    if (!worker.is_first) return;
    for (const Listener& listener : worker.listeners) {
      const int copy = ::fcntl(listener.native_handle(), F_DUPFD_CLOEXEC, 0);
      if (copy >= 0) copies.push_back(copy);
    }
  });
  return copies;
}

void Messages::share(std::vector<Succession::Shared>& servers) {
  if (is_served_) servers.push_back({"messages", [this] { return duplicate_listeners(); }, is_kept_});
}

// --- For people.

Address Messages::address() const {
  const std::lock_guard lock(address_mutex_);
  return address_;
}

std::string Messages::place() const {
  return address().to_string() + (registrar_.settings.network.messages.tls ? " (TLS)" : "");
}

void Messages::add_pages(telemetry::AdminPages& pages) {
  if (!is_served_) return;
  pages.add({.path = "/admin/messages",
             .json = [this](Buffer& out) { write_json(out); },
             .text = [this](Buffer& out) { write_text(out); },
             .waits = !registrar_.platform.is_simulated()});
  if (registry_ == nullptr) return;
  pages.add({.path = "/admin/sessions",
             .json = [this](Buffer& out) { sessions::write_sessions_json(out, *registry_); },
             .text = [this](Buffer& out) { sessions::write_sessions_text(out, *registry_); }});
}

namespace {

WorkerRow row_of(int worker, messages::Server& server, std::size_t sessions, Instant now) {
  WorkerRow row{worker, server.connections(), sessions, {}};
  server.each([&](messages::Peer& peer) {
    row.peers.push_back({peer.address().to_string(), std::string(peer.identity()), peer.queued_bytes(),
                         peer.outstanding(), peer.handling(), (now - peer.last_received()).count_seconds()});
  });
  // The peers with the most unsent bytes come first in the list.
  std::ranges::sort(row.peers, std::greater(), &PeerRow::queued_bytes);
  if (row.peers.size() > peers_shown_max) row.peers.resize(peers_shown_max);
  return row;
}

}  // namespace

void Messages::write_json(Buffer& out) {
  json::Writer json(out);
  const std::lock_guard lock(mutex_);
  json.begin_object().key("address").string(address().to_string());
  json.key("tls").boolean(registrar_.settings.network.messages.tls).key("workers").begin_array();
  each([&](OnWorker& worker) {
    const WorkerRow row = row_of(worker.loop.index(), *worker.server, worker.sessions ? worker.sessions->sessions() : 0,
                                 worker.loop.now());
    json.begin_object().key("worker").integer(row.worker).key("connections").unsigned_integer(row.connections);
    json.key("sessions").unsigned_integer(row.sessions).key("peers").begin_array();
    for (const PeerRow& peer : row.peers) {
      json.begin_object().key("address").string(peer.address).key("identity").string(peer.identity);
      json.key("queued_bytes").unsigned_integer(peer.queued_bytes);
      json.key("outstanding").unsigned_integer(peer.outstanding).key("handling").unsigned_integer(peer.handling);
      json.key("silent_seconds").number(peer.silent_seconds).end_object();
    }
    json.end_array().end_object();
  });
  json.end_array().end_object();
}

void Messages::write_text(Buffer& out) {
  const std::lock_guard lock(mutex_);
  out.append(fmt::format("messages at {}\n", address().to_string()));
  each([&](OnWorker& worker) {
    const WorkerRow row = row_of(worker.loop.index(), *worker.server, worker.sessions ? worker.sessions->sessions() : 0,
                                 worker.loop.now());
    out.append(fmt::format("worker {}: {} connections, {} sessions\n", row.worker, row.connections, row.sessions));
    for (const PeerRow& peer : row.peers) {
      out.append(fmt::format("  {} {}: queued {} B, outstanding {}, handling {}, silent for {:.1f} s\n", peer.address,
                             peer.identity.empty() ? "-" : peer.identity, peer.queued_bytes, peer.outstanding,
                             peer.handling, peer.silent_seconds));
    }
    if (row.connections > row.peers.size()) {
      out.append(fmt::format("  and {} more\n", row.connections - row.peers.size()));
    }
  });
}

}  // namespace keel::app::internal
