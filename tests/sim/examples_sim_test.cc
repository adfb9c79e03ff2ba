// The small examples under simulation: echo, forwarder and chat, as they are, on a network that fails on purpose.
//
//   examples_sim_test                 10,000 seeds, a third for each, every eighth run twice
//   examples_sim_test --seed=7        that seed alone, with the end of its trace
//   examples_sim_test --seeds=50000   more of them
//
// What must hold, whatever happens: who gets bytes gets the right ones, in order and none twice; a stream that ends
// well is complete; an end of stream goes through the forwarder and the other direction continues; whoever stays in the
// chat hears every line, all in one order; and the same seed gives the same trace. A server that is wrong is found, and
// its failure shrinks to the one fault that it needs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/chat.h"
#include "dice.h"
#include "echo/echo.h"
#include "forwarder/forwarder.h"
#include "keel/io/testing/shrink.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/group.h"
#include "keel/task/timing.h"
#include "seeds.h"

namespace keel::examples_sim_test {
namespace {

enum class Example { Echo, Forwarder, Chat };
// Mistakes that a checker worth its name finds.
enum class Mistake { None, TakesSilenceForTheEnd, EndsBothDirections };

struct Case {
  sim::SimOptions options;
  std::size_t clients = 0;
  std::size_t messages = 0;  // Of each client.
  std::size_t message_bytes = 0;
  bool has_target = true;  // Forwarder: somebody listens where it connects.
  Mistake mistake = Mistake::None;
};

// What depends on nothing but the seed. Each fourth has a network without faults: there everything must arrive.
Case case_of(std::uint64_t seed, Mistake mistake = Mistake::None) {
  Dice dice(seed * 1'000'003);
  Case c{.options = seed % 4 == 0 ? sim::SimOptions{.seed = seed} : sim::SimOptions::faulty(seed)};
  c.options.trace_bytes_max = seeds.is_one() ? 64 * 1024 : 0;
  c.options.only = seeds.only;
  c.clients = 1 + dice.below(4);
  c.messages = 1 + dice.below(6);
  constexpr std::size_t sizes[] = {10, 200, 3000};
  c.message_bytes = sizes[dice.below(std::size(sizes))];
  c.has_target = !dice.one_in(8);
  c.mistake = mistake;
  return c;
}

struct Outcome {
  std::string complaint;  // Empty: all that must hold has held.
  std::string trace;
  std::uint64_t hash = 0;
  std::vector<sim::Fault> struck;
  sim::FaultCounts faults;
  std::uint64_t complete = 0;    // Clients who got everything.
  std::uint64_t incomplete = 0;  // Who did not, for the network's sake.
};

// --- Wrong servers.

Task<> talk_impatiently(Stream peer) {
  while (true) {
    const Result<Chunk> chunk = co_await attempt(with_timeout(1_s, peer.receive()));
    if (!chunk || chunk->empty()) co_return;  // Silence is not the end.
    co_await peer.write(*chunk);
  }
}
Task<> serve_impatiently(Listener& listener) {
  Scope connections;
  while (true) {
    Stream peer = co_await listener.accept();
    connections.spawn(talk_impatiently(std::move(peer)), OnError::Ignore);
  }
}

Task<> forward_until_one_ends(Stream client, Address address) {
  Stream server = co_await Stream::connect(address);
  co_await any(forwarder::copy(client, server), forwarder::copy(server, client));
}
Task<> serve_until_one_ends(Listener& listener, Address address) {
  Scope connections;
  while (true) {
    Stream client = co_await listener.accept();
    connections.spawn(forward_until_one_ends(std::move(client), address), OnError::Ignore);
  }
}

// --- A client: writes, finishes writing, reads to the end.

struct Client {
  std::string sent;
  std::string got;
  bool has_written = false;  // All, and has said so.
  bool has_ended = false;    // The stream, well.
  Duration begins;
  Duration stays;  // Before it finishes writing.
  std::size_t piece = 1;
  std::uint64_t seed = 0;
};

Task<> write_all(Stream& stream, Client& client) {
  Dice dice(client.seed);
  std::string_view rest = client.sent;
  while (!rest.empty()) {
    const std::size_t size = std::min(1 + dice.below(client.piece), rest.size());
    co_await stream.write(rest.substr(0, size));
    rest.remove_prefix(size);
    if (dice.one_in(3)) co_await sleep_for(dice.up_to(5_ms));
  }
  co_await sleep_for(client.stays);
  stream.shutdown_write();
  client.has_written = true;
}
Task<> read_all(Stream& stream, Client& client) {
  Dice dice(client.seed + 1);
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) break;
    client.got += chunk;
    if (dice.one_in(4)) co_await sleep_for(dice.up_to(3_ms));
  }
  client.has_ended = true;
}
// Each direction continues though the other has failed.
Task<> writes(Stream& stream, Client& client) {
  const Result<> written = co_await attempt(write_all(stream, client));
  (void)written.has_value();
}
Task<> reads(Stream& stream, Client& client) {
  const Result<> read = co_await attempt(read_all(stream, client));
  (void)read.has_value();
}
Task<> converse(Client& client, Address to) {
  co_await sleep_for(client.begins);
  Stream stream = co_await Stream::connect(to);
  co_await all(writes(stream, client), reads(stream, client));
}
Task<> live_one(Client& client, Address to) {
  const Result<> lived = co_await attempt(with_timeout(60_s, converse(client, to)));
  (void)lived.has_value();
}
Task<> live(std::vector<Client>& clients, Address to) {
  Scope scope;
  for (Client& client : clients) scope.spawn(live_one(client, to));
  co_await scope.join();
}

