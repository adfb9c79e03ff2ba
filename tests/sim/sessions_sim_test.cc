// Sessions under simulation, on a network that cuts connections at any byte, goes silent and holds things up.
//
//   sessions_sim_test                  40 seeds, every eighth run twice
//   sessions_sim_test --seeds=1000     make messages-seeds
//   sessions_sim_test --seed=7         that seed alone, with the end of its trace
//
// Several clients of two workers: each sends numbered messages and gets numbered ones back, with rings that are small
// enough to be full. What must hold, whatever happens to connections: what one side has sent arrives in its order, none
// twice; each message that does not arrive is in the number that an event tells; rings stay within their bounds; no
// side sends more than the other one has room for; a session comes back from a silent connection by its heartbeats, and
// keeps a connection that does not break; and the same seed gives the same trace.

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dice.h"
#include "keel/io/testing/simulation.h"
#include "keel/net/listener.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/server.h"
#include "keel/net/sessions/client.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"
#include "seeds.h"

namespace keel::sessions_sim_test {
namespace {

using namespace keel::sessions;

struct Item {
  static constexpr std::uint16_t message_type = 1;
  std::int64_t number = 0;
  std::string filler;
};

struct Case {
  sim::SimOptions options;
  std::size_t clients = 0;
  std::int64_t items = 0;     // Of each client.
  bool drops = false;         // The oldest where there is no room; else the sender waits.
  bool waits = false;         // Handlers are tasks.
  bool is_forgetful = false;  // The server keeps sessions for less time than connections may be gone.
  SessionOptions session;
  bool has_no_faults() const { return options.seed % 8 == 0; }
};

// What depends on nothing but the seed. Each eighth has a network without faults.
Case case_of(std::uint64_t seed) {
  Dice dice(seed * 1'000'003);
  Case c;
  c.options.seed = seed;
  if (!c.has_no_faults()) {
    c.options.reset = 0.6;
    c.options.vanish = dice.one_in(2) ? 0.3 : 0;
    c.options.short_delivery = dice.one_in(2) ? 0.3 : 0;
    c.options.long_delay = dice.one_in(4) ? 0.02 : 0;
    c.options.stall = dice.one_in(4) ? 0.01 : 0;
  }
  c.options.trace_bytes_max = seeds.is_one() ? 64 * 1024 : 0;
  c.options.only = seeds.only;
  c.clients = 1 + dice.below(3);
  c.items = static_cast<std::int64_t>(20 + dice.below(60));
  c.drops = dice.one_in(3);
  c.waits = dice.one_in(3);
  c.is_forgetful = dice.one_in(4);
  c.session.ring_messages = static_cast<std::uint32_t>(4 + dice.below(28));
  c.session.ring_bytes = 16 * 1024;
  c.session.window_messages = static_cast<std::uint32_t>(2 + dice.below(30));
  c.session.heartbeat = 200_ms;
  return c;
}

// What arrives in one direction, and what was told not to.
struct Direction {
  std::int64_t next = 0;      // The number after the last one that has come.
  std::int64_t missing = 0;   // Between those that have come.
  std::int64_t told = 0;      // As lost.
  bool is_forgotten = false;  // Nobody knows how many are missing.
  std::string complaint;
  void arrived(std::int64_t number) {
    if (number < next) complaint = "message " + std::to_string(number) + " came after " + std::to_string(next - 1);
    missing += number - next;
    next = number + 1;
  }
  void check(const char* whose, std::int64_t end) {
    if (!complaint.empty()) complaint = whose + (": " + complaint);
    const std::int64_t lost = missing + end - next;
    if (complaint.empty() && lost != told && !(is_forgotten && lost >= 0)) {
      complaint =
          whose + (": " + std::to_string(lost) + " messages are missing, and " + std::to_string(told) + " told");
    }
  }
};

struct Device {
  Direction up, down;
  std::int64_t sent_down = 0;
  std::uint64_t unconfirmed = 0;
  bool is_done = false;
};

class World {
 public:
  explicit World(const Case& c) : case_(c), simulation_(c.options), devices_(c.clients) {
    on_server_
        .on<Item>([this](Session& from, Item item) -> Task<> {
          Device& device = of(from);
          if (case_.waits) co_await sleep_for(Duration::milliseconds(item.number % 7));
          device.up.arrived(item.number);
          co_return;
        })
        .on_event([this](Session& session, const SessionEvent& event) {
          Device& device = of(session);
          if (event.kind == SessionEvent::Kind::Lost) device.up.told += static_cast<std::int64_t>(event.lost);
          const bool has_expired =
              event.kind == SessionEvent::Kind::Ended && event.reason->code() == Code::DeadlineExceeded;
          if (has_expired) device.down.is_forgotten = true;
        });
    for (int i = 0; i < 2; ++i) workers_.push_back(std::make_unique<OfWorker>(*this));
  }

