// The full-stack example under simulation, with its database: its own handlers, a network and a disk that fail on
// purpose, and power losses. Customers write and read; a ledger knows what must be, what may be and what must not be.
//
//   fullstack_sim_test               1,000 seeds, each run twice
//   fullstack_sim_test --seed=7      that seed alone, with what everybody asked and was answered
//   fullstack_sim_test --seeds=20000 more of them
//   KEEL_TESTS_OVER_TLS=1 fullstack_sim_test   the same over TLS, of which only some seeds are run otherwise
//
// One seed is several lives of the service on one disk. In each the power may go in the middle of any change to the
// disk; then all loops and connections are gone, the disk loses what was not synced, and the service starts again. What
// must hold: what was acknowledged is there with the value that was acknowledged, and has been there for each read
// since then; what was read once is never unread; what was never asked for is not there; what was asked for without an
// answer is there or not, whole, once; the file is sound; and the same seed gives the same trace, byte for byte.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "data.h"
#include "dice.h"
#include "health.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/sim_vfs.h"
#include "keel/http/server/server.h"
#include "keel/io/testing/disk.h"
#include "keel/io/testing/simulation.h"
#include "keel/net/stream.h"
#include "keel/net/tls/layer.h"
#include "keel/net/tls/stream.h"
#include "keel/net/tls/testing/certificates.h"
#include "keel/net/tls/testing/seeded_randomness.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"
#include "ledger.h"
#include "seeds.h"
#include "users.h"

namespace keel::fullstack_sim_test {
namespace {

// Mistakes that a checker worth its name finds.
enum class Mistake { None, SynchronousOff, SynchronousNormal, DiskLies, AsksTheRealWorld };

enum class Wire { Plain, Tls };

// Both ends of one life of the service. Nothing is resumed: a ticket's age is of the system's clock.
struct Secure {
  tls::testing::SeededRandomness randomness;
  tls::testing::Authority authority{"Root"};
  tls::Layers server{*tls::ServerContext::make({.certificates = {authority.issue({.names = {"shop.test"}})}})};
  tls::ClientContext client = *tls::ClientContext::make({.trust = {.pem = authority.pem()}, .sessions_max = 0});
};

// --- Who asks.

struct Answer {
  int status = 0;
  std::string body;
  bool closes = false;
};

std::optional<Answer> parse(std::string_view text) {
  const std::size_t head_end = text.find("\r\n\r\n");
  if (head_end == text.npos) return std::nullopt;
  const std::string head(text.substr(0, head_end + 2));
  const std::size_t length_at = head.find("\r\nContent-Length: ");
  const std::size_t length = length_at == head.npos ? 0 : std::strtoul(head.c_str() + length_at + 18, nullptr, 10);
  if (text.size() < head_end + 4 + length) return std::nullopt;
  return Answer{std::atoi(head.c_str() + 9), std::string(text.substr(head_end + 4, length)),
                head.find("\r\nConnection: close\r\n") != head.npos};
}

// The value of a member of a flat JSON object without escapes.
std::string member(std::string_view object, std::string_view key) {
  const std::size_t at = object.find("\"" + std::string(key) + "\":");
  if (at == object.npos) return "";
  std::string_view rest = object.substr(at + key.size() + 3);
  if (rest.starts_with('"')) return std::string(rest.substr(1, rest.find('"', 1) - 1));
  return std::string(rest.substr(0, rest.find_first_of(",}")));
}
std::int64_t number(std::string_view object, std::string_view key) { return std::atoll(member(object, key).c_str()); }
State value_of(std::string_view object) { return Value{member(object, "name"), number(object, "age")}; }

Task<Answer> converse(Stream& stream, const std::string& wire) {
  co_await stream.write(wire);
  std::string text;
  while (true) {
    if (std::optional<Answer> answer = parse(text)) co_return *std::move(answer);
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return fail(Code::Unavailable, "the stream ended before the answer");
    text += chunk;
  }
}

class Customer {
 public:
  // `secure`: over TLS; or null.
  Customer(Ledger& ledger, const Address& to, const Secure* secure, std::size_t number, std::uint64_t seed)
      : ledger_(ledger), to_(to), secure_(secure), number_(number), dice_(seed) {}

