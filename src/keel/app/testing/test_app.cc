#include "keel/app/testing/test_app.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "keel/app/internal/platform.h"
#include "keel/base/check.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/sim_vfs.h"
#include "keel/http/server/server.h"
#include "keel/http/testing/contract_recorder.h"
#include "keel/io/engine.h"
#include "keel/net/resolver.h"

namespace keel::app {
namespace {

constexpr std::string_view service_address = "10.0.0.1";
constexpr int workers_of_a_test = 2;
constexpr Duration task_time_max = 24_h;
// The last attempt to start has no disk faults, so disk faults cannot be the cause if this attempt fails.
constexpr int starts_max = 4;

bool one_lives = false;

[[noreturn]] void misuse(const std::string& sentence) { throw std::logic_error("TestApp: " + sentence); }

std::uint64_t mix(std::uint64_t word) {
  word += 0x9e3779b97f4a7c15;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
  word = (word ^ word >> 27) * 0x94d049bb133111eb;
  return word ^ word >> 31;
}

// The thread pool of a simulation, with an additional delay for each job.
class SlowPool final : public Executor {
 public:
  SlowPool(Executor& pool, Duration delay_max, std::uint64_t seed) noexcept
      : pool_(pool), delay_max_(delay_max), seed_(seed) {}
  void post(Job& job) noexcept override {
    if (delay_max_ == Duration()) return pool_.post(job);
    const auto most = static_cast<std::uint64_t>(delay_max_.count_ns());
    const auto delay = Duration::nanoseconds(static_cast<std::int64_t>(mix(seed_ ^ ++posted_) % most));
    KEEL_CHECK(pool_.offer_after(job, delay), "the pool of a simulation must accept every job");
  }
  bool offer_after(Job& job, Duration delay) noexcept override { return pool_.offer_after(job, delay); }
  bool has_clock() const noexcept override { return true; }

 private:
  Executor& pool_;
  const Duration delay_max_;
  const std::uint64_t seed_;
  std::uint64_t posted_ = 0;
};

struct Authority {
  std::string host;
  std::uint16_t port = 80;
};

Authority parse_authority(std::string_view text) {
  Authority authority{std::string(text.substr(0, text.find(':'))), 80};
  bool is_good = !authority.host.empty();
  if (const std::size_t colon = text.find(':'); colon != text.npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), authority.port);
    is_good = is_good && error == std::errc() && end == digits.data() + digits.size();
  }
  if (!is_good)
    misuse(
        "the name of a peer must be its host and port, as in \"bank.example:8080\", not "
        "\"" +
        std::string(text) + "\"");
  return authority;
}

}  // namespace

TestAppOptions TestAppOptions::faulty(std::uint64_t seed) {
  TestAppOptions options;
  options.simulation = sim::SimOptions::faulty(seed);
  options.disk = mix(seed) % 3 == 0 ? sim::DiskFaults{} : sim::DiskFaults::faulty(seed);
  if (mix(seed + 1) % 8 == 0) options.disk.capacity_bytes = 100'000 + mix(seed + 2) % 300'000;
  if (mix(seed + 3) % 2 == 0) options.pool_delay_max = 20_ms;
  return options;
}

struct AppUnderTest::State {
  enum class Life : std::uint8_t { NotBegun, Up, Off };  // Whether the power has failed.
  struct Peer {
    Address address;
    std::unique_ptr<http::Server> server;  // Null while the simulated server is down.
  };

  State(internal::Composition& made, TestAppOptions&& given);
  ~State();

  bool is_simulated() const noexcept { return simulation != nullptr; }
  bool has_lost_power() const noexcept { return life == Life::Up && disk != nullptr && !disk->is_on(); }

  Result<> load();
  void simulate();
  void stand_on_system();
  void make_clients();
  Result<std::vector<Address>> look_up(const std::string& host);
  Address address_of_next_peer(const Authority& authority) const;

  void begin();
  void start();
  void make_app();
  void take_down(bool crashed);
  void power_on();

  // Runs iterations of the loops until done() returns true, for at most `limit`; returns false if the limit was
  // reached.
  bool wait(FunctionRef<bool()> done, Duration limit);
  bool turn(FunctionRef<bool()> done, Duration limit);
  void finish(StartCore& task);

  internal::Composition& composition;
  const TestAppOptions options;
  internal::Platform platform;
  std::string log;
  std::mutex log_mutex;
  Life life = Life::NotBegun;

  // In the simulation:
  std::unique_ptr<sim::Disk> disk;
  std::unique_ptr<db::sqlite::SimVfs> vfs;
  std::unique_ptr<sim::Simulation> simulation;
  std::unique_ptr<SlowPool> pool;
  std::vector<io::Loop*> workers;
  Host* host_before = nullptr;