// --- The servers.

Task<> serve_echo(Address at, Mistake mistake) {
  Listener listener = co_await Listener::bind(at);
  if (mistake == Mistake::TakesSilenceForTheEnd) co_await serve_impatiently(listener);
  co_await echo::serve(listener);
}
Task<> serve_forwarder(Address at, Address to, Mistake mistake) {
  Listener listener = co_await Listener::bind(at);
  if (mistake == Mistake::EndsBothDirections) co_await serve_until_one_ends(listener, to);
  co_await forwarder::serve(listener, to);
}
Task<> serve_chat(Address at, chat::Room& room) {
  Listener listener = co_await Listener::bind(at);
  co_await chat::serve(listener, room);
}

// What the forwarder connects to answers when it has read to the end: that has to come through.
std::string answer_to(std::string_view text) { return std::to_string(text.size()) + ":" + std::string(text); }
Task<> answer(Stream peer) {
  std::string text;
  while (true) {
    const Chunk chunk = co_await peer.receive();
    if (chunk.empty()) break;
    text += chunk;
  }
  text = answer_to(text);
  co_await peer.write(text);
}
Task<> serve_answers(Address at) {
  Listener listener = co_await Listener::bind(at);
  Scope connections;
  while (true) {
    Stream peer = co_await listener.accept();
    connections.spawn(answer(std::move(peer)), OnError::Ignore);
  }
}

// --- One run.

std::string lines_of(std::size_t client, std::size_t count, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += std::to_string(client) + ":" + std::to_string(i) + ":" +
            std::string(std::min<std::size_t>(bytes, 900), 'x') + "\n";
  }
  return text;
}
std::string bytes_of(std::size_t client, std::size_t size) {
  Dice dice(client);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(dice.below(256));
  return text;
}

class World {
 public:
  World(Example example, const Case& c)
      : example_(example),
        case_(c),
        simulation_(c.options),
        server_loop_(simulation_.add_loop()),
        client_loop_(simulation_.add_loop()),
        target_loop_(simulation_.add_loop()) {
    Dice dice(c.options.seed * 7919);
    for (std::size_t i = 0; i < c.clients; ++i) {
      Client& client = clients_.emplace_back();
      client.sent = example == Example::Chat ? lines_of(i, c.messages, c.message_bytes)
                                             : bytes_of(i, c.messages * c.message_bytes);
      client.begins = dice.up_to(50_ms);
      client.stays = example == Example::Chat ? 20_s : Duration();
      constexpr std::size_t pieces[] = {7, 500, 1 << 20};
      client.piece = pieces[dice.below(std::size(pieces))];
      if (client.piece == 7 && client.sent.size() > 700) client.piece = 500;
      client.seed = dice.next();
    }
  }