  Task<> live(int requests) {
    co_await sleep_for(dice_.up_to(100_ms));
    for (int i = 0; i < requests && ledger_.complaint.empty(); ++i) {
      co_await ask_something();
      const Duration pause = dice_.one_in(3) ? dice_.up_to(50_ms) : Duration();
      co_await sleep_for(pause);
    }
    stream_.reset();
  }

 private:
  enum class Sent { No, Maybe };

  Task<> ask_something() {
    Person* mine = random_person();
    const std::size_t roll = dice_.below(20);
    if (roll < 6 || mine == nullptr) {
      co_await create(mine != nullptr && !mine->last() ? *mine : ledger_.add_person(number_));
    } else if (roll < 10 && mine->last()) {
      co_await replace(*mine);
    } else if (roll < 12 && mine->last()) {
      co_await remove(*mine);
    } else if (roll < 15) {
      co_await add_data();
    } else if (roll < 18) {
      co_await look_at(*ledger_.people[dice_.below(ledger_.people.size())]);
    } else if (roll < 19) {
      co_await list();
    } else {
      co_await ask_for_nonsense();
    }
  }

  // One that may be written now; none: null.
  Person* random_person() {
    std::vector<Person*> mine;
    for (const auto& person : ledger_.people) {
      if (person->owner == number_ && !person->is_open) mine.push_back(person.get());
    }
    return mine.empty() ? nullptr : mine[dice_.below(mine.size())];
  }

  Task<Stream> connect() {
    return secure_ != nullptr ? tls::connect(secure_->client, "shop.test", to_) : Stream::connect(to_);
  }

  // What was answered; nothing: `sent` says whether it may happen all the same.
  Task<std::optional<Answer>> ask(std::string method, std::string target, std::string body, Sent& sent) {
    sent = Sent::No;
    const std::string asked = "c" + std::to_string(number_) + " " + method + " " + target + " " + body;
    if (!stream_) {
      Result<Stream> made = co_await attempt(with_timeout(3_s, connect()));
      if (!made) {
        ledger_.tell(asked + " -> no connection");
        co_return std::nullopt;
      }
      stream_.emplace(*std::move(made));
    }
    sent = Sent::Maybe;
    std::string wire = method + " " + target + " HTTP/1.1\r\nHost: sim\r\n";
    if (!body.empty()) {
      wire += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    }
    wire += "\r\n" + body;
    Result<Answer> answer = co_await attempt(with_timeout(5_s, converse(*stream_, wire)));
    if (!answer || answer->closes) stream_.reset();
    if (!answer) {
      ledger_.tell(asked + " -> nothing");
      co_return std::nullopt;
    }
    ledger_.tell(asked + " -> " + std::to_string(answer->status) + " " + answer->body.substr(0, 200));
    if (answer->status == 503) ++ledger_.refused_by_disk;
    co_return *std::move(answer);
  }

  // Asks for a new state. The response, if it is more than "perhaps".
  Task<std::optional<Answer>> change(Person& person, State wanted, std::string method, std::string target) {
    std::string body;
    if (wanted) {
      body = R"({"name":")" + wanted->name + R"(","email":")" + person.email + R"(","age":)" +
             std::to_string(wanted->age) + "}";
    }
    person.states.push_back(std::move(wanted));
    person.is_open = true;
    Sent sent = Sent::No;
    std::optional<Answer> answer = co_await ask(std::move(method), std::move(target), std::move(body), sent);
    person.is_open = false;
    if (!answer && sent == Sent::No) {
      ledger_.refuse(person);
    } else if (!answer || answer->status >= 500) {
      ledger_.leave_open(person);
      if (answer && answer->status != 503) complain(person, "a write", *answer);
      answer.reset();
    }
    co_return answer;
  }

