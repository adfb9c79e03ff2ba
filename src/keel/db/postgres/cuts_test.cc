// In simulations whose connections end at any byte: what was acknowledged is there once, and what is lost is told.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/fake_table_test.h"
#include "keel/db/postgres/testing/fake_listener.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/scope.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::cuts_test {
namespace {

using testing::Counted;
using testing::FakeListener;
using testing::FakeOptions;
using testing::insert;
using testing::insert_in_group;
using testing::insert_twice;
using testing::read_back;
using testing::Table;

std::uint64_t seeds_wanted(std::uint64_t usual) {
  const char* const wanted = std::getenv("KEEL_CONFORMANCE_SEEDS");
  return wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
}
std::uint64_t random_below(std::uint64_t bound) { return Host::current().random() % bound; }
Duration random_time(Duration most) {
  return Duration::nanoseconds(static_cast<std::int64_t>(random_below(static_cast<std::uint64_t>(most.count_ns()))));
}

// A simulation with a table, a server whose connections end after about `cut_after` bytes, and a database of it.
struct Cut {
  sim::SimOptions faults;
  std::uint64_t cut_after = 0;
  FakeOptions server = {};
  std::uint64_t cuts = 0;
  std::string replay = {};
};

// Awaits `use`, Task<>(Database&), and ends everything. Each step has a bound of virtual time: nothing hangs.
template <class F>
void with_cuts(Cut& cut, Table& table, F& use) {
  sim::Simulation simulation(cut.faults);
  Host* const before = Host::set_current(&simulation);
  io::Loop& loop = simulation.add_loop();
  {
    Start<void> serving;
    Start<void> using_it;
    std::unique_ptr<FakeListener> listener;
    std::unique_ptr<Database> database;
    {
      io::Loop::Entered entered(loop);
      listener = std::make_unique<FakeListener>(table, cut.server);
      listener->cut_after(cut.cut_after);
      serving.begin(listener->serve(), [](StartCore&) noexcept {});
      DatabaseOptions options;
      options.url = listener->url();
      options.uses_environment = false;
      options.statement_timeout = 2_s;
      options.cancel_grace = 500_ms;
      options.executor = &simulation.pool();
      database = Database::make(std::move(options)).value();
      using_it.begin(use(*database), [](StartCore&) noexcept {});
    }
    ASSERT_TRUE(simulation.run_until([&] { return using_it.has_ended(); }, 600_s)) << simulation.replay();
    {
      io::Loop::Entered entered(loop);
      EXPECT_TRUE(using_it.take());
      database->detach(loop);
    }
    ASSERT_TRUE(simulation.run_until([&] { return database->is_detached(); }, 60_s)) << simulation.replay();
    {
      io::Loop::Entered entered(loop);
      database.reset();
      serving.stop();
    }
    ASSERT_TRUE(simulation.run_until([&] { return serving.has_ended(); }, 60_s)) << simulation.replay();
    io::Loop::Entered entered(loop);
    static_cast<void>(serving.take());
    cut.cuts += listener->cuts();
    listener.reset();
  }
  simulation.run_until([] { return false; }, 10_ms);
  Host::set_current(before);
  cut.replay = simulation.replay();
}

sim::SimOptions faults_of(std::uint64_t seed) {
  sim::SimOptions faults = seed % 2 == 0 ? sim::SimOptions::faulty(seed) : sim::SimOptions();
  faults.seed = seed;
  return faults;
}

// --- statements

struct Outcome {
  std::set<std::int64_t> acknowledged;
  std::map<std::string, int> wrong;  // What went wrong, and how often.
  int good = 0;
  int bad = 0;
};

Task<> write(Session& session, std::uint64_t kind, std::int64_t n) {
  if (kind == 1) co_await insert(session, n);
  if (kind == 2) co_await insert_in_group(session, n);
  if (kind == 3) co_await insert_twice(session, n);
}

// What an operation may end with: the connection's end, a deadline, and a pool that nobody leaves.
bool is_told(const Error& error) {
  const Code code = error.code();
  return code == Code::Unavailable || code == Code::DeadlineExceeded || code == Code::ResourceExhausted;
}

Task<> use(Session& session, int who, Outcome& outcome) {
  for (int i = 0; i < 12; ++i) {
    const std::int64_t n = who * 1000 + i;
    const std::uint64_t kind = random_below(4);
    if (kind == 0) {
      const Result<std::int64_t> found = co_await attempt(read_back(session, n));
      if (found && *found != n) ++outcome.wrong["a row of another statement"];
      if (!found && !is_told(found.error())) ++outcome.wrong[found.error().describe()];
      ++(found ? outcome.good : outcome.bad);
    } else {
      const Result<> done = co_await attempt(write(session, kind, n));
      if (done) {
        outcome.acknowledged.insert(n);
        if (kind == 3) outcome.acknowledged.insert(n + 1'000'000);
      } else if (!is_told(done.error())) {
        ++outcome.wrong[done.error().describe()];
      }
      ++(done ? outcome.good : outcome.bad);
    }
    co_await sleep_for(random_time(30_ms));
  }
}

Task<> use_all(Session& session, Outcome& outcome) {
  Scope scope;
  for (int who = 0; who < 8; ++who) scope.spawn(use(session, who, outcome));
  co_await scope.join();
}

TEST(FakeDatabaseCuts, keep_each_acknowledged_write_once) {
  int good = 0;
  int bad = 0;
  std::uint64_t cuts = 0;
  const std::uint64_t seeds = seeds_wanted(60);
  for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    Table table;
    Outcome outcome;
    Cut cut{
        .faults = faults_of(seed), .cut_after = 200 + seed * 37 % 3000, .server = {.passwords = {{"app", "secret"}}}};
    auto all = [&](Database& database) { return use_all(database, outcome); };

    with_cuts(cut, table, all);

    for (const std::int64_t n : outcome.acknowledged) {
      EXPECT_EQ(table.rows[std::to_string(n)], 1) << n << ", " << cut.replay;
    }
    for (const auto& [value, count] : table.rows) EXPECT_LE(count, 1) << value << ", " << cut.replay;
    for (const auto& [what, times] : outcome.wrong) ADD_FAILURE() << what << ", " << times << " times, " << cut.replay;
    good += outcome.good;
    bad += outcome.bad;
    cuts += cut.cuts;
  }
  EXPECT_GT(cuts, 100u);
  EXPECT_GT(good, 2000) << bad << " failed";
  EXPECT_GT(bad, 50);
  std::printf("[ score ] %llu seeds, %llu connections cut, %d statements succeeded, %d failed\n",
              static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(cuts), good, bad);
}

