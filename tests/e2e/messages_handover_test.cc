// Restarts of a service with sessions under load, by hand-over: no attempt to connect fails, each session continues
// with the successor, and nothing that was acknowledged is missing.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "devices.h"
#include "keel/base/sanitizers.h"
#include "keel/db/sqlite/connection.h"
#include "keel/io/loop.h"
#include "keel/net/messages/client.h"
#include "keel/net/sessions/client.h"
#include "keel/task/scope.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"
#include "service.h"

namespace e2e::messages_handover_test {
namespace {

using namespace keel;

constexpr int devices_count = 20;
constexpr int connecting_count = 4;

// A device that sends readings until it is enough, and what became of them.
struct Device {
  std::string name;
  std::uint64_t sent = 0;
  std::uint64_t unconfirmed = 0;  // Readings that a service has or has not stored before it was replaced.
  std::uint64_t begun = 0;        // Sessions that a service has begun for it.
  Error ended{Code::Internal, "it has not run"};
};

// Devices and other clients on a loop of their own.
class Load {
 public:
  explicit Load(Address at) : at_(at) {
    for (int i = 0; i < devices_count; ++i) {
      devices.push_back(std::make_unique<Device>());
      devices.back()->name = "d" + std::to_string(i);
    }
    thread_ = std::thread([this] { run(); });
  }
  ~Load() { end(); }
  // Each device waits until all that it has sent is acknowledged.
  void end() {
    enough_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t connected() const { return connected_; }
  std::uint64_t sent() const { return sent_; }
  // How often a session has begun, of the device for which this was least often.
  std::uint64_t begun_by_all() const {
    std::uint64_t least = ~std::uint64_t{0};
    for (const auto& count : begun_) least = std::min(least, count.load());
    return least;
  }

  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::string> failed;  // Attempts to connect.

 private:
  void run() {
    io::Loop loop(io::make_engine(io::EngineKind::Auto).value(), Host::system());
    const io::Loop::Entered entered(loop);
    Start<void> all;
    if (!all.begin(all_of_them(), [](StartCore&) noexcept {})) {
      while (!all.has_ended()) loop.turn(Host::system().now() + 10_ms);
    }
    EXPECT_TRUE(all.take());
    loop.finish();
  }
  Task<> all_of_them() {
    Scope scope;
    for (int i = 0; i < devices_count; ++i) scope.spawn(report(*devices[static_cast<std::size_t>(i)], begun_[i]));
    for (int i = 0; i < connecting_count; ++i) scope.spawn(connect_again_and_again());
    co_await scope.join();
  }
  Task<> report(Device& device, std::atomic<std::uint64_t>& begun) {
    sessions::Handlers handlers;
    handlers.on_event([&](sessions::Session&, const sessions::SessionEvent& event) {
      if (event.kind == sessions::SessionEvent::Kind::Lost) device.unconfirmed += event.unconfirmed;
      if (event.kind == sessions::SessionEvent::Kind::Connected) ++begun;
    });
    sessions::ClientOptions options{.servers = {at_}, .name = device.name, .credentials = "key"};
    options.reconnect_min = 5_ms;
    options.reconnect_max = 50_ms;
    sessions::Client client(handlers, std::move(options));
    Scope running;
    running.spawn(client.run(), OnError::Ignore);
    while (!enough_ && !client->has_ended()) {
      if (client->send(devices::Reading{20})) {
        ++device.sent;
        ++sent_;
      }
      co_await sleep_for(2_ms);
    }
    const Result<> stored = co_await attempt(with_timeout(20_s, client->acknowledged()));
    if (!stored) device.ended = stored.error().clone();
    client->end(Error(Code::Cancelled, "switched off"));
    static_cast<void>(co_await attempt(running.join()));
    if (stored) device.ended = Error(Code::Cancelled, "all of it was acknowledged");
    device.begun = begun;
  }
  Task<> connect_again_and_again() {
    while (!enough_) {
      Result<messages::Client> client = co_await attempt(with_timeout(10_s, messages::Client::connect(at_)));
      if (!client) {
        failed.push_back(client.error().describe());
      } else {
        ++connected_;
        co_await client->close();
      }
      co_await sleep_for(1_ms);
    }
  }

  const Address at_;
  std::atomic<bool> enough_ = false;
  std::atomic<std::uint64_t> connected_ = 0, sent_ = 0;
  std::atomic<std::uint64_t> begun_[devices_count] = {};
  std::thread thread_;
};

class Restart : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
  }
  std::unique_ptr<Service> start(const Address& messages, int workers) {
    std::vector<std::string> flags = {
        "--database.path=" + folder_ / "app.db",
        std::string("--database.migrations=") + KEEL_E2E_DEVICES_MIGRATIONS,
        "--devices.key=key",
        "--network.http.port=0",
        "--monitoring.metrics.export_port=0",
        "--network.workers=" + std::to_string(workers),
        "--network.engine=" + GetParam(),
        "--network.messages.port=" + std::to_string(messages.port()),
        "--network.handover.path=" + folder_ / "control",
        "--logging.sinks=[{type: file, path: '" + folder_ / "service.log" + "'}]",
    };
    return std::make_unique<Service>(std::move(flags), Program(KEEL_E2E_DEVICES));
  }
  // An address at which no process listens.
  static Address free_address() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const Address any = Address::parse("127.0.0.1:0").value();
    EXPECT_EQ(::bind(fd, any.system(), any.system_size()), 0);
    sockaddr_storage found{};
    socklen_t size = sizeof found;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&found), &size);
    ::close(fd);
    return Address::from_system(reinterpret_cast<sockaddr*>(&found), size);
  }
  std::uint64_t stored_of(const std::string& name) {
    auto connection = db::sqlite::Connection::open({.path = folder_ / "app.db"}).value();
    std::uint64_t readings = 0;
    const auto keep = [&](const db::Row& row) { readings = static_cast<std::uint64_t>(row.integer(0)); };
    EXPECT_TRUE(connection->query("select readings from devices where name = $1", keep, name).has_value());
    return readings;
  }

  Folder folder_;
};
INSTANTIATE_TEST_SUITE_P(Engines, Restart, ::testing::Values("uring", "epoll"), [](auto& test) { return test.param; });