  Value new_value() {
    ++values_;
    return {"n" + std::to_string(number_) + "-" + std::to_string(values_) + std::string(dice_.below(150), 'x'),
            static_cast<std::int64_t>(dice_.below(150))};
  }
  static std::string target_of(const Person& person) { return "/api/users/" + std::to_string(person.id); }
  void complain(const Person& person, const char* what, const Answer& answer) {
    ledger_.complain(std::string(what) + " of " + person.email + " got " + std::to_string(answer.status) + " " +
                     answer.body);
  }

  Task<> create(Person& person) {
    const bool is_taken = person.last().has_value();
    const State wanted = new_value();
    const std::optional<Answer> answer = co_await change(person, wanted, "POST", "/api/users");
    if (!answer) co_return;
    if (answer->status == 201 && !is_taken) {
      ledger_.acknowledge(person);
      person.id = number(answer->body, "id");
      if (value_of(answer->body) != wanted) complain(person, "the echo", *answer);
    } else if (answer->status == 409 && is_taken) {
      ledger_.refuse(person);
    } else {
      complain(person, "the making", *answer);
    }
  }

  Task<> replace(Person& person) {
    const State wanted = new_value();
    const std::optional<Answer> answer = co_await change(person, wanted, "PUT", target_of(person));
    if (!answer) co_return;
    if (answer->status != 200) co_return complain(person, "a change", *answer);
    ledger_.acknowledge(person);
    if (value_of(answer->body) != wanted) complain(person, "the echo", *answer);
  }

  Task<> remove(Person& person) {
    const std::optional<Answer> answer = co_await change(person, State(), "DELETE", target_of(person));
    if (!answer) co_return;
    if (answer->status != 204) co_return complain(person, "a removal", *answer);
    ledger_.acknowledge(person);
    person.id = 0;  // It may be given to somebody else.
  }

  Task<> add_data() {
    const std::size_t at = ledger_.data.size();
    const std::string body =
        R"({"datum":)" + std::to_string(at) + R"(,"pad":")" + std::string(dice_.below(900), 'd') + R"("})";
    ledger_.data.push_back({body});
    Sent sent = Sent::No;
    const std::optional<Answer> answer = co_await ask("POST", "/api/data", body, sent);
    if (!answer || answer->status == 503) {
      ++ledger_.unknown;
    } else if (answer->status == 201) {
      ledger_.data[at].id = number(answer->body, "id");
      ++ledger_.acknowledged;
    } else {
      ledger_.complain("data got " + std::to_string(answer->status) + " " + answer->body);
    }
  }

  Task<> look_at(Person& person) {
    if (person.id == 0) co_return;
    const std::int64_t id = person.id;
    const std::vector<std::size_t> floors = all_floors();
    const std::size_t floor = person.floor;
    Sent sent = Sent::No;
    const std::optional<Answer> answer = co_await ask("GET", target_of(person), "", sent);
    if (!answer || answer->status == 503) co_return;
    ++ledger_.reads;
    if (answer->status == 404) {
      ledger_.saw(person, floor, State(), "GET");
    } else if (answer->status != 200 || number(answer->body, "id") != id) {
      complain(person, "a look", *answer);
    } else {
      saw_item(answer->body, floors);
      // The number has been given to somebody else.
      if (member(answer->body, "email") != person.email) ledger_.saw(person, floor, State(), "GET");
    }
  }

  Task<> list() {
    const std::int64_t after = dice_.one_in(2) ? 0 : static_cast<std::int64_t>(dice_.below(40));
    const std::vector<std::size_t> floors = all_floors();
    std::vector<std::int64_t> ids;
    for (const auto& person : ledger_.people) ids.push_back(person->id);
    Sent sent = Sent::No;
    const std::optional<Answer> answer =
        co_await ask("GET", "/api/users?limit=50&after=" + std::to_string(after), "", sent);
    if (!answer || answer->status == 503) co_return;
    ++ledger_.reads;
    if (answer->status != 200) co_return ledger_.complain("a list got " + std::to_string(answer->status));
    std::string_view rest = answer->body;
    std::vector<const Person*> listed;
    for (std::size_t at = rest.find("{\"age\":"); at != rest.npos; at = rest.find("{\"age\":")) {
      rest.remove_prefix(at);
      const std::string_view item = rest.substr(0, rest.find('}') + 1);
      listed.push_back(saw_item(item, floors));
      rest.remove_prefix(item.size());
    }
    const std::string next = member(answer->body, "next");
    const std::int64_t last = next == "null" ? INT64_MAX : std::atoll(next.c_str());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      Person& person = *ledger_.people[i];
      if (ids[i] <= after || ids[i] > last || std::ranges::find(listed, &person) != listed.end()) continue;
      ledger_.saw(person, floors[i], State(), "list");
    }
  }