  Outcome run() {
    spy_ = &room_.members.emplace_back(100'000);
    begin_servers();
    {
      io::Loop::Entered entered(client_loop_);
      living_.begin(live(clients_, at_), &ignore);
    }
    if (!simulation_.run_until([&] { return living_.has_ended(); }, 300_s)) give_up("a client waits for ever");
    if (server_.has_ended()) complain("the server has ended");
    {
      io::Loop::Entered entered(server_loop_);
      server_.stop();
    }
    {
      io::Loop::Entered entered(target_loop_);
      target_.stop();
    }
    const auto all_ended = [&] { return !server_.is_running() && !target_.is_running(); };
    if (!simulation_.run_until(all_ended, 60_s)) give_up("a server does not end");
    // With their frames go listeners and streams; what closing them has cancelled ends in a later turn of its loop.
    for (Start<void>* start : {&living_, &server_, &target_}) {
      if (start->has_ended()) (void)start->take().has_value();
    }
    simulation_.run_until([] { return false; }, 1_s);
    example_ == Example::Chat ? check_chat() : check_bytes();
    outcome_.trace = simulation_.trace_text();
    outcome_.hash = simulation_.trace_hash();
    outcome_.struck = simulation_.struck();
    outcome_.faults = simulation_.faults();
    if (!outcome_.complaint.empty()) outcome_.complaint += "\n" + simulation_.replay();
    return std::move(outcome_);
  }

 private:
  static void ignore(StartCore&) noexcept {}

  void begin_servers() {
    if (example_ == Example::Forwarder && case_.has_target) {
      io::Loop::Entered entered(target_loop_);
      target_.begin(serve_answers(to_), &ignore);
    }
    io::Loop::Entered entered(server_loop_);
    if (example_ == Example::Echo) server_.begin(serve_echo(at_, case_.mistake), &ignore);
    if (example_ == Example::Forwarder) server_.begin(serve_forwarder(at_, to_, case_.mistake), &ignore);
    if (example_ == Example::Chat) server_.begin(serve_chat(at_, room_), &ignore);
  }

  bool is_lossless() const { return simulation_.faults().resets == 0 && simulation_.faults().vanished == 0; }
  void complain(std::string what) {
    if (outcome_.complaint.empty()) outcome_.complaint = std::move(what);
  }
  void count(bool is_complete) { ++(is_complete ? outcome_.complete : outcome_.incomplete); }

  void check_bytes() {
    const bool is_refused = example_ == Example::Forwarder && !case_.has_target;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const Client& client = clients_[i];
      const std::string who = "client " + std::to_string(i) + ": ";
      if (is_refused) {
        if (!client.got.empty()) complain(who + "bytes from nobody");
        continue;
      }
      const std::string expected = example_ == Example::Echo ? client.sent : answer_to(client.sent);
      const bool is_complete = client.has_ended && client.got == expected;
      count(is_complete);
      // The response to less than was sent, when the rest was lost, begins with another number.
      const bool is_cut = example_ == Example::Forwarder && !is_lossless();
      if (!is_cut && !expected.starts_with(client.got)) complain(who + "other bytes than it should get");
      if (is_lossless() && !is_complete) complain(who + "not all, though nothing was lost");
      if (example_ == Example::Echo && client.has_written && client.has_ended && !is_complete) {
        complain(who + "the stream ends well before its end");
      }
    }
  }

  static std::size_t line_that_begins(std::string_view text, std::string_view with) {
    if (text.starts_with(with)) return 0;
    const std::size_t before = text.find("\n" + std::string(with));
    return before == text.npos ? before : before + 1;
  }

  void check_chat() {
    std::string said;
    while (auto line = spy_->try_receive()) said += **line;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      const Client& client = clients_[i];
      const std::string who = "client " + std::to_string(i) + ": ";
      std::string own;  // What the room has heard of this one.
      for (std::size_t at = 0; at < said.size();) {
        const std::size_t end = said.find('\n', at) + 1;
        const std::string line = said.substr(at, end - at);
        if (line.starts_with(std::to_string(i) + ":")) own += line;
        at = end;
      }
      if (!client.sent.starts_with(own)) complain(who + "the room has heard other lines");
      const std::size_t from = line_that_begins(said, client.got.substr(0, client.got.find('\n')));
      if (from == said.npos || said.compare(from, client.got.size(), client.got) != 0) {
        complain(who + "heard something else than the room");
      }
      const bool is_complete =
          client.has_ended && own == client.sent && client.got.ends_with('\n') &&
          from <= said.find(own.substr(0, own.find('\n') + 1)) &&
          from + client.got.size() > said.rfind(std::to_string(i) + ":" + std::to_string(case_.messages - 1) + ":");
      count(is_complete);
      if (is_lossless() && !is_complete) complain(who + "stayed and has not heard all");
    }
  }

  // The rest cannot be taken apart in order: say so and stop here.
  [[noreturn]] void give_up(const char* what) {
    std::fprintf(stderr, "%s\n%s\n%s\n", what, simulation_.replay().c_str(), seeds.replay(case_.options.seed).c_str());
    std::abort();
  }

  const Example example_;
  const Case case_;
  const Address at_ = Address::parse("10.0.0.1:7000").value();
  const Address to_ = Address::parse("10.0.0.2:80").value();
  sim::Simulation simulation_;
  io::Loop& server_loop_;
  io::Loop& client_loop_;
  io::Loop& target_loop_;
  std::vector<Client> clients_;
  chat::Room room_;
  Channel<chat::Line>* spy_ = nullptr;  // A member who hears everything.
  Start<void> server_;
  Start<void> target_;
  Start<void> living_;
  Outcome outcome_;
};

