#include "keel/net/messages/pool.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/net/resolver.h"
#include "keel/net/stream.h"
#include "keel/observe/log.h"
#include "keel/task/event.h"
#include "keel/task/timing.h"

namespace keel::messages {
namespace {

// A task that a pool runs in addition to its requests. This task may outlive the pool.
struct Background final : Start<void> {
  bool* is_running = nullptr;  // The flag of the pool that started this task; null: the pool was destroyed.
  Event* changed = nullptr;

  static void done(StartCore& core) noexcept {
    auto* const self = static_cast<Background*>(&core);
    static_cast<void>(self->take());
    bool* const flag = self->is_running;
    Event* const event = self->changed;
    delete self;
    if (flag == nullptr) return;
    *flag = false;
    event->set();
  }
};

struct Place {
  std::string host;  // Empty: the endpoint is `address`.
  std::uint16_t port = 0;
  Address address = {};
};

// The name that the certificate of an endpoint must have if the endpoint is an IP address.
std::string ip_of(const Address& address) {
  if (address.is_unix()) return {};
  const std::string text = address.to_string();
  const std::string host = text.substr(0, text.rfind(':'));
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

Result<Place> parse_place(const std::string& text) {
  if (Result<Address> address = Address::parse(text)) return Place{{}, 0, *address};
  const std::size_t colon = text.rfind(':');
  Place place;
  const char* const end = text.data() + text.size();
  if (colon != std::string::npos && colon != 0) {
    const auto [at, problem] = std::from_chars(text.data() + colon + 1, end, place.port);
    if (problem == std::errc() && at == end && place.port != 0) {
      place.host = text.substr(0, colon);
      return place;
    }
  }
  return Error::text(Code::InvalidArgument, "'" + text + "' is not an endpoint: write host:port or unix:/path");
}

}  // namespace

// One address of an endpoint.
struct Pool::Target {
  Target(const Address& at, const CircuitBreakerOptions& options) : address(at), breaker(options) {}
  const Address address;
  CircuitBreaker breaker;
  std::vector<Client> clients;
  Background* connecting = nullptr;
  bool is_connecting = false;
  bool is_retired = false;  // True: the endpoint's name no longer resolves to this address.
  int failures = 0;         // The number of failures in a row.
  int chosen = 0;           // How many Chosen objects refer to this target.
  Instant ejected_until;
  std::optional<Error> last_error;
};

struct Pool::State {
  struct Endpoint {
    std::string name;
    Place place;
    std::vector<std::unique_ptr<Target>> targets;
    Background* resolving = nullptr;
    bool is_resolving = false;
    Instant look_up_at;  // The time of the next look-up.
    int failures = 0;    // The number of look-ups that failed in a row.
    std::optional<Error> last_error;
  };

  State(Resolver& r, PoolOptions&& given) : resolver(r), options(std::move(given)), retry(options.retry) {
    for (const std::string& name : options.endpoints) {
      auto endpoint = std::make_unique<Endpoint>();
      endpoint->name = name;
      Result<Place> place = parse_place(name);
      if (!place) {
        endpoint->last_error.emplace(std::move(place).error());
      } else {
        endpoint->place = *std::move(place);
        if (endpoint->place.host.empty()) {
          endpoint->targets.push_back(std::make_unique<Target>(endpoint->place.address, options.breaker));
        }
      }
      endpoints.push_back(std::move(endpoint));
    }
  }
  ~State() {
    for (const auto& endpoint : endpoints) {
      if (endpoint->is_resolving) abandon(*endpoint->resolving);
      for (const auto& target : endpoint->targets) {
        if (target->is_connecting) abandon(*target->connecting);
        KEEL_CHECK(target->chosen == 0, "a messages::Pool must outlive the tasks that wait for replies");
      }
    }
  }

  static void abandon(Background& work) noexcept {
    work.is_running = nullptr;
    work.stop();
  }
  // `make` returns the task. The task finds the Background in `slot`, and later reads from it whether the pool still
  // exists.
  template <class F>
  void begin(Background*& slot, bool& is_running, F make) {
    auto* const work = slot = new Background;
    work->is_running = &is_running;
    work->changed = &changed;
    is_running = true;
    if (work->begin(make(), &Background::done)) Background::done(*work);
  }