  Task<> ask_for_nonsense() {
    Sent sent = Sent::No;
    const std::optional<Answer> answer = co_await ask("POST", "/api/users", R"({"name":"nobody","email":"x"})", sent);
    if (answer && (answer->status < 400 || answer->status >= 500)) {
      ledger_.complain("nonsense got " + std::to_string(answer->status));
    }
  }

  std::vector<std::size_t> all_floors() const {
    std::vector<std::size_t> floors;
    for (const auto& person : ledger_.people) floors.push_back(person->floor);
    return floors;
  }
  // The user that an item of a response is about.
  const Person* saw_item(std::string_view item, const std::vector<std::size_t>& floors) {
    const std::string email = member(item, "email");
    if (email.ends_with("@example.com")) return nullptr;
    for (std::size_t i = 0; i < ledger_.people.size(); ++i) {
      Person& person = *ledger_.people[i];
      if (person.email != email) continue;
      ledger_.saw(person, i < floors.size() ? floors[i] : 0, value_of(item), "GET");
      return &person;
    }
    ledger_.complain("nobody asked for " + std::string(item));
    return nullptr;
  }

  Ledger& ledger_;
  const Address to_;
  const Secure* const secure_;
  const std::size_t number_;
  Dice dice_;
  std::optional<Stream> stream_;
  int values_ = 0;
};

Task<> live_all(std::vector<std::unique_ptr<Customer>>& customers, int requests) {
  Scope scope;
  for (const auto& customer : customers) scope.spawn(customer->live(requests), OnError::Ignore);
  co_await scope.join();
}

// --- One run of one seed.

struct Outcome {
  std::string complaint;  // Empty: all that must hold has held.
  std::string told;
  std::string trace;  // The end of the last life's.
  std::uint64_t hash = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t unknown = 0;
  std::uint64_t reads = 0;
  std::uint64_t refused_by_disk = 0;
  std::uint64_t lives = 0;
  std::uint64_t starts_failed = 0;
  sim::DiskCounts disk;
};

// All lives of the service on one disk.
class World {
 public:
  World(std::uint64_t seed, Mistake mistake, Wire wire)
      : seed_(seed),
        mistake_(mistake),
        wire_(wire),
        dice_(seed * 1'000'003),
        disk_(mistake == Mistake::AsksTheRealWorld ? Host::system().random() : seed),
        vfs_(disk_, seed) {}

  Outcome run() {
    const std::uint64_t lives = 2 + dice_.below(3);
    for (std::uint64_t i = 0; i <= lives && ledger_.complaint.empty(); ++i) live(i == lives);
    outcome_.complaint = ledger_.complaint;
    outcome_.told = ledger_.told;
    outcome_.acknowledged = ledger_.acknowledged;
    outcome_.unknown = ledger_.unknown;
    outcome_.reads = ledger_.reads;
    outcome_.refused_by_disk = ledger_.refused_by_disk;
    outcome_.disk = disk_.counts();
    mix(disk_.trace_hash());
    return outcome_;
  }

 private:
  void mix(std::uint64_t hash) { outcome_.hash = (outcome_.hash ^ hash) * 0x9e3779b97f4a7c15 + 1; }

  sim::DiskFaults next_faults() {
    // Each third life has a disk that does not fail, until the power does.
    sim::DiskFaults faults = dice_.one_in(3) ? sim::DiskFaults{} : sim::DiskFaults::faulty(dice_.next());
    if (dice_.one_in(8)) faults.capacity_bytes = 60'000 + dice_.below(300'000);
    faults.syncs = mistake_ != Mistake::DiskLies;
    return faults;
  }