TEST_P(Restart, under_load_loses_no_attempt_to_connect_and_no_reading_that_was_acknowledged) {
  const std::vector<int> workers = {2, 1, 3, 2, 2};
  const Address address = free_address();
  auto running = start(address, 2);
  ASSERT_TRUE(running->is_ready()) << running->errors();
  Load load(address);
  std::uint64_t restarts = 0;
  for (const int count : workers) {
    const std::uint64_t sent = load.sent(), connected = load.connected();
    for (int i = 0; i < 1000; ++i, ::usleep(10'000)) {
      if (load.begun_by_all() > restarts && load.sent() > sent + 200 && load.connected() > connected + 20) break;
    }
    ASSERT_GT(load.begun_by_all(), restarts) << "a device has found no session within 10 s";
    auto successor = start(address, count);
    ASSERT_TRUE(successor->is_ready()) << successor->errors();
    EXPECT_EQ(running->wait(30_s), 0) << running->errors();
    running = std::move(successor);
    ++restarts;
  }
  for (int i = 0; i < 1000 && load.begun_by_all() <= restarts; ++i) ::usleep(10'000);
  load.end();
  EXPECT_EQ(running->stop(), 0) << running->errors();

  EXPECT_EQ(load.failed, std::vector<std::string>());
  std::uint64_t sent = 0, unconfirmed = 0;
  for (const auto& device : load.devices) {
    EXPECT_EQ(device->ended.code(), Code::Cancelled) << device->name << ": " << device->ended.describe();
    EXPECT_GT(device->begun, restarts) << device->name << " has a session with each process";
    const std::uint64_t stored = stored_of(device->name);
    EXPECT_LE(stored, device->sent) << device->name << ": none is stored twice";
    EXPECT_GE(stored + device->unconfirmed, device->sent) << device->name << ": it has heard of each that may be lost";
    sent += device->sent;
    unconfirmed += device->unconfirmed;
  }
  std::printf("%llu restarts, %llu readings, %llu of them unconfirmed, %llu other connections, %zu failed\n",
              static_cast<unsigned long long>(restarts), static_cast<unsigned long long>(sent),
              static_cast<unsigned long long>(unconfirmed), static_cast<unsigned long long>(load.connected()),
              load.failed.size());
}

}  // namespace
}  // namespace e2e::messages_handover_test
