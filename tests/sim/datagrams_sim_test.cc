// A protocol over datagrams under simulation, on a network that loses, repeats and swaps them, and worse.
//
//   datagrams_sim_test                 500 seeds, every eighth run twice
//   datagrams_sim_test --seed=7        that seed alone, with the end of its trace
//
// An account that several clients add to. Each numbers its requests, repeats one until its response has come, and takes
// no response to another; the account answers a request again that it has carried out, and does not carry it out twice.
// What must hold, whatever happens to datagrams: each client gets all of its responses, each amount is added once, and
// the same seed gives the same trace. Clients and accounts that are wrong are found, and each failure shrinks to the
// one fault that it needs.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dice.h"
#include "keel/io/testing/shrink.h"
#include "keel/io/testing/simulation.h"
#include "keel/net/datagram.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"
#include "seeds.h"

namespace keel::datagrams_sim_test {
namespace {

// Mistakes that a checker worth its name finds.
enum class Mistake { None, AsksOnce, AddsAgain, TakesAnyAnswer };

struct Case {
  sim::SimOptions options;
  std::size_t clients = 0;
  std::uint32_t requests = 0;  // Of each client.
  bool join = false;           // As DatagramOptions::join.
  Mistake mistake = Mistake::None;
};

// What depends on nothing but the seed. Each fourth has a network without faults.
Case case_of(std::uint64_t seed) {
  Dice dice(seed * 1'000'003);
  Case c{.options = seed % 4 == 0 ? sim::SimOptions{.seed = seed} : sim::SimOptions::faulty(seed)};
  c.options.trace_bytes_max = seeds.is_one() ? 64 * 1024 : 0;
  c.options.only = seeds.only;
  c.clients = 1 + dice.below(4);
  c.requests = static_cast<std::uint32_t>(1 + dice.below(8));
  c.join = dice.one_in(2);
  return c;
}

struct Outcome {
  std::string complaint;  // Empty: all that must hold has held.
  std::string trace;
  std::uint64_t hash = 0;
  std::vector<sim::Fault> struck;
  sim::FaultCounts faults;
  std::uint64_t repeated = 0;  // Requests that were sent again.
};

// What is sent: a request's amount, or the sum that answers it.
struct Message {
  std::uint32_t client = 0;
  std::uint32_t number = 0;
  std::uint64_t value = 0;
};
std::string text_of(const Message& message) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, "%u %u %llu", message.client, message.number,
                                 static_cast<unsigned long long>(message.value));
  return std::string(text, static_cast<std::size_t>(size));
}
std::optional<Message> message_of(std::string_view bytes) {
  const std::string text(bytes);
  Message message;
  unsigned long long value = 0;
  if (std::sscanf(text.c_str(), "%u %u %llu", &message.client, &message.number, &value) != 3) return std::nullopt;
  message.value = value;
  if (text_of(message) != text) return std::nullopt;
  return message;
}

// What the system has no room for is as good as lost.
Task<> send_or_lose(DatagramSocket& socket, std::string text, Address to) {
  Result<> sent = co_await attempt(socket.send(text, to));
  if (!sent && sent.error().code() != Code::ResourceExhausted) co_await std::move(sent);
}

// --- The account.

class Account {
 public:
  explicit Account(Mistake mistake) : mistake_(mistake) {}
  // What to answer: to the latest request of a client, once or again. To what is older nothing: its response has come.
  std::optional<Message> answer(const Message& request) {
    Customer& customer = customers_[request.client];
    const bool is_new = request.number == customer.latest + 1;
    const bool is_again = request.number == customer.latest;
    if (is_new || (is_again && mistake_ == Mistake::AddsAgain)) {
      customer.latest = request.number;
      customer.sum += request.value;
    }
    if (!is_new && !is_again) return std::nullopt;
    return Message{request.client, request.number, customer.sum};
  }
  std::uint64_t sum(std::uint32_t client) { return customers_[client].sum; }

 private:
  struct Customer {
    std::uint32_t latest = 0;
    std::uint64_t sum = 0;
  };
  const Mistake mistake_;
  std::map<std::uint32_t, Customer> customers_;
};

Task<> serve(DatagramSocket& socket, Account& account, std::string& complaint) {
  while (true) {
    const Datagram datagram = co_await socket.receive();
    const std::optional<Message> request = message_of(datagram.bytes);
    if (!request) {
      complaint = "the account got what nobody has sent";
      co_return;
    }
    const Address from = datagram.from;
    const std::optional<Message> reply = account.answer(*request);
    if (!reply) continue;
    co_await send_or_lose(socket, text_of(*reply), from);
  }
}

// --- A client.