  // Under the faults of this life at first, as a supervisor starts it again and again; without them it must succeed.
  std::unique_ptr<db::sqlite::Database> start(sim::Simulation& simulation) {
    db::sqlite::DatabaseOptions options;
    options.path = "/data/app.db";
    options.migrations = KEEL_SIM_MIGRATIONS;
    options.vfs = vfs_.name();
    options.executor = &simulation.pool();
    options.cache_kib = 64;
    constexpr int checkpoints[] = {4, 30, 1000};
    options.checkpoint_pages = checkpoints[dice_.below(std::size(checkpoints))];
    if (dice_.one_in(8)) options.loop_steps_max = 0;
    if (mistake_ == Mistake::SynchronousOff) options.synchronous = db::sqlite::Synchronous::Off;
    if (mistake_ == Mistake::SynchronousNormal) options.synchronous = db::sqlite::Synchronous::Normal;
    for (int attempt = 0; disk_.is_on(); ++attempt) {
      if (attempt == 3) disk_.set_faults({.syncs = mistake_ != Mistake::DiskLies});
      Result<std::unique_ptr<db::sqlite::Database>> database = db::sqlite::Database::open(options);
      if (database) return *std::move(database);
      ledger_.tell("the start fails: " + database.error().describe());
      ++outcome_.starts_failed;
      if (attempt == 3 && disk_.is_on()) {
        ledger_.complain("the service does not start: " + database.error().describe());
        break;
      }
    }
    return nullptr;
  }

  // The last one has neither faults nor customers: it is only looked at.
  void live(bool last) {
    ++outcome_.lives;
    const std::uint64_t life = seed_ * 100 + outcome_.lives;
    sim::SimOptions options = seed_ % 4 == 0 ? sim::SimOptions{.seed = life} : sim::SimOptions::faulty(life);
    options.only = seeds.only;
    options.trace_bytes_max = 4 * 1024;
    sim::Simulation simulation(options);
    Host* const host_before = Host::set_current(&simulation);

    const sim::DiskFaults faults = next_faults();
    const bool loses_power = !dice_.one_in(4);
    constexpr std::uint64_t changes[] = {30, 100, 400};
    const std::uint64_t off_after = 1 + dice_.below(changes[dice_.below(std::size(changes))]);
    if (!last) disk_.set_faults(faults);
    if (!last && loses_power) disk_.power_off_after(off_after);
    if (std::unique_ptr<db::sqlite::Database> database = start(simulation)) {
      look(faults, last);
      if (!last && ledger_.complaint.empty()) serve(simulation, *database);
      if (!simulation.run_until([&] { return database->is_idle(); }, 120_s))
        give_up("the database is never idle", simulation);
      database.reset();
    }
    mix(simulation.trace_hash());
    outcome_.trace = simulation.trace_text();
    Host::set_current(host_before);

    disk_.set_faults({.syncs = mistake_ != Mistake::DiskLies});
    // It may also go after an orderly end.
    if (disk_.is_on() && dice_.one_in(2)) disk_.power_off();
    disk_.power_off_after(0);
    if (!disk_.is_on()) {
      ledger_.tell("the power is lost");
      disk_.power_on();
    }
  }

  // What another connection finds, without faults but with the database open.
  void look(const sim::DiskFaults& faults, bool last) {
    if (!disk_.is_on()) return;
    disk_.set_faults({.syncs = faults.syncs});
    {
      auto connection = db::sqlite::Connection::open(
          {.path = "/data/app.db", .access = db::sqlite::Access::ReadOnly, .vfs = vfs_.name()});
      if (!connection) {
        ledger_.complain("cannot be opened after the start: " + connection.error().describe());
      } else {
        ledger_.settle(**connection);
      }
    }
    if (!last) disk_.set_faults(faults);
  }