// --- COPY in both directions, and streams

// The rows first, first + 1, … that were copied in together.
struct Batch {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool is_acknowledged = false;
  std::int64_t last() const noexcept { return first + count - 1; }
};
struct Moved {
  std::vector<Batch> batches;
  std::map<std::string, int> wrong;  // What went wrong, and how often.
  int good = 0;
  int bad = 0;
};

struct Fill {
  std::int64_t first = 0;
  std::int64_t count = 0;
  Task<> operator()(CopyRows<Counted>& rows) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Counted one{first + i};
      co_await rows.write(one);
      if (i % 97 == 96) co_await sleep_for(random_time(3_ms));
    }
  }
};
struct InOrder {
  std::int64_t next = 0;
  bool is_wrong = false;
  std::int64_t stop_at = -1;  // Wants no more.
  Task<> operator()(std::span<const Counted> some) {
    for (const Counted& one : some) is_wrong = is_wrong || one.n != next++;
    if (stop_at >= 0 && next > stop_at) co_await fail(Code::OutOfRange, "enough");
    co_await sleep_for(random_time(3_ms));
  }
};

void judge(const Error& error, Moved& moved) {
  ++moved.bad;
  const bool is_its_own = error.code() == Code::OutOfRange && error.message() == "enough";
  if (!is_its_own && !is_told(error)) ++moved.wrong[error.describe()];
}