struct Client {
  std::uint32_t id = 0;
  std::uint32_t requests = 0;
  std::uint64_t sum = 0;       // Of what it has added.
  std::uint64_t told = 0;      // The sum in its last response.
  std::uint32_t answered = 0;  // Requests that have been.
  std::uint64_t repeated = 0;
  Mistake mistake = Mistake::None;
};

constexpr Duration patience = 10_ms;
constexpr int attempts_max = 1000;

Task<Message> answer_to(DatagramSocket& socket, std::uint32_t number, Mistake mistake) {
  while (true) {
    const Datagram datagram = co_await socket.receive();
    const std::optional<Message> reply = message_of(datagram.bytes);
    if (!reply) co_return fail(Code::DataLoss, "an answer that nobody has sent");
    if (reply->number == number || mistake == Mistake::TakesAnyAnswer) co_return *reply;
  }
}
Task<Message> ask(DatagramSocket& socket, Client& client, Message request) {
  const std::string text = text_of(request);
  for (int i = 0; i < attempts_max; ++i) {
    if (i == 0 || client.mistake != Mistake::AsksOnce) {
      if (i != 0) ++client.repeated;
      co_await send_or_lose(socket, text, {});
    }
    Result<Message> reply = co_await attempt(with_timeout(patience, answer_to(socket, request.number, client.mistake)));
    if (reply) co_return *reply;
    if (reply.error().code() != Code::DeadlineExceeded) co_return std::move(reply).error();
  }
  co_return fail(Code::Unavailable, "no reply");
}
Task<> live(Client& client, Address to, bool join) {
  DatagramSocket socket = co_await DatagramSocket::connect(to, {.join = join});
  Dice dice(client.id);
  for (std::uint32_t number = 1; number <= client.requests; ++number) {
    const std::uint64_t amount = 1 + dice.below(1000);
    const Message reply = co_await ask(socket, client, {client.id, number, amount});
    client.sum += amount;
    client.told = reply.value;
    ++client.answered;
  }
}
Task<> live_all(std::vector<Client>& clients, Address to, bool join) {
  Scope scope;
  for (Client& client : clients) scope.spawn(live(client, to, join));
  co_await scope.join();
}

// --- One run.

// The rest cannot be taken apart in order: say so and stop here.
[[noreturn]] void give_up(const char* what, const sim::Simulation& simulation, const Case& c) {
  std::fprintf(stderr, "%s\n%s\n%s\n", what, simulation.replay().c_str(), seeds.replay(c.options.seed).c_str());
  std::abort();
}

Outcome run(const Case& c) {
  const auto ignore = [](StartCore&) noexcept {};
  const Address at = Address::parse("10.0.0.1:7000").value();
  Outcome outcome;
  sim::Simulation simulation(c.options);
  io::Loop& server_loop = simulation.add_loop();
  io::Loop& client_loop = simulation.add_loop();
  Account account(c.mistake);
  std::vector<Client> clients(c.clients);
  for (std::uint32_t i = 0; i < clients.size(); ++i) {
    clients[i] = {.id = i, .requests = c.requests, .mistake = c.mistake};
  }
  std::optional<DatagramSocket> socket;
  Start<void> serving;
  Start<void> living;
  {
    io::Loop::Entered entered(server_loop);
    socket.emplace(DatagramSocket::bind(at, {.join = c.join}).value());
    serving.begin(serve(*socket, account, outcome.complaint), ignore);
  }
  {
    io::Loop::Entered entered(client_loop);
    living.begin(live_all(clients, at, c.join), ignore);
  }
  if (!simulation.run_until([&] { return living.has_ended(); }, 600_s))
    give_up("a client waits for ever", simulation, c);
  if (serving.is_running()) {
    io::Loop::Entered entered(server_loop);
    serving.stop();
  }
  if (!simulation.run_until([&] { return !serving.is_running(); }, 60_s))
    give_up("the account does not end", simulation, c);
  const Result<> end = living.take();
  (void)serving.take().has_value();
  {
    io::Loop::Entered entered(server_loop);
    socket.reset();
  }
  // What closing has cancelled ends in a later turn of its loop.
  simulation.run_until([] { return false; }, 1_s);

  const auto complain = [&outcome](const std::string& what) {
    if (outcome.complaint.empty()) outcome.complaint = what;
  };
  for (const Client& client : clients) {
    outcome.repeated += client.repeated;
    const std::string who = "client " + std::to_string(client.id) + ": ";
    if (client.answered != c.requests) complain(who + "not all of its requests were answered");
    if (client.told != client.sum) complain(who + "was told another sum");
    if (account.sum(client.id) != client.sum) complain(who + "the account has another sum");
  }
  if (!end) complain(end.error().describe());
  outcome.trace = simulation.trace_text();
  outcome.hash = simulation.trace_hash();
  outcome.struck = simulation.struck();
  outcome.faults = simulation.faults();
  if (!outcome.complaint.empty()) outcome.complaint += "\n" + simulation.replay();
  return outcome;
}