  std::string run() {
    io::Loop& loop = simulation_.add_loop();
    Start<void> all;
    {
      const io::Loop::Entered entered(loop);
      all.begin(run_all(*this), [](StartCore&) noexcept {});
    }
    const bool has_ended = simulation_.run_until([&] { return all.has_ended(); }, 600_s);
    if (!has_ended) {
      std::printf("%s\n", simulation_.replay().c_str());
      std::abort();  // Nothing can be taken apart that still runs.
    }
    std::string complaint;
    if (Result<> result = all.take(); !result) complaint = result.error().describe();
    for (const auto& worker : workers_) worker->stop(simulation_);
    for (Device& device : devices_) {
      device.up.check("to the server", case_.items);
      device.down.check("to the client", device.sent_down);
      if (complaint.empty()) complaint = device.up.complaint;
      if (complaint.empty()) complaint = device.down.complaint;
    }
    if (complaint.empty()) complaint = bound_;
    if (complaint.empty() && case_.has_no_faults() &&
        (last_stats_.begun != case_.clients || last_stats_.resumed != 0 || last_stats_.forgotten != 0)) {
      complaint = "a client has connected again though no connection broke";
    }
    return complaint;
  }
  std::uint64_t hash() const { return simulation_.trace_hash(); }
  std::string_view trace() const { return simulation_.trace_text(); }
  const sim::FaultCounts& faults() const { return simulation_.faults(); }
  RegistryStats stats() const { return last_stats_; }

 private:
  struct OfWorker {
    explicit OfWorker(World& world) : loop(world.simulation_.add_loop()) {
      const io::Loop::Entered entered(loop);
      listener.emplace(*Listener::bind(Address::parse("127.0.0.1:0").value()));
      ServerOptions options;
      options.session = world.case_.session;
      options.expiry = world.case_.is_forgetful ? 3_ms : 60_s;
      sessions.emplace(world.registry_, world.on_server_, std::move(options));
      messages::ServerOptions of_messages;
      of_messages.drain = 1_ms;
      of_messages.on_open = [this](messages::Peer& peer) { sessions->open(peer); };
      of_messages.on_closed = [&world](messages::Peer&, const Error& reason) { world.check_reason(reason); };
      server.emplace(world.requests_, std::move(of_messages));
      serving.begin(server->serve(*listener, stopping), [](StartCore&) noexcept {});
    }
    void stop(sim::Simulation& simulation) {
      on(loop, [&] { stopping.set(); });
      simulation.run_until([&] { return serving.has_ended(); }, 60_s);
      on(loop, [&] {
        static_cast<void>(serving.take());
        server.reset();
        ending.begin(sessions->stop(), [](StartCore&) noexcept {});
      });
      simulation.run_until([&] { return ending.has_ended(); }, 60_s);
      on(loop, [&] {
        static_cast<void>(ending.take());
        sessions.reset();
        listener.reset();
      });
      simulation.run_until([] { return false; }, 1_ms);  // What they have left to the loop.
    }
    io::Loop& loop;
    std::optional<Listener> listener;
    std::optional<Server> sessions;
    std::optional<messages::Server> server;
    keel::Event stopping;
    Start<void> serving, ending;
  };

  template <class F>
  static void on(io::Loop& loop, F f) {
    const io::Loop::Entered entered(loop);
    f();
  }
  Device& of(const Session& session) { return devices_.at(std::stoul(std::string(session.name()))); }
  void check_bounds(const Session& session) {
    if (session.unacknowledged() > case_.session.ring_messages || session.ring_bytes() > case_.session.ring_bytes) {
      bound_ = "a ring is above its bound";
    }
  }

  // Both sides keep to the protocol and to the window of the other one, so that neither closes a connection for that.
  void check_reason(const Error& reason) {
    if (reason.code() == Code::Protocol || reason.code() == Code::ResourceExhausted) {
      bound_ = "a connection was closed: " + reason.describe();
    }
  }

