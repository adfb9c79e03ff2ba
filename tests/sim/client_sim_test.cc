// http::Client against http::Server under simulation: seeded callers that ask, write, stream, lose patience and go
// away, on a network that fails on purpose, with a service that is overloaded now and then.
//
//   client_sim_test                 150 seeds, each run twice
//   client_sim_test --seed=7        that seed alone, with the end of its trace
//
// What must hold, whatever happens: a response belongs to its call; what may not be done twice is done at most once,
// and once when it was answered; every call ends in time; a network that loses nothing and a service that is well
// answer everything; when all is over no connection is left; and the same seed gives the same trace, byte for byte.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dice.h"
#include "keel/http/client/client.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/server.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/timing.h"
#include "seeds.h"

namespace keel::client_sim_test {
namespace {

// Mistakes that a checker worth its name finds.
enum class Mistake { None, AnswersAnother, PromisesThatOrdersMayBeRepeated, AsksTheRealWorld };

constexpr Duration call_timeout = 4_s;
constexpr std::size_t page_bytes = 50 * 1024;

std::string page_of(int id) {
  std::string text = std::to_string(id) + ":";
  while (text.size() < page_bytes) text += static_cast<char>('a' + text.size() % 23);
  return text;
}

struct Service {
  Service(std::uint64_t seed, bool fails, Mistake m) : dice(seed), may_fail(fails), mistake(m) {}

  Result<http::Response> number(http::Request& request) {
    KEEL_TRY(int id, request.path_param<int>("id"));
    if (may_fail && dice.one_in(6)) return http::refuse(http::Status::ServiceUnavailable, "not now");
    const int before = std::exchange(last, id);
    if (mistake == Mistake::AnswersAnother && before != 0) id = before;
    http::Response response = http::Response::text(http::Status::Ok, std::to_string(id));
    if (mistake == Mistake::AsksTheRealWorld) response.header("X-Entropy", std::to_string(Host::system().random()));
    return response;
  }
  Task<http::Response> later(http::Request& request) {
    const int id = co_await request.path_param<int>("id");
    co_await sleep_for(1_ms * (id % 40));
    co_return http::Response::text(http::Status::Ok, std::to_string(id));
  }
  // Not idempotent. Each is counted.
  Task<http::Response> order(http::Request& request) {
    const int id = co_await request.path_param<int>("id");
    ++orders[id];
    co_await sleep_for(1_ms * (id % 5));
    co_return http::Response::text(http::Status::Created, std::to_string(id));
  }
  Result<http::Response> page(http::Request& request) {
    KEEL_TRY(int id, request.path_param<int>("id"));
    return http::Response::text(http::Status::Ok, page_of(id));
  }
  http::Response echo(http::Request& request) { return http::Response::text(http::Status::Ok, request.body()); }
  Result<http::Response> moved(http::Request& request) {
    KEEL_TRY(int id, request.path_param<int>("id"));
    return http::Response(http::Status::Found).header("Location", "../n/" + std::to_string(id));
  }
  // Ill for a while, then well again: what a breaker is for.
  http::Response ill(http::Request&) {
    if (ill_left == 0) return http::Response::text(http::Status::Ok, "well");
    --ill_left;
    return http::Response(http::Status::InternalServerError);
  }

