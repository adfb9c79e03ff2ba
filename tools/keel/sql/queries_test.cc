// The functions that are generated from testdata, as a program compiles and calls them: every kind of query, in real
// time and in the simulation.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/host.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/sim_vfs.h"
#include "keel/io/loop.h"
#include "keel/io/testing/disk.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"
#include "queries/orders.h"
#include "queries/users.h"

namespace keel::sql::queries_test {
namespace {

namespace queries = shop::queries;

// A database, and a loop on which tasks run.
class World {
 public:
  virtual ~World() = default;
  virtual db::sqlite::Database& database() = 0;
  // Runs the job that ends with its task.
  virtual Result<> run(Task<>&& task) = 0;
};

class RealWorld final : public World {
 public:
  explicit RealWorld(io::EngineKind kind) : loop_(io::make_engine(kind).value(), Host::system()), entered_(loop_) {
    database_ = db::sqlite::Database::open({.path = folder_ / "app.db", .migrations = SHOP_MIGRATIONS}).value();
  }
  db::sqlite::Database& database() override { return *database_; }
  Result<> run(Task<>&& task) override {
    Start<void> start;
    if (!start.begin(std::move(task), [](StartCore&) noexcept { io::Loop::current()->stop(); })) loop_.run();
    return start.take();
  }

 private:
  db::testing::Folder folder_;
  io::Loop loop_;
  io::Loop::Entered entered_;
  std::unique_ptr<db::sqlite::Database> database_;
};

class SimulatedWorld final : public World {
 public:
  SimulatedWorld() : before_(Host::set_current(&simulation_)), loop_(simulation_.add_loop()) {
    database_ = db::sqlite::Database::open({.path = "/app.db",
                                            .migrations = SHOP_MIGRATIONS,
                                            .writer = {.hold_max = 60_s},
                                            .vfs = vfs_.name(),
                                            .executor = &simulation_.pool()})
                    .value();
  }
  ~SimulatedWorld() override {
    EXPECT_TRUE(simulation_.run_until([this] { return database_->is_idle(); }, 10_s));
    database_.reset();
    Host::set_current(before_);
  }
  db::sqlite::Database& database() override { return *database_; }
  Result<> run(Task<>&& task) override {
    Start<void> start;
    {
      io::Loop::Entered entered(loop_);
      start.begin(std::move(task), [](StartCore&) noexcept {});
    }
    EXPECT_TRUE(simulation_.run_until([&] { return start.has_ended(); }, 60_s)) << simulation_.replay();
    io::Loop::Entered entered(loop_);
    return start.take();
  }

 private:
  sim::Simulation simulation_;
  Host* before_;
  io::Loop& loop_;
  sim::Disk disk_{1};
  db::sqlite::SimVfs vfs_{disk_, 1};
  std::unique_ptr<db::sqlite::Database> database_;
};

enum class Where { Epoll, Uring, Simulation };

class Queries : public ::testing::TestWithParam<Where> {
 protected:
  Queries() {
    if (GetParam() == Where::Simulation) {
      world_ = std::make_unique<SimulatedWorld>();
    } else if (GetParam() == Where::Epoll || io::make_engine(io::EngineKind::Uring)) {
      world_ = std::make_unique<RealWorld>(GetParam() == Where::Epoll ? io::EngineKind::Epoll : io::EngineKind::Uring);
    }
  }
  void SetUp() override {
    if (world_ == nullptr) GTEST_SKIP() << "no io_uring here";
  }
  void run(Task<> (*test)(db::sqlite::Database&)) {
    const Result<> ended = world_->run(test(world_->database()));
    EXPECT_TRUE(ended) << ended.error().describe();
  }

