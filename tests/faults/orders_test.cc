// The orders of examples/orders as the real program takes them: many at the same time, kill -9, a full disk, and a lock
// that another process holds. docs/operations.md has the outcomes; the simulation has the rest (orders_test.cc of the
// example).

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
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

// What is known of customers. An order that got no response may be there or not.
struct Ledger {
  std::mutex mutex;
  std::map<std::int64_t, std::string> acknowledged;  // The customer by the order's number; no two are called the same.
  std::map<int, int> statuses;                       // How often each; 0: no response.
};

constexpr char json[] = "Content-Type: application/json\r\n";
constexpr char admin[] = "Content-Type: application/json\r\nAuthorization: Bearer secret\r\n";

std::string tea_for(const std::string& customer) {
  return R"({"customer":")" + customer + R"(","lines":[{"sku":"tea","quantity":1},{"sku":"cup","quantity":2}]})";
}

// Orders until the connection ends, or `count` times.
void keep_ordering(const Address& address, std::int64_t number, int count, Ledger& ledger, std::atomic<int>& answers) {
  Connection connection(address);
  for (int i = 0; i < count; ++i) {
    const std::string customer = "customer " + std::to_string(number + i);
    connection.send(request("POST", "/orders", tea_for(customer), json));
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
    ledger.acknowledged[std::stoll(order->at("id"))] = customer;
  }
}

// All customers order at the same time, each on a connection of its own.
std::vector<std::thread> order_at_once(const Service& service, std::int64_t first, int count, Ledger& ledger,
                                       std::atomic<int>& answers) {
  std::vector<std::thread> threads;
  for (int i = 0; i < customers; ++i) {
    threads.emplace_back(keep_ordering, service.address(), first + i * 1000, count, std::ref(ledger),
                         std::ref(answers));
  }
  return threads;
}

// What is wrong with the rows, seen by another process than the service: each order has a tea and two cups.
std::vector<std::string> problems_of_orders(const std::string& path, std::int64_t in_stock_before,
                                            const std::map<std::int64_t, std::string>& acknowledged) {
  std::vector<std::string> problems;
  auto opened = db::sqlite::Connection::open({.path = path});
  if (!opened) return {opened.error().describe()};
  std::map<std::int64_t, std::string> rows;
  std::map<std::string, int> orders_of;
  auto sound = [&](const db::Row& row) {
    if (row.text(0) != "ok") problems.emplace_back(row.text(0));
  };
  auto order = [&](const db::Row& row) {
    const std::string customer(row.text(1));
    rows[row.integer(0)] = customer;
    if (row.text(2) != "cup 2, tea 1") problems.push_back("a torn order: " + std::to_string(row.integer(0)));
    if (++orders_of[customer] == 2) problems.push_back("an order is there twice: " + customer);
  };
  auto product = [&](const db::Row& row) {
    const auto sold = static_cast<std::int64_t>(rows.size()) * row.integer(2);
    if (row.integer(1) + sold == in_stock_before * row.integer(2)) return;
    problems.push_back(std::string(row.text(0)) + ": " + std::to_string(row.integer(1)) + " in stock and " +
                       std::to_string(sold) + " sold are not what there was");
  };
  const auto check = [&](const auto& result) {
    if (!result) problems.push_back(result.error().describe());
  };
  check((*opened)->query("select * from pragma_integrity_check", sound));
  check(
      (*opened)->query("select id, customer, (select group_concat(sku || ' ' || quantity, ', ')"
                       " from (select sku, quantity from lines where order_id = orders.id order by sku)) from orders",
                       order));
  check((*opened)->query("select sku, stock, case sku when 'cup' then 2 else 1 end from products", product));
  for (const auto& [id, customer] : acknowledged) {
    if (!rows.contains(id) || rows[id] != customer)
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
                                      "--shop.admin_token=secret",
                                      "--shop.pictures=" + database.substr(0, database.rfind('/')) + "/pictures",
                                      "--network.clients.payments.base_url=http://127.0.0.1:1",
                                      "--logging.sinks=[{type: file, path: '" + log() + "'}]"};
    flags.insert(flags.end(), more.begin(), more.end());
    return Service(std::move(flags), Program(KEEL_FAULTS_ORDERS));
  }
  std::string log() const { return folder_ / "service.log"; }
  // So many teas, and two cups for each.
  static void put_in_stock(const Service& service, std::int64_t count) {
    for (const auto& [sku, left] : {std::pair("tea", count), std::pair("cup", 2 * count)}) {
      const std::string product =
          R"({"sku":")" + std::string(sku) + R"(","name":"A","price_cents":100,"stock":)" + std::to_string(left) + "}";
      ASSERT_EQ(call(service.address(), "PUT", "/admin/products", product, admin).status, 200);
    }
  }
  static Reply order(const Service& service, const std::string& customer) {
    return call(service.address(), "POST", "/orders", tea_for(customer), json);
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
  ASSERT_TRUE(connection->run("delete from lines where order_id = 1"));
  ASSERT_TRUE(connection->run("delete from orders where id = 1"));
  EXPECT_EQ(problems_of_orders(folder_ / "app.db", stock, ledger.acknowledged).size(), 3u);
}