Outcome run(Example example, const Case& c) { return World(example, c).run(); }

void check_seeds(Example example) {
  sim::FaultCounts faults;
  std::uint64_t complete = 0;
  std::uint64_t incomplete = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    if (seed % 3 != static_cast<std::uint64_t>(example)) continue;
    const Outcome first = run(example, case_of(seed));
    if (seeds.is_one()) std::printf("%s\n", first.trace.c_str());
    ASSERT_EQ(first.complaint, "") << seeds.replay(seed);
    if (seed % 8 == 0 || seeds.is_one()) {
      const Outcome second = run(example, case_of(seed));
      ASSERT_EQ(first.hash, second.hash) << seeds.replay(seed);
    }
    complete += first.complete;
    incomplete += first.incomplete;
    faults.resets += first.faults.resets;
    faults.vanished += first.faults.vanished;
    faults.accept_failures += first.faults.accept_failures;
    faults.short_deliveries += first.faults.short_deliveries;
    faults.long_delays += first.faults.long_delays;
    faults.stalls += first.faults.stalls;
  }
  const auto say = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf(
      "%llu seeds: %llu complete, %llu not; %llu resets, %llu vanished, %llu failed accepts, %llu short deliveries, "
      "%llu long delays, %llu stalls\n",
      say(seeds.count / 3), say(complete), say(incomplete), say(faults.resets), say(faults.vanished),
      say(faults.accept_failures), say(faults.short_deliveries), say(faults.long_delays), say(faults.stalls));
  if (seeds.is_less()) return;
  // A run in which nothing happens proves nothing.
  EXPECT_GT(complete, seeds.count / 2);
  for (const std::uint64_t count : {incomplete, faults.resets, faults.vanished, faults.accept_failures,
                                    faults.short_deliveries, faults.long_delays, faults.stalls}) {
    EXPECT_GT(count, 0u);
  }
}

TEST(ExamplesSimulation, echo_returns_what_was_sent_or_ends_by_an_error) { check_seeds(Example::Echo); }
TEST(ExamplesSimulation, the_forwarder_loses_nothing_and_passes_the_end_on) { check_seeds(Example::Forwarder); }
TEST(ExamplesSimulation, the_chat_tells_everybody_the_same) { check_seeds(Example::Chat); }

// --- The checker itself.

// The first seed that notices, or 0.
std::uint64_t seed_that_notices(Example example, Mistake mistake, std::uint64_t most, std::uint64_t from = 1) {
  for (std::uint64_t seed = from; seed <= most; ++seed) {
    if (!run(example, case_of(seed, mistake)).complaint.empty()) return seed;
  }
  return 0;
}

TEST(ExamplesSimulation, finds_a_forwarder_that_ends_both_directions) {
  EXPECT_NE(seed_that_notices(Example::Forwarder, Mistake::EndsBothDirections, 20), 0u);
}

// One client and one message less, as long as it fails.
Case with_less(Example example, Case c) {
  for (bool less = true; less;) {
    less = false;
    for (std::size_t Case::* part : {&Case::clients, &Case::messages}) {
      Case tried = c;
      if (tried.*part == 1) continue;
      --(tried.*part);
      if (run(example, tried).complaint.empty()) continue;
      c = tried;
      less = true;
    }
  }
  return c;
}