  std::unique_ptr<World> world_;
};

Timestamp at(std::string_view text) { return Timestamp::parse(text).value(); }

Task<> read_and_write(db::sqlite::Database& database) {
  const std::int64_t ada = co_await queries::add_user(database, "ada", "ada@example.org", at("2026-01-02T03:04:05Z"));
  const std::int64_t bob = co_await queries::add_user(database, "bob", std::nullopt, at("2026-02-02T03:04:05Z"));
  const auto found = co_await queries::find_user(database, "ada@example.org");
  const auto none = co_await queries::find_user(database, "' or 1=1 --");
  const std::int64_t count = co_await queries::count_users(database);
  const auto note = co_await queries::note_of(database, bob);

  EXPECT_TRUE(found && found->id == ada && found->name == "ada" && found->email == "ada@example.org");
  EXPECT_TRUE(found && found->created_at == at("2026-01-02T03:04:05Z"));
  EXPECT_FALSE(none) << "a value is data";
  EXPECT_EQ(count, 2);
  EXPECT_FALSE(note);

  queries::ChangeUserParams change;
  change.id = bob;
  change.note = "x";
  change.score = 101;
  change.is_admin = true;
  change.avatar = std::vector<std::byte>{std::byte{1}, std::byte{0}};
  const auto changed = co_await queries::change_user(database, change);
  const auto avatar = co_await queries::avatar_of(database, bob);
  const auto noted = co_await queries::note_of(database, bob);
  EXPECT_EQ(changed.changes, 1);
  EXPECT_EQ(avatar, *change.avatar);
  EXPECT_EQ(noted, "x");

  const auto missing = co_await attempt(queries::note_of(database, 99));
  EXPECT_EQ(missing.error().code(), Code::NotFound);
  const auto again =
      co_await attempt(queries::add_user(database, "eve", "ada@example.org", at("2026-01-02T03:04:05Z")));
  EXPECT_EQ(again.error().code(), Code::AlreadyExists);
  EXPECT_EQ(std::string(again.error().place().file_name()), "testdata/queries/users.sql");
  const auto removed = co_await queries::remove_user(database, ada);
  EXPECT_EQ(removed.changes, 1);
}
TEST_P(Queries, read_and_write) { run(read_and_write); }

std::string names_of(const std::vector<queries::User>& users) {
  std::string names;
  for (const queries::User& user : users) names += (names.empty() ? "" : " ") + user.name;
  return names;
}

Task<> choose_blocks_and_orders(db::sqlite::Database& database) {
  using queries::ListUsersSort;
  for (const char* name : {"ada", "bob", "abe"}) {
    const std::string email = std::string(name) + "@x";
    co_await queries::add_user(database, name, email,
                               at(name[0] == 'b' ? "2026-05-01T00:00:00Z" : "2026-01-01T00:00:00Z"));
  }
  queries::ChangeUserParams change;
  change.id = 3;
  change.score = 7;
  change.is_admin = true;
  co_await queries::change_user(database, change);

  queries::ListUsersParams wanted;
  wanted.limit = 10;
  const auto list = [&](ListUsersSort sort) { return queries::list_users(database, wanted, sort); };
  const auto all = co_await list(ListUsersSort::Name);
  const auto back = co_await list(ListUsersSort::NameDescending);
  const auto score = co_await list(ListUsersSort::ScoreDescending);
  EXPECT_EQ(names_of(all), "abe ada bob");
  EXPECT_EQ(names_of(back), "bob ada abe");
  EXPECT_EQ(names_of(score), "abe ada bob");

  wanted.name = "a%";
  const auto named = co_await list(ListUsersSort::Name);
  wanted.admins = true;
  const auto admins = co_await list(ListUsersSort::Name);
  wanted.name.reset();
  wanted.admins = false;
  wanted.since = at("2026-03-01T00:00:00Z");
  const auto since = co_await list(ListUsersSort::Name);
  EXPECT_EQ(names_of(named), "abe ada");
  EXPECT_EQ(names_of(admins), "abe");
  EXPECT_EQ(names_of(since), "bob");
  EXPECT_EQ(enum_value<ListUsersSort>("-score"), ListUsersSort::ScoreDescending);
  EXPECT_FALSE(enum_value<ListUsersSort>("id; drop table users"));
}
TEST_P(Queries, choose_blocks_and_orders) { run(choose_blocks_and_orders); }

Task<> run_a_batch_whole_or_not_at_all(db::sqlite::Database& database) {
  std::vector<queries::NewUser> users = {{"ada", "a@x"}, {"bob", std::nullopt}, {"eve", "e@x"}};
  const std::int64_t added = co_await queries::add_users(database, users);
  EXPECT_EQ(added, 3);

  users = {{"fay", "f@x"}, {"ada", "a@x"}};
  const auto failed = co_await attempt(queries::add_users(database, users));
  EXPECT_EQ(failed.error().code(), Code::AlreadyExists);
  const std::int64_t count = co_await queries::count_users(database);
  EXPECT_EQ(count, 3) << "fay is not there either";

  db::Transaction transaction = co_await database.begin();
  users.pop_back();
  co_await queries::add_users(transaction, users);
  const std::int64_t within = co_await queries::count_users(transaction);
  transaction.roll_back();
  const std::int64_t after = co_await queries::count_users(database);
  EXPECT_EQ(within, 4);
  EXPECT_EQ(after, 3);
}
TEST_P(Queries, run_a_batch_whole_or_not_at_all) { run(run_a_batch_whole_or_not_at_all); }

Task<> stream_rows_a_part_at_a_time(db::sqlite::Database& database) {
  std::vector<queries::NewUser> users(3'000);
  for (queries::NewUser& user : users) user.name = std::string(400, 'x');
  co_await queries::add_users(database, users);

  std::int64_t next = 101;
  std::size_t largest = 0;
  int parts = 0;
  const auto take = [&](std::span<const queries::User> some) -> Task<> {
    for (const queries::User& user : some) EXPECT_EQ(user.id, next++);
    largest = std::max(largest, some.size());
    // What is written meanwhile is not seen: all rows are of one snapshot.
    if (++parts == 2) co_await queries::add_user(database, "late", std::nullopt, at("2026-01-01T00:00:00Z"));
    co_return;
  };
  const std::size_t count = co_await queries::export_users(database, 100, take);
  EXPECT_EQ(count, 2'900u);
  EXPECT_EQ(next, 3'001);
  EXPECT_LT(largest, 200u) << "64 KiB of rows";
  EXPECT_GT(parts, 10);
}
TEST_P(Queries, stream_rows_a_part_at_a_time) { run(stream_rows_a_part_at_a_time); }

Task<> a_stream_ends_with_its_callback(db::sqlite::Database& database) {
  std::vector<queries::NewUser> users(1'000);
  for (queries::NewUser& user : users) user.name = std::string(400, 'x');
  co_await queries::add_users(database, users);
  int calls = 0;
  const auto refuse = [&](std::span<const queries::User>) -> Task<> {
    ++calls;
    co_await fail(Code::Conflict, "enough");
  };
  const auto ended = co_await attempt(queries::export_users(database, 0, refuse));
  EXPECT_EQ(ended.error().code(), Code::Conflict);
  EXPECT_EQ(calls, 1);

  const auto wait = [&](std::span<const queries::User>) -> Task<> { co_await sleep_for(10_s); };
  const auto late = co_await attempt(with_timeout(50_ms, queries::export_users(database, 0, wait)));
  EXPECT_EQ(late.error().code(), Code::DeadlineExceeded);

  const auto ignore = [&](std::span<const queries::User>) -> Task<> { co_return; };
  const std::size_t none = co_await queries::export_users(database, 1'000'000, ignore);
  EXPECT_EQ(none, 0u);
  const auto writing = [&](std::span<const std::int64_t>) -> Task<> { co_return; };
  const auto refused = co_await attempt(database.stream<std::int64_t>("delete from users returning id", writing));
  EXPECT_EQ(refused.error().code(), Code::InvalidArgument) << refused.error().describe();
  const std::int64_t count = co_await queries::count_users(database);
  EXPECT_EQ(count, 1'000);
}
TEST_P(Queries, a_stream_ends_with_its_callback) { run(a_stream_ends_with_its_callback); }

Task<> use_types_of_the_program(db::sqlite::Database& database) {
  const std::int64_t ada = co_await queries::add_user(database, "ada", std::nullopt, at("2026-01-02T03:04:05Z"));
  const auto order = co_await queries::place(database, ada, shop::OrderState::Paid, 500);
  co_await queries::place(database, ada, shop::OrderState::Open, 100);
  const auto some = co_await queries::orders_of(database, ada, shop::OrderState::Paid, shop::OrderState::Sent);
  EXPECT_EQ(order.state, shop::OrderState::Paid);
  EXPECT_EQ(some.size(), 1u);

  shop::Wanted wanted;
  const auto all = co_await queries::orders_of_anyone(database, wanted);
  wanted.state = shop::OrderState::Open;
  const auto open = co_await queries::orders_of_anyone(database, wanted);
  EXPECT_EQ(all.size(), 2u);
  EXPECT_TRUE(open.size() == 1 && open[0].user == "ada" && open[0].cents == 100 && !open[0].note);

  const auto spending = co_await queries::spending(database, 0);
  EXPECT_TRUE(spending.size() == 1 && spending[0].cents == 600 && spending[0].orders == 2);
}
TEST_P(Queries, use_types_of_the_program) { run(use_types_of_the_program); }

std::string name_of(const ::testing::TestParamInfo<Where>& world) {
  static constexpr const char* names[] = {"Epoll", "Uring", "Simulation"};
  return names[static_cast<int>(world.param)];
}
INSTANTIATE_TEST_SUITE_P(On, Queries, ::testing::Values(Where::Epoll, Where::Uring, Where::Simulation), name_of);

}  // namespace
}  // namespace keel::sql::queries_test