  void serve(sim::Simulation& simulation, db::Session& session) {
    Data data(session);
    Health health;
    Users users(session);
    http::Router router;
    api::mount(router, data, health, users);
    std::optional<Secure> secure;
    if (wire_ == Wire::Tls) secure.emplace();
    http::ServerOptions options;
    options.address = Address::parse("10.0.0.1:80").value();
    options.https = secure ? &secure->server : nullptr;
    options.access_log = false;
    options.listen.reuse_port = true;
    std::vector<io::Loop*> loops;
    std::vector<std::unique_ptr<http::Server>> servers;
    const std::size_t workers = 1 + dice_.below(2);
    for (std::size_t i = 0; i < workers; ++i) {
      loops.push_back(&simulation.add_loop());
      io::Loop::Entered entered(*loops.back());
      servers.push_back(std::make_unique<http::Server>(router, options));
      EXPECT_TRUE(servers.back()->start(*loops.back()));
    }

    io::Loop& client_loop = simulation.add_loop();
    std::vector<std::unique_ptr<Customer>> customers;
    for (std::size_t i = 1 + dice_.below(5); i > 0; --i) {
      customers.push_back(
          std::make_unique<Customer>(ledger_, options.address, secure ? &*secure : nullptr, i, dice_.next()));
    }
    Start<void> living;
    {
      io::Loop::Entered entered(client_loop);
      living.begin(live_all(customers, 5 + static_cast<int>(dice_.below(20))), [](StartCore&) noexcept {});
    }
    simulation.run_until([&] { return living.has_ended() || !disk_.is_on(); }, 600_s);
    if (living.is_running()) {
      // Whoever waits for a response now never gets one.
      io::Loop::Entered entered(client_loop);
      living.stop();
    }
    for (std::size_t i = 0; i < workers; ++i) {
      io::Loop::Entered entered(*loops[i]);
      servers[i]->begin_drain();
    }
    const auto is_over = [&] {
      return living.has_ended() &&
             std::ranges::all_of(servers, [](const auto& server) { return server->is_drained(); });
    };
    if (!simulation.run_until(is_over, 300_s)) give_up("the drain does not end", simulation);
    {
      io::Loop::Entered entered(client_loop);
      (void)living.take().is_ok();
      customers.clear();
    }
    // What closing a stream has cancelled ends in a later turn of its loop.
    simulation.run_until([] { return false; }, 1_s);
  }

  // The rest cannot be taken apart in order: say so and stop here.
  [[noreturn]] void give_up(const char* what, const sim::Simulation& simulation) {
    std::fprintf(stderr, "%s%s\n%s\n%s\n", ledger_.told.c_str(), what, simulation.replay().c_str(),
                 seeds.replay(seed_).c_str());
    std::abort();
  }

  const std::uint64_t seed_;
  const Mistake mistake_;
  const Wire wire_;
  Dice dice_;
  sim::Disk disk_;
  db::sqlite::SimVfs vfs_;
  Ledger ledger_;
  Outcome outcome_;
};

// Runs a seed twice; what is wrong, or nothing.
std::string check(std::uint64_t seed, Outcome& first, Mistake mistake = Mistake::None, Wire wire = Wire::Plain) {
  first = World(seed, mistake, wire).run();
  if (!first.complaint.empty()) return first.complaint;
  const Outcome second = World(seed, mistake, wire).run();
  if (first.hash != second.hash || first.trace != second.trace || first.told != second.told) {
    return "two runs of this seed differ";
  }
  return "";
}