Task<> copy_with_inserts(Database& database, Fill& fill) {
  Transaction transaction = co_await database.begin();
  co_await transaction.execute("insert into t values ($1)", fill.first - 1);
  co_await database.copy_in<Counted>(transaction, "t", fill);
  co_await transaction.execute("insert into t values ($1)", fill.first + fill.count);
  co_await transaction.commit();
}
Task<> copy_alone(Database& database, Fill& fill, Moved& moved) {
  const std::size_t count = co_await database.copy_in<Counted>("t", fill);
  if (count != static_cast<std::size_t>(fill.count)) ++moved.wrong["another number of rows was copied in"];
}
// A function for each operation: GCC 12 miscompiles a choice between two co_await.
Task<> move_in(Database& database, Batch batch, bool is_alone, Moved& moved) {
  Fill fill{batch.first, batch.count};
  if (is_alone) {
    co_await copy_alone(database, fill, moved);
  } else {
    co_await copy_with_inserts(database, fill);
  }
}
Task<> try_to_move_in(Database& database, Batch batch, bool is_alone, Duration limit, Moved& moved) {
  const Result<> done = co_await attempt(with_timeout(limit, move_in(database, batch, is_alone, moved)));
  if (!is_alone) batch = {batch.first - 1, batch.count + 2};
  batch.is_acknowledged = done.has_value();
  moved.batches.push_back(batch);
  if (done) {
    ++moved.good;
  } else {
    judge(done.error(), moved);
  }
}

Task<std::size_t> move_out(Database& database, bool is_copy, std::int64_t wanted, InOrder& rows) {
  if (is_copy) co_return co_await database.copy_out<Counted>("select few", rows);
  co_return co_await database.stream<Counted>("select these $1", rows, wanted);
}
Task<> try_to_move_out(Database& database, bool is_copy, Duration limit, Moved& moved) {
  const std::int64_t wanted = is_copy ? Table::few : static_cast<std::int64_t>(random_below(900));
  InOrder rows;
  if (random_below(8) == 0) rows.stop_at = static_cast<std::int64_t>(random_below(400));
  const Result<std::size_t> count = co_await attempt(with_timeout(limit, move_out(database, is_copy, wanted, rows)));
  if (rows.is_wrong) ++moved.wrong["rows out of order"];
  if (!count) co_return judge(count.error(), moved);
  ++moved.good;
  if (*count != static_cast<std::size_t>(wanted) || rows.next != wanted) ++moved.wrong["an end before the last row"];
}

Task<> move(Database& database, int who, Moved& moved) {
  for (int i = 0; i < 8; ++i) {
    const std::int64_t first = who * 1'000'000 + i * 10'000 + 1;
    const Batch batch{.first = first, .count = static_cast<std::int64_t>(random_below(700))};
    // Some are given up in their midst.
    const Duration limit = random_below(5) == 0 ? random_time(60_ms) : 8_s;
    const std::uint64_t kind = random_below(4);
    if (kind < 2) {
      co_await try_to_move_in(database, batch, kind == 0, limit, moved);
    } else {
      co_await try_to_move_out(database, kind == 2, limit, moved);
    }
    co_await sleep_for(random_time(30_ms));
  }
}
Task<> move_all(Database& database, Moved& moved) {
  Scope scope;
  for (int who = 0; who < 6; ++who) scope.spawn(move(database, who, moved));
  co_await scope.join();
}

TEST(FakeDatabaseCuts, leave_a_copy_whole_or_not_there_and_tell_of_each_stream_that_was_cut) {
  int good = 0;
  int bad = 0;
  std::uint64_t cuts = 0;
  const std::uint64_t seeds = seeds_wanted(60);
  for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    Table table;
    Moved moved;
    Cut cut{.faults = faults_of(seed), .cut_after = 500 + seed * 331 % 40'000};
    auto all = [&](Database& database) { return move_all(database, moved); };

    with_cuts(cut, table, all);

    for (const Batch& batch : moved.batches) {
      std::int64_t there = 0;
      for (std::int64_t n = batch.first; n <= batch.last(); ++n) {
        const auto row = table.rows.find(std::to_string(n));
        if (row == table.rows.end()) continue;
        EXPECT_EQ(row->second, 1) << n << ", " << cut.replay;
        ++there;
      }
      if (batch.is_acknowledged) {
        EXPECT_EQ(there, batch.count) << cut.replay;
      } else {
        EXPECT_TRUE(there == 0 || there == batch.count) << there << " of " << batch.count << ", " << cut.replay;
      }
    }
    for (const auto& [what, times] : moved.wrong) ADD_FAILURE() << what << ", " << times << " times, " << cut.replay;
    good += moved.good;
    bad += moved.bad;
    cuts += cut.cuts;
  }
  EXPECT_GT(cuts, 100u);
  EXPECT_GT(good, 600) << bad << " failed";
  EXPECT_GT(bad, 100);
  std::printf("[ score ] %llu seeds, %llu connections cut, %d copies and streams succeeded, %d failed\n",
              static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(cuts), good, bad);
}