  // The two members below are used only on the real system:
  std::unique_ptr<db::testing::Folder> folder;
  std::unique_ptr<io::Loop> own_loop;
  std::unique_ptr<ThreadPool> lookups;

  io::Loop* loop = nullptr;  // The loop on which the test's clients and peers run.
  std::unique_ptr<io::Runtime> runtime;
  std::unique_ptr<Resolver> resolver;
  http::TestTarget target;
  http::TestTarget admin;
  std::unique_ptr<http::TestClient> client;
  std::mutex peers_mutex;
  std::map<std::string, Peer, std::less<>> peers;
  std::unique_ptr<App> app;
};

// --- Setup.

AppUnderTest::State::State(internal::Composition& made, TestAppOptions&& given)
    : composition(made), options(std::move(given)) {
  http::ContractRecorder::begin();
  if (one_lives)
    misuse(
        "another TestApp exists in this process: destroy it first; to test with several servers, add the others as "
        "peers");
  if (options.real_time) {
    stand_on_system();
  } else {
    disk = std::make_unique<sim::Disk>(options.simulation.seed);
  }
  if (auto loaded = load(); !loaded) throw std::runtime_error(loaded.error().describe());
  if (!options.real_time) simulate();
  platform.is_test = true;
  platform.log = [this](std::string_view lines) {
    const std::lock_guard lock(log_mutex);
    log += lines;
  };
  platform.look_up = [this](const std::string& host) { return look_up(host); };
  make_clients();
  one_lives = true;
}

AppUnderTest::State::~State() {
  if (app != nullptr) take_down(/*crashed=*/false);
  http::ContractRecorder::end();
  client.reset();
  for (auto& [name, peer] : peers) {
    if (peer.server != nullptr) peer.server->stop();
  }
  peers.clear();
  turn([] { return false; }, 5_ms);  // Gives the connections that were closed time to finish closing.
  lookups.reset();
  turn([] { return false; }, 5_ms);
  {
    const io::Loop::Entered entered(*loop);
    resolver.reset();
  }
  runtime.reset();
  if (simulation != nullptr) Host::set_current(host_before);
  one_lives = false;
}

Result<> AppUnderTest::State::load() {
  std::vector<std::string> flags;
  const auto set = [&flags](const std::string& setting) { flags.push_back("--" + setting); };
  set("network.workers=" + std::to_string(workers_of_a_test));
  for (const std::string& setting : options.settings) set(setting);
  if (options.real_time) {
    for (const char* setting :
         {"network.http.address=127.0.0.1", "network.http.port=0", "monitoring.metrics.export_address=127.0.0.1",
          "monitoring.metrics.export_port=0", "monitoring.probes.address=", "network.messages.address=127.0.0.1",
          "network.messages.port=0"}) {
      set(setting);
    }
    set("database.path=" + *folder / "app.db");
  } else {
    for (const char* setting :
         {"network.http.port=80", "monitoring.metrics.export_address=10.0.0.1", "monitoring.metrics.export_port=9090",
          "monitoring.probes.address=", "database.path=/data/app.db"}) {
      set(setting);
    }
    set("network.http.address=" + std::string(service_address));
    set("network.messages.address=" + std::string(service_address));
  }
  std::vector<const char*> args;
  for (const std::string& flag : flags) args.push_back(flag.c_str());
  return composition.load({.file = options.file, .env_prefix = "", .args = args});
}

void AppUnderTest::State::simulate() {
  const std::uint64_t seed = options.simulation.seed;
  vfs = std::make_unique<db::sqlite::SimVfs>(*disk, seed);
  simulation = std::make_unique<sim::Simulation>(options.simulation, disk.get());
  pool = std::make_unique<SlowPool>(simulation->pool(), options.pool_delay_max, seed);
  const Settings& settings = composition.settings_in()(composition.versions().value());
  for (int i = 0; i < std::max(settings.network.runtime.workers, 1); ++i) workers.push_back(&simulation->add_loop());
  loop = &simulation->add_loop();
  platform.executor = pool.get();
  platform.vfs = vfs->name();
  platform.loops = [this] {
    return io::Runtime::over(
        workers, [this](FunctionRef<bool()> done, Duration limit) { return simulation->run_until(done, limit); });
  };
  host_before = Host::set_current(simulation.get());
}

void AppUnderTest::State::stand_on_system() {
  folder = std::make_unique<db::testing::Folder>();
  own_loop = std::make_unique<io::Loop>(io::make_engine(io::EngineKind::Epoll).value(), Host::system());
  lookups = std::make_unique<ThreadPool>(ThreadPoolOptions{.name = "test-names"});
  loop = own_loop.get();
}

