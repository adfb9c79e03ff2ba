// keel/app/testing/test_app.h — runs an application under test: the service that main() runs, with its database, its
// clients and its background work, in a single simulation.
//
//   TEST(Orders, are_there_after_a_power_loss) {
//     app::TestApp<Orders> app({.settings = {"database.migrations=" ORDERS_MIGRATIONS}});
//
//     EXPECT_EQ(app.post("/orders", NewOrder{.item = "tea"}).status(), 201);
//     app.crash();
//     EXPECT_EQ(app.get("/orders/1").json<Order>()->item, "tea");
//   }
//
// Orders is a class that is constructed with an App& (app.h: app::run<Orders>). The App is the same as in production,
// but runs on a simulation (keel/io/testing/simulation.h): all code runs in the calling thread, in virtual time, and
// the seed decides the order and the time of events. The database is SQLite on a simulated disk that keeps only synced
// data; jobs of pools and of the database's writer run as jobs of the simulation. log() returns the App's log; a
// TestClient of admin() reads its admin pages.
//
// The first call that needs the service makes the service, so that a test can set up the service's environment first:
//
//   http::Router bank;                             // the other server, and what it answers
//   bank.post("/payments", &accept);
//   app.peer("bank.example:8080", bank);           // for every client of the service that asks for that name
//   app.peer_down("bank.example:8080");            // connections are refused from here on
//
// Let time pass to see the effect of background work: app.advance(30_s).
//
// The seed determines the faults. TestAppOptions::faulty(seed) enables faults in the network, on the disk and in the
// pools; a start that fails because of a disk fault is repeated, as a supervisor would repeat it:
//
//   for (std::uint64_t seed = 1; seed <= 40; ++seed) {
//     app::TestApp<Orders> app(app::TestAppOptions::faulty(seed));
//     app.crash_within(100);                       // the power goes within the 100th change of the disk from now
//     …
//     app.restart();
//     … << app.replay();
//   }
//
// With `real_time` the same test runs on the real system, without faults: with threads, sockets of 127.0.0.1 and a
// temporary file.
//
// Errors:    the status is 0 for a call that got no response (test_client.h), and for every call while the power is
//            off. A mistake in the test throws std::logic_error, and a service that cannot start throws
//            std::runtime_error; the message, which GoogleTest shows before it continues with the next test, says what
//            to do.
// Ownership: routers of peers must outlive the TestApp, which must outlive its clients and calls.
// Threads:   use the TestApp only on the thread that constructed it. A process can have only one TestApp at a time.
// Limits:    in the simulation, the health check of disk space does not run, and checks that are functions run on
//            worker 0, where they must not wait. Only clients of the App (App::client) find peers by name.
// Cost:      some milliseconds for the start, and about 100 microseconds for a call; meant only for tests.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/app/app.h"
#include "keel/app/testing/internal/composition.h"
#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/http/server/router.h"
#include "keel/http/testing/test_client.h"
#include "keel/io/testing/disk.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/start.h"

namespace keel::app {

struct TestAppOptions {
  // Settings in the form of command-line options: "network.http.max_body=64KiB". The TestApp itself sets the path of
  // the database and the addresses of the listeners; the service has two workers unless network.workers is set.
  // Environment variables are ignored.
  std::vector<std::string> settings = {};
  std::string file = {};  // A configuration file for the keys that `settings` does not set; empty: none.
  // Whether to run on the real system instead of in a simulation. On the real system, a field below has an effect only
  // if the comment of that field says so.
  bool real_time = false;
  // The seed, the delays and the faults of network and scheduling (io/testing/options.h).
  sim::SimOptions simulation = {};
  // The faults of the disk, which use the same seed (io/testing/disk.h). They are in force from each start of the
  // service on; a start that fails because of them is repeated, for the last time without them.
  sim::DiskFaults disk = {};
  Duration pool_delay_max = {};  // The maximum additional delay of a job of a pool or of the database.
  // The time limit of a call; it should be longer than the time limit of a handler. This field has an effect in real
  // time too.
  Duration timeout = 1_h;
  // The size of the largest response body that a call accepts. This field has an effect in real time too.
  std::size_t body_bytes_max = 64 << 20;

