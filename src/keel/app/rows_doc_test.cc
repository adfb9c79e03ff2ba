// docs/rows.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/app/settings.h"
#include "keel/config/config.h"
#include "keel/data/timestamp.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"
#include "keel/observe/log.h"
#include "keel/observe/log_record.h"

namespace keel::rows_doc_test {
namespace {

enum class State { Open, Paid };

struct Line {
  std::string sku;
  int quantity = 1;
};
struct Order {
  std::int64_t id = 0;
  std::string customer;
  State state = State::Open;
  Timestamp created_at;
  std::optional<std::string> note;
  std::vector<Line> lines;
};

Task<> store(db::Session& session, Order order) {
  co_await session.execute(
      "insert into orders (customer, state, created_at, note) values ($customer, $state, $created_at, $note)", order);
}

Task<std::vector<Order>> open_orders(db::Session& session) {
  auto orders = co_await session.query_many<Order>(
      "select created_at, id, customer, state, note from orders where state = $1 order by id", State::Open);
  co_return orders;
}

Task<std::string> totals_of(db::Session& session) {
  struct Total {
    std::string customer;
    std::int64_t orders = 0;
  };
  auto totals = co_await session.query_many<Total>("select customer, count(*) as orders from orders group by customer");
  std::string text;
  for (const Total& total : totals) text += total.customer + std::to_string(total.orders) + ' ';
  co_return text;
}

Task<std::string> names_of(db::Session& session) {
  std::string text;
  struct Name {
    std::int64_t id;
    std::string_view customer;
  };
  auto write = [&](const db::Row& row) {
    const auto name = row.as<Name>();
    text.append(name.customer).append("\n");
  };
  co_await session.query("select id, customer from orders", write);
  co_return text;
}

struct StoreConfig {
  std::string path = "store.db";
  unsigned connections_max = 16;
  Duration acquire_timeout = 1_s;
  config::Secret password;

  void rules(Check& check) const {
    check(connections_max).range(1, 1024);
    check.that(acquire_timeout <= 1_min, "acquire_timeout must not be above a minute");
  }
};

struct ShopConfig : app::Settings {
  StoreConfig store;

  void fields(config::Schema& v) {
    Settings::fields(v);
    config::field(v, "store", store, "the shop's own store");
  }
};

void report(const log::Logger& log, const Order& order) {
  struct Created {
    std::int64_t id = 0;
    std::string customer;
    State state = State::Open;
  };
  log.info("order created", Created{order.id, order.customer, order.state}, log::field("lines", order.lines.size()));
}

TEST(RowsDoc, reads_and_writes_rows) {
  db::testing::Folder folder;
  db::testing::OwnLoop loop;
  const auto database = db::sqlite::Database::open({.path = folder / "db"}).value();
  ASSERT_TRUE(
      loop.run(database->execute("create table orders (id integer primary key, customer text not null,"
                                 " state text not null, created_at text not null, note text) strict")));
  const Timestamp now = Timestamp::parse("2026-11-24T12:00:37Z").value();
  for (const std::string customer : {"ann", "bob", "ann"}) {
    ASSERT_TRUE(loop.run(store(*database, {.customer = customer, .created_at = now, .note = {}, .lines = {}})));
  }
  ASSERT_TRUE(loop.run(
      store(*database, {.customer = "dan", .state = State::Paid, .created_at = now, .note = {}, .lines = {}})));

  const auto orders = loop.run(open_orders(*database)).value();

  ASSERT_EQ(orders.size(), 3u);
  EXPECT_EQ(orders[1].id, 2);
  EXPECT_EQ(orders[1].customer, "bob");
  EXPECT_EQ(orders[1].created_at, now);
  EXPECT_EQ(orders[1].note, std::nullopt);
  EXPECT_EQ(loop.run(totals_of(*database)).value(), "ann2 bob1 dan1 ");
  EXPECT_EQ(loop.run(names_of(*database)).value(), "ann\nbob\nann\ndan\n");
}

TEST(RowsDoc, has_settings_of_its_own) {
  const char* const none[] = {nullptr};
  const char* const args[] = {"--store.connections_max=8"};
  const char* const wrong[] = {"--store.connections_max=0"};

  const auto loaded = config::load<ShopConfig>({.args = args, .environment = none});
  const auto refused = config::load<ShopConfig>({.args = wrong, .environment = none});

  EXPECT_EQ(loaded.value().store.connections_max, 8u);
  EXPECT_EQ(refused.error().message(), "--store.connections_max: must be from 1 to 1024");
}

TEST(RowsDoc, logs_a_struct) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  log::Reader reader(false);
  log::Ring ring;
  std::string names;

  report(log::Logger("shop"), Order{.id = 7, .customer = "ann", .created_at = {}, .note = {}, .lines = {{}, {}}});

  reader.drain([&](const log::Record& record) {
    record.for_each([&](const log::FieldView& field) { names.append(field.name).append(" "); });
  });
  EXPECT_EQ(names, "id customer state lines ");
}

}  // namespace
}  // namespace keel::rows_doc_test