void AppUnderTest::State::make_clients() {
  runtime = io::Runtime::over({loop}, [this](FunctionRef<bool()> done, Duration limit) { return turn(done, limit); });
  // Resolves every name to the service.
  const std::string host = options.real_time ? "127.0.0.1" : std::string(service_address);
  Executor& names = options.real_time ? static_cast<Executor&>(*lookups) : simulation->pool();
  const io::Loop::Entered entered(*loop);
  resolver = std::make_unique<Resolver>(names, ResolverOptions(), [host](const std::string&) {
    return Result<std::vector<Address>>(std::vector{Address::ip(host, 0).value()});
  });
  for (http::TestTarget* const at : {&target, &admin}) {
    at->loop = loop;
    at->resolver = resolver.get();
    at->host = host;
    at->timeout = options.timeout;
    at->body_bytes_max = options.body_bytes_max;
    at->finish = [this](StartCore& task) { finish(task); };
  }
  client = std::make_unique<http::TestClient>(target);
}

// --- Peers.

Result<std::vector<Address>> AppUnderTest::State::look_up(const std::string& host) {
  const std::lock_guard lock(peers_mutex);
  for (const auto& [name, peer] : peers) {
    if (std::string_view(name).substr(0, name.find(':')) != host) continue;
    Address address = peer.address;
    address.set_port(0);
    return std::vector{address};
  }
  return Error::text(Code::NotFound, "no such host '" + host + "': app.peer(\"" + host + "\", router) adds it");
}

// The address of a host; all ports of the host have the same address.
Address AppUnderTest::State::address_of_next_peer(const Authority& authority) const {
  if (auto literal = Address::ip(authority.host, authority.port)) return *literal;
  std::size_t hosts = 1;
  for (const auto& [name, peer] : peers) {
    if (std::string_view(name).substr(0, name.find(':')) == authority.host) {
      Address address = peer.address;
      address.set_port(authority.port);
      return address;
    }
    ++hosts;
  }
  // On the real system, every address in 127.0.0.0/8 belongs to this machine. Each test process uses a part of
  // 127.0.0.0/8 that no other test process uses, so that tests do not reach each other's servers.
  const std::string net = options.real_time ? "127." + std::to_string(1 + ::getpid() % 250) + ".77." : "10.1.0.";
  return Address::ip(net + std::to_string(hosts), authority.port).value();
}

// --- Starting and stopping the service.

void AppUnderTest::State::begin() {
  if (life == Life::NotBegun) start();
}

void AppUnderTest::State::start() {
  for (int attempt = 1;; ++attempt) {
    const sim::DiskCounts before = disk != nullptr ? disk->counts() : sim::DiskCounts();
    if (disk != nullptr) disk->set_faults(attempt < starts_max ? options.disk : sim::DiskFaults{});
    std::string problem;
    try {
      make_app();
    } catch (const std::runtime_error& error) {
      problem = error.what();
    } catch (...) {
      take_down(/*crashed=*/true);
      throw;
    }
    if (disk != nullptr) disk->set_faults(options.disk);
    if (problem.empty()) return;
    take_down(/*crashed=*/true);
    if (disk == nullptr) throw std::runtime_error(problem);
    if (!disk->is_on()) {
      life = Life::Off;
      return;
    }
    const sim::DiskCounts& now = disk->counts();
    const bool has_fault = now.read_errors != before.read_errors || now.write_errors != before.write_errors ||
                           now.sync_errors != before.sync_errors || now.full != before.full;
    if (!has_fault || attempt == starts_max) throw std::runtime_error(problem);
  }
}

void AppUnderTest::State::make_app() {
  if (auto loaded = load(); !loaded) throw std::runtime_error(loaded.error().describe());
  app.reset(new App("test", composition.versions(), composition.settings_in(), composition.type(), &platform));
  composition.make(*app);
  if (auto started = app->start(); !started) throw std::runtime_error(started.error().describe());
  if (const http::Server* const server = app->server()) target.port = server->address().port();
  if (const http::Server* const server = app->admin()) admin.port = server->address().port();
  life = Life::Up;
}

void AppUnderTest::State::take_down(bool crashed) {
  life = Life::NotBegun;
  if (app != nullptr) app->stop(crashed ? App::Stop::Abrupt : App::Stop::Drained);
  composition.end();
  app.reset();
  // Waits for the operations that were cancelled because their connections were closed.
  turn([] { return false; }, 5_ms);
}

void AppUnderTest::State::power_on() {
  disk->power_off_after(0);
  if (!disk->is_on()) disk->power_on();
}

// --- Time.

bool AppUnderTest::State::turn(FunctionRef<bool()> done, Duration limit) {
  if (simulation != nullptr) return simulation->run_until(done, limit);
  Host& host = Host::system();
  const Instant end = host.now() + limit;
  while (!done()) {
    if (host.now() >= end) return false;
    const io::Loop::Entered entered(*loop);
    loop->turn(std::min(end, host.now() + 1_ms));
  }
  return true;
}