  static Task<> resolve(State& state, Endpoint& endpoint);
  static Task<> connect(State& state, Endpoint& endpoint, Target& target);
  void set_targets(Endpoint& endpoint, const std::vector<Address>& addresses);
  // How long to wait after a failure before a target or a look-up is tried again; `failures` counts the earlier
  // failures in a row.
  Duration pause_after(int failures) const noexcept;
  void eject(Target& target, Error&& why) noexcept;
  void tend(Endpoint& endpoint);
  bool is_usable(const Target& target, Instant now) const noexcept {
    return !target.is_retired && target.breaker.state(now) != CircuitBreaker::State::Open;
  }
  bool is_usable(const Target& target, Instant now, For what) const noexcept {
    return what == For::Request ? !target.is_retired && target.breaker.admits(now) : is_usable(target, now);
  }
  Error why_none() const;

  Resolver& resolver;
  PoolOptions options;
  Retry retry;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  Event changed;  // This event is set when the look-up of a name or an attempt to connect has ended.
  Stats stats;
};

// The tasks of resolve() and connect() are stopped when the pool is destroyed: the operation that each task awaits
// fails, so the task ends.
Task<> Pool::State::resolve(State& state, Endpoint& endpoint) {
  Background& self = *endpoint.resolving;
  Result<std::vector<Address>> found =
      co_await attempt(state.resolver.resolve(endpoint.place.host, endpoint.place.port));
  if (self.is_running == nullptr) co_return;
  endpoint.last_error.reset();
  if (found) {
    endpoint.failures = 0;
    endpoint.look_up_at = Host::current().now() + state.options.refresh;
    state.set_targets(endpoint, *found);
  } else {
    const Duration pause = state.pause_after(endpoint.failures++);
    endpoint.look_up_at = Host::current().now() + std::min(pause, state.options.refresh);
    endpoint.last_error.emplace(std::move(found).error());  // The known addresses are kept.
  }
}

Task<> Pool::State::connect(State& state, Endpoint& endpoint, Target& target) {
  Background& self = *target.connecting;
  ClientOptions options;
  options.peer = state.options.peer;
  options.connect = state.options.connect;
  options.handlers = state.options.handlers;
  options.layers = state.options.layers;
  const std::string host = endpoint.place.host.empty() ? ip_of(target.address) : endpoint.place.host;
  options.host = host;
  options.metrics = state.options.metrics;
  Result<Client> client =
      co_await attempt(with_timeout(state.options.connect_timeout, Client::connect(target.address, options)));
  if (self.is_running == nullptr) co_return;
  if (client) {
    ++state.stats.connected;
    target.clients.push_back(*std::move(client));
  } else {
    ++state.stats.failed;
    state.eject(target, std::move(client).error());
  }
}

void Pool::State::set_targets(Endpoint& endpoint, const std::vector<Address>& addresses) {
  for (const auto& target : endpoint.targets) {
    target->is_retired = std::ranges::find(addresses, target->address) == addresses.end();
  }
  for (const Address& address : addresses) {
    const bool is_known =
        std::ranges::any_of(endpoint.targets, [&](const auto& target) { return target->address == address; });
    if (!is_known) endpoint.targets.push_back(std::make_unique<Target>(address, options.breaker));
  }
}

Duration Pool::State::pause_after(int failures) const noexcept {
  RetryOptions waits;
  waits.backoff_first = options.eject_first;
  waits.backoff_max = options.eject_max;
  // The random time is at least half of the bound, so that a target that is down is not tried again immediately.
  const Duration full = backoff(waits, 2 + std::min(failures, 30), Host::current().random());
  const Duration least = std::min(options.eject_max, options.eject_first * (1ll << std::min(failures, 20))) / 2;
  return least + full / 2;
}

void Pool::State::eject(Target& target, Error&& why) noexcept {
  target.ejected_until = Host::current().now() + pause_after(target.failures++);
  target.last_error.emplace(std::move(why));
}

// Removes connections that have ended, and begins to make the connections that are missing.
void Pool::State::tend(Endpoint& endpoint) {
  const Instant now = Host::current().now();
  if (!endpoint.place.host.empty() && !endpoint.is_resolving && now >= endpoint.look_up_at) {
    begin(endpoint.resolving, endpoint.is_resolving, [&] { return resolve(*this, endpoint); });
  }
  for (const auto& target : endpoint.targets) {
    bool has_broken = false;
    std::erase_if(target->clients, [&](const Client& client) {
      const bool is_spent =
          client->is_closed() || ((client->is_draining() || target->is_retired) && client->outstanding() == 0);
      has_broken = has_broken || (is_spent && client->is_closed() && !client->is_draining());
      return is_spent;
    });
    // All connections to a server that stops break at about the same time, so together they count as one failure.
    if (has_broken && now >= target->ejected_until) {
      eject(*target, Error(Code::Unavailable, "the connection has ended"));
    }
    const auto usable = static_cast<std::size_t>(
        std::ranges::count_if(target->clients, [](const Client& client) { return !client->is_draining(); }));
    if (usable < options.connections && !target->is_connecting && !target->is_retired && now >= target->ejected_until &&
        target->breaker.state(now) != CircuitBreaker::State::Open) {
      begin(target->connecting, target->is_connecting, [&] { return connect(*this, endpoint, *target); });
    }
  }
  std::erase_if(endpoint.targets, [](const auto& target) {
    return target->is_retired && target->clients.empty() && !target->is_connecting && target->chosen == 0;
  });
}

Error Pool::State::why_none() const {
  std::string text;
  const auto add = [&](const std::string& name, const std::optional<Error>& error, const char* otherwise) {
    text += text.empty() ? "no target of the pool can be reached: " : "; ";
    text += name;
    text += ": ";
    text += error ? error->describe() : otherwise;
  };
  for (const auto& endpoint : endpoints) {
    if (endpoint->targets.empty()) add(endpoint->name, endpoint->last_error, "it has no address");
    for (const auto& target : endpoint->targets) {
      const bool is_open = !target->breaker.admits(Host::current().now());
      add(target->address.to_string(),
          is_open                          ? std::optional<Error>()
          : target->last_error.has_value() ? std::optional<Error>(target->last_error->clone())
                                           : std::optional<Error>(),
          "its circuit is open, because too many requests have failed");
    }
  }
  if (text.empty()) text = "the pool has no endpoints";
  const bool is_wrong = std::ranges::all_of(endpoints, [](const auto& endpoint) {
    return endpoint->last_error && endpoint->last_error->code() == Code::InvalidArgument;
  });
  return Error::text(is_wrong ? Code::InvalidArgument : Code::Unavailable, text).from_environment();
}

Pool::Pool(Resolver& resolver, PoolOptions options) : state_(Owned<State>::make(resolver, std::move(options))) {}
Pool::~Pool() = default;

Result<> Pool::check_endpoint(std::string_view text) {
  KEEL_TRY_VOID(parse_place(std::string(text)));
  return {};
}

Retry& Pool::retry() noexcept { return state_->retry; }
Duration Pool::timeout() const noexcept { return state_->options.timeout; }

Pool::Chosen::Chosen(Peer& at, Target* of, std::optional<CircuitBreaker::Call>&& call) noexcept
    : peer(&at), target_(of), call_(std::move(call)) {
  ++of->chosen;
}

Pool::Chosen::~Chosen() {
  if (target_ != nullptr) --target_->chosen;
}

void Pool::Chosen::judge(const Pool& pool, const Error* error) noexcept {
  if (error == nullptr) target_->failures = 0;
  if (!call_) return;
  const Instant now = Host::current().now();
  if (error != nullptr && pool.state_->options.breaker.fails(*error)) {
    call_->failed(now);
  } else if (error == nullptr || (error->code() != Code::Cancelled && error->code() != Code::ResourceExhausted)) {
    // A call that was cancelled, or that failed because of a limit of this side, counts neither for nor against the
    // target.
    call_->succeeded(now);
  }
  call_.reset();
}

std::optional<Duration> Pool::until_target() const noexcept {
  const Instant now = Host::current().now();
  Instant first = Instant::never();
  for (const auto& endpoint : state_->endpoints) {
    for (const auto& target : endpoint->targets) {
      if (!target->is_retired && target->breaker.admits(now)) first = std::min(first, target->ejected_until);
    }
  }
  if (first > now + state_->options.retry.backoff_max) return std::nullopt;
  return std::max(first - now, Duration());
}

Task<Pool::Chosen> Pool::choose(const Target* other_than, For what) {
  State& state = *state_;
  while (true) {
    for (const auto& endpoint : state.endpoints) state.tend(*endpoint);
    const Instant now = Host::current().now();
    Peer* best = nullptr;
    Target* target_of_best = nullptr;
    bool is_pending = false;
    bool is_best_other = false;
    for (const auto& endpoint : state.endpoints) {
      is_pending = is_pending || endpoint->is_resolving;
      for (const auto& target : endpoint->targets) {
        is_pending = is_pending || target->is_connecting;
        if (!state.is_usable(*target, now, what)) continue;
        for (const Client& client : target->clients) {
          if (client->is_draining()) continue;
          const bool is_other = target.get() != other_than;
          const bool is_better = best == nullptr || (is_other && !is_best_other) ||
                                 (is_other == is_best_other && client->outstanding() < best->outstanding());
          if (!is_better) continue;
          best = &*client;
          target_of_best = target.get();
          is_best_other = is_other;
        }
      }
    }
    if (best != nullptr) {
      std::optional<CircuitBreaker::Call> call =
          what == For::Request ? target_of_best->breaker.admit(now) : std::nullopt;
      co_return Chosen(*best, target_of_best, std::move(call));
    }
    if (!is_pending) co_return state.why_none();
    state.changed.reset();
    co_await state.changed.wait();
  }
}

Task<> Pool::send_encoded(std::uint16_t type, Buffer payload) {
  const Chosen chosen = co_await choose(nullptr, For::Others);
  co_await chosen.peer->send(Raw{type, payload.view()});
}

Task<Peer*> Pool::peer() {
  const Chosen chosen = co_await choose(nullptr, For::Others);
  co_return chosen.peer;
}

Task<> Pool::close() {
  std::vector<Client> closing;
  for (const auto& endpoint : state_->endpoints) {
    for (const auto& target : endpoint->targets) {
      for (Client& client : target->clients) closing.push_back(std::move(client));
      target->clients.clear();
    }
  }
  // Lets all connections send their queued frames at the same time, before the call waits for the first connection.
  for (Client& client : closing) client->drain();
  for (Client& client : closing) co_await client.close();
}

Result<> Pool::check() const {
  const Instant now = Host::current().now();
  bool has_failed = false;
  for (const auto& endpoint : state_->endpoints) {
    // The name of the endpoint has not been looked up yet, so no problem is known.
    if (endpoint->targets.empty() && !endpoint->last_error) return {};
    has_failed = has_failed || endpoint->last_error.has_value();
    for (const auto& target : endpoint->targets) {
      if (target->is_retired) continue;
      const bool is_open = std::ranges::any_of(target->clients, [](const Client& c) { return !c->is_closed(); });
      const bool is_cut = target->breaker.state(now) == CircuitBreaker::State::Open;
      if (!is_cut && (is_open || target->failures == 0)) return {};
      has_failed = true;
    }
  }
  if (!has_failed) return {};
  return state_->why_none();
}

Pool::Stats Pool::stats() const noexcept {
  Stats stats = state_->stats;
  const Instant now = Host::current().now();
  for (const auto& endpoint : state_->endpoints) {
    for (const auto& target : endpoint->targets) {
      ++stats.targets;
      if (now < target->ejected_until || !state_->is_usable(*target, now)) ++stats.ejected;
      for (const Client& client : target->clients) {
        if (client->is_closed()) continue;
        ++stats.connections;
        stats.outstanding += client->outstanding();
      }
    }
  }
  stats.retries = state_->retry.stats().retries;
  return stats;
}

}  // namespace keel::messages
