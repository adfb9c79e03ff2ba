// The orders of examples/orders as the real program takes them: many at once, kill -9, a full disk, and a lock that
// another process holds. docs/operations.md has the outcomes; the simulation has the rest (orders_test.cc of the
// example).

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "faults.h"
#include "keel/base/host.h"
#include "keel/db/sqlite/connection.h"

namespace faults::orders_test {
namespace {

using namespace keel;
using namespace e2e;

constexpr int customers = 16;
constexpr std::int64_t stock = 50;

// What a customer knows. An order that got no answer may be there or not.
struct Ledger {
  std::mutex mutex;
  std::map<std::int64_t, std::int64_t> acknowledged;  // The price by the order's number; no two have one price.
  std::map<int, int> statuses;                        // How often each; 0: no answer.
};

std::string tea_for(std::int64_t cents) { return R"({"item":"tea","cents":)" + std::to_string(cents) + "}"; }

// Orders until the connection ends, or `count` times.
void keep_ordering(const Address& address, std::int64_t cents, int count, Ledger& ledger, std::atomic<int>& answers) {
  Connection connection(address);
  for (int i = 0; i < count; ++i) {
    connection.send(request("POST", "/orders", tea_for(cents + i)));
    const auto reply = connection.receive();
    const std::lock_guard lock(ledger.mutex);
    ++ledger.statuses[reply ? reply->status : 0];
    if (!reply) return;
    ++answers;
    if (reply->status != 201) continue;
    const auto order = members(reply->body);
    if (!order || !order->contains("id")) {
      ADD_FAILURE() << reply->body;
      return;
    }
    ledger.acknowledged[std::stoll(order->at("id"))] = cents + i;
  }
}

// Everybody orders at once, each on a connection of its own.
std::vector<std::thread> order_at_once(const Service& service, std::int64_t first_cents, int count, Ledger& ledger,
                                       std::atomic<int>& answers) {
  std::vector<std::thread> threads;
  for (int i = 0; i < customers; ++i) {
    threads.emplace_back(keep_ordering, service.address(), first_cents + i * 1000, count, std::ref(ledger),
                         std::ref(answers));
  }
  return threads;
}

// What is wrong with the rows, seen by another process than the service.
std::vector<std::string> problems_of_orders(const std::string& path, std::int64_t in_stock_before,
                                            const std::map<std::int64_t, std::int64_t>& acknowledged) {
  std::vector<std::string> problems;
  auto opened = db::sqlite::Connection::open({.path = path});
  if (!opened) return {opened.error().describe()};
  std::map<std::int64_t, std::int64_t> rows;
  std::map<std::int64_t, int> prices;
  std::int64_t in_stock = -1;
  auto sound = [&](const db::Row& row) {
    if (row.text(0) != "ok") problems.emplace_back(row.text(0));
  };
  auto order = [&](const db::Row& row) {
    rows[row.integer(0)] = row.integer(2);
    if (row.text(1) != "tea") problems.push_back("a torn order: " + std::to_string(row.integer(0)));
    if (++prices[row.integer(2)] == 2) problems.push_back("an order is there twice: " + std::to_string(row.integer(2)));
  };
  auto count = [&](const db::Row& row) { in_stock = row.integer(0); };
  const auto check = [&](const auto& result) {
    if (!result) problems.push_back(result.error().describe());
  };
  check((*opened)->query("select * from pragma_integrity_check", sound));
  check((*opened)->query("select id, item, cents from orders", order));
  check((*opened)->query("select count from stock where item = 'tea'", count));
  const auto sold = static_cast<std::int64_t>(rows.size());
  if (in_stock + sold != in_stock_before) {
    problems.push_back(std::to_string(in_stock) + " in stock and " + std::to_string(sold) + " sold are not " +
                       std::to_string(in_stock_before));
  }
  for (const auto& [id, cents] : acknowledged) {
    if (!rows.contains(id) || rows[id] != cents)
      problems.push_back("an acknowledged order is lost: " + std::to_string(id));
  }
  return problems;
}

class OrdersProgram : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
  }
  // No process listens at the payments server's address.
  Service start(const std::string& database, std::vector<std::string> more = {}) const {
    std::vector<std::string> flags = {"--database.path=" + database,
                                      std::string("--database.migrations=") + KEEL_FAULTS_ORDERS_MIGRATIONS,
                                      "--network.engine=" + GetParam(),
                                      "--network.http.port=0",
                                      "--monitoring.metrics.export_port=0",
                                      "--network.workers=2",
                                      "--network.clients.payments.base_url=http://127.0.0.1:1",
                                      "--logging.sinks=[{type: file, path: '" + log() + "'}]"};
    flags.insert(flags.end(), more.begin(), more.end());
    return Service(std::move(flags), Program(KEEL_FAULTS_ORDERS));
  }
  std::string log() const { return folder_ / "service.log"; }
  static void put_in_stock(const Service& service, std::int64_t count) {
    ASSERT_EQ(call(service.address(), "PUT", "/stock/tea", R"({"count":)" + std::to_string(count) + "}").status, 204);
  }
  static Reply order(const Service& service, std::int64_t cents) {
    return call(service.address(), "POST", "/orders", tea_for(cents));
  }

  Folder folder_;
};

INSTANTIATE_TEST_SUITE_P(Engines, OrdersProgram, ::testing::Values("uring", "epoll"),
                         [](auto& test) { return test.param; });