bool AppUnderTest::State::wait(FunctionRef<bool()> done, Duration limit) {
  Host& host = Host::current();
  const Instant end = host.now() + limit;
  while (true) {
    const bool is_done = turn([&] { return done() || has_lost_power(); }, end - host.now());
    if (!has_lost_power()) return is_done;
    take_down(/*crashed=*/true);
    life = Life::Off;
  }
}

void AppUnderTest::State::finish(StartCore& task) {
  if (!wait([&] { return !task.is_running(); }, Duration::forever())) {
    misuse("a call does not end, and the simulation has no events left: " + (simulation ? simulation->replay() : ""));
  }
}

// --- Calls of a test.

AppUnderTest::AppUnderTest(internal::Composition& composition, TestAppOptions options)
    : state_(std::make_unique<State>(composition, std::move(options))) {}
AppUnderTest::~AppUnderTest() = default;

http::TestCall AppUnderTest::begin(http::ClientRequest request) {
  (void)target();
  return state_->client->begin(std::move(request));
}

const http::TestTarget& AppUnderTest::target() const {
  state_->begin();
  if (state_->app != nullptr && state_->app->server() == nullptr) {
    misuse("there is no server to call: the service does not call app.serve(router)");
  }
  return state_->target;
}

const http::TestTarget& AppUnderTest::admin() const {
  state_->begin();
  if (state_->app != nullptr && state_->app->admin() == nullptr) {
    misuse("there is no admin listener: monitoring.enabled is false");
  }
  return state_->admin;
}

void AppUnderTest::peer(std::string_view authority, const http::Router& router) {
  State& state = *state_;
  const Authority at = parse_authority(authority);
  const std::string name = at.host + ":" + std::to_string(at.port);
  peer_down(authority);
  http::ServerOptions options;
  options.access_log = false;
  options.name = "peer";
  {
    const std::lock_guard lock(state.peers_mutex);
    const auto found = state.peers.find(name);
    options.address = found != state.peers.end() ? found->second.address : state.address_of_next_peer(at);
  }
  auto server = std::make_unique<http::Server>(router, options);
  if (auto started = server->start(*state.runtime); !started) {
    misuse("the peer \"" + name +
           "\" cannot listen; in real time it needs a free port above 1023: " + started.error().describe());
  }
  const std::lock_guard lock(state.peers_mutex);
  state.peers.insert_or_assign(name, State::Peer{options.address, std::move(server)});
}

void AppUnderTest::peer_down(std::string_view authority) {
  const Authority at = parse_authority(authority);
  std::unique_ptr<http::Server> server;
  {
    const std::lock_guard lock(state_->peers_mutex);
    const auto found = state_->peers.find(at.host + ":" + std::to_string(at.port));
    if (found != state_->peers.end()) server = std::move(found->second.server);
  }
  if (server != nullptr) server->stop();
}

void AppUnderTest::advance(Duration time) {
  state_->begin();
  state_->wait([] { return false; }, time);
}

Instant AppUnderTest::now() noexcept { return Host::current().now(); }

App& AppUnderTest::app() {
  state_->begin();
  if (state_->app == nullptr) misuse("the power is off: restart() brings the service back");
  return *state_->app;
}

void AppUnderTest::on_worker(FunctionRef<void()> f) {
  app().runtime().each([&](io::Loop& loop) {
    if (loop.index() == 0) f();
  });
}

void AppUnderTest::wait_for(FunctionRef<bool()> done) {
  if (!state_->wait(done, task_time_max))
    misuse("a task has not ended after a day of virtual time, or the simulation has no events left");
}

void AppUnderTest::restart() {
  if (state_->app != nullptr) state_->take_down(/*crashed=*/false);
  if (state_->is_simulated()) state_->power_on();
  state_->start();
}

void AppUnderTest::crash() {
  disk().power_off();
  if (state_->app != nullptr) state_->take_down(/*crashed=*/true);
  restart();
}

void AppUnderTest::crash_within(std::uint64_t changes) { disk().power_off_after(changes); }
bool AppUnderTest::has_power() const noexcept { return state_->disk == nullptr || state_->disk->is_on(); }

const std::string& AppUnderTest::log() const noexcept { return state_->log; }

sim::Simulation& AppUnderTest::simulation() {
  if (!state_->is_simulated()) misuse("a TestApp with real_time has no simulation");
  return *state_->simulation;
}

sim::Disk& AppUnderTest::disk() {
  if (!state_->is_simulated()) misuse("the disk and its power can fail only in the simulation, not in real time");
  return *state_->disk;
}

std::string AppUnderTest::replay() const {
  return state_->is_simulated() ? state_->simulation->replay() : "in real time";
}

}  // namespace keel::app