  // Options with faults of all kinds, which depend only on `seed`; some seeds omit some kinds of faults.
  // The faults of the disk are those of sim::DiskFaults::faulty(); some seeds also limit its capacity.
  static TestAppOptions faulty(std::uint64_t seed);
};

// The part of a TestApp that does not depend on the type of its service.
class AppUnderTest : public http::TestRequests<AppUnderTest> {
 public:
  AppUnderTest(const AppUnderTest&) = delete;
  AppUnderTest& operator=(const AppUnderTest&) = delete;

  // get(), post() and similar calls act as a client that adds no header fields of its own (http/testing/test_client.h).

  // Starts the request; it makes progress during advance(), and during the calls above, which also let time pass.
  http::TestCall begin(http::ClientRequest request);
  // What a TestClient can call: the service, and its admin listener (/metrics).
  const http::TestTarget& target() const;
  const http::TestTarget& admin() const;

  // Adds a server that the service reaches as `authority`, such as "bank.example:8080"; the default port is 80. The new
  // server replaces an earlier server with the same name.
  void peer(std::string_view authority, const http::Router& router);
  // Takes the server down: its connections are reset, and new connections are rejected. peer() starts it again.
  void peer_down(std::string_view authority);

  // Advances the virtual time by `time`, and runs everything that becomes due in that time.
  void advance(Duration time);
  // Runs a task of the test on worker 0, and lets time pass until the task ends. It is a mistake in the test if the
  // task takes longer than a day.
  template <class T>
  Result<T> run(Task<T>&& task);
  Instant now() noexcept;

  // Starts the service if it is not running yet.
  App& app();
  db::Database& database() { return app().database(); }

  // Stops the service in the way that SIGTERM does, and starts it again; if the power is off, it is switched on first.
  // From the start on, the disk has the faults of TestAppOptions::disk, whatever disk().set_faults() has set.
  void restart();
  // Lets the power fail: the service is destroyed, and data of the disk that was not synced is lost; then the service
  // starts again as in restart().
  void crash();
  // Lets the power fail during the `changes`th change of the disk from now on (1: the next change). After the power has
  // failed, the service does not exist until restart().
  void crash_within(std::uint64_t changes);
  bool has_power() const noexcept;

  // The lines of the log so far, as text.
  const std::string& log() const noexcept;
  // In real time there is neither a simulation nor a simulated disk: these calls throw std::logic_error.
  sim::Simulation& simulation();
  sim::Disk& disk();
  // Describes how to repeat this run, for the message of a test that fails.
  std::string replay() const;

 protected:
  AppUnderTest(internal::Composition& composition, TestAppOptions options);
  ~AppUnderTest();

 private:
  struct State;
  // Calls `f` on worker 0.
  void on_worker(FunctionRef<void()> f);
  void wait_for(FunctionRef<bool()> done);

  std::unique_ptr<State> state_;
};

// S is the type of the configuration, for a service that has its own sections (App::settings<S>()).
template <class Service, class S = Settings>
class TestApp final : private internal::CompositionOf<Service, S>, public AppUnderTest {
 public:
  explicit TestApp(TestAppOptions options = {}) : AppUnderTest(*this, std::move(options)) {}

  // The reference is valid until the next call of restart() or crash().
  Service& service() {
    app();
    return internal::CompositionOf<Service, S>::service();
  }
};

template <class T>
Result<T> AppUnderTest::run(Task<T>&& task) {
  struct Run : Start<T> {
    std::atomic<bool> is_over{false};
  };
  Run run;
  on_worker([&] {
    const auto done = [](StartCore& core) noexcept { static_cast<Run&>(core).is_over = true; };
    if (run.begin(std::move(task), done)) run.is_over = true;
  });
  wait_for([&] { return run.is_over.load(); });
  std::optional<Result<T>> result;
  // Runs on the worker, because the objects that a failed task still holds are destroyed here.
  on_worker([&] { result.emplace(run.take()); });
  return *std::move(result);
}

}  // namespace keel::app