TEST_P(OrdersProgram, sells_50_of_50_to_160_orders_at_once) {
  Service service = start(folder_ / "app.db");
  ASSERT_TRUE(service.is_ready()) << service.errors();
  put_in_stock(service, stock);
  Ledger ledger;
  std::atomic<int> answers = 0;

  for (std::thread& customer : order_at_once(service, 1000, 160 / customers, ledger, answers)) customer.join();

  EXPECT_EQ(ledger.statuses, (std::map<int, int>{{201, 50}, {409, 110}}));
  EXPECT_EQ(service.stop(), 0) << service.errors();
  EXPECT_EQ(problems_of_orders(folder_ / "app.db", stock, ledger.acknowledged), std::vector<std::string>());

  // The check is able to fail.
  auto connection = db::sqlite::Connection::open({.path = folder_ / "app.db"}).value();
  ASSERT_TRUE(connection->run("delete from orders where id = 1"));
  EXPECT_EQ(problems_of_orders(folder_ / "app.db", stock, ledger.acknowledged).size(), 2u);
}

TEST_P(OrdersProgram, loses_nothing_acknowledged_and_none_of_its_stock_when_it_is_killed) {
  constexpr std::int64_t plenty = 1'000'000;
  const auto seed = static_cast<unsigned>(Host::system().random());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Ledger ledger;
  const int kills = KEEL_SANITIZED ? 2 : 8;
  for (int round = 0; round < kills; ++round) {
    Service service = start(folder_ / "app.db");
    ASSERT_TRUE(service.is_ready()) << service.errors();
    if (round == 0) put_in_stock(service, plenty);
    std::atomic<int> answers = 0;
    std::vector<std::thread> threads = order_at_once(service, 1'000'000 * (round + 1), /*count=*/1000, ledger, answers);
    while (answers < 3) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));

    service.signal(SIGKILL);

    EXPECT_EQ(service.wait(5_s), 128 + SIGKILL);
    for (std::thread& customer : threads) customer.join();
    ASSERT_EQ(problems_of_orders(folder_ / "app.db", plenty, ledger.acknowledged), std::vector<std::string>())
        << "round " << round;
  }
  EXPECT_EQ(ledger.statuses.size(), 2u) << "an order was made, or got no answer";
  EXPECT_EQ(ledger.statuses[0], customers * kills) << "every kill met an order of every customer";
  Service service = start(folder_ / "app.db");
  ASSERT_TRUE(service.is_ready()) << service.errors();
  const auto& [id, cents] = *ledger.acknowledged.rbegin();
  const auto kept = members(call(service.address(), "GET", "/orders/" + std::to_string(id)).body);
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->at("cents"), std::to_string(cents));
  EXPECT_EQ(service.stop(), 0) << service.errors();
}

TEST_P(OrdersProgram, refuses_orders_while_its_disk_is_full_and_takes_them_again_by_itself) {
  if (!Disk::refusal().empty()) GTEST_SKIP() << "no disk of its own for this test: " << Disk::refusal();
  Disk disk(2 * 1024 * 1024);
  Service service = start(disk / "app.db");
  ASSERT_TRUE(service.is_ready()) << service.errors();
  put_in_stock(service, stock);
  std::map<std::int64_t, std::int64_t> acknowledged;
  std::int64_t cents = 100;
  const auto try_one = [&] {
    Reply reply = order(service, ++cents);
    if (reply.status == 201) acknowledged[std::stoll(members(reply.body).value().at("id"))] = cents;
    return reply;
  };
  ASSERT_EQ(try_one().status, 201);

  // What the file has already of the disk can still be written: until that is used up.
  for (int i = 0; i < 40 && try_one().status == 201; ++i) disk.fill();
  disk.fill();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(why_not_a_503(try_one()), "");
  EXPECT_EQ(call(service.address(), "GET", "/orders/1").status, 200);
  const Reply receipt = call(service.address(), "PUT", "/orders/1/receipt", std::string(100'000, 'r'));
  EXPECT_EQ(why_not_a_503(receipt), "");

  disk.empty();
  EXPECT_TRUE(eventually([&] { return try_one().status == 201; }, 5_s)) << "without a restart";
  EXPECT_EQ(call(service.address(), "GET", "/orders/1/receipt").status, 404) << "nobody sees half of one";
  EXPECT_EQ(service.stop(), 0) << service.errors();
  EXPECT_EQ(problems_of_orders(disk / "app.db", stock, acknowledged), std::vector<std::string>());
  const std::string lines = read_file(log());
  EXPECT_NE(lines.find("the disk does not take writes"), std::string::npos);
  EXPECT_NE(lines.find("the disk takes writes again"), std::string::npos);
}

TEST_P(OrdersProgram, refuses_orders_in_time_while_another_process_holds_the_lock) {
  Service service = start(folder_ / "app.db", {"--database.timeout_sec=0.3"});
  ASSERT_TRUE(service.is_ready()) << service.errors();
  put_in_stock(service, stock);
  auto other = db::sqlite::Connection::open({.path = folder_ / "app.db"}).value();
  ASSERT_TRUE(other->prepare_control("begin immediate").value().run());

  const Instant began = Host::system().now();
  EXPECT_EQ(why_not_a_503(order(service, 100)), "");
  EXPECT_GE(Host::system().now() - began, 250_ms) << "it waited for the lock";
  EXPECT_EQ(call(service.address(), "GET", "/stock/tea").body, R"({"item":"tea","count":50})");

  ASSERT_TRUE(other->prepare_control("rollback").value().run());
  const Reply made = order(service, 101);
  EXPECT_EQ(made.status, 201) << made.body;
  other.reset();
  EXPECT_EQ(service.stop(), 0) << service.errors();
  EXPECT_EQ(problems_of_orders(folder_ / "app.db", stock, {{1, 101}}), std::vector<std::string>());
  const std::string lines = read_file(log());
  EXPECT_NE(lines.find("database is locked"), std::string::npos) << lines;
}

}  // namespace
}  // namespace faults::orders_test