TEST(FullstackSimulation, keeps_what_it_acknowledged_over_every_power_loss_and_repeats_each_run) {
  const Wire wire = std::getenv("KEEL_TESTS_OVER_TLS") != nullptr ? Wire::Tls : Wire::Plain;
  Outcome all;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Outcome outcome;
    const std::string complaint = check(seed, outcome, Mistake::None, wire);
    if (seeds.is_one()) std::printf("%s\n%s", outcome.trace.c_str(), outcome.told.c_str());
    ASSERT_EQ(complaint, "") << seeds.replay(seed);
    all.acknowledged += outcome.acknowledged;
    all.unknown += outcome.unknown;
    all.reads += outcome.reads;
    all.refused_by_disk += outcome.refused_by_disk;
    all.lives += outcome.lives;
    all.starts_failed += outcome.starts_failed;
    all.disk.power_losses += outcome.disk.power_losses;
    all.disk.pages_lost += outcome.disk.pages_lost;
    all.disk.pages_torn += outcome.disk.pages_torn;
    all.disk.sizes_lost += outcome.disk.sizes_lost;
    all.disk.names_lost += outcome.disk.names_lost;
    all.disk.read_errors += outcome.disk.read_errors;
    all.disk.write_errors += outcome.disk.write_errors;
    all.disk.sync_errors += outcome.disk.sync_errors;
    all.disk.full += outcome.disk.full;
  }
  const auto say = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf(
      "%llu seeds, %llu lives: %llu writes acknowledged, %llu of unknown outcome, %llu reads, %llu answers 503, %llu "
      "failed starts; %llu power losses, %llu pages lost, %llu torn, %llu sizes and %llu names lost; errors of %llu "
      "reads, %llu writes, %llu syncs; %llu times full\n",
      say(seeds.count), say(all.lives), say(all.acknowledged), say(all.unknown), say(all.reads),
      say(all.refused_by_disk), say(all.starts_failed), say(all.disk.power_losses), say(all.disk.pages_lost),
      say(all.disk.pages_torn), say(all.disk.sizes_lost), say(all.disk.names_lost), say(all.disk.read_errors),
      say(all.disk.write_errors), say(all.disk.sync_errors), say(all.disk.full));
  if (seeds.is_less()) return;
  // A run in which nothing happens proves nothing.
  EXPECT_GT(all.acknowledged, seeds.count * 10);
  EXPECT_GT(all.reads, seeds.count * 5);
  EXPECT_GT(all.disk.power_losses, seeds.count);
  for (const std::uint64_t count : {all.unknown, all.refused_by_disk, all.starts_failed, all.disk.pages_lost,
                                    all.disk.pages_torn, all.disk.sizes_lost, all.disk.names_lost, all.disk.read_errors,
                                    all.disk.write_errors, all.disk.sync_errors, all.disk.full}) {
    EXPECT_GT(count, 0u);
  }
}

TEST(FullstackSimulation, keeps_it_over_tls_as_well) {
  std::uint64_t acknowledged = 0;
  const std::uint64_t count = std::min<std::uint64_t>(seeds.count, 20);
  for (std::uint64_t seed = seeds.first; seed < seeds.first + count; ++seed) {
    Outcome outcome;
    ASSERT_EQ(check(seed, outcome, Mistake::None, Wire::Tls), "") << "KEEL_TESTS_OVER_TLS=1, " << seeds.replay(seed);
    acknowledged += outcome.acknowledged;
  }
  if (!seeds.is_one()) {
    EXPECT_GT(acknowledged, count * 5);
  }
}

// The checker itself: a service or a disk that is wrong does not pass. The first of 100 seeds that notices; 0: none.
std::uint64_t seed_that_notices(Mistake mistake) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Outcome outcome;
    if (const std::string complaint = check(seed, outcome, mistake); !complaint.empty()) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), complaint.c_str());
      return seed;
    }
  }
  return 0;
}

TEST(FullstackSimulation, finds_within_100_seeds_that_nothing_is_synced) {
  EXPECT_NE(seed_that_notices(Mistake::SynchronousOff), 0u);
}
TEST(FullstackSimulation, finds_within_100_seeds_that_commits_are_not_synced) {
  EXPECT_NE(seed_that_notices(Mistake::SynchronousNormal), 0u);
}
TEST(FullstackSimulation, finds_within_100_seeds_that_the_disk_lies) {
  EXPECT_NE(seed_that_notices(Mistake::DiskLies), 0u);
}
TEST(FullstackSimulation, finds_within_100_seeds_that_the_real_world_is_asked) {
  EXPECT_NE(seed_that_notices(Mistake::AsksTheRealWorld), 0u);
}

}  // namespace
}  // namespace keel::fullstack_sim_test

int main(int argc, char** argv) { return keel::run_seeds(argc, argv, 1000); }