TEST(DatagramsSimulation, each_request_is_answered_and_carried_out_once) {
  sim::FaultCounts faults;
  std::uint64_t repeated = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    const Outcome first = run(case_of(seed));
    if (seeds.is_one()) std::printf("%s\n", first.trace.c_str());
    ASSERT_EQ(first.complaint, "") << seeds.replay(seed);
    if (seed % 8 == 0 || seeds.is_one()) {
      const Outcome second = run(case_of(seed));
      ASSERT_EQ(first.hash, second.hash) << seeds.replay(seed);
    }
    repeated += first.repeated;
    faults.lost += first.faults.lost;
    faults.duplicated += first.faults.duplicated;
    faults.reordered += first.faults.reordered;
    faults.without_room += first.faults.without_room;
    faults.stalls += first.faults.stalls;
  }
  const auto say = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf(
      "%llu seeds: %llu lost, %llu repeated by the network, %llu swapped, %llu without room, %llu stalls; %llu asked "
      "again\n",
      say(seeds.count), say(faults.lost), say(faults.duplicated), say(faults.reordered), say(faults.without_room),
      say(faults.stalls), say(repeated));
  if (seeds.is_less()) return;
  // A run in which nothing happens proves nothing.
  for (const std::uint64_t count :
       {repeated, faults.lost, faults.duplicated, faults.reordered, faults.without_room, faults.stalls}) {
    EXPECT_GT(count, 0u);
  }
}

// --- The checker itself.

// A quick network with one kind of fault.
Case case_with(std::uint64_t seed, Mistake mistake, double sim::SimOptions::* fault) {
  Case c{.options = {.seed = seed}, .clients = 2, .requests = 6, .mistake = mistake};
  c.options.*fault = 0.1;
  return c;
}

struct Planted {
  Mistake mistake;
  double sim::SimOptions::* fault;
  sim::FaultKind kind;
};

TEST(DatagramsSimulation, shrinks_what_goes_wrong_to_the_datagram_that_is_lost_repeated_or_swapped) {
  const Planted all[] = {
      {Mistake::AsksOnce, &sim::SimOptions::loss, sim::FaultKind::Loss},
      {Mistake::AddsAgain, &sim::SimOptions::duplicate, sim::FaultKind::Duplicate},
      {Mistake::TakesAnyAnswer, &sim::SimOptions::reorder, sim::FaultKind::Reorder},
  };
  for (const Planted& planted : all) {
    std::optional<Case> failing;
    for (std::uint64_t seed = 1; seed <= 100 && !failing; ++seed) {
      const Case tried = case_with(seed, planted.mistake, planted.fault);
      if (!run(tried).complaint.empty()) failing = tried;
    }
    ASSERT_TRUE(failing) << "no seed fails: " << static_cast<int>(planted.mistake);
    const sim::Shrunk shrunk = sim::shrink(failing->options, [&](const sim::SimOptions& tried) {
      Case one = *failing;
      one.options = tried;
      Outcome outcome = run(one);
      return sim::Trial{.failed = !outcome.complaint.empty(), .struck = std::move(outcome.struck)};
    });
    std::printf("seed %llu shrinks in %d runs to %s\n", static_cast<unsigned long long>(failing->options.seed),
                shrunk.runs, shrunk.options.to_string().c_str());
    ASSERT_TRUE(shrunk.options.only);
    ASSERT_EQ(shrunk.options.only->size(), 1u);
    EXPECT_EQ(shrunk.options.only->front().kind, planted.kind);

    // From its seed and the text of what is left.
    Case again = *failing;
    again.options = shrunk.options;
    again.options.only = sim::parse_faults(sim::to_string(*shrunk.options.only)).value();
    const Outcome first = run(again);
    const Outcome second = run(again);
    EXPECT_NE(first.complaint, "");
    EXPECT_EQ(first.complaint, second.complaint);
    EXPECT_EQ(first.hash, second.hash);

    // Without the fault, and without the mistake, all is well.
    again.options.only->clear();
    EXPECT_EQ(run(again).complaint, "");
    again.options.only = shrunk.options.only;
    again.mistake = Mistake::None;
    EXPECT_EQ(run(again).complaint, "");
  }
}

}  // namespace
}  // namespace keel::datagrams_sim_test

int main(int argc, char** argv) { return keel::run_seeds(argc, argv, 500); }