  Dice dice;
  const bool may_fail;
  const Mistake mistake;
  int last = 0;
  int ill_left = 25;
  std::map<int, int> orders;
};

Task<> write_pieces(http::ClientBodyWriter& body, int id) {
  const std::string text = page_of(id);
  for (std::size_t at = 0; at < text.size(); at += 7'000) {
    co_await body.write(std::string_view(text).substr(at, 7'000));
  }
}

// One who calls, one call after the other.
class Caller {
 public:
  Caller(http::Client& client, Service& service, std::uint64_t seed, int number, bool may_lose)
      : client_(client), service_(service), dice_(seed), number_(number), may_lose_(may_lose) {}

  Task<> run() {
    const std::size_t calls = 3 + dice_.below(10);
    for (std::size_t i = 0; i < calls; ++i) {
      co_await sleep_for(dice_.one_in(4) ? dice_.up_to(800_ms) : dice_.up_to(10_ms));
      const int id = number_ * 1000 + static_cast<int>(i);
      const Instant began = Host::current().now();
      const bool is_impatient = dice_.one_in(6);
      const Duration patience = is_impatient ? dice_.up_to(60_ms) : 1_h;
      const Result<> made = co_await attempt(with_timeout(patience, one(id)));
      // A loop may be held up for 300 ms, more than once; a stream takes a read_timeout for each piece at most.
      const Duration longest = call_timeout + (std::exchange(is_stream_, false) ? 30_s : 2_s);
      if (Host::current().now() - began > longest) complain(id, "took too long");
      if (!made && !may_lose_ && !is_impatient) complain(id, made.error().describe());
      told_ += std::to_string(id) + (made ? " ok" : " " + std::string(to_string(made.error().code()))) + "\n";
      if (made) ++answered;
    }
  }
  const std::string& complaint() const { return complaint_; }
  const std::string& told() const { return told_; }
  std::uint64_t answered = 0;

 private:
  Task<> one(int id) {
    const std::string name = std::to_string(id);
    switch (dice_.below(9)) {
      case 0:
      case 1:
        co_return co_await expect(id, http::ClientRequest(http::Method::Get, at("/n/" + name)), name);
      case 2:
        co_return co_await expect(id, http::ClientRequest(http::Method::Get, at("/later/" + name)), name);
      case 3:
        co_return co_await expect(id, http::ClientRequest(http::Method::Get, at("/moved/" + name)), name);
      case 4:
        co_return co_await expect(
            id, http::ClientRequest(http::Method::Put, at("/echo")).body(page_of(id), "text/plain"), page_of(id));
      case 5: {
        const auto writer = [id](http::ClientBodyWriter& body) { return write_pieces(body, id); };
        http::ClientRequest request(http::Method::Post, at("/echo"));
        request.stream("text/plain", writer);
        co_return co_await expect(id, std::move(request), page_of(id));
      }
      case 6:
        co_return co_await stream(id);
      case 7:
        co_return co_await ask_the_ill();
      default:
        co_return co_await order(id);
    }
  }
  Task<> expect(int id, http::ClientRequest request, std::string body) {
    const http::ClientResponse response = co_await client_.send(std::move(request));
    if (response.status() == http::Status::ServiceUnavailable && service_.may_fail) co_return;
    if (response.status() != http::Status::Ok) complain(id, "status " + std::to_string(number(response.status())));
    if (response.body() != body) complain(id, "another body: " + std::string(response.body().substr(0, 40)));
  }
  Task<> stream(int id) {
    http::ClientStream page = co_await client_.open({http::Method::Get, at("/page/" + std::to_string(id))});
    is_stream_ = true;
    const std::string expected = page_of(id);
    const bool leaves = dice_.one_in(3);
    std::size_t got = 0;
    while (true) {
      const Chunk chunk = co_await page.read();
      if (chunk.empty()) break;
      if (chunk != std::string_view(expected).substr(got, chunk.size())) complain(id, "another page");
      got += chunk.size();
      if (leaves && got > page_bytes / 2) co_return;
      if (dice_.one_in(8)) co_await sleep_for(dice_.up_to(20_ms));
    }
    if (got != expected.size()) complain(id, "a page that is not whole looks whole");
  }
  Task<> order(int id) {
    http::ClientRequest request(http::Method::Post, at("/order/" + std::to_string(id)));
    if (service_.mistake == Mistake::PromisesThatOrdersMayBeRepeated) request.idempotency_key(std::to_string(id));
    const http::ClientResponse response = co_await client_.send(std::move(request));
    if (response.status() != http::Status::Created) complain(id, "an order is refused");
    if (service_.orders[id] != 1) complain(id, "an order that was answered was not made");
  }
  Task<> ask_the_ill() {
    Result<http::ClientResponse> response = co_await attempt(client_.get("http://ill.test/ill"));
    if (!response && response.error().code() == Code::Unavailable) co_return;  // The circuit.
    co_await std::move(response);
  }
  static std::string at(const std::string& target) { return "http://service.test" + target; }
  void complain(int id, const std::string& what) {
    if (complaint_.empty()) complaint_ = "call " + std::to_string(id) + ": " + what;
  }

  http::Client& client_;
  Service& service_;
  Dice dice_;
  const int number_;
  const bool may_lose_;
  bool is_stream_ = false;
  std::string complaint_;
  std::string told_;
};

// --- One run of one seed.

struct Outcome {
  std::string complaint;  // Empty: all that must hold has held.
  std::string told;       // How each call fared.
  std::string trace;      // Its end.
  std::uint64_t hash = 0;
  std::uint64_t answered = 0;
  http::Client::Stats stats;
  sim::FaultCounts faults;
};

Outcome run(std::uint64_t seed, Mistake mistake = Mistake::None) {
  Dice dice(seed * 1'000'003);
  // Each fourth seed has a network without faults: there everything must be answered.
  sim::SimOptions options = seed % 4 == 0 ? sim::SimOptions{.seed = seed} : sim::SimOptions::faulty(seed);
  options.trace_bytes_max = 16 * 1024;
  options.only = seeds.only;
  sim::Simulation simulation(options);
  const bool is_well = seed % 4 == 0;

  Service service(seed * 17, !is_well, mistake);
  http::Router router;
  router.get("/n/{id}", service, &Service::number).get("/later/{id}", service, &Service::later);
  router.get("/moved/{id}", service, &Service::moved).get("/page/{id}", service, &Service::page);
  router.put("/echo", service, &Service::echo).post("/echo", service, &Service::echo);
  router.post("/order/{id}", service, &Service::order).get("/ill", service, &Service::ill);

  http::ServerOptions server_options;
  server_options.address = Address::parse("10.0.0.1:80").value();
  // Often shorter than a pause between two calls: connections end while they are kept, also under an order, which then
  // may not be repeated.
  server_options.limits.idle_timeout = is_well || dice.one_in(2) ? 5_s : 1_ms + dice.up_to(100_ms);
  server_options.access_log = false;
  io::Loop& server_loop = simulation.add_loop();
  std::unique_ptr<http::Server> server;
  {
    const io::Loop::Entered entered(server_loop);
    server = std::make_unique<http::Server>(router, server_options);
    EXPECT_TRUE(server->start(server_loop));
  }

  io::Loop& loop = simulation.add_loop();
  http::ClientOptions client_options;
  client_options.timeout = call_timeout;
  client_options.first_byte_timeout = client_options.read_timeout = 1_s;
  client_options.pool.connections_per_origin_max = 1 + dice.below(6);
  client_options.retry.budget_max = static_cast<std::uint32_t>(dice.below(8));
  if (is_well) client_options.pool.wait_max = client_options.first_byte_timeout = call_timeout;
  client_options.breaker = {.calls_min = 5, .open_time = 300_ms};
  if (dice.one_in(3)) client_options.pool.idle_timeout = dice.up_to(200_ms);
  std::unique_ptr<Resolver> resolver;
  std::unique_ptr<http::Client> client;
  std::vector<std::unique_ptr<Caller>> callers;
  std::vector<std::unique_ptr<Start<void>>> running;
  {
    const io::Loop::Entered entered(loop);
    resolver = std::make_unique<Resolver>(simulation.pool(), ResolverOptions{}, [](const std::string&) {
      return Result<std::vector<Address>>(std::vector<Address>{Address::parse("10.0.0.1:0").value()});
    });
    client = std::make_unique<http::Client>(*resolver, client_options);
    const std::size_t count = 1 + dice.below(10);
    for (std::size_t i = 0; i < count; ++i) {
      callers.push_back(std::make_unique<Caller>(*client, service, dice.next(), static_cast<int>(i) + 1, !is_well));
      running.push_back(std::make_unique<Start<void>>());
      running.back()->begin(callers.back()->run(), [](StartCore&) noexcept {});
    }
  }
  const auto all_ended = [&] { return std::ranges::all_of(running, [](auto& task) { return task->has_ended(); }); };
  // Some runs are ended by somebody who has no time left.
  const bool is_cut_off = !is_well && dice.one_in(5);
  if (is_cut_off) {
    simulation.run_until(all_ended, dice.up_to(2_s));
    const io::Loop::Entered entered(loop);
    for (auto& task : running) task->stop();
  }
  const bool ended = simulation.run_until(all_ended, 600_s);

  Outcome outcome;
  if (ended) {
    const io::Loop::Entered entered(loop);
    outcome.stats = client->stats();
    if (outcome.stats.connections != outcome.stats.idle_connections) outcome.complaint = "a connection is still lent";
    client.reset();
    server->begin_drain();
  }
  const bool drained = ended && simulation.run_until([&] { return server->is_drained(); }, 120_s);
  for (const auto& caller : callers) {
    outcome.told += caller->told();
    outcome.answered += caller->answered;
    if (outcome.complaint.empty()) outcome.complaint = caller->complaint();
  }
  for (const auto& [id, times] : service.orders) {
    if (times > 1 && outcome.complaint.empty()) {
      outcome.complaint = "order " + std::to_string(id) + " was made " + std::to_string(times) + " times";
    }
  }
  if (!ended) outcome.complaint = "a call never ends";
  if (ended && !drained) outcome.complaint = "the drain does not end: a connection is left";
  outcome.hash = simulation.trace_hash();
  outcome.trace = simulation.trace_text();
  outcome.faults = simulation.faults();
  if (!outcome.complaint.empty()) outcome.complaint += "\n" + simulation.replay();
  if (!ended || !drained) {
    // The rest cannot be taken apart in order: say so and stop here.
    std::fprintf(stderr, "%s\n%s\n", outcome.complaint.c_str(), seeds.replay(seed).c_str());
    std::abort();
  }
  return outcome;
}

// Runs a seed twice; what is wrong, or nothing.
std::string check(std::uint64_t seed, Outcome& first, Mistake mistake = Mistake::None) {
  first = run(seed, mistake);
  if (!first.complaint.empty()) return first.complaint;
  const Outcome second = run(seed, mistake);
  if (first.hash != second.hash || first.trace != second.trace || first.told != second.told) {
    return "two runs of this seed differ";
  }
  return "";
}

TEST(ClientSimulation, holds_its_promises_on_every_seed_and_repeats_each_run) {
  http::Client::Stats sum;
  std::uint64_t answered = 0;
  std::uint64_t resets = 0;
  std::uint64_t vanished = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Outcome outcome;
    const std::string complaint = check(seed, outcome);
    if (seeds.is_one()) std::printf("%s\n%s", outcome.trace.c_str(), outcome.told.c_str());
    ASSERT_EQ(complaint, "") << seeds.replay(seed) << "\n" << outcome.told;
    answered += outcome.answered;
    sum.calls += outcome.stats.calls;
    sum.retries += outcome.stats.retries;
    sum.stale += outcome.stats.stale;
    sum.unaffordable += outcome.stats.unaffordable;
    sum.rejected += outcome.stats.rejected;
    sum.redirects += outcome.stats.redirects;
    resets += outcome.faults.resets;
    vanished += outcome.faults.vanished;
  }
  std::printf(
      "%llu seeds: %llu calls, %llu went well; %llu retries, %llu stale, %llu unaffordable, %llu rejected, "
      "%llu redirects; %llu resets, %llu vanished\n",
      static_cast<unsigned long long>(seeds.count), static_cast<unsigned long long>(sum.calls),
      static_cast<unsigned long long>(answered), static_cast<unsigned long long>(sum.retries),
      static_cast<unsigned long long>(sum.stale), static_cast<unsigned long long>(sum.unaffordable),
      static_cast<unsigned long long>(sum.rejected), static_cast<unsigned long long>(sum.redirects),
      static_cast<unsigned long long>(resets), static_cast<unsigned long long>(vanished));
  if (seeds.is_less()) return;
  // A run in which nothing happens proves nothing.
  EXPECT_GT(answered, seeds.count * 5);
  for (const std::uint64_t count :
       {sum.retries, sum.stale, sum.unaffordable, sum.rejected, sum.redirects, resets + vanished}) {
    EXPECT_GT(count, 0u);
  }
}

// The checker itself: what is wrong does not pass.
bool is_found(Mistake mistake) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Outcome outcome;
    if (!check(seed, outcome, mistake).empty()) return true;
  }
  return false;
}

TEST(ClientSimulation, finds_a_server_that_answers_another_request) { EXPECT_TRUE(is_found(Mistake::AnswersAnother)); }
TEST(ClientSimulation, finds_orders_that_are_made_twice) {
  EXPECT_TRUE(is_found(Mistake::PromisesThatOrdersMayBeRepeated));
}
TEST(ClientSimulation, finds_a_handler_that_asks_the_real_world) { EXPECT_TRUE(is_found(Mistake::AsksTheRealWorld)); }

}  // namespace
}  // namespace keel::client_sim_test

int main(int argc, char** argv) { return keel::run_seeds(argc, argv, 150); }