  // Each message of a client is followed, now and then, by some of the server.
  static Task<> run_client(World& world, std::size_t index) {
    const Case& c = world.case_;
    Device& device = world.devices_[index];
    Dice dice(c.options.seed * 31 + index);
    Handlers handlers;
    handlers.on<Item>([&](Session&, const Item& item) { device.down.arrived(item.number); })
        .on_event([&](Session&, const SessionEvent& event) {
          if (event.kind != SessionEvent::Kind::Lost) return;
          device.down.told += static_cast<std::int64_t>(event.lost);
          device.unconfirmed += event.unconfirmed;
          if (event.is_forgotten) device.up.is_forgotten = device.down.is_forgotten = true;
        });
    ClientOptions options;
    for (const auto& worker : world.workers_) options.servers.push_back(worker->listener->address());
    options.name = std::to_string(index);
    options.session = c.session;
    options.reconnect_min = 5_ms;
    options.reconnect_max = 200_ms;
    options.connect_timeout = 1_s;
    Client client(handlers, options);
    Scope running;
    running.spawn(client.run(), OnError::Ignore);
    const SendOptions how{.when_full = c.drops ? WhenFull::DropOldest : WhenFull::Refuse};
    for (std::int64_t i = 0; i < c.items; ++i) {
      co_await sleep_for(dice.up_to(60_ms));
      const Item item{i, std::string(dice.below(2000), 'x')};
      while (!client->send(item, how)) co_await client->room(2100);
      world.check_bounds(*client);
      if (dice.one_in(2)) world.send_down(client->number(), device, dice.below(6));
    }
    co_await client->acknowledged();
    // What the server has sent has come too, or was told as lost, unless nobody knows.
    for (int i = 0; i < 400 && !device.down.is_forgotten; ++i) {
      if (device.down.next + 0 >= device.sent_down) break;
      co_await sleep_for(50_ms);
    }
    client->end(Error(Code::Cancelled, "done"));
    const Result<> joined = co_await attempt(running.join());
    device.is_done = true;
  }
  // From the loop of the client: where the session is now.
  void send_down(std::uint64_t number, Device& device, std::size_t count) {
    for (const auto& worker : workers_) {
      on(worker->loop, [&] {
        Session* const session = worker->sessions->find(number);
        if (session == nullptr) return;
        for (std::size_t i = 0; i < count; ++i) {
          const SendOptions how{.when_full = case_.drops ? WhenFull::DropOldest : WhenFull::Refuse};
          if (session->send(Item{device.sent_down, "y"}, how)) ++device.sent_down;
          check_bounds(*session);
        }
      });
    }
  }
  static Task<> run_all(World& world) {
    Scope clients;
    for (std::size_t i = 0; i < world.devices_.size(); ++i) clients.spawn(run_client(world, i));
    co_await clients.join();
    world.last_stats_ = world.registry_.stats();
  }

  const Case case_;
  sim::Simulation simulation_;
  std::vector<Device> devices_;
  Handlers on_server_;
  messages::Handlers requests_;
  Registry registry_;
  std::vector<std::unique_ptr<OfWorker>> workers_;
  std::string bound_;
  RegistryStats last_stats_;
};

TEST(SessionsSimulation, loses_nothing_silently_and_doubles_nothing_whatever_happens_to_connections) {
  RegistryStats sum;
  std::uint64_t resets = 0, vanished = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    const Case c = case_of(seed);
    World world(c);
    const std::string complaint = world.run();
    if (seeds.is_one()) std::printf("%.*s\n", static_cast<int>(world.trace().size()), world.trace().data());
    ASSERT_EQ(complaint, "") << seeds.replay(seed);
    if (seed % 8 == 3) {
      World again(c);
      EXPECT_EQ(again.run(), "");
      ASSERT_EQ(again.hash(), world.hash()) << seeds.replay(seed);
    }
    const RegistryStats stats = world.stats();
    sum.resumed += stats.resumed;
    sum.taken_over += stats.taken_over;
    sum.forgotten += stats.forgotten;
    sum.lost += stats.lost;
    sum.heartbeats_missed += stats.heartbeats_missed;
    resets += world.faults().resets;
    vanished += world.faults().vanished;
  }
  std::printf("%llu resets, %llu gone silent: resumed %llu, taken over %llu, forgotten %llu; %llu lost and told\n",
              static_cast<unsigned long long>(resets), static_cast<unsigned long long>(vanished),
              static_cast<unsigned long long>(sum.resumed), static_cast<unsigned long long>(sum.taken_over),
              static_cast<unsigned long long>(sum.forgotten), static_cast<unsigned long long>(sum.lost));
  if (seeds.is_less()) return;
  EXPECT_GT(sum.resumed, 0u);
  EXPECT_GT(sum.taken_over, 0u);
  EXPECT_GT(sum.forgotten, 0u);
  EXPECT_GT(sum.lost, 0u);
  EXPECT_GT(vanished, 0u);
}

}  // namespace
}  // namespace keel::sessions_sim_test

int main(int argc, char** argv) { return keel::run_seeds(argc, argv, 40); }