TEST(ExamplesSimulation, shrinks_a_failure_to_the_faults_it_needs_and_replays_it) {
  constexpr auto mistake = Mistake::TakesSilenceForTheEnd;
  std::uint64_t seed = 0;
  Case least;
  sim::Shrunk shrunk;
  do {
    seed = seed_that_notices(Example::Echo, mistake, 1000, seed + 1);
    ASSERT_NE(seed, 0u) << "there is one that a single fault is enough for";
    least = with_less(Example::Echo, case_of(seed, mistake));
    const std::size_t struck = run(Example::Echo, least).struck.size();
    shrunk = sim::shrink(least.options, [&](const sim::SimOptions& tried) {
      Case one = least;
      one.options = tried;
      Outcome outcome = run(Example::Echo, one);
      return sim::Trial{.failed = !outcome.complaint.empty(), .struck = std::move(outcome.struck)};
    });
    std::printf("seed %llu: %zu clients, %zu messages, %zu faults shrink in %d runs to %s\n",
                static_cast<unsigned long long>(seed), least.clients, least.messages, struck, shrunk.runs,
                shrunk.options.to_string().c_str());

    // Only a packet that comes a second late can make it fail. Which one is struck may take others: a fault is known by
    // its number, and a short delivery before it makes more of them.
    const auto& left = *shrunk.options.only;
    ASSERT_FALSE(left.empty());
    EXPECT_TRUE(std::any_of(left.begin(), left.end(),
                            [](const sim::Fault& fault) { return fault.kind == sim::FaultKind::LongDelay; }));
    for (std::size_t i = 0; i < left.size(); ++i) {
      Case without = least;
      without.options = shrunk.options;
      without.options.only->erase(without.options.only->begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_EQ(run(Example::Echo, without).complaint, "") << "fault " << i << " is needed";
    }
  } while (shrunk.options.only->size() > 1);

  // From its seed and the text of what is left.
  Case again = with_less(Example::Echo, case_of(seed, mistake));
  again.options = shrunk.options;
  again.options.only = sim::parse_faults(sim::to_string(*shrunk.options.only)).value();
  const Outcome first = run(Example::Echo, again);
  const Outcome second = run(Example::Echo, again);
  EXPECT_NE(first.complaint, "");
  EXPECT_EQ(first.complaint, second.complaint);
  EXPECT_EQ(first.hash, second.hash);

  again.options.only->clear();
  EXPECT_EQ(run(Example::Echo, again).complaint, "");
  again.options.only = shrunk.options.only;
  again.mistake = Mistake::None;
  EXPECT_EQ(run(Example::Echo, again).complaint, "");
}

// --- Who does not read.

struct Slow {
  std::unique_ptr<Stream> stream;
};
Task<> join_and_sleep(Slow& slow, Address to) {
  slow.stream = std::make_unique<Stream>(co_await Stream::connect(to));
  co_await sleep_for(300_s);
}

TEST(ExamplesSimulation, a_member_who_does_not_read_is_let_go_and_holds_up_nobody) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::Simulation simulation({.seed = seed, .buffer_bytes = 4096});
    const Address at = Address::parse("10.0.0.1:7000").value();
    io::Loop& loop = simulation.add_loop();
    io::Loop::Entered entered(loop);
    const auto ignore = [](StartCore&) noexcept {};
    chat::Room room;
    std::vector<Client> clients(1);
    clients[0].sent = lines_of(0, 200, 200);
    clients[0].begins = 10_ms;
    clients[0].stays = 20_s;
    clients[0].piece = 200;
    Slow slow;
    Start<void> server;
    Start<void> living;
    Start<void> sleeping;
    server.begin(serve_chat(at, room), ignore);
    sleeping.begin(join_and_sleep(slow, at), ignore);
    ASSERT_TRUE(simulation.run_until([&] { return room.members.size() == 1; }, 1_s));
    living.begin(live(clients, at), ignore);
    std::size_t most = 0;
    const auto is_over = [&] {
      for (const auto& member : room.members) most = std::max(most, member.size());
      return living.has_ended();
    };

    ASSERT_TRUE(simulation.run_until(is_over, 100_s)) << simulation.replay();

    EXPECT_EQ(clients[0].got, clients[0].sent) << simulation.replay();
    EXPECT_EQ(most, chat::lines_behind_max) << simulation.replay();
    EXPECT_TRUE(room.members.empty()) << simulation.replay();
    server.stop();
    sleeping.stop();
    EXPECT_TRUE(simulation.run_until([&] { return server.has_ended() && sleeping.has_ended(); }, 10_s));
    for (Start<void>* start : {&living, &server, &sleeping}) (void)start->take().has_value();
    slow.stream.reset();
    simulation.run_until([] { return false; }, 1_s);
  }
}

}  // namespace
}  // namespace keel::examples_sim_test

int main(int argc, char** argv) { return keel::run_seeds(argc, argv, 10'000); }