TEST_P(OrdersProgram, loses_nothing_acknowledged_and_none_of_its_stock_when_it_is_killed) {
  constexpr std::int64_t plenty = 400'000;
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
  const auto& [id, customer] = *ledger.acknowledged.rbegin();
  const auto kept = members(call(service.address(), "GET", "/orders/" + std::to_string(id)).body);
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->at("customer"), customer);
  EXPECT_EQ(service.stop(), 0) << service.errors();
}

TEST_P(OrdersProgram, refuses_orders_while_its_disk_is_full_and_takes_them_again_by_itself) {
  if (!Disk::refusal().empty()) GTEST_SKIP() << "no disk of its own for this test: " << Disk::refusal();
  Disk disk(2 * 1024 * 1024);
  Service service = start(disk / "app.db");
  ASSERT_TRUE(service.is_ready()) << service.errors();
  put_in_stock(service, stock);
  std::map<std::int64_t, std::string> acknowledged;
  int number = 0;
  const auto try_one = [&] {
    const std::string customer = "customer " + std::to_string(++number);
    Reply reply = order(service, customer);
    if (reply.status == 201) acknowledged[std::stoll(members(reply.body).value().at("id"))] = customer;
    return reply;
  };
  ASSERT_EQ(try_one().status, 201);

  // What the file has already of the disk can still be written: until that is used up.
  for (int i = 0; i < 40 && try_one().status == 201; ++i) disk.fill();
  disk.fill();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(why_not_a_503(try_one()), "");
  EXPECT_EQ(call(service.address(), "GET", "/orders/1").status, 200);
  const Reply picture = call(service.address(), "PUT", "/admin/products/tea/picture", std::string(100'000, 'p'),
                             "Content-Type: image/png\r\nAuthorization: Bearer secret\r\n");
  EXPECT_EQ(why_not_a_503(picture), "");

  disk.empty();
  EXPECT_TRUE(eventually([&] { return try_one().status == 201; }, 5_s)) << "without a restart";
  EXPECT_EQ(call(service.address(), "GET", "/pictures/tea.png").status, 404) << "nobody sees half of one";
  EXPECT_TRUE(std::filesystem::is_empty(disk / "pictures")) << "what there was of the picture is gone";
  EXPECT_EQ(service.stop(), 0) << service.errors();
  EXPECT_EQ(problems_of_orders(disk / "app.db", stock, acknowledged), std::vector<std::string>());
  const std::string lines = read_file(log());
  EXPECT_NE(lines.find("the disk does not accept writes"), std::string::npos);
  EXPECT_NE(lines.find("the disk accepts writes again"), std::string::npos);
}

TEST_P(OrdersProgram, refuses_orders_in_time_while_another_process_holds_the_lock) {
  Service service = start(folder_ / "app.db", {"--database.timeout_sec=0.3"});
  ASSERT_TRUE(service.is_ready()) << service.errors();
  put_in_stock(service, stock);
  auto other = db::sqlite::Connection::open({.path = folder_ / "app.db"}).value();
  ASSERT_TRUE(other->prepare_control("begin immediate").value().run());

  const Instant began = Host::system().now();
  EXPECT_EQ(why_not_a_503(order(service, "ada")), "");
  EXPECT_GE(Host::system().now() - began, 250_ms) << "it waited for the lock";
  EXPECT_EQ(members(call(service.address(), "GET", "/products/tea").body).value().at("stock"), "50");

  ASSERT_TRUE(other->prepare_control("rollback").value().run());
  const Reply made = order(service, "ben");
  EXPECT_EQ(made.status, 201) << made.body;
  other.reset();
  EXPECT_EQ(service.stop(), 0) << service.errors();
  EXPECT_EQ(problems_of_orders(folder_ / "app.db", stock, {{1, "ben"}}), std::vector<std::string>());
  const std::string lines = read_file(log());
  EXPECT_NE(lines.find("database is locked"), std::string::npos) << lines;
}

}  // namespace
}  // namespace faults::orders_test