// --- notifications

struct Heard {
  std::int64_t notified = 0;  // 1, 2, 3, …
  bool is_over = false;
  int heard = 0;
  int gaps = 0;
  std::map<std::string, int> wrong;
};

Task<> notify_all(Table& table, Heard& heard) {
  for (int i = 0; i < 200; ++i) {
    table.notify("jobs", std::to_string(++heard.notified));
    co_await sleep_for(random_time(10_ms));
  }
  heard.is_over = true;
}

Task<Notifications> listen_at_last(Database& database) {
  while (true) {
    Result<Notifications> listening = co_await attempt(database.listen("jobs"));
    if (listening) co_return *std::move(listening);
    if (listening.error().code() != Code::Unavailable) co_return std::move(listening).error();
    co_await sleep_for(5_ms);
  }
}

// Each number is the next one, or a gap was told before it: then it is no later than the first after the gap.
Task<> hear(Database& database, Heard& heard) {
  Notifications jobs = co_await listen_at_last(database);
  std::int64_t last = 0;
  std::int64_t known = heard.notified;  // What came until then may be lost.
  bool is_told = true;
  while (true) {
    const bool was_over = heard.is_over;
    // A task that waits with a deadline loses nothing.
    const Duration limit = was_over ? 5_s : 20_ms + random_time(200_ms);
    const Result<Notification> one = co_await attempt(with_timeout(limit, jobs.next()));
    if (!one) {
      if (one.error().code() != Code::DeadlineExceeded) ++heard.wrong[one.error().describe()];
      if (was_over || one.error().code() != Code::DeadlineExceeded) break;
      continue;
    }
    if (one->is_gap) {
      ++heard.gaps;
      is_told = true;
      known = heard.notified;
      continue;
    }
    ++heard.heard;
    const std::int64_t n = std::stoll(one->payload);
    if (n <= last) ++heard.wrong["one came twice"];
    if (n > (is_told ? std::max(known, last) : last) + 1) ++heard.wrong["one was lost, and nothing told of it"];
    last = n;
    is_told = false;
  }
  if (std::max(last, is_told ? known : 0) < heard.notified) ++heard.wrong["the last was lost, and nothing told of it"];
}

Task<> notify_and_hear(Database& database, Table& table, Heard& heard) {
  Scope scope;
  scope.spawn(hear(database, heard));
  scope.spawn(notify_all(table, heard));
  co_await scope.join();
}

TEST(FakeDatabaseCuts, tell_of_each_gap_in_notifications) {
  int heard_in_all = 0;
  int gaps = 0;
  std::uint64_t cuts = 0;
  const std::uint64_t seeds = seeds_wanted(60);
  for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    Table table;
    Heard heard;
    Cut cut{.faults = faults_of(seed), .cut_after = 200 + seed * 37 % 1000};
    // A peer that vanishes in silence is found out by the kernel (SO_KEEPALIVE), which a simulation has not.
    cut.faults.vanish = 0;
    auto all = [&](Database& database) { return notify_and_hear(database, table, heard); };

    with_cuts(cut, table, all);

    for (const auto& [what, times] : heard.wrong) ADD_FAILURE() << what << ", " << times << " times, " << cut.replay;
    heard_in_all += heard.heard;
    gaps += heard.gaps;
    cuts += cut.cuts;
  }
  EXPECT_GT(cuts, 60u);
  EXPECT_GT(heard_in_all, 2000);
  EXPECT_GT(gaps, 25);
  std::printf("[ score ] %llu seeds, %llu connections cut, %d notifications came, %d gaps were told\n",
              static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(cuts), heard_in_all, gaps);
}

}  // namespace
}  // namespace keel::db::postgres::cuts_test
